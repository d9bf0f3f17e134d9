/* BSR to sliced storage; sliced.h has the picture. */
#include "format/sliced_lines.h"

/* The index in the value array of scalar (i, j) of block k of line `lane` of slice s. */
static int64_t value_index(const tess_sliced *S, int64_t s, int32_t lane, int32_t k, int32_t i,
                           int32_t j)
{
    int32_t V = S->options.vector;
    int64_t lanes = (int64_t)S->options.height * S->block_height;
    int64_t first = S->offsets[s] * (S->group * S->width / V); /* vectors before the slice */
    int64_t e = (int64_t)k * S->width + j;                     /* the row's e-th scalar */
    return ((first + e / V) * lanes + (int64_t)lane * S->block_height + i) * V + e % V;
}

static int64_t column_index(const tess_sliced *S, int64_t s, int32_t lane, int32_t k)
{
    int64_t group = S->offsets[s] + k / S->group;
    return (group * S->options.height + lane) * S->group + k % S->group;
}

static void measure_slices(void *sliced, tess_range slices)
{
    const tess_sliced *S = sliced;
    int32_t height = S->options.height;
    for (int64_t s = slices.first; s < slices.last; s++) {
        int64_t longest = 0;
        for (int32_t lane = 0; lane < height; lane++)
            longest = tess_max(S->lengths[s * height + lane], longest);
        S->offsets[s + 1] = tess_ceil_div(longest, S->group);
    }
}

static void fill_columns(const tess_matrix *A, const tess_sliced *S, int64_t s)
{
    int32_t height = S->options.height;
    int64_t per_group = (int64_t)S->group * height;
    memset(S->columns + S->offsets[s] * per_group, 0,
           (size_t)((S->offsets[s + 1] - S->offsets[s]) * per_group) * sizeof *S->columns);
    for (int32_t lane = 0; lane < height; lane++) {
        int64_t line = s * height + lane;
        for (int32_t k = 0; k < S->lengths[line]; k++)
            S->columns[column_index(S, s, lane, k)] = A->columns[S->starts[line] + k];
    }
}

/* Copies the slice's values to S->values from the order of the BSR matrix. It does not touch
 * padding. */
static void move_values(void *sliced, const void *bsr, int64_t s)
{
    const tess_sliced *S = sliced;
    int32_t height = S->options.height, bh = S->block_height, bw = S->block_width;
    for (int32_t lane = 0; lane < height; lane++) {
        int64_t line = s * height + lane;
        for (int32_t k = 0; k < S->lengths[line]; k++) {
            int64_t from = (S->starts[line] + k) * bh * bw;
            for (int32_t j = 0; j < bw; j++) {
                int64_t at = value_index(S, s, lane, k, 0, j);
                for (int32_t i = 0; i < bh; i++, from++, at += S->options.vector)
                    tess_copy_scalar(S->type, S->values, at, bsr, from);
            }
        }
    }
}

static void clear_values(const tess_sliced *S, int64_t s)
{
    const size_t group = (size_t)S->group * (size_t)S->options.height *
                         (size_t)(S->block_height * S->width) * tess_type_size(S->type);
    memset((char *)S->values + (size_t)S->offsets[s] * group, 0,
           (size_t)(S->offsets[s + 1] - S->offsets[s]) * group);
}

static void fill_values(void *sliced, const void *bsr, int64_t s)
{
    clear_values(sliced, s);
    move_values(sliced, bsr, s);
}

void tess_sliced_update(tess_sliced *S, const void *values)
{
    tess_for_each(S->ctx, S->slices, 64, S->bare ? fill_values : move_values, S, values);
    S->bare = false;
}

static void fill_slice(void *sliced, const void *matrix, int64_t s)
{
    const tess_matrix *A = matrix;
    fill_columns(A, sliced, s);
    if (A->values)
        fill_values(sliced, A->values, s);
}

/* Makes the arrays once the lines are in their final order. */
static tess_status fill(tess_ctx *ctx, const tess_matrix *A, tess_sliced *S)
{
    tess_for(ctx, S->slices, measure_slices, S);
    S->offsets[0] = 0;
    tess_counts_to_offsets(S->offsets, S->slices);
    int64_t groups = S->offsets[S->slices];
    int64_t per_group = (int64_t)S->group * S->options.height, blocks, scalars;
    if (!tess_mul(groups, per_group, &blocks) ||
        !tess_mul(blocks, (int64_t)S->block_height * S->width, &scalars))
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "sliced: %lld groups of %lld blocks overflow",
                         (long long)groups, (long long)per_group);
    TESS_TRY(TESS_ALLOC(ctx, blocks, &S->columns));
    TESS_TRY(tess_alloc_bytes(ctx, scalars, tess_type_size(S->type), &S->values));
    tess_for_each(ctx, S->slices, 64, fill_slice, S, A);
    S->bare = !A->values;
    return TESS_OK;
}

tess_status tess_sliced_create(tess_ctx *ctx, const tess_matrix *A,
                               const tess_sliced_options *options, tess_sliced **out)
{
    int32_t V = options->vector;
    if (options->height < 1 || options->height > 1024 || options->window < 0 ||
        options->split < 0 || (V != 1 && V != 2 && V != 4) || options->panels < 0 ||
        options->panels > TESS_SLICED_PANELS)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "sliced: height %d (1..1024), window %d and split %d (>= 0), vector %d "
                         "(1, 2 or 4), panels %d (0..%d)",
                         (int)options->height, (int)options->window, (int)options->split, (int)V,
                         (int)options->panels, TESS_SLICED_PANELS);
    tess_sliced *S;
    TESS_TRY(TESS_ALLOC(ctx, 1, &S));
    *S = (tess_sliced){.ctx = ctx,
                       .type = A->type,
                       .block_height = A->block_height,
                       .block_width = A->block_width,
                       .block_rows = A->block_rows,
                       .options = *options};
    S->options.panels = tess_max(options->panels, 1);
    S->width = tess_sliced_width(A->block_width, V);
    S->group = tess_sliced_group(A->block_width, V);
    tess_status status = tess_sliced_make_lines(ctx, A, S);
    TESS_THEN(fill(ctx, A, S));
    return TESS_DELIVER(status, S, tess_sliced_destroy, out);
}

void tess_sliced_destroy(tess_sliced *S)
{
    if (S)
        TESS_FREE(S->ctx, S->offsets, S->lengths, S->targets, S->starts, S->columns, S->values,
                  S->cut_row, S->cut_slots, S);
}
