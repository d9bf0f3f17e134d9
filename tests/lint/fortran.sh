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
# Variables of fixed length end with blanks.
cat >"$work/padded.f90" <<'TEXT'
program padded
  use tessera
  implicit none
  character(64) :: input = "gen:stencil7:n=3", name = "cpu:1", spec = "cg:pc=jacobi", pc = "ilu0"
  type(c_ptr) :: ctx = c_null_ptr, A = c_null_ptr, device = c_null_ptr, plan = c_null_ptr, made = c_null_ptr
  type(tess_result) :: result
  real(c_double) :: x(27) = 0, ones(27) = 1
  call check(tess_ctx_create(out=ctx))
  call check(tess_matrix_input(ctx, input, A))
  call check(tess_device_open(ctx, name, device))
  call check(tess_plan_create(ctx, A, device, out=plan))
  call check(tess_solve(plan, spec, ones, x, result))
  call check(tess_pc_create(plan, pc, made))
  call tess_pc_destroy(made)
  call tess_plan_destroy(plan)
  call tess_device_close(device)
  call tess_matrix_destroy(A)
  call tess_ctx_destroy(ctx)
contains
  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status /= TESS_OK) error stop tess_error(ctx)
  end subroutine
end program
TEXT
"$fc" -std=f2018 -Wall -Wextra -Werror -J "$work" fortran/tessera.f90 "$work/padded.f90" -o "$work/padded" \
    "$library" "-Wl,-rpath,$(dirname "$library")"
"$work/padded"
