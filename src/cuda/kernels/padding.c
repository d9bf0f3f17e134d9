/* Padding counted from the exact lengths of the rows, without making the layout. */
#include "cuda/kernels/padding.h"

/* Lengths of the rows, those of more than `split` blocks cut in segments (0: none). */
static tess_status row_lengths(tess_ctx *ctx, const tess_matrix *A, int64_t split, int32_t **out,
                               int64_t *count)
{
    int64_t rows = 0, at = 0;
    for (int64_t i = 0; i < A->block_rows; i++) {
        int64_t length = A->row_offsets[i + 1] - A->row_offsets[i];
        rows += split > 0 && length > split ? tess_ceil_div(length, split) : 1;
    }
    int32_t *lengths;
    TESS_TRY(TESS_ALLOC(ctx, rows, &lengths));
    for (int64_t i = 0; i < A->block_rows; i++) {
        int64_t length = A->row_offsets[i + 1] - A->row_offsets[i];
        for (; split > 0 && length > split; length -= split)
            lengths[at++] = (int32_t)split;
        lengths[at++] = (int32_t)length;
    }
    *out = lengths;
    *count = rows;
    return TESS_OK;
}

/* Blocks with padding of rows stored `height` at a time, each as long as the longest of them,
 * rounded up to `step`. */
static int64_t padded_in_order(const int32_t *lengths, int64_t count, int64_t height, int64_t step)
{
    int64_t sum = 0;
    for (int64_t first = 0; first < count; first += height) {
        int64_t longest = 0;
        for (int64_t i = first; i < first + height && i < count; i++)
            longest = tess_max(lengths[i], longest);
        sum += tess_ceil_div(longest, step) * step * height;
    }
    return sum;
}

/* The same when they are sorted by falling length before: counted, not sorted. `counts` has room
 * for every length and is all 0 before and after. */
static int64_t padded_sorted(const int32_t *lengths, int64_t count, int64_t height, int64_t step,
                             int64_t *counts)
{
    int64_t sum = 0, before = 0, longest = 0;
    for (int64_t i = 0; i < count; i++) {
        counts[lengths[i]]++;
        longest = tess_max(lengths[i], longest);
    }
    for (int64_t length = longest; length >= 0; length--) {
        /* Groups whose first row has this length. */
        int64_t groups =
            tess_ceil_div(before + counts[length], height) - tess_ceil_div(before, height);
        sum += groups * tess_ceil_div(length, step) * step * height;
        before += counts[length];
        counts[length] = 0;
    }
    return sum;
}

/* Rows in their order that are not cut, or stand alone: no list of lengths is needed. */
struct pad_in_order {
    const tess_matrix *A;
    const tess_cuda_arrangement *how;
    int64_t blocks, rows;
};

static void pad_in_order(void *arg, tess_range groups)
{
    struct pad_in_order *job = arg;
    const tess_cuda_arrangement *how = job->how;
    const int64_t *offsets = job->A->row_offsets, all = job->A->block_rows;
    int64_t blocks = 0, rows = 0;
    for (int64_t g = groups.first; g < groups.last; g++) {
        const int64_t first = g * how->height, end = tess_min(first + how->height, all);
        int64_t longest = 0, whole = 0;
        for (int64_t i = first; i < end; i++)
            longest = tess_max(longest, offsets[i + 1] - offsets[i]);
        if (how->split > 0 && longest > how->split)
            whole = (longest - 1) / how->split; /* segments before the last */
        blocks += whole * tess_ceil_div(how->split, how->step) * how->step;
        blocks += tess_ceil_div(longest - whole * how->split, how->step) * how->step * how->height;
        rows += end - first + whole;
    }
    tess_take(&job->blocks, blocks);
    tess_take(&job->rows, rows);
}

tess_status tess_cuda_pad_rows(tess_ctx *ctx, const tess_matrix *A,
                               const tess_cuda_arrangement *how, tess_cuda_padding *pad)
{
    if (how->window <= 1 && (how->split <= 0 || how->height == 1)) {
        struct pad_in_order job = {.A = A, .how = how};
        tess_for(ctx, tess_ceil_div(A->block_rows, how->height), pad_in_order, &job);
        pad->blocks = (double)job.blocks;
        pad->rows = (double)job.rows;
        return TESS_OK;
    }
    int32_t *lengths = NULL;
    int64_t count = 0, sum = 0, longest = 0, *counts = NULL;
    tess_status status;
    TESS_TRY_CLEAN(row_lengths(ctx, A, how->split, &lengths, &count));
    for (int64_t i = 0; i < count; i++)
        longest = tess_max(lengths[i], longest);
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, longest + 1, &counts));
    int64_t window = how->window > 1 ? how->window : count;
    for (int64_t first = 0; first < count; first += window) {
        int64_t here = tess_min(count - first, window);
        sum += how->window > 1
                   ? padded_sorted(lengths + first, here, how->height, how->step, counts)
                   : padded_in_order(lengths + first, here, how->height, how->step);
    }
    pad->blocks = (double)sum;
    pad->rows = (double)count;
cleanup:
    TESS_FREE(ctx, counts, lengths);
    return status;
}
