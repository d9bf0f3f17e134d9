/* Two substances that spread and turn into each other on a square, step by step in time:
 *
 *     du/dt = D(t) lap u - k u + k v,   dv/dt = D(t) lap v + k u - k v,   no flow through the
 * border
 *
 * Each implicit step solves with I - dt (D(t) lap + reaction): 2 x 2 blocks, one pattern, new
 * values at every step as D grows. What is there in all must not change; the program checks that.
 */
#include <math.h>
#include <stdio.h>

#include <tessera/tessera.h>

enum { N = 40, POINTS = N * N, STEPS = 10 };
static const double dt = 0.01, exchange = 5;

/* The values of one step. Blocks that are added to the same place are summed. */
static tess_status add_values(tess_inserter *mine, double spread)
{
    const double s = dt * spread * N * N, e = dt * exchange;
    const double here[4] = {1 + e, -e, -e, 1 + e}, in[4] = {s, 0, 0, s}, out[4] = {-s, 0, 0, -s};
    tess_status status = TESS_OK;
    for (int p = 0; p < POINTS && status == TESS_OK; p++) {
        const int i = p % N, j = p / N;
        const int beside[4] = {i > 0 ? p - 1 : -1, i < N - 1 ? p + 1 : -1, j > 0 ? p - N : -1,
                               j < N - 1 ? p + N : -1};
        status = tess_inserter_add_block(mine, p, p, here, TESS_ORDER_ROW_MAJOR);
        for (int k = 0; k < 4 && status == TESS_OK; k++)
            if (beside[k] >= 0) {
                status = tess_inserter_add_block(mine, p, p, in, TESS_ORDER_ROW_MAJOR);
                if (status == TESS_OK)
                    status = tess_inserter_add_block(mine, p, beside[k], out, TESS_ORDER_ROW_MAJOR);
            }
    }
    return status;
}

typedef struct problem {
    tess_ctx *ctx;
    tess_builder *builder;
    tess_matrix *A;
    tess_device *device;
    tess_plan *plan;
    tess_solver *solver;
} problem;

/* The first step's values fix the pattern. The plan and the solver are made once. */
static tess_status begin(problem *p)
{
    tess_status status =
        tess_builder_create(p->ctx, TESS_F64, 2 * POINTS, 2 * POINTS, 2, 2, 1, &p->builder);
    if (status == TESS_OK)
        status = add_values(tess_builder_inserter(p->builder, 0), 0.1);
    if (status == TESS_OK)
        status = tess_builder_finish(p->builder, &p->A);
    if (status == TESS_OK)
        status = tess_device_open(p->ctx, "cpu", &p->device);
    if (status == TESS_OK)
        status = tess_plan_create(p->ctx, p->A, p->device, NULL, &p->plan);
    if (status == TESS_OK)
        status = tess_solver_create(p->plan, "cg:pc=ic0,tol=1e-12", &p->solver);
    return status;
}

/* New values in the old pattern: the matrix, then the solver's preconditioner. */
static tess_status next_step(problem *p, double spread)
{
    tess_status status = add_values(tess_builder_inserter(p->builder, 0), spread);
    if (status == TESS_OK)
        status = tess_builder_update(p->builder, p->A);
    if (status == TESS_OK)
        status = tess_solver_update(p->solver, NULL);
    return status;
}

int main(void)
{
    static double before[2 * POINTS], u[2 * POINTS];
    problem p = {0};
    tess_status status = tess_ctx_create(NULL, &p.ctx);
    u[2 * (POINTS / 2 + N / 2)] = 1; /* all of the first substance at one point */
    if (status == TESS_OK)
        status = begin(&p);
    double total = 0;
    for (int step = 0; step < STEPS && status == TESS_OK; step++) {
        tess_result result;
        for (int i = 0; i < 2 * POINTS; i++)
            before[i] = u[i]; /* the right-hand side; u itself is the initial guess */
        status = step == 0 ? TESS_OK : next_step(&p, 0.1 + 0.05 * step);
        if (status == TESS_OK)
            status = tess_solver_solve(p.solver, before, u, &result);
        total = 0;
        double first = 0;
        for (int i = 0; i < 2 * POINTS; i++) {
            total += u[i];
            first += i % 2 == 0 ? u[i] : 0;
        }
        if (status == TESS_OK)
            printf("step %2d: %s in %lld iterations, %.4f of the first substance, %.10f in all\n",
                   step + 1, tess_reason_name(result.reason), (long long)result.iterations, first,
                   total);
    }
    if (status != TESS_OK)
        fprintf(stderr, "time_stepping: %s\n", tess_ctx_error(p.ctx));
    tess_solver_destroy(p.solver);
    tess_plan_destroy(p.plan);
    tess_device_close(p.device);
    tess_matrix_destroy(p.A);
    tess_builder_destroy(p.builder);
    tess_ctx_destroy(p.ctx);
    return status == TESS_OK && fabs(total - 1) < 1e-9 ? 0 : 1;
}
