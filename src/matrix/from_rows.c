/* A matrix from block rows in any order with repeated columns: sorted, repetitions summed.
 *
 * Two passes in parallel over contiguous shares of the rows: count the distinct columns of each
 * row, then write them. An unsorted row is sorted in both passes, in scratch memory of its share.
 * Keeping it sorted between the passes would take 16 bytes per entry. A row that is already sorted
 * costs one scan of its columns.
 */
#include "matrix/sort.h"

/* The source, the target and the scratch memory of one share. */
typedef struct row_work {
    const tess_row_source *source;
    tess_matrix *A;
    tess_sort_key *keys, *scratch;
} row_work;

/* The same for all shares: share s has the scratch keys 2 at[s] .. 2 at[s + 1] - 1. */
typedef struct row_pass {
    const tess_row_source *source;
    tess_matrix *A;
    int64_t *at;
    tess_sort_key *keys;
} row_pass;

static bool is_sorted(const tess_row_source *source, int64_t row)
{
    const int64_t first = source->row_offsets[row];
    return tess_columns_rise(source->columns + first, source->row_offsets[row + 1] - first);
}

/* The positions of a row in the order of their columns. */
static const tess_sort_key *sort_row(const row_work *work, int64_t row)
{
    int64_t first = work->source->row_offsets[row];
    int64_t count = work->source->row_offsets[row + 1] - first;
    for (int64_t i = 0; i < count; i++)
        work->keys[i] = (tess_sort_key){work->source->columns[first + i], first + i};
    return tess_sort_keys(work->keys, work->scratch, count);
}

static int64_t count_distinct(const row_work *work, int64_t row)
{
    int64_t count = work->source->row_offsets[row + 1] - work->source->row_offsets[row];
    if (is_sorted(work->source, row))
        return count;
    const tess_sort_key *sorted = sort_row(work, row);
    int64_t distinct = 1;
    for (int64_t i = 1; i < count; i++)
        distinct += sorted[i].column != sorted[i - 1].column;
    return distinct;
}

static void add_value(tess_type type, void *to, int64_t i, const void *from, int64_t j)
{
    if (type == TESS_F64)
        ((double *)to)[i] += ((const double *)from)[j];
    else if (type == TESS_F32)
        ((float *)to)[i] += ((const float *)from)[j];
    else
        for (int64_t part = 0; part < 2; part++)
            add_value(tess_real_type(type), to, 2 * i + part, from, 2 * j + part);
}

/* Copies the source's block at `position` to block k of A, or adds it if `add`. */
static void take_block(const row_work *work, int64_t k, int64_t position, bool add)
{
    const tess_row_source *source = work->source;
    const tess_matrix *A = work->A;
    int32_t r = A->block_height, c = A->block_width;
    const size_t bytes = tess_block_bytes(r, c, A->type);
    char *to = (char *)A->values + (size_t)k * bytes;
    if (!source->values) {
        memset(to, 0, bytes);
        return;
    }
    int64_t entry = source->entry ? source->entry[position] : position;
    const char *from = (const char *)source->values + (size_t)entry * bytes;
    bool same_order = source->order == TESS_ORDER_COLUMN_MAJOR || r == 1 || c == 1;
    if (same_order && !add) {
        memcpy(to, from, bytes);
        return;
    }
    for (int64_t j = 0; j < c; j++)
        for (int64_t i = 0; i < r; i++) {
            const int64_t to_at = j * r + i, from_at = same_order ? to_at : i * c + j;
            if (add)
                add_value(A->type, to, to_at, from, from_at);
            else
                tess_copy_scalar(A->type, to, to_at, from, from_at);
        }
}

static void write_row(const row_work *work, int64_t row)
{
    const tess_row_source *source = work->source;
    tess_matrix *A = work->A;
    int64_t first = source->row_offsets[row], count = source->row_offsets[row + 1] - first;
    int64_t k = A->row_offsets[row];
    if (is_sorted(source, row)) {
        for (int64_t i = 0; i < count; i++, k++) {
            A->columns[k] = source->columns[first + i];
            take_block(work, k, first + i, false);
        }
    } else {
        const tess_sort_key *sorted = sort_row(work, row);
        for (int64_t i = 0; i < count; i++) {
            bool repeats = i > 0 && sorted[i].column == sorted[i - 1].column;
            k += repeats || i == 0 ? 0 : 1;
            A->columns[k] = sorted[i].column;
            take_block(work, k, sorted[i].position, repeats);
        }
    }
    tess_matrix_zero_padding(A, row);
}

/* Finds the length of the share's longest row that must be sorted. */
static void longest_of_share(void *arg, tess_range rows)
{
    const row_pass *pass = arg;
    int64_t longest = 0;
    for (int64_t row = rows.first; row < rows.last; row++) {
        int64_t count = pass->source->row_offsets[row + 1] - pass->source->row_offsets[row];
        if (count > longest && !is_sorted(pass->source, row))
            longest = count;
    }
    pass->at[rows.share + 1] = longest;
}

/* Counts the distinct columns of each row while A->columns is NULL, and writes the rows
 * afterwards. */
static void pass_over_share(void *arg, tess_range rows)
{
    const row_pass *pass = arg;
    const int64_t *at = pass->at + rows.share;
    tess_sort_key *keys = pass->keys + 2 * at[0];
    const row_work work = {pass->source, pass->A, keys, keys + at[1] - at[0]};
    for (int64_t row = rows.first; row < rows.last; row++) {
        if (!pass->A->columns)
            pass->A->row_offsets[row + 1] = count_distinct(&work, row);
        else
            write_row(&work, row);
    }
}

static void run_pass(row_pass *pass, tess_range_fn run)
{
    tess_for_rows(pass->A->ctx, pass->source->row_offsets, pass->A->block_rows, run, pass);
}

tess_status tess_matrix_from_rows(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                                  int32_t block_height, int32_t block_width,
                                  const tess_row_source *source, tess_matrix **out)
{
    tess_matrix *A;
    row_pass pass = {.source = source};
    TESS_TRY(tess_matrix_head(ctx, type, rows, cols, block_height, block_width, 0, &A));
    tess_status status;
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, A->block_rows + 1, &A->row_offsets));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, ctx->threads + 1, &pass.at));
    pass.A = A;
    run_pass(&pass, longest_of_share);
    tess_counts_to_offsets(pass.at, ctx->threads);
    /* The sum over shares is at most the number of entries. */
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, 2 * pass.at[ctx->threads], &pass.keys));
    run_pass(&pass, pass_over_share);
    tess_counts_to_offsets(A->row_offsets, A->block_rows);
    TESS_TRY_CLEAN(tess_matrix_allocate_blocks(A, A->row_offsets[A->block_rows]));
    run_pass(&pass, pass_over_share);
cleanup:
    TESS_FREE(ctx, pass.at, pass.keys);
    return TESS_DELIVER(status, A, tess_matrix_destroy, out);
}

tess_status tess_matrix_take_rows(tess_ctx *ctx, const tess_matrix *A, int64_t first, int64_t end,
                                  tess_matrix **out)
{
    const int64_t at = A->row_offsets[first], height = A->block_height;
    const size_t bytes = tess_block_bytes(height, A->block_width, A->type);
    int64_t *offsets;
    TESS_TRY(TESS_ALLOC(ctx, end - first + 1, &offsets));
    for (int64_t i = first; i <= end; i++)
        offsets[i - first] = A->row_offsets[i] - at;
    const tess_row_source source = {.row_offsets = offsets,
                                    .columns = A->columns + at,
                                    .values = (const char *)A->values + (size_t)at * bytes,
                                    .order = TESS_ORDER_COLUMN_MAJOR};
    const int64_t rows = tess_min(end * height, A->rows) - first * height;
    const tess_status status = tess_matrix_from_rows(ctx, A->type, tess_max(rows, 0), A->cols,
                                                     A->block_height, A->block_width, &source, out);
    tess_free(ctx, offsets);
    return status;
}
