/* The image of format fbcsr (format/fbcsr_slices.h); the layout's text is LANES/SHAPES. */
#include <stdlib.h>

#include "cuda/kernels/support.h"
#include "format/fbcsr/slices.h"
#include "backend/shapes.h"

static void destroy(tess_cuda_image *image)
{
    tess_fbcsr_slices_destroy(image->format);
}

static void refresh(tess_cuda_image *image, const void *values)
{
    tess_fbcsr_slices_refresh(image->format, values);
}

static void add_array(tess_cuda_image *image, const void *host, int64_t count, size_t size)
{
    image->arrays[image->count++] = (tess_cuda_array){host, (size_t)count * size};
}

tess_status tess_cuda_image_fbcsr(tess_ctx *ctx, const tess_matrix *A, const char *text,
                                  tess_cuda_image *image)
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
    add_array(image, S->heads, S->slices * S->head, sizeof *S->heads);
    add_array(image, S->lengths, S->places, sizeof *S->lengths);
    add_array(image, S->pieces, S->piece_count * TESS_FBCSR_PIECE, sizeof *S->pieces);
    add_array(image, S->columns, S->column_count, sizeof *S->columns);
    add_array(image, S->values, S->value_count, tess_type_size(S->type));
    add_array(image, S->cut_row, S->cut_rows, sizeof *S->cut_row);
    add_array(image, S->cut_slots, S->cut_rows + 1, sizeof *S->cut_slots);
    add_array(image, S->targets, S->targets ? S->places - segments : 0, sizeof *S->targets);
    image->values = FBCSR_VALUES;
    image->workspace = (size_t)segments * tess_type_size(S->type);
    image->format = S;
    image->destroy = destroy;
    image->refresh = refresh;
    return TESS_OK;
}
