#!/bin/sh
# client.sh [BUILD]: the command is a client. tools/tessera includes the public header and its own
# ones; the benchmarks, `tessera bench` included, see the library's inside through bench/internal.h
# alone; and with BUILD, what the command's objects call is exported by the shared library. First it
# shows that it would notice.
set -eu
complaints=$(mktemp)
planted=$(mktemp -d)
trap 'rm -rf "$complaints" "$planted"' EXIT

# includes DIRECTORY...: "FILE HEADER" for every #include "HEADER".
includes() {
    find "$@" -name '*.[ch]' | sort | while read -r file; do
        sed -n 's/^#include "\(.*\)"$/\1/p' "$file" | while read -r header; do
            echo "$file $header"
        done
    done
}

# check ROOT: prints one line for each include that is not allowed.
check() {
    (cd "$1" && includes tools/tessera bench) | while read -r file header; do
        here=$(dirname "$file")
        case $file:$header in
        bench/internal.h:* | bench/*:tessera/tessera.h | bench/*:tessera/tessera_mpi.h | bench/*:support/*) continue ;;
        *bench*:*bench/internal.h | bench/*:*internal.h) continue ;;
        */bench_*:../../bench/peers/*) continue ;;
        esac
        [ -f "$1/$here/$header" ] || echo "$file includes $header"
        case $file:$header in
        tools/*bench*:*) ;;
        tools/*:*bench*) echo "$file includes $header" ;;
        esac
    done
}

mkdir -p "$planted/tools/tessera" "$planted/bench"
echo '#include "core/core.h"' >"$planted/tools/tessera/cmd_planted.c"
echo '#include "cuda/plan/plan.h"' >"$planted/bench/planted.c"
[ "$(check "$planted" | wc -l)" = 2 ] || { echo "planted includes were not noticed"; exit 1; }

check . >"$complaints"
if [ $# -gt 0 ]; then
    objects=$(find "$1/tools" -path '*tessera_client.dir*' -name '*.o')
    [ -n "$objects" ] || { echo "no objects of the command in $1"; exit 1; }
    # shellcheck disable=SC2086 # a list of files
    nm -u $objects | sed -n 's/.* U \(tess_[a-z0-9_]*\)$/\1/p' | LC_ALL=C sort -u |
        LC_ALL=C comm -23 - tests/lint/exported_symbols.txt | sed 's/^/the command calls /' >>"$complaints"
fi
cat "$complaints"
[ ! -s "$complaints" ]
