/* An iteration of a solver on a device with memory of its own (a GPU), against the ideal.
 *
 *     tessera_bench_solve_device [--device D] [--params P] [--effort measure] INPUT SPEC [SPEC ...]
 *
 * The ideal is all bytes of an iteration, the matrix's and the preconditioner's too, once at the
 * read ceiling. An iteration's time is the difference of two runs of different lengths with a
 * random right-hand side and tol=0, so that neither copies nor the start count; before that a solve
 * must succeed. The plan's kernel is taken without measuring, or has the --params given. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../internal.h"

enum { SHORT = 40, LONG = 240, RUNS = 5 }; /* iterations of the two runs, and how often */

static void check(tess_ctx *ctx, tess_status status)
{
    if (status == TESS_OK)
        return;
    fprintf(stderr, "%s\n", tess_ctx_error(ctx));
    exit(1);
}

/* The least time of `max` iterations of the method, and their bytes. Vectors are in the device's
 * memory: copies vary by more than an iteration takes. */
static double run_iterations(tess_plan *plan, const char *spec, int max, const double *b, double *x,
                             double *bytes)
{
    char fixed[256];
    double best = HUGE_VAL;
    tess_result result;
    tess_solver *solver;
    tess_device *device = plan->device;
    const size_t size = (size_t)plan->matrix->rows * sizeof *x;
    void *near_b, *near_x;
    check(plan->ctx, tess_device_alloc(device, size, &near_b));
    check(plan->ctx, tess_device_alloc(device, size, &near_x));
    check(plan->ctx, tess_device_copy_to(device, near_b, b, size));
    memset(x, 0, size);
    snprintf(fixed, sizeof fixed, "%s%ctol=0,max=%d", spec, strchr(spec, ':') ? ',' : ':', max);
    check(plan->ctx, tess_solver_create(plan, fixed, &solver));
    for (int run = 0; run < RUNS; run++) {
        check(plan->ctx, tess_device_copy_to(device, near_x, x, size));
        check(plan->ctx, tess_solver_solve(solver, near_b, near_x, &result));
        if (result.iterations != max) {
            fprintf(stderr, "%s: %s\n", fixed, result.text);
            exit(1);
        }
        best = fmin(best, result.seconds);
        *bytes = result.bytes;
    }
    tess_solver_destroy(solver);
    tess_device_free(device, near_b);
    tess_device_free(device, near_x);
    return best;
}

/* A solve that must succeed, then the time of an iteration. */
static void solve_on_device(tess_plan *plan, const char *spec, const double *b, double ceiling)
{
    const tess_matrix *A = plan->matrix;
    double *x = calloc((size_t)A->rows, sizeof *x), *random = malloc((size_t)A->rows * sizeof *b);
    for (int64_t i = 0; i < A->rows; i++)
        random[i] = tess_random_unit(1, (uint64_t)i) - 0.5;
    tess_result result;
    double start = tess_seconds(), few = 0, many = 0;
    tess_solver *solver;
    check(plan->ctx, tess_solver_create(plan, spec, &solver));
    const double setup = tess_seconds() - start;
    double fastest = HUGE_VAL;
    for (int run = 0; run < RUNS; run++) {
        memset(x, 0, (size_t)A->rows * sizeof *x);
        check(plan->ctx, tess_solver_solve(solver, b, x, &result));
        fastest = fmin(fastest, result.seconds);
    }
    tess_solver_destroy(solver);
    printf("%-28s %5lld its  setup %.3f s  solve %.2f ms  true %.1e  %s\n", spec,
           (long long)result.iterations, setup, 1e3 * fastest, result.true_residual,
           tess_reason_name(result.reason));
    if (strstr(spec, "inner=")) { /* rounds of iterations: no number of them can be asked for */
        free(x);
        free(random);
        return;
    }
    const double before = run_iterations(plan, spec, SHORT, random, x, &few);
    const double after = run_iterations(plan, spec, LONG, random, x, &many);
    const double iteration = (after - before) / (LONG - SHORT);
    const double ideal = (many - few) / (LONG - SHORT) / ceiling;
    printf("    %.2f us/it, ideal %.2f (x%.2f); spmv %.0f %%, pc %.0f %%, dots %.0f %%, "
           "vectors %.0f %%\n",
           1e6 * iteration, 1e6 * ideal, iteration / ideal,
           100 * result.seconds_spmv / result.seconds, 100 * result.seconds_pc / result.seconds,
           100 * result.seconds_dots / result.seconds,
           100 * result.seconds_vectors / result.seconds);
    fflush(stdout);
    free(x);
    free(random);
}

int main(int argc, char **argv)
{
    const char *where = "cuda";
    tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE};
    for (; argc > 2 && strncmp(argv[1], "--", 2) == 0; argv += 2, argc -= 2) {
        if (strcmp(argv[1], "--device") == 0)
            where = argv[2];
        else if (strcmp(argv[1], "--params") == 0)
            options.params = argv[2];
        else if (strcmp(argv[1], "--effort") == 0 && strcmp(argv[2], "measure") == 0)
            options.effort = TESS_EFFORT_MEASURE;
        else
            argc = 0;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: tessera_bench_solve_device [--device D] [--params P] "
                        "[--effort measure] INPUT SPEC [SPEC ...]\n");
        return 2;
    }
    tess_ctx *ctx;
    tess_matrix *A;
    tess_device *device;
    tess_plan *plan;
    double *b, ceiling;
    if (tess_ctx_create(NULL, &ctx) != TESS_OK)
        return 1;
    check(ctx, tess_matrix_generate(ctx, argv[1], &A, (void **)&b));
    check(ctx, tess_device_open(ctx, where, &device));
    check(ctx, tess_plan_create(ctx, A, device, &options, &plan));
    check(ctx, device->backend->read_ceiling(device, 4e9, &ceiling));
    printf("%s: %lld rows, blocks of %d, %s; read ceiling %.1f GB/s; %s %s\n", argv[1],
           (long long)A->rows, (int)A->block_height, device->description, 1e-9 * ceiling,
           plan->kernel, plan->params);
    for (int i = 2; i < argc; i++)
        solve_on_device(plan, argv[i], b, ceiling);
    tess_release(ctx, b);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    tess_ctx_destroy(ctx);
    return 0;
}
