#!/bin/sh
# Compiles the mutants that print_mutants lists for the emulator and joins the objects into one. A
# script that changes nothing is an error: the source has changed since it was written.
# usage: print_mutants | compile_mutants.sh OUTPUT KERNEL_DIRECTORY COMPILER FLAGS...
set -eu
output=$1 kernels=$2
shift 2
directory=$output.d
rm -rf "$directory"
mkdir -p "$directory"
while read -r name && read -r source && read -r defines && IFS= read -r script; do
    copy=$directory/$name
    mkdir "$copy"
    cp "$kernels"/*.cuh "$kernels"/*/*.cuh "$(find "$kernels" -name "$source")" "$copy"
    if [ "$script" ]; then
        cat "$copy"/* > "$copy.before"
        sed -s -i -e "$script" "$copy"/*
        if cat "$copy"/* | cmp -s "$copy.before" -; then
            echo "$name: '$script' changes nothing in $source" >&2
            exit 1
        fi
        rm "$copy.before"
    fi
    printf '%s %s\n' "$name" "$defines" > "$copy.list"
    "$(dirname "$0")/compile_variants.sh" "$copy.o" "$copy/$source" "$@" < "$copy.list"
done
"$1" -r -nostdlib -o "$output" "$directory"/*.o
rm -rf "$directory"
