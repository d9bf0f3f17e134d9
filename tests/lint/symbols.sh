#!/bin/sh
# symbols.sh LIBRARY [--update]: the shared library exports exactly the committed list.
set -eu
list=tests/lint/exported_symbols.txt
actual=$(mktemp)
trap 'rm -f "$actual"' EXIT
nm -D --defined-only "$1" | awk '$2 ~ /[A-Z]/ {print $3}' | LC_ALL=C sort >"$actual"
if [ "${2:-}" = --update ]; then
    cp "$actual" $list
elif ! diff -u $list "$actual"; then
    echo "The exported symbols changed. If the change of the ABI is meant:"
    echo "  sh tests/lint/symbols.sh $1 --update"
    exit 1
fi
