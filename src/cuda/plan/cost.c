/* What a kernel moves and keeps, for the performance model: the bytes of its layout with the
 * padding that the exact lengths of the rows ask for, without making the layout. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/plan/plan.h"

/* Lengths of the lines: rows, those of more than `split` blocks cut (0: none). */
static tess_status line_lengths(tess_ctx *ctx, const tess_matrix *A, int64_t split, int32_t **out,
                                int64_t *count)
{
    int64_t lines = 0, at = 0;
    for (int64_t i = 0; i < A->block_rows; i++) {
        int64_t length = A->row_offsets[i + 1] - A->row_offsets[i];
        lines += split > 0 && length > split ? tess_ceil_div(length, split) : 1;
    }
    int32_t *lengths;
    TESS_TRY(TESS_ALLOC(ctx, lines, &lengths));
    for (int64_t i = 0; i < A->block_rows; i++) {
        int64_t length = A->row_offsets[i + 1] - A->row_offsets[i];
        for (; split > 0 && length > split; length -= split)
            lengths[at++] = (int32_t)split;
        lengths[at++] = (int32_t)length;
    }
    *out = lengths;
    *count = lines;
    return TESS_OK;
}

/* Blocks with padding of lines that go `height` at a time, each as long as the longest of them,
 * rounded up to `step`. */
static int64_t padded_in_order(const int32_t *lengths, int64_t count, int64_t height, int64_t step)
{
    int64_t sum = 0;
    for (int64_t first = 0; first < count; first += height) {
        int64_t longest = 0;
        for (int64_t i = first; i < first + height && i < count; i++)
            longest = lengths[i] > longest ? lengths[i] : longest;
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
        longest = lengths[i] > longest ? lengths[i] : longest;
    }
    for (int64_t length = longest; length >= 0; length--) {
        /* Groups whose first line has this length. */
        int64_t groups =
            tess_ceil_div(before + counts[length], height) - tess_ceil_div(before, height);
        sum += groups * tess_ceil_div(length, step) * step * height;
        before += counts[length];
        counts[length] = 0;
    }
    return sum;
}

/* How lines are made of rows and put side by side. */
typedef struct arrangement {
    int64_t split;  /* longest line; 0: no limit */
    int64_t window; /* lines sorted together; 0 or 1: none */
    int64_t height, step;
} arrangement;

static tess_status padded_blocks(tess_ctx *ctx, const tess_matrix *A, const arrangement *how,
                                 double *blocks, double *lines)
{
    int32_t *lengths = NULL;
    int64_t count = 0, sum = 0, longest = 0, *counts = NULL;
    tess_status status;
    TESS_TRY_CLEAN(line_lengths(ctx, A, how->split, &lengths, &count));
    for (int64_t i = 0; i < count; i++)
        longest = lengths[i] > longest ? lengths[i] : longest;
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, longest + 1, &counts));
    int64_t window = how->window > 1 ? how->window : count;
    for (int64_t first = 0; first < count; first += window) {
        int64_t here = count - first < window ? count - first : window;
        sum += how->window > 1
                   ? padded_sorted(lengths + first, here, how->height, how->step, counts)
                   : padded_in_order(lengths + first, here, how->height, how->step);
    }
    *blocks = (double)sum;
    *lines = (double)count;
cleanup:
    tess_free(ctx, counts);
    tess_free(ctx, lengths);
    return status;
}

/* The number after "key=" in a layout, or `otherwise`. */
static int64_t layout_number(const char *layout, const char *key, int64_t otherwise)
{
    size_t length = strlen(key);
    for (const char *at = strpbrk(layout, ":,"); at; at = strpbrk(at + 1, ":,"))
        if (strncmp(at + 1, key, length) == 0 && at[1 + length] == '=')
            return strtoll(at + 2 + length, NULL, 10);
    return otherwise;
}

/* Bytes of the arrays that a product reads in this layout. The entries of short lines that only
 * fill up a slice are stored but, as the kernels know the lengths, hardly read: `moved` has half of
 * them, for the parts of transactions that are fetched with others. */
static tess_status layout_bytes(tess_ctx *ctx, const tess_matrix *A, const char *layout,
                                double *stored, double *moved)
{
    double value = (double)tess_type_size(A->type), rows = (double)A->block_rows;
    double block = 4 + value * A->block_height * A->block_width, blocks = (double)A->blocks;
    double padded = blocks, lines = rows, line_bytes = 8;
    if (strncmp(layout, "sliced", 6) == 0) {
        int64_t vector = layout_number(layout, "V", 1), panels = layout_number(layout, "panels", 1);
        arrangement how = {layout_number(layout, "lambda", 0), layout_number(layout, "sigma", 1),
                           layout_number(layout, "C", 32), 1};
        while (how.step * A->block_width % vector != 0)
            how.step *= 2;
        TESS_TRY(padded_blocks(ctx, A, &how, &padded, &lines));
        line_bytes = how.window > 1 || how.split > 0 || panels > 1 ? 8 : 4;
        double y_again = 2 * value * A->block_height / line_bytes;
        lines += (lines - rows) * 2 * value * A->block_height / line_bytes; /* sums of cut rows */
        lines += (double)(panels - 1) * rows * (1 + y_again);
    } else if (strncmp(layout, "swept", 5) == 0) {
        line_bytes = 0;
    } else if (strncmp(layout, "interleaved", 11) == 0) {
        arrangement how = {0, layout_number(layout, "sort", 1) ? A->block_rows : 1,
                           layout_number(layout, "By", 1), layout_number(layout, "Bx", 1)};
        TESS_TRY(padded_blocks(ctx, A, &how, &padded, &lines));
    } else if (strncmp(layout, "balanced", 8) == 0) {
        arrangement how = {layout_number(layout, "lambda", 32), 0, 1, 1};
        TESS_TRY(padded_blocks(ctx, A, &how, &padded, &lines));
        line_bytes = 8 + 2 * value * A->block_height;
    }
    *stored = padded * block + lines * line_bytes;
    *moved = (blocks + 0.5 * (padded - blocks)) * block + lines * line_bytes +
             value * (double)(A->rows + A->cols);
    return TESS_OK;
}

tess_status tess_cuda_costs(tess_device *device, const tess_matrix *A, tess_candidates *list)
{
    tess_cuda *cuda = tess_cuda_of(device);
    tess_cuda_problem problem;
    tess_cuda_describe_problem(cuda, A, &problem);
    char known[TESS_CUDA_LAYOUT] = "", layout[TESS_CUDA_LAYOUT];
    double stored = 0, moved = 0;
    for (int64_t i = 0; i < list->count; i++) {
        tess_candidate *c = &list->items[i];
        const tess_cuda_kernel *kernel = tess_cuda_kernel_find(c->kernel);
        if (!kernel || strcmp(kernel->format, "fbcsr") == 0) /* was priced when it was listed */
            continue;
        int params[TESS_CUDA_PARAMS];
        kernel->guess(&problem, params);
        TESS_TRY(tess_cuda_params_read(cuda->ctx, kernel, c->params, params));
        kernel->layout(&problem, params, layout, sizeof layout);
        if (strcmp(layout, known) != 0)
            TESS_TRY(layout_bytes(cuda->ctx, A, layout, &stored, &moved));
        memcpy(known, layout, sizeof known);
        /* A kernel for some matrices only was not measured on the model's: like the best. */
        snprintf(c->class_name, sizeof c->class_name, "%s",
                 kernel->made_for ? "sliced" : kernel->name);
        c->naive = strcmp(kernel->name, A->block_width > 1 ? "by_column" : "by_block") == 0;
        c->bytes = moved;
        c->memory = stored;
    }
    return TESS_OK;
}
