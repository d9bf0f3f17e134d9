/* The matrix: BSR with r x c column-major blocks. A CSR matrix has r = c = 1.
 *
 * Invariants, established by every constructor and relied on everywhere:
 *   row_offsets[0] = 0, non-decreasing, row_offsets[block_rows] = blocks;
 *   0 <= columns[k] < block_cols, strictly increasing in each block row;
 *   padding (the part of the last block row or column outside rows x cols) holds zeros.
 */
#ifndef TESS_MATRIX_H
#define TESS_MATRIX_H

#include "core/core.h"

/* Largest height and width of a block: r*c then fits 31 bits, and no real code goes near it. */
#define TESS_BLOCK_MAX 32768

struct tess_matrix {
    tess_ctx *ctx;
    tess_type type;
    int64_t rows, cols;
    int32_t block_height, block_width;
    int64_t block_rows, block_cols;
    int64_t blocks;
    int64_t *row_offsets;
    int32_t *columns;
    void *values;
    tess_ownership ownership; /* of the three arrays; COPY means they are ours */
};

/* A matrix without arrays yet, sizes checked: block columns must fit 32 bits, products 63. */
tess_status tess_matrix_head(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                             int32_t block_height, int32_t block_width, int64_t blocks,
                             tess_matrix **out);

/* A matrix with uninitialised columns and values and all-zero row_offsets, arrays owned. */
tess_status tess_matrix_allocate(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                                 int32_t block_height, int32_t block_width, int64_t blocks,
                                 tess_matrix **out);

/* Scalars stored: blocks * r * c. */
static inline int64_t tess_matrix_stored(const tess_matrix *A)
{
    return A->blocks * A->block_height * A->block_width;
}

/* Bytes an SpMV must move once: values, block columns (4 B), row offsets (4 B each, as all the
 * measurements count them), x and y. The measure behind every GB/s we print. */
double tess_matrix_spmv_bytes(const tess_matrix *A);

/* Checks offsets, column range and, if `sorted`, the strict order of columns. The message names the
 * first fault: row, position, value, what is valid. */
tess_status tess_matrix_validate(tess_ctx *ctx, const tess_matrix_view *arrays, bool sorted);

#endif
