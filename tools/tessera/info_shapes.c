/* What `tessera info` says of the fbcsr format: what each shape alone would extract, and what the
 * list that "auto" chooses comes to. */
#include <string.h>

#include "format/fbcsr/split.h"
#include "info.h"

/* The five shapes of the paper, and small blocks. */
static const char *const shapes[INFO_SHAPES] = {
    "32x32", "row:32", "column:32", "diagonal:32", "antidiagonal:32", "8x8", "4x4", "3x3", "2x2",
};

/* Bytes of a product, vectors included, when `inside` of the entries take `bytes`. */
static double product_bytes(const tess_matrix *csr, int64_t inside, double bytes)
{
    double value = (double)tess_type_size(csr->type);
    return bytes + (value + 4) * (double)(csr->blocks - inside) + 4 * (double)(csr->rows + 1) +
           value * (double)(csr->rows + csr->cols);
}

static tess_status try_shape(tess_ctx *ctx, const tess_matrix *csr, const char *name,
                             info_shape *out)
{
    const tess_fbcsr_pattern P = {.rows = csr->rows,
                                  .cols = csr->cols,
                                  .row_offsets = csr->row_offsets,
                                  .columns = csr->columns,
                                  .borrowed = true};
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

tess_status info_gather_shapes(tess_ctx *ctx, const tess_matrix *csr, info_shapes *out)
{
    tess_fbcsr *F;
    double cells = 0;
    *out = (info_shapes){.count = 0};
    if (csr->blocks == 0)
        return TESS_OK;
    for (; out->count < INFO_SHAPES; out->count++)
        TESS_TRY(try_shape(ctx, csr, shapes[out->count], &out->shape[out->count]));
    TESS_TRY(tess_fbcsr_create(ctx, csr, NULL, &F));
    info_shape *chosen = &out->chosen;
    double bytes = 0;
    for (int s = 0; s < F->splits; s++) {
        const tess_fbcsr_split *split = &F->split[s];
        size_t used = strlen(out->list);
        snprintf(out->list + used, sizeof out->list - used, "%s%s", used ? "," : "",
                 split->shape.name);
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

/* The cheapest aligned blocks larger than 1 x 1; NULL when nothing was counted. */
static const tess_block_candidate *best_blocks(const tess_detection *d)
{
    const tess_block_candidate *best = NULL;
    for (int64_t i = 0; i < d->count; i++) {
        const tess_block_candidate *c = &d->candidates[i];
        if (c->rows * c->cols > 1 && c->row_offset == 0 && c->col_offset == 0 &&
            (!best || c->bytes < best->bytes))
            best = c;
    }
    return best;
}

static double share_of(const info_facts *facts, const info_shape *shape)
{
    return (double)shape->nonzeros / (double)facts->matrix->blocks;
}

/* Shapes that would extract something; all of them if asked. */
void info_print_shapes(const cli_app *app, const info_facts *facts, bool all)
{
    const info_shapes *S = &facts->shapes;
    double csr = product_bytes(facts->matrix, 0, 0);
    bool any = false;
    char a[TEXT_MAX], b[TEXT_MAX];
    for (int i = 0; i < S->count; i++)
        any |= S->shape[i].blocks > 0;
    if (S->count == 0 || !(any || all))
        return;
    printf("\n%s    shape anywhere       blocks   extracts    fill   SpMV moves   to 1 x 1%s\n",
           bold(app), plain(app));
    for (int i = 0; i < S->count; i++) {
        const info_shape *c = &S->shape[i];
        if (c->blocks > 0 || all)
            printf("  %16s %12s %8.1f %% %7.3f %12s %+8.0f %%\n", c->name, text_count(c->blocks, a),
                   100 * share_of(facts, c), c->fill, text_bytes(c->bytes, b),
                   100 * (c->bytes / csr - 1));
    }
}

/* One sentence for the verdict. */
void info_describe_shapes(const info_facts *facts, char *text, size_t size)
{
    const info_shapes *S = &facts->shapes;
    const tess_block_candidate *blocks = best_blocks(facts->blocks);
    double csr = product_bytes(facts->matrix, 0, 0);
    text[0] = '\0';
    if (S->count == 0 || !blocks)
        return;
    if (!S->list[0])
        snprintf(text, size,
                 "no list of shapes saves enough of CSR's bytes to pay for the splitting");
    else
        snprintf(text, size,
                 "%s blocks hold %.1f %% of the non-zeros, are %.1f %% full and move %.2f times "
                 "CSR's bytes, %.2f times those of %d x %d blocks",
                 S->list, 100 * share_of(facts, &S->chosen), 100 * S->chosen.fill,
                 S->chosen.bytes / csr, S->chosen.bytes / blocks->bytes, (int)blocks->rows,
                 (int)blocks->cols);
}

static json_t *shape_json(const info_facts *facts, const info_shape *shape, const char *key,
                          const char *name)
{
    return json_pack("{s:s, s:I, s:I, s:f, s:f, s:f}", key, name, "blocks",
                     (json_int_t)shape->blocks, "nonzeros", (json_int_t)shape->nonzeros, "share",
                     share_of(facts, shape), "fill", shape->fill, "bytes", shape->bytes);
}

json_t *info_shapes_json(const info_facts *facts)
{
    const info_shapes *S = &facts->shapes;
    const tess_block_candidate *blocks = best_blocks(facts->blocks);
    json_t *list = json_array();
    if (S->count == 0 || !blocks)
        return json_pack("{s:o}", "shapes", list);
    for (int i = 0; i < S->count; i++)
        json_array_append_new(list, shape_json(facts, &S->shape[i], "shape", S->shape[i].name));
    return json_pack("{s:o, s:o, s:f, s:{s:i, s:i, s:f}}", "shapes", list, "auto",
                     shape_json(facts, &S->chosen, "shapes", S->list), "csr_bytes",
                     product_bytes(facts->matrix, 0, 0), "best_blocks", "rows", blocks->rows,
                     "cols", blocks->cols, "bytes", blocks->bytes);
}
