/* Symmetric storage with rows in lanes: the blocks on and above the diagonal, for kernels that do
 * `lanes` block rows at once.
 *
 *     rows i, i+1      a  b  .  c  .          slot j   column i      i+1     i+3
 *     of A             .  d  e  .  f          lane 0   a             b       c
 *                                             lane 1   d             e       f
 *
 * Rows i .. i+lanes-1 are a group. A slot holds the blocks (i+l, j+l), one per lane l. They are
 * neighbours on a diagonal; all of them exist where successive rows have the same pattern, as on
 * grids. Missing blocks are zeros, which are multiplied like any other: an infinity in x reaches
 * all rows of its slots. `columns` has j; j+l may be beyond the matrix.
 *
 * Scalar (p, q) of a block is number e = q*b + p. The first `half` of the b*b scalars are in
 * values[0], the others in values[1], so that a product reads two streams:
 *
 *     values[0][(slot * half + e) * lanes + l]
 *     values[1][(slot * (b*b - half) + e - half) * lanes + l]
 */
#pragma once

#include "format/symmetric.h"

enum { TESS_SYMMETRIC_MOST_LANES = 16 }; /* the most of any kernel */

typedef struct tess_symmetric_lanes {
    tess_ctx *ctx;
    int lanes;
    int32_t block_size, half;
    int64_t groups, slots;
    int64_t *offsets; /* groups + 1 */
    int32_t *columns; /* slots, ascending in a group */
    void *values[2];
    uint16_t *present; /* slots: bit l: lane l has a block; used for new values, as is */
    void *zeros;       /* one block of zeros */
    int64_t span;      /* the most columns from a group's first row to its last column */
} tess_symmetric_lanes;

/* Makes the storage for A, which is symmetric. The caller fills in the values. */
tess_status tess_symmetric_lanes_create(tess_ctx *ctx, const tess_matrix *A, int lanes,
                                        tess_symmetric_lanes **out);
void tess_symmetric_lanes_destroy(tess_symmetric_lanes *S);

/* Estimates from a sample of A's rows which share of the storage would be blocks and not zeros. */
double tess_symmetric_lanes_fill(const tess_matrix *A, int lanes);

/* The bytes of all arrays that a product reads. */
int64_t tess_symmetric_lanes_bytes(const tess_symmetric_lanes *S, tess_type type);
