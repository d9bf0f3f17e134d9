/* For format fbcsr: what each shape of blocks would extract from a matrix by itself, and what the
 * list that "auto" chooses would. */
#include "format/fbcsr/split.h"
#include "inspect/inspect.h"

enum { SHAPES = 9 };

/* The five shapes of the paper, and small blocks. */
static const char *const shapes[SHAPES] = {
    "32x32", "row:32", "column:32", "diagonal:32", "antidiagonal:32", "8x8", "4x4", "3x3", "2x2",
};

typedef struct detection {
    tess_shape_detection public;
    tess_ctx *ctx;
    tess_shape_candidate candidates[SHAPES];
} detection;

/* The bytes of a product, vectors included, when `inside` of the entries take `bytes` and the
 * others are stored as CSR. */
static double product_bytes(const tess_matrix *csr, int64_t inside, double bytes)
{
    double value = (double)tess_type_size(csr->type);
    return bytes + (value + 4) * (double)(csr->blocks - inside) + 4 * (double)(csr->rows + 1) +
           value * (double)(csr->rows + csr->cols);
}

static tess_status try_shape(tess_ctx *ctx, const tess_matrix *csr, const char *name,
                             tess_shape_candidate *out)
{
    const tess_fbcsr_pattern P = tess_fbcsr_pattern_of(csr);
    tess_fbcsr_options one;
    tess_fbcsr_found found;
    TESS_TRY(tess_shape_list_parse(ctx, name, &one));
    const tess_shape *shape = &one.shape[0];
    int64_t least = tess_fbcsr_least(shape, csr->type, TESS_SHAPE_NO_THRESHOLD);
    TESS_TRY(tess_fbcsr_split_once(ctx, &P, shape, least, &found));
    double cells = (double)tess_shape_cells(shape) * (double)found.blocks;
    double value = (double)tess_type_size(csr->type);
    snprintf(out->name, sizeof out->name, "%s", shape->name);
    out->blocks = found.blocks;
    out->nonzeros = found.nonzeros;
    out->fill = cells > 0 ? (double)found.nonzeros / cells : 0;
    out->bytes = product_bytes(csr, found.nonzeros, value * cells + 8 * (double)found.blocks);
    tess_fbcsr_found_clear(ctx, &found);
    return TESS_OK;
}

/* Fills in the list that "auto" chooses, all its shapes together. */
static tess_status choose(tess_ctx *ctx, const tess_matrix *csr, tess_shape_detection *out)
{
    tess_fbcsr *F;
    double cells = 0, bytes = 0;
    tess_shape_candidate *chosen = &out->chosen;
    TESS_TRY(tess_fbcsr_create(ctx, csr, NULL, &F));
    for (int s = 0; s < F->splits; s++) {
        const tess_fbcsr_split *split = &F->split[s];
        tess_append(out->shapes, sizeof out->shapes, "%s%s", s > 0 ? "/" : "", split->shape.name);
        chosen->blocks += split->blocks;
        chosen->nonzeros += split->nonzeros;
        cells += (double)(split->blocks * tess_shape_cells(&split->shape));
        bytes += (double)tess_fbcsr_split_bytes(split, F->type);
    }
    chosen->fill = cells > 0 ? (double)chosen->nonzeros / cells : 0;
    chosen->bytes = product_bytes(csr, chosen->nonzeros, bytes);
    tess_fbcsr_destroy(F);
    return TESS_OK;
}

tess_status tess_detect_shapes(tess_ctx *ctx, const tess_matrix *A, tess_shape_detection **out)
{
    TESS_NEED(ctx, ctx && A && out);
    if (A->block_height != 1 || A->block_width != 1)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_detect_shapes: blocks of %d x %d: tess_matrix_to_csr first",
                         (int)A->block_height, (int)A->block_width);
    TESS_TRY(tess_refuse_complex(ctx, __func__, A->type));
    detection *D;
    TESS_TRY(TESS_CALLOC(ctx, 1, &D));
    tess_status status = TESS_OK;
    D->ctx = ctx;
    D->public.candidates = D->candidates;
    D->public.csr_bytes = product_bytes(A, 0, 0);
    for (int i = 0; A->blocks > 0 && i < SHAPES && status == TESS_OK; i++) {
        status = try_shape(ctx, A, shapes[i], &D->candidates[i]);
        D->public.count++;
    }
    if (A->blocks > 0 && status == TESS_OK)
        status = choose(ctx, A, &D->public);
    return TESS_DELIVER_OR(status, &D->public, tess_free(ctx, D), out);
}

void tess_shape_detection_destroy(tess_shape_detection *D)
{
    if (D)
        tess_free(((detection *)D)->ctx, D);
}
