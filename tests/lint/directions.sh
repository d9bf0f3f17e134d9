#!/bin/sh
# directions.sh [ROOT]: which directory of src/ includes and calls which, against tests/lint/directions.txt.
set -eu
lint=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}"
find src -type f \( -name '*.[ch]' -o -name '*.inc' -o -name '*.def' -o -name '*.cu' -o -name '*.cuh' \) | sort |
    xargs awk -v exported=tests/lint/exported_symbols.txt -f "$lint/directions.awk" tests/lint/directions.txt
