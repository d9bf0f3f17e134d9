/* An arrangement of a square matrix: the order and scaling under which a solver works on it.
 *
 *     B(i, j) = row_scale[p(i)] A(p(i), q(j)) col_scale[q(j)]
 *
 * p and q permute block rows and block columns. There is one scale per scalar row and per scalar
 * column. A x = b becomes B y = c with c_i = row_scale[p(i)] b[p(i)] and x[q(j)] = col_scale[q(j)]
 * y_j.
 *
 * Scales are powers of two, so applying them is exact: the residual of B y = c is that of A x = b,
 * scaled.
 */
#pragma once

#include "matrix/matrix.h"

typedef struct tess_arrangement {
    tess_ctx *ctx;
    int64_t rows, block_rows;
    int32_t block;
    int64_t *row_order, *col_order; /* p and q, one number per block row; NULL: unchanged */
    double *row_scale, *col_scale;  /* one per scalar row; NULL: all 1 */
} tess_arrangement;

/* The arrangement that changes nothing. Fails unless A is square with square blocks. */
tess_status tess_arrangement_open(tess_ctx *ctx, const tess_matrix *A, tess_arrangement *out);
void tess_arrangement_close(tess_arrangement *arrangement);

/* ---- scale.c ---- */

/* Finds row and column scales under which the largest entry of every row and column is about 1
 * (Ruiz's iteration). With `symmetric` rows and columns have the same scales, so a symmetric matrix
 * stays symmetric. Rows and columns of zeros keep the scale 1. */
tess_status tess_arrange_equilibrate(const tess_matrix *A, bool symmetric,
                                     tess_arrangement *arrangement);

/* Finds column scales under which every column has a norm of about 1. Rows are not scaled, so
 * neither is the residual. Columns of zeros keep the scale 1. */
tess_status tess_arrange_columns(const tess_matrix *A, tess_arrangement *arrangement);

/* ---- match.c ---- */

/* Puts large entries on the diagonal by Duff and Koster's maximum-product matching. It finds the
 * order of rows under which the product of the diagonal's magnitudes is largest, and scales under
 * which the diagonal's entries are about 1 and no other is larger than about 2. A block counts by
 * its largest entry, and is moved as a whole. *matched is the number of block rows that have an
 * entry on the diagonal afterwards: fewer than block_rows when the matrix is structurally
 * singular. */
tess_status tess_arrange_match(const tess_matrix *A, tess_arrangement *arrangement,
                               int64_t *matched);

/* ---- order.c ---- */

/* Finds the reverse Cuthill-McKee order of the pattern of B + B^T, where B is A under the
 * arrangement so far. Neighbours get numbers close to each other, so that an incomplete
 * factorization drops less. The diagonal stays the diagonal. */
tess_status tess_arrange_bandwidth(const tess_matrix *A, tess_arrangement *arrangement);

/* ---- graph.c ---- */

/* Reorders the rows and columns of B, which has n block rows: number i becomes nodes[i]. */
tess_status tess_arrange_take_order(tess_arrangement *arrangement, int64_t n, const int64_t *nodes);

/* ---- dissect.c ---- */

/* Finds a nested dissection order of the same graph: complete or nearly complete factors then have
 * far fewer entries. The diagonal stays the diagonal. */
tess_status tess_arrange_dissect(const tess_matrix *A, tess_arrangement *arrangement);

/* ---- arrangement.c ---- */

/* Makes B as a new matrix. */
tess_status tess_matrix_arrange(const tess_matrix *A, const tess_arrangement *arrangement,
                                tess_matrix **out);
/* Compute c from b, and x from y. The arrays must not overlap. */
void tess_arrange_rhs(const tess_arrangement *arrangement, tess_type type, const void *b, void *c);
void tess_arrange_solution(const tess_arrangement *arrangement, tess_type type, const void *y,
                           void *x);
