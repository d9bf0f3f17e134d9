#!/bin/sh
# Rules about the sources that no compiler checks.
set -eu
complaints=$(mktemp)
trap 'rm -f "$complaints"' EXIT
complain() { # TITLE, offending lines on stdin; runs in a subshell, hence the file
    lines=$(cat)
    [ -z "$lines" ] || printf '%s:\n%s\n\n' "$1" "$lines" >>"$complaints"
}
sources=$(find src tools examples tests include -name '*.[ch]' -o -name '*.cu')

# Calls only: words in comments, snprintf and format attributes do not count.
grep -rnE '(^|[^_[:alnum:]"])(v?f?printf|v?dprintf|puts|putchar|fputs|perror|exit|_exit|abort|assert)[[:space:]]*\(' \
    src --include='*.c' --include='*.h' | grep -vE ':[0-9]+: *(/?\*|//)|format\(printf' |
    complain "the library must not print or exit"

for file in $(find src -name '*.c'); do
    case $file in
    *.inc.c | */kernels/*) continue ;; # included by others
    esac
    name=$(basename "$file")
    grep -rqE "(^|[[:space:]/])$name([[:space:])]|\$)" src --include=CMakeLists.txt --include='*.def' ||
        echo "$file"
done | complain "sources that no CMakeLists.txt and no list names"

for file in $sources; do
    [ "$file" != include/tessera/tessera.h ] || continue # the one public header stays one
    lines=$(wc -l <"$file")
    [ "$lines" -lt 600 ] || echo "$file: $lines lines"
done | complain "files of 600 lines or more ask to be two"

git -c safe.directory='*' grep -nIE '(^|[^[:alnum:]_./$}])/(work|home|root|mnt|Users)/[[:alnum:]]' -- ':!tests/lint' 2>/dev/null |
    complain "paths of one machine"
git -c safe.directory='*' grep -nIE '#if 0|\b(TODO|FIXME|XXX)\b' -- src include tools 2>/dev/null |
    complain "unfinished code"
cat "$complaints"
[ ! -s "$complaints" ]
