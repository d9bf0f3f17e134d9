#!/bin/sh
# The pages and pictures that bench/report.py writes are what bench/results say.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3 to write the pages with"; exit 77; }
python3 -B bench/report.py --check
