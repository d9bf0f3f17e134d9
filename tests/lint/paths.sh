#!/bin/sh
# paths.sh: the files, headings and functions that documents and comments cite exist.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
[ -d .git ] || [ -f .git ] || { echo "skipped: not a git checkout"; exit 77; }
python3 tests/lint/paths.py
