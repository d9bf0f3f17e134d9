#!/bin/sh
# help.sh TESSERA: every command has help, a place in the man page and in both completions; every
# variable of the environment that is asked for is in the man page.
set -eu
tessera=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for form in man bash zsh; do "$tessera" help --$form >"$work/$form"; done
names=$("$tessera" help | awk '/^  [a-z]/ && $1 != "help" {print $1}')
[ "$(echo "$names" | wc -l)" -ge 2 ] || { echo "no commands in: $names"; exit 1; }

missing() { echo "'$1' is not in the $2"; exit 1; }
for name in $names; do
    "$tessera" "$name" --help >"$work/help"
    "$tessera" help "$name" | cmp - "$work/help"
    head -n 1 "$work/help" | grep -q "^usage: tessera $name" || missing "$name" "first line of its help"
    awk 'length > 100 {print FILENAME ": too long: " $0; bad = 1} END {exit bad}' "$work/help"
    grep -q "^.SS tessera $name" "$work/man" || missing "$name" "man page"
    grep -q "words=\"help.* $name[ \"]" "$work/bash" || missing "$name" "bash completion"
    grep -q "'$name:" "$work/zsh" || missing "$name" "zsh completion"
    for option in $(sed -n 's/^  --\([a-z-]*\).*/\1/p' "$work/help"); do
        grep -qE "^ +$name\).* ?[\" ]--$option[\" ]" "$work/bash" || missing "$name --$option" "bash completion"
    done
done

for variable in $(grep -rhoE '"TESSERA_[A-Z]+"' src tools | tr -d '"' | sort -u); do
    grep -q "^.B $variable$" "$work/man" || missing "$variable" "man page"
done

bash -n "$work/bash"
bash -c '. "$1"; COMP_WORDS=(tessera spm) COMP_CWORD=1; _tessera; [ "${COMPREPLY[*]}" = spmv ]' _ "$work/bash" ||
    { echo "bash does not complete 'spm' to 'spmv'"; exit 1; }
command -v groff >/dev/null || { echo "skipped: no groff to check the man page with"; exit 77; }
warnings=$(groff -man -Tutf8 -ww -z "$work/man" 2>&1)
[ -z "$warnings" ] || { echo "$warnings"; exit 1; }
