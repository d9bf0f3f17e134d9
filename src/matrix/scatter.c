/* Entries in any order, sorted by row: a counting sort that keeps the order within each row.
 *
 * Every thread owns a contiguous range of rows, reads all row indices and takes those of its range.
 * Reading is a plain stream of 8 bytes an entry, cheap beside the scattered writes it saves from
 * atomics, and the order of the input survives for any number of threads.
 */
#include <string.h>

#include <omp.h>

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

void tess_scatter_rows(tess_ctx *ctx, int64_t rows, const tess_coo_piece *pieces, int64_t count,
                       int64_t *row_offsets, int32_t *columns, int64_t *entry)
{
#pragma omp parallel num_threads(ctx->threads)
    {
        int t = omp_get_thread_num(), n = omp_get_num_threads();
        int64_t step = tess_ceil_div(rows, n);
        for (int64_t p = 0; p < count; p++)
            count_range(&pieces[p], t * step, (t + 1) * step, row_offsets + 1);
    }
    tess_counts_to_offsets(row_offsets, rows);
#pragma omp parallel num_threads(ctx->threads)
    {
        int t = omp_get_thread_num(), n = omp_get_num_threads();
        int64_t first = tess_share_row(row_offsets, rows, t, n), base = 0;
        int64_t last = tess_share_row(row_offsets, rows, t + 1, n);
#pragma omp barrier /* from here on row_offsets[i] moves to the end of row i */
        for (int64_t p = 0; p < count; base += pieces[p].entries, p++)
            place_range(&pieces[p], base, first, last, row_offsets, columns, entry);
    }
    memmove(row_offsets + 1, row_offsets, (size_t)rows * sizeof *row_offsets);
    row_offsets[0] = 0;
}
