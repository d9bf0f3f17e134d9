/* New values for half storage with rows in lanes, group by group: the rows of a group are compared
 * with their mirrors, then its slots are filled. format/symmetric_lanes.h has the layout. */
#include "cpu/update/nontemporal.h"
#include "cpu/update/prefetch.h"
#include "cpu/update/update.h"

enum { MOST_LANES = TESS_SYMMETRIC_MOST_LANES };

/* Reads row i from its diagonal on, cache line after cache line. The part before it has just been
 * compared, so that the matrix is read in one stream. Reading the rows of a group side by side
 * would make several short streams, at two thirds of the speed. */
ALWAYS void touch(const tess_matrix *A, const int64_t *offsets, int64_t i, const int b)
{
    const int64_t block = (int64_t)b * b * (int64_t)tess_type_size(A->type);
    const int64_t last = A->row_offsets[i + 1], count = offsets[i + 1] - offsets[i];
    for (int64_t at = (last - count) * block; at < last * block; at += 64) {
        (void)*((const volatile char *)A->values + at);
        tess_fetch_far((const char *)A->values + at, tess_fetches_by_block(b));
    }
}

#define SUFFIX f64
#include "cpu/update/lanes.inc.c"
#undef SUFFIX
#define SUFFIX f32
#include "cpu/update/lanes.inc.c"
#undef SUFFIX

/* Updates the groups whose first row is among `rows`; returns whether they are symmetric. */
ALWAYS bool update_groups(const tess_symmetric_lanes *S, const tess_symmetric_mirrors *mirrors,
                          const tess_matrix *A, tess_range rows, const int b, const int lanes)
{
    const int64_t last = tess_ceil_div(rows.last, lanes);
    bool equal = true;
    for (int64_t group = tess_ceil_div(rows.first, lanes); group < last && equal; group++)
        equal = A->type == TESS_F64 ? update_group_f64(S, mirrors, A, group, b, lanes)
                                    : update_group_f32(S, mirrors, A, group, b, lanes);
    tess_store_fence(mirrors->nontemporal);
    return equal;
}

ALWAYS bool update_lanes(const tess_symmetric_lanes *S, const tess_symmetric_mirrors *mirrors,
                         const tess_matrix *A, tess_range rows, const int lanes)
{
    const int b = S->block_size;
    return b == 1   ? update_groups(S, mirrors, A, rows, 1, lanes)
           : b == 2 ? update_groups(S, mirrors, A, rows, 2, lanes)
           : b == 3 ? update_groups(S, mirrors, A, rows, 3, lanes)
           : b == 4 ? update_groups(S, mirrors, A, rows, 4, lanes)
                    : update_groups(S, mirrors, A, rows, b, lanes);
}

struct update_share {
    tess_symmetric_lanes *S;
    const tess_symmetric_mirrors *mirrors;
    const tess_matrix *A;
    bool *equal;
};

static void update_share(void *arg, tess_range rows)
{
    const struct update_share *job = arg;
    tess_symmetric_lanes *S = job->S;
    const tess_symmetric_mirrors *mirrors = job->mirrors;
    const tess_matrix *A = job->A;
    const bool equal = S->lanes == 2   ? update_lanes(S, mirrors, A, rows, 2)
                       : S->lanes == 4 ? update_lanes(S, mirrors, A, rows, 4)
                       : S->lanes == 8
                           ? update_lanes(S, mirrors, A, rows, 8)
                           : update_groups(S, mirrors, A, rows, S->block_size, S->lanes);
    if (!equal)
        tess_set_flag(job->equal, false);
}

tess_status tess_cpu_update_lanes(tess_symmetric_lanes *S, const tess_symmetric_mirrors *mirrors,
                                  const tess_matrix *A)
{
    bool equal = true;
    tess_for_rows(A->ctx, A->row_offsets, A->block_rows, update_share,
                  &(struct update_share){S, mirrors, A, &equal});
    return equal ? TESS_OK : tess_symmetric_check(S->ctx, A);
}
