#include "multigrid.h"

#include <math.h>
#include <string.h>

static const char *device_name(void)
{
    const char *name = getenv("TEST_DEVICE");
    return name ? name : "cpu";
}

/* On the emulator and under sanitizers only a few small systems are run. */
bool amg_run_few(void)
{
    return test_few() > 2;
}

void amg_run_plan(tess_ctx *ctx, tess_matrix *A, amg_run *r)
{
    static const tess_plan_options guess = {.effort = TESS_EFFORT_ESTIMATE};
    r->A = A;
    r->device = test_device(ctx, device_name());
    assert_int_equal(tess_plan_create(ctx, A, r->device, &guess, &r->plan), TESS_OK);
}

amg_run amg_run_generate(tess_ctx *ctx, const char *input)
{
    amg_run r = {0};
    tess_matrix *A;
    assert_int_equal(tess_matrix_generate(ctx, input, &A, &r.b), TESS_OK);
    amg_run_plan(ctx, A, &r);
    assert_int_equal(tess_calloc_bytes(ctx, A->rows, tess_type_size(A->type), &r.x), TESS_OK);
    return r;
}

void amg_run_solve(amg_run *r, const char *what, const char *spec)
{
    tess_solver_destroy(r->solver);
    r->solver = NULL;
    memset(r->x, 0, (size_t)r->A->rows * tess_type_size(r->A->type));
    if (tess_solver_create(r->plan, spec, &r->solver) != TESS_OK ||
        tess_solver_solve(r->solver, r->b, r->x, &r->result) != TESS_OK)
        fail_msg("%s, %s: %s", what, spec, tess_ctx_error(r->A->ctx));
    for (int64_t i = 0; i < r->A->rows; i++)
        if (!isfinite(tess_get(r->x, r->A->type, i)))
            fail_msg("%s, %s: x[%lld] is not finite", what, spec, (long long)i);
}

void amg_run_within(amg_run *r, const char *what, const char *spec, int64_t most)
{
    amg_run_solve(r, what, spec);
    if (r->result.reason != TESS_REASON_CONVERGED || r->result.iterations > most)
        fail_msg("%s, %s: %s, %s, not within %lld iterations", what, spec,
                 tess_reason_name(r->result.reason), r->result.text, (long long)most);
}

void amg_run_close(tess_ctx *ctx, amg_run *r)
{
    tess_solver_destroy(r->solver);
    tess_plan_destroy(r->plan);
    tess_device_close(r->device);
    tess_free(ctx, r->b);
    tess_free(ctx, r->x);
    tess_matrix_destroy(r->A);
}

const tess_amg *amg_run_hierarchy(const amg_run *r)
{
    return r->solver->pc.state;
}

void amg_run_isolate(tess_ctx *ctx, amg_run *r, uint64_t seed)
{
    tess_matrix *A = r->A;
    const int32_t b = A->block_height;
    double *values = A->values;
    for (int64_t row = 0; row < A->block_rows; row++)
        for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++)
            for (int32_t q = 0; q < b * b; q++) {
                const int64_t i = row * b + q % b, j = (int64_t)A->columns[k] * b + q / b;
                const bool alone = tess_random_below(seed + 100, (uint64_t)i, 5) == 0 ||
                                   tess_random_below(seed + 100, (uint64_t)j, 5) == 0;
                const bool empty = tess_random_below(seed + 200, (uint64_t)i, 9) == 0;
                if (i != j ? alone : alone && empty)
                    values[k * b * b + q] = 0;
            }
    for (int64_t i = 0; i < A->rows; i++)
        if (tess_random_below(seed + 100, (uint64_t)i, 5) == 0 &&
            tess_random_below(seed + 200, (uint64_t)i, 9) == 0)
            ((double *)r->b)[i] = 0;
    tess_plan_destroy(r->plan);
    tess_device_close(r->device);
    amg_run_plan(ctx, A, r);
}

void amg_run_sweep(void **state, const char *input, const char *spec)
{
    amg_run r = amg_run_generate(test_ctx(state), input);
    /* The plan keeps what its first solver needs, and the first update. */
    amg_run_solve(&r, input, spec);
    test_ok(test_ctx(state), tess_solver_update(r.solver, NULL));
    tess_solver_destroy(r.solver);
    r.solver = NULL;
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        tess_solver *solver = NULL;
        status = tess_solver_create(r.plan, spec, &solver);
        if (status == TESS_OK)
            status = tess_solver_set_up(solver);
        if (status == TESS_OK)
            status = tess_solver_update(solver, NULL);
        tess_solver_destroy(solver);
    } while (test_sweep_goes_on(&sweep, status));
    assert_true(sweep.failed > 50);
    amg_run_close(test_ctx(state), &r);
}
