/* The time of an iteration of a solver on a device with memory of its own (a GPU), and the ideal.
 *
 *     tessera_bench_solve_device [--device D] [--params P] [--effort measure] INPUT SPEC [SPEC ...]
 *
 * The ideal is the time in which the read ceiling moves all bytes of an iteration once, those of
 * the matrix and the preconditioner included. The time of an iteration is the difference of two
 * runs of different lengths, with a random right-hand side and tol=0, so that neither copies nor
 * the start count. Before that the system is solved. The plan takes the model's kernel, with
 * --params if given;
 * --effort measure lets it search. */
#include <math.h>
#include <string.h>

#include "../program.h"

enum { SHORT = 40, LONG = 240, RUNS = 5 }; /* iterations of the two runs, and how often */

/* The least time of `max` iterations of the method, and their bytes. Vectors are in device memory,
 * because the time of copies varies by more than an iteration. */
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

/* Solves the system, then measures an iteration. */
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
    if (strstr(spec,
               "inner=")) { /* refinement takes rounds of iterations, whose number cannot be set */
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
    double ceiling;
    bench_system s = open_system(argv[1], where);
    check(s.ctx, tess_plan_create(s.ctx, s.A, s.device, &options, &s.plan));
    check(s.ctx, s.device->backend->read_ceiling(s.device, 4e9, &ceiling));
    printf("%s: %lld rows, blocks of %d, %s; read ceiling %.1f GB/s; %s %s\n", argv[1],
           (long long)s.A->rows, (int)s.A->block_height, s.device->description, 1e-9 * ceiling,
           s.plan->kernel, s.plan->params);
    for (int i = 2; i < argc; i++)
        solve_on_device(s.plan, argv[i], s.b, ceiling);
    close_system(&s);
    return 0;
}
