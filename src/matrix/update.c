/* New values in an old pattern: B takes the values of A, which is usually CSR, into its own blocks.
 *
 * A first merge of A's rows (merge.h) along B's blocks checks that every entry has a place in B.
 * Only then a second merge writes, so a failure leaves B as it was. No pattern is counted,
 * allocated or sorted.
 */
#include "matrix/merge.h"

/* Walks block rows *row..last-1 of B, and copies A's values if `write`. At the first entry of A
 * outside B's blocks it stops and returns that entry's block column; *row is its block row.
 * Otherwise returns -1. */
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

/* The error that names the scalar row and column of A's first entry in block (row, column) of B. */
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
                             i, tess_max(begin, first), row, column);
        }
    }
    return tess_fail(ctx, TESS_ERR_INTERNAL, "tess_matrix_update: no entry in a block it missed");
}

static tess_status check_arguments(tess_ctx *ctx, const tess_matrix *B, const tess_matrix *A)
{
    if (!ctx || !B || !A)
        return tess_null_argument(ctx, "tess_matrix_update");
    if (A->rows != B->rows || A->cols != B->cols || A->type != B->type)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_matrix_update: a %" PRId64 " x %" PRId64
                         " %s matrix cannot update one of %" PRId64 " x %" PRId64 " %s",
                         A->rows, A->cols, tess_type_name(A->type), B->rows, B->cols,
                         tess_type_name(B->type));
    if (B->ownership == TESS_OWNERSHIP_BORROW)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_matrix_update: the values are borrowed and belong to the caller");
    if (A == B)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_matrix_update: both matrices are the same");
    return TESS_OK;
}

typedef struct update {
    const tess_matrix *A;
    tess_matrix *B;
    tess_cursor *cursors;
    int64_t needed; /* cursors per share */
    int64_t bad_row;
} update;

static void check_share(void *arg, tess_range rows)
{
    update *job = arg;
    tess_cursor *cursors = job->cursors + rows.share * job->needed;
    if (walk_rows(job->A, job->B, &rows.first, rows.last, cursors, false, 0) >= 0)
        tess_lower(&job->bad_row, rows.first);
}

static void update_share(void *arg, tess_range rows)
{
    const update *job = arg;
    tess_cursor *cursors = job->cursors + rows.share * job->needed;
    const size_t size = tess_type_size(job->A->type);
    if (size == sizeof(double))
        walk_rows(job->A, job->B, &rows.first, rows.last, cursors, true, sizeof(double));
    else if (size == sizeof(float))
        walk_rows(job->A, job->B, &rows.first, rows.last, cursors, true, sizeof(float));
    else
        walk_rows(job->A, job->B, &rows.first, rows.last, cursors, true, sizeof(tess_complex));
}

tess_status tess_matrix_update(tess_ctx *ctx, tess_matrix *B, const tess_matrix *A)
{
    TESS_TRY(check_arguments(ctx, B, A));
    update job = {A, B, NULL, tess_cursors_needed(A, B->block_height), INT64_MAX};
    TESS_TRY(TESS_ALLOC(ctx, job.needed * ctx->threads, &job.cursors));
    tess_for_rows(ctx, B->row_offsets, B->block_rows, check_share, &job);
    if (job.bad_row < INT64_MAX) {
        int64_t column = walk_rows(A, B, &job.bad_row, job.bad_row + 1, job.cursors, false, 0);
        tess_free(ctx, job.cursors);
        return outside(ctx, A, B, job.bad_row, column);
    }
    tess_for_rows(ctx, B->row_offsets, B->block_rows, update_share, &job);
    tess_free(ctx, job.cursors);
    B->version++;
    return TESS_OK;
}
