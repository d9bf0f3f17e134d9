#include "dealt.h"

#include "matrices.h"
#include "support/counted.h"

#include <math.h>
#include <string.h>

int64_t dealt_row(const dealt *d, int rank)
{
    return tess_min(d->firsts[rank] * d->A->block_height, d->A->rows);
}

void dealt_ranges(dealt *d, uint64_t seed)
{
    for (int r = 0; r <= d->size; r++)
        d->firsts[r] = tess_random_below(seed, (uint64_t)r, d->A->block_rows + 1);
    d->firsts[0] = 0;
    d->firsts[d->size] = d->A->block_rows;
    for (int i = 1; i < d->size; i++) /* sorted */
        for (int j = i; j > 0 && d->firsts[j - 1] > d->firsts[j]; j--) {
            const int64_t kept = d->firsts[j];
            d->firsts[j] = d->firsts[j - 1];
            d->firsts[j - 1] = kept;
        }
}

dealt dealt_open(const tess_matrix *A, int size, uint64_t seed)
{
    dealt d = {.A = A, .size = size, .alpha = 1, .effort = TESS_EFFORT_ESTIMATE};
    /* A device of processors reads its performance model when a plan is made, which takes longer
     * than most tests of parts; the reference backend has none. */
    if (seed % 4 != 0 && !getenv("TEST_ALL"))
        d.device = "ref";
    for (int r = 0; r < DEALT_MOST; r++)
        d.allocation_fails[r] = -1;
    dealt_ranges(&d, seed);
    d.team = test_team_create(size);
    return d;
}

void dealt_ok(const dealt *d, uint64_t seed)
{
    for (int r = 0; r < d->size; r++)
        if (d->status[r] != TESS_OK)
            fail_msg("seed %llu, part %d of %d: %s", (unsigned long long)seed, r, d->size,
                     d->error[r]);
}

tess_status dealt_part(const dealt *d, tess_ctx *ctx, const tess_comm *comm, tess_part **out)
{
    const tess_matrix *A = d->A;
    const int64_t first = d->firsts[comm->rank], end = d->firsts[comm->rank + 1];
    const int64_t at = A->row_offsets[first], blocks = A->row_offsets[end] - at;
    int64_t *offsets = malloc((size_t)(end - first + 1) * sizeof *offsets);
    int64_t *columns = malloc((size_t)(blocks + 1) * sizeof *columns);
    for (int64_t i = first; i <= end; i++)
        offsets[i - first] = A->row_offsets[i] - at;
    for (int64_t k = 0; k < blocks; k++)
        columns[k] = A->columns[at + k];
    const size_t block_bytes = (size_t)(A->block_height * A->block_width) * tess_type_size(A->type);
    const tess_part_view view = {.type = A->type,
                                 .rows = dealt_row(d, comm->rank + 1) - dealt_row(d, comm->rank),
                                 .block = A->block_height,
                                 .order = TESS_ORDER_COLUMN_MAJOR,
                                 .row_offsets = offsets,
                                 .columns = columns,
                                 .values = (char *)A->values + (size_t)at * block_bytes};
    const tess_status status = tess_part_create(ctx, comm, &view, out);
    free(offsets);
    free(columns);
    return status;
}

static tess_status with_plan(dealt *d, int rank, tess_ctx *ctx, const tess_comm *comm,
                             tess_device *device, counted *memory)
{
    tess_part *part;
    tess_plan *plan;
    const int64_t before = memory->bytes;
    const tess_plan_options options = {
        .size = sizeof options, .effort = d->effort, .form = d->form};
    memory->fails_in = d->allocation_fails[rank];
    memory->peak = 0;
    tess_status status = dealt_part(d, ctx, comm, &part);
    d->held[rank] = memory->bytes - before;
    d->peak[rank] = memory->peak - before;
    if (status != TESS_OK)
        return status;
    status = tess_part_get_info(part, sizeof d->info[rank], &d->info[rank]);
    status = tess_plan_create_part(part, device, &options, &plan);
    if (status == TESS_OK) {
        status = d->body(d, rank, part, plan);
        tess_plan_destroy(plan);
    }
    tess_part_destroy(part);
    return status;
}

static void one_part(int rank, void *user)
{
    dealt *d = user;
    counted memory;
    const tess_comm comm = test_team_comm(d->team, rank);
    tess_ctx *ctx = counted_ctx(&memory);
    tess_device *device;
    char name[32];
    snprintf(name, sizeof name, "%s", d->device ? d->device : "cpu:1");
    if (d->devices > 0)
        snprintf(name, sizeof name, "%s%d", d->device, rank % d->devices);
    if (d->last_device && rank == d->size - 1)
        snprintf(name, sizeof name, "%s", d->last_device);
    if (tess_device_open(ctx, name, &device) != TESS_OK)
        abort();
    if (d->opened)
        d->opened(d, rank);
    d->status[rank] = with_plan(d, rank, ctx, &comm, device, &memory);
    memory.fails_in = -1;
    snprintf(d->error[rank], sizeof d->error[rank], "%s", tess_ctx_error(ctx));
    tess_device_close(device);
    counted_end(ctx, &memory, rank);
}

void dealt_run(dealt *d)
{
    test_team_run(d->team, one_part, d);
}

tess_status dealt_products(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    (void)part;
    const size_t scalar = tess_type_size(d->A->type);
    const int64_t first = dealt_row(d, rank);
    const char *x = (const char *)d->x + (size_t)first * scalar;
    char *y = (char *)d->y + (size_t)first * scalar;
    if (d->k == -1)
        return tess_spmv_transpose(plan, d->alpha, x, d->beta, y);
    if (d->k == 0)
        return tess_spmv_dot(plan, d->alpha, x, d->beta, y, x, &d->dot[rank]);
    if (d->k == 1)
        return tess_spmv(plan, d->alpha, x, d->beta, y);
    const bool columns = d->order == TESS_ORDER_COLUMN_MAJOR;
    const int64_t ld = columns ? d->A->rows : d->k;
    if (!columns) {
        x = (const char *)d->x + (size_t)(first * d->k) * scalar;
        y = (char *)d->y + (size_t)(first * d->k) * scalar;
    }
    return tess_spmm(plan, d->k, d->order, d->alpha, x, ld, d->beta, y, ld);
}

/* ---- Solves ---- */

tess_status dealt_double_values(const dealt *d, int rank, tess_plan *plan)
{
    const tess_matrix *A = d->A;
    const int64_t area = (int64_t)A->block_height * A->block_width,
                  at = A->row_offsets[d->firsts[rank]];
    const int64_t scalars = (A->row_offsets[d->firsts[rank + 1]] - at) * area;
    void *twice = malloc((size_t)(scalars + 1) * tess_type_size(A->type));
    for (int64_t i = 0; i < scalars; i++)
        tess_put(twice, A->type, i, 2 * tess_matrix_value(A, at * area + i));
    const tess_status status = tess_plan_update_values(plan, twice);
    free(twice); /* the plan has its own copy */
    return status;
}

tess_status dealt_solve(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    (void)part;
    const int64_t first = dealt_row(d, rank);
    tess_solver *solver;
    tess_status status = tess_solver_create(plan, d->spec, &solver);
    if (status != TESS_OK)
        return status;
    status = tess_solver_solve(solver, (const double *)d->x + first, (double *)d->y + first,
                               &d->result[rank]);
    tess_solver_destroy(solver);
    return status;
}

static void check_results(const dealt *d, const double *b, const double *x, const char *what)
{
    for (int r = 0; r < d->size; r++) {
        if (d->result[r].reason != TESS_REASON_CONVERGED)
            fail_msg("%s: %s", what, d->result[r].text);
        assert_int_equal(d->result[r].iterations, d->result[0].iterations);
        assert_true(d->result[r].true_residual == d->result[0].true_residual);
    }
    const double truth = dealt_residual(d->A, b, x);
    if (!(truth <= 1.1e-8) || !(fabs(truth - d->result[0].true_residual) <= 1e-11))
        fail_msg("%s: |b - Ax|/|b| = %g, said to be %g", what, truth, d->result[0].true_residual);
}

void dealt_check_solve(dealt *d, const char *spec, uint64_t seed, tess_status expected)
{
    const int64_t rows = d->A->rows;
    double *b = test_vector(rows, TESS_F64, seed), *x = calloc((size_t)rows, sizeof *x);
    char what[160];
    snprintf(what, sizeof what, "%s on %d parts, seed %llu", spec ? spec : "auto", d->size,
             (unsigned long long)seed);
    d->body = dealt_solve;
    d->spec = spec;
    d->x = b;
    d->y = x;
    dealt_run(d);
    for (int r = 0; r < d->size; r++)
        if (d->status[r] != expected)
            fail_msg("%s: part %d: %s", what, r, d->error[r]);
    if (expected == TESS_OK)
        check_results(d, b, x, what);
    free(b), free(x);
}
