/* Fill by levels, and what every fill has in common. */
#include "solve/pc/factors/fill.h"

#include <inttypes.h>

void tess_fill_free(tess_fill *fill)
{
    tess_matrix_destroy(fill->matrix);
    TESS_FREE(fill->ctx, fill->source, fill->factors);
    *fill = (tess_fill){.ctx = fill->ctx};
}

void tess_fill_take_values(const tess_fill *fill, const tess_matrix *A)
{
    tess_take_blocks(fill->ctx, fill->matrix->blocks, fill->source,
                     tess_block_bytes(A->block_height, A->block_width, A->type), A->values,
                     fill->matrix->values);
}

struct find_sources {
    const int64_t *offsets;
    tess_fill fill;
    const tess_matrix *A;
    const int64_t *order;
    const int32_t *columns;
};

static void find_sources(void *arg, tess_range range)
{
    const struct find_sources *job = arg;
    for (int64_t i = range.first; i < range.last; i++)
        for (int64_t k = job->offsets[i]; k < job->offsets[i + 1]; k++)
            job->fill.source[k] = tess_matrix_find(
                job->A, i, job->order ? job->order[job->columns[k]] : job->columns[k]);
}

tess_status tess_fill_from_rows(tess_ctx *ctx, const tess_matrix *A, const int64_t *offsets,
                                const int32_t *columns, const int64_t *order, tess_fill *out)
{
    const int64_t rows = A->block_rows, blocks = offsets[rows];
    tess_fill fill = {.ctx = ctx};
    tess_status status;
    TESS_TRY_CLEAN(tess_matrix_allocate(ctx, A->type, A->rows, A->cols, A->block_height,
                                        A->block_width, blocks, &fill.matrix));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, blocks, &fill.source));
    memcpy(fill.matrix->row_offsets, offsets, (size_t)(rows + 1) * sizeof *offsets);
    if (blocks > 0) /* an empty list has no address */
        memcpy(fill.matrix->columns, columns, (size_t)blocks * sizeof *columns);
    tess_for(ctx, rows, find_sources, &(struct find_sources){offsets, fill, A, order, columns});
    tess_fill_take_values(&fill, A);
    *out = fill;
    return TESS_OK;
cleanup:
    tess_fill_free(&fill);
    return status;
}

/* ---- By levels ---- */

/* The pattern as it grows, a row after the other. */
typedef struct pattern {
    tess_ctx *ctx;
    int64_t *offsets;
    int32_t *columns, *levels;
    int64_t count, capacity, level_capacity;
    double most;
} pattern;

static tess_status append(pattern *p, int32_t column, int32_t level)
{
    if ((double)p->count >= p->most)
        return tess_fail(p->ctx, TESS_ERR_MEMORY,
                         "the fill has more than %.3g blocks: allow fewer levels, or more fill",
                         p->most);
    TESS_TRY(TESS_GROW(p->ctx, &p->columns, p->count, &p->capacity));
    TESS_TRY(TESS_GROW(p->ctx, &p->levels, p->count, &p->level_capacity));
    p->columns[p->count] = column;
    p->levels[p->count++] = level;
    return TESS_OK;
}

/* A row at hand: a list of columns in rising order, `next` leading from one to the next. */
typedef struct sorted_row {
    int32_t *next, *level; /* by column; level -1: not in the row */
    int32_t head, end;     /* column numbers; end = n */
} sorted_row;

/* Adds a column behind `after` (or at the head, after = -1), or lowers its level; returns it. */
static int32_t insert(sorted_row *row, int32_t after, int32_t column, int32_t level)
{
    if (row->level[column] >= 0) {
        row->level[column] = tess_min(level, row->level[column]);
        return column;
    }
    int32_t at = after < 0 ? row->head : row->next[after], before = after;
    while (at < column) {
        before = at;
        at = row->next[at];
    }
    row->level[column] = level;
    row->next[column] = at;
    if (before < 0)
        row->head = column;
    else
        row->next[before] = column;
    return column;
}

/* Makes row i of the factors: A's row, then what eliminating with the rows before it adds. */
static tess_status fill_row(const tess_matrix *A, int64_t i, int32_t most_level, sorted_row *row,
                            pattern *p)
{
    int32_t after = -1;
    row->head = row->end;
    for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++)
        after = insert(row, after, A->columns[k], 0);
    insert(row, -1, (int32_t)i, 0);
    for (int32_t k = row->head; k < i; k = row->next[k]) {
        if (row->level[k] >= most_level)
            continue;
        after = k;
        for (int64_t m = p->offsets[k]; m < p->offsets[k + 1]; m++) {
            const int32_t level = row->level[k] + p->levels[m] + 1;
            if (p->columns[m] > k && level <= most_level)
                after = insert(row, after, p->columns[m], level);
        }
    }
    tess_status status = TESS_OK;
    for (int32_t k = row->head; k < row->end; k = row->next[k]) {
        if (status == TESS_OK)
            status = append(p, k, row->level[k]);
        row->level[k] = -1;
    }
    p->offsets[i + 1] = p->count;
    return status;
}

tess_status tess_fill_levels(tess_ctx *ctx, const tess_matrix *A, int64_t levels, double most,
                             tess_fill *out)
{
    const int64_t n = A->block_rows;
    const int32_t most_level = (int32_t)tess_min(levels, n);
    pattern p = {.ctx = ctx, .most = most * (double)A->blocks + (double)n};
    sorted_row row = {.end = (int32_t)n};
    tess_status status;
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, n + 1, &p.offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, n, &row.next));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, n, &row.level));
    for (int64_t i = 0; i < n; i++)
        row.level[i] = -1;
    for (int64_t i = 0; i < n; i++) {
        TESS_TRY_CLEAN(fill_row(A, i, most_level, &row, &p));
        if (i % 1024 == 0)
            TESS_TRY_CLEAN(tess_progress(ctx, "filling the pattern", (double)i, (double)n));
    }
    status = tess_fill_from_rows(ctx, A, p.offsets, p.columns, NULL, out);
cleanup:
    TESS_FREE(ctx, p.offsets, p.columns, p.levels, row.next, row.level);
    return status;
}
