/* BSR to symmetric storage and back; symmetric.h has the picture. */
#include "format/symmetric.h"

#include <string.h>

/* The first scalar of block k, block (i, j), that differs from its mirror, -1 if none does. */
static int64_t first_difference(const tess_matrix *A, int64_t k, int64_t mirror)
{
    const int32_t b = A->block_height;
    int64_t at = k * b * b, other = mirror * b * b;
    for (int32_t q = 0; q < b; q++)
        for (int32_t p = 0; p < b; p++)
            if (!(tess_matrix_value(A, at + q * b + p) == tess_matrix_value(A, other + p * b + q)))
                return q * b + p;
    return -1;
}

/* Whether block k of row i has a mirror with the same numbers. Each pair is compared once, from
 * above; a block below only has to have a mirror. */
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

/* Whether a block is the transpose of another one. */
#define SAME_BLOCK(name, real)                                                  \
    static inline bool name(const real *block, const real *mirror, const int b) \
    {                                                                           \
        bool same = true;                                                       \
        for (int q = 0; q < b; q++)                                             \
            for (int p = 0; p < b; p++)                                         \
                same &= block[q * b + p] == mirror[p * b + q];                  \
        return same;                                                            \
    }
SAME_BLOCK(same_f64, double)
SAME_BLOCK(same_f32, float)

static inline bool is_same(const tess_matrix *A, int64_t k, int64_t mirror, const int b)
{
    const int64_t size = (int64_t)b * b;
    if (A->type == TESS_F64) {
        const double *values = A->values;
        return same_f64(values + k * size, values + mirror * size, b);
    }
    const float *values = A->values;
    return same_f32(values + k * size, values + mirror * size, b);
}

/* Block (row, col), expected after those that were seen of the row; -1 when there is none. */
static inline int64_t expected(const tess_matrix *A, int64_t row, int64_t col, const int32_t *seen)
{
    const int64_t at = A->row_offsets[row] + seen[row];
    return at < A->row_offsets[row + 1] && A->columns[at] == col ? at
                                                                 : tess_matrix_find(A, row, col);
}

/* Compares the blocks of a row above the diagonal with their mirrors. Rows come in order, so that
 * the mirrors in a row below are met in order too: seen[j] of its blocks have been. The blocks that
 * are compared or on the diagonal are counted; -1 at the first that differs. */
static inline int64_t compare_row(const tess_matrix *A, int64_t i, int32_t *seen, const int b)
{
    const int64_t diagonal = expected(A, i, i, seen), end = A->row_offsets[i + 1];
    int64_t k = diagonal >= 0 ? diagonal + 1 : tess_matrix_lower_bound(A, i, i);
    int64_t counted = 2 * (end - k) + (diagonal >= 0);
    bool same = diagonal < 0 || is_same(A, diagonal, diagonal, b);
    for (; k < end && same; k++) {
        const int64_t j = A->columns[k], at = expected(A, j, i, seen);
        if (at < 0)
            return -1;
        same = is_same(A, k, at, b);
        seen[j] = (int32_t)(at + 1 - A->row_offsets[j]);
    }
    return same ? counted : -1;
}

static int64_t compare_rows(const tess_matrix *A, int64_t first, int64_t last, int32_t *seen)
{
    int64_t counted = 0, row = 0;
    const int b = A->block_height;
    for (int64_t i = first; i < last && row >= 0; i++) {
        row = b == 1   ? compare_row(A, i, seen, 1)
              : b == 2 ? compare_row(A, i, seen, 2)
              : b == 3 ? compare_row(A, i, seen, 3)
              : b == 4 ? compare_row(A, i, seen, 4)
              : b == 8 ? compare_row(A, i, seen, 8)
                       : compare_row(A, i, seen, b);
        counted += row;
    }
    return row < 0 ? -1 : counted;
}

/* Whether every block above the diagonal has an equal mirror and there is none without below; false
 * also when there is no memory to find out. */
static bool is_mirrored(const tess_matrix *A)
{
    const int parts = A->ctx->threads;
    int64_t counted = 0;
    bool same = true;
    int32_t *seen;
    if (TESS_CALLOC(A->ctx, A->block_rows * parts + 1, &seen) != TESS_OK)
        return false;
#pragma omp parallel for schedule(static, 1) num_threads(parts) reduction(&& : same) \
    reduction(+ : counted)
    for (int part = 0; part < parts; part++) {
        int64_t here =
            compare_rows(A, A->block_rows * part / parts, A->block_rows * (part + 1) / parts,
                         seen + part * A->block_rows);
        same = same && here >= 0;
        counted += here;
    }
    tess_free(A->ctx, seen);
    return same && counted == A->blocks;
}

/* The first block without an equal mirror, INT64_MAX if there is none. */
static int64_t first_fault(const tess_matrix *A)
{
    int64_t first = INT64_MAX;
    if (is_mirrored(A))
        return first;
#pragma omp parallel for schedule(static) reduction(min : first) num_threads(A->ctx->threads)
    for (int64_t i = 0; i < A->block_rows; i++)
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1] && k < first; k++)
            if (!mirrored(A, i, k))
                first = k;
    return first;
}

static bool is_square(const tess_matrix *A)
{
    return A->rows == A->cols && A->block_height == A->block_width;
}

bool tess_symmetric_holds(const tess_matrix *A)
{
    return is_square(A) && first_fault(A) == INT64_MAX;
}

tess_status tess_symmetric_check(tess_ctx *ctx, const tess_matrix *A)
{
    if (!is_square(A))
        return tess_fail(ctx, TESS_ERR_MATRIX,
                         "symmetric: a %lld x %lld matrix of %d x %d blocks: both must be square",
                         (long long)A->rows, (long long)A->cols, (int)A->block_height,
                         (int)A->block_width);
    int64_t first = first_fault(A);
    return first == INT64_MAX ? TESS_OK : name_difference(ctx, A, first);
}

tess_status tess_symmetric_offsets(tess_ctx *ctx, const tess_matrix *A, int64_t **offsets)
{
    TESS_TRY(TESS_ALLOC(ctx, A->block_rows + 1, offsets));
    (*offsets)[0] = 0;
    for (int64_t i = 0; i < A->block_rows; i++)
        (*offsets)[i + 1] =
            (*offsets)[i] + A->row_offsets[i + 1] - tess_matrix_lower_bound(A, i, i);
    return TESS_OK;
}

static void copy_values(tess_matrix *upper, const tess_matrix *A)
{
    size_t bytes = (size_t)A->block_height * (size_t)A->block_height * tess_type_size(A->type);
#pragma omp parallel for schedule(static) num_threads(A->ctx->threads)
    for (int64_t i = 0; i < A->block_rows; i++) {
        int64_t to = upper->row_offsets[i], count = upper->row_offsets[i + 1] - to;
        memcpy((char *)upper->values + (size_t)to * bytes,
               (const char *)A->values + (size_t)(A->row_offsets[i + 1] - count) * bytes,
               (size_t)count * bytes);
    }
}

tess_status tess_symmetric_create(tess_ctx *ctx, const tess_matrix *A, tess_matrix **upper)
{
    int64_t *offsets;
    tess_matrix *U;
    TESS_TRY(tess_symmetric_check(ctx, A));
    TESS_TRY(tess_symmetric_offsets(ctx, A, &offsets));
    tess_status status = tess_matrix_allocate(ctx, A->type, A->rows, A->cols, A->block_height,
                                              A->block_width, offsets[A->block_rows], &U);
    if (status == TESS_OK) {
        for (int64_t i = 0; i < A->block_rows; i++) {
            int64_t count = offsets[i + 1] - offsets[i];
            if (count > 0)
                memcpy(U->columns + offsets[i], A->columns + A->row_offsets[i + 1] - count,
                       (size_t)count * sizeof *U->columns);
            U->row_offsets[i + 1] = offsets[i + 1];
        }
        copy_values(U, A);
        *upper = U;
    }
    tess_free(ctx, offsets);
    return status;
}

tess_status tess_symmetric_refresh(tess_matrix *upper, const tess_matrix *A)
{
    TESS_TRY(tess_symmetric_check(upper->ctx, A));
    copy_values(upper, A);
    return TESS_OK;
}

/* Row i: the transposed blocks of the columns before i, then row i of `upper`. */
static void fill_row(const tess_matrix *upper, const tess_matrix *lower, tess_matrix *A, int64_t i)
{
    size_t bytes = (size_t)A->block_height * (size_t)A->block_height * tess_type_size(A->type);
    const tess_matrix *halves[2] = {lower, upper};
    int64_t to = A->row_offsets[i];
    for (int half = 0; half < 2; half++) {
        const tess_matrix *from = halves[half];
        for (int64_t k = from->row_offsets[i]; k < from->row_offsets[i + 1]; k++) {
            if (half == 0 && from->columns[k] == i)
                continue;
            A->columns[to] = from->columns[k];
            memcpy((char *)A->values + (size_t)to * bytes,
                   (const char *)from->values + (size_t)k * bytes, bytes);
            to++;
        }
    }
}

tess_status tess_symmetric_to_bsr(tess_ctx *ctx, const tess_matrix *upper, tess_matrix **out)
{
    tess_matrix *lower, *A;
    TESS_TRY(tess_matrix_transpose(ctx, upper, &lower));
    int64_t diagonal = 0;
    for (int64_t i = 0; i < upper->block_rows; i++)
        diagonal += tess_matrix_find(upper, i, i) >= 0;
    tess_status status =
        tess_matrix_allocate(ctx, upper->type, upper->rows, upper->cols, upper->block_height,
                             upper->block_width, 2 * upper->blocks - diagonal, &A);
    if (status == TESS_OK) {
        for (int64_t i = 0; i < A->block_rows; i++) {
            int64_t both = upper->row_offsets[i + 1] - upper->row_offsets[i] +
                           lower->row_offsets[i + 1] - lower->row_offsets[i];
            A->row_offsets[i + 1] = A->row_offsets[i] + both - (tess_matrix_find(upper, i, i) >= 0);
        }
#pragma omp parallel for schedule(static) num_threads(ctx->threads)
        for (int64_t i = 0; i < A->block_rows; i++)
            fill_row(upper, lower, A, i);
        *out = A;
    }
    tess_matrix_destroy(lower);
    return status;
}

int64_t tess_symmetric_bytes(const tess_matrix *upper)
{
    return tess_matrix_stored(upper) * (int64_t)tess_type_size(upper->type) + 4 * upper->blocks +
           8 * (upper->block_rows + 1);
}
