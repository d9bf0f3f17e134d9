/* Balanced BSR (paper 003, section 5.5): block rows longer than lambda are cut into segments of at
 * most lambda blocks, so that a kernel that gives every row the same resources does not wait for
 * the long rows. The blocks are not moved; only the begins and ends of rows change.
 *
 *     row_offsets      0     3                 10   12
 *     segment_offsets  0     3     6     9     10   12       (lambda = 3)
 *     segment_ptr      0     1                 4     5       segments of each block row
 *
 * A kernel multiplies segments as if they were block rows and writes their sums to a scratch array.
 * A reduction then adds the sums of every row in order. An empty row has one empty segment.
 */
#pragma once

#include "matrix/matrix.h"

/* Rows of more segments than this are listed; the sums of a listed row are added by several
 * threads. */
enum { TESS_BALANCED_LONG = 8 };

typedef struct tess_balanced {
    tess_ctx *ctx;
    const tess_matrix *matrix; /* columns and values belong to it */
    int32_t split;             /* lambda, > 0 */
    int64_t segments;
    int64_t *segment_offsets; /* segments + 1: first block */
    int32_t *segment_ptr;     /* block_rows + 1: first segment */
    int64_t long_count;
    int32_t *long_rows; /* long_count block rows with more than TESS_BALANCED_LONG segments */
} tess_balanced;

/* A must outlive the result. */
tess_status tess_balanced_create(tess_ctx *ctx, const tess_matrix *A, int32_t split,
                                 tess_balanced **out);
void tess_balanced_destroy(tess_balanced *B);
