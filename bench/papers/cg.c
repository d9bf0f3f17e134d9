#include "cg.h"

#include <math.h>

void cg_launch(const cg_machine *m, const char *entry, double factor, tess_cuda_launch *out)
{
    const bool end = strcmp(entry, "red_end") == 0;
    const int64_t needed = tess_ceil_div(m->n, CG_THREADS);
    const int64_t blocks = tess_min(needed, m->blocks);
    tess_cuda_launch_start(out, entry, end ? 1 : blocks, CG_THREADS);
    tess_cuda_add_args(out, m->vector, CG_VECTORS);
    TESS_CUDA_POINTERS(out, m->sums);
    TESS_CUDA_INTEGERS(out, end ? blocks : m->n);
    TESS_CUDA_NUMBERS(out, factor);
}

static tess_status run(const cg_machine *m, const char *entry, double factor)
{
    tess_cuda_launch launch;
    cg_launch(m, entry, factor, &launch);
    return m->launch(m->user, &launch);
}

/* The sum of a vector of products: t, or s in its place. */
static tess_status reduce(const cg_machine *m, int vector, double *sum)
{
    cg_machine with = *m;
    with.vector[CG_T] = m->vector[vector];
    TESS_TRY(run(&with, "red", 0));
    TESS_TRY(run(&with, "red_end", 0));
    return m->read(m->user, m->sums, sum);
}

tess_status cg_solve(const cg_machine *m, double tolerance, int64_t most, int64_t *iterations,
                     double *rr)
{
    double alpha, beta, length, uv;
    *rr = 0;
    TESS_TRY(m->multiply(m->user, m->vector[CG_X], m->vector[CG_R]));
    TESS_TRY(run(m, "cg1", 0));
    TESS_TRY(reduce(m, CG_T, &alpha));
    TESS_TRY(reduce(m, CG_S, &length));
    for (*iterations = 0; *iterations < most && sqrt(length) > tolerance; ++*iterations) {
        TESS_TRY(m->multiply(m->user, m->vector[CG_P], m->vector[CG_U]));
        TESS_TRY(run(m, "cg3", 0));
        TESS_TRY(reduce(m, CG_T, &uv));
        TESS_TRY(run(m, "cg4", alpha / uv));
        TESS_TRY(reduce(m, CG_T, &beta));
        const double s = beta / alpha;
        alpha = beta;
        if (beta < tolerance) {
            TESS_TRY(run(m, "cg2", 0));
            TESS_TRY(reduce(m, CG_T, rr));
            if (*rr < tolerance) {
                ++*iterations;
                return TESS_OK;
            }
        }
        TESS_TRY(run(m, "cg5", s));
        TESS_TRY(reduce(m, CG_T, &length));
    }
    TESS_TRY(run(m, "cg2", 0));
    return reduce(m, CG_T, rr);
}
