/* Blocks to single entries: CSR and coordinates. Entries come out by rows, then columns. */
#include <inttypes.h>
#include <string.h>

#include "core/threads.h"
#include "matrix/matrix.h"

/* What a pass over the entries of one scalar row needs to know. */
typedef struct row_walk {
    tess_ctx *ctx;
    const tess_matrix *A;
    bool keep_zeros;
} row_walk;

/* The next entry of scalar row i of block row ib at or after block *k, column *j of that block:
 * false at the end. *at is its place in values. */
static bool next_entry(const row_walk *walk, int64_t ib, int32_t i, int64_t *k, int32_t *j,
                       int64_t *at)
{
    const tess_matrix *A = walk->A;
    for (; *k < A->row_offsets[ib + 1]; (*k)++, *j = 0) {
        int64_t left = A->cols - (int64_t)A->columns[*k] * A->block_width;
        int32_t width = left < A->block_width ? (int32_t)left : A->block_width;
        for (; *j < width; (*j)++) {
            *at = (*k * A->block_width + *j) * A->block_height + i;
            if (walk->keep_zeros || tess_matrix_value(A, *at) != 0)
                return true;
        }
    }
    return false;
}

struct count_share {
    const tess_matrix *A;
    const row_walk *walk;
    int64_t *offsets;
    int n;
};

static void count_share(void *arg, int t)
{
    const struct count_share *job = arg;
    const tess_matrix *A = job->A;
    const int n = job->n;
    int64_t last = tess_share_row(A->row_offsets, A->block_rows, t + 1, n);
    for (int64_t ib = tess_share_row(A->row_offsets, A->block_rows, t, n); ib < last; ib++) {
        for (int32_t i = 0; i < A->block_height && ib * A->block_height + i < A->rows; i++) {
            int64_t k = A->row_offsets[ib], at, count = 0;
            for (int32_t j = 0; next_entry(job->walk, ib, i, &k, &j, &at); j++)
                count++;
            job->offsets[ib * A->block_height + i + 1] = count;
        }
    }
}

/* Entries of every scalar row, then their prefix sums, in offsets[rows + 1] (zeroed before). */
static void count_rows(const row_walk *walk, int64_t *offsets)
{
    const tess_matrix *A = walk->A;
    tess_parallel(walk->ctx, walk->ctx->threads, count_share,
                  &(struct count_share){A, walk, offsets, walk->ctx->threads});
    tess_counts_to_offsets(offsets, A->rows);
}

/* Where entries go: either `columns` (CSR) or `row_index` and `col_index` (coordinates). */
typedef struct entry_target {
    int32_t *columns;
    int64_t *row_index, *col_index;
    char *values;
} entry_target;

struct fill_share {
    const int64_t *offsets;
    const tess_matrix *A;
    const row_walk *walk;
    const entry_target *target;
    size_t size;
    int n;
};

static void fill_share(void *arg, int t)
{
    const struct fill_share *job = arg;
    const int64_t *offsets = job->offsets;
    const tess_matrix *A = job->A;
    const entry_target *target = job->target;
    const size_t size = job->size;
    const int n = job->n;
    int64_t last = tess_share_row(offsets, A->rows, t + 1, n);
    for (int64_t row = tess_share_row(offsets, A->rows, t, n); row < last; row++) {
        int64_t ib = row / A->block_height, k = A->row_offsets[ib], at, to = offsets[row];
        int32_t i = (int32_t)(row % A->block_height);
        for (int32_t j = 0; next_entry(job->walk, ib, i, &k, &j, &at); j++, to++) {
            int64_t col = (int64_t)A->columns[k] * A->block_width + j;
            if (target->columns) {
                target->columns[to] = (int32_t)col;
            } else {
                target->row_index[to] = row;
                target->col_index[to] = col;
            }
            memcpy(target->values + (size_t)to * size, (const char *)A->values + (size_t)at * size,
                   size);
        }
    }
}

static void fill_rows(const row_walk *walk, const int64_t *offsets, const entry_target *target)
{
    const tess_matrix *A = walk->A;
    size_t size = tess_type_size(A->type);
    tess_parallel(walk->ctx, walk->ctx->threads, fill_share,
                  &(struct fill_share){offsets, A, walk, target, size, walk->ctx->threads});
}

tess_status tess_matrix_to_csr(tess_ctx *ctx, const tess_matrix *A, tess_zeros zeros,
                               tess_matrix **out)
{
    if (!ctx || !A || !out)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_matrix_to_csr: an argument is NULL");
    const row_walk walk = {ctx, A, zeros == TESS_ZEROS_KEEP};
    tess_matrix *B;
    TESS_TRY(tess_matrix_head(ctx, A->type, A->rows, A->cols, 1, 1, 0, &B));
    tess_status status;
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, B->rows + 1, &B->row_offsets));
    count_rows(&walk, B->row_offsets);
    TESS_TRY_CLEAN(tess_matrix_allocate_blocks(B, B->row_offsets[B->rows]));
    const entry_target target = {.columns = B->columns, .values = B->values};
    fill_rows(&walk, B->row_offsets, &target);
    *out = B;
    return TESS_OK;
cleanup:
    tess_matrix_destroy(B);
    return status;
}

tess_status tess_matrix_to_coo(tess_ctx *ctx, const tess_matrix *A, tess_zeros zeros,
                               int64_t capacity, int64_t *row_index, int64_t *col_index,
                               void *values, int64_t *entries)
{
    if (!ctx || !A || !entries)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_matrix_to_coo: an argument is NULL");
    bool only_count = !row_index && !col_index && !values;
    const row_walk walk = {ctx, A, zeros == TESS_ZEROS_KEEP};
    int64_t *offsets;
    TESS_TRY(TESS_CALLOC(ctx, A->rows + 1, &offsets));
    count_rows(&walk, offsets);
    int64_t count = offsets[A->rows];
    tess_status status = TESS_OK;
    if (!only_count && count > 0 && (!row_index || !col_index || !values)) {
        status = tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_matrix_to_coo: an array is NULL");
    } else if (!only_count && capacity < count) {
        status = tess_fail(ctx, TESS_ERR_ARGUMENT,
                           "tess_matrix_to_coo: a capacity of %" PRId64 " is less than the %" PRId64
                           " entries",
                           capacity, count);
    } else {
        const entry_target target = {
            .row_index = row_index, .col_index = col_index, .values = values};
        if (!only_count)
            fill_rows(&walk, offsets, &target);
        *entries = count;
    }
    tess_free(ctx, offsets);
    return status;
}
