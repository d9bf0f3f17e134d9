#!/bin/sh
# Every line of C in README.md and docs/guide.md is from examples/: each fenced block is a passage of
# one example, indentation aside. The guide names every example, and every variable of the
# environment that the library reads.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
for page in README.md docs/guide.md; do
    awk -v page="$page" '
        function bare(line) { gsub(/^[ \t]+|[ \t]+$/, "", line); gsub(/[ \t]+/, " ", line); return line }
        FILENAME != page { text[FILENAME] = text[FILENAME] "\n" bare($0); next }
        /^```c$/ { inside = 1; passage = ""; first = FNR; blocks++; next }
        /^```$/ && inside {
            inside = found = 0
            for (file in text) if (index(text[file] "\n", passage "\n")) found = 1
            if (!found) { print page ":" first ": this passage is in no example:" passage; bad = 1 }
            next
        }
        inside { passage = passage "\n" bare($0) }
        END {
            if (!blocks) { print page ": no C code"; bad = 1 }
            exit bad
        }' examples/*.c "$page" || status=1
done

for example in examples/*.c; do
    [ "$example" = examples/spmv.c ] || grep -q "../$example" docs/guide.md ||
        { echo "docs/guide.md does not name $example"; status=1; }
    grep -qw "$(basename "$example" .c)" examples/CMakeLists.txt ||
        { echo "examples/CMakeLists.txt does not build $example"; status=1; }
done
for variable in $(grep -rhoE '"TESSERA_[A-Z]+"' src | tr -d '"' | sort -u); do
    grep -q "^| \`$variable\`" docs/guide.md || { echo "docs/guide.md does not explain $variable"; status=1; }
done
exit $status
