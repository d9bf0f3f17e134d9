! A bar of blocks: assembles a block tridiagonal matrix, multiplies with it, solves two time steps.
! Build: gfortran $(pkg-config --variable=fortran tessera) solve.f90 $(pkg-config --libs tessera)
program solve
  use tessera
  implicit none
  integer, parameter :: n = 1000, b = 3
  type(c_ptr) :: ctx = c_null_ptr, builder = c_null_ptr, A = c_null_ptr
  type(c_ptr) :: device = c_null_ptr, plan = c_null_ptr, solver = c_null_ptr, mine
  type(tess_plan_options) :: options
  type(tess_plan_info) :: info
  type(tess_result) :: result
  real(c_double) :: x(b*n), y(b*n), ones(b*n), many(b*n, 2), products(b*n, 2)
  integer :: step

  call check(tess_ctx_create(out=ctx))
  call check(tess_builder_create(ctx, TESS_F64, int(b*n, c_int64_t), int(b*n, c_int64_t), b, b, 1, &
                                 builder))
  mine = tess_builder_inserter(builder, 0)
  call assemble(1.0_c_double)
  call check(tess_builder_finish(builder, A))

  call check(tess_device_open(ctx, "cpu", device))
  options%effort = TESS_EFFORT_ESTIMATE
  call check(tess_plan_create(ctx, A, device, options, plan))
  call check(tess_plan_get_info(plan, c_sizeof(info), info))
  print '(3a)', "kernel ", tess_string(info%format), " on the CPU"

  ones = 1
  call check(tess_spmv(plan, 1.0_c_double, ones, 0.0_c_double, y))
  many(:, 1) = 1
  many(:, 2) = 2
  call check(tess_spmm(plan, 2, TESS_ORDER_COLUMN_MAJOR, 1.0_c_double, many, int(b*n, c_int64_t), &
                       0.0_c_double, products, int(b*n, c_int64_t)))
  if (maxval(abs(products(:, 2) - 2*y)) > 1e-10) error stop "the products differ"

  call check(tess_solver_create(plan, "cg:pc=bjacobi,tol=1e-10", solver))
  do step = 1, 2
    if (step == 2) then ! other numbers in the same pattern
      call assemble(2.0_c_double)
      call check(tess_builder_update(builder, A))
      call check(tess_solver_update(solver))
      call check(tess_spmv(plan, 1.0_c_double, ones, 0.0_c_double, y))
    end if
    x = 0
    call check(tess_solver_solve(solver, y, x, result))
    if (result%reason /= TESS_REASON_CONVERGED) error stop "not solved"
    if (maxval(abs(x - 1)) > 1e-6) error stop "a wrong solution"
    print '(a, i0, 4a)', "step ", step, ": ", tess_reason_name(result%reason), ", x = 1"
  end do

  ! A failure is a status and a sentence.
  if (tess_matrix_read(ctx, "no such file", A) /= TESS_ERR_IO) error stop "read"
  print '(a)', tess_error(ctx)

  call tess_solver_destroy(solver)
  call tess_plan_destroy(plan)
  call tess_device_close(device)
  call tess_matrix_destroy(A)
  call tess_builder_destroy(builder)
  call tess_ctx_destroy(ctx)

contains

  ! Block row i is coupled with i - 1 and i + 1; stiff: how heavy the diagonal is. 0-based.
  subroutine assemble(stiff)
    real(c_double), intent(in) :: stiff
    real(c_double) :: diagonal(b, b), beside(b, b)
    integer(c_int64_t) :: i
    integer :: k
    diagonal = 0.1_c_double
    beside = 0
    do k = 1, b
      diagonal(k, k) = 4*stiff
      beside(k, k) = -1
    end do
    do i = 0, n - 1
      call add(i, i, diagonal)
      if (i > 0) call add(i, i - 1, beside)
      if (i < n - 1) call add(i, i + 1, beside)
    end do
  end subroutine

  subroutine add(row, column, values)
    integer(c_int64_t), intent(in) :: row, column
    real(c_double), intent(in) :: values(b, b)
    if (tess_inserter_add_block(mine, row, column, values, TESS_ORDER_COLUMN_MAJOR) /= TESS_OK) then
      print '(a)', tess_inserter_error(mine)
      error stop
    end if
  end subroutine

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == TESS_OK) return
    print '(3a)', tess_status_name(status), ": ", tess_error(ctx)
    error stop 1
  end subroutine
end program
