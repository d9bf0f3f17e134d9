/* Which rows each thread block of loop.cu has, and which rows of x it needs. No device is needed
 * here. */
#include "cuda/solve/units/loop_code.h"

void tess_loop_layout_free(tess_ctx *ctx, tess_loop_layout *layout)
{
    TESS_FREE(ctx, layout->first, layout->source_first, layout->sources, layout->places);
}

/* Gives thread blocks consecutive rows, with sums of blocks and rows as equal as possible. */
static void share_rows(const tess_matrix *A, tess_loop_layout *layout)
{
    const int64_t all = A->blocks + A->block_rows;
    int64_t row = 0, most = 0;
    layout->first[0] = 0;
    for (int g = 1; g <= layout->grid; g++) {
        while (row < A->block_rows && A->row_offsets[row] + row < all * g / layout->grid)
            row++;
        layout->first[g] = (int32_t)(g == layout->grid ? A->block_rows : row);
        const int64_t rows = layout->first[g] - layout->first[g - 1];
        most = tess_max(rows, most);
    }
    layout->span = most * A->block_height;
}

/* Numbers the block columns of thread block g in the order of their first block. All elements of
 * `number` are -1 before and after. False when 16 bits do not suffice. */
static bool number_columns(const tess_matrix *A, tess_loop_layout *layout, int g, int32_t *number)
{
    const int64_t from = A->row_offsets[layout->first[g]];
    const int64_t to = A->row_offsets[layout->first[g + 1]];
    int32_t *source = layout->sources + layout->source_first[g];
    int32_t count = 0;
    for (int64_t k = from; k < to; k++) {
        int32_t *own = &number[A->columns[k]];
        if (*own < 0) {
            *own = count;
            source[count++] = A->columns[k];
        }
        layout->places[k] = (uint16_t)(*own * A->block_height);
    }
    for (int32_t i = 0; i < count; i++)
        number[source[i]] = -1;
    layout->source_first[g + 1] = layout->source_first[g] + count;
    return (int64_t)count * A->block_height <= UINT16_MAX;
}

/* Rewrites sources from block rows to owner << 16 | row of the owner, as loop.cu reads them. */
static void name_owners(const tess_loop_layout *layout)
{
    for (int32_t i = 0; i < layout->source_first[layout->grid]; i++) {
        const int32_t row = layout->sources[i];
        int g = 0;
        while (row >= layout->first[g + 1])
            g++;
        layout->sources[i] = (int32_t)((uint32_t)g << 16 | (uint32_t)(row - layout->first[g]));
    }
}

/* The shared memory that settle() of loop.cu uses in thread block g. */
static int64_t bytes_of(const tess_matrix *A, const tess_loop_code *code,
                        const tess_loop_layout *layout, int g)
{
    const int64_t b = A->block_height, rows = layout->first[g + 1] - layout->first[g];
    const int64_t blocks = A->row_offsets[layout->first[g + 1]] - A->row_offsets[layout->first[g]];
    const int64_t sources = layout->source_first[g + 1] - layout->source_first[g];
    const int64_t wide = tess_max(sources * b, code->threads);
    const int64_t held = code->diagonal.block * (int64_t)tess_type_size(code->diagonal.type);
    const int64_t reals = code->numbers.vectors * layout->span + wide + blocks * b * b;
    return reals * (int64_t)tess_type_size(A->type) + rows * b * held +
           (rows + 1 + sources) * (int64_t)sizeof(int32_t) + blocks * (int64_t)sizeof(uint16_t);
}

static tess_status lay_out(tess_ctx *ctx, const tess_matrix *A, const tess_loop_code *code,
                           int64_t most, tess_loop_layout *layout, bool *fits)
{
    int32_t *number;
    TESS_TRY(TESS_ALLOC(ctx, layout->grid + 1, &layout->first));
    TESS_TRY(TESS_CALLOC(ctx, layout->grid + 1, &layout->source_first));
    TESS_TRY(TESS_ALLOC(ctx, A->blocks, &layout->sources));
    TESS_TRY(TESS_ALLOC(ctx, A->blocks, &layout->places));
    TESS_TRY(TESS_ALLOC(ctx, A->block_cols, &number));
    for (int64_t i = 0; i < A->block_cols; i++)
        number[i] = -1;
    share_rows(A, layout);
    *fits = layout->span <= UINT16_MAX;
    for (int g = 0; g < layout->grid && *fits; g++) {
        *fits = number_columns(A, layout, g, number);
        const int64_t bytes = bytes_of(A, code, layout, g);
        layout->shared = tess_max(bytes, layout->shared);
    }
    tess_free(ctx, number);
    *fits = *fits && layout->shared <= most;
    if (*fits)
        name_owners(layout);
    return TESS_OK;
}

tess_status tess_loop_lay_out(tess_ctx *ctx, const tess_matrix *A, const tess_loop_code *code,
                              int grid, int64_t most, tess_loop_layout *layout, bool *fits)
{
    *layout = (tess_loop_layout){.grid = grid};
    *fits = tess_matrix_stored(A) * (int64_t)tess_type_size(A->type) / grid <= most;
    return *fits ? lay_out(ctx, A, code, most, layout, fits) : TESS_OK;
}
