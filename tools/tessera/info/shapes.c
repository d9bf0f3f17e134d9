/* What `tessera info` says of the fbcsr format: what each shape alone would extract, and what the
 * list of shapes that "auto" chooses would. */
#include <string.h>

#include "info.h"

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

static double share_of(const info_facts *facts, const tess_shape_candidate *shape)
{
    return (double)shape->nonzeros / (double)facts->matrix.blocks;
}

/* Prints the shapes that would extract blocks, or with `all` every shape. */
void info_print_shapes(const cli_app *app, const info_facts *facts, bool all)
{
    const tess_shape_detection *S = facts->shapes;
    double csr = facts->shapes->csr_bytes;
    bool any = false;
    char a[TEXT_MAX], b[TEXT_MAX];
    for (int64_t i = 0; i < S->count; i++)
        any |= S->candidates[i].blocks > 0;
    if (S->count == 0 || !(any || all))
        return;
    printf("\n%s    shape anywhere       blocks   extracts    fill   SpMV moves   to 1 x 1%s\n",
           bold(app), plain(app));
    for (int64_t i = 0; i < S->count; i++) {
        const tess_shape_candidate *c = &S->candidates[i];
        if (c->blocks > 0 || all)
            printf("  %16s %12s %8.1f %% %7.3f %12s %+8.0f %%\n", c->name, text_count(c->blocks, a),
                   100 * share_of(facts, c), c->fill, text_bytes(c->bytes, b),
                   100 * (c->bytes / csr - 1));
    }
}

/* One sentence for the verdict. */
void info_describe_shapes(const info_facts *facts, char *text, size_t size)
{
    const tess_shape_detection *S = facts->shapes;
    const tess_block_candidate *blocks = best_blocks(facts->blocks);
    double csr = facts->shapes->csr_bytes;
    text[0] = '\0';
    if (S->count == 0 || !blocks)
        return;
    if (!S->shapes[0])
        snprintf(text, size,
                 "no list of shapes saves enough of CSR's bytes to pay for the splitting");
    else
        snprintf(text, size,
                 "%s blocks hold %.1f %% of the non-zeros, are %.1f %% full and move %.2f times "
                 "CSR's bytes, %.2f times those of %d x %d blocks",
                 S->shapes, 100 * share_of(facts, &S->chosen), 100 * S->chosen.fill,
                 S->chosen.bytes / csr, S->chosen.bytes / blocks->bytes, (int)blocks->rows,
                 (int)blocks->cols);
}

static json_t *shape_json(const info_facts *facts, const tess_shape_candidate *shape,
                          const char *key, const char *name)
{
    return json_make("{s:s, s:I, s:I, s:f, s:f, s:f}", key, name, "blocks",
                     (json_int_t)shape->blocks, "nonzeros", (json_int_t)shape->nonzeros, "share",
                     share_of(facts, shape), "fill", shape->fill, "bytes", shape->bytes);
}

json_t *info_shapes_json(const info_facts *facts)
{
    const tess_shape_detection *S = facts->shapes;
    const tess_block_candidate *blocks = best_blocks(facts->blocks);
    json_t *list = json_array();
    if (S->count == 0 || !blocks)
        return json_make("{s:o}", "shapes", list);
    for (int64_t i = 0; i < S->count; i++)
        json_array_append_new(list,
                              shape_json(facts, &S->candidates[i], "shape", S->candidates[i].name));
    return json_make("{s:o, s:o, s:f, s:{s:i, s:i, s:f}}", "shapes", list, "auto",
                     shape_json(facts, &S->chosen, "shapes", S->shapes), "csr_bytes",
                     facts->shapes->csr_bytes, "best_blocks", "rows", blocks->rows, "cols",
                     blocks->cols, "bytes", blocks->bytes);
}
