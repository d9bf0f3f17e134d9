/* The image of format fbcsr: slices of 32 rows (format/fbcsr_slices.h). */
#include "cuda/kernels/support.h"
#include "format/fbcsr_slices.h"
#include "plan/shapes.h"

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
    tess_fbcsr *F;
    tess_fbcsr_slices *S;
    TESS_TRY(tess_shapes_read(ctx, text, &shapes));
    TESS_TRY(tess_fbcsr_create(ctx, A, &shapes, &F));
    tess_status status = tess_fbcsr_slices_create(ctx, F, &shapes, A->values, &S);
    tess_fbcsr_destroy(F);
    TESS_TRY(status);
    int64_t places = S->slices * TESS_FBCSR_SLICE;
    add_array(image, S->heads, (S->slices + 1) * TESS_FBCSR_HEAD, sizeof *S->heads);
    add_array(image, S->pieces, tess_fbcsr_slices_count(S, TESS_FBCSR_HEAD_PIECE),
              sizeof *S->pieces);
    add_array(image, S->lengths, places * S->width_count, sizeof *S->lengths);
    add_array(image, S->columns, tess_fbcsr_slices_count(S, TESS_FBCSR_HEAD_COLUMN),
              sizeof *S->columns);
    add_array(image, S->values, tess_fbcsr_slices_count(S, TESS_FBCSR_HEAD_VALUE),
              tess_type_size(S->type));
    add_array(image, S->cut_row, S->cut_rows, sizeof *S->cut_row);
    add_array(image, S->cut_slots, S->cut_rows + 1, sizeof *S->cut_slots);
    add_array(image, S->targets, S->targets ? places - S->segments * TESS_FBCSR_SLICE : 0,
              sizeof *S->targets);
    image->values = FBCSR_VALUES;
    image->workspace = (size_t)(S->segments * TESS_FBCSR_SLICE) * tess_type_size(S->type);
    image->format = S;
    image->destroy = destroy;
    image->refresh = refresh;
    return TESS_OK;
}
