/* C = A B of block matrices: r x c blocks times c x k blocks.
 *
 * The pattern of C and its values are computed by separate calls, so that new values in the same
 * patterns cost only the arithmetic. Row i of C is the sum of A's blocks (i, j), in the order of j,
 * times row j of B: the result does not depend on the number of threads.
 */
#pragma once

#include "matrix/matrix.h"

/* A matrix with the pattern of A B, without values. */
tess_status tess_multiply_pattern(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B,
                                  tess_matrix **out);
/* Sets the values of C, whose pattern is that of A B. */
tess_status tess_multiply_values(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B,
                                 tess_matrix *C);
/* A B of f64 scalars, pattern and values in one walk, which takes less time than two. The values
 * have the same bits as those of tess_multiply_values. With `unsorted` the columns of a row stay in
 * the order in which they are found, which suffices for a factor of another product. */
bool tess_multiplies_scalars(const tess_matrix *A, const tess_matrix *B);
tess_status tess_multiply_scalars(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B,
                                  bool unsorted, tess_matrix **out);

/* The work of one share of the rows (multiply_values.c). */
typedef struct tess_multiply_share {
    const tess_matrix *A, *B;
    const void *turned; /* B's blocks transposed, where rows of C are summed transposed; or NULL */
    tess_matrix *C;
    int64_t first, last; /* block rows of C */
    int32_t *place;      /* one per block column of C; NULL: blocks are 1 x 1 */
    void *sums;          /* where `turned`: the longest row of C; 1 x 1: one per column, all 0 */
} tess_multiply_share;
