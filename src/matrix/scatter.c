/* Entries in any order, sorted by row: a counting sort that keeps the order within each row.
 *
 * Every thread owns a contiguous range of rows, reads all row indices and takes those of its range.
 * Reading is a plain stream of 8 bytes an entry, cheap beside the scattered writes it saves from
 * atomics, and the order of the input survives for any number of threads.
 */
#include "core/threads.h"
#include "matrix/matrix.h"

static void count_range(const tess_coo_piece *piece, int64_t first, int64_t last, int64_t *counts)
{
    for (int64_t k = 0; k < piece->entries; k++)
        if (piece->row_index[k] >= first && piece->row_index[k] < last)
            counts[piece->row_index[k]]++;
}

/* `base` is the number of the piece's first entry. */
static void place_range(const tess_coo_piece *piece, int64_t base, int64_t first, int64_t last,
                        int64_t *next, int32_t *columns, int64_t *entry)
{
    for (int64_t k = 0; k < piece->entries; k++) {
        int64_t row = piece->row_index[k];
        if (row < first || row >= last)
            continue;
        int64_t to = next[row]++;
        columns[to] = (int32_t)piece->col_index[k];
        if (entry)
            entry[to] = base + k;
    }
}

struct count_share {
    int64_t rows, count;
    const tess_coo_piece *pieces;
    int64_t *row_offsets;
    int n;
};

static void count_share(void *arg, int t)
{
    const struct count_share *job = arg;
    const int n = job->n;
    int64_t step = tess_ceil_div(job->rows, n);
    for (int64_t p = 0; p < job->count; p++)
        count_range(&job->pieces[p], t * step, (t + 1) * step, job->row_offsets + 1);
}

struct place_share {
    const tess_coo_piece *pieces;
    int64_t count;
    const int64_t *bounds; /* rows of share t: bounds[t] .. bounds[t + 1] - 1 */
    int64_t *row_offsets;
    int32_t *columns;
    int64_t *entry;
};

static void place_share(void *arg, int t)
{
    const struct place_share *job = arg;
    int64_t base = 0;
    for (int64_t p = 0; p < job->count; base += job->pieces[p].entries, p++)
        place_range(&job->pieces[p], base, job->bounds[t], job->bounds[t + 1], job->row_offsets,
                    job->columns, job->entry);
}

void tess_scatter_rows(tess_ctx *ctx, int64_t rows, const tess_coo_piece *pieces, int64_t count,
                       int64_t *row_offsets, int32_t *columns, int64_t *entry)
{
    const int n = ctx->threads;
    int64_t bounds[TESS_THREADS_MAX + 1];
    tess_parallel(ctx, ctx->threads, count_share,
                  &(struct count_share){rows, count, pieces, row_offsets, ctx->threads});
    tess_counts_to_offsets(row_offsets, rows);
    /* From here on row_offsets[i] moves to the end of row i: the shares are cut before. */
    for (int t = 0; t <= n; t++)
        bounds[t] = tess_share_row(row_offsets, rows, t, n);
    tess_parallel(ctx, n, place_share,
                  &(struct place_share){pieces, count, bounds, row_offsets, columns, entry});
    memmove(row_offsets + 1, row_offsets, (size_t)rows * sizeof *row_offsets);
    row_offsets[0] = 0;
}
