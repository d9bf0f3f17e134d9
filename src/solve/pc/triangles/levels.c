/* Levels and colours of the block rows of a matrix. */
#include "solve/pc/triangles/levels.h"

void tess_stages_free(tess_stages *stages)
{
    TESS_FREE(stages->ctx, stages->offsets, stages->rows, stages->places);
    *stages = (tess_stages){0};
}

tess_stage_statistics tess_stages_describe(const tess_stages *stages)
{
    tess_stage_statistics s = {.count = stages->count};
    for (int64_t i = 0; i < stages->count; i++) {
        const int64_t rows = stages->offsets[i + 1] - stages->offsets[i];
        s.widest = tess_max(rows, s.widest);
        s.narrowest = i == 0 ? rows : tess_min(rows, s.narrowest);
    }
    s.mean = s.count > 0 ? (double)stages->offsets[s.count] / (double)s.count : 0;
    return s;
}

/* Sorts the rows by stage, keeping their order, from stage[row] = 0..count-1. */
static tess_status sort_rows(tess_ctx *ctx, int64_t rows, const int32_t *stage, int64_t count,
                             tess_stages *out)
{
    tess_stages made = {.ctx = ctx, .count = count};
    tess_status status;
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, count + 2, &made.offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, rows, &made.rows));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, rows, &made.places));
    /* Counts are stored one entry further on: the offsets reach their final places while rows are
     * put. */
    for (int64_t i = 0; i < rows; i++)
        made.offsets[stage[i] + 2]++;
    tess_counts_to_offsets(made.offsets, count + 1);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t place = made.offsets[stage[i] + 1]++;
        made.rows[place] = (int32_t)i;
        made.places[i] = (int32_t)place;
    }
    *out = made;
    return TESS_OK;
cleanup:
    tess_stages_free(&made);
    return status;
}

/* Finds the levels row by row downwards. Every row before has told the rows that it reaches by its
 * own blocks, so what a row waits for is known when it is reached. */
static int32_t find_levels(const tess_matrix *A, int64_t first, int64_t last, int32_t *level)
{
    int32_t count = 0;
    for (int64_t row = first; row < last; row++) {
        const int64_t begin = A->row_offsets[row], end = A->row_offsets[row + 1];
        int64_t k = begin;
        for (; k < end && A->columns[k] < row; k++)
            if (A->columns[k] >= first && level[A->columns[k]] >= level[row])
                level[row] = level[A->columns[k]] + 1;
        for (; k < end && A->columns[k] < last; k++)
            if (A->columns[k] > row && level[A->columns[k]] <= level[row])
                level[A->columns[k]] = level[row] + 1;
        count = tess_max(level[row] + 1, count);
    }
    return count;
}

tess_status tess_stages_by_levels(tess_ctx *ctx, const tess_matrix *A, int domains,
                                  const int64_t *domain_rows, tess_stages *out)
{
    int32_t *level, count = 0;
    TESS_TRY(TESS_CALLOC(ctx, A->block_rows, &level));
    for (int d = 0; d < domains; d++) {
        const int32_t own = find_levels(A, domain_rows[d], domain_rows[d + 1], level);
        count = tess_max(own, count);
    }
    const tess_status status = sort_rows(ctx, A->block_rows, level, count, out);
    tess_free(ctx, level);
    return status;
}

/* The rows that reach a row by a block right of their diagonal: the strict upper triangle by
 * columns. */
typedef struct reached {
    int64_t *offsets;
    int32_t *rows;
} reached;

static tess_status find_reached(tess_ctx *ctx, const tess_matrix *A, reached *r)
{
    const int64_t rows = A->block_rows;
    TESS_TRY(TESS_CALLOC(ctx, rows + 2, &r->offsets));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++)
            if (A->columns[k] > i)
                r->offsets[A->columns[k] + 2]++;
    tess_counts_to_offsets(r->offsets, rows + 1);
    TESS_TRY(TESS_ALLOC(ctx, r->offsets[rows + 1], &r->rows));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++)
            if (A->columns[k] > i)
                r->rows[r->offsets[A->columns[k] + 1]++] = (int32_t)i;
    return TESS_OK;
}

/* Returns the smallest colour that no neighbour before the row has. taken[c] = row marks c as a
 * neighbour's. */
static int32_t free_colour(const tess_matrix *A, const reached *r, int64_t first, int64_t row,
                           const int32_t *colour, int64_t *taken)
{
    for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++)
        if (A->columns[k] >= first && A->columns[k] < row)
            taken[colour[A->columns[k]]] = row;
    for (int64_t k = r->offsets[row]; k < r->offsets[row + 1]; k++)
        if (r->rows[k] >= first)
            taken[colour[r->rows[k]]] = row;
    int32_t free = 0;
    while (taken[free] == row)
        free++;
    return free;
}

tess_status tess_stages_by_colours(tess_ctx *ctx, const tess_matrix *A, int domains,
                                   const int64_t *domain_rows, tess_stages *out)
{
    const int64_t rows = A->block_rows;
    reached r = {0};
    int32_t *colour = NULL, count = 0;
    int64_t *taken = NULL;
    tess_status status;
    TESS_TRY_CLEAN(find_reached(ctx, A, &r));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, rows, &colour));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, rows + 1, &taken));
    for (int64_t i = 0; i <= rows; i++)
        taken[i] = -1;
    for (int d = 0; d < domains; d++) {
        for (int64_t row = domain_rows[d]; row < domain_rows[d + 1]; row++) {
            colour[row] = free_colour(A, &r, domain_rows[d], row, colour, taken);
            count = tess_max(colour[row] + 1, count);
        }
    }
    status = sort_rows(ctx, rows, colour, count, out);
cleanup:
    TESS_FREE(ctx, r.offsets, r.rows, colour, taken);
    return status;
}
