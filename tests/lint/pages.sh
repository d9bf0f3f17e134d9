#!/bin/sh
# pages.sh TESSERA: the pages and pictures that bench/report.py, report_solve.py, report_parts.py, spgemm.py, multigrid.py and
# papers/page.py write are what bench/results and TESSERA say, which draws the map of papers/page.py.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3 to write the pages with"; exit 77; }
status=0
for script in report report_solve report_parts spgemm multigrid; do
    python3 -B bench/$script.py --check || status=1
done
python3 -B bench/papers/page.py --check --tessera "$1" || status=1
exit $status
