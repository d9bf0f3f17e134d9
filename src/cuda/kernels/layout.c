/* The table of layouts. */
#include "cuda/kernels/support.h"

extern const tess_cuda_layout_kind tess_cuda_layout_balanced, tess_cuda_layout_stream,
    tess_cuda_layout_sliced, tess_cuda_layout_swept, tess_cuda_layout_by_length,
    tess_cuda_layout_interleaved, tess_cuda_layout_fbcsr, tess_cuda_layout_splits;

static const tess_cuda_layout_kind *const kinds[] = {
    &tess_cuda_layout_bsr,         &tess_cuda_layout_balanced, &tess_cuda_layout_stream,
    &tess_cuda_layout_sliced,      &tess_cuda_layout_swept,    &tess_cuda_layout_by_length,
    &tess_cuda_layout_interleaved, &tess_cuda_layout_fbcsr,    &tess_cuda_layout_splits,
};

/* The kind that a name begins with, and the options behind the colon. */
static tess_status find_kind(tess_ctx *ctx, const char *name, const tess_cuda_layout_kind **kind,
                             const char **options)
{
    size_t length = strcspn(name, ":");
    *options = name[length] ? name + length + 1 : "";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        *kind = kinds[i];
        if (strlen(kinds[i]->name) == length && strncmp(kinds[i]->name, name, length) == 0)
            return TESS_OK;
    }
    return tess_fail(ctx, TESS_ERR_ARGUMENT, "unknown layout '%s'", name);
}

tess_status tess_cuda_layout_check(tess_ctx *ctx, const tess_matrix *A, const char *name)
{
    const tess_cuda_layout_kind *kind;
    const char *options;
    TESS_TRY(find_kind(ctx, name, &kind, &options));
    if (!A->values && A->blocks > 0 && kind->update && !kind->starts)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "layout '%s' is made of values, which are in device memory only", name);
    return TESS_OK;
}

tess_status tess_cuda_layout_create(tess_ctx *ctx, const tess_matrix *A, const char *name,
                                    tess_cuda_layout **out)
{
    const tess_cuda_layout_kind *kind;
    const char *options;
    tess_cuda_layout *layout;
    TESS_TRY(tess_cuda_layout_check(ctx, A, name));
    TESS_TRY(find_kind(ctx, name, &kind, &options));
    TESS_TRY(TESS_ALLOC(ctx, 1, &layout));
    *layout = (tess_cuda_layout){.ctx = ctx, .kind = kind};
    snprintf(layout->name, sizeof layout->name, "%s", name);
    tess_status status = kind->create(ctx, A, options, layout);
    if (status != TESS_OK) {
        tess_free(ctx, layout);
        return status;
    }
    *out = layout;
    return TESS_OK;
}

void tess_cuda_layout_add(tess_cuda_layout *layout, const void *host, int64_t count, size_t size)
{
    layout->arrays[layout->count++] = (tess_cuda_array){host, (size_t)count * size};
}

void tess_cuda_layout_update(tess_cuda_layout *layout, const void *values)
{
    if (layout->kind->update)
        layout->kind->update(layout, values);
    else
        layout->arrays[layout->values].host = values;
}

void tess_cuda_layout_destroy(tess_cuda_layout *layout)
{
    if (!layout)
        return;
    if (layout->kind->destroy)
        layout->kind->destroy(layout);
    tess_free(layout->ctx, layout);
}

size_t tess_cuda_layout_array_bytes(const tess_cuda_layout *layout)
{
    size_t bytes = 0;
    for (int i = 0; i < layout->count; i++)
        bytes += layout->arrays[i].bytes;
    return bytes;
}

/* Kernels know the lengths of rows. Of padding they read what pad.read counts: zeros that share
 * memory transactions with entries. */
tess_status tess_cuda_layout_bytes(tess_ctx *ctx, const tess_matrix *A, const char *name,
                                   double *stored, double *moved)
{
    const tess_cuda_layout_kind *kind;
    const char *options;
    TESS_TRY(find_kind(ctx, name, &kind, &options));
    const double value = (double)tess_type_size(A->type), blocks = (double)A->blocks;
    const double block = 4 + value * A->block_height * A->block_width;
    tess_cuda_padding pad = {
        .blocks = blocks, .read = blocks, .rows = (double)A->block_rows, .row_bytes = 8};
    if (kind->pad)
        TESS_TRY(kind->pad(ctx, A, options, &pad));
    *stored = pad.blocks * block + pad.rows * pad.row_bytes;
    *moved = pad.read * block + pad.rows * pad.row_bytes + value * (double)(A->rows + A->cols);
    return TESS_OK;
}
