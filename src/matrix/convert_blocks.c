/* Any block size to any other: CSR to BSR, BSR to smaller, larger or rectangular blocks.
 *
 * Two passes over the merged rows of A (merge.h): the first counts the new blocks of every block
 * row, the second writes their columns and values. Both run in parallel over contiguous ranges of
 * new block rows with equal numbers of A's values.
 */
#include "matrix/merge.h"

/* The first new block row of a share: A's block rows are split into equal work, and the boundary is
 * rounded down to a new block row. */
static int64_t share_row(const tess_matrix *A, const tess_matrix *B, int share, int shares)
{
    int64_t row = tess_share_row(A->row_offsets, A->block_rows, share, shares);
    int64_t scaled = share == shares ? B->block_rows : row * A->block_height / B->block_height;
    return tess_min(scaled, B->block_rows);
}

static void count_blocks(const tess_matrix *A, tess_matrix *B, int64_t first, int64_t last,
                         tess_cursor *cursors)
{
    for (int64_t row = first; row < last; row++) {
        int64_t count = tess_cursors_open(A, row, B->block_height, cursors), blocks = 0, column;
        while ((column = tess_cursors_column(cursors, count, B->block_width)) >= 0) {
            tess_cursors_skip(A, cursors, count, (column + 1) * B->block_width);
            blocks++;
        }
        B->row_offsets[row + 1] = blocks;
    }
}

static inline __attribute__((always_inline)) void fill_blocks(const tess_matrix *A, tess_matrix *B,
                                                              int64_t first, int64_t last,
                                                              tess_cursor *cursors, size_t size)
{
    int32_t r = B->block_height, c = B->block_width;
    size_t bytes = (size_t)r * (size_t)c * size;
    for (int64_t row = first; row < last; row++) {
        int64_t count = tess_cursors_open(A, row, r, cursors), column;
        int64_t k = B->row_offsets[row];
        while ((column = tess_cursors_column(cursors, count, c)) >= 0) {
            char *block = (char *)B->values + (size_t)k * bytes;
            memset(block, 0, bytes);
            B->columns[k++] = (int32_t)column;
            tess_cursors_copy(A, cursors, count, column * c, (column + 1) * c, r, block, size);
        }
    }
}

typedef struct conversion {
    const tess_matrix *A;
    tess_matrix *B;
    tess_cursor *cursors;
    int64_t needed; /* cursors per share */
} conversion;

/* Counts the blocks of B while B->columns is NULL, and fills the columns and values afterwards. */
static void convert_share(void *arg, int t)
{
    const conversion *job = arg;
    const tess_matrix *A = job->A;
    tess_matrix *B = job->B;
    const int n = B->ctx->threads;
    int64_t first = share_row(A, B, t, n), last = share_row(A, B, t + 1, n);
    tess_cursor *cursors = job->cursors + t * job->needed;
    if (!B->columns)
        count_blocks(A, B, first, last, cursors);
    else if (tess_type_size(A->type) == sizeof(double))
        fill_blocks(A, B, first, last, cursors, sizeof(double));
    else if (tess_type_size(A->type) == sizeof(float))
        fill_blocks(A, B, first, last, cursors, sizeof(float));
    else
        fill_blocks(A, B, first, last, cursors, sizeof(tess_complex));
}

tess_status tess_matrix_convert_blocks(tess_ctx *ctx, const tess_matrix *A, int32_t r, int32_t c,
                                       tess_matrix **out)
{
    tess_matrix *B;
    tess_cursor *cursors = NULL;
    TESS_TRY(tess_matrix_head(ctx, A->type, A->rows, A->cols, r, c, 0, &B));
    tess_status status;
    int64_t needed = tess_cursors_needed(A, r);
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, needed * ctx->threads, &cursors));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, B->block_rows + 1, &B->row_offsets));
    conversion job = {A, B, cursors, needed};
    tess_parallel(ctx, ctx->threads, convert_share, &job);
    tess_counts_to_offsets(B->row_offsets, B->block_rows);
    TESS_TRY_CLEAN(tess_matrix_allocate_blocks(B, B->row_offsets[B->block_rows]));
    tess_parallel(ctx, ctx->threads, convert_share, &job);
    if (r == A->block_height)
        TESS_TRY_CLEAN(tess_matrix_copy_coordinates(A, B));
cleanup:
    tess_free(ctx, cursors);
    return TESS_DELIVER(status, B, tess_matrix_destroy, out);
}
