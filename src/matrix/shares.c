/* Deals out rows to threads in contiguous ranges of nearly equal work. */
#include "matrix/matrix.h"

int64_t tess_share_row(const int64_t *row_offsets, int64_t rows, int share, int shares)
{
    /* A row costs its entries plus one, so that empty rows are dealt out as well. The quotient is
     * split to keep the product small: work * share may exceed 63 bits. */
    int64_t work = row_offsets[rows] + rows;
    int64_t target = work / shares * share + work % shares * share / shares;
    int64_t low = 0, high = rows;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (row_offsets[middle] + middle < target)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

typedef struct row_loop {
    tess_range_fn run;
    void *arg;
    int64_t bounds[TESS_THREADS_MAX + 1]; /* share s has rows bounds[s] .. bounds[s + 1] - 1 */
} row_loop;

static void run_rows(void *arg, int share)
{
    const row_loop *l = arg;
    l->run(l->arg, (tess_range){l->bounds[share], l->bounds[share + 1], share});
}

void tess_for_row_shares(tess_ctx *ctx, int shares, const int64_t *row_offsets, int64_t rows,
                         tess_range_fn run, void *arg)
{
    row_loop l = {.run = run, .arg = arg};
    for (int share = 0; share <= shares; share++)
        l.bounds[share] = tess_share_row(row_offsets, rows, share, shares);
    tess_parallel(ctx, shares, run_rows, &l);
}

void tess_for_rows(tess_ctx *ctx, const int64_t *row_offsets, int64_t rows, tess_range_fn run,
                   void *arg)
{
    tess_for_row_shares(ctx, ctx->threads, row_offsets, rows, run, arg);
}

static int64_t find_longest(const void *row_offsets, tess_range rows)
{
    const int64_t *offsets = row_offsets;
    int64_t longest = 0;
    for (int64_t i = rows.first; i < rows.last; i++)
        longest = tess_max(longest, offsets[i + 1] - offsets[i]);
    return longest;
}

int64_t tess_matrix_longest_row(const tess_matrix *A)
{
    enum { MANY = 1 << 16 }; /* from this many rows on threads pay */
    if (A->ctx && A->block_rows >= MANY)
        return tess_reduce(A->ctx, A->block_rows, TESS_LARGEST, find_longest, A->row_offsets);
    return find_longest(A->row_offsets, (tess_range){0, A->block_rows, 0});
}

/* A counting sort: next[longest - n] is the place in `order` of the next row of n entries. */
tess_status tess_rows_by_length(tess_ctx *ctx, const int64_t *row_offsets, int64_t rows,
                                int32_t *order)
{
    const int64_t longest = find_longest(row_offsets, (tess_range){0, rows, 0});
    int64_t *next;
    TESS_TRY(TESS_CALLOC(ctx, longest + 2, &next));
    for (int64_t row = 0; row < rows; row++)
        next[longest - (row_offsets[row + 1] - row_offsets[row]) + 1]++;
    tess_counts_to_offsets(next, longest + 1);
    for (int64_t row = 0; row < rows; row++)
        order[next[longest - (row_offsets[row + 1] - row_offsets[row])]++] = (int32_t)row;
    tess_free(ctx, next);
    return TESS_OK;
}

void tess_counts_to_offsets(int64_t *offsets, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        offsets[i + 1] += offsets[i];
}
