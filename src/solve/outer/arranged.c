/* Arranged solves: the method sees A scaled and in another order (matrix/arrange), the caller does
 * not.
 *
 *     r = b - A x                    the caller's system
 *     B y = c, c = r arranged        the inner solver
 *     x = x + y arranged back
 *
 * The inner solver judges its residual in its own scaling. Rounds follow until the residual of the
 * caller's system is small. An x is kept only where that residual is smaller than before.
 *
 * With pc=ilut,pivot= the columns are exchanged while the factors are computed. Those exchanges
 * become part of the arrangement, and the inner solver takes the factors as they are. On several
 * parts, each part factors its own block of B instead.
 */
#include "matrix/arrange/arrange.h"
#include "solve/direct/direct.h"
#include "solve/pc/factors/fill.h"
#include "solve/outer/rounds.h"

enum { MOST_ROUNDS = 12 };

/* What an arranged solver consists of, while it is made and afterwards. */
typedef struct arranged {
    tess_arrangement arrangement;
    tess_matrix *matrix; /* B */
    tess_plan *plan;
    tess_solver *solver;
} arranged;

static void release(tess_ctx *ctx, arranged *a)
{
    if (!a)
        return;
    tess_solver_destroy(a->solver);
    tess_plan_destroy(a->plan);
    tess_matrix_destroy(a->matrix);
    tess_arrangement_close(&a->arrangement);
    tess_free(ctx, a);
}

static tess_status find_arrangement(const tess_solver *solver, const tess_matrix *A,
                                    tess_arrangement *arrangement)
{
    const tess_solve_options *options = &solver->options;
    int64_t matched = A->block_rows;
    if (options->scale == TESS_SCALE_MATCH)
        TESS_TRY(tess_arrange_match(A, arrangement, &matched));
    else if (options->scale == TESS_SCALE_EQUILIBRATE && options->method->least_squares)
        TESS_TRY(tess_arrange_columns(A, arrangement));
    else if (options->scale == TESS_SCALE_EQUILIBRATE)
        TESS_TRY(tess_arrange_equilibrate(
            A, options->method->symmetric || options->pc.ops->symmetric, arrangement));
    if (matched < A->block_rows)
        tess_log(solver->ctx, "scale=match: %lld of %lld rows have no entry to put on the diagonal",
                 (long long)(A->block_rows - matched), (long long)A->block_rows);
    switch (options->order) {
    case TESS_ORDER_RCM:
        return tess_arrange_bandwidth(A, arrangement);
    case TESS_ORDER_ND:
        return tess_arrange_dissect(A, arrangement);
    case TESS_ORDER_AMD:
        return tess_direct_order(A, arrangement);
    default:
        return TESS_OK;
    }
}

/* Makes column order[j] of B its column j. */
static tess_status exchange_columns(const tess_matrix *A, const int64_t *order, arranged *a)
{
    tess_ctx *ctx = a->arrangement.ctx;
    int64_t *exchanged;
    TESS_TRY(TESS_ALLOC(ctx, A->block_cols, &exchanged));
    for (int64_t j = 0; j < A->block_cols; j++)
        exchanged[j] = a->arrangement.col_order ? a->arrangement.col_order[order[j]] : order[j];
    tess_free(ctx, a->arrangement.col_order);
    a->arrangement.col_order = exchanged;
    tess_matrix_destroy(a->matrix);
    a->matrix = NULL;
    return tess_matrix_arrange(A, &a->arrangement, &a->matrix);
}

static tess_status factor_with_exchanges(const tess_pc_options *options, const tess_matrix *A,
                                         arranged *a, tess_fill *fill)
{
    tess_ctx *ctx = a->arrangement.ctx;
    const tess_fill_options kept = {options->drop, options->fill, options->pivot};
    int64_t *order;
    TESS_TRY(TESS_ALLOC(ctx, A->block_cols, &order));
    tess_status status = tess_fill_threshold(ctx, a->matrix, &kept, order, fill);
    if (status == TESS_OK)
        status = exchange_columns(A, order, a);
    tess_free(ctx, order);
    return status;
}

/* Makes B, its plan and its solver from A, a matrix with the caller's values. */
static tess_status make_from(tess_solver *solver, const tess_matrix *A, arranged *a)
{
    tess_solve_options inner = solver->options;
    const tess_plan_options quick = {.effort = TESS_EFFORT_ESTIMATE};
    const bool whole = !solver->plan->device->backend->each_part;
    tess_fill fill = {.ctx = solver->ctx};
    tess_status status;
    TESS_TRY(tess_arrangement_open(solver->ctx, A, &a->arrangement));
    TESS_TRY(find_arrangement(solver, A, &a->arrangement));
    TESS_TRY(tess_matrix_arrange(A, &a->arrangement, &a->matrix));
    if (inner.pc.pivot > 0)
        TESS_TRY_CLEAN(factor_with_exchanges(&inner.pc, A, a, &fill));
    TESS_TRY_CLEAN(tess_inner_plan(solver, a->matrix, &quick, &a->plan));
    inner.scale = TESS_SCALE_NONE;
    inner.order = TESS_ORDER_NONE;
    inner.trusting = true;
    inner.atol = 0;
    inner.pc.given = inner.pc.pivot > 0 && whole ? &fill : NULL;
    inner.pc.pivot = 0;
    TESS_TRY_CLEAN(tess_solver_open(a->plan, &inner, &a->solver));
    a->solver->options.pc.given = a->solver->pc.options.given = NULL; /* taken over */
cleanup:
    tess_fill_free(&fill);
    return status;
}

static tess_status make(tess_solver *solver, arranged **out)
{
    const tess_plan *plan = solver->plan;
    TESS_TRY(tess_plan_host_values(solver->plan));
    const tess_matrix A = tess_plan_present(plan);
    const bool scalar =
        A.block_height != A.block_width || (solver->options.pc.pivot > 0 && A.block_height > 1);
    tess_matrix *entries = NULL;
    arranged *a;
    tess_status status;
    TESS_TRY(TESS_CALLOC(solver->ctx, 1, &a));
    a->arrangement.ctx = solver->ctx;
    if (scalar)
        TESS_TRY_CLEAN(tess_matrix_to_csr(solver->ctx, &A, TESS_ZEROS_DROP, &entries));
    TESS_TRY_CLEAN(make_from(solver, scalar ? entries : &A, a));
    *out = a;
    a = NULL;
cleanup:
    release(solver->ctx, a);
    tess_matrix_destroy(entries);
    return status;
}

static tess_status update(tess_solver *solver)
{
    arranged *fresh = NULL;
    TESS_TRY(make(solver, &fresh));
    release(solver->ctx, solver->outer_state);
    solver->outer_state = fresh;
    solver->inner = fresh->solver;
    return TESS_OK;
}

static void close(tess_solver *solver)
{
    release(solver->ctx, solver->outer_state);
}

/* ---- Rounds ---- */

typedef struct vectors {
    void *host_b, *host_x;    /* copies of the caller's vectors in device memory, else NULL */
    void *r, *c, *y, *better; /* better: x with the correction */
} vectors;

static void free_vectors(tess_ctx *ctx, vectors *v)
{
    TESS_FREE(ctx, v->host_b, v->host_x, v->r, v->c, v->y, v->better);
}

static tess_status take_vectors(const tess_plan *plan, const void *b, const void *x, vectors *v)
{
    const int64_t n = plan->matrix->rows;
    const size_t size = tess_type_size(plan->matrix->type);
    TESS_TRY(tess_vector_to_host(plan, b, &v->host_b));
    TESS_TRY(tess_vector_to_host(plan, x, &v->host_x));
    TESS_TRY(tess_alloc_bytes(plan->ctx, n, size, &v->r));
    TESS_TRY(tess_alloc_bytes(plan->ctx, n, size, &v->c));
    TESS_TRY(tess_alloc_bytes(plan->ctx, n, size, &v->y));
    return tess_alloc_bytes(plan->ctx, n, size, &v->better);
}

/* One round: corrects x and keeps the correction if its residual is smaller. That residual then
 * replaces r. */
static tess_status correct(tess_rounds *f, vectors *v, const void *b, void *x, tess_result *inner)
{
    const arranged *a = f->solver->outer_state;
    const tess_matrix *A = f->solver->plan->matrix;
    const double least = A->type == TESS_F64 ? 1e-13 : 1e-6;
    const double tol = fmin(0.1, fmax(least, 0.2 * tess_rounds_threshold(f) / f->norm));
    tess_residual residual;
    tess_arrange_rhs(&a->arrangement, A->type, v->r, v->c);
    memset(v->y, 0, (size_t)A->rows * tess_type_size(A->type));
    TESS_TRY(tess_rounds_solve(f, tol, v->c, v->y, inner));
    tess_arrange_solution(&a->arrangement, A->type, v->y, v->better);
    for (int64_t i = 0; i < A->rows; i++)
        tess_put(v->better, A->type, i, tess_get(x, A->type, i) + tess_get(v->better, A->type, i));
    TESS_TRY(tess_rounds_residual(f, b, v->better, v->c, &residual));
    if (!tess_rounds_take(f, residual))
        return TESS_OK;
    memcpy(x, v->better, (size_t)A->rows * tess_type_size(A->type));
    memcpy(v->r, v->c, (size_t)A->rows * tess_type_size(A->type));
    return TESS_OK;
}

/* Ends the rounds where they should end after one that took |r| from `before` to f->norm. */
static void judge(const tess_rounds *f, const tess_result *inner, double before, int round,
                  tess_system *end)
{
    const double relative = tess_rounds_relative(f);
    const bool limit = f->result.iterations >= f->solver->options.max;
    if (tess_rounds_solved(f))
        tess_system_converged(end, f->norm, f->result.iterations);
    else if (f->norm <= f->rounding)
        tess_system_end(end, TESS_REASON_STAGNATED,
                        "|b - Ax|/|b| is less than its rounding errors, %.3g: x is too large",
                        f->rounding / f->rhs_norm);
    else if (inner->reason == TESS_REASON_CANCELLED || limit)
        tess_system_end(end, limit ? TESS_REASON_ITERATION_LIMIT : TESS_REASON_CANCELLED,
                        "%s at |b - Ax|/|b| = %.3g after %lld iteration%s",
                        limit ? "the most iterations allowed" : "stopped", relative,
                        (long long)f->result.iterations, tess_plural(f->result.iterations));
    else if (!(f->norm < 0.5 * before) && inner->reason == TESS_REASON_LEAST_SQUARES)
        end->least = end->done = true; /* tess_rounds_least decides */
    else if (!(f->norm < 0.5 * before) && inner->reason != TESS_REASON_CONVERGED)
        tess_system_end(end, inner->reason, "|b - Ax|/|b| stays at %.3g; scaled and reordered: %s",
                        relative, inner->text);
    else if (!(f->norm < 0.5 * before) || round + 1 == MOST_ROUNDS)
        tess_system_end(end, TESS_REASON_STAGNATED,
                        "|b - Ax|/|b| stays at %.3g after %lld iteration%s", relative,
                        (long long)f->result.iterations, tess_plural(f->result.iterations));
}

static tess_status run(tess_rounds *f, vectors *v, const void *b, void *x)
{
    tess_system end = {0};
    tess_result inner;
    TESS_TRY(tess_rounds_start(f, b, x, &end));
    if (!end.done) {
        tess_residual first;
        TESS_TRY(tess_rounds_residual(f, b, x, v->r, &first));
        tess_rounds_set(f, first);
        TESS_TRY(tess_history_put(f->solver, 0, f->norm / f->rhs_norm));
        if (!isfinite(f->norm))
            tess_system_end(&end, TESS_REASON_NOT_FINITE, "b - Ax is not finite at the start");
        else if (tess_rounds_solved(f))
            tess_system_converged(&end, f->norm, 0);
    }
    for (int round = 0; !end.done; round++) {
        const double before = f->norm;
        TESS_TRY(correct(f, v, b, x, &inner));
        judge(f, &inner, before, round, &end);
    }
    if (end.least)
        TESS_TRY(tess_rounds_least(f, v->r, &end));
    tess_rounds_end(f, &end);
    return TESS_OK;
}

static tess_status solve(tess_solver *solver, const void *b, void *x, tess_result *result)
{
    const tess_plan *plan = solver->plan;
    const size_t bytes = (size_t)plan->matrix->rows * tess_type_size(plan->matrix->type);
    const double started = tess_seconds();
    tess_rounds f = {.solver = solver, .most = solver->options.max};
    vectors v = {0};
    tess_status status;
    TESS_TRY_CLEAN(take_vectors(plan, b, x, &v));
    TESS_TRY_CLEAN(run(&f, &v, v.host_b ? v.host_b : b, v.host_x ? v.host_x : x));
    if (v.host_x)
        TESS_TRY_CLEAN(plan->device->backend->memory_copy_to(plan->device, x, v.host_x, bytes));
    tess_rounds_finish(&f, started, result);
cleanup:
    free_vectors(solver->ctx, &v);
    return status;
}

const tess_outer tess_outer_arranged = {
    .open = update, .close = close, .update = update, .solve = solve};
