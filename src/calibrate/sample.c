/* Measurements as the model is fitted to, and compared with: whole products and iterations. */
#include "calibrate/calibrate.h"
#include "plan/products.h"

enum { RUNS_MAX = 128, RUNS_HOST = 31, ROUNDS = 9 };

/* Iterations of the two solves whose difference is timed. A GPU runs them in graphs of up to 16:
 * ten times as many, lest how it begins and ends be taken for iterations. */
enum { FEW = 4, MANY = 24, ASYNCHRONOUS_TIMES = 10 };

static const tess_product spmv = {.kind = TESS_PRODUCT_SPMV};

/* The lower quartile: what disturbs a run makes it longer, never shorter. */
static double typical(double *seconds, int count)
{
    tess_sort_doubles(seconds, count);
    return seconds[count / 4];
}

/* Threads, clocks and caches need some milliseconds until products take the same time. A GPU gets
 * its products in long rows: while vectors are copied its clock falls again. */
static tess_status warm_up(tess_plan *plan, const void *x, void *y)
{
    double runs[RUNS_MAX], start = tess_seconds();
    bool asynchronous = plan->device->backend->asynchronous;
    int reps = 2;
    do {
        TESS_TRY(tess_product_time(plan, &spmv, 1, x, 0, y, reps, runs));
        double once = typical(runs, reps);
        reps = once > 5e-4 ? 2 : once < 5e-4 / RUNS_MAX ? RUNS_MAX : (int)(5e-4 / once) + 1;
    } while (tess_seconds() - start < (asynchronous ? 8e-3 : 4e-3));
    return TESS_OK;
}

tess_status tess_sample_spmv(tess_device *device, const tess_matrix *A,
                             const tess_candidate *candidate, const void *x, void *y,
                             double *seconds)
{
    tess_plan_options options = {
        .format = candidate->format, .kernel = candidate->kernel, .params = candidate->params};
    int most = device->backend->asynchronous ? RUNS_MAX : RUNS_HOST;
    double runs[RUNS_MAX], bytes = tess_matrix_spmv_bytes(A), few = 4e8 / (bytes + 1);
    /* A host's long run averages over what disturbs it. */
    int least = device->backend->asynchronous || bytes < 256e6 ? 9 : 5;
    int count = few < least ? least : few > most ? most : (int)few;
    tess_plan *plan;
    TESS_TRY(tess_plan_create(device->ctx, A, device, &options, &plan));
    tess_status status = warm_up(plan, x, y);
    TESS_THEN(tess_product_time(plan, &spmv, 1, x, 0, y, count, runs));
    tess_plan_destroy(plan);
    if (status == TESS_OK)
        *seconds = typical(runs, count);
    return status;
}

/* A solve from zero: the seconds of its steps, and its iterations. Vectors that go to a device and
 * come back are not among them: that takes a millisecond more or less from one time to the next. */
static tess_status time_iterations(tess_solver *solver, const tess_plan *plan, const void *b,
                                   void *x, double *seconds, int *iterations)
{
    tess_result result;
    memset(x, 0, (size_t)plan->matrix->rows * tess_type_size(plan->matrix->type));
    TESS_TRY(tess_solver_solve(solver, b, x, &result));
    *seconds =
        result.seconds_spmv + result.seconds_pc + result.seconds_dots + result.seconds_vectors;
    *iterations = (int)result.iterations;
    return TESS_OK;
}

/* A solver that stops after *count iterations of CG, and has run once: what is compiled and
 * allocated is there, and *count becomes how many it did. A GPU captures iterations when they come
 * again, in the first of the rounds that follow, which for that is not the one that counts. */
static tess_status make_solver(tess_plan *plan, int *count, const void *b, void *x,
                               tess_solver **solver)
{
    char spec[64];
    double seconds;
    tess_solver_destroy(*solver);
    *solver = NULL;
    snprintf(spec, sizeof spec, "cg:pc=jacobi,tol=1e-300,max=%d", *count);
    TESS_TRY(tess_solver_create(plan, spec, solver));
    return time_iterations(*solver, plan, b, x, &seconds, count);
}

tess_status tess_sample_iteration(tess_plan *plan, const void *b, double *product,
                                  double *iteration)
{
    double runs[RUNS_MAX], few[ROUNDS], many[ROUNDS];
    bool asynchronous = plan->device->backend->asynchronous;
    int times = asynchronous ? ASYNCHRONOUS_TIMES : 1, products = asynchronous ? RUNS_MAX : 9, did;
    int most = times * MANY, least = times * FEW;
    tess_solver *brief = NULL, *lasting = NULL;
    void *x;
    TESS_TRY(tess_calloc_bytes(plan->ctx, plan->matrix->rows, sizeof(double), &x));
    tess_status status;
    TESS_TRY_CLEAN(make_solver(plan, &most, b, x, &lasting));
    if (most < times * MANY) { /* solved, or broken down: such an end takes its own time */
        most -= most / 8 + 1;
        least = most / (MANY / FEW);
        if (least < 1) {
            status = tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED, "CG ended too soon to be timed");
            goto cleanup;
        }
        TESS_TRY_CLEAN(make_solver(plan, &most, b, x, &lasting));
    }
    TESS_TRY_CLEAN(make_solver(plan, &least, b, x, &brief));
    for (int i = 0; i < ROUNDS; i++) {
        TESS_TRY_CLEAN(time_iterations(brief, plan, b, x, &few[i], &did));
        TESS_TRY_CLEAN(time_iterations(lasting, plan, b, x, &many[i], &did));
    }
    TESS_TRY_CLEAN(tess_product_time(plan, &spmv, 1, b, 0, x, products, runs));
    /* The difference leaves out what a solve does before and after its iterations. Each solve's
     * typical time first: beside a brief one that was disturbed iterations would look short. */
    *iteration = (typical(many, ROUNDS) - typical(few, ROUNDS)) / (most - least);
    *product = typical(runs, products);
cleanup:
    tess_solver_destroy(brief);
    tess_solver_destroy(lasting);
    tess_free(plan->ctx, x);
    return status;
}
