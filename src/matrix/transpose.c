/* The transpose: block (i, j) of r x c becomes block (j, i) of c x r.
 *
 * Every thread owns a contiguous range of the new rows, that is of A's block columns, and walks all
 * rows of A, entering each by binary search at its range. So blocks arrive in the order of A's
 * rows, which is the order of the new columns, and nothing is sorted or shared.
 */
#include "core/threads.h"
#include "matrix/matrix.h"

static void count_columns(const tess_matrix *A, int64_t first, int64_t last, int64_t *counts)
{
    for (int64_t i = 0; first < last && i < A->block_rows; i++)
        for (int64_t k = tess_matrix_lower_bound(A, i, first);
             k < A->row_offsets[i + 1] && A->columns[k] < last; k++)
            counts[A->columns[k]]++;
}

static inline __attribute__((always_inline)) void transpose_block(const char *from, char *to,
                                                                  int32_t r, int32_t c, size_t size)
{
    for (int32_t i = 0; i < r; i++)
        for (int32_t j = 0; j < c; j++, to += size)
            memcpy(to, from + ((size_t)j * (size_t)r + (size_t)i) * size, size);
}

/* `next[j]` is where the next block of new row j goes. */
static void place_blocks(const tess_matrix *A, tess_matrix *B, int64_t first, int64_t last,
                         int64_t *next)
{
    int32_t r = A->block_height, c = A->block_width;
    size_t size = tess_type_size(A->type), bytes = (size_t)r * (size_t)c * size;
    for (int64_t i = 0; first < last && i < A->block_rows; i++) {
        for (int64_t k = tess_matrix_lower_bound(A, i, first);
             k < A->row_offsets[i + 1] && A->columns[k] < last; k++) {
            int64_t to = next[A->columns[k]]++;
            const char *block = (const char *)A->values + (size_t)k * bytes;
            char *target = (char *)B->values + (size_t)to * bytes;
            B->columns[to] = (int32_t)i;
            if (r == 1 || c == 1)
                memcpy(target, block, bytes);
            else if (size == sizeof(double))
                transpose_block(block, target, r, c, sizeof(double));
            else
                transpose_block(block, target, r, c, sizeof(float));
        }
    }
}

struct count_share {
    tess_matrix *B;
    const tess_matrix *A;
    int n;
};

static void count_share(void *arg, int t)
{
    const struct count_share *job = arg;
    tess_matrix *B = job->B;
    const int n = job->n;
    int64_t step = tess_ceil_div(B->block_rows, n), first = t * step;
    int64_t last = first + step < B->block_rows ? first + step : B->block_rows;
    count_columns(job->A, first, last, B->row_offsets + 1);
}

struct place_share {
    const tess_matrix *A;
    tess_matrix *B;
    int64_t *next;
    int n;
};

static void place_share(void *arg, int t)
{
    const struct place_share *job = arg;
    tess_matrix *B = job->B;
    const int n = job->n;
    place_blocks(job->A, B, tess_share_row(B->row_offsets, B->block_rows, t, n),
                 tess_share_row(B->row_offsets, B->block_rows, t + 1, n), job->next);
}

tess_status tess_matrix_transpose(tess_ctx *ctx, const tess_matrix *A, tess_matrix **out)
{
    if (!ctx || !A || !out)
        return tess_null_argument(ctx, __func__);
    tess_matrix *B;
    int64_t *next = NULL;
    TESS_TRY(tess_matrix_allocate(ctx, A->type, A->cols, A->rows, A->block_width, A->block_height,
                                  A->blocks, &B));
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, B->block_rows, &next));
    tess_parallel(ctx, ctx->threads, count_share, &(struct count_share){B, A, ctx->threads});
    tess_counts_to_offsets(B->row_offsets, B->block_rows);
    memcpy(next, B->row_offsets, (size_t)B->block_rows * sizeof *next);
    tess_parallel(ctx, ctx->threads, place_share, &(struct place_share){A, B, next, ctx->threads});
    *out = B;
    B = NULL;
cleanup:
    tess_free(ctx, next);
    tess_matrix_destroy(B);
    return status;
}
