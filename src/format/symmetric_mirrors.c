/* Whether a matrix is symmetric, and where the mirrors of its blocks are; symmetric.h has the
 * picture. */
#include <omp.h>

#include "format/symmetric.h"
#include "format/two.h"

/* ---- One by one ---- */

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

/* ---- All at once ---- */

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
 * the mirrors in a row below are met in order too: seen[j] of its blocks have been. `mirrors`
 * (NULL: nobody asks) learns where they are. The blocks that are compared or on the diagonal are
 * counted; -1 at the first that differs. */
static inline int64_t compare_row(const tess_matrix *A, int64_t i, int32_t *seen,
                                  const tess_symmetric_mirrors *mirrors, const int b)
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
        if (mirrors)
            mirrors->places[at - mirrors->offsets[j]] = k < UINT32_MAX ? (uint32_t)(k + 1) : 0;
    }
    return same ? counted : -1;
}

static int64_t compare_rows(const tess_matrix *A, int64_t first, int64_t last, int32_t *seen,
                            const tess_symmetric_mirrors *mirrors)
{
    int64_t counted = 0, row = 0;
    const int b = A->block_height;
    for (int64_t i = first; i < last && row >= 0; i++) {
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

/* Whether every block above the diagonal has an equal mirror and there is none without below. */
static tess_status compare(const tess_matrix *A, const tess_symmetric_mirrors *mirrors,
                           bool *mirrored)
{
    const int parts = A->ctx->threads;
    int64_t counted = 0;
    bool same = true;
    int32_t *seen;
    TESS_TRY(TESS_CALLOC(A->ctx, A->block_rows * parts + 1, &seen));
#pragma omp parallel for schedule(static, 1) num_threads(parts) reduction(&& : same) \
    reduction(+ : counted)
    for (int part = 0; part < parts; part++) {
        int64_t here =
            compare_rows(A, A->block_rows * part / parts, A->block_rows * (part + 1) / parts,
                         seen + part * A->block_rows, mirrors);
        same = same && here >= 0;
        counted += here;
    }
    tess_free(A->ctx, seen);
    *mirrored = same && counted == A->blocks;
    return TESS_OK;
}

/* The first block without an equal mirror, INT64_MAX if there is none. */
static int64_t first_fault(const tess_matrix *A)
{
    int64_t first = INT64_MAX;
    bool same;
    if (compare(A, NULL, &same) == TESS_OK && same)
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

enum { AHEAD = 40 /* most blocks whose mirrors are on their way to the cache */ };

tess_status tess_symmetric_offsets(tess_ctx *ctx, const tess_matrix *A, int64_t **offsets)
{
    TESS_TRY(TESS_ALLOC(ctx, A->block_rows + 1, offsets));
    (*offsets)[0] = 0;
    for (int64_t i = 0; i < A->block_rows; i++)
        (*offsets)[i + 1] =
            (*offsets)[i] + A->row_offsets[i + 1] - tess_matrix_lower_bound(A, i, i);
    return TESS_OK;
}

tess_status tess_symmetric_mirrors_create(tess_ctx *ctx, const tess_matrix *A,
                                          tess_symmetric_mirrors **out)
{
    tess_symmetric_mirrors *M;
    bool same = false;
    tess_status status;
    TESS_TRY(check_square(ctx, A));
    TESS_TRY(TESS_CALLOC(ctx, 1, &M));
    M->ctx = ctx;
    TESS_TRY_CLEAN(tess_symmetric_offsets(ctx, A, &M->offsets));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, A->blocks - M->offsets[A->block_rows] + AHEAD, &M->places));
    TESS_TRY_CLEAN(compare(A, M, &same));
    if (!same)
        TESS_TRY_CLEAN(tess_symmetric_check(ctx, A));
    *out = M;
    M = NULL;
cleanup:
    tess_symmetric_mirrors_destroy(M);
    return status;
}

void tess_symmetric_mirrors_destroy(tess_symmetric_mirrors *M)
{
    if (!M)
        return;
    tess_free(M->ctx, M->offsets);
    tess_free(M->ctx, M->places);
    tess_free(M->ctx, M);
}

/* The mirror of block k of row i, below the diagonal. */
static inline int64_t mirror_of(const tess_matrix *A, int64_t i, int64_t k, uint32_t place)
{
    return place > 0 ? (int64_t)place - 1 : tess_matrix_find(A, A->columns[k], i);
}

TESS_ALWAYS void fetch(const void *from, int bytes)
{
    for (int at = 0; at < bytes; at += 64)
        __builtin_prefetch((const char *)from + at);
}

/* How many blocks before its use the mirror of a block is fetched: some kilobytes, which is what
 * the memory has on its way. Lone numbers are faster without. */
TESS_ALWAYS int blocks_ahead(const int b)
{
    return b == 1 ? 0 : b <= 4 ? AHEAD : b <= 8 ? 8 : 2;
}

/* Collects in `differs` the bits in which a block differs from the transpose of another one: of
 * 2 x 2 scalars at once, with an odd b those of the last row and column by twos, and the corner; in
 * two places, so that few wait for each other. Meanwhile the block that begins at `later` is
 * fetched if it is wanted, line by line: lines asked for all at once come at a third of the speed.
 */
#define COLLECT(name, word, two)                                                                  \
    TESS_ALWAYS void name(two *differs, const word *block, const word *mirror, const word *later, \
                          const int b, const bool fetches)                                        \
    {                                                                                             \
        const int even = b - b % 2;                                                               \
        for (int q = 0; q < even; q += 2) {                                                       \
            fetch(later + q * b, fetches ? 2 * b * (int)sizeof(word) : 0);                        \
            for (int p = 0; p < even; p += 2) {                                                   \
                const two *block_at = (const two *)(block + q * b + p);                           \
                const two *block_next = (const two *)(block + (q + 1) * b + p);                   \
                const two at = *(const two *)(mirror + p * b + q);                                \
                const two next = *(const two *)(mirror + (p + 1) * b + q);                        \
                differs[0] |= *block_at ^ TESS_FIRST_OF(two, at, next);                           \
                differs[1] |= *block_next ^ TESS_SECOND_OF(two, at, next);                        \
            }                                                                                     \
        }                                                                                         \
        if (even == b)                                                                            \
            return;                                                                               \
        fetch(later + b * b - 1, fetches);                                                        \
        for (int p = 0; p < even; p += 2) {                                                       \
            const two column = {mirror[p * b + even], mirror[(p + 1) * b + even]};                \
            const two row = {block[p * b + even], block[(p + 1) * b + even]};                     \
            differs[0] |= *(const two *)(block + even * b + p) ^ column;                          \
            differs[1] |= *(const two *)(mirror + even * b + p) ^ row;                            \
        }                                                                                         \
        differs[0] |= (two){block[b * b - 1] ^ mirror[b * b - 1], 0};                             \
    }
COLLECT(collect_f64, tess_bits64, tess_two_bits64)
COLLECT(collect_f32, tess_bits32, tess_two_bits32)

/* Whether the blocks of row i up to the diagonal have the bits of their mirrors. */
#define SAME_BITS(name, word, two, collect)                                                  \
    TESS_ALWAYS bool name(const tess_matrix *A, const tess_symmetric_mirrors *M, int64_t i,  \
                          const int b)                                                       \
    {                                                                                        \
        const int ahead = blocks_ahead(b);                                                   \
        const int64_t size = (int64_t)b * b, first = A->row_offsets[i];                      \
        const int64_t last = A->row_offsets[i + 1],                                          \
                      end = last - (M->offsets[i + 1] - M->offsets[i]);                      \
        const uint32_t *places = M->places + (first - M->offsets[i]);                        \
        const word *values = A->values;                                                      \
        two differs[2] = {{0, 0}, {0, 0}};                                                   \
        for (int64_t k = first; k < end; k++, places++) {                                    \
            const int64_t later = places[ahead] > 0 ? (int64_t)places[ahead] - 1 : k;        \
            collect(differs, values + k * size, values + mirror_of(A, i, k, *places) * size, \
                    values + later * size, b, ahead > 0);                                    \
        }                                                                                    \
        if (b > 1 && end < last && A->columns[end] == i)                                     \
            collect(differs, values + end * size, values + end * size, values, b, false);    \
        differs[0] |= differs[1];                                                            \
        return (differs[0][0] | differs[0][1]) == 0;                                         \
    }
SAME_BITS(same_bits_f64, tess_bits64, tess_two_bits64, collect_f64)
SAME_BITS(same_bits_f32, tess_bits32, tess_two_bits32, collect_f32)

/* The same as numbers: 0 and -0 are equal. */
static bool same_numbers(const tess_matrix *A, const tess_symmetric_mirrors *M, int64_t i)
{
    const uint32_t *places = M->places + (A->row_offsets[i] - M->offsets[i]);
    for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1] && A->columns[k] <= i; k++) {
        int64_t mirror = A->columns[k] < i ? mirror_of(A, i, k, *places++) : k;
        if (first_difference(A, k, mirror) >= 0)
            return false;
    }
    return true;
}

TESS_ALWAYS bool same_rows(const tess_matrix *A, const tess_symmetric_mirrors *M, int64_t first,
                           int64_t last, const int b)
{
    bool same = true;
    for (int64_t i = first; i < last && same; i++)
        same = (A->type == TESS_F64 ? same_bits_f64(A, M, i, b) : same_bits_f32(A, M, i, b)) ||
               same_numbers(A, M, i);
    return same;
}

bool tess_symmetric_same(const tess_matrix *A, const tess_symmetric_mirrors *M, int64_t first,
                         int64_t last)
{
    switch (A->block_height) {
    case 1:
        return same_rows(A, M, first, last, 1);
    case 2:
        return same_rows(A, M, first, last, 2);
    case 3:
        return same_rows(A, M, first, last, 3);
    case 4:
        return same_rows(A, M, first, last, 4);
    case 5:
        return same_rows(A, M, first, last, 5);
    case 7:
        return same_rows(A, M, first, last, 7);
    case 8:
        return same_rows(A, M, first, last, 8);
    default:
        return same_rows(A, M, first, last, A->block_height);
    }
}
