#!/bin/sh
# header.sh CC: the public header compiles alone, as strict C11 and as C++17, and names every method
# and preconditioner that there is. Its names have one form: constants of an enum begin with the
# enum's name, destroy functions take the object alone.
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
# unscoped HEADER: prints constants without their enum's name. Its last word is enough, or, of
# tess_wisdom_keep, its first; statuses and types are short on purpose.
unscoped() {
    tr '\n' ' ' <"$1" | sed 's:/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/::g' | grep -o 'typedef enum [a-z_]* {[^}]*}' |
        while read -r _ _ name values; do
            case $name in tess_status | tess_type) continue ;; esac
            name=$(echo "${name#tess_}" | tr a-z A-Z)
            echo "$values" | grep -o 'TESS_[A-Z0-9_]*' | grep -vE "^TESS_(${name##*_}|${name%%_*})_" || true
        done
}
printf 'typedef enum tess_planted {\n    TESS_PLANTED_ONE = 0, /* TESS_NO */\n    TESS_TWO = 1\n} tess_planted;\n' >"$work/planted.h"
[ "$(unscoped "$work/planted.h")" = TESS_TWO ] || { echo "a planted constant was not noticed"; exit 1; }
bare=$(unscoped include/tessera/tessera.h)
[ -z "$bare" ] || { echo "constants without their enum's name:" "$bare"; exit 1; }
bare=$(grep -E 'tess_[a-z_]*_destroy\(' include/tessera/*.h | grep -vE 'void tess_[a-z_]*_destroy\(tess_[a-z_]+ \*[a-zA-Z]+\);' || true)
[ -z "$bare" ] || { echo "a destroy function takes the object alone:" "$bare"; exit 1; }
! grep -nw refresh include/tessera/*.h || { echo "new values are an update"; exit 1; }
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
