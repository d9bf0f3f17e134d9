/* BSR to sliced storage and back; sliced.h has the picture. */
#include "format/sliced_lines.h"

#include <string.h>

/* Where scalar (i, j) of block k of line `lane` of slice s lies in the value array. */
static int64_t value_index(const tess_sliced *S, int64_t s, int32_t lane, int32_t k, int32_t i,
                           int32_t j)
{
    int32_t V = S->options.vector;
    int64_t lanes = (int64_t)S->options.height * S->block_height;
    int64_t first = S->offsets[s] * (S->group * S->block_width / V); /* vectors before the slice */
    int64_t e = (int64_t)k * S->block_width + j;                     /* the row's e-th scalar */
    return ((first + e / V) * lanes + (int64_t)lane * S->block_height + i) * V + e % V;
}

static int64_t column_index(const tess_sliced *S, int64_t s, int32_t lane, int32_t k)
{
    int64_t group = S->offsets[s] + k / S->group;
    return (group * S->options.height + lane) * S->group + k % S->group;
}

static void place_slices(tess_sliced *S)
{
    int32_t height = S->options.height;
    S->offsets[0] = 0;
    for (int64_t s = 0; s < S->slices; s++) {
        int32_t longest = 0;
        for (int32_t lane = 0; lane < height; lane++) {
            int32_t length = S->lengths[s * height + lane];
            longest = length > longest ? length : longest;
        }
        S->offsets[s + 1] = S->offsets[s] + tess_ceil_div(longest, S->group);
    }
}

static void fill_columns(const tess_matrix *A, tess_sliced *S, int64_t s)
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

/* Copies between the slice's part of S->values and the BSR order; padding is left alone. */
static void move_values(const tess_sliced *S, int64_t s, void *sliced, void *bsr, bool to_sliced)
{
    int32_t height = S->options.height, bh = S->block_height, bw = S->block_width;
    for (int32_t lane = 0; lane < height; lane++) {
        int64_t line = s * height + lane;
        for (int32_t k = 0; k < S->lengths[line]; k++) {
            int64_t from = (S->starts[line] + k) * bh * bw;
            for (int32_t j = 0; j < bw; j++) {
                int64_t at = value_index(S, s, lane, k, 0, j);
                for (int32_t i = 0; i < bh; i++, from++, at += S->options.vector) {
                    if (to_sliced)
                        tess_copy_scalar(S->type, sliced, at, bsr, from);
                    else
                        tess_copy_scalar(S->type, bsr, from, sliced, at);
                }
            }
        }
    }
}

void tess_sliced_refresh(tess_sliced *S, const void *values)
{
    int threads = S->ctx->threads;
    void *source = (void *)(uintptr_t)values; /* only read when filling */
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
    for (int64_t s = 0; s < S->slices; s++)
        move_values(S, s, S->values, source, true);
}

/* Everything after the lines are in their final order. */
static tess_status fill(tess_ctx *ctx, const tess_matrix *A, tess_sliced *S)
{
    place_slices(S);
    int64_t groups = S->offsets[S->slices];
    int64_t per_group = (int64_t)S->group * S->options.height, blocks, scalars;
    if (!tess_mul(groups, per_group, &blocks) ||
        !tess_mul(blocks, (int64_t)S->block_height * S->block_width, &scalars))
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "sliced: %lld groups of %lld blocks overflow",
                         (long long)groups, (long long)per_group);
    TESS_TRY(TESS_ALLOC(ctx, blocks, &S->columns));
    TESS_TRY(tess_alloc_bytes(ctx, scalars, tess_type_size(S->type), &S->values));
    size_t group_bytes =
        (size_t)(per_group * S->block_height * S->block_width) * tess_type_size(S->type);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64)
    for (int64_t s = 0; s < S->slices; s++) {
        fill_columns(A, S, s);
        memset((char *)S->values + (size_t)S->offsets[s] * group_bytes, 0,
               (size_t)(S->offsets[s + 1] - S->offsets[s]) * group_bytes);
        move_values(S, s, S->values, A->values, true);
    }
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
                       .rows = A->rows,
                       .cols = A->cols,
                       .block_height = A->block_height,
                       .block_width = A->block_width,
                       .block_rows = A->block_rows,
                       .blocks = A->blocks,
                       .options = *options};
    S->options.panels = options->panels > 1 ? options->panels : 1;
    S->group = 1;
    while (S->group * A->block_width % V != 0)
        S->group *= 2;
    tess_status status = tess_sliced_make_lines(ctx, A, S);
    if (status == TESS_OK)
        status = fill(ctx, A, S);
    if (status != TESS_OK) {
        tess_sliced_destroy(S);
        return status;
    }
    *out = S;
    return TESS_OK;
}

void tess_sliced_destroy(tess_sliced *S)
{
    if (!S)
        return;
    void *arrays[] = {S->offsets, S->lengths, S->targets, S->starts,
                      S->columns, S->values,  S->cut_row, S->cut_slots};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        tess_free(S->ctx, arrays[i]);
    tess_free(S->ctx, S);
}

/* The block row of a line: of a segment, the cut row that owns its slot. */
static int64_t row_of(const tess_sliced *S, int64_t line)
{
    int64_t target = S->targets ? S->targets[line] : line;
    if (target >= 0)
        return target;
    int64_t low = 0, high = S->cut_rows; /* cut_slots[low] <= slot < cut_slots[high] */
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (S->cut_slots[middle] <= ~target)
            low = middle;
        else
            high = middle;
    }
    return S->cut_row[low];
}

tess_status tess_sliced_to_bsr(tess_ctx *ctx, const tess_sliced *S, tess_matrix **out)
{
    tess_matrix *A;
    TESS_TRY(tess_matrix_allocate(ctx, S->type, S->rows, S->cols, S->block_height, S->block_width,
                                  S->blocks, &A));
    int32_t height = S->options.height;
    for (int64_t line = 0; line < S->slices * height; line++)
        if (S->lengths[line] > 0)
            A->row_offsets[row_of(S, line) + 1] += S->lengths[line];
    for (int64_t row = 0; row < S->block_rows; row++)
        A->row_offsets[row + 1] += A->row_offsets[row];
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64)
    for (int64_t s = 0; s < S->slices; s++) {
        for (int32_t lane = 0; lane < height; lane++)
            for (int32_t k = 0; k < S->lengths[s * height + lane]; k++)
                A->columns[S->starts[s * height + lane] + k] =
                    S->columns[column_index(S, s, lane, k)];
        move_values(S, s, S->values, A->values, false);
    }
    *out = A;
    return TESS_OK;
}

int64_t tess_sliced_bytes(const tess_sliced *S)
{
    int64_t places = S->slices * S->options.height;
    int64_t blocks = S->offsets[S->slices] * S->group * S->options.height;
    int64_t line = S->targets ? 8 : 4; /* lengths and targets */
    return (S->slices + 1) * 8 + places * line + blocks * 4 +
           tess_sliced_stored(S) * (int64_t)tess_type_size(S->type) +
           (S->cut_rows > 0 ? S->cut_rows * 8 + 4 : 0);
}
