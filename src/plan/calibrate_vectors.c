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
static const cube cubes[] = {{7, 1}, {27, 3}, {7, 4}};
enum { CUBES = sizeof cubes / sizeof cubes[0] };

/* Bytes that the passes move, of 12 vectors, and how they grow. */
static const double first_passes = 1e5, growth = 1.8;

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

static tess_status measure_iteration(tess_calibration *c, cube shape, int n)
{
    static const tess_plan_options guess = {.effort = TESS_ESTIMATE, .reproducible = 1};
    char spec[64];
    tess_matrix *A = NULL;
    tess_plan *plan = NULL;
    void *b = NULL;
    double product, iteration;
    tess_status status;
    snprintf(spec, sizeof spec, "stencil%d:n=%d,b=%d,type=%s", shape.points, n, shape.block,
             tess_type_name(c->type));
    TESS_TRY_CLEAN(tess_matrix_generate(c->ctx, spec, &A, &b));
    tess_random_vector(b, A->rows, c->type); /* the generator's is solved by one iteration */
    TESS_TRY_CLEAN(tess_plan_create(c->ctx, A, c->device, &guess, &plan));
    TESS_TRY_CLEAN(tess_sample_iteration(plan, b, &product, &iteration));
    tess_log(c->ctx, "calibrate: %s product %.6g s, iteration %.6g s", spec, product, iteration);
    status = keep_iteration(c, A, product, iteration);
cleanup:
    tess_plan_destroy(plan);
    tess_release(c->ctx, b);
    tess_matrix_destroy(A);
    return status;
}

/* Where no solver runs, passes are as fast as reading. */
static tess_status measure_reading(tess_calibration *c, double bytes)
{
    double speed;
    TESS_TRY(c->device->backend->read_ceiling(c->device, bytes, &speed));
    tess_sample read = {.name = TESS_MODEL_VECTORS, .bytes = bytes, .seconds = bytes / speed};
    return tess_calibration_keep(c, &read);
}

/* One shape, growing until its passes move `most` bytes. */
static tess_status measure_shape(tess_calibration *c, cube shape, double most)
{
    double scalar = (double)tess_type_size(c->type);
    for (double bytes = first_passes; bytes <= most; bytes *= growth) {
        double block_rows = bytes / (12 * scalar * shape.block);
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
    for (int i = 1; i < CUBES && c->device->backend->time_product; i++)
        TESS_TRY(measure_shape(c, cubes[i], 12 * c->most / cubes[i].points / cubes[i].block));
    c->regular = c->count;
    return tess_calibration_fit(c, stay ? 0 : (row + 6 * scalar) / (12 * scalar));
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
