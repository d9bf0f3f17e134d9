#!/bin/sh
# clang.sh BUILD: the SIMD kernels have no warnings of clang's either. The builds that clang makes, the
# thread sanitizer's and the fuzzers', leave them out.
set -eu
build=$1
command -v clang >/dev/null || { echo "skipped: no clang"; exit 77; }
for isa in neon sve avx2 avx512; do
    flags=$(sed -n "/\"command\".*isa_$isa\.c\"/s/.*\"command\": \"//p" "$build/compile_commands.json" |
        sed 's/ -o .*//; s/^[^-]*//; s/-fno-var-tracking//')
    [ -n "$flags" ] || { echo "isa_$isa.c is not in $build/compile_commands.json"; exit 1; }
    # shellcheck disable=SC2086 # a list of options
    clang $flags -Werror -Wno-missing-field-initializers -fsyntax-only "src/cpu/isa/isa_$isa.c"
done
