/* An iteration of conjugate gradients as paper 004 writes it, with its own product and its five
 * kernels (cg.h), beside this library's. One line of JSON an input:
 *
 *     tessera_bench_papers_cg DEVICE TOLERANCE KERNEL[:PARAMS] INPUT...
 *
 * Both solve with the Jacobi preconditioner in double precision and stop by the same rule, r.r <
 * TOLERANCE (ours: atol = its root). An iteration's time is that of the whole solve, its end
 * included, by their number; medians of several solves. Each of the five kernels is timed by itself
 * too.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cg.h"

enum { SOLVES = 5, REPS = 20, MOST = 3000 };

static const struct {
    const char *entry;
    int vectors; /* read and written: Table 2 */
} kernels[] = {{"cg1", 9}, {"cg2", 2}, {"cg3", 3}, {"cg4", 9}, {"cg5", 6}, {"red", 1}};
enum { KERNELS = sizeof kernels / sizeof *kernels };

typedef struct device_run {
    tess_plan *plan;
    tess_cuda *cuda;
    tess_cuda_launch launch; /* what launch_once repeats */
} device_run;

static tess_status launch_inside(device_run *run, tess_cuda_launch *launch, cu_stream stream)
{
    cu_function function;
    char defines[64];
    snprintf(defines, sizeof defines, "-DREAL=8 -DTHREADS=%d", CG_THREADS);
    TESS_TRY(tess_cuda_helper(run->cuda, "cg.cu", defines, launch->entry, &function));
    return tess_cuda_launch_one(run->cuda, function, launch, stream);
}

static tess_status launch(void *user, tess_cuda_launch *launch)
{
    device_run *run = user;
    TESS_TRY(tess_cuda_enter(run->cuda));
    return tess_cuda_leave_with(run->cuda,
                                launch_inside(run, launch, tess_cuda_plan_of(run->plan)->stream));
}

static tess_status launch_once(void *user)
{
    device_run *run = user;
    return launch_inside(run, &run->launch, run->cuda->stream);
}

static tess_status multiply(void *user, uint64_t x, uint64_t y)
{
    device_run *run = user;
    return tess_spmv(run->plan, 1, (const void *)(uintptr_t)x, 0, (void *)(uintptr_t)y);
}

static tess_status read_sum(void *user, uint64_t from, double *value)
{
    device_run *run = user;
    return tess_device_copy_from(run->plan->device, value, (const void *)(uintptr_t)from,
                                 sizeof *value);
}

/* 1 / sqrt of the diagonal. */
static tess_status root_of_diagonal(tess_ctx *ctx, const tess_matrix *A, double *c)
{
    const int64_t b = A->block_height;
    for (int64_t row = 0; row < A->rows; row++) {
        double diagonal = 0;
        for (int64_t k = A->row_offsets[row / b]; k < A->row_offsets[row / b + 1]; k++)
            if (A->columns[k] == row / b)
                diagonal = tess_matrix_value(A, (k * b + row % b) * b + row % b);
        if (!(diagonal > 0))
            return tess_fail(ctx, TESS_ERR_ARGUMENT, "the diagonal of row %lld is %g",
                             (long long)row, diagonal);
        c[row] = 1 / sqrt(diagonal);
    }
    return TESS_OK;
}

static tess_status upload(const device_run *run, uint64_t to, const double *from, int64_t n)
{
    return tess_device_copy_to(run->plan->device, (void *)(uintptr_t)to, from,
                               (size_t)n * sizeof *from);
}

static tess_status time_paper(device_run *run, cg_machine *m, const double *zero, double tolerance,
                              int64_t *iterations, double *seconds)
{
    double times[SOLVES], rr;
    for (int i = 0; i < SOLVES; i++) {
        TESS_TRY(upload(run, m->vector[CG_X], zero, m->n));
        const double start = tess_seconds();
        TESS_TRY(cg_solve(m, tolerance, MOST, iterations, &rr));
        times[i] = tess_seconds() - start;
    }
    *seconds = tess_median(times, SOLVES);
    return TESS_OK;
}

static tess_status time_ours(device_run *run, const cg_machine *m, const double *zero,
                             double tolerance, tess_result *result, double *seconds)
{
    double times[SOLVES];
    char spec[128];
    tess_solver *solver;
    tess_status status = TESS_OK;
    snprintf(spec, sizeof spec, "cg:pc=jacobi,tol=0,atol=%.17g,max=%d", sqrt(tolerance), MOST);
    TESS_TRY(tess_solver_create(run->plan, spec, &solver));
    for (int i = 0; i < SOLVES; i++) {
        TESS_TRY_CLEAN(upload(run, m->vector[CG_X], zero, m->n));
        TESS_TRY_CLEAN(tess_solver_solve(solver, (const void *)(uintptr_t)m->vector[CG_B],
                                         (void *)(uintptr_t)m->vector[CG_X], result));
        times[i] = result->seconds;
    }
    *seconds = tess_median(times, SOLVES);
cleanup:
    tess_solver_destroy(solver);
    return status;
}

static tess_status time_kernels(device_run *run, const cg_machine *m, json_t *into)
{
    for (int k = 0; k < KERNELS; k++) {
        double times[REPS];
        cg_launch(m, kernels[k].entry, 0, &run->launch);
        TESS_TRY(tess_cuda_enter(run->cuda));
        TESS_TRY(tess_cuda_leave_with(
            run->cuda, tess_cuda_time_launches(run->cuda, run->cuda->stream, launch_once, run, true,
                                               REPS, times)));
        const double seconds = tess_median(times, REPS);
        json_object_set_new(into, kernels[k].entry,
                            json_pack("{s:i, s:f, s:f}", "vectors", kernels[k].vectors, "seconds",
                                      seconds, "GBps",
                                      1e-9 * 8 * (double)(kernels[k].vectors * m->n) / seconds));
    }
    return TESS_OK;
}

static tess_status fill_vectors(device_run *run, cg_machine *m, const double *b, double *work)
{
    tess_ctx *ctx = run->plan->ctx;
    for (int v = 0; v < CG_VECTORS; v++) {
        void *at;
        TESS_TRY(tess_device_alloc(run->plan->device, (size_t)m->n * sizeof(double), &at));
        m->vector[v] = (uintptr_t)at;
        TESS_TRY(upload(run, m->vector[v], work, m->n));
    }
    void *sums;
    TESS_TRY(tess_device_alloc(run->plan->device, (size_t)m->blocks * sizeof(double), &sums));
    m->sums = (uintptr_t)sums;
    TESS_TRY(upload(run, m->vector[CG_B], b, m->n));
    TESS_TRY(root_of_diagonal(ctx, run->plan->matrix, work));
    TESS_TRY(upload(run, m->vector[CG_C], work, m->n));
    memset(work, 0, (size_t)m->n * sizeof *work);
    return TESS_OK;
}

static tess_status run_plan(device_run *run, const char *input, const double *b, double tolerance,
                            double *work)
{
    const tess_matrix *A = run->plan->matrix;
    cg_machine m = {.user = run,
                    .n = A->rows,
                    .blocks = CG_A_MULTIPROCESSOR * run->cuda->multiprocessors,
                    .launch = launch,
                    .multiply = multiply,
                    .read = read_sum};
    int64_t iterations = 0;
    double paper = 0, ours = 0;
    tess_result result;
    tess_status status;
    json_t *vectors = json_object();
    TESS_TRY_CLEAN(fill_vectors(run, &m, b, work));
    TESS_TRY_CLEAN(time_paper(run, &m, work, tolerance, &iterations, &paper));
    TESS_TRY_CLEAN(time_ours(run, &m, work, tolerance, &result, &ours));
    TESS_TRY_CLEAN(time_kernels(run, &m, vectors));
    json_t *line =
        json_pack("{s:s, s:I, s:I, s:I, s:s, s:s, s:I, s:f, s:I, s:f, s:s, s:O}", "input", input,
                  "rows", (json_int_t)A->rows, "stored", (json_int_t)tess_matrix_stored(A), "block",
                  (json_int_t)A->block_height, "kernel", run->plan->kernel, "params",
                  run->plan->params, "paper_iterations", (json_int_t)iterations, "paper_seconds",
                  paper, "our_iterations", (json_int_t)result.iterations, "our_seconds", ours,
                  "our_end", tess_reason_name(result.reason), "kernels", vectors);
    json_dumpf(line, stdout, JSON_COMPACT);
    printf("\n");
    fflush(stdout);
    json_decref(line);
cleanup:
    json_decref(vectors);
    for (int v = 0; v < CG_VECTORS; v++)
        tess_device_free(run->plan->device, (void *)(uintptr_t)m.vector[v]);
    tess_device_free(run->plan->device, (void *)(uintptr_t)m.sums);
    return status;
}

static tess_status run_input(tess_ctx *ctx, tess_device *device, char *kernel, const char *input,
                             double tolerance)
{
    tess_matrix *A = NULL;
    double *b = NULL, *work = NULL;
    tess_plan *plan = NULL;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(kernel, ":"), kernel);
    const tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE,
                                       .kernel = name,
                                       .params =
                                           strchr(kernel, ':') ? strchr(kernel, ':') + 1 : NULL};
    tess_status status;
    TESS_TRY_CLEAN(tess_matrix_input(ctx, input, &A));
    TESS_TRY_CLEAN(tess_plan_create(ctx, A, device, &options, &plan));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, A->rows, &b));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, A->rows, &work));
    for (int64_t i = 0; i < A->rows; i++)
        b[i] = 1;
    device_run run = {.plan = plan, .cuda = tess_cuda_of(device)};
    status = run_plan(&run, input, b, tolerance, work);
cleanup:
    TESS_FREE(ctx, b, work);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    return status;
}

int main(int argc, char **argv)
{
    tess_ctx *ctx;
    tess_device *device;
    int failed = 0;
    if (argc < 5 || tess_ctx_create(NULL, &ctx) != TESS_OK) {
        fprintf(stderr,
                "usage: tessera_bench_papers_cg DEVICE TOLERANCE KERNEL[:PARAMS] INPUT...\n");
        return 2;
    }
    if (tess_device_open(ctx, argv[1], &device) != TESS_OK ||
        device->backend != &tess_cuda_backend) {
        fprintf(stderr, "tessera_bench_papers_cg: %s is no GPU: %s\n", argv[1],
                tess_ctx_error(ctx));
        return 1;
    }
    for (int i = 4; i < argc; i++)
        if (run_input(ctx, device, argv[3], argv[i], atof(argv[2])) != TESS_OK) {
            fprintf(stderr, "tessera_bench_papers_cg: %s: %s\n", argv[i], tess_ctx_error(ctx));
            failed = 1;
        }
    tess_device_close(device);
    tess_ctx_destroy(ctx);
    return failed;
}
