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
    mkdir -p "$tree/examples" "$tree/bench" "$tree/mpi" "$tree/petsc" "$tree/python" "$tree/fortran"
    printf 'outside: tessera/tessera.h\nlow:\nhigh: low\nhigh/device: low high\n' >"$tree/tests/lint/directions.txt"
    printf '| `src/%s` | a room |\n' low high high/device >"$tree/CONTRIBUTING.md"
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
plant # a directory that is in no table of CONTRIBUTING.md
sed -i '/high`/d' "$tree/CONTRIBUTING.md"
expect "CONTRIBUTING.md: src/high has no row"
plant # a path from somewhere else
printf '#include "low.h"\n' >"$tree/src/high/local.c"
expect 'src/high/local.c:1: "low.h" is no file of src/'
for kind in c h inc inc.c def cu cuh; do # by its name in angle brackets, or behind a macro
    plant
    printf '#include <high/high.h>\n' >"$tree/src/low/upward.$kind"
    expect "src/low/upward.$kind:1: <high/high.h> is a file of src/"
    plant
    printf '#define HEADER "high/high.h"\n#include HEADER\n' >"$tree/src/low/upward.$kind"
    expect "src/low/upward.$kind:2: an include that names no file"
done

plant_calls() { # as above, with a function each that tessera.h might declare
    plant
    printf 'tess_status tess_low(void *x)\n{\n    return 0;\n}\n' >"$tree/src/low/low.c"
    printf 'tess_status tess_high(void *x,\n                      int y)\n{\n    return tess_low(x);\n}\n' \
        >"$tree/src/high/high.c"
}
plant_calls
cat >>"$tree/src/low/low.c" <<'END'
/* tess_high is spoken of "here */
static const char text[] = "tess_high \" tess_high"; // tess_high
static const char quote = '"', slash = '/'; /*
tess_high */ tess_status tess_high_one(void);
END
expect ""
for kind in c h inc inc.c def cu cuh; do # a call upwards without an include, in every kind of file
    plant_calls
    printf 'static int f(void)\n{\n    /* " */ return tess_high(0, \047"\047);\n}\n' >"$tree/src/low/upward.$kind"
    expect "src/low/upward.$kind:3: low -> high is not allowed: tess_high"
done
plant_calls # an address is as good as a call
printf 'const table t = {.run = tess_high};\n' >"$tree/src/low/table.c"
expect "src/low/table.c:1: low -> high is not allowed: tess_high"
plant_calls # the result's type on a line of its own, behind a table
printf 'static const int names[] = {\n    1,\n};\nconst char *\ntess_late(int x)\n{\n}\n' >"$tree/src/high/late.c"
printf 'int x = tess_late(1);\n' >"$tree/src/low/table.c"
expect "src/low/table.c:1: low -> high is not allowed: tess_late"
plant_calls # a declaration defines nothing, nor does a static function
printf 'tess_status tess_high(void *x, int y);\nstatic int tess_low(void)\n{\n}\n' >"$tree/src/high/more.c"
expect ""
plant_calls
printf 'tess_status tess_high(void *x)\n{\n}\n' >"$tree/src/low/twice.c"
expect "tess_high is defined in high as well"
plant_calls # an exported function of which this test knows no home
printf 'tess_low\ntess_gone\ntess_mpi_comm\n' >"$tree/tests/lint/exported_symbols.txt"
expect "tests/lint/exported_symbols.txt: tess_gone is defined nowhere"

plant
expect "" source.sh
printf '#if defined(__x86_64__)\n#endif\n' >"$tree/src/low/low.inc"
expect "src/low/low.inc:1:#if defined(__x86_64__)" source.sh
for compared in 'strcmp(name, "cg")' 'strncmp(name, "blocky", 6)' 'pc != &tess_pc_lu' 'family == TESS_CPU_BSR_SPMV'; do
    plant
    printf 'METHOD(cg, cg.c)\n' >"$tree/src/low/methods.def"
    printf 'const kernel one = {.format = "blocky"};\n' >"$tree/src/low/one.c"
    printf 'bool same = strcmp(name, "other") == 0;\nbool is = %s;\n' "$compared" >"$tree/src/low/low.h"
    expect "src/low/low.h:2:" source.sh
done
for kind in c h inc inc.c def cu cuh; do
    plant
    awk 'BEGIN { for (i = 0; i < 400; i++) print "" }' >"$tree/src/low/long.$kind"
    expect "src/low/long.$kind: 400 lines" source.sh
done
for kind in h inc inc.c cu cuh; do
    plant
    { printf 'static int even(int x)\n{\n'; yes '    x++;' | head -50; printf '}\n'; } >"$tree/src/low/even.$kind"
    expect "" source.sh
    { printf 'static int odd(int x)\n{\n'; yes '    x++;' | head -51; printf '}\n'; } >"$tree/src/low/odd.$kind"
    expect "src/low/odd.$kind: odd has 53 lines" source.sh
done
plant
printf 'KERNEL(stream, stream_args, THREADS, 1)\n{\n}\n' >"$tree/src/high/device/stream.cu"
expect "src/high/device/stream.cu: stream is no longer an exception" source.sh
exit $bad
