#!/bin/sh
# terminal.sh TESSERA: colours on a terminal, and nowhere else.
set -eu
tessera=$1
escape=$(printf '\033')
command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1 ||
    { echo "skipped: no pseudo-terminal here (script)"; exit 77; }

on_terminal() { script -qec "'$tessera' spmv gen:stencil7:n=2 --device ref" /dev/null; }
coloured() { grep -q "$escape\\["; }
complain() { echo "$*"; exit 1; }

export TERM=xterm
unset NO_COLOR
on_terminal | coloured || complain "no colours on a terminal"
NO_COLOR= on_terminal | coloured || complain "an empty NO_COLOR must not count"
! NO_COLOR=1 on_terminal | coloured || complain "colours in spite of NO_COLOR=1"
! TERM=dumb on_terminal | coloured || complain "colours on a dumb terminal"
! "$tessera" spmv gen:stencil7:n=2 --device ref | coloured || complain "colours in a pipe"

# A line of progress that is wider than the terminal would be left on the screen.
narrow() {
    script -qec "stty cols 40; timeout 3 '$tessera' solve gen:stencil7:n=14,b=3 --device ref --method gmres \
        --pc none --tol 1e-30 --options stagnation=1000000 --max-iterations 1000000" /dev/null || true
}
lines=$(narrow | tr '\r' '\n' | sed "s/$escape\\[K//g" | grep '^iteration') || complain "no progress on a terminal"
longest=$(echo "$lines" | awk '{ if (length > longest) longest = length } END { print longest }')
[ "$longest" -lt 40 ] || complain "a line of progress has $longest columns on a terminal of 40"
