#!/bin/sh
# Compiles a device source once per variant for the emulator and joins the objects into one.
# usage: print_variants SOURCE STEP | compile_variants.sh OUTPUT SOURCE_PATH COMPILER FLAGS...
set -eu
output=$1 source=$2
shift 2
directory=$output.d
rm -rf "$directory"
mkdir -p "$directory"
jobs=$(getconf _NPROCESSORS_ONLN)
# A source without variants (it serves a measurement, not a product) gives an empty object.
echo "typedef int nothing;" | "$1" -x c -c - -o "$directory/none.o"
xargs -r -P "$jobs" -L 1 sh -c '
    directory=$1 source=$2; shift 2
    command=; while [ "$1" != -- ]; do command="$command $1"; shift; done; shift
    name=$1; shift
    exec $command "$@" -DTESS_EMULATE "-DEMU_VARIANT=\"$name\"" -x c -c "$source" -o "$directory/$name.o"
' compile "$directory" "$source" "$@" --
"$1" -r -nostdlib -o "$output" "$directory"/*.o
rm -rf "$directory"
