#!/bin/sh
# client.sh [BUILD]: the command is a client. tools/tessera includes only the public header and its
# own ones. The benchmarks and `tessera bench` include the library's internal headers only through
# bench/internal.h. With BUILD, the shared library exports every function that the command's objects
# call. First the script checks that it finds a planted include.
set -eu
lint=$(cd "$(dirname "$0")" && pwd)
complaints=$(mktemp)
planted=$(mktemp -d)
trap 'rm -rf "$complaints" "$planted"' EXIT

# check ROOT: prints one line for each include that is not allowed, in sources of every kind.
check() {
    (
        cd "$1"
        find tools bench src include tests -type f | sort >"$planted/files"
        find tools bench -type f ! -name '*.json' ! -name '*.py' ! -name '*.md' ! -name '*.sh' \
            -exec grep -IH '^[[:space:]]*#[[:space:]]*include' {} + | sort >"$planted/includes" || true
        awk -f "$lint/client.awk" "$planted/files" "$planted/includes"
    )
}

tree=$planted/tree
mkdir -p "$tree/tools/tessera/bench" "$tree/bench/peers" "$tree/src/core" "$tree/src/cuda/plan" "$tree/include/tessera" \
    "$tree/tests/support"
touch "$tree/src/core/core.h" "$tree/src/cuda/plan/plan.h" "$tree/include/tessera/tessera.h" \
    "$tree/tests/support/inverse.h" "$tree/tools/tessera/command.h" "$tree/bench/peers/peer.h"
echo '#include "core/core.h"' >"$tree/bench/internal.h"
printf '#include <stdio.h>\n#include <tessera/tessera.h>\n#include "command.h"\n' >"$tree/tools/tessera/cmd_sound.c"
printf '#include "../../../bench/internal.h"\n' >"$tree/tools/tessera/bench/bench.h"
printf '#include "../internal.h"\n#include "peer.h"\n#include "support/inverse.h"\n' >"$tree/bench/peers/sound.cpp"
said=$(check "$tree")
[ -z "$said" ] || { echo "a sound tree: $said"; exit 1; }

plant() { # FILE INCLUDE: is noticed, and nothing else is
    for kind in c h cpp hpp cu cuh inc def; do
        echo "$2" >"$tree/$1.$kind"
        said=$(check "$tree")
        rm "$tree/$1.$kind"
        case $said in
        *"
"*) ;;
        "$1.$kind includes "*) continue ;;
        esac
        echo "$1.$kind with $2 was not noticed alone: $said"
        exit 1
    done
}
for header in '"core/core.h"' '<core/core.h>' '"../../src/core/core.h"' '<../../src/core/core.h>' \
    '"./../tessera/../../src/core/core.h"' '"../../bench/internal.h"' '"../../bench/peers/peer.h"' '"bench/bench.h"' \
    '"../../tests/support/inverse.h"' '"support/inverse.h"' '"gone.h"' HEADER; do
    plant tools/tessera/planted "#include $header"
done
plant tools/tessera/planted '  #  include "core/core.h"'
for header in '"cuda/plan/plan.h"' '<cuda/plan/plan.h>' '"../src/cuda/plan/plan.h"' \
    '"../tests/support/inverse.h"' '"../../tree/src/core/core.h"' HEADER; do
    plant bench/planted "#include $header"
done
plant tools/tessera/bench/planted '#include "core/core.h"'

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
