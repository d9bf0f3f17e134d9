/* Interleaved storage (paper 004, sections 3.4 and 3.5): block rows in groups of B_y, one group per
 * thread block. The blocks of a group are stored in the order in which the thread block reads them.
 *
 *   lines    Block rows, optionally sorted by falling length; `targets` has their numbers. The last
 *            group is filled up with lines that belong to no row (target -1).
 *   steps    B_x blocks of each of the group's B_y lines. A group has as many steps as its longest
 *            line needs; shorter lines are filled up with empty blocks (zeros, column -1).
 *   blocks   Those of step s of group g, line l, lie at ((offsets[g] + s) * B_y + l) * B_x + 0 ..
 *            B_x-1, each column-major.
 *
 *     B_x = 1, B_y = 2:   | row 0, block 0 | row 1, block 0 | row 0, block 1 | row 1, block 1 | ...
 */
#pragma once

#include "matrix/matrix.h"

typedef struct tess_interleaved_options {
    int32_t lines;  /* B_y */
    int32_t blocks; /* B_x */
    bool sort;      /* lines by falling length; rows of equal length keep their order */
} tess_interleaved_options;

typedef struct tess_interleaved {
    tess_ctx *ctx;
    tess_type type;
    int32_t block_height, block_width;
    int64_t block_rows;
    tess_interleaved_options options;
    int64_t groups;
    int64_t *offsets; /* groups + 1: steps before the group */
    int32_t *targets; /* groups * B_y: block row, or -1 */
    int64_t *starts;  /* block_rows + 1: the matrix's row offsets (the value map) */
    int32_t *columns; /* offsets[groups] * B_y * B_x; -1: empty */
    void *values;     /* the blocks of `columns` */
} tess_interleaved;

tess_status tess_interleaved_create(tess_ctx *ctx, const tess_matrix *A,
                                    const tess_interleaved_options *options,
                                    tess_interleaved **out);
void tess_interleaved_destroy(tess_interleaved *I);

/* New values in the same pattern, in the order of the BSR matrix: one parallel pass. */
void tess_interleaved_update(tess_interleaved *I, const void *values);

/* Blocks stored, padding included. */
static inline int64_t tess_interleaved_stored(const tess_interleaved *I)
{
    return I->offsets[I->groups] * I->options.lines * I->options.blocks;
}
