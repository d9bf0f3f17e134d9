/* New values for the upper half of a symmetric matrix, row by row: each row is compared with its
 * mirrors, then copied from the diagonal on. */
#include "cpu/update/nontemporal.h"
#include "cpu/update/prefetch.h"
#include "cpu/update/update.h"

/* `to` is a multiple of 16 bytes for non-temporal stores; otherwise both may lie anywhere. */
ALWAYS void copy_pairs(char *to, const char *from, const size_t bytes, const bool nontemporal)
{
    if (!nontemporal)
        memcpy(to, from, bytes);
    for (size_t at = 0; nontemporal && at < bytes; at += 16) {
        tess_pair_f64 pair;
        memcpy(&pair, from + at, sizeof pair);
        tess_store_pair_f64((tess_pair_f64 *)(to + at), pair, nontemporal);
    }
}

/* memcpy of part of a stream. It writes nothing twice: a row continues in the cache line where the
 * row before has ended. */
ALWAYS void copy(char *to, const char *from, size_t bytes, const bool fetches,
                 const bool nontemporal)
{
    size_t at = 0;
    for (; nontemporal && (uintptr_t)(to + at) % 16 != 0 && at < bytes; at += 4)
        tess_store_f32((tess_word_f32 *)(to + at), *(const tess_word_f32 *)(from + at),
                       nontemporal);
    for (; at + 64 <= bytes; at += 64) {
        copy_pairs(to + at, from + at, 64, nontemporal);
        tess_fetch_far(from + at, fetches);
    }
    for (; at + 16 <= bytes; at += 16)
        copy_pairs(to + at, from + at, 16, nontemporal);
    for (; at < bytes; at += 4)
        tess_store_f32((tess_word_f32 *)(to + at), *(const tess_word_f32 *)(from + at),
                       nontemporal);
}

#define SUFFIX f64
#include "cpu/update/upper.inc.c"
#undef SUFFIX
#define SUFFIX f32
#include "cpu/update/upper.inc.c"
#undef SUFFIX

struct update_share {
    const tess_matrix *A;
    tess_matrix *upper;
    const tess_symmetric_mirrors *mirrors;
    bool *equal;
};

static void update_share(void *arg, tess_range rows)
{
    const struct update_share *job = arg;
    const tess_matrix *A = job->A;
    if (!(A->type == TESS_F64
              ? update_part_f64(job->upper, job->mirrors, A, rows.first, rows.last)
              : update_part_f32(job->upper, job->mirrors, A, rows.first, rows.last)))
        tess_set_flag(job->equal, false);
}

tess_status tess_cpu_update_upper(tess_matrix *upper, const tess_symmetric_mirrors *mirrors,
                                  const tess_matrix *A)
{
    bool equal = true;
    tess_for_rows(A->ctx, A->row_offsets, A->block_rows, update_share,
                  &(struct update_share){A, upper, mirrors, &equal});
    return equal ? TESS_OK : tess_symmetric_check(upper->ctx, A);
}
