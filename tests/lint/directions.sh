#!/bin/sh
# directions.sh [ROOT]: which directory of src/ includes and calls which, against tests/lint/directions.txt;
# and whether CONTRIBUTING.md says what each of them is.
set -eu
lint=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}"
bad=0
find src -type f \( -name '*.[ch]' -o -name '*.inc' -o -name '*.def' -o -name '*.cu' -o -name '*.cuh' \) | sort |
    xargs awk -v exported=tests/lint/exported_symbols.txt -f "$lint/directions.awk" tests/lint/directions.txt || bad=1
for directory in $(sed -n 's/^\([a-z_/]*\):.*/\1/p' tests/lint/directions.txt); do
    [ "$directory" = outside ] || grep -q "^| \`src/$directory\` |" CONTRIBUTING.md || {
        echo "CONTRIBUTING.md: src/$directory has no row: say in a line what it is"
        bad=1
    }
done
exit $bad
