/* Calibration: measures the terms of a model on generated matrices.
 *
 *   curves    here: growing stencils of 7 and 27 points and bands, for each block size and class
 *   extras    extras.c: irregular matrices, for the times that curves do not explain
 *   vectors   vectors.c: the time of a CG iteration beside its product, and copies
 */
#include "calibrate/samples.h"

/* The growth of sizes in the cache, between cache and memory, and in memory. */
static const double first_bytes = 1e5, growth_in_cache = 2.5, growth_between = 1.3, growth = 1.35;
const int32_t tess_model_blocks[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
                                     10, 11, 12, 14, 16, 20, 24, 32, 48, 64};
const int tess_model_block_count = sizeof tess_model_blocks / sizeof tess_model_blocks[0];

tess_status tess_calibration_keep(tess_calibration *c, const tess_sample *sample)
{
    TESS_TRY(TESS_GROW(c->ctx, &c->samples, c->count, &c->capacity));
    c->samples[c->count++] = *sample;
    tess_log(c->ctx, "calibrate: %s %d %s %.6g bytes %.6g rows of %.4g %.6g s", sample->name,
             (int)c->block, tess_type_name(c->type), sample->bytes, sample->block_rows,
             sample->length, sample->seconds);
    return TESS_OK;
}

tess_status tess_calibration_cube(tess_calibration *c, int points, int b, int n, tess_matrix **out)
{
    char spec[96];
    snprintf(spec, sizeof spec, "stencil%d:n=%d,b=%d,type=%s", points, n, b,
             tess_type_name(c->type));
    return tess_matrix_generate(c->ctx, spec, out, NULL);
}

/* ---- Products ---- */

bool tess_first_of_class(const tess_candidates *list, int64_t at)
{
    for (int64_t i = 0; i < at; i++)
        if (strcmp(list->items[i].class_name, list->items[at].class_name) == 0)
            return false;
    return true;
}

/* Whether the comma-separated list has the class. Without a list every class is wanted. */
static bool is_wanted(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return !list;
}

/* Whether a class is so slow in the cache that memory bandwidth does not limit it. No plan would
 * choose it, so its larger products are not measured. */
static bool is_hopeless(const tess_calibration *c, const tess_candidate *candidate)
{
    static const double times = 3;
    double best = 0, own = 0;
    if (candidate->bytes < TESS_CACHE_KEPT * c->model->cache_bytes)
        return false;
    for (int64_t i = 0; i < c->count; i++) {
        const tess_sample *s = &c->samples[i];
        double speed = s->bytes / s->seconds;
        best = tess_max(speed, best);
        if (strcmp(s->name, candidate->class_name) == 0 && speed > own)
            own = speed;
    }
    return own > 0 && times * own < best;
}

tess_status tess_calibration_classes(tess_calibration *c, const tess_matrix *A, bool shapes)
{
    tess_product product = {
        .kind = TESS_PRODUCT_SPMV, .effort = TESS_EFFORT_ESTIMATE, .shapes = shapes};
    const tess_backend *backend = c->device->backend;
    tess_candidates list = {0};
    double *x = NULL, *y = NULL; /* large enough for either precision */
    tess_model_problem problem = tess_model_problem_of(A);
    tess_status status;
    TESS_TRY_CLEAN(TESS_CALLOC(c->ctx, A->cols, &x));
    TESS_TRY_CLEAN(TESS_CALLOC(c->ctx, A->rows, &y));
    TESS_TRY_CLEAN(backend->candidates(c->device, A, &product, &list));
    TESS_TRY_CLEAN(backend->costs(c->device, A, &list));
    tess_random_vector(x, A->cols, c->type);
    tess_candidates_ahead(c->device, A, list.items, list.count);
    for (int64_t i = 0; i < list.count; i++) {
        const tess_candidate *candidate = &list.items[i];
        if (!*candidate->class_name || !is_wanted(c->classes, candidate->class_name) ||
            !tess_first_of_class(&list, i) || is_hopeless(c, candidate))
            continue;
        tess_sample sample = {.bytes = candidate->bytes,
                              .block_rows = problem.block_rows,
                              .length = problem.blocks / problem.block_rows,
                              .changes = problem.changes,
                              .alone = candidate->alone};
        memcpy(sample.name, candidate->class_name, sizeof sample.name);
        memcpy(sample.irregular_as, candidate->irregular_as, sizeof sample.irregular_as);
        if (tess_sample_spmv(c->device, A, candidate, x, y, &sample.seconds) == TESS_OK)
            TESS_TRY_CLEAN(tess_calibration_keep(c, &sample));
        else
            tess_log(c->ctx, "calibrate: %s left out: %s", candidate->kernel, c->ctx->error);
    }
cleanup:
    tess_candidates_free(c->ctx, &list);
    TESS_FREE(c->ctx, x, y);
    return status;
}

/* ---- Curves ---- */

static double next_size(double bytes, double cache)
{
    double next = bytes * growth_in_cache;
    if (bytes >= TESS_CACHE_KEPT * cache)
        return bytes * (bytes < TESS_CACHE_GONE * cache ? growth_between : growth);
    return next < TESS_CACHE_KEPT * cache ? next : 1.1 * TESS_CACHE_KEPT * cache;
}

/* Measures a matrix of about `bytes` bytes: a stencil of 7 or 27 points, or a band. */
static tess_status measure_shape(tess_calibration *c, int points, double bytes)
{
    int b = c->block;
    double scalar = (double)tess_type_size(c->type), block = 4 + scalar * b * b;
    tess_matrix *A;
    if (points == TESS_CALIBRATION_BAND) {
        int64_t rows = (int64_t)(bytes / (TESS_CALIBRATION_BAND * block));
        if (rows < 2 * TESS_CALIBRATION_BAND)
            return TESS_OK;
        static const tess_calibration_shape full = {.length = TESS_CALIBRATION_BAND, .share = 1};
        TESS_TRY(tess_calibration_band(c->ctx, c->type, b, rows, &full, &A));
    } else {
        int n = (int)(cbrt(bytes / (points * block + 4 + 2 * scalar * b)) + 0.5);
        TESS_TRY(tess_calibration_cube(c, points, b, tess_max(3, n), &A));
    }
    tess_status status = tess_calibration_classes(c, A, b == 1 && points != TESS_CALIBRATION_BAND);
    tess_matrix_destroy(A);
    return status;
}

/* Measures 3 x 3 blocks in a matrix of 1 x 1 blocks, for fbcsr. */
static tess_status measure_hidden(tess_calibration *c, int points, double bytes)
{
    enum { HIDDEN = 3 };
    double scalar = (double)tess_type_size(c->type);
    int n = (int)(cbrt(bytes / (points * HIDDEN * HIDDEN * (4 + scalar))) + 0.5);
    tess_matrix *A, *csr;
    if (c->block != 1 || n < 4)
        return TESS_OK;
    TESS_TRY(tess_calibration_cube(c, points, HIDDEN, n, &A));
    tess_status status = tess_matrix_to_csr(c->ctx, A, TESS_ZEROS_KEEP, &csr);
    tess_matrix_destroy(A);
    TESS_TRY(status);
    status = tess_calibration_classes(c, csr, true);
    tess_matrix_destroy(csr);
    return status;
}

/* Sizes in the cache and in memory are measured with all shapes. On a host, each size between cache
 * and memory is measured with one shape, in turn. */
static tess_status measure_curves(tess_calibration *c, int b)
{
    static const int shapes[] = {7, 27, TESS_CALIBRATION_BAND};
    double cache = c->model->cache_bytes;
    int turn = 0;
    c->count = 0;
    c->block = b;
    for (double bytes = first_bytes; bytes <= c->most * 1.001; bytes = next_size(bytes, cache)) {
        TESS_TRY(tess_progress(c->ctx, "calibrating", log(bytes / first_bytes),
                               log(c->most / first_bytes)));
        if (bytes < TESS_CACHE_KEPT * cache || bytes > TESS_CACHE_GONE * cache ||
            c->device->backend->asynchronous) /* a GPU measures fast */
            for (int i = 0; i < 3; i++)
                TESS_TRY(measure_shape(c, shapes[i], bytes));
        else
            TESS_TRY(measure_shape(c, shapes[turn++ % 3], bytes));
        TESS_TRY(measure_hidden(c, 27, bytes));
        TESS_TRY(measure_hidden(c, 7, bytes));
    }
    c->regular = c->count;
    return tess_calibration_fit(c, 1);
}

/* ---- All parts ---- */

static tess_status calibrate(tess_calibration *c, int32_t block)
{
    if (block == 0)
        return tess_calibration_vectors(c);
    TESS_TRY(measure_curves(c, block));
    return tess_calibration_measure_extras(c, block);
}

tess_status tess_model_calibrate(tess_device *device, tess_type type, int32_t block, double most,
                                 const char *classes, tess_model **out)
{
    tess_calibration c = {
        .ctx = device->ctx, .device = device, .type = type, .most = most, .classes = classes};
    if (!device->backend->candidates || !device->backend->costs)
        return tess_fail(
            device->ctx, TESS_ERR_UNSUPPORTED,
            "device '%s' cannot be calibrated, as it has no list of kernels: choose 'cpu' or "
            "'cuda'",
            device->backend->name);
    TESS_TRY(tess_calibration_check_classes(&c));
    if (!(most > 0)) {
        c.most = TESS_CACHE_MOST * device->cache_bytes;
        /* With a last-level cache of hundreds of megabytes, two sizes still come from memory. */
        double enough = fmax(1e9, growth_between * growth * TESS_CACHE_GONE * device->cache_bytes);
        c.most = fmin(fmax(c.most, 64e6), enough);
    }
    TESS_TRY(tess_model_create(device->ctx, device->model, &c.model));
    c.model->cache_bytes = device->cache_bytes;
    c.model->memory_speed = device->memory_speed;
    c.model->gpu_threads = device->gpu_threads;
    c.model->partial = classes != NULL;
    tess_status status = calibrate(&c, block);
    tess_free(c.ctx, c.samples);
    return TESS_DELIVER(status, c.model, tess_model_destroy, out);
}
