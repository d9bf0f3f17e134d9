/* Rows dealt out to threads in contiguous ranges of nearly equal work. */
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

void tess_for_rows(tess_ctx *ctx, const int64_t *row_offsets, int64_t rows, tess_range_fn run,
                   void *arg)
{
    row_loop l = {.run = run, .arg = arg};
    for (int share = 0; share <= ctx->threads; share++)
        l.bounds[share] = tess_share_row(row_offsets, rows, share, ctx->threads);
    tess_parallel(ctx, ctx->threads, run_rows, &l);
}

struct find_longest {
    const int64_t *row_offsets;
    int64_t longest;
};

static void find_longest(void *arg, tess_range rows)
{
    struct find_longest *job = arg;
    int64_t longest = 0;
    for (int64_t i = rows.first; i < rows.last; i++)
        longest = tess_max(longest, job->row_offsets[i + 1] - job->row_offsets[i]);
    tess_raise(&job->longest, longest);
}

int64_t tess_matrix_longest_row(const tess_matrix *A)
{
    enum { MANY = 1 << 16 }; /* rows from which on threads pay */
    struct find_longest job = {.row_offsets = A->row_offsets};
    if (A->ctx && A->block_rows >= MANY)
        tess_for(A->ctx, A->block_rows, find_longest, &job);
    else
        find_longest(&job, (tess_range){0, A->block_rows, 0});
    return job.longest;
}

void tess_counts_to_offsets(int64_t *offsets, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        offsets[i + 1] += offsets[i];
}
