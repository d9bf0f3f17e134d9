/* The same matrix in another type. A finite f64 beyond f32's range is refused, never turned into an
 * infinity. Infinities and NaN of the matrix stay, and numbers too small for f32 round towards 0.
 * An imaginary part is dropped only where the caller asks for it. */
#include "matrix/matrix.h"

struct narrow_range {
    const double *from;
    float *to;
};

static int64_t narrow_range(const void *arg, tess_range range)
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
    return bad;
}

int64_t tess_narrow(tess_ctx *ctx, const double *from, float *to, int64_t count)
{
    const int64_t bad =
        tess_reduce(ctx, count, TESS_LEAST, narrow_range, &(struct narrow_range){from, to});
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

struct between_kinds {
    const tess_matrix *A;
    tess_matrix *B;
    bool drop;         /* imaginary parts may be lost */
    int64_t bad, lost; /* the first value out of range; the first with an imaginary part */
};

static void between_kinds(void *arg, tess_range range)
{
    struct between_kinds *job = arg;
    const tess_matrix *B = job->B;
    const bool real = !tess_is_complex(B->type);
    int64_t bad = INT64_MAX, lost = INT64_MAX;
    for (int64_t i = range.first; i < range.last; i++) {
        const tess_complex from = tess_matrix_complex_value(job->A, i);
        tess_put_complex(B->values, B->type, i, from);
        const tess_complex to = tess_matrix_complex_value(B, i);
        if (bad > i && isinf(to.re) && !isinf(from.re))
            bad = i;
        if (lost > i && real && !(from.im == 0) && !job->drop)
            lost = i;
    }
    tess_lower(&job->bad, bad);
    tess_lower(&job->lost, lost);
}

/* Converts real to complex or complex to real. */
static tess_status change_kind(tess_ctx *ctx, const tess_matrix *A, tess_matrix *B, bool drop,
                               int64_t *bad)
{
    struct between_kinds job = {A, B, drop, INT64_MAX, INT64_MAX};
    tess_for(ctx, tess_matrix_stored(A), between_kinds, &job);
    if (job.lost < INT64_MAX) {
        const tess_complex value = tess_matrix_complex_value(A, job.lost);
        return tess_fail(ctx, TESS_ERR_MATRIX,
                         "value %" PRId64 ", %g%+gi, is not real, as %s needs it: make it so by "
                         "tess_matrix_real_part, which drops imaginary parts",
                         job.lost, value.re, value.im, tess_type_name(B->type));
    }
    *bad = job.bad == INT64_MAX ? -1 : job.bad;
    return TESS_OK;
}

static tess_status convert(tess_ctx *ctx, const tess_matrix *A, tess_type type, bool drop,
                           tess_matrix **out)
{
    const bool complex = tess_is_complex(A->type);
    const int64_t parts = tess_matrix_stored(A) * (complex ? 2 : 1);
    int64_t bad = -1;
    tess_matrix *B;
    TESS_TRY(tess_matrix_same_pattern(ctx, A, type, &B));
    tess_status status = TESS_OK;
    if (type == A->type && parts > 0)
        memcpy(B->values, A->values, (size_t)tess_matrix_stored(A) * tess_type_size(type));
    else if (tess_is_complex(type) != complex)
        status = change_kind(ctx, A, B, drop, &bad);
    else if (tess_real_type(type) == TESS_F32)
        bad = tess_narrow(ctx, A->values, B->values, parts);
    else
        tess_for(ctx, parts, widen_range, &(struct widen_range){A->values, B->values});
    if (bad >= 0)
        status =
            tess_fail(ctx, TESS_ERR_OVERFLOW, "value %" PRId64 ", %g, is outside the range of f32",
                      tess_is_complex(type) && complex ? bad / 2 : bad,
                      tess_is_complex(type) && complex ? tess_get(A->values, TESS_F64, bad)
                                                       : tess_matrix_complex_value(A, bad).re);
    return TESS_DELIVER(status, B, tess_matrix_destroy, out);
}

tess_status tess_matrix_to_type(tess_ctx *ctx, const tess_matrix *A, tess_type type,
                                tess_matrix **out)
{
    TESS_NEED(ctx, ctx && A && out);
    return convert(ctx, A, type, false, out);
}

tess_status tess_matrix_real_part(tess_ctx *ctx, const tess_matrix *A, tess_matrix **out)
{
    TESS_NEED(ctx, ctx && A && out);
    return convert(ctx, A, tess_real_type(A->type), true, out);
}
