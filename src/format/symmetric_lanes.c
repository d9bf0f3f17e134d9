/* BSR to symmetric storage with rows in lanes; symmetric_lanes.h has the picture. */
#include "format/symmetric_lanes.h"

enum { MOST_LANES = TESS_SYMMETRIC_MOST_LANES };

/* The blocks of a group's rows that are in no slot yet. */
typedef struct group_walk {
    int lanes;
    int64_t next[MOST_LANES], end[MOST_LANES];
} group_walk;

static group_walk begin_group(const tess_matrix *A, int64_t group, int lanes)
{
    group_walk walk = {.lanes = lanes};
    for (int l = 0; l < lanes; l++) {
        int64_t row = group * lanes + l;
        if (row >= A->block_rows)
            continue;
        walk.next[l] = tess_matrix_lower_bound(A, row, row);
        walk.end[l] = A->row_offsets[row + 1];
    }
    return walk;
}

/* Returns the column of the group's next slot, or -1 after the last one. blocks[l] is the block of
 * lane l, or -1 if there is none. */
static int64_t next_slot(const tess_matrix *A, group_walk *walk, int64_t *blocks)
{
    int64_t column = INT64_MAX;
    for (int l = 0; l < walk->lanes; l++)
        if (walk->next[l] < walk->end[l] && A->columns[walk->next[l]] - l < column)
            column = A->columns[walk->next[l]] - l;
    if (column == INT64_MAX)
        return -1;
    for (int l = 0; l < walk->lanes; l++) {
        bool here = walk->next[l] < walk->end[l] && A->columns[walk->next[l]] - l == column;
        blocks[l] = here ? walk->next[l]++ : -1;
    }
    return column;
}

static int64_t group_slots(const tess_matrix *A, int64_t group, int lanes)
{
    int64_t blocks[MOST_LANES], count = 0;
    group_walk walk = begin_group(A, group, lanes);
    while (next_slot(A, &walk, blocks) >= 0)
        count++;
    return count;
}

double tess_symmetric_lanes_fill(const tess_matrix *A, int lanes)
{
    enum { SAMPLE = 2048 };
    const int64_t groups = tess_ceil_div(A->block_rows, lanes);
    const int64_t step = groups > SAMPLE ? groups / SAMPLE : 1;
    int64_t slots = 0, stored = 0;
    for (int64_t group = 0; group < groups; group += step) {
        group_walk walk = begin_group(A, group, lanes);
        for (int l = 0; l < lanes; l++)
            stored += walk.end[l] - walk.next[l];
        slots += group_slots(A, group, lanes);
    }
    return slots > 0 ? (double)stored / (double)(slots * lanes) : 1;
}

/* ---- Making it ---- */

static void place_group(void *to, const void *matrix, int64_t group)
{
    const tess_symmetric_lanes *S = to;
    const tess_matrix *A = matrix;
    int64_t blocks[MOST_LANES], k = S->offsets[group], column;
    group_walk walk = begin_group(A, group, S->lanes);
    for (; (column = next_slot(A, &walk, blocks)) >= 0; k++) {
        S->columns[k] = (int32_t)column;
        S->present[k] = 0;
        for (int l = 0; l < S->lanes; l++)
            S->present[k] |= (uint16_t)((blocks[l] >= 0) << l);
    }
}

static void count_slots(void *to, const void *matrix, int64_t group)
{
    const tess_symmetric_lanes *S = to;
    S->offsets[group + 1] = group_slots(matrix, group, S->lanes);
}

static tess_status lay_out(tess_symmetric_lanes *S, const tess_matrix *A)
{
    const int64_t size = (int64_t)S->block_size * S->block_size;
    const size_t scalar = tess_type_size(A->type);
    TESS_TRY(TESS_ALLOC(S->ctx, S->groups + 1, &S->offsets));
    tess_for_each(A->ctx, S->groups, 0, count_slots, S, A);
    S->offsets[0] = 0;
    tess_counts_to_offsets(S->offsets, S->groups);
    S->slots = S->offsets[S->groups];
    TESS_TRY(TESS_ALLOC(S->ctx, S->slots, &S->columns));
    TESS_TRY(TESS_ALLOC(S->ctx, S->slots, &S->present));
    TESS_TRY(tess_calloc_bytes(S->ctx, size, scalar, &S->zeros));
    TESS_TRY(tess_alloc_bytes(S->ctx, S->slots * S->half * S->lanes, scalar, &S->values[0]));
    return tess_alloc_bytes(S->ctx, S->slots * (size - S->half) * S->lanes, scalar, &S->values[1]);
}

static int64_t widest(const tess_symmetric_lanes *S)
{
    int64_t span = S->lanes;
    for (int64_t group = 0; group < S->groups; group++) {
        if (S->offsets[group + 1] == S->offsets[group])
            continue;
        int64_t columns = S->columns[S->offsets[group + 1] - 1] - group * S->lanes + 1;
        span = tess_max(columns, span);
    }
    return span;
}

tess_status tess_symmetric_lanes_create(tess_ctx *ctx, const tess_matrix *A, int lanes,
                                        tess_symmetric_lanes **out)
{
    tess_symmetric_lanes *S = NULL;
    tess_status status;
    TESS_TRY(TESS_CALLOC(ctx, 1, &S));
    *S = (tess_symmetric_lanes){.ctx = ctx,
                                .lanes = lanes,
                                .block_size = A->block_height,
                                .half = (A->block_height * A->block_height + 1) / 2,
                                .groups = tess_ceil_div(A->block_rows, lanes)};
    TESS_TRY_CLEAN(lay_out(S, A));
    tess_for_each(ctx, S->groups, 0, place_group, S, A);
    S->span = widest(S);
cleanup:
    return TESS_DELIVER(status, S, tess_symmetric_lanes_destroy, out);
}

void tess_symmetric_lanes_destroy(tess_symmetric_lanes *S)
{
    if (S)
        TESS_FREE(S->ctx, S->offsets, S->columns, S->present, S->zeros, S->values[0], S->values[1],
                  S);
}

int64_t tess_symmetric_lanes_bytes(const tess_symmetric_lanes *S, tess_type type)
{
    int64_t block = (int64_t)tess_block_bytes(S->block_size, S->block_size, type);
    return S->slots * (4 + S->lanes * block) + 8 * (S->groups + 1);
}
