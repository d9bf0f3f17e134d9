/* The reference backend: one obvious function per operation, the truth for every test. Sums are
 * accumulated in double for both precisions, in the order of the stored blocks. */
#pragma once

#include "matrix/matrix.h"

/* y = alpha A x + beta y. x has cols, y has rows scalars of A's type. With beta = 0 y is never
 * read. */
void tess_ref_spmv(const tess_matrix *A, double alpha, const void *x, double beta, void *y);

/* y = alpha A^T x + beta y. x has rows, y has cols scalars. `sums` is scratch of cols doubles. */
void tess_ref_spmv_transpose(const tess_matrix *A, double alpha, const void *x, double beta,
                             void *y, double *sums);

/* Y = alpha A X + beta Y for k vectors. Element i of vector j is X[i*row_stride + j*vector_stride],
 * where the order gives the strides: column-major (1, ld), row-major (ld, 1). */
void tess_ref_spmm(const tess_matrix *A, int k, tess_block_order order, double alpha, const void *X,
                   int64_t ldx, double beta, void *Y, int64_t ldy);

/* The same products of complex matrices, with complex factors and vectors. `sums` is scratch of
 * cols numbers, for all but TESS_OPERATION_NONE. */
void tess_ref_spmv_complex(const tess_matrix *A, tess_operation operation, tess_complex alpha,
                           const void *x, tess_complex beta, void *y, tess_complex *sums);
void tess_ref_spmm_complex(const tess_matrix *A, int k, tess_block_order order, tess_complex alpha,
                           const void *X, int64_t ldx, tess_complex beta, void *Y, int64_t ldy);

/* bound[i] = sum over j of |A_ij| |x_j|, also for complex matrices. Rounding may change y_i by a
 * small multiple of bound[i]. */
void tess_ref_spmv_magnitude(const tess_matrix *A, const void *x, double *bound);
