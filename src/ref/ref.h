/* The reference backend: one obvious function per operation, the truth for every test. Sums are
 * accumulated in double for both precisions, in the order of the stored blocks. */
#pragma once

#include "matrix/matrix.h"

/* y = alpha A x + beta y; x of cols, y of rows scalars of A's type. beta = 0 never reads y. */
void tess_ref_spmv(const tess_matrix *A, double alpha, const void *x, double beta, void *y);

/* y = alpha A^T x + beta y; x of rows, y of cols scalars. `sums` is scratch of cols doubles. */
void tess_ref_spmv_transpose(const tess_matrix *A, double alpha, const void *x, double beta,
                             void *y, double *sums);

/* Y = alpha A X + beta Y for k vectors; element i of vector j is X[i*row_stride + j*vector_stride]
 * with strides chosen by the order: column-major (1, ld), row-major (ld, 1). */
void tess_ref_spmm(const tess_matrix *A, int k, tess_block_order order, double alpha, const void *X,
                   int64_t ldx, double beta, void *Y, int64_t ldy);

/* The same products of complex matrices, with complex factors and vectors. `sums` is scratch of
 * cols numbers, for all but TESS_OPERATION_NONE. */
void tess_ref_spmv_complex(const tess_matrix *A, tess_operation operation, tess_complex alpha,
                           const void *x, tess_complex beta, void *y, tess_complex *sums);
void tess_ref_spmm_complex(const tess_matrix *A, int k, tess_block_order order, tess_complex alpha,
                           const void *X, int64_t ldx, tess_complex beta, void *Y, int64_t ldy);

/* bound[i] = sum over j of |A_ij| |x_j|, of complex matrices too: rounding may move y_i by a small
 * multiple of it. */
void tess_ref_spmv_magnitude(const tess_matrix *A, const void *x, double *bound);
