/* SpMV and CG on devices of one and of several parts, in turns, in one run.
 *
 *     tessera_bench_parts INPUT ROUNDS DEVICE...       gen:stencil27:n=80,b=3 5 cuda:0 cuda:0,0
 *
 * Every line is JSON: the device, the median microseconds of a product and of an iteration of CG
 * without a preconditioner, and both relative to the first device. Vectors of products are in the
 * parts' memory; BATCH products are put one behind the other before the clock is read. A solve is
 * that of a solver that has solved the same system before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { BATCH = 50, DEVICES = 8, ROUNDS = 31, PARTS = 64 };

typedef struct subject {
    const char *name;
    tess_device *device;
    tess_plan *plan;
    tess_solver *solver;
    int parts;
    tess_plan_part part[PARTS];
    void *x[PARTS], *y[PARTS];
    double spmv[ROUNDS], iteration[ROUNDS];
    int64_t iterations;
} subject;

static void must(tess_ctx *ctx, tess_status status)
{
    if (status == TESS_OK)
        return;
    fprintf(stderr, "%s\n", tess_ctx_error(ctx));
    exit(1);
}

static void open_subject(tess_ctx *ctx, const tess_matrix *A, const double *b, subject *s)
{
    must(ctx, tess_device_open(ctx, s->name, &s->device));
    must(ctx, tess_plan_create(ctx, A, s->device, NULL, &s->plan));
    must(ctx, tess_solver_create(s->plan, "cg:max=400,tol=1e-10", &s->solver));
    s->parts = tess_plan_parts(s->plan);
    for (int r = 0; r < s->parts; r++) {
        s->part[r] = (tess_plan_part){.device = s->device, .rows = A->rows};
        if (s->parts > 1)
            must(ctx, tess_plan_get_part(s->plan, r, sizeof s->part[r], &s->part[r]));
        const size_t bytes = (size_t)s->part[r].rows * sizeof *b;
        must(ctx, tess_device_alloc(s->part[r].device, bytes, &s->x[r]));
        must(ctx, tess_device_alloc(s->part[r].device, bytes, &s->y[r]));
        must(ctx, tess_device_copy_to(s->part[r].device, s->x[r], b + s->part[r].first_row, bytes));
    }
}

static void close_subject(subject *s)
{
    for (int r = 0; r < s->parts; r++) {
        tess_device_free(s->part[r].device, s->x[r]);
        tess_device_free(s->part[r].device, s->y[r]);
    }
    tess_solver_destroy(s->solver);
    tess_plan_destroy(s->plan);
    tess_device_close(s->device);
}

static double time_products(tess_ctx *ctx, subject *s)
{
    double start = 0;
    for (int i = -2; i < BATCH; i++) {
        if (i == 0) {
            for (int r = 0; r < s->parts; r++)
                must(ctx, tess_device_synchronize(s->part[r].device));
            start = tess_seconds();
        }
        must(ctx, s->parts == 1 ? tess_spmv(s->plan, 1, s->x[0], 0, s->y[0])
                                : tess_spmv_parts(s->plan, 1, (const void *const *)s->x, 0, s->y));
    }
    for (int r = 0; r < s->parts; r++)
        must(ctx, tess_device_synchronize(s->part[r].device));
    return (tess_seconds() - start) / BATCH;
}

static double time_iteration(tess_ctx *ctx, subject *s, const tess_matrix *A, const double *b,
                             double *x)
{
    tess_result result;
    memset(x, 0, (size_t)A->rows * sizeof *x);
    must(ctx, tess_solver_solve(s->solver, b, x, &result));
    s->iterations = result.iterations;
    return result.seconds / (double)result.iterations;
}

int main(int argc, char **argv)
{
    tess_ctx *ctx;
    tess_matrix *A;
    double *b;
    static subject subjects[DEVICES];
    const int count = argc - 3, rounds = argc > 2 ? atoi(argv[2]) : 0;
    if (count < 1 || count > DEVICES || rounds < 1 || rounds > ROUNDS ||
        tess_ctx_create(NULL, &ctx) != TESS_OK) {
        fprintf(stderr, "usage: tessera_bench_parts INPUT ROUNDS DEVICE...\n");
        return 2;
    }
    must(ctx, tess_matrix_generate(ctx, argv[1], &A, (void **)&b));
    double *x = malloc((size_t)A->rows * sizeof *x);
    for (int i = 0; i < count; i++) {
        subjects[i].name = argv[3 + i];
        open_subject(ctx, A, b, &subjects[i]);
        (void)time_iteration(ctx, &subjects[i], A, b, x); /* makes what is made lazily */
    }
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < count; i++) {
            subjects[i].spmv[round] = time_products(ctx, &subjects[i]);
            subjects[i].iteration[round] = time_iteration(ctx, &subjects[i], A, b, x);
        }
    for (int i = 0; i < count; i++) {
        subject *s = &subjects[i];
        const double spmv = tess_median(s->spmv, rounds), one = tess_median(s->iteration, rounds);
        printf("{\"input\": \"%s\", \"device\": \"%s\", \"rows\": %lld, \"spmv\": %.2f, "
               "\"spmv_ratio\": %.3f, \"iteration\": %.2f, \"iteration_ratio\": %.3f, "
               "\"iterations\": %lld}\n",
               argv[1], s->name, (long long)A->rows, 1e6 * spmv,
               spmv / tess_median(subjects[0].spmv, rounds), 1e6 * one,
               one / tess_median(subjects[0].iteration, rounds), (long long)s->iterations);
        fflush(stdout);
    }
    for (int i = 0; i < count; i++)
        close_subject(&subjects[i]);
    free(x);
    tess_release(ctx, b);
    tess_matrix_destroy(A);
    tess_ctx_destroy(ctx);
    return 0;
}
