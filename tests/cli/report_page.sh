#!/bin/sh
# report_page.sh TESSERA: report_page.py where Python is installed.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3 to read the page with"; exit 77; }
exec python3 "$(dirname "$0")/report_page.py" "$1"
