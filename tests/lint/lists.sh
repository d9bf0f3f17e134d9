#!/bin/sh
# lists.sh: where methods and preconditioners are listed, the lists say what the descriptors say.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
python3 tests/lint/lists.py
