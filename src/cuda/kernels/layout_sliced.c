/* The layouts sliced and swept. */
#include "cuda/kernels/padding.h"
#include "cuda/kernels/support.h"
#include "format/sliced.h"
#include "format/swept.h"

/* ---- sliced ---- */

static void destroy_sliced(tess_cuda_layout *layout)
{
    tess_sliced_destroy(layout->format);
}

static void update_sliced(tess_cuda_layout *layout, const void *values)
{
    tess_sliced_update(layout->format, values);
}

static tess_status parse_sliced(tess_ctx *ctx, const char *text, tess_sliced_options *out)
{
    int64_t C = 32, sigma = 1, lambda = 0, V = 1, panels = 1;
    const tess_option table[] = {
        {"C", TESS_OPTION_INT, &C, 1, 1024, NULL, 0},
        {"sigma", TESS_OPTION_INT, &sigma, 0, 1 << 30, NULL, 0},
        {"lambda", TESS_OPTION_INT, &lambda, 0, 1 << 30, NULL, 0},
        {"V", TESS_OPTION_INT, &V, 1, 4, NULL, 0},
        {"panels", TESS_OPTION_INT, &panels, 1, TESS_SLICED_PANELS, NULL, 0},
    };
    TESS_TRY(tess_options_parse(ctx, "sliced", text, table, sizeof table / sizeof *table));
    *out = (tess_sliced_options){(int32_t)C, (int32_t)sigma, (int32_t)lambda, (int32_t)V,
                                 (int32_t)panels};
    return TESS_OK;
}

static tess_status create_sliced(tess_ctx *ctx, const tess_matrix *A, const char *text,
                                 tess_cuda_layout *layout)
{
    tess_sliced_options options;
    TESS_TRY(parse_sliced(ctx, text, &options));
    tess_sliced *S;
    TESS_TRY(tess_sliced_create(ctx, A, &options, &S));
    int64_t places = S->slices * options.height;
    tess_cuda_layout_add(layout, S->offsets, S->slices + 1, sizeof *S->offsets);
    tess_cuda_layout_add(layout, S->lengths, places, sizeof *S->lengths);
    tess_cuda_layout_add(layout, S->targets, S->targets ? places : 0, sizeof *S->targets);
    tess_cuda_layout_add(layout, S->columns, S->offsets[S->slices] * S->group * options.height,
                         sizeof *S->columns);
    tess_cuda_layout_add(layout, S->values, tess_sliced_stored(S), tess_type_size(S->type));
    tess_cuda_layout_add(layout, S->cut_row, S->cut_rows, sizeof *S->cut_row);
    tess_cuda_layout_add(layout, S->cut_slots, S->cut_rows + 1, sizeof *S->cut_slots);
    layout->values = SLICED_VALUES;
    int64_t slots = tess_ceil_div(
        (int64_t)S->cut_slots[S->cut_rows] * S->block_height * (int64_t)tess_type_size(S->type), 8);
    layout->counts[SLICED_DOT_AT] = 8 * slots;
    const tess_sliced_panel *last = &S->panel[S->options.panels - 1];
    const int64_t thread_blocks =
        tess_ceil_div(last->slices * options.height * S->block_height, TESS_SLICED_ROWS);
    layout->workspace =
        8 * (size_t)(slots + thread_blocks + last->cut_rows * (1 + S->block_height / 128) + 2);
    layout->format = S;
    return TESS_OK;
}

/* A line has 4 bytes for its length, and 4 for its target where it has one. Segments of cut rows
 * write a sum and read it again. Every panel but the first reads and writes y again. */
static tess_status pad_sliced(tess_ctx *ctx, const tess_matrix *A, const char *text,
                              tess_cuda_padding *pad)
{
    tess_sliced_options options;
    TESS_TRY(parse_sliced(ctx, text, &options));
    tess_cuda_arrangement how = {options.split, options.window, options.height,
                                 tess_sliced_group(A->block_width, options.vector), 0};
    how.bytes = A->block_height * options.vector * (int64_t)tess_type_size(A->type);
    TESS_TRY(tess_cuda_pad_rows(ctx, A, &how, pad));
    const double wider = (double)tess_sliced_width(A->block_width, options.vector) / A->block_width;
    pad->blocks *= wider;
    pad->read *= wider;
    const double rows = (double)A->block_rows, panels = options.panels;
    pad->row_bytes = how.window > 1 || how.split > 0 || panels > 1 ? 8 : 4;
    const double y_again = 2 * (double)tess_type_size(A->type) * A->block_height / pad->row_bytes;
    pad->rows += (pad->rows - rows) * y_again;
    pad->rows += (panels - 1) * rows * (1 + y_again);
    return TESS_OK;
}

/* Whether the scalars of every slice fit 32 bits, in which slices.cu counts them. */
static bool short_slices(const tess_sliced *S)
{
    const int64_t group = (int64_t)S->group * S->options.height * S->block_height * S->width;
    for (int64_t s = 0; s < S->slices; s++)
        if (S->offsets[s + 1] - S->offsets[s] > INT32_MAX / group)
            return false;
    return true;
}

static const int64_t *sliced_starts(const tess_cuda_layout *layout, int64_t *count)
{
    const tess_sliced *S = layout->format;
    *count = S->slices * S->options.height;
    return short_slices(S) ? S->starts : NULL;
}

static void gather_sliced(const tess_cuda_layout *layout, const uint64_t *arrays, uint64_t starts,
                          uint64_t given, tess_cuda_launch *launch)
{
    const tess_sliced *S = layout->format;
    tess_cuda_launch_start(launch, "slices", S->slices, TESS_CUDA_GATHER);
    TESS_CUDA_POINTERS(launch, arrays[SLICED_OFFSETS], arrays[SLICED_LENGTHS], starts,
                       arrays[SLICED_VALUES], given);
    TESS_CUDA_INTEGERS(launch, S->options.height, S->block_height, S->block_width, S->width,
                       S->options.vector, S->group);
}

static void gather_sliced_columns(const tess_cuda_layout *layout, const uint64_t *arrays,
                                  uint64_t starts, uint64_t to, tess_cuda_launch *launch)
{
    const tess_sliced *S = layout->format;
    tess_cuda_launch_start(launch, "columns", S->slices, TESS_CUDA_GATHER);
    TESS_CUDA_POINTERS(launch, arrays[SLICED_OFFSETS], starts, arrays[SLICED_LENGTHS],
                       arrays[SLICED_COLUMNS], to);
    TESS_CUDA_INTEGERS(launch, S->options.height, S->group);
}

const tess_cuda_layout_kind tess_cuda_layout_sliced = {
    .name = "sliced",
    .create = create_sliced,
    .pad = pad_sliced,
    .update = update_sliced,
    .starts = sliced_starts,
    .gather = gather_sliced,
    .gather_columns = gather_sliced_columns,
    .gather_source = "slices.cu",
    .destroy = destroy_sliced,
};

/* ---- swept ---- */

static void destroy_swept(tess_cuda_layout *layout)
{
    tess_swept_destroy(layout->format);
}

static void update_swept(tess_cuda_layout *layout, const void *values)
{
    tess_swept_update(layout->format, values);
}

static tess_status create_swept(tess_ctx *ctx, const tess_matrix *A, const char *text,
                                tess_cuda_layout *layout)
{
    int64_t chunks = 1, lines = 512, lambda = 16;
    const tess_option table[] = {
        {"chunks", TESS_OPTION_INT, &chunks, 1, INT32_MAX, NULL, 0},
        {"lines", TESS_OPTION_INT, &lines, 1, TESS_SWEPT_NONE, NULL, 0},
        {"lambda", TESS_OPTION_INT, &lambda, 1, 1 << 30, NULL, 0},
    };
    TESS_TRY(tess_options_parse(ctx, "swept", text, table, sizeof table / sizeof *table));
    tess_swept_options options = {chunks, (int32_t)lines, (int32_t)lambda};
    tess_swept *S;
    TESS_TRY(tess_swept_create(ctx, A, &options, &S));
    int64_t steps = tess_swept_steps(S);
    tess_cuda_layout_add(layout, S->chunk_line, S->chunks + 1, sizeof *S->chunk_line);
    tess_cuda_layout_add(layout, S->first_step, S->chunks * S->panels + 1, sizeof *S->first_step);
    tess_cuda_layout_add(layout, S->words, steps * TESS_SWEPT_LANES, sizeof *S->words);
    tess_cuda_layout_add(layout, S->values, tess_swept_stored(S), tess_type_size(S->type));
    tess_cuda_layout_add(layout, S->cut_row, S->cut_rows, sizeof *S->cut_row);
    tess_cuda_layout_add(layout, S->cut_slots, S->cut_rows + 1, sizeof *S->cut_slots);
    layout->values = SWEPT_VALUES;
    layout->workspace =
        (size_t)S->cut_slots[S->cut_rows] * (size_t)S->block_height * tess_type_size(S->type);
    layout->format = S;
    return TESS_OK;
}

/* A step has no array of rows, so that rows add no bytes. */
static tess_status pad_swept(tess_ctx *ctx, const tess_matrix *A, const char *text,
                             tess_cuda_padding *pad)
{
    (void)ctx, (void)A, (void)text;
    pad->row_bytes = 0;
    return TESS_OK;
}

const tess_cuda_layout_kind tess_cuda_layout_swept = {
    .name = "swept",
    .create = create_swept,
    .pad = pad_swept,
    .update = update_swept,
    .destroy = destroy_swept,
};
