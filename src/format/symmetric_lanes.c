/* BSR to symmetric storage with rows in lanes; symmetric_lanes.h has the picture. */
#include "format/symmetric_lanes.h"

#include <string.h>

#include "format/symmetric.h"

/* Most lanes of any kernel. */
enum { MOST_LANES = 16 };

/* The blocks of a group's rows that no slot has taken yet. */
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

/* The next slot: its column, -1 after the last one, and the block of each lane, -1 where there is
 * none. */
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

/* The scalars of slot k: those of its blocks side by side, zeros where there is none. */
#define FILL_SLOT(name, real)                                                       \
    static inline void name(tess_symmetric_lanes *S, const real *values, int64_t k, \
                            const int64_t *blocks, const int lanes)                 \
    {                                                                               \
        const int size = S->block_size * S->block_size, first = S->half;            \
        real *to[2] = {(real *)S->values[0] + k * first * lanes,                    \
                       (real *)S->values[1] + k * (size - first) * lanes};          \
        for (int l = 0; l < lanes; l++) {                                           \
            const real *from = values + (blocks[l] < 0 ? 0 : blocks[l]) * size;     \
            const real keep = blocks[l] < 0 ? 0 : 1;                                \
            for (int e = 0; e < first; e++)                                         \
                to[0][e * lanes + l] = keep != 0 ? from[e] : 0;                     \
            for (int e = first; e < size; e++)                                      \
                to[1][(e - first) * lanes + l] = keep != 0 ? from[e] : 0;           \
        }                                                                           \
    }
FILL_SLOT(fill_slot_f64, double)
FILL_SLOT(fill_slot_f32, float)

static inline void fill_slot(tess_symmetric_lanes *S, const tess_matrix *A, int64_t k,
                             const int64_t *blocks, const int lanes)
{
    if (A->type == TESS_F64)
        fill_slot_f64(S, A->values, k, blocks, lanes);
    else
        fill_slot_f32(S, A->values, k, blocks, lanes);
}

static void fill_group(tess_symmetric_lanes *S, const tess_matrix *A, int64_t group)
{
    int64_t blocks[MOST_LANES], k = S->offsets[group], column;
    group_walk walk = begin_group(A, group, S->lanes);
    for (; (column = next_slot(A, &walk, blocks)) >= 0; k++) {
        S->columns[k] = (int32_t)column;
        if (S->lanes == 4)
            fill_slot(S, A, k, blocks, 4);
        else
            fill_slot(S, A, k, blocks, S->lanes);
    }
}

static void fill(tess_symmetric_lanes *S, const tess_matrix *A)
{
#pragma omp parallel for schedule(static) num_threads(A->ctx->threads)
    for (int64_t group = 0; group < S->groups; group++)
        fill_group(S, A, group);
}

static tess_status lay_out(tess_symmetric_lanes *S, const tess_matrix *A)
{
    const int64_t size = (int64_t)S->block_size * S->block_size;
    const size_t scalar = tess_type_size(A->type);
    TESS_TRY(TESS_ALLOC(S->ctx, S->groups + 1, &S->offsets));
#pragma omp parallel for schedule(static) num_threads(A->ctx->threads)
    for (int64_t group = 0; group < S->groups; group++)
        S->offsets[group + 1] = group_slots(A, group, S->lanes);
    S->offsets[0] = 0;
    for (int64_t group = 0; group < S->groups; group++)
        S->offsets[group + 1] += S->offsets[group];
    S->slots = S->offsets[S->groups];
    TESS_TRY(TESS_ALLOC(S->ctx, S->slots, &S->columns));
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
        span = columns > span ? columns : span;
    }
    return span;
}

tess_status tess_symmetric_lanes_create(tess_ctx *ctx, const tess_matrix *A, int lanes,
                                        tess_symmetric_lanes **out)
{
    tess_symmetric_lanes *S;
    TESS_TRY(tess_symmetric_check(ctx, A));
    TESS_TRY(TESS_CALLOC(ctx, 1, &S));
    *S = (tess_symmetric_lanes){.ctx = ctx,
                                .lanes = lanes,
                                .block_size = A->block_height,
                                .half = (A->block_height * A->block_height + 1) / 2,
                                .groups = tess_ceil_div(A->block_rows, lanes)};
    tess_status status = lay_out(S, A);
    if (status != TESS_OK) {
        tess_symmetric_lanes_destroy(S);
        return status;
    }
    fill(S, A);
    S->span = widest(S);
    *out = S;
    return TESS_OK;
}

void tess_symmetric_lanes_destroy(tess_symmetric_lanes *S)
{
    if (!S)
        return;
    tess_free(S->ctx, S->offsets);
    tess_free(S->ctx, S->columns);
    tess_free(S->ctx, S->values[0]);
    tess_free(S->ctx, S->values[1]);
    tess_free(S->ctx, S);
}

tess_status tess_symmetric_lanes_refresh(tess_symmetric_lanes *S, const tess_matrix *A)
{
    TESS_TRY(tess_symmetric_check(S->ctx, A));
    fill(S, A);
    return TESS_OK;
}

int64_t tess_symmetric_lanes_bytes(const tess_symmetric_lanes *S, tess_type type)
{
    int64_t block = (int64_t)S->block_size * S->block_size * (int64_t)tess_type_size(type);
    return S->slots * (4 + S->lanes * block) + 8 * (S->groups + 1);
}
