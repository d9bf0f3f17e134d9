/* The transpose: block (i, j) of r x c becomes block (j, i) of c x r; and its conjugate.
 *
 * Every thread owns a contiguous range of the new rows, that is of A's block columns, and walks all
 * rows of A, entering each by binary search at its range. So blocks arrive in the order of A's
 * rows, which is the order of the new columns, and nothing is sorted or shared.
 */
#include "matrix/matrix.h"

typedef struct transposition {
    const tess_matrix *A;
    tess_matrix *B;
    int64_t *next; /* next[j] is where the next block of new row j goes */
    int64_t
        *from; /* NULL: blocks are copied; else the numbers in A of B's blocks, without values */
} transposition;

static void count_columns(void *arg, tess_range columns)
{
    const transposition *job = arg;
    const tess_matrix *A = job->A;
    int64_t *counts = job->B->row_offsets + 1;
    for (int64_t i = 0; i < A->block_rows; i++)
        for (int64_t k = tess_matrix_lower_bound(A, i, columns.first);
             k < A->row_offsets[i + 1] && A->columns[k] < columns.last; k++)
            counts[A->columns[k]]++;
}

static inline __attribute__((always_inline)) void transpose_block(const char *from, char *to,
                                                                  int32_t r, int32_t c, size_t size)
{
    for (int32_t i = 0; i < r; i++)
        for (int32_t j = 0; j < c; j++, to += size)
            memcpy(to, from + ((size_t)j * (size_t)r + (size_t)i) * size, size);
}

static void place_blocks(void *arg, tess_range columns)
{
    const transposition *job = arg;
    const tess_matrix *A = job->A, *B = job->B;
    int32_t r = A->block_height, c = A->block_width;
    size_t size = tess_type_size(A->type), bytes = (size_t)r * (size_t)c * size;
    for (int64_t i = 0; columns.first < columns.last && i < A->block_rows; i++) {
        for (int64_t k = tess_matrix_lower_bound(A, i, columns.first);
             k < A->row_offsets[i + 1] && A->columns[k] < columns.last; k++) {
            int64_t to = job->next[A->columns[k]]++;
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
    tess_matrix *B;
    int64_t *next = NULL;
    TESS_TRY(tess_matrix_allocate(ctx, A->type, A->cols, A->rows, A->block_width, A->block_height,
                                  A->blocks, &B));
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, B->block_rows, &next));
    transposition job = {A, B, next, from};
    tess_for(ctx, B->block_rows, count_columns, &job);
    tess_counts_to_offsets(B->row_offsets, B->block_rows);
    memcpy(next, B->row_offsets, (size_t)B->block_rows * sizeof *next);
    tess_for_rows(ctx, B->row_offsets, B->block_rows, place_blocks, &job);
cleanup:
    tess_free(ctx, next);
    return TESS_DELIVER(status, B, tess_matrix_destroy, out);
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
