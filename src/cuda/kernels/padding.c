/* Padding counted from the exact lengths of the rows, without making the layout. */
#include "cuda/kernels/padding.h"

/* Lengths of the rows. Rows of more than `split` blocks are cut into segments (0: none is cut). */
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

static int64_t whole_steps(int64_t length, int64_t step)
{
    return tess_ceil_div(length, step) * step;
}

/* Rows by their offsets, or by a list of their lengths. */
typedef struct row_list {
    const int64_t *offsets;
    const int32_t *lengths;
} row_list;

static int64_t length_of(const row_list *rows, int64_t i)
{
    return rows->lengths ? rows->lengths[i] : rows->offsets[i + 1] - rows->offsets[i];
}

static int64_t longest_of(const row_list *rows, int64_t first, int64_t end)
{
    int64_t longest = 0;
    for (int64_t i = first; i < end; i++)
        longest = tess_max(longest, length_of(rows, i));
    return longest;
}

/* Returns the bytes that are read of rows stored side by side. In a step of one block the bytes of
 * all rows lie together, and every transaction is made as often as the longest of its rows needs
 * it. */
static int64_t bytes_read(const row_list *rows, int64_t first, int64_t end,
                          const tess_cuda_arrangement *how)
{
    const int64_t together = how->height * how->bytes;
    int64_t sum = 0;
    if (how->bytes % TESS_CUDA_TRANSACTION == 0) { /* every row has transactions of its own */
        for (int64_t i = first; i < end; i++)
            sum += whole_steps(length_of(rows, i), how->step) * how->bytes;
        return sum;
    }
    for (int64_t at = 0; at < together; at += TESS_CUDA_TRANSACTION) {
        const int64_t behind = tess_min(at + TESS_CUDA_TRANSACTION, together);
        const int64_t next = tess_min(first + tess_ceil_div(behind, how->bytes), end);
        const int64_t longest = longest_of(rows, first + at / how->bytes, next);
        sum += whole_steps(longest, how->step) * (behind - at);
    }
    return sum;
}

/* What groups of `height` rows store, in blocks, and read, in bytes where the arrangement has
 * them. */
typedef struct padded {
    int64_t blocks, bytes;
} padded;

static padded padded_in_order(const row_list *rows, int64_t count, const tess_cuda_arrangement *how)
{
    padded sum = {0};
    for (int64_t first = 0; first < count; first += how->height) {
        const int64_t end = tess_min(first + how->height, count);
        sum.blocks += whole_steps(longest_of(rows, first, end), how->step) * how->height;
        sum.bytes += how->bytes > 0 ? bytes_read(rows, first, end, how) : 0;
    }
    return sum;
}

/* Returns the blocks that rows store, `height` at a time, when they are sorted by falling length.
 * The rows are counted by length, not sorted. `counts` has room for every length and is all 0
 * before and after. */
static int64_t blocks_sorted(const int32_t *lengths, int64_t count, int64_t height, int64_t step,
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
        sum += groups * whole_steps(length, step) * height;
        before += counts[length];
        counts[length] = 0;
    }
    return sum;
}

/* Sorted rows that share a transaction are taken as equally long: transactions that begin inside a
 * row are not looked at. */
static padded padded_sorted(const int32_t *lengths, int64_t count, const tess_cuda_arrangement *how,
                            int64_t *counts)
{
    padded sum = {.blocks = blocks_sorted(lengths, count, how->height, how->step, counts)};
    if (how->bytes > 0) {
        const int64_t share =
            tess_min(tess_ceil_div(TESS_CUDA_TRANSACTION, how->bytes), how->height);
        sum.bytes = blocks_sorted(lengths, count, share, how->step, counts) * how->bytes;
    }
    return sum;
}

/* Rows in their order, which are not cut or are stored one at a time: no list of lengths is
 * needed. */
struct pad_in_order {
    const tess_matrix *A;
    const tess_cuda_arrangement *how;
    int64_t blocks, rows, bytes;
};

static void pad_in_order(void *arg, tess_range groups)
{
    struct pad_in_order *job = arg;
    const tess_cuda_arrangement *how = job->how;
    const row_list list = {.offsets = job->A->row_offsets};
    int64_t blocks = 0, rows = 0, bytes = 0;
    for (int64_t g = groups.first; g < groups.last; g++) {
        const int64_t first = g * how->height;
        const int64_t end = tess_min(first + how->height, job->A->block_rows);
        int64_t longest = longest_of(&list, first, end), whole = 0;
        if (how->split > 0 && longest > how->split)
            whole = (longest - 1) / how->split; /* segments before the last */
        blocks += whole * whole_steps(how->split, how->step);
        blocks += whole_steps(longest - whole * how->split, how->step) * how->height;
        rows += end - first + whole;
        bytes += how->bytes > 0 ? bytes_read(&list, first, end, how) : 0;
    }
    tess_take(&job->blocks, blocks);
    tess_take(&job->rows, rows);
    tess_take(&job->bytes, bytes);
}

static void set_padding(const tess_cuda_arrangement *how, const padded *sum, int64_t rows,
                        tess_cuda_padding *pad)
{
    pad->blocks = (double)sum->blocks;
    pad->read = how->bytes > 0 ? (double)sum->bytes / (double)how->bytes : pad->blocks;
    pad->rows = (double)rows;
}

tess_status tess_cuda_pad_rows(tess_ctx *ctx, const tess_matrix *A,
                               const tess_cuda_arrangement *how, tess_cuda_padding *pad)
{
    padded sum = {0};
    if (how->window <= 1 && (how->split <= 0 || how->height == 1)) {
        struct pad_in_order job = {.A = A, .how = how};
        tess_for(ctx, tess_ceil_div(A->block_rows, how->height), pad_in_order, &job);
        sum = (padded){job.blocks, job.bytes};
        set_padding(how, &sum, job.rows, pad);
        return TESS_OK;
    }
    int32_t *lengths = NULL;
    int64_t count = 0, *counts = NULL;
    tess_status status;
    TESS_TRY_CLEAN(row_lengths(ctx, A, how->split, &lengths, &count));
    TESS_TRY_CLEAN(
        TESS_CALLOC(ctx, longest_of(&(row_list){.lengths = lengths}, 0, count) + 1, &counts));
    const int64_t window = how->window > 1 ? how->window : tess_max(count, 1);
    for (int64_t first = 0; first < count; first += window) {
        const int64_t here = tess_min(count - first, window);
        const padded part =
            how->window > 1 ? padded_sorted(lengths + first, here, how, counts)
                            : padded_in_order(&(row_list){.lengths = lengths + first}, here, how);
        sum.blocks += part.blocks;
        sum.bytes += part.bytes;
    }
    set_padding(how, &sum, count, pad);
cleanup:
    TESS_FREE(ctx, counts, lengths);
    return status;
}
