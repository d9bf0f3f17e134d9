/* The permuted matrix of a regrouped plan, and its values (regrouped.h).
 *
 * A value of A's row i and column j is at row new(i) mod b, column new(j) mod b of the block of
 * (new(i) / b, new(j) / b). The blocks of a block row are found through a table with the place of
 * each block column in that row. Each share has a table.
 */
#include "plan/regrouped.h"

#include "matrix/arrange/arrange.h"

/* NO_ORDER: from this mean distance of blocks to the diagonal on, as a share of all block rows,
 * another order of the groups is looked for; in random order it is a third. LEFT: the order must
 * reduce that distance to at most this share of it. */
#define NO_ORDER 0.2
#define LEFT 0.5

/* Block columns from a block to the diagonal, in the mean. */
static double mean_distance(const tess_matrix *B)
{
    double sum = 0;
    for (int64_t i = 0; i < B->block_rows; i++)
        for (int64_t k = B->row_offsets[i]; k < B->row_offsets[i + 1]; k++)
            sum += (double)llabs(B->columns[k] - i);
    return B->blocks > 0 ? sum / (double)B->blocks : 0;
}

/* The groups of `order` in the order p of block rows. */
static tess_status order_groups(tess_ctx *ctx, const int64_t *p, int64_t groups, int32_t block,
                                int64_t *order)
{
    int64_t *old;
    TESS_TRY(TESS_ALLOC(ctx, groups * block, &old));
    memcpy(old, order, (size_t)(groups * block) * sizeof *order);
    for (int64_t i = 0; i < groups * block; i++)
        order[i] = old[p[i / block] * block + i % block];
    tess_free(ctx, old);
    return TESS_OK;
}

tess_status tess_regroup_near(tess_ctx *ctx, tess_matrix **B, int64_t *order, bool *changed)
{
    tess_arrangement near = {.ctx = ctx};
    tess_matrix *nearer = NULL;
    tess_status status = TESS_OK;
    const double before = mean_distance(*B);
    *changed = false;
    if ((*B)->rows % (*B)->block_height != 0 || before < NO_ORDER * (double)(*B)->block_rows)
        return TESS_OK;
    TESS_TRY_CLEAN(tess_arrangement_open(ctx, *B, &near));
    TESS_TRY_CLEAN(tess_arrange_bandwidth(*B, &near));
    TESS_TRY_CLEAN(tess_matrix_permute(ctx, *B, near.row_order, &nearer));
    if (!(mean_distance(nearer) < LEFT * before))
        goto cleanup;
    TESS_TRY_CLEAN(order_groups(ctx, near.row_order, (*B)->block_rows, (*B)->block_height, order));
    tess_matrix *replaced = *B;
    *B = nearer;
    nearer = replaced;
    *changed = true;
cleanup:
    tess_arrangement_close(&near);
    tess_matrix_destroy(nearer);
    return status;
}

tess_status tess_regroup_matrix(tess_ctx *ctx, const tess_matrix *A, const int64_t *order,
                                int32_t block, tess_matrix **out)
{
    const tess_blocking blocking = {block, block};
    tess_matrix *scalars = NULL, *permuted = NULL;
    const tess_matrix *entries = A;
    tess_status status = TESS_OK;
    if (A->block_height > 1 || A->block_width > 1) {
        TESS_TRY_CLEAN(tess_matrix_to_csr(ctx, A, TESS_ZEROS_KEEP, &scalars));
        entries = scalars;
    }
    TESS_TRY_CLEAN(tess_matrix_permute(ctx, entries, order, &permuted));
    TESS_TRY_CLEAN(tess_matrix_to_blocks(ctx, permuted, &blocking, out));
cleanup:
    tess_matrix_destroy(scalars);
    tess_matrix_destroy(permuted);
    return status;
}

typedef struct filling {
    const tess_matrix *A;
    const void *values;
    const int32_t *new_row;
    const int32_t *old_row; /* its inverse */
    tess_matrix *B;
    int64_t *place; /* B's block columns for each share */
} filling;

/* Copies one scalar row of A to row `to` of B's block row. */
static void fill_row(const filling *job, int64_t row, int64_t to, const int64_t *place)
{
    const tess_matrix *A = job->A;
    const int32_t h = A->block_height, w = A->block_width, b = job->B->block_height;
    const int64_t block_row = row / h, inside = row % h;
    for (int64_t k = A->row_offsets[block_row]; k < A->row_offsets[block_row + 1]; k++)
        for (int32_t c = 0; c < w; c++) {
            const int64_t column = (int64_t)A->columns[k] * w + c;
            if (column >= A->cols)
                break;
            const int64_t j = job->new_row[column], from = (k * w + c) * h + inside;
            const int64_t at = (place[j / b] * b + j % b) * b + to;
            if (A->type == TESS_F64)
                ((double *)job->B->values)[at] = ((const double *)job->values)[from];
            else
                ((float *)job->B->values)[at] = ((const float *)job->values)[from];
        }
}

static void fill_rows(void *arg, tess_range rows)
{
    const filling *job = arg;
    tess_matrix *B = job->B;
    const int32_t b = B->block_height;
    int64_t *place = job->place + rows.share * B->block_cols;
    for (int64_t g = rows.first; g < rows.last; g++) {
        for (int64_t k = B->row_offsets[g]; k < B->row_offsets[g + 1]; k++)
            place[B->columns[k]] = k;
        const int64_t last = tess_min((g + 1) * b, B->rows);
        for (int64_t i = g * b; i < last; i++)
            fill_row(job, job->old_row[i], i - g * b, place);
    }
}

/* Padding and the zeros that fill up blocks are never written again. */
tess_status tess_regroup_values(const tess_matrix *A, const void *values, const int32_t *old_row,
                                const int32_t *new_row, tess_matrix *B)
{
    filling job = {A, values, new_row, old_row, B, NULL};
    TESS_TRY(TESS_ALLOC(B->ctx, B->ctx->threads * B->block_cols, &job.place));
    tess_for_rows(B->ctx, B->row_offsets, B->block_rows, fill_rows, &job);
    tess_free(B->ctx, job.place);
    return TESS_OK;
}
