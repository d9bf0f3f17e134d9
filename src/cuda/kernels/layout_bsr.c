/* The layouts bsr and stream: A's own arrays. */
#include "cuda/kernels/support.h"

/* ---- bsr: A's own arrays ---- */

static tess_status create_bsr(tess_ctx *ctx, const tess_matrix *A, const char *text,
                              tess_cuda_layout *layout)
{
    TESS_TRY(tess_options_parse(ctx, "bsr", text, NULL, 0));
    tess_cuda_layout_add(layout, A->row_offsets, A->block_rows + 1, sizeof *A->row_offsets);
    tess_cuda_layout_add(layout, A->columns, A->blocks, sizeof *A->columns);
    tess_cuda_layout_add(layout, A->values, tess_matrix_stored(A), tess_type_size(A->type));
    layout->values = BSR_VALUES;
    return TESS_OK;
}

const tess_cuda_layout_kind tess_cuda_layout_bsr = {
    .name = "bsr",
    .create = create_bsr,
};

/* ---- stream: bsr and where the tiles' rows begin ---- */

static void destroy_stream(tess_cuda_layout *layout)
{
    tess_free(layout->ctx, layout->format);
}

static tess_status create_stream(tess_ctx *ctx, const tess_matrix *A, const char *text,
                                 tess_cuda_layout *layout)
{
    int64_t tile = 64;
    const tess_option table[] = {{"tile", TESS_OPTION_INT, &tile, 1, 1 << 20, NULL, 0}};
    TESS_TRY(tess_options_parse(ctx, "stream", text, table, 1));
    if (A->block_rows > TESS_CUDA_MOST)
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "stream: %lld block rows do not fit 31 bits",
                         (long long)A->block_rows);
    int64_t tiles = A->blocks > 0 ? tess_ceil_div(A->blocks, tile) : 1;
    int32_t *rows;
    TESS_TRY(create_bsr(ctx, A, "", layout));
    TESS_TRY(TESS_ALLOC(ctx, tiles + 1, &rows));
    int64_t row = 0;
    for (int64_t t = 0; t < tiles; t++) {
        while (row < A->block_rows && A->row_offsets[row] < t * tile)
            row++;
        rows[t] = (int32_t)row;
    }
    rows[tiles] = (int32_t)A->block_rows;
    tess_cuda_layout_add(layout, rows, tiles + 1, sizeof *rows);
    layout->counts[STREAM_TILES] = tiles;
    layout->workspace = 2 * STREAM_SHARES_MAX * (size_t)A->block_height * tess_type_size(A->type);
    layout->format = rows;
    return TESS_OK;
}

const tess_cuda_layout_kind tess_cuda_layout_stream = {
    .name = "stream",
    .create = create_stream,
    .destroy = destroy_stream,
};
