#!/bin/sh
# header.sh CC: the public header compiles alone, as strict C11 and as C++17.
set -eu
cc=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo '#include <tessera/tessera.h>' >"$work/alone.c"
cp "$work/alone.c" "$work/alone.cc"
"$cc" -std=c11 -pedantic -Wall -Wextra -Werror -Iinclude -fsyntax-only "$work/alone.c"
for cxx in g++ clang++; do
    command -v $cxx >/dev/null || continue
    $cxx -std=c++17 -pedantic -Wall -Wextra -Werror -Iinclude -fsyntax-only "$work/alone.cc"
    found=1
done
[ -n "${found:-}" ] || { echo "skipped: no C++ compiler (g++ or clang++)"; exit 77; }
