/* BSR to symmetric storage with rows in lanes; symmetric_lanes.h has the picture. */
#include "format/symmetric_lanes.h"

#include <omp.h>

#include "format/past.h"
#include "format/symmetric_same.h"

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

/* ---- New numbers ---- */

/* Scalars first .. last-1 of blocks side by side: of two lanes, and two numbers of each, at once.
 */
#define FILL_SLOT(name, real, two, put_two)                                                   \
    TESS_ALWAYS void name(real *to, const real *const *from, const int first, const int last, \
                          const int lanes, const bool past)                                   \
    {                                                                                         \
        for (int e = first; e < last; e += 2, to += 2 * lanes) {                              \
            const bool both = e + 1 < last;                                                   \
            int l = 0;                                                                        \
            for (; both && l + 1 < lanes; l += 2) {                                           \
                const two left = *(const two *)(from[l] + e);                                 \
                const two right = *(const two *)(from[l + 1] + e);                            \
                put_two((two *)(to + l), TESS_FIRST_OF(two, left, right), past);              \
                put_two((two *)(to + lanes + l), TESS_SECOND_OF(two, left, right), past);     \
            }                                                                                 \
            for (; !both && l + 1 < lanes; l += 2)                                            \
                put_two((two *)(to + l), (two){from[l][e], from[l + 1][e]}, past);            \
            for (; l < lanes; l++) {                                                          \
                to[l] = from[l][e];                                                           \
                if (both)                                                                     \
                    to[lanes + l] = from[l][e + 1];                                           \
            }                                                                                 \
        }                                                                                     \
    }
FILL_SLOT(fill_slot_f64, tess_bits64, tess_two_bits64, tess_put_two_f64)
FILL_SLOT(fill_slot_f32, tess_bits32, tess_two_bits32, tess_put_two_f32)

/* Fills the first array of a group, the second one or both, one slot after the other: the blocks of
 * a row come in their order. A lane without a block gets zeros. Of lone numbers two slots without
 * such lanes are like one with blocks of two. */
#define FILL_ARRAYS(name, real, fill_slot)                                                      \
    TESS_ALWAYS void name(const tess_symmetric_lanes *S, const tess_matrix *A,                  \
                          const int64_t *offsets, int64_t group, const int b, const int lanes,  \
                          const bool first, const bool second, const bool past)                 \
    {                                                                                           \
        const int size = b * b, half = (size + 1) / 2, all = (1 << lanes) - 1;                  \
        const real *next[MOST_LANES], *from[MOST_LANES], *zeros = S->zeros;                     \
        for (int l = 0; l < lanes; l++) {                                                       \
            const int64_t row = group * lanes + l;                                              \
            next[l] = zeros;                                                                    \
            if (row < A->block_rows)                                                            \
                next[l] = (const real *)A->values +                                             \
                          (A->row_offsets[row + 1] - offsets[row + 1] + offsets[row]) * size;   \
        }                                                                                       \
        for (int64_t k = S->offsets[group], end = S->offsets[group + 1]; k < end; k++) {        \
            const int present = S->present[k];                                                  \
            if (b == 1 && present == all && k + 1 < end && S->present[k + 1] == all) {          \
                fill_slot((real *)S->values[0] + k * lanes, next, 0, 2, lanes, past);           \
                for (int l = 0; l < lanes; l++)                                                 \
                    next[l] += 2;                                                               \
                k++;                                                                            \
                continue;                                                                       \
            }                                                                                   \
            for (int l = 0; l < lanes; l++) {                                                   \
                from[l] = present >> l & 1 ? next[l] : zeros;                                   \
                next[l] += present >> l & 1 ? size : 0;                                         \
            }                                                                                   \
            if (first)                                                                          \
                fill_slot((real *)S->values[0] + k * half * lanes, from, 0, half, lanes, past); \
            if (second)                                                                         \
                fill_slot((real *)S->values[1] + k * (size - half) * lanes, from, half, size,   \
                          lanes, past);                                                         \
        }                                                                                       \
    }
FILL_ARRAYS(fill_arrays_f64, tess_bits64, fill_slot_f64)
FILL_ARRAYS(fill_arrays_f32, tess_bits32, fill_slot_f32)

/* Reads what row i has from its diagonal on, a line after the other. After a comparison of the part
 * before, a matrix is read in one stream; the rows of a group side by side would be several that
 * come and go, at two thirds of the speed. */
TESS_ALWAYS void touch(const tess_matrix *A, const int64_t *offsets, int64_t i, const int b)
{
    const int64_t block = (int64_t)b * b * (int64_t)tess_type_size(A->type);
    const int64_t last = A->row_offsets[i + 1], count = offsets[i + 1] - offsets[i];
    for (int64_t at = (last - count) * block; at < last * block; at += 64) {
        (void)*((const volatile char *)A->values + at);
        tess_fetch_far((const char *)A->values + at, tess_fetches_by_block(b));
    }
}

/* A group; whether its rows are symmetric. The rows of lone numbers are a few lines in all. The
 * slots of an odd b are no whole lines: one array is filled after the other then, since lines that
 * are written in parts are slow. */
#define REFRESH_GROUP(name, two, differs_row, fill_arrays)                                      \
    TESS_ALWAYS bool name(const tess_symmetric_lanes *S, const tess_symmetric_mirrors *mirrors, \
                          const tess_matrix *A, int64_t group, const int b, const int lanes)    \
    {                                                                                           \
        const int64_t first = group * lanes, rows = A->block_rows;                              \
        const int64_t last = first + lanes < rows ? first + lanes : rows;                       \
        const bool past = mirrors->past && lanes % 2 == 0;                                      \
        two differs[2] = {{0, 0}, {0, 0}};                                                      \
        for (int64_t i = first; i < last; i++) {                                                \
            differs_row(differs, A, mirrors, i, b);                                             \
            if (b > 1)                                                                          \
                touch(A, mirrors->offsets, i, b);                                               \
        }                                                                                       \
        fill_arrays(S, A, mirrors->offsets, group, b, lanes, true, b % 2 == 0, past);           \
        if (b % 2 && b > 1)                                                                     \
            fill_arrays(S, A, mirrors->offsets, group, b, lanes, false, true, past);            \
        return TESS_NONE_OF(differs) || tess_symmetric_same_numbers(A, mirrors, first, last);   \
    }
REFRESH_GROUP(refresh_group_f64, tess_two_bits64, tess_differs_row_f64, fill_arrays_f64)
REFRESH_GROUP(refresh_group_f32, tess_two_bits32, tess_differs_row_f32, fill_arrays_f32)

/* The first group of a part, or the end of the part before: equal numbers of A's blocks. */
static int64_t first_group(const tess_matrix *A, int part, int parts, int lanes)
{
    return tess_ceil_div(tess_share_row(A->row_offsets, A->block_rows, part, parts), lanes);
}

/* A part of the groups. */
TESS_ALWAYS bool refresh_groups(const tess_symmetric_lanes *S,
                                const tess_symmetric_mirrors *mirrors, const tess_matrix *A,
                                int part, int parts, const int b, const int lanes)
{
    const int64_t last = first_group(A, part + 1, parts, lanes);
    bool same = true;
    for (int64_t group = first_group(A, part, parts, lanes); group < last && same; group++)
        same = A->type == TESS_F64 ? refresh_group_f64(S, mirrors, A, group, b, lanes)
                                   : refresh_group_f32(S, mirrors, A, group, b, lanes);
    tess_put_end(mirrors->past);
    return same;
}

TESS_ALWAYS bool refresh_lanes(const tess_symmetric_lanes *S, const tess_symmetric_mirrors *mirrors,
                               const tess_matrix *A, int part, int parts, const int lanes)
{
    switch (S->block_size) {
    case 1:
        return refresh_groups(S, mirrors, A, part, parts, 1, lanes);
    case 2:
        return refresh_groups(S, mirrors, A, part, parts, 2, lanes);
    case 3:
        return refresh_groups(S, mirrors, A, part, parts, 3, lanes);
    case 4:
        return refresh_groups(S, mirrors, A, part, parts, 4, lanes);
    default:
        return refresh_groups(S, mirrors, A, part, parts, S->block_size, lanes);
    }
}

tess_status tess_symmetric_lanes_refresh(tess_symmetric_lanes *S,
                                         const tess_symmetric_mirrors *mirrors,
                                         const tess_matrix *A)
{
    bool same = true;
#pragma omp parallel num_threads(A->ctx->threads) reduction(&& : same)
    {
        const int part = omp_get_thread_num(), parts = omp_get_num_threads();
        same = S->lanes == 2   ? refresh_lanes(S, mirrors, A, part, parts, 2)
               : S->lanes == 4 ? refresh_lanes(S, mirrors, A, part, parts, 4)
               : S->lanes == 8
                   ? refresh_lanes(S, mirrors, A, part, parts, 8)
                   : refresh_groups(S, mirrors, A, part, parts, S->block_size, S->lanes);
    }
    return same ? TESS_OK : tess_symmetric_check(S->ctx, A);
}

/* ---- Making it ---- */

static void place_group(const tess_symmetric_lanes *S, const tess_matrix *A, int64_t group)
{
    int64_t blocks[MOST_LANES], k = S->offsets[group], column;
    group_walk walk = begin_group(A, group, S->lanes);
    for (; (column = next_slot(A, &walk, blocks)) >= 0; k++) {
        S->columns[k] = (int32_t)column;
        S->present[k] = 0;
        for (int l = 0; l < S->lanes; l++)
            S->present[k] |= (uint16_t)((blocks[l] >= 0) << l);
    }
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
        span = columns > span ? columns : span;
    }
    return span;
}

tess_status tess_symmetric_lanes_create(tess_ctx *ctx, const tess_matrix *A,
                                        const tess_symmetric_mirrors *mirrors, int lanes,
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
#pragma omp parallel for schedule(static) num_threads(ctx->threads)
    for (int64_t group = 0; group < S->groups; group++)
        place_group(S, A, group);
    TESS_TRY_CLEAN(tess_symmetric_lanes_refresh(S, mirrors, A));
    S->span = widest(S);
    *out = S;
    S = NULL;
cleanup:
    tess_symmetric_lanes_destroy(S);
    return status;
}

void tess_symmetric_lanes_destroy(tess_symmetric_lanes *S)
{
    if (!S)
        return;
    tess_free(S->ctx, S->offsets);
    tess_free(S->ctx, S->columns);
    tess_free(S->ctx, S->present);
    tess_free(S->ctx, S->zeros);
    tess_free(S->ctx, S->values[0]);
    tess_free(S->ctx, S->values[1]);
    tess_free(S->ctx, S);
}

int64_t tess_symmetric_lanes_bytes(const tess_symmetric_lanes *S, tess_type type)
{
    int64_t block = (int64_t)S->block_size * S->block_size * (int64_t)tess_type_size(type);
    return S->slots * (4 + S->lanes * block) + 8 * (S->groups + 1);
}
