#!/bin/sh
# replay.sh BIN FILE.t [--update]: runs the command lines of FILE.t and compares what they print.
#
# In a .t file, prose is not indented. An indented "  $ command" is run by sh, with BIN in front of
# PATH, in an empty directory with copies of tests/cli/data. Its expected result follows: stdout
# as it is, stderr with "2> " before each line, "[n]" for an exit status n other than 0.
# --update writes the actual results into FILE.t.
set -eu
bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
file=$here/$(basename "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/cwd"
cp "$here"/data/* "$work/cwd"
PATH=$bin:$PATH OMP_NUM_THREADS=2 TERM=xterm LC_ALL=C TESSERA_SUITESPARSE=off
TESSERA_PARTITIONERS=off
export PATH OMP_NUM_THREADS TERM LC_ALL TESSERA_SUITESPARSE TESSERA_PARTITIONERS
TESSERA_WISDOM=${TESSERA_WISDOM:-off} # never the user's own
export TESSERA_WISDOM
unset NO_COLOR

while IFS= read -r line || [ -n "$line" ]; do
    case $line in
    '  $ '*)
        printf '%s\n' "$line"
        status=0
        (cd "$work/cwd" && sh -c "${line#  \$ }") >"$work/out" 2>"$work/err" </dev/null || status=$?
        sed 's/^/  /' "$work/out"
        sed 's/^/  2> /' "$work/err"
        [ $status = 0 ] || echo "  [$status]"
        ;;
    '  '*) ;; # the former result
    *) printf '%s\n' "$line" ;;
    esac
done <"$file" >"$work/seen"

if [ "${3:-}" = --update ]; then
    cp "$work/seen" "$file"
elif ! diff -u "$file" "$work/seen"; then
    echo "If the new output is right: sh tests/cli/replay.sh $1 $(basename "$file") --update"
    exit 1
fi
