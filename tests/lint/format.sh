#!/bin/sh
# Every C source is formatted by clang-format 14. `./run format` repairs.
set -eu
version=$(clang-format --version 2>/dev/null || true)
case $version in
*"version 14."*) ;;
*) echo "skipped: needs clang-format 14, found '${version:-none}'"; exit 77 ;;
esac
[ -d .git ] || [ -f .git ] || { echo "skipped: not a git checkout"; exit 77; }
git -c safe.directory='*' ls-files '*.c' '*.h' | while read -r file; do
    [ ! -f "$file" ] || printf '%s\n' "$file"
done | xargs -P "$(nproc 2>/dev/null || echo 2)" -n 40 clang-format --dry-run -Werror || { echo "run ./run format"; exit 1; }
