#!/bin/sh
# directions.sh and source.sh fail on copies of a small tree with one fault each.
set -eu
lint=$PWD/tests/lint
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
bad=0

plant() { # a sound tree: low <- high
    rm -rf "$tree"
    mkdir -p "$tree/src/low" "$tree/src/high/device" "$tree/tests/lint" "$tree/tools" "$tree/include"
    mkdir -p "$tree/examples" "$tree/bench" "$tree/mpi" "$tree/petsc"
    printf 'outside: tessera/tessera.h\nlow:\nhigh: low\nhigh/device: low high\n' >"$tree/tests/lint/directions.txt"
    printf '#include "tessera/tessera.h"\n' >"$tree/src/low/low.h"
    printf '#include "low/low.h"\n#include <stdio.h>\n' >"$tree/src/high/high.h"
    printf '#include "common.cuh"\n' >"$tree/src/high/device/kernel.cu"
    printf '#include "low/low.h"\n' >"$tree/src/high/common.cuh"
}

expect() { # WHAT it says, or "" for silence; SCRIPT (directions.sh where none is given)
    script=${2:-directions.sh}
    if said=$(cd "$tree" && sh "$lint/$script" 2>&1); then status=0; else status=1; fi
    if [ -z "$1" ]; then
        [ $status = 0 ] && [ -z "$said" ] && return
    elif [ $status = 1 ]; then
        case $said in *"$1"*) return ;; esac
    fi
    printf '%s: expected "%s", status %s, said:\n%s\n' "$script" "$1" "$status" "$said"
    bad=1
}

plant
expect ""
for kind in c h inc inc.c def cu cuh; do # an upward arrow, in every kind of file
    plant
    printf '\n  #  include "high/high.h"\n' >"$tree/src/low/upward.$kind"
    expect "src/low/upward.$kind:2: low -> high is not allowed"
done
plant # a device's source, by its name alone
printf '#include "kernel.cu"\n' >>"$tree/src/high/common.cuh"
expect "src/high/common.cuh:2: high -> high/device is not allowed"
plant # a cycle that the table allows
printf 'low: high\nhigh: low\nhigh/device: low high\n' >"$tree/tests/lint/directions.txt"
expect "tests/lint/directions.txt:1: low -> high points upwards"
plant # a directory that is not in the table
mkdir "$tree/src/other"
printf '#include "low/low.h"\n' >"$tree/src/other/other.c"
expect "src/other/other.c: directory other is not in tests/lint/directions.txt"
plant # a directory that no longer exists
rm -r "$tree/src/high/device"
expect "tests/lint/directions.txt:4: high/device has no sources"
plant # a path from somewhere else
printf '#include "low.h"\n' >"$tree/src/high/local.c"
expect 'src/high/local.c:1: "low.h" is no file of src/'

plant
expect "" source.sh
for kind in c h inc inc.c def cu cuh; do
    plant
    awk 'BEGIN { for (i = 0; i < 400; i++) print "" }' >"$tree/src/low/long.$kind"
    expect "src/low/long.$kind: 400 lines" source.sh
done
exit $bad
