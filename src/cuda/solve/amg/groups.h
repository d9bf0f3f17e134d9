/* Groups of a level's block rows on the device: launches of groups.cu as data. */
#pragma once

#include "cuda/solve/amg/coarsen_level.h"

enum { TESS_GROUPS_THREADS = 256 };

/* Counts of 64 bits, which are 0 before.
 *
 *     BEGUN, PASSED    rows in the two queues
 *     BEGUN_DONE       of each queue the rows that even rounds found done, and those of odd rounds
 *     REST, REST_DONE  rows left over, and how many of them are decided
 *     UNLIKE           not 0 where couplings are not symmetric
 *     MISSING          strong blocks without a block at the mirrored place
 */
enum {
    TESS_GROUPS_BEGUN,
    TESS_GROUPS_PASSED,
    TESS_GROUPS_BEGUN_DONE,
    TESS_GROUPS_REST = TESS_GROUPS_BEGUN_DONE + 4,
    TESS_GROUPS_REST_DONE,
    TESS_GROUPS_UNLIKE,
    TESS_GROUPS_MISSING,
    TESS_GROUPS_COUNTS
};

/* Addresses in device memory, and the numbers that they have.
 *
 *     strength, mirrored                              one f32 per block
 *     of, state, claim, wanting, begun, passed, list  32 bits per row
 *     lengths                                         64 bits per row
 *     sums                                            two of 64 bits per row
 *     bounds                                          domains + 1 of 64 bits
 *
 * `mirrored` is `strength` where couplings are symmetric. */
typedef struct tess_groups_arrays {
    uint64_t strength, mirrored, bounds, of, state, claim, wanting, begun, passed, counts, sums;
    uint64_t lengths, list;
    int64_t domains;
} tess_groups_arrays;

/* An entry of groups.cu on the rows of M; `round` is for "cover" and "release". */
void tess_groups_launch(const char *entry, const tess_coarsen_matrix *M,
                        const tess_groups_arrays *arrays, int64_t round, tess_cuda_launch *launch);

/* The operation `groups` of a device (solve/pc/amg/device.h). */
tess_status tess_coarsen_groups(void *state, tess_amg_level *level, bool *made);
