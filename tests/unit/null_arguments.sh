#!/bin/sh
# null_arguments.sh LIBRARY: no public function ends the program where a pointer argument is NULL.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
TESSERA_WISDOM=off OMP_NUM_THREADS=1 python3 -B tests/unit/null_arguments.py "$1"
