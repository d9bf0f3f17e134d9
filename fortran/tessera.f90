! Tessera from Fortran: the calls of tessera.h by their own names, over iso_c_binding. That header
! explains each of them; docs/fortran.md says what differs here, and examples/solve.f90 is a program.
!
!  - Handles (context, matrix, device, plan, solver ...) are type(c_ptr).
!  - Calls that may fail are functions of tess_status; tess_error(ctx) is the sentence of the last
!    failure.
!  - Arrays of values are type(*): real(c_double) for TESS_F64, real(c_float) for TESS_F32. Complex
!    ones are complex(c_double_complex) for TESS_C64 and complex(c_float_complex) for TESS_C32.
!    Indices are 0-based, as in C. Arguments that may be NULL in C are optional.
!  - Calls that take or return text have a wrapper for character strings at the end of the module.
module tessera
  use, intrinsic :: iso_c_binding
  implicit none
  public

  ! ---- Constants ----

  enum, bind(c) ! tess_status
    enumerator :: TESS_OK = 0, TESS_ERR_ARGUMENT = 1, TESS_ERR_MEMORY = 2, TESS_ERR_IO = 3
    enumerator :: TESS_ERR_FORMAT = 4, TESS_ERR_MATRIX = 5, TESS_ERR_OVERFLOW = 6
    enumerator :: TESS_ERR_UNSUPPORTED = 7, TESS_ERR_OPTION = 8, TESS_ERR_PATTERN = 9
    enumerator :: TESS_ERR_DEVICE = 10, TESS_ERR_CANCELLED = 11, TESS_ERR_INTERNAL = 12
    enumerator :: TESS_ERR_PART = 13
  end enum
  enum, bind(c) ! tess_wisdom_keep
    enumerator :: TESS_WISDOM_USUAL = 0, TESS_WISDOM_FILE = 1, TESS_WISDOM_MEMORY = 2
    enumerator :: TESS_WISDOM_OFF = 3
  end enum
  enum, bind(c) ! tess_type
    enumerator :: TESS_F64 = 0, TESS_F32 = 1, TESS_C64 = 2, TESS_C32 = 3
  end enum
  enum, bind(c) ! tess_block_order
    enumerator :: TESS_ORDER_COLUMN_MAJOR = 0, TESS_ORDER_ROW_MAJOR = 1
  end enum
  enum, bind(c) ! tess_ownership
    enumerator :: TESS_OWNERSHIP_COPY = 0, TESS_OWNERSHIP_BORROW = 1, TESS_OWNERSHIP_ADOPT = 2
  end enum
  enum, bind(c) ! tess_zeros
    enumerator :: TESS_ZEROS_DROP = 0, TESS_ZEROS_KEEP = 1
  end enum
  enum, bind(c) ! tess_effort
    enumerator :: TESS_EFFORT_MEASURE = 0, TESS_EFFORT_ESTIMATE = 1, TESS_EFFORT_EXHAUSTIVE = 2
  end enum
  enum, bind(c) ! tess_regroup
    enumerator :: TESS_REGROUP_AUTO = 0, TESS_REGROUP_ON = 1, TESS_REGROUP_OFF = 2
  end enum
  enum, bind(c) ! tess_reason
    enumerator :: TESS_REASON_CONVERGED = 0, TESS_REASON_ITERATION_LIMIT = 1
    enumerator :: TESS_REASON_DIVERGED = 2, TESS_REASON_BREAKDOWN = 3, TESS_REASON_STAGNATED = 4
    enumerator :: TESS_REASON_INDEFINITE = 5, TESS_REASON_NOT_FINITE = 6, TESS_REASON_ZERO_RHS = 7
    enumerator :: TESS_REASON_CANCELLED = 8, TESS_REASON_LEAST_SQUARES = 9
  end enum

  ! ---- Structs ----

  type, bind(c) :: tess_allocator
    type(c_funptr) :: allocate = c_null_funptr
    type(c_funptr) :: release = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
  end type
  type, bind(c) :: tess_ctx_options
    integer(c_size_t) :: size = 0
    type(tess_allocator) :: allocator
    integer(c_int) :: threads = 0
    type(c_funptr) :: progress = c_null_funptr
    type(c_ptr) :: progress_user = c_null_ptr
    type(c_funptr) :: log = c_null_funptr
    type(c_ptr) :: log_user = c_null_ptr
  end type
  type, bind(c) :: tess_matrix_view
    integer(c_int) :: type = TESS_F64
    integer(c_int64_t) :: rows = 0, cols = 0
    integer(c_int32_t) :: block_height = 1, block_width = 1
    integer(c_int64_t) :: block_rows = 0, block_cols = 0, blocks = 0
    type(c_ptr) :: row_offsets = c_null_ptr, columns = c_null_ptr, values = c_null_ptr
  end type
  type, bind(c) :: tess_blocking
    integer(c_int32_t) :: rows = 0, cols = 0
  end type
  type, bind(c) :: tess_symmetry
    integer(c_int) :: pattern, symmetric, skew
    real(c_double) :: mirrored, asymmetry
    integer(c_int64_t) :: missing_diagonal, zero_diagonal
  end type
  type, bind(c) :: tess_plan_options
    integer(c_size_t) :: size = 0
    integer(c_int) :: effort = TESS_EFFORT_MEASURE
    type(c_ptr) :: format = c_null_ptr, kernel = c_null_ptr, params = c_null_ptr
    integer(c_int) :: reproducible = 0, fresh = 0
    type(c_ptr) :: form = c_null_ptr
    integer(c_int) :: regroup = TESS_REGROUP_AUTO
  end type
  type, bind(c) :: tess_plan_info
    type(c_ptr) :: format, kernel, params
    real(c_double) :: bytes, flops, memory, predicted_seconds, measured_seconds, moves
    type(c_ptr) :: note, regrouping
    integer(c_int32_t) :: regrouped_block
    real(c_double) :: permuted_bytes
  end type
  type, bind(c) :: tess_predicted_kernel
    character(kind=c_char) :: format(32), kernel(64), params(128)
    real(c_double) :: bytes, memory, seconds, best_seconds
  end type
  type, bind(c) :: tess_operator
    integer(c_size_t) :: size = 0
    integer(c_int) :: type = TESS_F64
    integer(c_int64_t) :: rows = 0
    type(c_funptr) :: apply = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
    real(c_double) :: bytes = 0
    integer(c_int) :: capturable = 0
  end type
  type, bind(c) :: tess_result
    integer(c_int) :: reason
    character(kind=c_char) :: text(256)
    integer(c_int64_t) :: iterations
    real(c_double) :: residual, true_residual, rhs_norm
    real(c_double) :: seconds, seconds_spmv, seconds_pc, seconds_dots, seconds_vectors, bytes
    integer(c_int64_t) :: history_count
    type(c_ptr) :: history
    real(c_double) :: normal_residual
    real(c_double) :: reserved(8)
  end type

  ! ---- Calls ----

  interface
    ! Context
    integer(c_int) function tess_ctx_create(options, out) bind(c)
      import
      type(tess_ctx_options), intent(in), optional :: options
      type(c_ptr), intent(inout) :: out
    end function
    subroutine tess_ctx_destroy(ctx) bind(c)
      import
      type(c_ptr), value :: ctx
    end subroutine
    integer(c_int) function tess_ctx_set_threads(ctx, threads) bind(c)
      import
      type(c_ptr), value :: ctx
      integer(c_int), value :: threads
    end function
    integer(c_int) function tess_ctx_threads(ctx) bind(c)
      import
      type(c_ptr), value :: ctx
    end function
    subroutine tess_release(ctx, pointer) bind(c)
      import
      type(c_ptr), value :: ctx, pointer
    end subroutine

    ! Matrix
    integer(c_int) function tess_matrix_from_csr(ctx, type, rows, cols, row_offsets, columns, &
                                                 values, ownership, out) bind(c)
      import
      type(c_ptr), value :: ctx
      integer(c_int), value :: type
      integer(c_int64_t), value :: rows, cols
      integer(c_int64_t), intent(in) :: row_offsets(*)
      integer(c_int32_t), intent(in) :: columns(*)
      type(*), intent(in) :: values(*)
      integer(c_int), value :: ownership
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function tess_matrix_from_csr_i32(ctx, type, rows, cols, row_offsets, columns, &
                                                     values, out) bind(c)
      import
      type(c_ptr), value :: ctx
      integer(c_int), value :: type
      integer(c_int64_t), value :: rows, cols
      integer(c_int32_t), intent(in) :: row_offsets(*), columns(*)
      type(*), intent(in) :: values(*)
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function tess_matrix_from_bsr(ctx, arrays, order, ownership, out) bind(c)
      import
      type(c_ptr), value :: ctx
      type(tess_matrix_view), intent(in) :: arrays
      integer(c_int), value :: order, ownership
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function tess_matrix_from_bsr_i32(ctx, type, rows, cols, block_height, &
                                                     block_width, row_offsets, columns, values, &
                                                     order, out) bind(c)
      import
      type(c_ptr), value :: ctx
      integer(c_int), value :: type
      integer(c_int64_t), value :: rows, cols
      integer(c_int32_t), value :: block_height, block_width
      integer(c_int32_t), intent(in) :: row_offsets(*), columns(*)
      type(*), intent(in) :: values(*)
      integer(c_int), value :: order
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function tess_matrix_from_coo(ctx, type, rows, cols, entries, row_index, &
                                                 col_index, values, out) bind(c)
      import
      type(c_ptr), value :: ctx
      integer(c_int), value :: type
      integer(c_int64_t), value :: rows, cols, entries
      integer(c_int64_t), intent(in) :: row_index(*), col_index(*)
      type(*), intent(in) :: values(*)
      type(c_ptr), intent(inout) :: out
    end function
    subroutine tess_matrix_get_view(A, view) bind(c)
      import
      type(c_ptr), value :: A
      type(tess_matrix_view), intent(out) :: view
    end subroutine
    subroutine tess_matrix_destroy(A) bind(c)
      import
      type(c_ptr), value :: A
    end subroutine
    integer(c_int) function tess_matrix_to_blocks(ctx, A, blocking, out) bind(c)
      import
      type(c_ptr), value :: ctx, A
      type(tess_blocking), intent(in), optional :: blocking
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function tess_matrix_to_csr(ctx, A, zeros, out) bind(c)
      import
      type(c_ptr), value :: ctx, A
      integer(c_int), value :: zeros
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function tess_matrix_transpose(ctx, A, out) bind(c)
      import
      type(c_ptr), value :: ctx, A
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function tess_matrix_update(ctx, B, A) bind(c)
      import
      type(c_ptr), value :: ctx, B, A
    end function
    integer(c_int) function tess_matrix_symmetry(ctx, A, out) bind(c)
      import
      type(c_ptr), value :: ctx, A
      type(tess_symmetry), intent(out) :: out
    end function

    ! Assembly
    integer(c_int) function tess_builder_create(ctx, type, rows, cols, block_height, block_width, &
                                                inserters, out) bind(c)
      import
      type(c_ptr), value :: ctx
      integer(c_int), value :: type
      integer(c_int64_t), value :: rows, cols
      integer(c_int32_t), value :: block_height, block_width
      integer(c_int), value :: inserters
      type(c_ptr), intent(inout) :: out
    end function
    subroutine tess_builder_destroy(builder) bind(c)
      import
      type(c_ptr), value :: builder
    end subroutine
    type(c_ptr) function tess_builder_inserter(builder, id) bind(c)
      import
      type(c_ptr), value :: builder
      integer(c_int), value :: id
    end function
    integer(c_int) function tess_inserter_add_block(inserter, block_row, block_col, values, &
                                                    order) bind(c)
      import
      type(c_ptr), value :: inserter
      integer(c_int64_t), value :: block_row, block_col
      type(*), intent(in) :: values(*)
      integer(c_int), value :: order
    end function
    integer(c_int) function tess_inserter_add_element(inserter, n_rows, block_rows, n_cols, &
                                                      block_cols, dense, order) bind(c)
      import
      type(c_ptr), value :: inserter
      integer(c_int64_t), value :: n_rows
      integer(c_int64_t), intent(in) :: block_rows(*)
      integer(c_int64_t), value :: n_cols
      integer(c_int64_t), intent(in), optional :: block_cols(*)
      type(*), intent(in) :: dense(*)
      integer(c_int), value :: order
    end function
    integer(c_int) function tess_builder_finish(builder, out) bind(c)
      import
      type(c_ptr), value :: builder
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function tess_builder_update(builder, A) bind(c)
      import
      type(c_ptr), value :: builder, A
    end function
    subroutine tess_builder_clear(builder) bind(c)
      import
      type(c_ptr), value :: builder
    end subroutine

    ! Device
    subroutine tess_device_close(device) bind(c)
      import
      type(c_ptr), value :: device
    end subroutine
    integer(c_int) function tess_device_alloc(device, bytes, out) bind(c)
      import
      type(c_ptr), value :: device
      integer(c_size_t), value :: bytes
      type(c_ptr), intent(inout) :: out
    end function
    subroutine tess_device_free(device, pointer) bind(c)
      import
      type(c_ptr), value :: device, pointer
    end subroutine
    integer(c_int) function tess_device_copy_to(device, to, from, bytes) bind(c)
      import
      type(c_ptr), value :: device, to
      type(*), intent(in) :: from(*)
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function tess_device_copy_from(device, to, from, bytes) bind(c)
      import
      type(c_ptr), value :: device
      type(*), intent(inout) :: to(*)
      type(c_ptr), value :: from
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function tess_device_synchronize(device) bind(c)
      import
      type(c_ptr), value :: device
    end function

    ! Plan
    integer(c_int) function tess_plan_create(ctx, A, device, options, out) bind(c)
      import
      type(c_ptr), value :: ctx, A, device
      type(tess_plan_options), intent(in), optional :: options
      type(c_ptr), intent(inout) :: out
    end function
    subroutine tess_plan_destroy(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end subroutine
    integer(c_int) function tess_spmv(plan, alpha, x, beta, y) bind(c)
      import
      type(c_ptr), value :: plan
      real(c_double), value :: alpha
      type(*), intent(in) :: x(*)
      real(c_double), value :: beta
      type(*), intent(inout) :: y(*)
    end function
    integer(c_int) function tess_spmv_transpose(plan, alpha, x, beta, y) bind(c)
      import
      type(c_ptr), value :: plan
      real(c_double), value :: alpha
      type(*), intent(in) :: x(*)
      real(c_double), value :: beta
      type(*), intent(inout) :: y(*)
    end function
    integer(c_int) function tess_spmv_conjugate_transpose(plan, alpha, x, beta, y) bind(c)
      import
      type(c_ptr), value :: plan
      real(c_double), value :: alpha
      type(*), intent(in) :: x(*)
      real(c_double), value :: beta
      type(*), intent(inout) :: y(*)
    end function
    integer(c_int) function tess_spmv_dot(plan, alpha, x, beta, y, w, dot) bind(c)
      import
      type(c_ptr), value :: plan
      real(c_double), value :: alpha
      type(*), intent(in) :: x(*)
      real(c_double), value :: beta
      type(*), intent(inout) :: y(*)
      type(*), intent(in), optional :: w(*)
      real(c_double), intent(out) :: dot
    end function
    integer(c_int) function tess_spmm(plan, k, order, alpha, X, ldx, beta, Y, ldy) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int), value :: k, order
      real(c_double), value :: alpha
      type(*), intent(in) :: X(*)
      integer(c_int64_t), value :: ldx
      real(c_double), value :: beta
      type(*), intent(inout) :: Y(*)
      integer(c_int64_t), value :: ldy
    end function
    integer(c_int) function tess_plan_update_values(plan, values) bind(c)
      import
      type(c_ptr), value :: plan
      type(*), intent(in) :: values(*)
    end function
    integer(c_int) function tess_plan_set_stream(plan, stream) bind(c)
      import
      type(c_ptr), value :: plan, stream
    end function
    integer(c_int) function tess_plan_get_info(plan, size, out) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_size_t), value :: size
      type(tess_plan_info), intent(out) :: out
    end function
    integer(c_int) function tess_plan_estimate(ctx, A, device, options, size, out) bind(c)
      import
      type(c_ptr), value :: ctx, A, device
      type(tess_plan_options), intent(in), optional :: options
      integer(c_size_t), value :: size
      type(tess_predicted_kernel), intent(out) :: out
    end function
    integer(c_int) function tess_plan_from_operator(ctx, device, A, out) bind(c)
      import
      type(c_ptr), value :: ctx, device
      type(tess_operator), intent(in) :: A
      type(c_ptr), intent(inout) :: out
    end function

    ! Solver
    subroutine tess_solver_destroy(solver) bind(c)
      import
      type(c_ptr), value :: solver
    end subroutine
    integer(c_int) function tess_solver_set_modes(solver, k, modes, ld) bind(c)
      import
      type(c_ptr), value :: solver
      integer(c_int), value :: k
      real(c_double), intent(in) :: modes(*)
      integer(c_int64_t), value :: ld
    end function
    integer(c_int) function tess_solver_set_coordinates(solver, dimensions, coordinates) bind(c)
      import
      type(c_ptr), value :: solver
      integer(c_int), value :: dimensions
      real(c_double), intent(in) :: coordinates(*)
    end function
    integer(c_int) function tess_solver_set_up(solver) bind(c)
      import
      type(c_ptr), value :: solver
    end function
    subroutine tess_solver_set_callback(solver, callback, user) bind(c)
      import
      type(c_ptr), value :: solver
      type(c_funptr), value :: callback
      type(c_ptr), value :: user
    end subroutine
    integer(c_int) function tess_solver_solve(solver, b, x, result) bind(c)
      import
      type(c_ptr), value :: solver
      type(*), intent(in) :: b(*)
      type(*), intent(inout) :: x(*)
      type(tess_result), intent(out) :: result
    end function
    integer(c_int) function tess_solver_solve_many(solver, k, B, ldb, X, ldx, results) bind(c)
      import
      type(c_ptr), value :: solver
      integer(c_int), value :: k
      type(*), intent(in) :: B(*)
      integer(c_int64_t), value :: ldb
      type(*), intent(inout) :: X(*)
      integer(c_int64_t), value :: ldx
      type(tess_result), intent(out) :: results(*)
    end function
    integer(c_int) function tess_solver_update(solver, values) bind(c)
      import
      type(c_ptr), value :: solver
      type(*), intent(in), optional :: values(*)
    end function
    integer(c_int) function tess_pc_set_modes(pc, k, modes, ld) bind(c)
      import
      type(c_ptr), value :: pc
      integer(c_int), value :: k
      real(c_double), intent(in) :: modes(*)
      integer(c_int64_t), value :: ld
    end function
    integer(c_int) function tess_pc_apply(pc, r, z) bind(c)
      import
      type(c_ptr), value :: pc
      type(*), intent(in) :: r(*)
      type(*), intent(inout) :: z(*)
    end function
    integer(c_int) function tess_pc_apply_transpose(pc, r, z) bind(c)
      import
      type(c_ptr), value :: pc
      type(*), intent(in) :: r(*)
      type(*), intent(inout) :: z(*)
    end function
    integer(c_int) function tess_pc_update(pc, values) bind(c)
      import
      type(c_ptr), value :: pc
      type(*), intent(in), optional :: values(*)
    end function
    subroutine tess_pc_destroy(pc) bind(c)
      import
      type(c_ptr), value :: pc
    end subroutine
  end interface

  ! C's own calls with text, which the wrappers below call. A program can call them too, with a null
  ! character at the end of the text.
  interface
    type(c_ptr) function c_version() bind(c, name="tess_version")
      import
    end function
    type(c_ptr) function c_status_name(status) bind(c, name="tess_status_name")
      import
      integer(c_int), value :: status
    end function
    type(c_ptr) function c_status_text(status) bind(c, name="tess_status_text")
      import
      integer(c_int), value :: status
    end function
    type(c_ptr) function c_ctx_error(ctx) bind(c, name="tess_ctx_error")
      import
      type(c_ptr), value :: ctx
    end function
    integer(c_int) function c_ctx_set_wisdom(ctx, keep, path) bind(c, name="tess_ctx_set_wisdom")
      import
      type(c_ptr), value :: ctx
      integer(c_int), value :: keep
      character(kind=c_char), intent(in), optional :: path(*)
    end function
    integer(c_int) function c_matrix_read(ctx, path, out) bind(c, name="tess_matrix_read")
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function c_matrix_write(ctx, A, path) bind(c, name="tess_matrix_write")
      import
      type(c_ptr), value :: ctx, A
      character(kind=c_char), intent(in) :: path(*)
    end function
    integer(c_int) function c_matrix_write_symmetric(ctx, A, path) &
        bind(c, name="tess_matrix_write_symmetric")
      import
      type(c_ptr), value :: ctx, A
      character(kind=c_char), intent(in) :: path(*)
    end function
    integer(c_int) function c_matrix_generate(ctx, spec, A, rhs) bind(c, name="tess_matrix_generate")
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), intent(in) :: spec(*)
      type(c_ptr), intent(inout) :: A
      type(c_ptr), intent(out), optional :: rhs
    end function
    integer(c_int) function c_matrix_input(ctx, input, out) bind(c, name="tess_matrix_input")
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), intent(in) :: input(*)
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function c_vector_read(ctx, path, type, count, values) &
        bind(c, name="tess_vector_read")
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: type
      integer(c_int64_t), intent(inout) :: count
      type(c_ptr), intent(inout) :: values
    end function
    integer(c_int) function c_vector_write(ctx, path, type, count, values) &
        bind(c, name="tess_vector_write")
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: type
      integer(c_int64_t), value :: count
      type(*), intent(in) :: values(*)
    end function
    integer(c_int) function c_output_check(ctx, path) bind(c, name="tess_output_check")
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), intent(in) :: path(*)
    end function
    type(c_ptr) function c_inserter_error(inserter) bind(c, name="tess_inserter_error")
      import
      type(c_ptr), value :: inserter
    end function
    integer(c_int) function c_device_open(ctx, name, out) bind(c, name="tess_device_open")
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function c_device_open_for(ctx, name, A, out) bind(c, name="tess_device_open_for")
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: A
      type(c_ptr), intent(inout) :: out
    end function
    type(c_ptr) function c_device_description(device) bind(c, name="tess_device_description")
      import
      type(c_ptr), value :: device
    end function
    type(c_ptr) function c_plan_explain(plan) bind(c, name="tess_plan_explain")
      import
      type(c_ptr), value :: plan
    end function
    integer(c_int) function c_solver_create(plan, spec, out) bind(c, name="tess_solver_create")
      import
      type(c_ptr), value :: plan
      character(kind=c_char), intent(in) :: spec(*)
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function c_solver_create_with(plan, spec, M, out) &
        bind(c, name="tess_solver_create_with")
      import
      type(c_ptr), value :: plan
      character(kind=c_char), intent(in) :: spec(*)
      type(tess_operator), intent(in) :: M
      type(c_ptr), intent(inout) :: out
    end function
    type(c_ptr) function c_solver_spec(solver) bind(c, name="tess_solver_spec")
      import
      type(c_ptr), value :: solver
    end function
    type(c_ptr) function c_reason_name(reason) bind(c, name="tess_reason_name")
      import
      integer(c_int), value :: reason
    end function
    integer(c_int) function c_pc_create(plan, spec, out) bind(c, name="tess_pc_create")
      import
      type(c_ptr), value :: plan
      character(kind=c_char), intent(in) :: spec(*)
      type(c_ptr), intent(inout) :: out
    end function
    integer(c_int) function c_solve(plan, spec, b, x, result) bind(c, name="tess_solve")
      import
      type(c_ptr), value :: plan
      character(kind=c_char), intent(in) :: spec(*)
      type(*), intent(in) :: b(*)
      type(*), intent(inout) :: x(*)
      type(tess_result), intent(out) :: result
    end function
  end interface

contains

  ! Text as C takes it. Blanks at the end do not count, as in the file names of Fortran's own OPEN:
  ! a variable of fixed length has them.
  pure function c_text(text) result(string)
    character(*), intent(in) :: text
    character(len_trim(text) + 1, kind=c_char) :: string
    string = trim(text)//c_null_char
  end function

  ! A C string as Fortran's; "" for NULL.
  function tess_string(text) result(string)
    type(c_ptr), intent(in) :: text
    character(:), allocatable :: string
    character(kind=c_char), pointer :: characters(:)
    integer :: length, i
    string = ""
    if (.not. c_associated(text)) return
    call c_f_pointer(text, characters, [huge(0)])
    length = 0
    do while (characters(length + 1) /= c_null_char)
      length = length + 1
    end do
    deallocate (string)
    allocate (character(length) :: string)
    do i = 1, length
      string(i:i) = characters(i)
    end do
  end function

  ! The text in a struct's array of characters, such as result%text.
  pure function tess_text(characters) result(string)
    character(kind=c_char), intent(in) :: characters(:)
    character(:), allocatable :: string
    integer :: length, i
    length = 0
    do i = 1, size(characters)
      if (characters(i) == c_null_char) exit
      length = i
    end do
    allocate (character(length) :: string)
    do i = 1, length
      string(i:i) = characters(i)
    end do
  end function

  function tess_version() result(string)
    character(:), allocatable :: string
    string = tess_string(c_version())
  end function

  function tess_status_name(status) result(string)
    integer(c_int), intent(in) :: status
    character(:), allocatable :: string
    string = tess_string(c_status_name(status))
  end function

  function tess_status_text(status) result(string)
    integer(c_int), intent(in) :: status
    character(:), allocatable :: string
    string = tess_string(c_status_text(status))
  end function

  ! tess_ctx_error of C.
  function tess_error(ctx) result(string)
    type(c_ptr), intent(in) :: ctx
    character(:), allocatable :: string
    string = tess_string(c_ctx_error(ctx))
  end function

  integer(c_int) function tess_ctx_set_wisdom(ctx, keep, path) result(status)
    type(c_ptr), intent(in) :: ctx
    integer(c_int), intent(in) :: keep
    character(*), intent(in), optional :: path
    if (present(path)) then
      status = c_ctx_set_wisdom(ctx, keep, c_text(path))
    else
      status = c_ctx_set_wisdom(ctx, keep)
    end if
  end function

  integer(c_int) function tess_matrix_read(ctx, path, out) result(status)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in) :: path
    type(c_ptr), intent(inout) :: out
    status = c_matrix_read(ctx, c_text(path), out)
  end function

  integer(c_int) function tess_matrix_write(ctx, A, path) result(status)
    type(c_ptr), intent(in) :: ctx, A
    character(*), intent(in) :: path
    status = c_matrix_write(ctx, A, c_text(path))
  end function

  integer(c_int) function tess_matrix_write_symmetric(ctx, A, path) result(status)
    type(c_ptr), intent(in) :: ctx, A
    character(*), intent(in) :: path
    status = c_matrix_write_symmetric(ctx, A, c_text(path))
  end function

  integer(c_int) function tess_matrix_generate(ctx, spec, A, rhs) result(status)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in) :: spec
    type(c_ptr), intent(inout) :: A
    type(c_ptr), intent(inout), optional :: rhs
    status = c_matrix_generate(ctx, c_text(spec), A, rhs)
  end function

  integer(c_int) function tess_matrix_input(ctx, input, out) result(status)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in) :: input
    type(c_ptr), intent(inout) :: out
    status = c_matrix_input(ctx, c_text(input), out)
  end function

  ! `values` is the library's: read it through c_f_pointer, end it with tess_release.
  integer(c_int) function tess_vector_read(ctx, path, type, count, values) result(status)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in) :: path
    integer(c_int), intent(in) :: type
    integer(c_int64_t), intent(inout) :: count
    type(c_ptr), intent(inout) :: values
    status = c_vector_read(ctx, c_text(path), type, count, values)
  end function

  integer(c_int) function tess_vector_write(ctx, path, type, count, values) result(status)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in) :: path
    integer(c_int), intent(in) :: type
    integer(c_int64_t), intent(in) :: count
    type(*), intent(in) :: values(*)
    status = c_vector_write(ctx, c_text(path), type, count, values)
  end function

  integer(c_int) function tess_output_check(ctx, path) result(status)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in) :: path
    status = c_output_check(ctx, c_text(path))
  end function

  function tess_inserter_error(inserter) result(string)
    type(c_ptr), intent(in) :: inserter
    character(:), allocatable :: string
    string = tess_string(c_inserter_error(inserter))
  end function

  integer(c_int) function tess_device_open(ctx, name, out) result(status)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in) :: name
    type(c_ptr), intent(inout) :: out
    status = c_device_open(ctx, c_text(name), out)
  end function

  integer(c_int) function tess_device_open_for(ctx, name, A, out) result(status)
    type(c_ptr), intent(in) :: ctx
    character(*), intent(in) :: name
    type(c_ptr), intent(in) :: A
    type(c_ptr), intent(inout) :: out
    status = c_device_open_for(ctx, c_text(name), A, out)
  end function

  function tess_device_description(device) result(string)
    type(c_ptr), intent(in) :: device
    character(:), allocatable :: string
    string = tess_string(c_device_description(device))
  end function

  function tess_plan_explain(plan) result(string)
    type(c_ptr), intent(in) :: plan
    character(:), allocatable :: string
    string = tess_string(c_plan_explain(plan))
  end function

  ! M: the caller's preconditioner, tess_solver_create_with of C.
  integer(c_int) function tess_solver_create(plan, spec, out, M) result(status)
    type(c_ptr), intent(in) :: plan
    character(*), intent(in) :: spec
    type(c_ptr), intent(inout) :: out
    type(tess_operator), intent(in), optional :: M
    if (present(M)) then
      status = c_solver_create_with(plan, c_text(spec), M, out)
    else
      status = c_solver_create(plan, c_text(spec), out)
    end if
  end function

  function tess_solver_spec(solver) result(string)
    type(c_ptr), intent(in) :: solver
    character(:), allocatable :: string
    string = tess_string(c_solver_spec(solver))
  end function

  function tess_reason_name(reason) result(string)
    integer(c_int), intent(in) :: reason
    character(:), allocatable :: string
    string = tess_string(c_reason_name(reason))
  end function

  integer(c_int) function tess_pc_create(plan, spec, out) result(status)
    type(c_ptr), intent(in) :: plan
    character(*), intent(in) :: spec
    type(c_ptr), intent(inout) :: out
    status = c_pc_create(plan, c_text(spec), out)
  end function

  integer(c_int) function tess_solve(plan, spec, b, x, result) result(status)
    type(c_ptr), intent(in) :: plan
    character(*), intent(in) :: spec
    type(*), intent(in) :: b(*)
    type(*), intent(inout) :: x(*)
    type(tess_result), intent(inout) :: result
    status = c_solve(plan, c_text(spec), b, x, result)
  end function
end module
