#!/bin/sh
# null.sh CC LIBRARY: what the public header says of NULL holds for every function. A call with a
# status fails with TESS_ERR_ARGUMENT, all others take NULL as an object that has nothing.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
header=include/tessera/tessera.h
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -B tests/lint/null.py $header >"$work/null.c"
"$1" -Wall -Werror -Iinclude "$work/null.c" "$2" "-Wl,-rpath,$(dirname "$2")" -o "$work/null"
"$work/null" >"$work/said" 2>"$work/noise"
[ "$(wc -l <"$work/said")" = "$(grep -c '^TESS_API' $header)" ] || { echo "not every function was called"; exit 1; }
# Functions without an object: they number what there is from 0, or have constants.
grep -vE ' (TESS_ERR_ARGUMENT|void|NULL|empty|0)$' "$work/said" |
    grep -vE '^tess_(status_name|status_text|version|type_bytes|reason_name|calibrate_blocks) |_(method|pc|partition|form)_(name|summary|traits) ' >"$work/left" || true
cat >"$work/meant" <<'MEANT'
tess_ctx_threads 1
MEANT
diff "$work/meant" "$work/left" || { echo "NULL does not do what the header says"; exit 1; }
