/* The transpose, or the conjugate transpose: block (i, j) of r x c becomes block (j, i) of c x r.
 *
 * A's block rows are cut into shares, which threads walk twice. The first walk counts a share's
 * blocks in each block column. The sum of the counts of all shares before it says where the share's
 * blocks of that column begin, and the second walk writes them there. So the blocks of a new row
 * are in the order of A's rows, and no two shares write to the same place.
 */
#include "matrix/matrix.h"

typedef struct transposition {
    const tess_matrix *A;
    tess_matrix *B;
    int64_t *next; /* next[s * block columns + j]: blocks of column j that share s has; then the
                    * place in new row j of the share's next block */
    int64_t *from; /* NULL: copy the blocks; else only their numbers in A */
    int shares;
} transposition;

static void count_blocks(void *arg, tess_range rows)
{
    const transposition *job = arg;
    const tess_matrix *A = job->A;
    int64_t *counts = job->next + rows.share * A->block_cols;
    memset(counts, 0, (size_t)A->block_cols * sizeof *counts);
    for (int64_t k = A->row_offsets[rows.first]; k < A->row_offsets[rows.last]; k++)
        counts[A->columns[k]]++;
}

/* Replaces the counts of some columns by sums: for each share its first place in the new row. */
static void sum_shares(void *arg, tess_range columns)
{
    const transposition *job = arg;
    for (int64_t j = columns.first; j < columns.last; j++) {
        int64_t sum = 0;
        for (int64_t *at = job->next + j, s = 0; s < job->shares; s++, at += job->A->block_cols) {
            const int64_t count = *at;
            *at = sum;
            sum += count;
        }
        job->B->row_offsets[j + 1] = sum;
    }
}

static inline __attribute__((always_inline)) void transpose_block(const char *from, char *to,
                                                                  int32_t r, int32_t c, size_t size)
{
    for (int32_t i = 0; i < r; i++)
        for (int32_t j = 0; j < c; j++, to += size)
            memcpy(to, from + ((size_t)j * (size_t)r + (size_t)i) * size, size);
}

static void place_blocks(void *arg, tess_range rows)
{
    const transposition *job = arg;
    const tess_matrix *A = job->A, *B = job->B;
    int64_t *next = job->next + rows.share * A->block_cols;
    int32_t r = A->block_height, c = A->block_width;
    size_t size = tess_type_size(A->type), bytes = (size_t)r * (size_t)c * size;
    for (int64_t i = rows.first; i < rows.last; i++) {
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++) {
            int64_t to = B->row_offsets[A->columns[k]] + next[A->columns[k]]++;
            const char *block = (const char *)A->values + (size_t)k * bytes;
            char *target = (char *)B->values + (size_t)to * bytes;
            B->columns[to] = (int32_t)i;
            if (job->from)
                job->from[to] = k;
            else if (r == 1 || c == 1)
                memcpy(target, block, bytes);
            else if (size == sizeof(double))
                transpose_block(block, target, r, c, sizeof(double));
            else if (size == sizeof(float))
                transpose_block(block, target, r, c, sizeof(float));
            else
                transpose_block(block, target, r, c, sizeof(tess_complex));
        }
    }
}

tess_status tess_matrix_transpose_pattern(tess_ctx *ctx, const tess_matrix *A, int64_t *from,
                                          tess_matrix **out)
{
    transposition job = {.A = A, .from = from};
    TESS_TRY(tess_matrix_allocate(ctx, A->type, A->cols, A->rows, A->block_width, A->block_height,
                                  A->blocks, &job.B));
    /* As many shares as give at most one count per block of A. */
    const int64_t most = A->blocks / tess_max(A->block_cols, 1);
    job.shares = (int)tess_max(tess_min(most, ctx->threads), 1);
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->block_cols * job.shares, &job.next));
    tess_for_row_shares(ctx, job.shares, A->row_offsets, A->block_rows, count_blocks, &job);
    tess_for(ctx, A->block_cols, sum_shares, &job);
    tess_counts_to_offsets(job.B->row_offsets, A->block_cols);
    tess_for_row_shares(ctx, job.shares, A->row_offsets, A->block_rows, place_blocks, &job);
cleanup:
    tess_free(ctx, job.next);
    return TESS_DELIVER(status, job.B, tess_matrix_destroy, out);
}

tess_status tess_matrix_transpose(tess_ctx *ctx, const tess_matrix *A, tess_matrix **out)
{
    TESS_NEED(ctx, ctx && A && out);
    return tess_matrix_transpose_pattern(ctx, A, NULL, out);
}

static void negate_imaginary(void *arg, tess_range range)
{
    const tess_matrix *A = arg;
    const tess_type part = tess_real_type(A->type);
    for (int64_t at = range.first; at < range.last; at++)
        tess_put(A->values, part, 2 * at + 1, -tess_get(A->values, part, 2 * at + 1));
}

tess_status tess_matrix_conjugate_transpose(tess_ctx *ctx, const tess_matrix *A, tess_matrix **out)
{
    TESS_NEED(ctx, ctx && A && out);
    tess_matrix *B;
    TESS_TRY(tess_matrix_transpose(ctx, A, &B));
    if (tess_is_complex(B->type))
        tess_for(ctx, tess_matrix_stored(B), negate_imaginary, B);
    *out = B;
    return TESS_OK;
}
