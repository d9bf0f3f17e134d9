/* Fill by size: A is factored once, row by row, with what is small dropped (Saad, "ILUT: a dual
 * threshold incomplete LU factorization", 1994); the pattern that is left is the fill.
 *
 * Row i of A becomes a working row of blocks, found by column. For each column k < i of it, in
 * rising order, L_ik = W_ik D_k^-1; unless that is small, W_ij -= L_ik U_kj for the blocks of row k
 * of U, which may add columns. Sizes are Frobenius norms.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solve/pc/fill.h"
#include "solve/pc/pc.h"

/* Rows of U so far, without its diagonal, and the inverses of that. */
typedef struct upper {
    int64_t *offsets;
    int32_t *columns;
    double *blocks, *inverse;
    int64_t count, capacity, block_capacity;
} upper;

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
    double drop, most;
    upper U;
    /* The pattern that is kept. */
    int64_t *offsets;
    int32_t *columns;
    int64_t count, capacity;
    /* The working row: places by column, and blocks by place. */
    int64_t *place; /* -1: not in the row */
    int32_t *row_columns;
    double *row_blocks;
    int64_t row_count, row_capacity, row_block_capacity;
    int32_t *heap; /* columns left of the diagonal that are still to be eliminated */
    int64_t heap_count, heap_capacity;
    entry *chosen;
    int64_t chosen_capacity;
    double *scratch; /* two blocks */
} factoring;

static size_t block_bytes(const factoring *f)
{
    return (size_t)f->area * sizeof(double);
}

static double size_of(const double *block, int64_t area)
{
    double sum = 0;
    for (int64_t i = 0; i < area; i++)
        sum += block[i] * block[i];
    return sqrt(sum);
}

/* c = a b, or c - a b; b x b, column-major. */
static void multiply(double *c, const double *a, const double *x, int32_t b, bool subtract)
{
    for (int32_t j = 0; j < b; j++) {
        if (!subtract)
            memset(c + (int64_t)j * b, 0, (size_t)b * sizeof *c);
        for (int32_t k = 0; k < b; k++) {
            const double factor = subtract ? -x[(int64_t)j * b + k] : x[(int64_t)j * b + k];
            for (int32_t i = 0; i < b; i++)
                c[(int64_t)j * b + i] += a[(int64_t)k * b + i] * factor;
        }
    }
}

/* ---- The heap of columns to eliminate, the smallest first ---- */

static tess_status push(factoring *f, int32_t column)
{
    TESS_TRY(TESS_GROW(f->ctx, &f->heap, f->heap_count, &f->heap_capacity));
    int64_t at = f->heap_count++;
    for (; at > 0 && f->heap[(at - 1) / 2] > column; at = (at - 1) / 2)
        f->heap[at] = f->heap[(at - 1) / 2];
    f->heap[at] = column;
    return TESS_OK;
}

static int32_t pop(factoring *f)
{
    const int32_t smallest = f->heap[0], last = f->heap[--f->heap_count];
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < f->heap_count; at = child) {
        if (child + 1 < f->heap_count && f->heap[child + 1] < f->heap[child])
            child++;
        if (f->heap[child] >= last)
            break;
        f->heap[at] = f->heap[child];
    }
    f->heap[at] = last;
    return smallest;
}

/* ---- The working row ---- */

/* The block of a column, zeros if it is new. */
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
        if (column < row)
            TESS_TRY(push(f, column));
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
        sum += size_of(block, f->area);
    }
    TESS_TRY(need_block(f, row, (int32_t)row, &block));
    for (int32_t i = 0; i < f->b; i++)
        if (row * f->b + i >= A->rows)
            block[(int64_t)i * f->b + i] = 1; /* padding */
    *mean = sum / (double)tess_max(1, A->row_offsets[row + 1] - A->row_offsets[row]);
    return TESS_OK;
}

static tess_status eliminate(factoring *f, int64_t row, double least)
{
    const upper *U = &f->U;
    double *block;
    while (f->heap_count > 0) {
        const int32_t k = pop(f);
        double *factor = f->scratch;
        block = f->row_blocks + f->place[k] * f->area;
        if (size_of(block, f->area) < least) {
            memset(block, 0, block_bytes(f));
            continue;
        }
        multiply(factor, block, U->inverse + k * f->area, f->b, false);
        memcpy(block, factor, block_bytes(f));
        for (int64_t m = U->offsets[k]; m < U->offsets[k + 1]; m++) {
            TESS_TRY(need_block(f, row, U->columns[m], &block));
            multiply(block, factor, U->blocks + m * f->area, f->b, true);
        }
    }
    return TESS_OK;
}

/* ---- What is kept ---- */

static int by_size(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

static int by_column(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return (x->column > y->column) - (x->column < y->column);
}

/* The largest blocks of one half of the row, in the order of their columns; returns how many. */
static int64_t choose(factoring *f, int64_t row, bool left, double least)
{
    const int64_t own = f->A->row_offsets[row + 1] - f->A->row_offsets[row];
    const double allowed = ceil(0.5 * f->most * (double)tess_max(own, f->mean_row));
    int64_t count = 0;
    for (int64_t at = 0; at < f->row_count; at++) {
        const int32_t column = f->row_columns[at];
        const double size = size_of(f->row_blocks + at * f->area, f->area);
        if (column == row || (column < row) != left || !(size > 0) || !(size >= least))
            continue;
        f->chosen[count++] = (entry){column, size};
    }
    if ((double)count > allowed) {
        qsort(f->chosen, (size_t)count, sizeof *f->chosen, by_size);
        count = (int64_t)allowed;
    }
    qsort(f->chosen, (size_t)count, sizeof *f->chosen, by_column);
    return count;
}

static tess_status keep_column(factoring *f, int32_t column)
{
    TESS_TRY(TESS_GROW(f->ctx, &f->columns, f->count, &f->capacity));
    f->columns[f->count++] = column;
    return TESS_OK;
}

static tess_status keep_upper(factoring *f, int32_t column)
{
    upper *U = &f->U;
    TESS_TRY(TESS_GROW(f->ctx, &U->columns, U->count, &U->capacity));
    TESS_TRY(
        tess_grow_bytes(f->ctx, (void **)&U->blocks, block_bytes(f), U->count, &U->block_capacity));
    memcpy(U->blocks + U->count * f->area, f->row_blocks + f->place[column] * f->area,
           block_bytes(f));
    U->columns[U->count++] = column;
    return TESS_OK;
}

/* The inverse of the row's diagonal block; one that is singular is made heavier until it is not:
 * here only the pattern counts. */
static void invert_diagonal(factoring *f, int64_t row, double mean)
{
    const double *block = f->row_blocks + f->place[row] * f->area;
    double *inverse = f->U.inverse + row * f->area, pivot;
    double heavier = 0, step = mean > 0 ? 1e-4 * mean : 1;
    for (int attempt = 0; attempt < 8; attempt++) {
        memcpy(inverse, block, block_bytes(f));
        for (int32_t i = 0; i < f->b; i++)
            inverse[(int64_t)i * f->b + i] += heavier;
        if (tess_dense_invert(inverse, f->b, f->scratch, &pivot) < 0)
            return;
        heavier = heavier > 0 ? 10 * heavier : step;
    }
    memset(inverse, 0, block_bytes(f));
}

static tess_status factor_row(factoring *f, int64_t row)
{
    double mean;
    TESS_TRY(load_row(f, row, &mean));
    const double least = f->drop * mean;
    TESS_TRY(eliminate(f, row, least));
    if (f->row_count > f->chosen_capacity) {
        tess_free(f->ctx, f->chosen);
        f->chosen = NULL;
        f->chosen_capacity = 0;
        TESS_TRY(TESS_ALLOC(f->ctx, 2 * f->row_count, &f->chosen));
        f->chosen_capacity = 2 * f->row_count;
    }
    int64_t count = choose(f, row, true, 0);
    for (int64_t i = 0; i < count; i++)
        TESS_TRY(keep_column(f, f->chosen[i].column));
    TESS_TRY(keep_column(f, (int32_t)row));
    invert_diagonal(f, row, mean);
    count = choose(f, row, false, least);
    for (int64_t i = 0; i < count; i++) {
        TESS_TRY(keep_column(f, f->chosen[i].column));
        TESS_TRY(keep_upper(f, f->chosen[i].column));
    }
    f->U.offsets[row + 1] = f->U.count;
    f->offsets[row + 1] = f->count;
    for (int64_t at = 0; at < f->row_count; at++)
        f->place[f->row_columns[at]] = -1;
    f->row_count = 0;
    return TESS_OK;
}

tess_status tess_fill_threshold(tess_ctx *ctx, const tess_matrix *A, double drop, double most,
                                tess_fill *out)
{
    const int64_t n = A->block_rows;
    factoring f = {.ctx = ctx,
                   .A = A,
                   .b = A->block_height,
                   .area = (int64_t)A->block_height * A->block_width,
                   .mean_row = n > 0 ? tess_ceil_div(A->blocks, n) : 1,
                   .drop = drop,
                   .most = most};
    tess_status status;
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, n + 1, &f.offsets));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, n + 1, &f.U.offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, n * f.area, &f.U.inverse));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, n, &f.place));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, 2 * f.area, &f.scratch));
    for (int64_t i = 0; i < n; i++)
        f.place[i] = -1;
    for (int64_t i = 0; i < n; i++) {
        TESS_TRY_CLEAN(factor_row(&f, i));
        if (i % 256 == 0)
            TESS_TRY_CLEAN(tess_progress(ctx, "filling the pattern", (double)i, (double)n));
    }
    status = tess_fill_from_rows(ctx, A, f.offsets, f.columns, out);
cleanup:
    tess_free(ctx, f.offsets);
    tess_free(ctx, f.columns);
    tess_free(ctx, f.U.offsets);
    tess_free(ctx, f.U.columns);
    tess_free(ctx, f.U.blocks);
    tess_free(ctx, f.U.inverse);
    tess_free(ctx, f.place);
    tess_free(ctx, f.row_columns);
    tess_free(ctx, f.row_blocks);
    tess_free(ctx, f.heap);
    tess_free(ctx, f.chosen);
    tess_free(ctx, f.scratch);
    return status;
}
