/* Calibration of what belongs to no block size: iterations of CG, and copies.
 *
 *   vectors   CG iterations less their products, on cubes of several points and block sizes
 *   at once   whole iterations, where the device does all of them in one launch
 *   copies    a vector to the device and another one back
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan/calibrate.h"

/* A cube of n^3 block rows. */
typedef struct cube {
    int points, block;
} cube;

/* A host's iterations are passes over memory whatever the matrix is: it gets the first. A GPU
 * begins the next launch while a product ends, so that it matters how long that takes. */
static const cube cubes[] = {{7, 1}, {27, 3}, {7, 4}, {27, 1}, {7, 2}};
enum { CUBES = sizeof cubes / sizeof cubes[0] };

/* Bytes that the passes move, of 12 vectors, and how they grow. */
static const double first_passes = 1e5, growth = 1.8, growth_apart = 1.45;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static tess_status keep_iteration(tess_calibration *c, const tess_matrix *A, double product,
                                  double iteration)
{
    const tess_backend *backend = c->device->backend;
    double vector = (double)A->rows * (double)tess_type_size(c->type);
    tess_sample passes = {
        .name = TESS_MODEL_VECTORS, .bytes = 12 * vector, .seconds = iteration - product};
    tess_sample whole = {.name = TESS_MODEL_AT_ONCE,
                         .bytes = tess_matrix_spmv_bytes(A),
                         .lines = (double)A->block_rows,
                         .seconds = iteration};
    if (backend->solves_at_once && backend->solves_at_once(c->device, A))
        return tess_calibration_keep(c, &whole);
    return iteration > product ? tess_calibration_keep(c, &passes) : TESS_OK;
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

static tess_status measure_iteration(tess_calibration *c, cube shape, int n)
{
    char spec[64];
    tess_matrix *A;
    double product, iteration;
    snprintf(spec, sizeof spec, "stencil%d:n=%d,b=%d,type=%s", shape.points, n, shape.block,
             tess_type_name(c->type));
    TESS_TRY(tess_matrix_generate(c->ctx, spec, &A, NULL));
    tess_status status = sample(c, A, &product, &iteration);
    if (status == TESS_OK)
        status = keep_iteration(c, A, product, iteration);
    tess_matrix_destroy(A);
    return status;
}

/* What an iteration takes more where the product cuts a long row, in the mean of a few. */
static tess_status measure_cut(tess_calibration *c)
{
    static const tess_calibration_shape crossed = {.length = 7, .share = 1, .crossed = true};
    static const int64_t rows[] = {8000, 16000, 40000};
    static const int32_t blocks[] = {1, 3, 2};
    enum { SIZES = 3 };
    tess_model_extra extra = {.type = c->type, .kind = TESS_EXTRA_CUT, .name = TESS_MODEL_VECTORS};
    for (int i = 0; i < SIZES; i++) {
        tess_matrix *A;
        double product = 0, iteration = 0;
        TESS_TRY(tess_calibration_band(c->ctx, c->type, blocks[i], rows[i], &crossed, &A));
        double vector = (double)A->rows * (double)tess_type_size(c->type);
        tess_model_load load = {.name = TESS_MODEL_VECTORS, .type = c->type, .bytes = 12 * vector};
        tess_status status = sample(c, A, &product, &iteration);
        tess_matrix_destroy(A);
        TESS_TRY(status);
        double passes = tess_model_seconds_from(c->model, &load, true, false);
        extra.seconds += (iteration - product - passes) / SIZES;
    }
    return extra.seconds > 0 ? tess_model_add_extra(c->model, &extra) : TESS_OK;
}

/* Where no solver runs, passes are as fast as reading. */
static tess_status measure_reading(tess_calibration *c, double bytes)
{
    double speed;
    TESS_TRY(c->device->backend->read_ceiling(c->device, bytes, &speed));
    tess_sample read = {.name = TESS_MODEL_VECTORS, .bytes = bytes, .seconds = bytes / speed};
    return tess_calibration_keep(c, &read);
}

/* Whether the product comes from the same place alone and in an iteration: six vectors push nothing
 * of the matrix out of the cache, or nothing of it was there. */
static bool is_settled(const tess_calibration *c, cube shape, double block_rows)
{
    double scalar = (double)tess_type_size(c->type), cache = c->model->cache_bytes;
    double matrix = block_rows * shape.points * (4 + scalar * shape.block * shape.block);
    double vectors = 6 * block_rows * shape.block * scalar;
    return matrix + vectors < TESS_CACHE_KEPT * cache || matrix > TESS_CACHE_GONE * cache;
}

/* One shape, growing until its passes move `most` bytes. */
static tess_status measure_shape(tess_calibration *c, cube shape, double most)
{
    double scalar = (double)tess_type_size(c->type);
    bool apart = c->device->backend->apart;
    for (double bytes = first_passes; bytes <= most; bytes *= apart ? growth_apart : growth) {
        double block_rows = bytes / (12 * scalar * shape.block);
        if (apart && !is_settled(c, shape, block_rows))
            continue;
        tess_status status = measure_iteration(c, shape, (int)cbrt(block_rows));
        if (status == TESS_ERR_UNSUPPORTED && c->device->backend->read_ceiling)
            status = measure_reading(c, bytes);
        TESS_TRY(status);
    }
    return TESS_OK;
}

/* Where the vectors stay in the cache beside the matrix, there is one curve; else the working set
 * is six vectors and a row of the matrix beside the 12 moved ones. */
static tess_status measure_vectors(tess_calibration *c)
{
    double scalar = (double)tess_type_size(c->type), row = 7 * (scalar + 4) + 4;
    bool stay = tess_model_vectors_stay(c->model);
    c->count = 0;
    TESS_TRY(measure_shape(c, cubes[0], c->most));
    for (int i = 1; i < CUBES && c->device->backend->apart; i++)
        TESS_TRY(measure_shape(c, cubes[i], 12 * c->most / cubes[i].points / cubes[i].block));
    c->regular = c->count;
    TESS_TRY(tess_calibration_fit(c, stay ? 0 : (row + 6 * scalar) / (12 * scalar)));
    return c->device->backend->apart ? measure_cut(c) : TESS_OK;
}

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
