/* Measures, on irregular matrices, the times that curves do not explain:
 *
 *   change, alone    random rows with an x in the nearest cache; bands whose rows end anywhere
 *   far              random columns of an x of growing size
 *   uneven           bands with gaps, in a GPU's cache
 *   longest, cut     one row as long as thousands of others
 */
#include "calibrate/samples.h"

/* The growth of x with scattered columns. */
static const double growth_scattered = 4;

/* Measures every class on an irregular matrix. */
static tess_status measure_irregular(tess_calibration *c, const tess_matrix *A, tess_irregular *out)
{
    out->problem = tess_model_problem_of(A);
    out->first = c->count;
    tess_status status = tess_calibration_classes(c, A, false);
    out->last = c->count;
    return status;
}

/* Drops the samples of irregular matrices. */
static void forget_irregular(tess_calibration *c)
{
    c->count = c->regular;
}

/* Measures a band whose rows have equal lengths, or with `ragged` the same mean length. It is
 * measured several times, because the small difference between the two bands is wanted. */
static tess_status measure_band(tess_calibration *c, int b, bool ragged, tess_irregular *out)
{
    enum { LENGTH = 41, TIMES = 5 };
    const tess_calibration_shape shape = {
        .length = ragged ? 2 * LENGTH : LENGTH, .share = 1, .ragged = ragged};
    double block = 4 + (double)tess_type_size(c->type) * b * b;
    int64_t rows = (int64_t)(TESS_CACHE_KEPT * c->model->cache_bytes / (LENGTH * block));
    tess_matrix *A;
    *out = (tess_irregular){.first = c->count, .last = c->count};
    if (c->device->backend->asynchronous || rows < 4 * LENGTH) /* a GPU has no such streams */
        return TESS_OK;
    TESS_TRY(tess_calibration_band(c->ctx, c->type, b, rows, &shape, &A));
    out->problem = tess_model_problem_of(A);
    tess_status status = TESS_OK;
    for (int i = 0; i < TIMES && status == TESS_OK; i++)
        status = tess_calibration_classes(c, A, false);
    out->last = c->count;
    tess_matrix_destroy(A);
    return status;
}

/* Measures random columns and row lengths. The matrix comes from memory; x comes from the cache
 * that it fits. The smallest x fits the nearest cache, so that only the row lengths cost time. */
static tess_status measure_scattered(tess_calibration *c, int b)
{
    enum { ROW = 6 };
    double scalar = (double)tess_type_size(c->type), block = 4 + scalar * b * b, smallest = 1 << 17;
    double gone = 1.1 * TESS_CACHE_GONE * c->model->cache_bytes, bytes = c->most / 2;
    tess_irregular random, even, uneven;
    bytes = tess_max(bytes, tess_min(gone, c->most));
    for (double x = smallest; x <= bytes; x *= growth_scattered) {
        char spec[128];
        tess_matrix *A;
        snprintf(spec, sizeof spec, "random:rows=%.0f,cols=%.0f,avg=%d,r=%d,c=%d,type=%s",
                 floor(bytes / (ROW * block)), ceil(x / scalar / b), ROW, b, b,
                 tess_type_name(c->type));
        TESS_TRY(tess_matrix_generate(c->ctx, spec, &A, NULL));
        tess_model_problem problem = tess_model_problem_of(A);
        tess_status status = TESS_OK;
        bool far = problem.far > 0.3 * problem.blocks;
        forget_irregular(c);
        if (x == smallest || far)
            status = measure_irregular(c, A, &random);
        tess_matrix_destroy(A);
        TESS_TRY(status);
        if (x == smallest) {
            TESS_TRY(measure_band(c, b, false, &even));
            TESS_TRY(measure_band(c, b, true, &uneven));
            TESS_TRY(tess_calibration_irregular(c, &random, &even, &uneven));
        } else if (far) {
            TESS_TRY(tess_calibration_extras(c, &random, TESS_EXTRA_FAR, problem.far, 1));
        }
    }
    return TESS_OK;
}

/* Measures a band with gaps, in a GPU's cache, where threads of shorter rows wait for others. A
 * launch that reads from memory has enough other threads to hide the wait. */
static tess_status measure_uneven(tess_calibration *c, int b)
{
    const double share = 0.75;
    double scalar = (double)tess_type_size(c->type),
           row = share * TESS_CALIBRATION_BAND * (4 + scalar * b * b);
    int64_t rows = (int64_t)(0.4 * TESS_CACHE_KEPT * c->model->cache_bytes / row);
    tess_matrix *A;
    if (!c->device->backend->asynchronous || rows < 4 * TESS_CALIBRATION_BAND)
        return TESS_OK;
    const tess_calibration_shape gaps = {.length = TESS_CALIBRATION_BAND, .share = share};
    TESS_TRY(tess_calibration_band(c->ctx, c->type, b, rows, &gaps, &A));
    tess_irregular uneven;
    forget_irregular(c);
    tess_status status = measure_irregular(c, A, &uneven);
    TESS_THEN(tess_calibration_extras(c, &uneven, TESS_EXTRA_UNEVEN, 1, 1));
    tess_matrix_destroy(A);
    return status;
}

/* Measures a matrix with one row as long as thousands of others: it has this share of the
 * columns. */
static tess_status measure_long_row(tess_calibration *c, int b, double share)
{
    char spec[128];
    int64_t rows = 200000 / (b * b) + 2000;
    tess_matrix *A;
    snprintf(spec, sizeof spec, "powerlaw:rows=%lld,avg=6,b=%d,long=1,length=%.0f,type=%s",
             (long long)rows, b, share * (double)rows, tess_type_name(c->type));
    TESS_TRY(tess_matrix_generate(c->ctx, spec, &A, NULL));
    tess_irregular one;
    forget_irregular(c);
    tess_status status = measure_irregular(c, A, &one);
    TESS_THEN(
        tess_calibration_extras(c, &one, TESS_EXTRA_LONGEST, tess_model_longer(&one.problem), 3));
    tess_matrix_destroy(A);
    return status;
}

static tess_model_extra *find_cut(const tess_model *model, const char *name, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (model->extras[i].kind == TESS_EXTRA_CUT && strcmp(model->extras[i].name, name) == 0)
            return &model->extras[i];
    return NULL;
}

/* The error of a class's curve, in seconds at its last sample. */
static double doubt_of(const tess_calibration *c, const char *name)
{
    double seconds = 0, error = 0;
    for (int64_t i = c->regular; i < c->count; i++)
        if (strcmp(c->samples[i].name, name) == 0)
            seconds = c->samples[i].seconds;
    for (int64_t i = 0; i < c->model->curve_count; i++)
        if (c->model->curves[i].cached && strcmp(c->model->curves[i].name, name) == 0)
            error = c->model->curves[i].error;
    return error * seconds;
}

/* A class that cuts long rows pays for one more launch, and for the row's length, because few
 * threads add the partial sums of a row. Rows of two lengths separate the two costs, if their times
 * differ by more than the curves' errors. */
static tess_status measure_long_rows(tess_calibration *c, int b)
{
    const double share = 0.5, less = 0.05, columns = 200000.0 / (b * b) + 2000;
    TESS_TRY(measure_long_row(c, b, share));
    const int64_t before = c->model->extra_count;
    if (!c->device->backend->asynchronous)
        return TESS_OK;
    TESS_TRY(measure_long_row(c, b, less));
    const int64_t after = c->model->extra_count;
    /* The extras of the second row are replaced by those computed from both. */
    c->model->extra_count = before;
    for (int64_t i = before; i < after; i++) {
        tess_model_extra second = c->model->extras[i];
        tess_model_extra *cut = find_cut(c->model, second.name, before);
        if (!cut || second.kind != TESS_EXTRA_CUT)
            continue;
        double more = cut->seconds - second.seconds, slope = more / ((share - less) * columns);
        if (more < 2 * doubt_of(c, second.name)) {
            cut->seconds = (cut->seconds + second.seconds) / 2;
            continue;
        }
        cut->seconds = second.seconds - slope * less * columns;
        cut->seconds = tess_max(cut->seconds, 0);
        second.kind = TESS_EXTRA_LONGEST;
        second.seconds = slope;
        TESS_TRY(tess_model_add_extra(c->model, &second));
    }
    return TESS_OK;
}

tess_status tess_calibration_measure_extras(tess_calibration *c, int b)
{
    TESS_TRY(measure_scattered(c, b));
    TESS_TRY(measure_uneven(c, b));
    return measure_long_rows(c, b);
}
