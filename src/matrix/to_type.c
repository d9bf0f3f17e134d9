/* The same matrix in the other precision. A finite f64 beyond f32's range is refused, never turned
 * into an infinity; infinities and NaN that are there stay, and small numbers round towards 0. */
#include <inttypes.h>

#include "matrix/matrix.h"

struct narrow_range {
    const double *from;
    float *to;
    int64_t *bad;
};

static void narrow_range(void *arg, tess_range range)
{
    const struct narrow_range *job = arg;
    const double *from = job->from;
    float *to = job->to;
    int64_t bad = INT64_MAX;
    for (int64_t i = range.first; i < range.last; i++) {
        to[i] = (float)from[i];
        if (isinf(to[i]) && !isinf(from[i]) && i < bad)
            bad = i;
    }
    tess_lower(job->bad, bad);
}

int64_t tess_narrow(tess_ctx *ctx, const double *from, float *to, int64_t count)
{
    int64_t bad = INT64_MAX;
    tess_for(ctx, count, narrow_range, &(struct narrow_range){from, to, &bad});
    return bad == INT64_MAX ? -1 : bad;
}

struct widen_range {
    const float *from;
    double *to;
};

static void widen_range(void *arg, tess_range range)
{
    const struct widen_range *job = arg;
    for (int64_t i = range.first; i < range.last; i++)
        job->to[i] = job->from[i];
}

static void widen(tess_ctx *ctx, const float *from, double *to, int64_t count)
{
    tess_for(ctx, count, widen_range, &(struct widen_range){from, to});
}

tess_status tess_matrix_to_type(tess_ctx *ctx, const tess_matrix *A, tess_type type,
                                tess_matrix **out)
{
    if (!ctx || !A || !out)
        return tess_null_argument(ctx, __func__);
    tess_matrix *B;
    TESS_TRY(tess_matrix_allocate(ctx, type, A->rows, A->cols, A->block_height, A->block_width,
                                  A->blocks, &B));
    memcpy(B->row_offsets, A->row_offsets, (size_t)(A->block_rows + 1) * sizeof *A->row_offsets);
    if (A->blocks > 0)
        memcpy(B->columns, A->columns, (size_t)A->blocks * sizeof *A->columns);
    int64_t stored = tess_matrix_stored(A), bad = -1;
    if (type == A->type && stored > 0)
        memcpy(B->values, A->values, (size_t)stored * tess_type_size(type));
    else if (type == TESS_F32)
        bad = tess_narrow(ctx, A->values, B->values, stored);
    else
        widen(ctx, A->values, B->values, stored);
    if (bad >= 0) {
        tess_matrix_destroy(B);
        return tess_fail(ctx, TESS_ERR_OVERFLOW,
                         "value %" PRId64 ", %g, is outside the range of f32", bad,
                         tess_matrix_value(A, bad));
    }
    *out = B;
    return TESS_OK;
}
