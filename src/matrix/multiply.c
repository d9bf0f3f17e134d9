/* The pattern of C = A B, and the product as one call.
 *
 * A row of C is the union of the rows of B that a row of A names. Each thread keeps one mark a
 * block column: the last row that had it. Rows are counted, then listed and sorted.
 */
#include "matrix/multiply.h"

static int64_t list_row(const tess_matrix *A, const tess_matrix *B, int64_t row, int32_t *mark,
                        int32_t *columns)
{
    int64_t count = 0;
    for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++) {
        const int64_t j = A->columns[k];
        for (int64_t l = B->row_offsets[j]; l < B->row_offsets[j + 1]; l++) {
            const int32_t column = B->columns[l];
            if (mark[column] == row)
                continue;
            mark[column] = (int32_t)row;
            if (columns)
                columns[count] = column;
            count++;
        }
    }
    return count;
}

static int compare_columns(const void *a, const void *b)
{
    const int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return left < right ? -1 : left > right;
}

static void sort_columns(int32_t *columns, int64_t count)
{
    if (count > 64) {
        qsort(columns, (size_t)count, sizeof *columns, compare_columns);
        return;
    }
    for (int64_t i = 1; i < count; i++) {
        const int32_t column = columns[i];
        int64_t at = i;
        for (; at > 0 && columns[at - 1] > column; at--)
            columns[at] = columns[at - 1];
        columns[at] = column;
    }
}

struct walk_share {
    const tess_matrix *A, *B;
    tess_matrix *C;
    int32_t *marks;
};

static void walk_share(void *arg, tess_range rows)
{
    const struct walk_share *job = arg;
    tess_matrix *C = job->C;
    int32_t *mark = job->marks + rows.share * C->block_cols;
    for (int64_t j = 0; j < C->block_cols; j++)
        mark[j] = -1;
    for (int64_t i = rows.first; i < rows.last; i++) {
        int32_t *columns = C->columns ? C->columns + C->row_offsets[i] : NULL;
        const int64_t count = list_row(job->A, job->B, i, mark, columns);
        if (columns)
            sort_columns(columns, count);
        else
            C->row_offsets[i + 1] = count;
    }
}

/* Counts the rows of C, or lists them where C has columns. */
static void walk_rows(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B, tess_matrix *C,
                      int32_t *marks)
{
    tess_for_rows(ctx, A->row_offsets, A->block_rows, walk_share,
                  &(struct walk_share){A, B, C, marks});
}

static tess_status check(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B)
{
    if (A->cols != B->rows || A->block_width != B->block_height)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "A B: A has %lld columns in blocks of %d, B %lld rows in blocks of %d",
                         (long long)A->cols, (int)A->block_width, (long long)B->rows,
                         (int)B->block_height);
    if (A->type != B->type)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "A B: A is %s, B is %s", tess_type_name(A->type),
                         tess_type_name(B->type));
    TESS_TRY(tess_refuse_complex(ctx, "A B", A->type));
    if (A->block_rows > INT32_MAX)
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "A B: %lld block rows are more than 2^31-1",
                         (long long)A->block_rows);
    return TESS_OK;
}

tess_status tess_multiply_pattern(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B,
                                  tess_matrix **out)
{
    tess_matrix *C = NULL;
    int32_t *marks = NULL;
    tess_status status;
    TESS_TRY(check(ctx, A, B));
    TESS_TRY(
        tess_matrix_head(ctx, A->type, A->rows, B->cols, A->block_height, B->block_width, 0, &C));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, C->block_rows + 1, &C->row_offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, C->block_cols * ctx->threads, &marks));
    walk_rows(ctx, A, B, C, marks);
    tess_counts_to_offsets(C->row_offsets, C->block_rows);
    TESS_TRY_CLEAN(tess_matrix_allocate_blocks(C, C->row_offsets[C->block_rows]));
    walk_rows(ctx, A, B, C, marks);
    *out = C;
    C = NULL;
cleanup:
    tess_free(ctx, marks);
    tess_matrix_destroy(C);
    return status;
}

tess_status tess_matrix_multiply(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B,
                                 tess_matrix **out)
{
    tess_matrix *C;
    if (!ctx || !A || !B || !out)
        return tess_null_argument(ctx, __func__);
    TESS_TRY(tess_multiply_pattern(ctx, A, B, &C));
    const tess_status status = tess_multiply_values(ctx, A, B, C);
    if (status != TESS_OK) {
        tess_matrix_destroy(C);
        return status;
    }
    *out = C;
    return TESS_OK;
}
