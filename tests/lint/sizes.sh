#!/bin/sh
# sizes.sh CC [--update]: every struct of the public header has the committed size. A size that
# changes within a minor version breaks programs that were compiled before.
set -eu
list=tests/lint/struct_sizes.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
    echo '#include <stdio.h>'
    echo '#include <tessera/tessera.h>'
    echo 'int main(void) {'
    sed -n 's/^typedef struct \([a-z_]*\) {$/printf("%s %zu\\n", "\1", sizeof(\1));/p' include/tessera/tessera.h
    echo 'return 0; }'
} >"$work/sizes.c"
"$1" -Iinclude "$work/sizes.c" -o "$work/sizes"
"$work/sizes" | LC_ALL=C sort >"$work/actual"
[ "$(wc -l <"$work/actual")" -gt 20 ] || { echo "too few structs were found in the header"; exit 1; }
if [ "${2:-}" = --update ]; then
    cp "$work/actual" $list
elif ! diff -u $list "$work/actual"; then
    echo "The size of a struct changed. If the change of the ABI is meant:"
    echo "  sh tests/lint/sizes.sh $1 --update"
    exit 1
fi
