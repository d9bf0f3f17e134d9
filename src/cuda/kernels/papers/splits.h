/* The layout splits: FBCSR (format/fbcsr/fbcsr.h) in device memory, as the kernels of paper 001
 * read it. The splits' arrays follow each other, and the remainder is the last, a split of 1 x 1
 * blocks:
 *
 *     values   split 0 | split 1 | ... | remainder      column-major blocks, as in the format
 *     cols     split 0 | split 1 | ... | remainder      of each block's first row
 *     rows     split 0 | split 1 | ...
 *     starts   split 0 | split 1 | ... | remainder      where the blocks of a row of y are
 *
 * starts, of blocks of fewer than TESS_SPLITS_TALL rows and of the remainder: rows + 1 numbers.
 * Blocks starts[r] .. starts[r+1]-1 begin in row r, so those that reach row r are
 * starts[r-height+1] .. starts[r+1]-1. Of taller blocks two numbers a chunk of 32 rows: the first
 * block that reaches the chunk, and the first one that begins behind it.
 */
#pragma once

#include "cuda/kernels/support.h"
#include "format/fbcsr/fbcsr.h"

enum { SPLITS_STARTS, SPLITS_ROWS, SPLITS_COLS, SPLITS_VALUES };

enum {
    TESS_SPLITS_TALL = 16,
    TESS_SPLITS_CHUNK = 32,
    TESS_SPLITS_MOST = TESS_CUDA_LAUNCHES - 1 /* shapes of a list: the remainder is a launch too */
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
    int64_t *map; /* of entry i of the matrix: its scalar in `values` */
} tess_splits;
