/* Images: the storage formats as lists of arrays for the device. */
#include <stdio.h>
#include <string.h>

#include "cuda/kernels/support.h"
#include "format/sliced.h"

static void add_array(tess_cuda_image *image, const void *host, int64_t count, size_t size)
{
    image->arrays[image->count++] = (tess_cuda_array){host, (size_t)count * size};
}

/* ---- bsr: A's own arrays ---- */

static void keep_nothing(tess_cuda_image *image)
{
    (void)image;
}

static void point_at_values(tess_cuda_image *image, const void *values)
{
    image->arrays[BSR_VALUES].host = values;
}

static tess_status create_bsr(const tess_matrix *A, tess_cuda_image *image)
{
    add_array(image, A->row_offsets, A->block_rows + 1, sizeof *A->row_offsets);
    add_array(image, A->columns, A->blocks, sizeof *A->columns);
    add_array(image, A->values, tess_matrix_stored(A), tess_type_size(A->type));
    image->values = BSR_VALUES;
    image->destroy = keep_nothing;
    image->refresh = point_at_values;
    return TESS_OK;
}

/* ---- sliced ---- */

static void destroy_sliced(tess_cuda_image *image)
{
    tess_sliced_destroy(image->format);
}

static void refresh_sliced(tess_cuda_image *image, const void *values)
{
    tess_sliced_refresh(image->format, values);
}

static tess_status create_sliced(tess_ctx *ctx, const tess_matrix *A, const char *text,
                                 tess_cuda_image *image)
{
    int64_t C = 32, sigma = 1, lambda = 0, V = 1;
    const tess_option table[] = {
        {"C", TESS_OPTION_INT, &C, 1, 1024, NULL, 0},
        {"sigma", TESS_OPTION_INT, &sigma, 0, 1 << 30, NULL, 0},
        {"lambda", TESS_OPTION_INT, &lambda, 0, 1 << 30, NULL, 0},
        {"V", TESS_OPTION_INT, &V, 1, 4, NULL, 0},
    };
    TESS_TRY(tess_options_parse(ctx, "sliced", text, table, sizeof table / sizeof *table));
    tess_sliced_options options = {(int32_t)C, (int32_t)sigma, (int32_t)lambda, (int32_t)V};
    tess_sliced *S;
    TESS_TRY(tess_sliced_create(ctx, A, &options, &S));
    int64_t places = S->slices * C;
    add_array(image, S->offsets, S->slices + 1, sizeof *S->offsets);
    add_array(image, S->lengths, places, sizeof *S->lengths);
    add_array(image, S->targets, S->targets ? places : 0, sizeof *S->targets);
    add_array(image, S->columns, S->offsets[S->slices] * S->group * C, sizeof *S->columns);
    add_array(image, S->values, tess_sliced_stored(S), tess_type_size(S->type));
    add_array(image, S->cut_row, S->cut_rows, sizeof *S->cut_row);
    add_array(image, S->cut_slots, S->cut_rows + 1, sizeof *S->cut_slots);
    image->values = SLICED_VALUES;
    image->counts[SLICED_SLICES] = S->slices;
    image->counts[SLICED_LINES] = S->lines;
    image->counts[SLICED_CUT_ROWS] = S->cut_rows;
    int64_t slots = tess_ceil_div(
        (int64_t)S->cut_slots[S->cut_rows] * S->block_height * (int64_t)tess_type_size(S->type), 8);
    image->counts[SLICED_DOT_AT] = 8 * slots;
    image->workspace =
        8 * (size_t)(slots + tess_ceil_div(places * S->block_height, 32) + S->cut_rows + 1);
    image->format = S;
    image->destroy = destroy_sliced;
    image->refresh = refresh_sliced;
    return TESS_OK;
}

/* ---- all ---- */

tess_status tess_cuda_image_create(tess_ctx *ctx, const tess_matrix *A, const char *layout,
                                   tess_cuda_image **out)
{
    size_t name = strcspn(layout, ":");
    const char *options = layout[name] ? layout + name + 1 : "";
    tess_cuda_image *image;
    TESS_TRY(TESS_ALLOC(ctx, 1, &image));
    *image = (tess_cuda_image){.ctx = ctx};
    snprintf(image->layout, sizeof image->layout, "%s", layout);
    tess_status status;
    if (name == strlen("bsr") && strncmp(layout, "bsr", name) == 0)
        status = create_bsr(A, image);
    else if (name == strlen("sliced") && strncmp(layout, "sliced", name) == 0)
        status = create_sliced(ctx, A, options, image);
    else
        status = tess_fail(ctx, TESS_ERR_ARGUMENT, "unknown layout '%s' (bsr, sliced)", layout);
    if (status != TESS_OK) {
        tess_free(ctx, image);
        return status;
    }
    *out = image;
    return TESS_OK;
}

void tess_cuda_image_refresh(tess_cuda_image *image, const void *values)
{
    image->refresh(image, values);
}

void tess_cuda_image_destroy(tess_cuda_image *image)
{
    if (!image)
        return;
    image->destroy(image);
    tess_free(image->ctx, image);
}
