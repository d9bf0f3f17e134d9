/* Systems that are not square: A gets rows or columns of zeros until it is.
 *
 *     rows > cols:  [A 0] (x)  = b        rows < cols:  (A) x = (b)
 *                         (0)                           (0)     (0)
 *
 * A^T u is 0 where A has a column of zeros. A method of least squares therefore leaves that part of
 * x at 0, and sees the residuals of the caller's system. Every device can solve the padded system:
 * nothing else knows of other shapes.
 */
#include "solve/outer/rounds.h"

/* Copies the caller's values into the square matrix, whose additional rows have no blocks. */
static tess_status copy_values(tess_solver *solver)
{
    tess_plan *plan = solver->plan;
    tess_matrix *square = solver->inner_matrix;
    TESS_TRY(tess_plan_host_values(plan));
    memcpy(square->values, plan->values,
           (size_t)tess_matrix_stored(square) * tess_type_size(square->type));
    return TESS_OK;
}

static tess_status open(tess_solver *solver)
{
    const tess_matrix *A = solver->plan->matrix;
    const tess_plan_options quick = {.effort = TESS_EFFORT_ESTIMATE};
    const int64_t n = tess_max(A->rows, A->cols);
    tess_solve_options inner = solver->options;
    TESS_TRY(tess_matrix_allocate(solver->ctx, A->type, n, n, A->block_height, A->block_width,
                                  A->blocks, &solver->inner_matrix));
    tess_matrix *square = solver->inner_matrix;
    for (int64_t i = 0; i <= square->block_rows; i++)
        square->row_offsets[i] = A->row_offsets[tess_min(i, A->block_rows)];
    memcpy(square->columns, A->columns, (size_t)A->blocks * sizeof *A->columns);
    TESS_TRY(copy_values(solver));
    TESS_TRY(tess_inner_plan(solver, square, &quick, &solver->inner_plan));
    inner.padded = true;
    return tess_solver_open(solver->inner_plan, &inner, &solver->inner);
}

static tess_status update(tess_solver *solver)
{
    TESS_TRY(copy_values(solver));
    return tess_inner_update(solver);
}

/* Copies a vector of `count` scalars of the caller's to host memory, with zeros behind it. */
static tess_status extend(const tess_solver *solver, const void *vector, int64_t count, void **out)
{
    const tess_matrix *square = solver->inner_matrix;
    const tess_backend *backend = solver->plan->device->backend;
    const size_t size = tess_type_size(square->type);
    TESS_TRY(tess_alloc_bytes(solver->ctx, square->rows, size, out));
    memset(*out, 0, (size_t)square->rows * size);
    if (backend->owns && backend->owns(solver->plan->device, vector))
        return backend->memory_copy_from(solver->plan->device, *out, vector, (size_t)count * size);
    memcpy(*out, vector, (size_t)count * size);
    return TESS_OK;
}

static tess_status solve(tess_solver *solver, const void *b, void *x, tess_result *result)
{
    const tess_matrix *A = solver->plan->matrix;
    const tess_backend *backend = solver->plan->device->backend;
    const size_t bytes = (size_t)A->cols * tess_type_size(A->type);
    void *right = NULL, *left = NULL;
    tess_status status;
    TESS_TRY_CLEAN(extend(solver, b, A->rows, &right));
    TESS_TRY_CLEAN(extend(solver, x, A->cols, &left));
    tess_solver_pass_on(solver, solver->inner);
    TESS_TRY_CLEAN(tess_solver_solve(solver->inner, right, left, result));
    if (backend->owns && backend->owns(solver->plan->device, x))
        status = backend->memory_copy_to(solver->plan->device, x, left, bytes);
    else
        memcpy(x, left, bytes);
cleanup:
    TESS_FREE(solver->ctx, right, left);
    return status;
}

const tess_outer tess_outer_padded = {
    .open = open, .close = tess_inner_close, .update = update, .solve = solve};
