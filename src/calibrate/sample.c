/* The measurements to which the model is fitted, and with which it is compared: whole products and
 * iterations. */
#include "calibrate/calibrate.h"
#include "plan/products.h"

enum { RUNS_MAX = 128, RUNS_HOST = 31, ROUNDS = 9 };

/* The iterations of the two solves whose difference is timed. A GPU runs iterations in graphs of up
 * to 16, so it does ten times as many: otherwise the difference would include the start and end of
 * graphs. */
enum { FEW = 4, MANY = 24, ASYNCHRONOUS_TIMES = 10 };

static const tess_product spmv = {.kind = TESS_PRODUCT_SPMV};

/* The lower quartile: a disturbance makes a run longer, never shorter. */
static double typical(double *seconds, int count)
{
    tess_sort_doubles(seconds, count);
    return seconds[count / 4];
}

/* Runs products until their times are constant: threads, clocks and caches need some milliseconds.
 * A GPU gets many products per call, since its clock falls while vectors are copied. */
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
    /* A long run on a host averages over disturbances. */
    int least = device->backend->asynchronous || bytes < 256e6 ? 9 : 5;
    int count = (int)tess_clamp(few, least, most);
    tess_plan *plan;
    TESS_TRY(tess_plan_create(device->ctx, A, device, &options, &plan));
    tess_status status = warm_up(plan, x, y);
    TESS_THEN(tess_product_time(plan, &spmv, 1, x, 0, y, count, runs));
    tess_plan_destroy(plan);
    if (status == TESS_OK)
        *seconds = typical(runs, count);
    return status;
}

/* Solves from x = 0: the seconds of the steps, and the iterations. Copies of vectors to and from a
 * device are not included: their time varies by a millisecond. */
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

/* Makes a solver that stops after *count iterations of CG, and runs it once, so that everything is
 * compiled and allocated. *count becomes the number of its iterations. A GPU captures the
 * iterations as a graph in the solver's second run, the first timed round; the lower quartile
 * leaves that round out. */
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
    if (most < times * MANY) { /* solved or broken down, which takes time of its own */
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
    /* The difference leaves out the work of a solve before and after its iterations. The typical
     * times are taken before the difference: beside a disturbed brief solve, iterations would look
     * short. */
    *iteration = (typical(many, ROUNDS) - typical(few, ROUNDS)) / (most - least);
    *product = typical(runs, products);
cleanup:
    tess_solver_destroy(brief);
    tess_solver_destroy(lasting);
    tess_free(plan->ctx, x);
    return status;
}
