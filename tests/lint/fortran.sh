#!/bin/sh
# fortran.sh CC LIBRARY: the Fortran module agrees with the header, and the example builds and runs with it.
set -eu
cc=$1 library=$2
fc=${FC:-gfortran}
command -v "$fc" >/dev/null || { echo "skipped: no Fortran compiler ($fc)"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -B tests/lint/fortran.py "$cc" "$fc" "$library" "$work"
"$fc" -std=f2018 -Wall -Wextra -Werror -J "$work" fortran/tessera.f90 examples/solve.f90 -o "$work/solve" \
    "$library" "-Wl,-rpath,$(dirname "$library")"
"$work/solve" >"$work/seen"
cat >"$work/expected" <<'TEXT'
kernel bsr on the CPU
step 1: CONVERGED, x = 1
step 2: CONVERGED, x = 1
no such file: No such file or directory
TEXT
diff -u "$work/expected" "$work/seen"
