/* Entries in any order, sorted by row: a counting sort that keeps the order within each row.
 *
 * Every thread owns a contiguous range of rows, reads all row indices and takes the entries of its
 * range. So no atomics are needed, and the order of the input survives for any number of threads.
 * Reading all indices streams 8 bytes per entry, which costs little beside the scattered writes.
 */
#include "matrix/matrix.h"

typedef struct scatter {
    const tess_coo_piece *pieces;
    int64_t count;
    int64_t *row_offsets;
    int32_t *columns;
    int64_t *entry; /* may be NULL */
} scatter;

static void count_rows(void *arg, tess_range rows)
{
    const scatter *job = arg;
    int64_t *counts = job->row_offsets + 1;
    for (int64_t p = 0; p < job->count; p++) {
        const tess_coo_piece *piece = &job->pieces[p];
        for (int64_t k = 0; k < piece->entries; k++)
            if (piece->row_index[k] >= rows.first && piece->row_index[k] < rows.last)
                counts[piece->row_index[k]]++;
    }
}

/* `base` is the number of the piece's first entry. */
static void place_piece(const scatter *job, const tess_coo_piece *piece, int64_t base,
                        tess_range rows)
{
    for (int64_t k = 0; k < piece->entries; k++) {
        int64_t row = piece->row_index[k];
        if (row < rows.first || row >= rows.last)
            continue;
        int64_t to = job->row_offsets[row]++;
        job->columns[to] = (int32_t)piece->col_index[k];
        if (job->entry)
            job->entry[to] = base + k;
    }
}

static void place_rows(void *arg, tess_range rows)
{
    const scatter *job = arg;
    int64_t base = 0;
    for (int64_t p = 0; p < job->count; base += job->pieces[p].entries, p++)
        place_piece(job, &job->pieces[p], base, rows);
}

void tess_scatter_rows(tess_ctx *ctx, int64_t rows, const tess_coo_piece *pieces, int64_t count,
                       int64_t *row_offsets, int32_t *columns, int64_t *entry)
{
    scatter job = {pieces, count, row_offsets, columns, entry};
    tess_for(ctx, rows, count_rows, &job);
    tess_counts_to_offsets(row_offsets, rows);
    /* row_offsets[i] moves to the end of row i. */
    tess_for_rows(ctx, row_offsets, rows, place_rows, &job);
    memmove(row_offsets + 1, row_offsets, (size_t)rows * sizeof *row_offsets);
    row_offsets[0] = 0;
}
