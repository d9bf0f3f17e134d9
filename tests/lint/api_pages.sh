#!/bin/sh
# api_pages.sh VERSION: every function of the public headers has a page of the manual, every page is
# made of the header's own words, and groff prints no warning.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
for header in tessera tessera_mpi; do
    file=include/tessera/$header.h
    mkdir "$work/$header"
    awk -v out="$work/$header" -v version="$1" -f cmake/api_pages.awk "$file"
    names=$(tr '\n' ' ' <"$file" | grep -oE 'TESS_API [^;]*;' | grep -oE 'tess_[a-z0-9_]+\(' | tr -d '(' | sort -u)
    [ -n "$names" ] || { echo "$file has no functions"; exit 1; }
    for name in $names; do
        [ -s "$work/$header/$name.3" ] || { echo "$name has no page"; status=1; }
    done
    [ "$(ls "$work/$header" | wc -l)" = "$(($(echo "$names" | wc -l) + 1))" ] || { echo "$file: pages of no function"; status=1; }
done
sort -u tests/lint/exported_symbols.txt | while read -r name; do
    [ -e "$work/tessera/$name.3" ] || echo "$name is exported and has no page"
done >"$work/missing"
[ ! -s "$work/missing" ] || { cat "$work/missing"; status=1; }

# Text between two lines of roff must be a passage of the header; a description must not be empty.
words='
    function plain(line) {
        gsub(/\\-/, "-", line); gsub(/\\e/, "\\", line); sub(/^\\&/, "", line)
        gsub(/\/\*|\*\//, "", line); sub(/^ *\* /, "", line)
        gsub(/[ \t]+/, " ", line); sub(/^ /, "", line); sub(/ $/, "", line)
        return line
    }
    function check() {
        if (passage != "" && !index(header, passage)) { print FILENAME ": not in the header: " passage; bad = 1 }
        if (passage != "" && part == "DESCRIPTION") said[FILENAME] = 1
        passage = ""
    }
    FILENAME ~ /\.h$/ {
        line = $0
        sub(/^TESS_API /, "", line)
        line = line == " *" ? "" : plain(line)
        header = header (line == "" ? "" : " " line)
        next
    }
    /^\.SH / { check(); part = $2; next }
    /^\./ { check(); next }
    part == "NAME" { sub(/^.* \\- /, ""); passage = plain($0); check(); next }
    part == "SEE" || part == "FUNCTIONS" { next }
    { passage = passage (passage == "" || plain($0) == "" ? "" : " ") plain($0) }
    END {
        check()
        for (i = 2; i < ARGC; i++) if (!said[ARGV[i]]) { print ARGV[i] ": no description"; bad = 1 }
        exit bad
    }'
for header in tessera tessera_mpi; do
    awk "$words" "include/tessera/$header.h" "$work/$header"/*.3 | sed "s|$work/||" >"$work/said" || true
    [ ! -s "$work/said" ] || { cat "$work/said"; status=1; }
done
[ "$status" = 0 ] || exit 1
sed -i 's/^[A-Z].*/Words of another./' "$work/tessera/tess_spmv.3" # the test would notice
! awk "$words" include/tessera/tessera.h "$work/tessera/tess_spmv.3" >/dev/null || { echo "foreign words were not noticed"; exit 1; }
command -v groff >/dev/null || { echo "skipped: no groff to check the pages with"; exit 77; }
warnings=$(for page in "$work"/*/*.3; do groff -man -Tutf8 -ww -z "$page" 2>&1; done)
[ -z "$warnings" ] || { echo "$warnings" | head -n 20; exit 1; }
