/* The layout fbcsr (format/fbcsr/slices.h); its options are LANES/SHAPES. */
#include "cuda/kernels/support.h"
#include "format/fbcsr/slices.h"
#include "backend/shapes.h"

tess_fbcsr_options tess_cuda_shapes_of(const tess_cuda_problem *problem)
{
    tess_fbcsr_options shapes = {0};
    (void)tess_shapes_read(NULL, problem->shapes, &shapes);
    return shapes;
}

static void destroy(tess_cuda_layout *layout)
{
    tess_fbcsr_slices_destroy(layout->format);
}

static void update(tess_cuda_layout *layout, const void *values)
{
    tess_fbcsr_slices_update(layout->format, values);
}

static tess_status create(tess_ctx *ctx, const tess_matrix *A, const char *text,
                          tess_cuda_layout *layout)
{
    tess_fbcsr_options shapes;
    tess_fbcsr *F = NULL;
    tess_fbcsr_slices *S;
    char *list;
    int lanes = (int)strtol(text, &list, 10);
    TESS_TRY(tess_shapes_read(ctx, list + (*list == '/'), &shapes));
    if (tess_fbcsr_has_diagonals(&shapes))
        TESS_TRY(tess_fbcsr_create(ctx, A, &shapes, &F));
    tess_status status = tess_fbcsr_slices_create(ctx, A, F, &shapes, lanes, &S);
    tess_fbcsr_destroy(F);
    TESS_TRY(status);
    int64_t segments = S->segments * (TESS_FBCSR_WARP / TESS_FBCSR_SEGMENT_LANES);
    tess_cuda_layout_add(layout, S->heads, S->slices * S->head, sizeof *S->heads);
    tess_cuda_layout_add(layout, S->lengths, S->places, sizeof *S->lengths);
    tess_cuda_layout_add(layout, S->pieces, S->piece_count * TESS_FBCSR_PIECE, sizeof *S->pieces);
    tess_cuda_layout_add(layout, S->columns, S->column_count, sizeof *S->columns);
    tess_cuda_layout_add(layout, S->values, S->value_count, tess_type_size(S->type));
    tess_cuda_layout_add(layout, S->cut_row, S->cut_rows, sizeof *S->cut_row);
    tess_cuda_layout_add(layout, S->cut_slots, S->cut_rows + 1, sizeof *S->cut_slots);
    tess_cuda_layout_add(layout, S->targets, S->targets ? S->places - segments : 0,
                         sizeof *S->targets);
    layout->values = FBCSR_VALUES;
    layout->workspace = (size_t)segments * tess_type_size(S->type);
    layout->format = S;
    return TESS_OK;
}

static int stored(const tess_cuda_layout *layout, tess_fbcsr_stored *out)
{
    return tess_fbcsr_slices_stored(layout->format, out);
}

const tess_cuda_layout_kind tess_cuda_layout_fbcsr = {
    .name = "fbcsr",
    .create = create,
    .update = update,
    .stored = stored,
    .destroy = destroy,
};
