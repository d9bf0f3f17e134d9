#!/bin/sh
# header.sh CC: the public header compiles alone, as strict C11 and as C++17, and names every method
# and preconditioner that there is.
set -eu
cc=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for name in $(sed -n 's/^METHOD(\([a-z0-9_]*\),.*/\1/p' src/solve/methods/methods.def); do
    grep -q "^ \*   $name  *" include/tessera/tessera.h || { echo "tessera.h has no method $name"; exit 1; }
done
for name in $(sed -n 's/^PC(\([a-z0-9_]*\),.*/\1/p' src/solve/pc/pcs.def); do
    sed -n '/^ \*   pc=NAME/,/^ \*   schedule=/p' include/tessera/tessera.h | grep -qw "$name" ||
        { echo "tessera.h has no preconditioner $name"; exit 1; }
done
cat >"$work/alone.c" <<'END'
#include <tessera/tessera.h>
#if TESS_VERSION < 200 || TESS_VERSION != TESS_VERSION_MAJOR * 10000 + TESS_VERSION_MINOR * 100 + TESS_VERSION_PATCH
#error TESS_VERSION
#endif
END
cp "$work/alone.c" "$work/alone.cc"
"$cc" -std=c11 -pedantic -Wall -Wextra -Werror -Iinclude -fsyntax-only "$work/alone.c"
for cxx in g++ clang++; do
    command -v $cxx >/dev/null || continue
    $cxx -std=c++17 -pedantic -Wall -Wextra -Werror -Iinclude -fsyntax-only "$work/alone.cc"
    found=1
done
[ -n "${found:-}" ] || { echo "skipped: no C++ compiler (g++ or clang++)"; exit 77; }
