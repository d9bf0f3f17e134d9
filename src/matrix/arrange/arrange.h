/* An arrangement of a square matrix: the order and scaling under which a solver works on it.
 *
 *     B(i, j) = row_scale[p(i)] A(p(i), q(j)) col_scale[q(j)]
 *
 * p and q permute block rows and block columns; scales are numbers a scalar row or column. A x = b
 * then is B y = c with c_i = row_scale[p(i)] b[p(i)] and x[q(j)] = col_scale[q(j)] y_j.
 *
 * Scales are powers of two: applying them rounds nothing, so that the residual of B y = c is that
 * of A x = b, scaled.
 */
#pragma once

#include "matrix/matrix.h"

typedef struct tess_arrangement {
    tess_ctx *ctx;
    int64_t rows, block_rows;
    int32_t block;
    int64_t *row_order, *col_order; /* p and q, a number a block row; NULL: as they are */
    double *row_scale, *col_scale;  /* a scalar row each; NULL: all 1 */
} tess_arrangement;

/* The arrangement that changes nothing. Fails unless A is square with square blocks. */
tess_status tess_arrangement_open(tess_ctx *ctx, const tess_matrix *A, tess_arrangement *out);
void tess_arrangement_close(tess_arrangement *arrangement);

/* ---- scale.c ---- */

/* Row and column scales under which the largest entry of every row and column is about 1 (Ruiz's
 * iteration). `symmetric`: the same scales for rows and columns, so that a symmetric matrix stays
 * one. Rows and columns of zeros keep the scale 1. */
tess_status tess_arrange_equilibrate(const tess_matrix *A, bool symmetric,
                                     tess_arrangement *arrangement);

/* Column scales under which every column has about the norm 1; rows stay as they are, and with them
 * the residual. Columns of zeros keep the scale 1. */
tess_status tess_arrange_columns(const tess_matrix *A, tess_arrangement *arrangement);

/* ---- match.c ---- */

/* Puts large entries on the diagonal: the order of rows under which the product of the diagonal's
 * magnitudes is largest, and scales under which its entries are about 1 and no other is larger than
 * about 2 (Duff and Koster's maximum-product matching). Blocks count by their largest entry, and
 * are moved as a whole. *matched is the number of block rows that have an entry on the diagonal
 * afterwards: fewer than block_rows when the matrix is structurally singular. */
tess_status tess_arrange_match(const tess_matrix *A, tess_arrangement *arrangement,
                               int64_t *matched);

/* ---- order.c ---- */

/* Reverse Cuthill-McKee order of the pattern of B + B^T, where B is A under the arrangement so far:
 * neighbours get near numbers, so that an incomplete factorization drops less. The diagonal stays
 * the diagonal. */
tess_status tess_arrange_bandwidth(const tess_matrix *A, tess_arrangement *arrangement);

/* ---- graph.c ---- */

/* Takes the rows and columns of B, n block rows, in the order `nodes`. */
tess_status tess_arrange_take_order(tess_arrangement *arrangement, int64_t n, const int64_t *nodes);

/* ---- dissect.c ---- */

/* Nested dissection of the same graph: complete factors, or nearly complete ones, have far fewer
 * entries. The diagonal stays the diagonal. */
tess_status tess_arrange_dissect(const tess_matrix *A, tess_arrangement *arrangement);

/* ---- arrangement.c ---- */

/* B as a new matrix. */
tess_status tess_matrix_arrange(const tess_matrix *A, const tess_arrangement *arrangement,
                                tess_matrix **out);
/* c from b; x from y. The arrays must not overlap. */
void tess_arrange_rhs(const tess_arrangement *arrangement, tess_type type, const void *b, void *c);
void tess_arrange_solution(const tess_arrangement *arrangement, tess_type type, const void *y,
                           void *x);
