/* The pieces of lines in each slice. */
#include <stdlib.h>
#include <string.h>

#include "format/fbcsr/runs.h"

enum { WARP = TESS_FBCSR_WARP };

typedef tess_fbcsr_line_part part;

/* Counts the parts of lines by slices, or lists them when there is room. */
static void walk_lines(tess_fbcsr_builder *B)
{
    const tess_fbcsr *F = B->F;
    int64_t scalar = 0;
    for (int s = 0; s < F->splits; s++) {
        const tess_fbcsr_split *split = &F->split[s];
        const tess_shape *shape = &split->shape;
        for (int64_t b = 0; tess_fbcsr_is_line(shape) && b < split->blocks; b++) {
            int64_t top = split->rows[b], end = top + shape->height, to;
            for (int64_t row = top; row < end; row = to) {
                int64_t slice = row / WARP;
                to = (slice + 1) * WARP < end ? (slice + 1) * WARP : end;
                if (B->parts)
                    B->parts[B->part_offsets[slice]++] =
                        (part){.line = split->cols[b] - (int64_t)shape->shift * top,
                               .row = row,
                               .rows = to - row,
                               .scalar = scalar + b * shape->height + (row - top),
                               .shift = shape->shift};
                else
                    B->part_offsets[slice + 1]++;
            }
        }
        scalar += split->blocks * tess_shape_cells(shape);
    }
}

static int by_line(const void *a, const void *b)
{
    const part *x = a, *y = b;
    if (x->shift != y->shift)
        return x->shift < y->shift ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Whether the part goes on where the one before it in the same slice ends. */
static bool continues(const part *before, const part *after)
{
    return before->shift == after->shift && before->line == after->line &&
           before->row + before->rows == after->row;
}

/* Which piece each part belongs to, and where its values lie. */
static tess_fbcsr_line_count number_pieces(part *parts, int64_t count)
{
    tess_fbcsr_line_count found = {0};
    for (int64_t p = 0; p < count; p++) {
        found.pieces += p == 0 || !continues(&parts[p - 1], &parts[p]);
        parts[p].piece = found.pieces - 1;
        parts[p].value = found.values;
        found.values += (int32_t)parts[p].rows;
    }
    return found;
}

tess_status tess_fbcsr_list_lines(tess_fbcsr_builder *B)
{
    const int64_t slices = tess_ceil_div(B->A->rows, WARP);
    TESS_TRY(TESS_CALLOC(B->ctx, slices + 1, &B->part_offsets));
    TESS_TRY(TESS_CALLOC(B->ctx, slices, &B->line_counts));
    walk_lines(B);
    tess_counts_to_offsets(B->part_offsets, slices);
    TESS_TRY(TESS_ALLOC(B->ctx, B->part_offsets[slices] + 1, &B->parts));
    walk_lines(B);
    memmove(B->part_offsets + 1, B->part_offsets, (size_t)slices * sizeof *B->part_offsets);
    B->part_offsets[0] = 0;
#pragma omp parallel for num_threads(B->ctx->threads) schedule(static)
    for (int64_t s = 0; s < slices; s++) {
        part *parts = B->parts + B->part_offsets[s];
        int64_t count = B->part_offsets[s + 1] - B->part_offsets[s];
        qsort(parts, (size_t)count, sizeof *parts, by_line);
        B->line_counts[s] = number_pieces(parts, count);
    }
    return TESS_OK;
}
