/* Blocks to single entries: CSR and coordinates. Entries come out by rows, then columns. */
#include "matrix/matrix.h"

/* A pass over the entries. It counts them into `offsets`, or writes them to `columns` (CSR) or to
 * `row_index` and `col_index` (coordinates). */
typedef struct row_walk {
    tess_ctx *ctx;
    const tess_matrix *A;
    bool keep_zeros;
    int64_t *offsets;
    int32_t *columns;
    int64_t *row_index, *col_index;
    char *values;
} row_walk;

/* Finds the next entry of scalar row i of block row ib, from column *j of block *k on. Returns
 * false at the end of the row. *at is the entry's place in the values. */
static bool next_entry(const row_walk *walk, int64_t ib, int32_t i, int64_t *k, int32_t *j,
                       int64_t *at)
{
    const tess_matrix *A = walk->A;
    for (; *k < A->row_offsets[ib + 1]; (*k)++, *j = 0) {
        int64_t left = A->cols - (int64_t)A->columns[*k] * A->block_width;
        int32_t width = (int32_t)tess_min(left, A->block_width);
        for (; *j < width; (*j)++) {
            *at = (*k * A->block_width + *j) * A->block_height + i;
            if (walk->keep_zeros || !tess_matrix_is_zero(A, *at))
                return true;
        }
    }
    return false;
}

static void count_share(void *arg, tess_range block_rows)
{
    const row_walk *walk = arg;
    const tess_matrix *A = walk->A;
    for (int64_t ib = block_rows.first; ib < block_rows.last; ib++) {
        for (int32_t i = 0; i < A->block_height && ib * A->block_height + i < A->rows; i++) {
            int64_t k = A->row_offsets[ib], at, count = 0;
            for (int32_t j = 0; next_entry(walk, ib, i, &k, &j, &at); j++)
                count++;
            walk->offsets[ib * A->block_height + i + 1] = count;
        }
    }
}

/* Counts the entries of every scalar row and makes the counts offsets: offsets[rows + 1], zeroed
 * before. */
static void count_rows(row_walk *walk)
{
    const tess_matrix *A = walk->A;
    tess_for_rows(walk->ctx, A->row_offsets, A->block_rows, count_share, walk);
    tess_counts_to_offsets(walk->offsets, A->rows);
}

static void fill_share(void *arg, tess_range rows)
{
    const row_walk *walk = arg;
    const tess_matrix *A = walk->A;
    const size_t size = tess_type_size(A->type);
    for (int64_t row = rows.first; row < rows.last; row++) {
        int64_t ib = row / A->block_height, k = A->row_offsets[ib], at, to = walk->offsets[row];
        int32_t i = (int32_t)(row % A->block_height);
        for (int32_t j = 0; next_entry(walk, ib, i, &k, &j, &at); j++, to++) {
            int64_t col = (int64_t)A->columns[k] * A->block_width + j;
            if (walk->columns) {
                walk->columns[to] = (int32_t)col;
            } else {
                walk->row_index[to] = row;
                walk->col_index[to] = col;
            }
            memcpy(walk->values + (size_t)to * size, (const char *)A->values + (size_t)at * size,
                   size);
        }
    }
}

static void fill_rows(row_walk *walk)
{
    tess_for_rows(walk->ctx, walk->offsets, walk->A->rows, fill_share, walk);
}

static tess_status check_zeros(tess_ctx *ctx, tess_zeros zeros)
{
    if (zeros == TESS_ZEROS_DROP || zeros == TESS_ZEROS_KEEP)
        return TESS_OK;
    return tess_fail(ctx, TESS_ERR_ARGUMENT,
                     "zeros %d is neither TESS_ZEROS_DROP nor TESS_ZEROS_KEEP", (int)zeros);
}

tess_status tess_matrix_to_csr(tess_ctx *ctx, const tess_matrix *A, tess_zeros zeros,
                               tess_matrix **out)
{
    TESS_NEED(ctx, ctx && A && out);
    TESS_TRY(check_zeros(ctx, zeros));
    row_walk walk = {.ctx = ctx, .A = A, .keep_zeros = zeros == TESS_ZEROS_KEEP};
    tess_matrix *B;
    TESS_TRY(tess_matrix_head(ctx, A->type, A->rows, A->cols, 1, 1, 0, &B));
    tess_status status;
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, B->rows + 1, &B->row_offsets));
    walk.offsets = B->row_offsets;
    count_rows(&walk);
    TESS_TRY_CLEAN(tess_matrix_allocate_blocks(B, B->row_offsets[B->rows]));
    walk.columns = B->columns;
    walk.values = B->values;
    fill_rows(&walk);
cleanup:
    return TESS_DELIVER(status, B, tess_matrix_destroy, out);
}

tess_status tess_matrix_to_coo(tess_ctx *ctx, const tess_matrix *A, tess_zeros zeros,
                               int64_t capacity, int64_t *row_index, int64_t *col_index,
                               void *values, int64_t *entries)
{
    TESS_NEED(ctx, ctx && A && entries);
    TESS_TRY(check_zeros(ctx, zeros));
    bool only_count = !row_index && !col_index && !values;
    row_walk walk = {.ctx = ctx,
                     .A = A,
                     .keep_zeros = zeros == TESS_ZEROS_KEEP,
                     .row_index = row_index,
                     .col_index = col_index,
                     .values = values};
    TESS_TRY(TESS_CALLOC(ctx, A->rows + 1, &walk.offsets));
    count_rows(&walk);
    int64_t count = walk.offsets[A->rows];
    tess_status status = TESS_OK;
    if (!only_count && count > 0 && (!row_index || !col_index || !values)) {
        status = tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_matrix_to_coo: an array is NULL");
    } else if (!only_count && capacity < count) {
        status = tess_fail(ctx, TESS_ERR_ARGUMENT,
                           "tess_matrix_to_coo: a capacity of %" PRId64 " is less than the %" PRId64
                           " entries",
                           capacity, count);
    } else {
        if (!only_count)
            fill_rows(&walk);
        *entries = count;
    }
    tess_free(ctx, walk.offsets);
    return status;
}
