/* The layouts of the papers' kernels: balanced, by_length and interleaved. */
#include "cuda/kernels/padding.h"
#include "cuda/kernels/papers/rows.h"
#include "format/balanced.h"
#include "format/interleaved.h"

/* ---- balanced: bsr with segments for rows ---- */

static void destroy_balanced(tess_cuda_layout *layout)
{
    tess_balanced_destroy(layout->format);
}

static tess_status parse_balanced(tess_ctx *ctx, const char *text, int32_t *out)
{
    int64_t lambda = 32;
    const tess_option table[] = {{"lambda", TESS_OPTION_INT, &lambda, 1, 1 << 30, NULL, 0}};
    TESS_TRY(tess_options_parse(ctx, "balanced", text, table, 1));
    *out = (int32_t)lambda;
    return TESS_OK;
}

static tess_status create_balanced(tess_ctx *ctx, const tess_matrix *A, const char *text,
                                   tess_cuda_layout *layout)
{
    int32_t lambda;
    TESS_TRY(parse_balanced(ctx, text, &lambda));
    tess_balanced *B;
    TESS_TRY(tess_balanced_create(ctx, A, lambda, &B));
    tess_cuda_layout_add(layout, B->segment_offsets, B->segments + 1, sizeof *B->segment_offsets);
    tess_cuda_layout_add(layout, A->columns, A->blocks, sizeof *A->columns);
    tess_cuda_layout_add(layout, A->values, tess_matrix_stored(A), tess_type_size(A->type));
    tess_cuda_layout_add(layout, B->segment_ptr, A->block_rows + 1, sizeof *B->segment_ptr);
    tess_cuda_layout_add(layout, B->long_rows, B->long_count, sizeof *B->long_rows);
    layout->values = BSR_VALUES;
    layout->counts[BALANCED_SEGMENTS] = B->segments;
    layout->counts[BALANCED_LONG_COUNT] = B->long_count;
    layout->workspace = (size_t)B->segments * (size_t)A->block_height * tess_type_size(A->type);
    layout->format = B;
    return TESS_OK;
}

/* Every segment writes a sum and reads it again. */
static tess_status pad_balanced(tess_ctx *ctx, const tess_matrix *A, const char *text,
                                tess_cuda_padding *pad)
{
    int32_t lambda;
    TESS_TRY(parse_balanced(ctx, text, &lambda));
    pad->row_bytes = 8 + 2 * (double)tess_type_size(A->type) * A->block_height;
    return tess_cuda_pad_rows(ctx, A, &(tess_cuda_arrangement){lambda, 0, 1, 1, 0}, pad);
}

const tess_cuda_layout_kind tess_cuda_layout_balanced = {
    .name = "balanced",
    .create = create_balanced,
    .pad = pad_balanced,
    .destroy = destroy_balanced,
};

void tess_cuda_launch_balanced_sum(const tess_cuda_problem *problem, const tess_cuda_layout *layout,
                                   const tess_cuda_call *call, tess_cuda_launch *out)
{
    int64_t long_count = layout->counts[BALANCED_LONG_COUNT];
    int64_t grid = long_count + tess_ceil_div(problem->rows, 128);
    tess_cuda_launch *run = tess_cuda_launch_start(out, "balanced_sum", grid, 128);
    TESS_CUDA_POINTERS(run, call->arrays[BALANCED_SEGMENT_PTR], call->arrays[BALANCED_LONG_ROWS]);
    TESS_CUDA_INTEGERS(run, long_count);
    TESS_CUDA_POINTERS(run, call->workspace, call->y);
    TESS_CUDA_INTEGERS(run, problem->rows);
    tess_cuda_add_factors(run, problem, call);
}

/* ---- by_length: bsr and its block rows by falling length ---- */

static void destroy_by_length(tess_cuda_layout *layout)
{
    tess_free(layout->ctx, layout->format);
}

static tess_status create_by_length(tess_ctx *ctx, const tess_matrix *A, const char *text,
                                    tess_cuda_layout *layout)
{
    int32_t *targets;
    TESS_TRY(tess_cuda_layout_bsr.create(ctx, A, text, layout));
    TESS_TRY(TESS_ALLOC(ctx, A->block_rows, &targets));
    tess_status status = tess_rows_by_length(ctx, A->row_offsets, A->block_rows, targets);
    if (status != TESS_OK) {
        tess_free(ctx, targets);
        return status;
    }
    tess_cuda_layout_add(layout, targets, A->block_rows, sizeof *targets);
    layout->format = targets;
    return TESS_OK;
}

static tess_status pad_by_length(tess_ctx *ctx, const tess_matrix *A, const char *text,
                                 tess_cuda_padding *pad)
{
    (void)ctx, (void)A, (void)text;
    pad->row_bytes = 8 + sizeof(int32_t);
    return TESS_OK;
}

const tess_cuda_layout_kind tess_cuda_layout_by_length = {
    .name = "by_length",
    .create = create_by_length,
    .pad = pad_by_length,
    .destroy = destroy_by_length,
};

/* ---- interleaved ---- */

static void destroy_interleaved(tess_cuda_layout *layout)
{
    tess_interleaved_destroy(layout->format);
}

static void update_interleaved(tess_cuda_layout *layout, const void *values)
{
    tess_interleaved_update(layout->format, values);
}

static tess_status parse_interleaved(tess_ctx *ctx, const char *text, tess_interleaved_options *out)
{
    int64_t Bx = 1, By = 1, sort = 1;
    const tess_option table[] = {
        {"Bx", TESS_OPTION_INT, &Bx, 1, 1024, NULL, 0},
        {"By", TESS_OPTION_INT, &By, 1, 1024, NULL, 0},
        {"sort", TESS_OPTION_INT, &sort, 0, 1, NULL, 0},
    };
    TESS_TRY(tess_options_parse(ctx, "interleaved", text, table, sizeof table / sizeof *table));
    *out = (tess_interleaved_options){(int32_t)By, (int32_t)Bx, sort != 0};
    return TESS_OK;
}

static tess_status create_interleaved(tess_ctx *ctx, const tess_matrix *A, const char *text,
                                      tess_cuda_layout *layout)
{
    tess_interleaved_options options;
    TESS_TRY(parse_interleaved(ctx, text, &options));
    tess_interleaved *I;
    TESS_TRY(tess_interleaved_create(ctx, A, &options, &I));
    int64_t blocks = tess_interleaved_stored(I);
    tess_cuda_layout_add(layout, I->offsets, I->groups + 1, sizeof *I->offsets);
    tess_cuda_layout_add(layout, I->targets, I->groups * options.lines, sizeof *I->targets);
    tess_cuda_layout_add(layout, I->columns, blocks, sizeof *I->columns);
    tess_cuda_layout_add(layout, I->values, blocks * A->block_height * A->block_width,
                         tess_type_size(A->type));
    layout->values = INTERLEAVED_VALUES;
    layout->counts[INTERLEAVED_GROUPS] = I->groups;
    layout->workspace = sizeof(double) * (size_t)I->groups; /* partial sums of a dot product */
    layout->format = I;
    return TESS_OK;
}

static tess_status pad_interleaved(tess_ctx *ctx, const tess_matrix *A, const char *text,
                                   tess_cuda_padding *pad)
{
    tess_interleaved_options options;
    TESS_TRY(parse_interleaved(ctx, text, &options));
    const tess_cuda_arrangement how = {0, options.sort ? A->block_rows : 1, options.lines,
                                       options.blocks, 0};
    return tess_cuda_pad_rows(ctx, A, &how, pad);
}

const tess_cuda_layout_kind tess_cuda_layout_interleaved = {
    .name = "interleaved",
    .create = create_interleaved,
    .pad = pad_interleaved,
    .update = update_interleaved,
    .destroy = destroy_interleaved,
};
