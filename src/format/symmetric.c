/* BSR to symmetric storage and back; symmetric.h has the picture. */
#include "format/symmetric.h"

#include <string.h>

#include <omp.h>

#include "format/past.h"
#include "format/symmetric_same.h"

/* `to` is a multiple of 16 bytes when the caches are passed; otherwise both may lie anywhere. */
TESS_ALWAYS void copy_twos(char *to, const char *from, const size_t bytes, const bool past)
{
    if (!past)
        memcpy(to, from, bytes);
    for (size_t at = 0; past && at < bytes; at += 16) {
        tess_two_bits64 two;
        memcpy(&two, from + at, sizeof two);
        tess_put_two_f64((tess_two_bits64 *)(to + at), two, past);
    }
}

/* memcpy of part of a stream: it writes nothing twice, so that one row continues in the line where
 * the row before has ended. */
TESS_ALWAYS void copy(char *to, const char *from, size_t bytes, const bool fetches, const bool past)
{
    size_t at = 0;
    for (; past && (uintptr_t)(to + at) % 16 != 0 && at < bytes; at += 4)
        tess_put_f32((tess_bits32 *)(to + at), *(const tess_bits32 *)(from + at), past);
    for (; at + 64 <= bytes; at += 64) {
        copy_twos(to + at, from + at, 64, past);
        tess_fetch_far(from + at, fetches);
    }
    for (; at + 16 <= bytes; at += 16)
        copy_twos(to + at, from + at, 16, past);
    for (; at < bytes; at += 4)
        tess_put_f32((tess_bits32 *)(to + at), *(const tess_bits32 *)(from + at), past);
}

/* Rows first .. last-1; whether they are symmetric. */
#define REFRESH_ROWS(name, real, two, differs_row)                                             \
    TESS_ALWAYS bool name(tess_matrix *upper, const tess_symmetric_mirrors *mirrors,           \
                          const tess_matrix *A, int64_t first, int64_t last, const int b)      \
    {                                                                                          \
        const size_t bytes = (size_t)b * (size_t)b * sizeof(real);                             \
        bool same = true;                                                                      \
        for (int64_t i = first; i < last && same; i++) {                                       \
            const int64_t to = upper->row_offsets[i], count = upper->row_offsets[i + 1] - to;  \
            two differs[2] = {{0, 0}, {0, 0}};                                                 \
            differs_row(differs, A, mirrors, i, b);                                            \
            copy((char *)upper->values + (size_t)to * bytes,                                   \
                 (const char *)A->values + (size_t)(A->row_offsets[i + 1] - count) * bytes,    \
                 (size_t)count * bytes, tess_fetches_by_block(b), mirrors->past);              \
            same = TESS_NONE_OF(differs) || tess_symmetric_same_numbers(A, mirrors, i, i + 1); \
        }                                                                                      \
        tess_put_end(mirrors->past);                                                           \
        return same;                                                                           \
    }
REFRESH_ROWS(refresh_rows_f64, double, tess_two_bits64, tess_differs_row_f64)
REFRESH_ROWS(refresh_rows_f32, float, tess_two_bits32, tess_differs_row_f32)

TESS_ALWAYS bool refresh_rows(tess_matrix *upper, const tess_symmetric_mirrors *mirrors,
                              const tess_matrix *A, int64_t first, int64_t last, const int b)
{
    return A->type == TESS_F64 ? refresh_rows_f64(upper, mirrors, A, first, last, b)
                               : refresh_rows_f32(upper, mirrors, A, first, last, b);
}

static bool refresh_part(tess_matrix *upper, const tess_symmetric_mirrors *mirrors,
                         const tess_matrix *A, int64_t first, int64_t last)
{
    switch (A->block_height) {
    case 1:
        return refresh_rows(upper, mirrors, A, first, last, 1);
    case 2:
        return refresh_rows(upper, mirrors, A, first, last, 2);
    case 3:
        return refresh_rows(upper, mirrors, A, first, last, 3);
    case 4:
        return refresh_rows(upper, mirrors, A, first, last, 4);
    case 5:
        return refresh_rows(upper, mirrors, A, first, last, 5);
    case 7:
        return refresh_rows(upper, mirrors, A, first, last, 7);
    case 8:
        return refresh_rows(upper, mirrors, A, first, last, 8);
    case 16:
        return refresh_rows(upper, mirrors, A, first, last, 16);
    case 32:
        return refresh_rows(upper, mirrors, A, first, last, 32);
    default:
        return refresh_rows(upper, mirrors, A, first, last, A->block_height);
    }
}

tess_status tess_symmetric_refresh(tess_matrix *upper, const tess_symmetric_mirrors *mirrors,
                                   const tess_matrix *A)
{
    bool same = true;
#pragma omp parallel num_threads(A->ctx->threads) reduction(&& : same)
    {
        const int part = omp_get_thread_num(), parts = omp_get_num_threads();
        same = refresh_part(upper, mirrors, A,
                            tess_share_row(A->row_offsets, A->block_rows, part, parts),
                            tess_share_row(A->row_offsets, A->block_rows, part + 1, parts));
    }
    return same ? TESS_OK : tess_symmetric_check(upper->ctx, A);
}

tess_status tess_symmetric_create(tess_ctx *ctx, const tess_matrix *A,
                                  const tess_symmetric_mirrors *mirrors, tess_matrix **upper)
{
    const int64_t *offsets = mirrors->offsets;
    tess_matrix *U;
    TESS_TRY(tess_matrix_allocate(ctx, A->type, A->rows, A->cols, A->block_height, A->block_width,
                                  offsets[A->block_rows], &U));
    for (int64_t i = 0; i < A->block_rows; i++) {
        int64_t count = offsets[i + 1] - offsets[i];
        if (count > 0)
            memcpy(U->columns + offsets[i], A->columns + A->row_offsets[i + 1] - count,
                   (size_t)count * sizeof *U->columns);
        U->row_offsets[i + 1] = offsets[i + 1];
    }
    tess_status status = tess_symmetric_refresh(U, mirrors, A);
    if (status != TESS_OK) {
        tess_matrix_destroy(U);
        return status;
    }
    *upper = U;
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
