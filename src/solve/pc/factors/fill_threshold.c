/* Factors with a threshold: A is factored row by row, and what is small is dropped (Saad, "ILUT: a
 * dual threshold incomplete LU factorization", 1994).
 *
 * Row i of A becomes a working row W of blocks, found by column. For each column at a position k
 * before i, in rising order:
 *
 *     W_ik is small:  it is dropped
 *     otherwise:      L_ik = W_ik D_k^-1,  W_ij -= L_ik U_kj for the blocks of row k of U
 *
 * The last step may add columns. Sizes are Frobenius norms.
 *
 * Columns keep their numbers. Where they are exchanged only their positions change.
 */
#include "matrix/sort.h"
#include "solve/pc/block_numbers.h"
#include "solve/pc/factors/fill.h"
#include "solve/pc/factors/fill_heap.h"

/* The factors so far, a row after the other: L's blocks, the inverse of U's diagonal block, U's
 * blocks. */
typedef struct kept_rows {
    int64_t *offsets, *diagonal; /* of each row; the place of its diagonal block */
    int32_t *columns;
    double *blocks;
    int64_t count, capacity, block_capacity;
} kept_rows;

/* A block of the working row. */
typedef struct entry {
    int32_t column;
    double size;
} entry;

typedef struct factoring {
    tess_ctx *ctx;
    const tess_matrix *A;
    int32_t b;
    int64_t area, mean_row;
    tess_fill_options options;
    int64_t *position; /* of each column */
    int64_t *order;    /* the column at each position */
    kept_rows kept;
    /* The working row: places by column, and blocks by place. */
    int64_t *place; /* -1: not in the row */
    int32_t *row_columns;
    double *row_blocks;
    int64_t row_count, row_capacity, row_block_capacity;
    position_heap heap; /* positions left of the diagonal that are still to be eliminated */
    entry *chosen;
    int64_t chosen_capacity;
    double *scratch;  /* two blocks */
    int64_t replaced; /* diagonal blocks that could not be inverted */
} factoring;

static size_t block_bytes(const factoring *f)
{
    return (size_t)f->area * sizeof(double);
}

/* ---- The working row ---- */

/* Finds the block of a column in the working row. A new block is 0. */
static tess_status need_block(factoring *f, int64_t row, int32_t column, double **block)
{
    if (f->place[column] < 0) {
        const int64_t at = f->row_count;
        TESS_TRY(TESS_GROW(f->ctx, &f->row_columns, at, &f->row_capacity));
        TESS_TRY(tess_grow_bytes(f->ctx, (void **)&f->row_blocks, block_bytes(f), at,
                                 &f->row_block_capacity));
        f->place[column] = at;
        f->row_columns[at] = column;
        f->row_count++;
        memset(f->row_blocks + at * f->area, 0, block_bytes(f));
        if (f->position[column] < row)
            TESS_TRY(push(f->ctx, &f->heap, f->position[column]));
    }
    *block = f->row_blocks + f->place[column] * f->area;
    return TESS_OK;
}

/* Puts A's row into the working row; *mean is the mean size of its blocks. */
static tess_status load_row(factoring *f, int64_t row, double *mean)
{
    const tess_matrix *A = f->A;
    double sum = 0, *block;
    for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++) {
        TESS_TRY(need_block(f, row, A->columns[k], &block));
        for (int64_t i = 0; i < f->area; i++)
            block[i] = tess_matrix_value(A, k * f->area + i);
        sum += block_norm(block, f->area);
    }
    TESS_TRY(need_block(f, row, (int32_t)f->order[row], &block));
    for (int32_t i = 0; i < f->b; i++)
        if (row * f->b + i >= A->rows)
            block[(int64_t)i * f->b + i] = 1; /* padding */
    *mean = sum / (double)tess_max(1, A->row_offsets[row + 1] - A->row_offsets[row]);
    return TESS_OK;
}

/* Subtracts `factor` times row k of U from the working row, entry by entry. */
static tess_status subtract_entries(factoring *f, int64_t row, int64_t k, double factor)
{
    const kept_rows *K = &f->kept;
    double *entry_of;
    for (int64_t m = K->diagonal[k] + 1; m < K->offsets[k + 1]; m++) {
        const int64_t place = f->place[K->columns[m]];
        if (place >= 0) {
            f->row_blocks[place] -= factor * K->blocks[m];
        } else {
            TESS_TRY(need_block(f, row, K->columns[m], &entry_of));
            *entry_of = -factor * K->blocks[m];
        }
    }
    return TESS_OK;
}

static tess_status eliminate(factoring *f, int64_t row, double least)
{
    const kept_rows *K = &f->kept;
    double *block;
    while (f->heap.count > 0) {
        const int64_t k = pop(&f->heap);
        double *factor = f->scratch;
        block = f->row_blocks + f->place[f->order[k]] * f->area;
        if (block_norm(block, f->area) < least) {
            memset(block, 0, block_bytes(f));
            continue;
        }
        multiply(SET, factor, block, K->blocks + K->diagonal[k] * f->area, f->b);
        memcpy(block, factor, block_bytes(f));
        if (f->area == 1) {
            TESS_TRY(subtract_entries(f, row, k, *factor));
            continue;
        }
        for (int64_t m = K->diagonal[k] + 1; m < K->offsets[k + 1]; m++) {
            TESS_TRY(need_block(f, row, K->columns[m], &block));
            multiply(SUBTRACT, block, factor, K->blocks + m * f->area, f->b);
        }
    }
    return TESS_OK;
}

/* Exchanges the column at the diagonal for the one of the largest entry right of it, where the
 * diagonal's is too small. */
static void pivot(factoring *f, int64_t row)
{
    const int64_t diagonal = f->order[row];
    int64_t best = diagonal;
    double largest = 0;
    for (int64_t at = 0; at < f->row_count; at++) {
        const int32_t column = f->row_columns[at];
        const double size = fabs(f->row_blocks[at]);
        if (f->position[column] >= row && size > largest) {
            largest = size;
            best = column;
        }
    }
    if (fabs(f->row_blocks[f->place[diagonal]]) >= f->options.pivot * largest)
        return;
    const int64_t place = f->position[best];
    f->order[row] = best;
    f->order[place] = diagonal;
    f->position[best] = row;
    f->position[diagonal] = place;
}

/* ---- What is kept ---- */

static int by_size(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* Chooses the largest blocks of one half of the row. Returns how many. */
static int64_t choose(factoring *f, int64_t row, bool left, double least)
{
    const int64_t own = f->A->row_offsets[row + 1] - f->A->row_offsets[row];
    const double allowed = ceil(0.5 * f->options.most * (double)tess_max(own, f->mean_row));
    int64_t count = 0;
    for (int64_t at = 0; at < f->row_count; at++) {
        const int32_t column = f->row_columns[at];
        const int64_t position = f->position[column];
        const double size = block_norm(f->row_blocks + at * f->area, f->area);
        if (position == row || (position < row) != left || !(size > 0) || !(size >= least))
            continue;
        f->chosen[count++] = (entry){column, size};
    }
    if ((double)count > allowed) {
        qsort(f->chosen, (size_t)count, sizeof *f->chosen, by_size);
        count = (int64_t)allowed;
    }
    return count;
}

/* Appends the working row's block of a column. */
static tess_status keep(factoring *f, int64_t column)
{
    kept_rows *K = &f->kept;
    TESS_TRY(TESS_GROW(f->ctx, &K->columns, K->count, &K->capacity));
    TESS_TRY(
        tess_grow_bytes(f->ctx, (void **)&K->blocks, block_bytes(f), K->count, &K->block_capacity));
    memcpy(K->blocks + K->count * f->area, f->row_blocks + f->place[column] * f->area,
           block_bytes(f));
    K->columns[K->count++] = (int32_t)column;
    return TESS_OK;
}

static tess_status keep_half(factoring *f, int64_t row, bool left, double least)
{
    const int64_t count = choose(f, row, left, least);
    for (int64_t i = 0; i < count; i++)
        TESS_TRY(keep(f, f->chosen[i].column));
    return TESS_OK;
}

/* Inverts the row's diagonal block, which was kept last. A singular block is made heavier until it
 * is not. The inverse of a block that is not finite is NaN. */
static void invert_diagonal(factoring *f, int64_t row, double mean)
{
    const double *block = f->row_blocks + f->place[f->order[row]] * f->area;
    double *inverse = f->kept.blocks + f->kept.diagonal[row] * f->area, found;
    memcpy(inverse, block, block_bytes(f));
    if (tess_dense_invert(inverse, f->b, f->scratch, &found) < 0)
        return;
    f->replaced++;
    if (!invert_heavier(block, f->b, mean, 7, f->scratch, inverse))
        for (int64_t i = 0; i < f->area; i++)
            inverse[i] = NAN;
}

static tess_status factor_row(factoring *f, int64_t row)
{
    double mean;
    TESS_TRY(load_row(f, row, &mean));
    const double least = f->options.drop * mean;
    TESS_TRY(eliminate(f, row, least));
    if (f->options.pivot > 0)
        pivot(f, row);
    if (f->row_count > f->chosen_capacity) {
        tess_free(f->ctx, f->chosen);
        f->chosen = NULL;
        f->chosen_capacity = 0;
        TESS_TRY(TESS_ALLOC(f->ctx, 2 * f->row_count, &f->chosen));
        f->chosen_capacity = 2 * f->row_count;
    }
    TESS_TRY(keep_half(f, row, true, 0));
    f->kept.diagonal[row] = f->kept.count;
    TESS_TRY(keep(f, f->order[row]));
    invert_diagonal(f, row, mean);
    TESS_TRY(keep_half(f, row, false, least));
    f->kept.offsets[row + 1] = f->kept.count;
    for (int64_t at = 0; at < f->row_count; at++)
        f->place[f->row_columns[at]] = -1;
    f->row_count = 0;
    return TESS_OK;
}

/* Makes the factors a fill: columns by their positions, each row sorted, and its blocks with
 * them. */
static tess_status make_fill(factoring *f, tess_fill *out)
{
    tess_ctx *ctx = f->ctx;
    const kept_rows *K = &f->kept;
    const int64_t n = f->A->block_rows;
    int64_t longest = 0;
    int32_t *columns = NULL;
    tess_sort_key *keys = NULL;
    double *factors = NULL;
    tess_status status;
    for (int64_t i = 0; i < n; i++)
        longest = tess_max(longest, K->offsets[i + 1] - K->offsets[i]);
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, K->count, &columns));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, 2 * longest, &keys));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, K->count * f->area, &factors));
    for (int64_t i = 0; i < n; i++) {
        const int64_t first = K->offsets[i], count = K->offsets[i + 1] - first;
        for (int64_t k = 0; k < count; k++)
            keys[k] = (tess_sort_key){(int32_t)f->position[K->columns[first + k]], first + k};
        const tess_sort_key *sorted = tess_sort_keys(keys, keys + longest, count);
        for (int64_t k = 0; k < count; k++) {
            columns[first + k] = sorted[k].column;
            memcpy(factors + (first + k) * f->area, K->blocks + sorted[k].position * f->area,
                   block_bytes(f));
        }
    }
    TESS_TRY_CLEAN(tess_fill_from_rows(ctx, f->A, K->offsets, columns, f->order, out));
    out->factors = factors;
    factors = NULL;
cleanup:
    TESS_FREE(ctx, columns, keys, factors);
    return status;
}

static tess_status factor_all(factoring *f)
{
    const int64_t n = f->A->block_rows;
    for (int64_t i = 0; i < n; i++) {
        f->place[i] = -1;
        f->position[i] = f->order[i] = i;
    }
    for (int64_t i = 0; i < n; i++) {
        TESS_TRY(factor_row(f, i));
        if (i % 256 == 0)
            TESS_TRY(tess_progress(f->ctx, "filling the pattern", (double)i, (double)n));
    }
    return TESS_OK;
}

tess_status tess_fill_threshold(tess_ctx *ctx, const tess_matrix *A,
                                const tess_fill_options *options, int64_t *order, tess_fill *out)
{
    const int64_t n = A->block_rows;
    factoring f = {.ctx = ctx,
                   .A = A,
                   .b = A->block_height,
                   .area = (int64_t)A->block_height * A->block_width,
                   .mean_row = n > 0 ? tess_ceil_div(A->blocks, n) : 1,
                   .options = *options};
    tess_status status;
    if (f.b > 1)
        f.options.pivot = 0;
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, n + 1, &f.kept.offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, n, &f.kept.diagonal));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, n, &f.place));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, n, &f.position));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, n, &f.order));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, 2 * f.area, &f.scratch));
    TESS_TRY_CLEAN(factor_all(&f));
    TESS_TRY_CLEAN(make_fill(&f, out));
    if (f.replaced > 0)
        tess_log(ctx, "pc=ilut: %lld of %lld pivots could not be inverted, and were replaced",
                 (long long)f.replaced, (long long)n);
    if (order)
        memcpy(order, f.order, (size_t)n * sizeof *order);
cleanup:
    TESS_FREE(ctx, f.kept.offsets, f.kept.diagonal, f.kept.columns, f.kept.blocks, f.place,
              f.position, f.order, f.row_columns, f.row_blocks, f.heap.items, f.chosen, f.scratch);
    return status;
}
