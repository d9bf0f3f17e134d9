/* New values in an old pattern: B takes the values of A, usually CSR, under its own blocks.
 *
 * One merge of A's rows (merge.h) along B's blocks finds an entry without a place; only then a
 * second one writes, so a failure leaves B as it was. Nothing is counted, allocated or sorted.
 */
#include <inttypes.h>

#include "core/threads.h"
#include "matrix/merge.h"

/* Walks block rows *row..last-1 of B and copies if `write`. Stops at the first entry of A outside
 * B's blocks: returns its block column, with its block row in *row. Otherwise returns -1. */
static inline __attribute__((always_inline)) int64_t walk_rows(const tess_matrix *A, tess_matrix *B,
                                                               int64_t *row, int64_t last,
                                                               tess_cursor *cursors, bool write,
                                                               size_t size)
{
    int32_t r = B->block_height, c = B->block_width;
    size_t bytes = (size_t)r * (size_t)c * size;
    for (; *row < last; (*row)++) {
        int64_t count = tess_cursors_open(A, *row, r, cursors), column;
        int64_t k = B->row_offsets[*row], end = B->row_offsets[*row + 1];
        if (write)
            memset((char *)B->values + (size_t)k * bytes, 0, (size_t)(end - k) * bytes);
        while ((column = tess_cursors_column(cursors, count, c)) >= 0) {
            while (k < end && B->columns[k] < column)
                k++;
            if (k == end || B->columns[k] != column)
                return column;
            if (write)
                tess_cursors_copy(A, cursors, count, column * c, (column + 1) * c, r,
                                  (char *)B->values + (size_t)k * bytes, size);
            else
                tess_cursors_skip(A, cursors, count, (column + 1) * c);
        }
    }
    return -1;
}

/* The scalar place of the first entry of A in block (row, column) of B. */
static tess_status outside(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B, int64_t row,
                           int64_t column)
{
    int64_t r = B->block_height, c = B->block_width, first = column * c;
    for (int64_t i = row * r; i < (row + 1) * r && i < A->rows; i++) {
        int64_t ib = i / A->block_height;
        for (int64_t k = A->row_offsets[ib]; k < A->row_offsets[ib + 1]; k++) {
            int64_t begin = (int64_t)A->columns[k] * A->block_width, end = begin + A->block_width;
            if (end <= first || begin >= first + c)
                continue;
            return tess_fail(ctx, TESS_ERR_PATTERN,
                             "row %" PRId64 ", column %" PRId64 ": block (%" PRId64 ", %" PRId64
                             ") is outside the pattern",
                             i, begin > first ? begin : first, row, column);
        }
    }
    return tess_fail(ctx, TESS_ERR_INTERNAL, "tess_matrix_update: no entry in a block it missed");
}

static tess_status check_arguments(tess_ctx *ctx, const tess_matrix *B, const tess_matrix *A)
{
    if (!ctx || !B || !A)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_matrix_update: an argument is NULL");
    if (A->rows != B->rows || A->cols != B->cols || A->type != B->type)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_matrix_update: a %" PRId64 " x %" PRId64
                         " %s matrix cannot refresh one of %" PRId64 " x %" PRId64 " %s",
                         A->rows, A->cols, tess_type_name(A->type), B->rows, B->cols,
                         tess_type_name(B->type));
    if (B->ownership == TESS_OWNERSHIP_BORROW)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_matrix_update: the values are borrowed and belong to the caller");
    if (A == B)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_matrix_update: both matrices are the same");
    return TESS_OK;
}

struct check_share {
    tess_matrix *B;
    const tess_matrix *A;
    tess_cursor *cursors;
    int64_t needed;
    int n;
    int64_t *bad_row;
};

static void check_share(void *arg, int t)
{
    const struct check_share *job = arg;
    tess_matrix *B = job->B;
    const int n = job->n;
    int64_t bad_row = INT64_MAX;
    int64_t row = tess_share_row(B->row_offsets, B->block_rows, t, n);
    int64_t last = tess_share_row(B->row_offsets, B->block_rows, t + 1, n);
    if (walk_rows(job->A, B, &row, last, job->cursors + t * job->needed, false, 0) >= 0)
        bad_row = row;
    tess_lower(job->bad_row, bad_row);
}

struct refresh_share {
    tess_matrix *B;
    const tess_matrix *A;
    tess_cursor *cursors;
    int64_t needed;
    int n;
};

static void refresh_share(void *arg, int t)
{
    const struct refresh_share *job = arg;
    tess_matrix *B = job->B;
    const tess_matrix *A = job->A;
    const int n = job->n;
    int64_t row = tess_share_row(B->row_offsets, B->block_rows, t, n);
    int64_t last = tess_share_row(B->row_offsets, B->block_rows, t + 1, n);
    if (A->type == TESS_F64)
        walk_rows(A, B, &row, last, job->cursors + t * job->needed, true, sizeof(double));
    else
        walk_rows(A, B, &row, last, job->cursors + t * job->needed, true, sizeof(float));
}

tess_status tess_matrix_update(tess_ctx *ctx, tess_matrix *B, const tess_matrix *A)
{
    TESS_TRY(check_arguments(ctx, B, A));
    tess_cursor *cursors;
    int64_t needed = tess_cursors_needed(A, B->block_height);
    TESS_TRY(TESS_ALLOC(ctx, needed * ctx->threads, &cursors));
    int64_t bad_row = INT64_MAX;
    tess_parallel(ctx, ctx->threads, check_share,
                  &(struct check_share){B, A, cursors, needed, ctx->threads, &bad_row});
    if (bad_row < INT64_MAX) {
        int64_t column = walk_rows(A, B, &bad_row, bad_row + 1, cursors, false, 0);
        tess_free(ctx, cursors);
        return outside(ctx, A, B, bad_row, column);
    }
    tess_parallel(ctx, ctx->threads, refresh_share,
                  &(struct refresh_share){B, A, cursors, needed, ctx->threads});
    tess_free(ctx, cursors);
    B->version++;
    return TESS_OK;
}
