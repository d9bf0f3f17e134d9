/* Complete factors: the arrays that both libraries take, and which library takes a matrix. */
#include "solve/direct/direct.h"

#include <inttypes.h>

#include "core/watch.h"

struct tess_direct {
    tess_ctx *ctx;
    const tess_direct_library *library;
    tess_direct_arrays arrays;
    tess_direct_limits limits;
    void *state; /* NULL: there are no factors */
};

tess_status tess_direct_check(tess_ctx *ctx, const char *title, const tess_direct_limits *limits,
                              double entries, double operations, double rate)
{
    const double bytes = 16 * entries, seconds = operations / rate;
    if (limits->bytes > 0 && bytes > limits->bytes)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "%s's factors would take %.3g GB, and %.3g are allowed", title,
                         1e-9 * bytes, 1e-9 * limits->bytes);
    if (limits->seconds > 0 && seconds > limits->seconds)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "%s's factors would take %.3g s, and %.3g are left", title, seconds,
                         limits->seconds);
    return TESS_OK;
}

static const tess_direct_library *library_for(bool positive)
{
    return positive ? &tess_direct_cholmod : &tess_direct_klu;
}

tess_status tess_direct_available(tess_ctx *ctx, bool positive)
{
    return tess_library_find(ctx, library_for(positive)->file, NULL);
}

/* ---- The matrix ---- */

static void free_arrays(tess_ctx *ctx, tess_direct_arrays *a)
{
    TESS_FREE(ctx, a->offsets, a->indices, a->values);
    *a = (tess_direct_arrays){0};
}

static tess_status make_arrays(tess_ctx *ctx, const tess_matrix *A, tess_direct_arrays *out)
{
    tess_matrix *rows;
    tess_direct_arrays a = {.n = A->rows};
    tess_status status;
    TESS_TRY(tess_matrix_to_csr(ctx, A, TESS_ZEROS_DROP, &rows));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, rows->rows + 1, &a.offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, rows->blocks, &a.indices));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, rows->blocks, &a.values));
    memcpy(a.offsets, rows->row_offsets, (size_t)(rows->rows + 1) * sizeof *a.offsets);
    for (int64_t k = 0; k < rows->blocks; k++) {
        a.indices[k] = rows->columns[k];
        a.values[k] = tess_matrix_value(rows, k);
    }
    *out = a;
    a = (tess_direct_arrays){0};
cleanup:
    free_arrays(ctx, &a);
    tess_matrix_destroy(rows);
    return status;
}

/* ---- The factors ---- */

static void drop_factors(tess_direct *direct)
{
    direct->library->release(direct->state);
    direct->state = NULL;
}

static void run(void *arg)
{
    tess_direct *direct = arg;
    direct->library->factor(&direct->arrays, direct->state);
}

static tess_status look(void *arg)
{
    const tess_direct *direct = arg;
    const double most = direct->limits.bytes;
    TESS_TRY(tess_progress(direct->ctx, "factoring", 0, 0));
    if (most > 0 && direct->library->bytes(direct->state) > most)
        return tess_fail(direct->ctx, TESS_ERR_UNSUPPORTED,
                         "%s's factors take more than the %.3g GB that are allowed",
                         direct->library->file->title, 1e-9 * most);
    return TESS_OK;
}

static void stop(void *arg)
{
    tess_direct *direct = arg;
    direct->library->stop(&direct->arrays, direct->state);
}

static const tess_watched factoring = {run, look, stop};

/* Factors the arrays in the order that the analysis found. */
static tess_status factor(tess_direct *direct)
{
    tess_status status = tess_watch(&factoring, direct);
    if (status == TESS_OK)
        status = direct->library->outcome(direct->ctx, direct->state);
    if (status != TESS_OK)
        drop_factors(direct);
    return status;
}

tess_status tess_direct_create(tess_ctx *ctx, const tess_matrix *A, bool positive,
                               const tess_direct_limits *limits, tess_direct **out)
{
    tess_direct *direct;
    tess_status status;
    if (A->rows != A->cols)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "only square matrices have complete factors, not %" PRId64 " x %" PRId64,
                         A->rows, A->cols);
    TESS_TRY(tess_direct_available(ctx, positive));
    TESS_TRY(TESS_CALLOC(ctx, 1, &direct));
    direct->ctx = ctx;
    direct->library = library_for(positive);
    TESS_TRY_CLEAN(make_arrays(ctx, A, &direct->arrays));
    direct->limits = *limits;
    TESS_TRY_CLEAN(direct->library->analyze(ctx, &direct->arrays, limits, &direct->state));
    TESS_TRY_CLEAN(factor(direct));
    *out = direct;
    return TESS_OK;
cleanup:
    tess_direct_destroy(direct);
    return status;
}

static bool same_pattern(const tess_direct_arrays *a, const tess_direct_arrays *b)
{
    return a->n == b->n &&
           memcmp(a->offsets, b->offsets, (size_t)(a->n + 1) * sizeof *a->offsets) == 0 &&
           memcmp(a->indices, b->indices, (size_t)a->offsets[a->n] * sizeof *a->indices) == 0;
}

tess_status tess_direct_update(tess_direct *direct, const tess_matrix *A)
{
    tess_ctx *ctx = direct->ctx;
    tess_direct_arrays fresh;
    TESS_TRY(make_arrays(ctx, A, &fresh));
    const bool unchanged =
        same_pattern(&direct->arrays, &fresh); /* zeros that come and go change it */
    free_arrays(ctx, &direct->arrays);
    direct->arrays = fresh;
    if (!unchanged || !direct->state) {
        drop_factors(direct);
        direct->limits = (tess_direct_limits){0};
        TESS_TRY(direct->library->analyze(ctx, &fresh, &direct->limits, &direct->state));
    }
    return factor(direct);
}

void tess_direct_destroy(tess_direct *direct)
{
    if (!direct)
        return;
    drop_factors(direct);
    free_arrays(direct->ctx, &direct->arrays);
    tess_free(direct->ctx, direct);
}

tess_status tess_direct_solve(tess_direct *direct, bool transpose, const double *r, double *z)
{
    if (!direct->state)
        return tess_fail(direct->ctx, TESS_ERR_ARGUMENT, "there are no factors");
    if (z != r)
        memcpy(z, r, (size_t)direct->arrays.n * sizeof *z);
    return direct->library->solve(direct->ctx, direct->state, direct->arrays.n, transpose, z);
}

int64_t tess_direct_rows(const tess_direct *direct)
{
    return direct->arrays.n;
}

double tess_direct_bytes(const tess_direct *direct)
{
    return direct->state ? direct->library->bytes(direct->state) : 0;
}

const char *tess_direct_library_name(const tess_direct *direct)
{
    return direct->library->file->title;
}
