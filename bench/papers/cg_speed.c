/* An iteration of conjugate gradients as paper 004 writes it, with its own product and its five
 * kernels (cg.h), beside this library's. One line of JSON an input:
 *
 *     tessera_bench_papers_cg DEVICE TOLERANCE KERNEL[:PARAMS] INPUT...
 *
 * INPUT may be "blocks=B:INPUT", which is stored in B x B blocks. Both solve with the Jacobi
 * preconditioner in double precision and stop by the same rule, r.r < TOLERANCE (ours: atol = its
 * root), or after MOST iterations. They take turns, solve by solve; medians of an iteration's time,
 * which is that of the whole solve, its end included, by their number. A first solve of each is not
 * counted: its x is compared with the residual that the solver claims (cg_check.h). Each of the
 * five kernels is timed by itself too.
 *
 * `iteration` over `product` + `passes` (cg_passes.h) says what KERNEL's iterations lose.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cg.h"
#include "cg_check.h"
#include "cg_passes.h"

enum { SOLVES = 5, REPS = 20, MOST = 600 };

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

/* ---- The two solvers in turn ---- */

typedef struct contestant {
    int64_t iterations;
    double times[SOLVES], residual; /* |b - A x| that it claims */
    bool right;
} contestant;

typedef struct contest {
    device_run *run;
    cg_machine *m;
    const double *b;
    double *work; /* a vector of the host */
    double tolerance;
    tess_solver *solver;
    contestant paper, ours;
    const char *end; /* ours */
} contest;

static tess_status solve_paper(contest *c, contestant *of, double *seconds)
{
    double rr;
    const double start = tess_seconds();
    TESS_TRY(cg_solve(c->m, c->tolerance, MOST, &of->iterations, &rr));
    *seconds = tess_seconds() - start;
    of->residual = sqrt(rr);
    return TESS_OK;
}

static tess_status solve_ours(contest *c, contestant *of, double *seconds)
{
    tess_result result;
    TESS_TRY(tess_solver_solve(c->solver, (const void *)(uintptr_t)c->m->vector[CG_B],
                               (void *)(uintptr_t)c->m->vector[CG_X], &result));
    *seconds = result.seconds;
    of->iterations = result.iterations;
    of->residual = result.residual * result.rhs_norm;
    c->end = tess_reason_name(result.reason);
    return TESS_OK;
}

/* A solve from zero; the one before the first is compared and not counted. */
static tess_status one_round(contest *c, contestant *of, int round,
                             tess_status (*solve)(contest *, contestant *, double *))
{
    const tess_matrix *A = c->run->plan->matrix;
    double seconds;
    memset(c->work, 0, (size_t)A->rows * sizeof *c->work);
    TESS_TRY(upload(c->run, c->m->vector[CG_X], c->work, A->rows));
    TESS_TRY(solve(c, of, &seconds));
    if (round >= 0) {
        of->times[round] = seconds;
        return TESS_OK;
    }
    TESS_TRY(tess_device_copy_from(c->run->plan->device, c->work,
                                   (const void *)(uintptr_t)c->m->vector[CG_X],
                                   (size_t)A->rows * sizeof *c->work));
    of->right = cg_check(A, c->b, c->work, of->residual, of->iterations);
    return TESS_OK;
}

static tess_status time_solvers(contest *c)
{
    char spec[128];
    tess_status status;
    snprintf(spec, sizeof spec, "cg:pc=jacobi,tol=0,atol=%.17g,max=%d", sqrt(c->tolerance), MOST);
    TESS_TRY(tess_solver_create(c->run->plan, spec, &c->solver));
    for (int round = -1; round < SOLVES; round++) {
        TESS_TRY_CLEAN(one_round(c, &c->paper, round, solve_paper));
        TESS_TRY_CLEAN(one_round(c, &c->ours, round, solve_ours));
    }
cleanup:
    tess_solver_destroy(c->solver);
    return status;
}

/* ---- The five kernels ---- */

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

static json_t *line_of(const contest *c, const char *input, const cg_passes *cost, json_t *vectors)
{
    const tess_plan *plan = c->run->plan;
    double paper[SOLVES], ours[SOLVES];
    memcpy(paper, c->paper.times, sizeof paper);
    memcpy(ours, c->ours.times, sizeof ours);
    json_t *line = json_pack(
        "{s:s, s:s, s:I, s:I, s:i, s:s, s:s, s:s, s:O}", "input", input, "device",
        plan->device->description, "rows", (json_int_t)plan->matrix->rows, "stored",
        (json_int_t)tess_matrix_stored(plan->matrix), "block", (int)plan->matrix->block_height,
        "kernel", plan->kernel, "params", plan->params, "our_end", c->end, "kernels", vectors);
    json_object_update_new(line, json_pack("{s:I, s:f, s:b, s:I, s:f, s:b}", "paper_iterations",
                                           (json_int_t)c->paper.iterations, "paper_seconds",
                                           tess_median(paper, SOLVES), "paper_right",
                                           c->paper.right, "our_iterations",
                                           (json_int_t)c->ours.iterations, "our_seconds",
                                           tess_median(ours, SOLVES), "our_right", c->ours.right));
    json_object_update_new(line,
                           json_pack("{s:f, s:f, s:f, s:f, s:s}", "product", cost->product,
                                     "iteration", cost->iteration, "passes", cost->passes,
                                     "predicted", cost->predicted, "passes_of", cost->kernel));
    return line;
}

static tess_status run_plan(device_run *run, const char *input, const double *b, double tolerance,
                            double *work)
{
    cg_machine m = {.user = run,
                    .n = run->plan->matrix->rows,
                    .blocks = CG_A_MULTIPROCESSOR * run->cuda->multiprocessors,
                    .launch = launch,
                    .multiply = multiply,
                    .read = read_sum};
    contest c = {.run = run, .m = &m, .b = b, .work = work, .tolerance = tolerance};
    cg_passes cost = {0};
    tess_status status;
    json_t *vectors = json_object();
    TESS_TRY_CLEAN(fill_vectors(run, &m, b, work));
    TESS_TRY_CLEAN(time_solvers(&c));
    TESS_TRY_CLEAN(time_kernels(run, &m, vectors));
    TESS_TRY_CLEAN(cg_passes_time(run->plan, b, &cost));
    json_t *line = line_of(&c, input, &cost, vectors);
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

/* "blocks=B:INPUT", or an input that keeps its blocks. */
static tess_status make_matrix(tess_ctx *ctx, const char *input, tess_matrix **out)
{
    int32_t b;
    int at = 0;
    tess_matrix *whole;
    if (sscanf(input, "blocks=%d:%n", &b, &at) != 1 || at == 0)
        return tess_matrix_input(ctx, input, out);
    const tess_blocking blocking = {b, b};
    TESS_TRY(tess_matrix_input(ctx, input + at, &whole));
    const tess_status status = tess_matrix_to_blocks(ctx, whole, &blocking, out);
    tess_matrix_destroy(whole);
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
    TESS_TRY_CLEAN(make_matrix(ctx, input, &A));
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
