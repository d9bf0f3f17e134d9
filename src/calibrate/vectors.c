/* Calibrates iterations of CG, plain reading, and copies.
 *
 *   vectors            iterations without their products, on cubes
 *   vectors streamed   the same where the matrix streams through a GPU's cache
 *   at once            whole iterations, if the device does all of them in one launch
 *   reading            the read ceiling of the device
 *   copies             a vector to the device and another one back
 */
#include "calibrate/samples.h"

static tess_status sample(tess_calibration *c, const tess_matrix *A, double *product,
                          double *iteration)
{
    static const tess_plan_options guess = {.effort = TESS_EFFORT_ESTIMATE, .reproducible = 1};
    tess_plan *plan = NULL;
    void *b = NULL; /* random: one iteration solves that of the generator */
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

/* ---- Passes ---- */

/* The bytes that a host's passes over 12 vectors move, and their growth; the bytes of a GPU's
 * matrices. */
static const double first_passes = 1e5, growth = 1.8;
static const double first_matrix = 6e4, last_matrix = 3.2e8, growth_matrix = 1.35;

static tess_status measure_reading(tess_calibration *c, const char *name, double bytes)
{
    double speed;
    TESS_TRY(c->device->backend->read_ceiling(c->device, bytes, &speed));
    tess_sample read = {.bytes = bytes, .seconds = bytes / speed};
    snprintf(read.name, sizeof read.name, "%s", name);
    return tess_calibration_keep(c, &read);
}

/* On a host the passes over vectors do not depend on the matrix, so one shape is measured. The
 * working set is six vectors and the matrix (`row` bytes per row), while the passes move 12
 * vectors. */
static tess_status measure_host(tess_calibration *c)
{
    double scalar = (double)tess_type_size(c->type), row = 7 * (scalar + 4) + 4;
    for (double bytes = first_passes; bytes <= c->most; bytes *= growth) {
        tess_matrix *A;
        double product, iteration;
        TESS_TRY(tess_calibration_cube(c, 7, 1, (int)cbrt(bytes / (12 * scalar)), &A));
        tess_sample passes = {.name = TESS_MODEL_VECTORS, .bytes = 12 * scalar * (double)A->rows};
        tess_status status = sample(c, A, &product, &iteration);
        tess_matrix_destroy(A);
        passes.seconds = iteration - product;
        if (status == TESS_ERR_UNSUPPORTED && c->device->backend->read_ceiling)
            status = measure_reading(c, TESS_MODEL_VECTORS, bytes); /* on devices without solvers */
        else if (status == TESS_OK && passes.seconds > 0)
            status = tess_calibration_keep(c, &passes);
        TESS_TRY(status);
    }
    c->regular = c->count;
    return tess_calibration_fit(c, (row + 6 * scalar) / (12 * scalar));
}

/* The class of a GPU's iteration, by where the matrix comes from. NULL between cache and memory: a
 * product by itself finds a part of the matrix in L2, which in an iteration the vectors evict. The
 * time added by this is not that of passes. */
static const char *class_of(const tess_calibration *c, const tess_matrix *A)
{
    const tess_backend *backend = c->device->backend;
    double matrix = tess_matrix_spmv_bytes(A), cache = c->model->cache_bytes;
    double vectors = 6 * (double)A->rows * (double)tess_type_size(c->type);
    if (backend->solves_at_once && backend->solves_at_once(c->device, A))
        return TESS_MODEL_AT_ONCE;
    if (matrix + vectors < TESS_L2_KEPT * cache)
        return TESS_MODEL_VECTORS;
    return matrix > 1.25 * TESS_L2_GONE * cache ? TESS_MODEL_STREAMED : NULL;
}

static tess_status measure_iteration(tess_calibration *c, const tess_matrix *A)
{
    const char *name = class_of(c, A);
    double product, iteration, vector = (double)A->rows * (double)tess_type_size(c->type);
    if (!name)
        return TESS_OK;
    TESS_TRY(sample(c, A, &product, &iteration));
    tess_sample kept = {.bytes = 12 * vector, .seconds = iteration - product};
    if (strcmp(name, TESS_MODEL_AT_ONCE) == 0)
        kept = (tess_sample){.bytes = tess_matrix_spmv_bytes(A),
                             .block_rows = (double)A->block_rows,
                             .seconds = iteration};
    snprintf(kept.name, sizeof kept.name, "%s", name);
    return kept.seconds > 0 ? tess_calibration_keep(c, &kept) : TESS_OK;
}

/* Measures the mean time that an iteration takes longer if its product cuts a long row. */
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

/* A GPU begins the next launch while a product ends, so the time depends on the product's end:
 * cubes of all sizes and several block sizes are measured. */
static tess_status measure_asynchronous(tess_calibration *c)
{
    static const int points[] = {7, 27}, blocks[] = {1, 2, 3, 4, 8, 16};
    enum { SHAPES = sizeof points / sizeof *points, BLOCKS = sizeof blocks / sizeof *blocks };
    double scalar = (double)tess_type_size(c->type);
    for (double bytes = first_matrix; bytes <= last_matrix; bytes *= growth_matrix)
        for (int i = 0; i < SHAPES * BLOCKS; i++) {
            int p = points[i % SHAPES], b = blocks[i / SHAPES];
            double n = cbrt(bytes / (p * (4 + scalar * b * b))) + 0.5;
            tess_matrix *A;
            if (n < 4)
                continue;
            TESS_TRY(tess_calibration_cube(c, p, b, (int)n, &A));
            tess_status status = measure_iteration(c, A);
            tess_matrix_destroy(A);
            TESS_TRY(status);
        }
    c->regular = c->count;
    TESS_TRY(tess_calibration_fit(c, 0));
    return measure_cut(c);
}

/* ---- Reading ---- */

static tess_status measure_ceiling(tess_calibration *c)
{
    if (!c->device->backend->read_ceiling)
        return TESS_OK;
    const double memory = TESS_CACHE_GONE * c->model->cache_bytes, growth_beyond = 1.3;
    c->count = 0;
    for (double bytes = first_passes; bytes <= c->most;
         bytes *= bytes < memory / growth ? growth : growth_beyond)
        TESS_TRY(measure_reading(c, TESS_MODEL_READING, bytes));
    c->regular = c->count;
    return tess_calibration_fit(c, 1);
}

/* ---- Copies ---- */

static tess_status measure_copies(tess_calibration *c)
{
    enum { RUNS = 9 };
    if (!c->device->backend->memory_copy_to)
        return TESS_OK;
    c->count = 0;
    for (double bytes = 1e4; bytes <= 1e8; bytes *= 4) {
        void *on_device = NULL, *on_host = NULL;
        double runs[RUNS];
        tess_status status;
        TESS_TRY_CLEAN(tess_calloc_bytes(c->ctx, (int64_t)bytes, 1, &on_host));
        TESS_TRY_CLEAN(tess_device_alloc(c->device, (size_t)bytes, &on_device));
        for (int i = 0; i < RUNS; i++) {
            double start = tess_seconds();
            TESS_TRY_CLEAN(tess_device_copy_to(c->device, on_device, on_host, (size_t)bytes));
            TESS_TRY_CLEAN(tess_device_copy_from(c->device, on_host, on_device, (size_t)bytes));
            runs[i] = tess_seconds() - start;
        }
        tess_sample sample = {
            .name = TESS_MODEL_COPIES, .bytes = 2 * bytes, .seconds = tess_median(runs, RUNS)};
        status = tess_calibration_keep(c, &sample);
    cleanup:
        tess_device_free(c->device, on_device);
        tess_free(c->ctx, on_host);
        TESS_TRY(status);
    }
    c->regular = c->count;
    return tess_calibration_fit(c, 0);
}

tess_status tess_calibration_vectors(tess_calibration *c)
{
    c->count = 0;
    TESS_TRY(c->device->backend->asynchronous ? measure_asynchronous(c) : measure_host(c));
    TESS_TRY(measure_ceiling(c));
    return measure_copies(c);
}
