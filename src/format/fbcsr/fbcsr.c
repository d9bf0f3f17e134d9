/* FBCSR: makes one split after the other, fills in the values, and keeps the remainder. */
#include "format/fbcsr/fbcsr.h"

#include "format/fbcsr/split.h"

/* ---- Thresholds ---- */

double tess_fbcsr_break_even(const tess_shape *shape, tess_type type)
{
    double value = (double)tess_type_size(type), cells = (double)tess_shape_cells(shape);
    return (value * cells + 8) / ((value + 4) * cells);
}

int64_t tess_fbcsr_least(const tess_shape *shape, tess_type type, double threshold)
{
    double fill = threshold < 0 ? tess_fbcsr_break_even(shape, type) : threshold;
    /* 0.7 of 10 cells are 7 entries, not 8: the rounding of the product is subtracted. */
    int64_t least = (int64_t)ceil(fill * (double)tess_shape_cells(shape) - 1e-9);
    return tess_max(1, least);
}

/* ---- The pattern of the entries that the splits have left ---- */

int64_t tess_fbcsr_lower_bound(const tess_fbcsr_pattern *P, int64_t row, int64_t column)
{
    return tess_lower_bound(P->columns, P->row_offsets[row], P->row_offsets[row + 1], column);
}

void tess_fbcsr_pattern_clear(tess_ctx *ctx, tess_fbcsr_pattern *P)
{
    if (!P->borrowed)
        TESS_FREE(ctx, P->row_offsets, P->columns);
    tess_free(ctx, P->entry);
    *P = (tess_fbcsr_pattern){.borrowed = true};
}

void tess_fbcsr_found_clear(tess_ctx *ctx, tess_fbcsr_found *found)
{
    TESS_FREE(ctx, found->places, found->cell);
    *found = (tess_fbcsr_found){.blocks = 0};
}

/* N becomes P without the entries found. */
typedef struct removal {
    tess_fbcsr_pattern *P, N;
    const tess_fbcsr_found *found;
} removal;

static void count_left(void *arg, tess_range range)
{
    const removal *job = arg;
    for (int64_t row = range.first; row < range.last; row++)
        for (int64_t k = job->P->row_offsets[row]; k < job->P->row_offsets[row + 1]; k++)
            job->N.row_offsets[row + 1] += job->found->cell[k] < 0;
}

static void keep_left(void *arg, tess_range range)
{
    const removal *job = arg;
    tess_fbcsr_pattern *P = job->P;
    const tess_fbcsr_pattern N = job->N;
    for (int64_t row = range.first; row < range.last; row++) {
        int64_t to = N.row_offsets[row];
        for (int64_t k = P->row_offsets[row]; k < P->row_offsets[row + 1]; k++) {
            if (job->found->cell[k] >= 0)
                continue;
            N.columns[to] = P->columns[k];
            N.entry[to++] = P->entry ? P->entry[k] : k;
        }
    }
}

tess_status tess_fbcsr_pattern_remove(tess_ctx *ctx, tess_fbcsr_pattern *P,
                                      const tess_fbcsr_found *found)
{
    int64_t left = P->row_offsets[P->rows] - found->nonzeros;
    tess_fbcsr_pattern N = {.rows = P->rows, .cols = P->cols};
    tess_status status;
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, P->rows + 1, &N.row_offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, left, &N.columns));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, left, &N.entry));
    removal job = {P, N, found};
    tess_for(ctx, P->rows, count_left, &job);
    tess_counts_to_offsets(N.row_offsets, N.rows);
    tess_for(ctx, P->rows, keep_left, &job);
    tess_fbcsr_pattern_clear(ctx, P);
cleanup:
    return TESS_DELIVER_OR(status, N, tess_fbcsr_pattern_clear(ctx, &N), P);
}

/* ---- Making it ---- */

/* A split that is being filled. `base` is the number of scalars of the splits before it. */
typedef struct filling {
    const tess_fbcsr_pattern *P;
    const tess_fbcsr_found *found;
    tess_fbcsr_split *split;
    int64_t base, *map;
    const tess_matrix *A;
} filling;

/* Copies the values of block b, and sets the map of its entries. */
static void fill_block(const filling *f, int64_t b)
{
    const tess_fbcsr_pattern *P = f->P;
    const tess_shape *S = &f->split->shape;
    int64_t first = b * tess_shape_cells(S);
    for (int64_t i = 0; i < S->height; i++) {
        int64_t row = f->split->rows[b] + i, column = f->split->cols[b] + S->shift * i;
        int64_t end = P->row_offsets[row + 1];
        for (int64_t k = tess_fbcsr_lower_bound(P, row, column);
             k < end && P->columns[k] < column + S->width; k++) {
            int64_t cell = (P->columns[k] - column) * S->height + i;
            if (f->found->cell[k] != cell)
                continue; /* it is in another block */
            int64_t entry = P->entry ? P->entry[k] : k;
            tess_copy_scalar(f->A->type, f->split->values, first + cell, f->A->values, entry);
            f->map[entry] = f->base + first + cell;
        }
    }
}

static void fill_blocks(void *arg, tess_range range)
{
    const filling *f = arg;
    const size_t bytes = (size_t)tess_shape_cells(&f->split->shape) * tess_type_size(f->A->type);
    for (int64_t b = range.first; b < range.last; b++) {
        f->split->rows[b] = f->found->places[b].row;
        f->split->cols[b] = f->found->places[b].col;
        memset((char *)f->split->values + (size_t)b * bytes, 0, bytes);
        fill_block(f, b);
    }
}

static tess_status fill_split(tess_fbcsr *F, const tess_fbcsr_pattern *P,
                              const tess_fbcsr_found *found, const tess_shape *shape, int64_t base,
                              const tess_matrix *A)
{
    tess_fbcsr_split *split = &F->split[F->splits++];
    int64_t scalars, cells = tess_shape_cells(shape);
    *split =
        (tess_fbcsr_split){.shape = *shape, .blocks = found->blocks, .nonzeros = found->nonzeros};
    if (!tess_mul(found->blocks, cells, &scalars))
        return tess_fail(F->ctx, TESS_ERR_OVERFLOW, "fbcsr: %lld blocks of %lld scalars overflow",
                         (long long)found->blocks, (long long)cells);
    TESS_TRY(TESS_ALLOC(F->ctx, found->blocks, &split->rows));
    TESS_TRY(TESS_ALLOC(F->ctx, found->blocks, &split->cols));
    TESS_TRY(tess_alloc_bytes(F->ctx, scalars, tess_type_size(F->type), &split->values));
    tess_for(F->ctx, found->blocks, fill_blocks, &(filling){P, found, split, base, F->map, A});
    return TESS_OK;
}

struct fill_entries {
    const tess_fbcsr_pattern *P;
    tess_fbcsr *F;
    const tess_matrix *A;
    int64_t base;
};

static void fill_entries(void *arg, tess_range range)
{
    const struct fill_entries *job = arg;
    const tess_fbcsr_pattern *P = job->P;
    tess_fbcsr *F = job->F;
    for (int64_t k = range.first; k < range.last; k++) {
        int64_t entry = P->entry ? P->entry[k] : k;
        F->rest->columns[k] = P->columns[k];
        tess_copy_scalar(F->type, F->rest->values, k, job->A->values, entry);
        F->map[entry] = job->base + k;
    }
}

static tess_status fill_rest(tess_fbcsr *F, const tess_fbcsr_pattern *P, int64_t base,
                             const tess_matrix *A)
{
    int64_t left = P->row_offsets[P->rows];
    TESS_TRY(tess_matrix_allocate(F->ctx, F->type, F->rows, F->cols, 1, 1, left, &F->rest));
    memcpy(F->rest->row_offsets, P->row_offsets, (size_t)(P->rows + 1) * sizeof *P->row_offsets);
    tess_for(F->ctx, left, fill_entries, &(struct fill_entries){P, F, A, base});
    return TESS_OK;
}

static tess_status split_all(tess_fbcsr *F, const tess_matrix *A, const tess_fbcsr_options *options)
{
    tess_fbcsr_pattern P = tess_fbcsr_pattern_of(A);
    tess_fbcsr_found found = {.blocks = 0};
    int64_t base = 0;
    tess_status status = TESS_OK;
    for (int s = 0; s < options->count; s++) {
        const tess_shape *shape = &options->shape[s];
        int64_t least = tess_fbcsr_least(shape, A->type, options->threshold[s]);
        TESS_TRY_CLEAN(tess_progress(F->ctx, "extracting blocks", s, options->count));
        TESS_TRY_CLEAN(tess_fbcsr_split_once(F->ctx, &P, shape, least, &found));
        if (found.blocks > 0) {
            TESS_TRY_CLEAN(fill_split(F, &P, &found, shape, base, A));
            TESS_TRY_CLEAN(tess_fbcsr_pattern_remove(F->ctx, &P, &found));
            base += found.blocks * tess_shape_cells(shape);
        }
        tess_fbcsr_found_clear(F->ctx, &found);
    }
    TESS_TRY_CLEAN(fill_rest(F, &P, base, A));
cleanup:
    tess_fbcsr_found_clear(F->ctx, &found);
    tess_fbcsr_pattern_clear(F->ctx, &P);
    return status;
}

tess_status tess_fbcsr_create(tess_ctx *ctx, const tess_matrix *A,
                              const tess_fbcsr_options *options, tess_fbcsr **out)
{
    tess_fbcsr *F = NULL;
    tess_matrix *csr = NULL;
    tess_fbcsr_options chosen = {.count = 0};
    tess_status status;
    if (A->rows > INT32_MAX || A->cols > INT32_MAX)
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "fbcsr: %lld x %lld does not fit 31 bits",
                         (long long)A->rows, (long long)A->cols);
    if (A->block_height != 1 || A->block_width != 1) {
        TESS_TRY(tess_matrix_to_csr(ctx, A, TESS_ZEROS_KEEP, &csr));
        A = csr;
    }
    if (options && options->count > 0)
        chosen = *options;
    else
        TESS_TRY_CLEAN(tess_fbcsr_choose(ctx, A, &chosen));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, 1, &F));
    *F = (tess_fbcsr){
        .ctx = ctx, .type = A->type, .rows = A->rows, .cols = A->cols, .nonzeros = A->blocks};
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, chosen.count, &F->split));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->blocks, &F->map));
    TESS_TRY_CLEAN(split_all(F, A, &chosen));
cleanup:
    tess_matrix_destroy(csr);
    return TESS_DELIVER(status, F, tess_fbcsr_destroy, out);
}

void tess_fbcsr_destroy(tess_fbcsr *F)
{
    if (!F)
        return;
    for (int s = 0; s < F->splits; s++) {
        TESS_FREE(F->ctx, F->split[s].rows, F->split[s].cols, F->split[s].values);
    }
    TESS_FREE(F->ctx, F->split, F->map);
    tess_matrix_destroy(F->rest);
    tess_free(F->ctx, F);
}

int64_t tess_fbcsr_bytes(const tess_fbcsr *F)
{
    int64_t bytes = (F->rows + 1) * 4 + F->rest->blocks * (4 + (int64_t)tess_type_size(F->type));
    for (int s = 0; s < F->splits; s++)
        bytes += tess_fbcsr_split_bytes(&F->split[s], F->type);
    return bytes;
}
