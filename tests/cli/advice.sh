#!/bin/sh
# advice.sh: every refusal of the command says what would be right or what to try next. The script
# reads the expected stderr of all .t files. First it checks that it finds a planted refusal.
set -eu
here=$(dirname "$0")

# A refusal must have the nearest valid word, all of them, a range, a usage line, or a next step.
words="nearest:|one of|none of|(outside|in) -?[0-9.e+-]+\.\.|usage: |lists them|such as|only '|must |needs a value: "
words="$words|[;:,(] ?(or )?(try|name|make|set|unset|use|choose|leave|add|allow|install|mend|fetch|remove|write|look|let|take|pass|take|see)\b"
words="$words|(auto and lsqr) take any|\`tessera [a-z]+|is not f64, f32, c64 or c32|can be |a name with|are\)$|(or --[a-z]+|--[a-z]+ [A-Z0-9]+)|\.\/run bench|INPUT is a |without --|missing: tessera "

# silent FILE...: prints refusals without advice. A failed write to stdout is no refusal.
silent() {
    sed -n 's/^ *2> tessera: //p' "$@" | sort -u | grep -v '^cannot write standard output' | grep -vE "$words" || true
}

planted=$(mktemp)
trap 'rm -f "$planted"' EXIT
printf '  2> tessera: a.mtx: this does not work\n  2> tessera: --n: 3 is outside 4..5\n' >"$planted"
[ "$(silent "$planted")" = "a.mtx: this does not work" ] || { echo "a planted refusal was not noticed"; exit 1; }
seen=$(sed -n 's/^ *2> tessera: //p' "$here"/*.t | sort -u | wc -l)
[ "$seen" -gt 60 ] || { echo "only $seen refusals in $here/*.t"; exit 1; }
bare=$(silent "$here"/*.t)
[ -z "$bare" ] || { echo "these say nothing about what to try next:"; echo "$bare"; exit 1; }
