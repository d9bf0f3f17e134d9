/* Order and patterns of factors that are solved stage by stage. */
#include "solve/pc/triangles/staged.h"

#include "matrix/sort.h"

static void free_triangle(tess_ctx *ctx, tess_triangle *t)
{
    TESS_FREE(ctx, t->offsets, t->columns, t->source, t->values);
}

static void free_split(tess_ctx *ctx, tess_split *split)
{
    free_triangle(ctx, &split->lower);
    free_triangle(ctx, &split->upper);
    tess_free(ctx, split->inverse);
}

void tess_staged_destroy(tess_staged *staged)
{
    if (!staged)
        return;
    tess_ctx *ctx = staged->ctx;
    tess_stages_free(&staged->stages);
    TESS_FREE(ctx, staged->reordered.row_offsets, staged->reordered.columns);
    tess_staged_drop_values(staged);
    tess_free(ctx, staged->source);
    free_split(ctx, &staged->plain);
    free_split(ctx, &staged->transposed);
    tess_free(ctx, staged->work);
    for (int i = 0; i < 2; i++) {
        TESS_FREE(ctx, staged->down[i].bounds, staged->up[i].bounds);
    }
    tess_free(ctx, staged);
}

/* ---- The reordered matrix ---- */

/* The domains of the rows: a row's neighbours are those in its own domain. */
typedef struct cut {
    const int64_t *domain_rows;
    int domains;
} cut;

static int domain_of(const cut *c, int64_t row)
{
    int low = 0, high = c->domains - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (c->domain_rows[middle] <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Lists the row's blocks in its domain as (place, block of A), always with the diagonal block. */
static int64_t gather_row(const tess_matrix *A, const cut *c, const int32_t *places, int64_t row,
                          tess_sort_key *keys)
{
    const int d = domain_of(c, row);
    int64_t count = 0;
    bool diagonal = false;
    for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++) {
        const int64_t column = A->columns[k];
        if (column < c->domain_rows[d] || column >= c->domain_rows[d + 1])
            continue;
        keys[count++] = (tess_sort_key){places[column], k};
        diagonal |= column == row;
    }
    if (!diagonal)
        keys[count++] = (tess_sort_key){places[row], -1};
    return count;
}

static tess_status reorder(tess_staged *staged, const tess_matrix *A, const cut *c)
{
    tess_ctx *ctx = staged->ctx;
    const int64_t rows = A->block_rows;
    tess_matrix *B = &staged->reordered;
    tess_sort_key *keys = NULL;
    const int64_t longest = tess_matrix_longest_row(A);
    tess_status status;
    *B = (tess_matrix){.ctx = ctx,
                       .type = A->type,
                       .rows = rows * A->block_height,
                       .cols = rows * A->block_height,
                       .block_height = A->block_height,
                       .block_width = A->block_width,
                       .block_rows = rows,
                       .block_cols = rows};
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, 2 * (longest + 1), &keys));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, rows + 1, &B->row_offsets));
    /* A row may lack its diagonal block, which is added. */
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->blocks + rows, &B->columns));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->blocks + rows, &staged->source));
    B->row_offsets[0] = 0;
    for (int64_t place = 0; place < rows; place++) {
        const int64_t at = B->row_offsets[place], row = staged->stages.rows[place];
        const int64_t count = gather_row(A, c, staged->stages.places, row, keys);
        const tess_sort_key *sorted = tess_sort_keys(keys, keys + longest + 1, count);
        for (int64_t i = 0; i < count; i++) {
            B->columns[at + i] = sorted[i].column;
            staged->source[at + i] = sorted[i].position;
        }
        B->row_offsets[place + 1] = at + count;
    }
    B->blocks = B->row_offsets[rows];
cleanup:
    tess_free(ctx, keys);
    return status;
}

tess_status tess_staged_create(tess_ctx *ctx, const tess_matrix *A, const tess_pc *pc, int domains,
                               tess_staged **out)
{
    int64_t *domain_rows = NULL;
    tess_staged *staged;
    TESS_TRY(TESS_CALLOC(ctx, 1, &staged));
    staged->ctx = ctx;
    staged->block = A->block_height;
    staged->block_rows = A->block_rows;
    staged->vector_type = pc->vector_type;
    staged->type = pc->type;
    staged->symmetric = pc->ops->symmetric;
    staged->padding = (int32_t)(A->block_rows * A->block_height - A->rows);
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, domains + 1, &domain_rows));
    for (int d = 0; d <= domains; d++)
        domain_rows[d] = tess_share_row(A->row_offsets, A->block_rows, d, domains);
    TESS_TRY_CLEAN(pc->options.schedule == TESS_PC_COLOURS
                       ? tess_stages_by_colours(ctx, A, domains, domain_rows, &staged->stages)
                       : tess_stages_by_levels(ctx, A, domains, domain_rows, &staged->stages));
    TESS_TRY_CLEAN(reorder(staged, A, &(cut){domain_rows, domains}));
    *out = staged;
    staged = NULL;
cleanup:
    tess_free(ctx, domain_rows);
    tess_staged_destroy(staged);
    return status;
}

/* ---- L, D, U ---- */

static tess_status allocate_triangle(const tess_staged *staged, int64_t blocks, tess_triangle *t)
{
    tess_ctx *ctx = staged->ctx;
    TESS_TRY(TESS_CALLOC(ctx, staged->block_rows + 2, &t->offsets));
    TESS_TRY(TESS_ALLOC(ctx, blocks, &t->columns));
    TESS_TRY(TESS_ALLOC(ctx, blocks, &t->source));
    return TESS_OK;
}

static tess_status allocate_values(const tess_staged *staged, tess_triangle *t)
{
    const int64_t blocks = t->offsets[staged->block_rows];
    return tess_alloc_bytes(staged->ctx, blocks, tess_factor_bytes(staged->type, staged->block),
                            &t->values);
}

/* Makes L from the factors' own, whose values are taken over where they have the right type. */
static tess_status split_lower(tess_staged *staged, const tess_factors *f)
{
    tess_triangle *t = &staged->plain.lower;
    const int64_t rows = staged->block_rows;
    TESS_TRY(allocate_triangle(staged, f->lower_offsets[rows], t));
    memcpy(t->offsets, f->lower_offsets, (size_t)(rows + 1) * sizeof *t->offsets);
    for (int64_t k = 0; k < t->offsets[rows]; k++) {
        t->columns[k] = f->lower_columns[k];
        t->source[k] = k;
    }
    return staged->type == TESS_F64 ? TESS_OK : allocate_values(staged, t);
}

/* Makes U from the factors' own. Both store rows upwards, but a row's blocks in opposite orders. */
static tess_status split_upper(tess_staged *staged, const tess_factors *f)
{
    tess_triangle *t = &staged->plain.upper;
    const int64_t rows = staged->block_rows;
    TESS_TRY(allocate_triangle(staged, f->upper_offsets[rows], t));
    memcpy(t->offsets, f->upper_offsets, (size_t)(rows + 1) * sizeof *t->offsets);
    for (int64_t q = 0; q < rows; q++) {
        int64_t k = t->offsets[q];
        for (int64_t j = t->offsets[q + 1] - 1; j >= t->offsets[q]; j--, k++) {
            t->columns[k] = f->upper_columns[j];
            t->source[k] = j + q; /* a diagonal block comes after each row */
        }
    }
    return allocate_values(staged, t);
}

/* Makes `to` the transpose of `from`: an upper triangle of a lower one, or the reverse. Rows of
 * `from` are read in the order that sorts the rows of `to`: rising places put increasing columns,
 * falling places decreasing ones. */
static tess_status transpose(const tess_staged *staged, const tess_triangle *from,
                             tess_triangle *to, bool from_lower)
{
    const int64_t rows = staged->block_rows;
    TESS_TRY(allocate_triangle(staged, from->offsets[rows], to));
    for (int64_t k = 0; k < from->offsets[rows]; k++)
        to->offsets[(from_lower ? rows - 1 - from->columns[k] : from->columns[k]) + 2]++;
    tess_counts_to_offsets(to->offsets, rows + 1);
    for (int64_t i = rows - 1; i >= 0; i--) {
        const int64_t place = from_lower ? i : rows - 1 - i;
        for (int64_t k = from->offsets[i]; k < from->offsets[i + 1]; k++) {
            const int64_t row = from_lower ? rows - 1 - from->columns[k] : from->columns[k];
            const int64_t at = to->offsets[row + 1]++;
            to->columns[at] = (int32_t)place;
            to->source[at] = k;
        }
    }
    return allocate_values(staged, to);
}

static tess_status allocate_inverse(tess_staged *staged, tess_split *split)
{
    return tess_alloc_bytes(staged->ctx, staged->block_rows,
                            tess_factor_bytes(staged->type, staged->block), &split->inverse);
}

tess_status tess_staged_split(tess_staged *staged, const tess_factors *f, bool with_transpose)
{
    tess_split *plain = &staged->plain, *transposed = &staged->transposed;
    TESS_TRY(split_lower(staged, f));
    TESS_TRY(staged->symmetric ? transpose(staged, &plain->lower, &plain->upper, true)
                               : split_upper(staged, f));
    TESS_TRY(allocate_inverse(staged, plain));
    if (!with_transpose || staged->symmetric)
        return TESS_OK;
    TESS_TRY(transpose(staged, &plain->upper, &transposed->lower, false));
    TESS_TRY(transpose(staged, &plain->lower, &transposed->upper, true));
    return allocate_inverse(staged, transposed);
}
