/* The image of format fbcsr: the splits one after the other in the same arrays, the remainder in
 * slices of 32 rows, and for every group of lanes the blocks that touch its rows. */
#include <string.h>

#include "cuda/kernels/support.h"
#include "plan/shapes.h"

enum { SLICE = 32 };

/* Rows that adjacent lanes walk the blocks of a shape for together: LANES in fbcsr.cu. */
static int64_t group_rows(const tess_fbcsr_shape *shape)
{
    int64_t lanes = SLICE;
    while (shape->height > 1 && lanes > 2 && lanes > shape->height)
        lanes /= 2;
    return lanes;
}

static void destroy(tess_cuda_image *image)
{
    tess_cuda_fbcsr *f = image->format;
    if (!f)
        return;
    tess_fbcsr_destroy(f->F);
    tess_sliced_destroy(f->rest);
    tess_free(image->ctx, f->ranges);
    tess_free(image->ctx, f->places);
    tess_free(image->ctx, f->values);
    tess_free(image->ctx, f);
}

/* All values behind each other, the remainder's last. */
static void gather_values(tess_cuda_fbcsr *f)
{
    const tess_fbcsr *F = f->F;
    size_t size = tess_type_size(F->type), at = 0;
    for (int i = 0; i < F->splits; i++) {
        size_t bytes = (size_t)(F->split[i].blocks * tess_fbcsr_cells(&F->split[i].shape)) * size;
        memcpy((char *)f->values + at, F->split[i].values, bytes);
        at += bytes;
    }
    if (f->rest_stored > 0)
        memcpy((char *)f->values + at, f->rest->values, (size_t)f->rest_stored * size);
}

static void refresh(tess_cuda_image *image, const void *values)
{
    tess_cuda_fbcsr *f = image->format;
    (void)tess_fbcsr_refresh(f->F, values);
    tess_sliced_refresh(f->rest, f->F->rest->values);
    gather_values(f);
}

/* The ranges of one split; `first` is the number of its first block among all. */
static void fill_ranges(const tess_fbcsr_split *split, int64_t rows, int64_t first, int64_t *ranges)
{
    int64_t lanes = group_rows(&split->shape), groups = tess_ceil_div(rows, lanes);
    int64_t begin = 0, end = 0;
    for (int64_t g = 0; g < groups; g++) {
        while (begin < split->blocks && split->rows[begin] + split->shape.height <= g * lanes)
            begin++;
        while (end < split->blocks && split->rows[end] < (g + 1) * lanes)
            end++;
        ranges[2 * g] = first + begin;
        ranges[2 * g + 1] = first + (end > begin ? end : begin);
    }
}

/* Which of the shapes asked for split s of F is: splits without blocks are left out there. */
static int shape_number(const tess_fbcsr_options *shapes, const tess_fbcsr_shape *shape, int from)
{
    while (shapes->shape[from].height != shape->height ||
           shapes->shape[from].width != shape->width || shapes->shape[from].shift != shape->shift)
        from++;
    return from;
}

static tess_status place_splits(tess_ctx *ctx, const tess_fbcsr_options *shapes, tess_cuda_fbcsr *f)
{
    const tess_fbcsr *F = f->F;
    int64_t blocks = 0, scalars = 0;
    for (int i = 0; i < FBCSR_SPLITS_MAX; i++)
        f->first_range[i] = -1;
    for (int s = 0, number = 0; s < F->splits; s++) {
        const tess_fbcsr_split *split = &F->split[s];
        int64_t cells = tess_fbcsr_cells(&split->shape);
        number = shape_number(shapes, &split->shape, number);
        f->first_range[number] = f->range_count;
        f->first_value[number] = scalars - blocks * cells;
        f->range_count += tess_ceil_div(F->rows, group_rows(&split->shape));
        blocks += split->blocks;
        scalars += split->blocks * cells;
        number++;
    }
    f->rest_value = scalars;
    f->blocks = blocks;
    TESS_TRY(TESS_ALLOC(ctx, 2 * f->range_count, &f->ranges));
    TESS_TRY(TESS_ALLOC(ctx, 2 * blocks, &f->places));
    TESS_TRY(tess_alloc_bytes(ctx, scalars + f->rest_stored, tess_type_size(F->type), &f->values));
    int64_t block = 0, range = 0;
    for (int s = 0; s < F->splits; s++) {
        const tess_fbcsr_split *split = &F->split[s];
        fill_ranges(split, F->rows, block, f->ranges + 2 * range);
        range += tess_ceil_div(F->rows, group_rows(&split->shape));
        for (int64_t b = 0; b < split->blocks; b++, block++) {
            f->places[2 * block] = split->rows[b];
            f->places[2 * block + 1] = split->cols[b];
        }
    }
    gather_values(f);
    return TESS_OK;
}

static void add_array(tess_cuda_image *image, const void *host, int64_t count, size_t size)
{
    image->arrays[image->count++] = (tess_cuda_array){host, (size_t)count * size};
}

tess_status tess_cuda_image_fbcsr(tess_ctx *ctx, const tess_matrix *A, const char *text,
                                  tess_cuda_image *image)
{
    static const tess_sliced_options slices = {
        .height = SLICE, .window = 1, .split = 0, .vector = 1, .panels = 1};
    tess_fbcsr_options shapes;
    tess_cuda_fbcsr *f;
    tess_status status;
    TESS_TRY(tess_shapes_read(ctx, text, &shapes));
    TESS_TRY(TESS_CALLOC(ctx, 1, &f));
    image->format = f;
    TESS_TRY_CLEAN(tess_fbcsr_create(ctx, A, &shapes, &f->F));
    TESS_TRY_CLEAN(tess_sliced_create(ctx, f->F->rest, &slices, &f->rest));
    f->rest_stored = tess_sliced_stored(f->rest);
    TESS_TRY_CLEAN(place_splits(ctx, &shapes, f));
    add_array(image, f->ranges, 2 * f->range_count, sizeof *f->ranges);
    add_array(image, f->places, 2 * f->blocks, sizeof *f->places);
    add_array(image, f->values, f->rest_value + f->rest_stored, tess_type_size(A->type));
    add_array(image, f->rest->offsets, f->rest->slices + 1, sizeof *f->rest->offsets);
    add_array(image, f->rest->lengths, f->rest->slices * SLICE, sizeof *f->rest->lengths);
    add_array(image, f->rest->columns, f->rest_stored, sizeof *f->rest->columns);
    image->values = FBCSR_VALUES;
    image->destroy = destroy;
    image->refresh = refresh;
    return TESS_OK;
cleanup:
    destroy(image);
    return status;
}
