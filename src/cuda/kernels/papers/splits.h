/* The layout splits: FBCSR (format/fbcsr/fbcsr.h) in device memory, as the kernels of paper 001
 * read it. The splits' arrays follow each other, and the remainder is the last, a split of 1 x 1
 * blocks:
 *
 *     values   split 0 | split 1 | ... | remainder      column-major blocks, as in the format
 *     cols     split 0 | split 1 | ... | remainder      of each block's first row
 *     rows     split 0 | split 1 | ...
 *     starts   split 0 | split 1 | ... | remainder      where the blocks of a row of y are
 *
 * For blocks of fewer than TESS_SPLITS_TALL rows, and for the remainder, `starts` has rows + 1
 * numbers: blocks starts[r] .. starts[r+1]-1 begin in row r, so blocks starts[r-height+1] ..
 * starts[r+1]-1 reach row r. For taller blocks it has two numbers per chunk of 32 rows: the first
 * block that reaches the chunk, and the first one that begins behind it.
 *
 * A row with more than TESS_SPLITS_LONG cells in a split of 1 x w blocks, or in the remainder, is
 * cut: the split's kernel leaves it out. A warp adds up each segment of TESS_SPLITS_SEGMENT cells
 * at most, and a thread block adds the row's segments, of all splits together.
 *
 *     segments         three numbers each: first block in `cols`, blocks, cells of a block
 *     segment_values   their first scalars in `values`
 *     long_rows        the rows, in their order
 *     long_segments    their first segments, and the number of all
 */
#pragma once

#include "cuda/kernels/support.h"
#include "format/fbcsr/fbcsr.h"

enum {
    SPLITS_STARTS,
    SPLITS_ROWS,
    SPLITS_COLS,
    SPLITS_VALUES,
    SPLITS_SEGMENTS,
    SPLITS_SEGMENT_VALUES,
    SPLITS_LONG_ROWS,
    SPLITS_LONG_SEGMENTS
};

enum {
    TESS_SPLITS_TALL = 16,
    TESS_SPLITS_CHUNK = 32,
    TESS_SPLITS_LONG = 1024,
    TESS_SPLITS_SEGMENT = 512,
    /* Shapes of a list: the remainder is a launch too, and cut rows are two. */
    TESS_SPLITS_MOST = TESS_CUDA_LAUNCHES - 3
};

/* Where the arrays of a split begin. */
typedef struct tess_splits_part {
    int number; /* of its shape in the list */
    tess_shape shape;
    int64_t blocks, nonzeros;
    int64_t start, block, value; /* the first one in `starts`, in `cols` and `rows`, in `values` */
} tess_splits_part;

typedef struct tess_splits {
    tess_ctx *ctx;
    tess_type type;
    int count; /* of the splits, without the remainder */
    tess_splits_part part[TESS_SPLITS_MOST + 1];
    int64_t nonzeros;
    int32_t *starts, *rows, *cols;
    void *values;
    int64_t segment_count, long_count;
    int32_t *segments, *long_rows, *long_segments;
    int64_t *segment_values;
    int64_t *map; /* of entry i of the matrix: its scalar in `values` */
} tess_splits;
