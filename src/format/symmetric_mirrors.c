/* Checks whether a matrix is symmetric, and finds the mirrors of its blocks; symmetric.h has the
 * picture. */
#include "core/paste.h"
#include "format/symmetric.h"

/* ---- One by one ---- */

/* Zeros of both signs are equal, and so are any two NaN: products do not distinguish them. */
static bool equal_scalars(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* The first scalar of block k that differs from its mirror, -1 if there is none. */
static int64_t first_difference(const tess_matrix *A, int64_t k, int64_t mirror)
{
    const int32_t b = A->block_height;
    int64_t at = k * b * b, other = mirror * b * b;
    for (int32_t q = 0; q < b; q++)
        for (int32_t p = 0; p < b; p++)
            if (!equal_scalars(tess_matrix_value(A, at + q * b + p),
                               tess_matrix_value(A, other + p * b + q)))
                return q * b + p;
    return -1;
}

/* Whether block k of row i has a mirror with equal values. The values of a pair are compared once,
 * for the block above the diagonal; for the block below only the existence of its mirror is
 * checked. */
static bool mirrored(const tess_matrix *A, int64_t i, int64_t k)
{
    int64_t mirror = tess_matrix_find(A, A->columns[k], i);
    return mirror >= 0 && (A->columns[k] < i || first_difference(A, k, mirror) < 0);
}

static tess_status name_difference(tess_ctx *ctx, const tess_matrix *A, int64_t k)
{
    int64_t i = 0, b = A->block_height, j = A->columns[k];
    while (A->row_offsets[i + 1] <= k)
        i++;
    int64_t mirror = tess_matrix_find(A, j, i);
    if (mirror < 0)
        return tess_fail(ctx, TESS_ERR_MATRIX,
                         "symmetric: block (%lld, %lld) is stored, but block (%lld, %lld) is not",
                         (long long)i, (long long)j, (long long)j, (long long)i);
    int64_t at = first_difference(A, k, mirror);
    int64_t row = i * b + at % b, col = j * b + at / b;
    return tess_fail(ctx, TESS_ERR_MATRIX,
                     "symmetric: a(%lld, %lld) = %.17g, but a(%lld, %lld) = %.17g", (long long)row,
                     (long long)col, tess_matrix_value(A, k * b * b + at), (long long)col,
                     (long long)row, tess_matrix_value(A, mirror * b * b + at % b * b + at / b));
}

/* ---- All at once ---- */

#define REAL double
#define SUFFIX f64
#include "format/symmetric_mirrors.inc.c"
#undef REAL
#undef SUFFIX
#define REAL float
#define SUFFIX f32
#include "format/symmetric_mirrors.inc.c"
#undef REAL
#undef SUFFIX

static inline bool is_equal(const tess_matrix *A, int64_t k, int64_t mirror, const int b)
{
    const int64_t size = (int64_t)b * b;
    if (A->type == TESS_F64) {
        const double *values = A->values;
        return equal_f64(values + k * size, values + mirror * size, b);
    }
    const float *values = A->values;
    return equal_f32(values + k * size, values + mirror * size, b);
}

static inline bool is_mirror(const tess_matrix *A, int64_t k, int64_t mirror, const int b)
{
    return is_equal(A, k, mirror, b) || first_difference(A, k, mirror) < 0;
}

/* The number of block (row, col), which is expected after the blocks already seen of the row; -1
 * when there is none. */
static inline int64_t expected(const tess_matrix *A, int64_t row, int64_t col, const int32_t *seen)
{
    const int64_t at = A->row_offsets[row] + seen[row];
    return at < A->row_offsets[row + 1] && A->columns[at] == col ? at
                                                                 : tess_matrix_find(A, row, col);
}

/* Compares the blocks of a row above the diagonal with their mirrors. Rows are visited in order, so
 * the mirrors in a row j below are met in order too: seen[j] counts them. The places of the mirrors
 * are written to `mirrors` unless it is NULL. Returns the number of blocks compared, including
 * mirrors and the diagonal block, or -1 if one differs. */
static inline int64_t compare_row(const tess_matrix *A, int64_t i, int32_t *seen,
                                  const tess_symmetric_mirrors *mirrors, const int b)
{
    const int64_t diagonal = expected(A, i, i, seen), end = A->row_offsets[i + 1];
    int64_t k = diagonal >= 0 ? diagonal + 1 : tess_matrix_lower_bound(A, i, i);
    int64_t counted = 2 * (end - k) + (diagonal >= 0);
    bool equal = diagonal < 0 || is_mirror(A, diagonal, diagonal, b);
    for (; k < end && equal; k++) {
        const int64_t j = A->columns[k], at = expected(A, j, i, seen);
        if (at < 0)
            return -1;
        equal = is_mirror(A, k, at, b);
        seen[j] = (int32_t)(at + 1 - A->row_offsets[j]);
        if (mirrors && mirrors->places)
            mirrors->places[at - mirrors->offsets[j]] = (uint32_t)k;
    }
    return equal ? counted : -1;
}

static int64_t compare_rows(const tess_matrix *A, tess_range rows, int32_t *seen,
                            const tess_symmetric_mirrors *mirrors)
{
    int64_t counted = 0, row = 0;
    const int b = A->block_height;
    for (int64_t i = rows.first; i < rows.last && row >= 0; i++) {
        row = b == 1   ? compare_row(A, i, seen, mirrors, 1)
              : b == 2 ? compare_row(A, i, seen, mirrors, 2)
              : b == 3 ? compare_row(A, i, seen, mirrors, 3)
              : b == 4 ? compare_row(A, i, seen, mirrors, 4)
              : b == 8 ? compare_row(A, i, seen, mirrors, 8)
                       : compare_row(A, i, seen, mirrors, b);
        counted += row;
    }
    return row < 0 ? -1 : counted;
}

struct compare_share {
    const tess_matrix *A;
    int32_t *seen;
    const tess_symmetric_mirrors *mirrors;
    bool *equal;
    int64_t *counted;
};

static void compare_share(void *arg, tess_range rows)
{
    const struct compare_share *job = arg;
    const int64_t counted =
        compare_rows(job->A, rows, job->seen + rows.share * job->A->block_rows, job->mirrors);
    if (counted < 0)
        tess_set_flag(job->equal, false);
    tess_take(job->counted, counted);
}

/* Sets *mirrored: whether every block above the diagonal has an equal mirror and every block below
 * is such a mirror. */
static tess_status compare(const tess_matrix *A, const tess_symmetric_mirrors *mirrors,
                           bool *mirrored)
{
    const int parts = A->ctx->threads;
    int64_t counted = 0;
    bool equal = true;
    int32_t *seen;
    TESS_TRY(TESS_CALLOC(A->ctx, A->block_rows * parts + 1, &seen));
    tess_for_shares(A->ctx, parts, A->block_rows, compare_share,
                    &(struct compare_share){A, seen, mirrors, &equal, &counted});
    tess_free(A->ctx, seen);
    *mirrored = equal && counted == A->blocks;
    return TESS_OK;
}

static int64_t find_fault(const void *matrix, tess_range range)
{
    const tess_matrix *A = matrix;
    for (int64_t i = range.first; i < range.last; i++)
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++)
            if (!mirrored(A, i, k))
                return k;
    return INT64_MAX;
}

/* The first block without an equal mirror, INT64_MAX if there is none. */
static int64_t first_fault(const tess_matrix *A)
{
    bool equal;
    if (compare(A, NULL, &equal) == TESS_OK && equal)
        return INT64_MAX;
    return tess_reduce(A->ctx, A->block_rows, TESS_LEAST, find_fault, A);
}

static bool is_square(const tess_matrix *A)
{
    return A->rows == A->cols && A->block_height == A->block_width;
}

bool tess_symmetric_holds(const tess_matrix *A)
{
    return is_square(A) && first_fault(A) == INT64_MAX;
}

static tess_status check_square(tess_ctx *ctx, const tess_matrix *A)
{
    if (is_square(A))
        return TESS_OK;
    return tess_fail(ctx, TESS_ERR_MATRIX,
                     "symmetric: a %lld x %lld matrix of %d x %d blocks: both must be square",
                     (long long)A->rows, (long long)A->cols, (int)A->block_height,
                     (int)A->block_width);
}

tess_status tess_symmetric_check(tess_ctx *ctx, const tess_matrix *A)
{
    TESS_TRY(check_square(ctx, A));
    int64_t first = first_fault(A);
    return first == INT64_MAX ? TESS_OK : name_difference(ctx, A, first);
}

/* ---- Mirrors ---- */

enum { AHEAD = 40 /* padding of `places`: loops that prefetch mirrors read this far beyond */ };

tess_status tess_symmetric_offsets(tess_ctx *ctx, const tess_matrix *A, int64_t **offsets)
{
    TESS_TRY(TESS_ALLOC(ctx, A->block_rows + 1, offsets));
    (*offsets)[0] = 0;
    for (int64_t i = 0; i < A->block_rows; i++)
        (*offsets)[i + 1] =
            (*offsets)[i] + A->row_offsets[i + 1] - tess_matrix_lower_bound(A, i, i);
    return TESS_OK;
}

struct upper {
    const tess_matrix *A;
    const int64_t *offsets;
};

/* The first row without a block on the diagonal; INT64_MAX: all have one. */
static int64_t find_gap(const void *from, tess_range range)
{
    const struct upper *U = from;
    for (int64_t i = range.first; i < range.last; i++) {
        const int64_t count = U->offsets[i + 1] - U->offsets[i];
        if (count == 0 || U->A->columns[U->A->row_offsets[i + 1] - count] != i)
            return i;
    }
    return INT64_MAX;
}

static bool has_diagonal(const tess_matrix *A, const int64_t *offsets)
{
    return tess_reduce(A->ctx, A->block_rows, TESS_LEAST, find_gap, &(struct upper){A, offsets}) ==
           INT64_MAX;
}

tess_status tess_symmetric_mirrors_create(tess_ctx *ctx, const tess_matrix *A,
                                          tess_symmetric_mirrors **out)
{
    tess_symmetric_mirrors *M;
    bool equal = false;
    tess_status status;
    TESS_TRY(check_square(ctx, A));
    TESS_TRY(TESS_CALLOC(ctx, 1, &M));
    M->ctx = ctx;
    TESS_TRY_CLEAN(tess_symmetric_offsets(ctx, A, &M->offsets));
    if (A->blocks <= UINT32_MAX)
        TESS_TRY_CLEAN(TESS_CALLOC(ctx, A->blocks - M->offsets[A->block_rows] + AHEAD, &M->places));
    M->diagonal = has_diagonal(A, M->offsets);
    TESS_TRY_CLEAN(compare(A, M, &equal));
    if (!equal)
        TESS_TRY_CLEAN(tess_symmetric_check(ctx, A));
cleanup:
    return TESS_DELIVER(status, M, tess_symmetric_mirrors_destroy, out);
}

void tess_symmetric_mirrors_destroy(tess_symmetric_mirrors *M)
{
    if (M)
        TESS_FREE(M->ctx, M->offsets, M->places, M);
}

bool tess_symmetric_mirrors_equal(const tess_matrix *A, const tess_symmetric_mirrors *M,
                                  int64_t first, int64_t last)
{
    for (int64_t i = first; i < last; i++) {
        const int64_t begin = A->row_offsets[i], place = begin - M->offsets[i];
        for (int64_t k = begin; k < A->row_offsets[i + 1] && A->columns[k] <= i; k++) {
            const int64_t mirror = A->columns[k] == i ? k
                                   : M->places        ? M->places[place + k - begin]
                                                      : tess_matrix_find(A, A->columns[k], i);
            if (first_difference(A, k, mirror) >= 0)
                return false;
        }
    }
    return true;
}
