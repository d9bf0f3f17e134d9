/* Calibration of iterations of CG, and of copies.
 *
 *   vectors            iterations less their products, on a GPU by block size
 *   vectors streamed   the same where the matrix goes through a GPU's cache
 *   at once            whole iterations, where the device does all of them in one launch
 *   copies             a vector to the device and another one back
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/calibrate.h"

/* A cube of n^3 block rows. */
typedef struct cube {
    int points, block;
} cube;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static tess_status sample(tess_calibration *c, const tess_matrix *A, double *product,
                          double *iteration)
{
    static const tess_plan_options guess = {.effort = TESS_ESTIMATE, .reproducible = 1};
    tess_plan *plan = NULL;
    void *b = NULL; /* random: the generator's is solved by one iteration */
    tess_status status;
    TESS_TRY_CLEAN(tess_alloc_bytes(c->ctx, A->rows, sizeof(double), &b));
    tess_random_vector(b, A->rows, c->type);
    TESS_TRY_CLEAN(tess_plan_create(c->ctx, A, c->device, &guess, &plan));
    TESS_TRY_CLEAN(tess_sample_iteration(plan, b, product, iteration));
    tess_log(c->ctx,
             "calibrate: %lld rows of %.4g blocks, b = %d: product %.6g s, iteration %.6g s",
             (long long)A->rows, (double)A->blocks / (double)A->block_rows, (int)A->block_height,
             *product, *iteration);
cleanup:
    tess_plan_destroy(plan);
    tess_free(c->ctx, b);
    return status;
}

static tess_status make_cube(tess_calibration *c, cube shape, int n, tess_matrix **out)
{
    char spec[64];
    snprintf(spec, sizeof spec, "stencil%d:n=%d,b=%d,type=%s", shape.points, n, shape.block,
             tess_type_name(c->type));
    return tess_matrix_generate(c->ctx, spec, out, NULL);
}

/* ---- Of no block size ---- */

/* A host's iterations are passes over memory whatever the matrix is: it gets the first. */
static const cube cubes[] = {{7, 1}, {27, 3}, {7, 4}, {27, 1}, {7, 2}};
enum { CUBES = sizeof cubes / sizeof cubes[0] };

/* Bytes that the passes move, of 12 vectors, and how they grow. */
static const double first_passes = 1e5, growth = 1.8, growth_apart = 1.45;

static bool is_at_once(const tess_calibration *c, const tess_matrix *A)
{
    const tess_backend *backend = c->device->backend;
    return backend->solves_at_once && backend->solves_at_once(c->device, A);
}

static tess_status measure_iteration(tess_calibration *c, const tess_matrix *A)
{
    double product, iteration, vector = (double)A->rows * (double)tess_type_size(c->type);
    TESS_TRY(sample(c, A, &product, &iteration));
    tess_sample passes = {
        .name = TESS_MODEL_VECTORS, .bytes = 12 * vector, .seconds = iteration - product};
    tess_sample whole = {.name = TESS_MODEL_AT_ONCE,
                         .bytes = tess_matrix_spmv_bytes(A),
                         .lines = (double)A->block_rows,
                         .seconds = iteration};
    if (is_at_once(c, A))
        return tess_calibration_keep(c, &whole);
    return iteration > product ? tess_calibration_keep(c, &passes) : TESS_OK;
}

/* Where no solver runs, passes are as fast as reading. */
static tess_status measure_reading(tess_calibration *c, double bytes)
{
    double speed;
    TESS_TRY(c->device->backend->read_ceiling(c->device, bytes, &speed));
    tess_sample read = {.name = TESS_MODEL_VECTORS, .bytes = bytes, .seconds = bytes / speed};
    return tess_calibration_keep(c, &read);
}

/* One shape, growing until its passes move all that is measured; on a GPU until it takes more than
 * one launch. */
static tess_status measure_shape(tess_calibration *c, cube shape)
{
    double scalar = (double)tess_type_size(c->type);
    bool apart = c->device->backend->apart, goes_on = true;
    for (double bytes = first_passes; bytes <= c->most && goes_on;
         bytes *= apart ? growth_apart : growth) {
        tess_matrix *A;
        TESS_TRY(make_cube(c, shape, (int)cbrt(bytes / (12 * scalar * shape.block)), &A));
        goes_on = !apart || is_at_once(c, A);
        tess_status status = goes_on ? measure_iteration(c, A) : TESS_OK;
        tess_matrix_destroy(A);
        if (status == TESS_ERR_UNSUPPORTED && c->device->backend->read_ceiling)
            status = measure_reading(c, bytes);
        TESS_TRY(status);
    }
    return TESS_OK;
}

/* A host's working set is six vectors and a row of the matrix beside the 12 moved ones. */
static tess_status measure_vectors(tess_calibration *c)
{
    double scalar = (double)tess_type_size(c->type), row = 7 * (scalar + 4) + 4;
    bool apart = c->device->backend->apart;
    c->count = 0;
    for (int i = 0; i < (apart ? CUBES : 1); i++)
        TESS_TRY(measure_shape(c, cubes[i]));
    c->regular = c->count;
    return tess_calibration_fit(c, apart ? 0 : (row + 6 * scalar) / (12 * scalar));
}

/* ---- Passes of one block size ---- */

/* Bytes of matrices, and how they grow. */
static const double first_matrix = 1e6, last_matrix = 3.2e8, growth_matrix = 1.35;

/* The product that iterations with A run, as the model asks for it. */
static tess_status find_iterated(tess_calibration *c, const tess_matrix *A, tess_model_problem *out)
{
    const tess_product product = {.kind = TESS_PRODUCT_SPMV, .effort = TESS_ESTIMATE};
    const tess_backend *backend = c->device->backend;
    tess_candidates list = {0};
    tess_status status;
    *out = tess_model_problem_of(A);
    TESS_TRY_CLEAN(backend->candidates(c->device, A, &product, &list));
    TESS_TRY_CLEAN(backend->costs(c->device, A, &list));
    for (int64_t i = 0; i < list.count && !*out->name; i++) {
        if (strcmp(list.items[i].class_name, backend->iterates_with) != 0)
            continue;
        memcpy(out->name, list.items[i].class_name, sizeof out->name);
        out->bytes = list.items[i].bytes;
    }
cleanup:
    tess_candidates_free(c->ctx, &list);
    return status;
}

/* The time of that product, of which the model may have been measured before. */
static double expect_product(const tess_calibration *c, const tess_model_problem *problem,
                             double *resident)
{
    double seconds = tess_model_iterated(c->model, problem, resident);
    const tess_model *known = seconds > 0 ? NULL : tess_device_performance(c->device);
    return known ? tess_model_iterated(known, problem, resident) : seconds;
}

/* What an iteration takes beyond the product that the model expects of it: the sum is what is to be
 * right. Where a part of the matrix stays in the cache, it belongs to neither curve. */
static tess_status measure_passes(tess_calibration *c, const tess_matrix *A)
{
    static const double all = 0.9, nothing = 0.1;
    tess_model_problem problem;
    double measured, iteration, resident;
    TESS_TRY(find_iterated(c, A, &problem));
    double product = expect_product(c, &problem, &resident);
    if (!(product > 0) || (resident > nothing && resident <= all) || is_at_once(c, A))
        return TESS_OK;
    TESS_TRY(sample(c, A, &measured, &iteration));
    tess_sample passes = {.bytes = 12 * (double)A->rows * (double)tess_type_size(c->type),
                          .seconds = iteration - product};
    snprintf(passes.name, sizeof passes.name, "%s",
             resident > all ? TESS_MODEL_VECTORS : TESS_MODEL_STREAMED);
    return passes.seconds > 0 ? tess_calibration_keep(c, &passes) : TESS_OK;
}

/* What an iteration takes more where the product cuts a long row, in the mean of a few. */
static tess_status measure_cut(tess_calibration *c)
{
    static const tess_calibration_shape crossed = {.length = 7, .share = 1, .crossed = true};
    static const double sizes[] = {4e6, 1.2e7, 1.5e8};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    double row = 8 * (4 + (double)tess_type_size(c->type) * c->block * c->block);
    tess_model_extra extra = {
        .block = c->block, .type = c->type, .kind = TESS_EXTRA_CUT, .name = TESS_MODEL_VECTORS};
    for (int i = 0; i < SIZES; i++) {
        tess_matrix *A;
        tess_model_problem problem;
        double measured, iteration = 0, resident;
        TESS_TRY(tess_calibration_band(c->ctx, c->type, c->block, (int64_t)(sizes[i] / row),
                                       &crossed, &A));
        tess_status status = find_iterated(c, A, &problem);
        if (status == TESS_OK)
            status = sample(c, A, &measured, &iteration);
        tess_matrix_destroy(A);
        TESS_TRY(status);
        double product = expect_product(c, &problem, &resident);
        extra.seconds +=
            (iteration - product - tess_model_passes(c->model, &problem, resident)) / SIZES;
    }
    return extra.seconds > 0 ? tess_model_add_extra(c->model, &extra) : TESS_OK;
}

tess_status tess_calibration_passes(tess_calibration *c)
{
    const cube shapes[] = {{7, c->block}, {27, c->block}};
    double block = 4 + (double)tess_type_size(c->type) * c->block * c->block;
    c->count = 0;
    for (double bytes = first_matrix; bytes <= last_matrix; bytes *= growth_matrix)
        for (int i = 0; i < 2; i++) {
            tess_matrix *A;
            int n = (int)(cbrt(bytes / (shapes[i].points * block)) + 0.5);
            TESS_TRY(make_cube(c, shapes[i], n, &A));
            tess_status status = measure_passes(c, A);
            tess_matrix_destroy(A);
            TESS_TRY(status);
        }
    c->regular = c->count;
    TESS_TRY(tess_calibration_fit(c, 0));
    return measure_cut(c);
}

/* ---- Copies ---- */

static tess_status measure_copies(tess_calibration *c)
{
    enum { RUNS = 9 };
    if (!c->device->backend->memory_copy_to)
        return TESS_OK;
    c->count = 0;
    for (double bytes = 1e4; bytes <= 1e8; bytes *= 4) {
        void *there = NULL, *here = NULL;
        double runs[RUNS];
        tess_status status;
        TESS_TRY_CLEAN(tess_calloc_bytes(c->ctx, (int64_t)bytes, 1, &here));
        TESS_TRY_CLEAN(tess_device_alloc(c->device, (size_t)bytes, &there));
        for (int i = 0; i < RUNS; i++) {
            double start = tess_seconds();
            TESS_TRY_CLEAN(tess_device_copy_to(c->device, there, here, (size_t)bytes));
            TESS_TRY_CLEAN(tess_device_copy_from(c->device, here, there, (size_t)bytes));
            runs[i] = tess_seconds() - start;
        }
        qsort(runs, RUNS, sizeof *runs, by_value);
        tess_sample sample = {
            .name = TESS_MODEL_COPIES, .bytes = 2 * bytes, .seconds = runs[RUNS / 2]};
        status = tess_calibration_keep(c, &sample);
    cleanup:
        tess_device_free(c->device, there);
        tess_free(c->ctx, here);
        TESS_TRY(status);
    }
    c->regular = c->count;
    return tess_calibration_fit(c, 0);
}

tess_status tess_calibration_vectors(tess_calibration *c)
{
    TESS_TRY(measure_vectors(c));
    return measure_copies(c);
}
