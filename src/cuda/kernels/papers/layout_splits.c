/* The layout splits; its options are the list of shapes. */
#include "backend/shapes.h"
#include "cuda/kernels/papers/splits.h"

static void destroy_splits(tess_splits *S)
{
    if (S)
        TESS_FREE(S->ctx, S->starts, S->rows, S->cols, S->values, S->segments, S->long_rows,
                  S->long_segments, S->segment_values, S->map, S);
}

static int64_t start_count(const tess_shape *shape, int64_t rows)
{
    return shape->height < TESS_SPLITS_TALL ? rows + 1 : 2 * tess_ceil_div(rows, TESS_SPLITS_CHUNK);
}

/* Which splits there are, and how much they have. */
static tess_status measure_parts(tess_splits *S, const tess_fbcsr *F,
                                 const tess_fbcsr_options *shapes)
{
    tess_splits_part next = {.number = -1};
    for (S->count = 0; S->count < F->splits; S->count++) {
        const tess_fbcsr_split *split = &F->split[S->count];
        do
            next.number++; /* shapes without blocks have no split */
        while (strcmp(shapes->shape[next.number].name, split->shape.name) != 0);
        next.shape = split->shape;
        next.blocks = split->blocks;
        next.nonzeros = split->nonzeros;
        S->part[S->count] = next;
        next.start += start_count(&next.shape, F->rows);
        next.block += next.blocks;
        next.value += next.blocks * tess_shape_cells(&next.shape);
    }
    next.shape = (tess_shape){.name = "csr", .height = 1, .width = 1};
    next.blocks = next.nonzeros = F->rest->blocks;
    S->part[S->count] = next;
    if (next.block + next.blocks > TESS_CUDA_MOST)
        return tess_fail(S->ctx, TESS_ERR_OVERFLOW,
                         "splits: %lld blocks and entries do not fit 31 bits",
                         (long long)(next.block + next.blocks));
    return TESS_OK;
}

static tess_status allocate_arrays(tess_splits *S, int64_t rows)
{
    const tess_splits_part *rest = &S->part[S->count];
    TESS_TRY(TESS_ALLOC(S->ctx, rest->start + rows + 1, &S->starts));
    TESS_TRY(TESS_ALLOC(S->ctx, rest->block, &S->rows));
    TESS_TRY(TESS_ALLOC(S->ctx, rest->block + rest->blocks, &S->cols));
    return tess_alloc_bytes(S->ctx, rest->value + rest->blocks, tess_type_size(S->type),
                            &S->values);
}

/* The first block, from `at` on, that begins in `row` or behind it. */
static int64_t first_in(const tess_fbcsr_split *split, int64_t at, int64_t row)
{
    while (at < split->blocks && split->rows[at] < row)
        at++;
    return at;
}

static void fill_starts(const tess_fbcsr_split *split, int64_t rows, int32_t *starts)
{
    const int64_t height = split->shape.height;
    int64_t first = 0, end = 0;
    if (height < TESS_SPLITS_TALL) {
        for (int64_t row = 0; row <= rows; row++) {
            first = first_in(split, first, row);
            starts[row] = (int32_t)first;
        }
        return;
    }
    for (int64_t row = 0; row < rows; row += TESS_SPLITS_CHUNK) {
        first = first_in(split, first, row - height + 1);
        end = first_in(split, end, row + TESS_SPLITS_CHUNK);
        *starts++ = (int32_t)first;
        *starts++ = (int32_t)end;
    }
}

static void join(tess_splits *S, const tess_fbcsr *F)
{
    const size_t size = tess_type_size(S->type);
    for (int s = 0; s < S->count; s++) {
        const tess_fbcsr_split *split = &F->split[s];
        const tess_splits_part *part = &S->part[s];
        fill_starts(split, F->rows, S->starts + part->start);
        memcpy(S->rows + part->block, split->rows, (size_t)part->blocks * sizeof *S->rows);
        memcpy(S->cols + part->block, split->cols, (size_t)part->blocks * sizeof *S->cols);
        memcpy((char *)S->values + (size_t)part->value * size, split->values,
               (size_t)(part->blocks * tess_shape_cells(&part->shape)) * size);
    }
    const tess_splits_part *rest = &S->part[S->count];
    for (int64_t row = 0; row <= F->rows; row++)
        S->starts[rest->start + row] = (int32_t)F->rest->row_offsets[row];
    if (rest->blocks > 0) {
        memcpy(S->cols + rest->block, F->rest->columns, (size_t)rest->blocks * sizeof *S->cols);
        memcpy((char *)S->values + (size_t)rest->value * size, F->rest->values,
               (size_t)rest->blocks * size);
    }
}

/* ---- Long rows ---- */

/* Blocks of a segment. */
static int64_t segment_blocks(const tess_splits_part *part)
{
    return tess_max(TESS_SPLITS_SEGMENT / part->shape.width, 1);
}

/* Segments of a row in one of its splits; 0: it is not cut there. */
static int64_t segments_of(const tess_splits *S, const tess_splits_part *part, int64_t row)
{
    const int32_t *starts = S->starts + part->start + row;
    if (part->shape.height != 1 ||
        (int64_t)(starts[1] - starts[0]) * part->shape.width <= TESS_SPLITS_LONG)
        return 0;
    return tess_ceil_div(starts[1] - starts[0], segment_blocks(part));
}

static void count_segments(tess_splits *S, int64_t rows)
{
    for (int64_t row = 0; row < rows; row++) {
        int64_t here = 0;
        for (int s = 0; s <= S->count; s++)
            here += segments_of(S, &S->part[s], row);
        S->segment_count += here;
        S->long_count += here > 0;
    }
}

/* Puts the row's segments in one split, from number `at` on; returns the number behind them. */
static int64_t put_segments(tess_splits *S, const tess_splits_part *part, int64_t row, int64_t at)
{
    const int64_t first = S->starts[part->start + row], end = S->starts[part->start + row + 1];
    if (segments_of(S, part, row) == 0)
        return at;
    for (int64_t block = first; block < end; block += segment_blocks(part), at++) {
        S->segments[3 * at] = (int32_t)(part->block + block);
        S->segments[3 * at + 1] = (int32_t)tess_min(end - block, segment_blocks(part));
        S->segments[3 * at + 2] = part->shape.width;
        S->segment_values[at] = part->value + block * part->shape.width;
    }
    return at;
}

static tess_status cut_long_rows(tess_splits *S, int64_t rows)
{
    int64_t at = 0, cut = 0;
    count_segments(S, rows);
    TESS_TRY(TESS_ALLOC(S->ctx, 3 * S->segment_count, &S->segments));
    TESS_TRY(TESS_ALLOC(S->ctx, S->segment_count, &S->segment_values));
    TESS_TRY(TESS_ALLOC(S->ctx, S->long_count, &S->long_rows));
    TESS_TRY(TESS_ALLOC(S->ctx, S->long_count + 1, &S->long_segments));
    for (int64_t row = 0; row < rows; row++) {
        const int64_t before = at;
        for (int s = 0; s <= S->count; s++)
            at = put_segments(S, &S->part[s], row, at);
        if (at > before) {
            S->long_rows[cut] = (int32_t)row;
            S->long_segments[cut++] = (int32_t)before;
        }
    }
    S->long_segments[cut] = (int32_t)at;
    return TESS_OK;
}

static tess_status create_splits(tess_ctx *ctx, tess_fbcsr *F, const tess_fbcsr_options *shapes,
                                 tess_splits **out)
{
    tess_splits *S;
    tess_status status;
    TESS_TRY(TESS_CALLOC(ctx, 1, &S));
    S->ctx = ctx;
    S->type = F->type;
    S->nonzeros = F->nonzeros;
    TESS_TRY_CLEAN(measure_parts(S, F, shapes));
    TESS_TRY_CLEAN(allocate_arrays(S, F->rows));
    join(S, F);
    TESS_TRY_CLEAN(cut_long_rows(S, F->rows));
    S->map = F->map;
    F->map = NULL;
    *out = S;
    return TESS_OK;
cleanup:
    destroy_splits(S);
    return status;
}

static tess_status create(tess_ctx *ctx, const tess_matrix *A, const char *text,
                          tess_cuda_layout *layout)
{
    tess_fbcsr_options shapes;
    tess_fbcsr *F;
    tess_splits *S = NULL;
    TESS_TRY(tess_shapes_read(ctx, text, &shapes));
    TESS_TRY(tess_fbcsr_create(ctx, A, &shapes, &F));
    tess_status status = create_splits(ctx, F, &shapes, &S);
    tess_fbcsr_destroy(F);
    TESS_TRY(status);
    const tess_splits_part *rest = &S->part[S->count];
    tess_cuda_layout_add(layout, S->starts, rest->start + A->rows + 1, sizeof *S->starts);
    tess_cuda_layout_add(layout, S->rows, rest->block, sizeof *S->rows);
    tess_cuda_layout_add(layout, S->cols, rest->block + rest->blocks, sizeof *S->cols);
    tess_cuda_layout_add(layout, S->values, rest->value + rest->blocks, tess_type_size(S->type));
    tess_cuda_layout_add(layout, S->segments, 3 * S->segment_count, sizeof *S->segments);
    tess_cuda_layout_add(layout, S->segment_values, S->segment_count, sizeof *S->segment_values);
    tess_cuda_layout_add(layout, S->long_rows, S->long_count, sizeof *S->long_rows);
    tess_cuda_layout_add(layout, S->long_segments, S->long_count > 0 ? S->long_count + 1 : 0,
                         sizeof *S->long_segments);
    layout->workspace = (size_t)S->segment_count * tess_type_size(S->type);
    layout->values = SPLITS_VALUES;
    layout->format = S;
    return TESS_OK;
}

struct update_values {
    tess_splits *S;
    const void *values;
};

static void update_values(void *arg, tess_range range)
{
    const struct update_values *job = arg;
    for (int64_t i = range.first; i < range.last; i++)
        tess_copy_scalar(job->S->type, job->S->values, job->S->map[i], job->values, i);
}

static void update(tess_cuda_layout *layout, const void *values)
{
    tess_splits *S = layout->format;
    tess_for(S->ctx, S->nonzeros, update_values, &(struct update_values){S, values});
}

static int stored(const tess_cuda_layout *layout, tess_fbcsr_stored *out)
{
    const tess_splits *S = layout->format;
    for (int s = 0; s <= S->count; s++) {
        const tess_splits_part *part = &S->part[s];
        out[s] = (tess_fbcsr_stored){.pieces = part->blocks,
                                     .entries = part->nonzeros,
                                     .cells = part->blocks * tess_shape_cells(&part->shape),
                                     .single = s == S->count};
        snprintf(out[s].name, sizeof out[s].name, "%s", part->shape.name);
    }
    return S->count + 1;
}

static void destroy(tess_cuda_layout *layout)
{
    destroy_splits(layout->format);
}

const tess_cuda_layout_kind tess_cuda_layout_splits = {
    .name = "splits",
    .create = create,
    .update = update,
    .stored = stored,
    .destroy = destroy,
};
