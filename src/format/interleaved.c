/* BSR to interleaved storage; interleaved.h has the picture. */
#include "format/interleaved.h"

static int64_t length_of(const tess_interleaved *I, int64_t row)
{
    return I->starts[row + 1] - I->starts[row];
}

static tess_status order_rows(tess_ctx *ctx, tess_interleaved *I)
{
    for (int64_t line = I->block_rows; line < I->groups * I->options.lines; line++)
        I->targets[line] = -1;
    if (I->options.sort)
        return tess_rows_by_length(ctx, I->starts, I->block_rows, I->targets);
    for (int64_t row = 0; row < I->block_rows; row++)
        I->targets[row] = (int32_t)row;
    return TESS_OK;
}

static void count_steps(tess_interleaved *I)
{
    int32_t lines = I->options.lines;
    I->offsets[0] = 0;
    for (int64_t g = 0; g < I->groups; g++) {
        int64_t longest = 0;
        for (int32_t l = 0; l < lines; l++) {
            int32_t row = I->targets[g * lines + l];
            int64_t length = row >= 0 ? length_of(I, row) : 0;
            longest = tess_max(length, longest);
        }
        I->offsets[g + 1] = I->offsets[g] + tess_ceil_div(longest, I->options.blocks);
    }
}

/* The place of block k of line l of group g. */
static int64_t place_of(const tess_interleaved *I, int64_t g, int32_t l, int64_t k)
{
    int32_t per_step = I->options.blocks;
    return ((I->offsets[g] + k / per_step) * I->options.lines + l) * per_step + k % per_step;
}

/* Copies a group's values from the order of the BSR matrix. It does not touch padding. */
static void move_values(void *interleaved, const void *bsr, int64_t g)
{
    const tess_interleaved *I = interleaved;
    size_t bytes = tess_block_bytes(I->block_height, I->block_width, I->type);
    for (int32_t l = 0; l < I->options.lines; l++) {
        int32_t row = I->targets[g * I->options.lines + l];
        int64_t length = row >= 0 ? length_of(I, row) : 0;
        for (int64_t k = 0; k < length; k++)
            memcpy((char *)I->values + (size_t)place_of(I, g, l, k) * bytes,
                   (const char *)bsr + (size_t)(I->starts[row] + k) * bytes, bytes);
    }
}

static void fill_columns(const tess_matrix *A, const tess_interleaved *I, int64_t g)
{
    for (int32_t l = 0; l < I->options.lines; l++) {
        int32_t row = I->targets[g * I->options.lines + l];
        int64_t length = row >= 0 ? length_of(I, row) : 0;
        int64_t padded = (I->offsets[g + 1] - I->offsets[g]) * I->options.blocks;
        for (int64_t k = 0; k < padded; k++)
            I->columns[place_of(I, g, l, k)] = k < length ? A->columns[I->starts[row] + k] : -1;
    }
}

void tess_interleaved_update(tess_interleaved *I, const void *values)
{
    tess_for_each(I->ctx, I->groups, 16, move_values, I, values);
}

static void fill_group(void *interleaved, const void *matrix, int64_t g)
{
    const tess_interleaved *I = interleaved;
    const tess_matrix *A = matrix;
    const size_t step = (size_t)I->options.lines * (size_t)I->options.blocks *
                        tess_block_bytes(I->block_height, I->block_width, I->type);
    fill_columns(A, I, g);
    memset((char *)I->values + (size_t)I->offsets[g] * step, 0,
           (size_t)(I->offsets[g + 1] - I->offsets[g]) * step);
    move_values(interleaved, A->values, g);
}

/* Makes the arrays once the lines are in their final order. */
static tess_status fill(tess_ctx *ctx, const tess_matrix *A, tess_interleaved *I)
{
    count_steps(I);
    int64_t per_step = (int64_t)I->options.lines * I->options.blocks, blocks, scalars;
    int64_t per_block = (int64_t)I->block_height * I->block_width;
    if (!tess_mul(I->offsets[I->groups], per_step, &blocks) ||
        !tess_mul(blocks, per_block, &scalars))
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "interleaved: %lld steps of %lld blocks overflow",
                         (long long)I->offsets[I->groups], (long long)per_step);
    TESS_TRY(TESS_ALLOC(ctx, blocks, &I->columns));
    TESS_TRY(tess_alloc_bytes(ctx, scalars, tess_type_size(I->type), &I->values));
    tess_for_each(ctx, I->groups, 16, fill_group, I, A);
    return TESS_OK;
}

tess_status tess_interleaved_create(tess_ctx *ctx, const tess_matrix *A,
                                    const tess_interleaved_options *options, tess_interleaved **out)
{
    if (options->lines < 1 || options->lines > 1024 || options->blocks < 1 ||
        options->blocks > 1024)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "interleaved: %d lines of %d blocks per step (1..1024 each)",
                         (int)options->lines, (int)options->blocks);
    if (A->block_rows > INT32_MAX - 1024)
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "interleaved: %lld block rows do not fit 31 bits",
                         (long long)A->block_rows);
    tess_interleaved *I;
    TESS_TRY(TESS_ALLOC(ctx, 1, &I));
    *I = (tess_interleaved){.ctx = ctx,
                            .type = A->type,
                            .block_height = A->block_height,
                            .block_width = A->block_width,
                            .block_rows = A->block_rows,
                            .options = *options,
                            .groups = tess_ceil_div(A->block_rows, options->lines)};
    tess_status status = TESS_OK;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, I->groups + 1, &I->offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, I->groups * options->lines, &I->targets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->block_rows + 1, &I->starts));
    memcpy(I->starts, A->row_offsets, (size_t)(A->block_rows + 1) * sizeof *I->starts);
    TESS_TRY_CLEAN(order_rows(ctx, I));
    TESS_TRY_CLEAN(fill(ctx, A, I));
cleanup:
    return TESS_DELIVER(status, I, tess_interleaved_destroy, out);
}

void tess_interleaved_destroy(tess_interleaved *I)
{
    if (I)
        TESS_FREE(I->ctx, I->offsets, I->targets, I->starts, I->columns, I->values, I);
}
