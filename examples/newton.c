/* Newton's method for two coupled equations on the unit square, u = v = 0 on its border:
 *
 *     -lap u = 2 exp(v),   -lap v = exp(u)
 *
 * Every step assembles the Jacobian J (2 x 2 blocks, one pattern) and solves J d = -F(u, v). */
#include <math.h>
#include <stdio.h>

#include <tessera/tessera.h>

enum { N = 50, POINTS = N * N };

typedef struct problem {
    tess_ctx *ctx;
    tess_builder *builder;
    tess_matrix *J;
    tess_device *device;
    tess_plan *plan;
    tess_solver *solver;
} problem;

/* -F at w = (u, v) point by point, and J's blocks into the builder. Returns |F|; NAN: no memory. */
static double linearise(tess_inserter *mine, const double *w, double *minus_f)
{
    const double h2 = 1.0 / ((N + 1) * (N + 1)), other[4] = {-1, 0, 0, -1};
    double sum = 0;
    for (int p = 0; p < POINTS; p++) {
        const int i = p % N, j = p / N;
        const int beside[4] = {i > 0 ? p - 1 : -1, i < N - 1 ? p + 1 : -1, j > 0 ? p - N : -1,
                               j < N - 1 ? p + N : -1};
        const double u = w[2 * p], v = w[2 * p + 1];
        const double here[4] = {4, -2 * h2 * exp(v), -h2 * exp(u), 4};
        double f[2] = {4 * u - 2 * h2 * exp(v), 4 * v - h2 * exp(u)};
        tess_status status = tess_inserter_add_block(mine, p, p, here, TESS_ORDER_ROW_MAJOR);
        for (int k = 0; k < 4 && status == TESS_OK; k++)
            if (beside[k] >= 0) {
                status = tess_inserter_add_block(mine, p, beside[k], other, TESS_ORDER_ROW_MAJOR);
                f[0] -= w[2 * beside[k]];
                f[1] -= w[2 * beside[k] + 1];
            }
        if (status != TESS_OK)
            return NAN;
        for (int c = 0; c < 2; c++) {
            minus_f[2 * p + c] = -f[c];
            sum += f[c] * f[c];
        }
    }
    return sqrt(sum);
}

/* The first Jacobian fixes the pattern; the others bring new values to plan and preconditioner. */
static tess_status take_jacobian(problem *p)
{
    tess_status status;
    if (p->solver) {
        status = tess_builder_update(p->builder, p->J);
        return status == TESS_OK ? tess_solver_update(p->solver, NULL) : status;
    }
    status = tess_builder_finish(p->builder, &p->J);
    if (status == TESS_OK)
        status = tess_plan_create(p->ctx, p->J, p->device, NULL, &p->plan);
    if (status == TESS_OK)
        status = tess_solver_create(p->plan, "bicgstab:pc=ilu0,tol=1e-6", &p->solver);
    return status;
}

int main(void)
{
    static double w[2 * POINTS], minus_f[2 * POINTS], d[2 * POINTS];
    problem p = {0};
    double norm = HUGE_VAL;
    tess_status status = tess_ctx_create(NULL, &p.ctx);
    if (status == TESS_OK)
        status = tess_device_open(p.ctx, "cpu", &p.device);
    if (status == TESS_OK)
        status = tess_builder_create(p.ctx, TESS_F64, 2 * POINTS, 2 * POINTS, 2, 2, 1, &p.builder);
    for (int step = 0; step < 20 && status == TESS_OK; step++) {
        tess_result result;
        tess_builder_clear(p.builder); /* what the last look at F added */
        norm = linearise(tess_builder_inserter(p.builder, 0), w, minus_f);
        printf("step %d: |F| = %.3e\n", step, norm);
        if (!(norm > 1e-10))
            break;
        for (int i = 0; i < 2 * POINTS; i++)
            d[i] = 0;
        status = take_jacobian(&p);
        if (status == TESS_OK)
            status = tess_solver_solve(p.solver, minus_f, d, &result);
        if (status == TESS_OK && result.reason != TESS_REASON_CONVERGED) {
            fprintf(stderr, "newton: %s\n", result.text);
            break;
        }
        for (int i = 0; i < 2 * POINTS; i++)
            w[i] += d[i];
    }
    if (status != TESS_OK)
        fprintf(stderr, "newton: %s\n", tess_ctx_error(p.ctx));
    else
        printf("in the middle u = %.6f, v = %.6f\n", w[2 * (POINTS / 2 + N / 2)],
               w[2 * (POINTS / 2 + N / 2) + 1]);
    tess_solver_destroy(p.solver);
    tess_plan_destroy(p.plan);
    tess_device_close(p.device);
    tess_matrix_destroy(p.J);
    tess_builder_destroy(p.builder);
    tess_ctx_destroy(p.ctx);
    return status == TESS_OK && norm <= 1e-10 ? 0 : 1;
}
