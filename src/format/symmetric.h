/* Symmetric storage: of a symmetric matrix with b x b blocks, the blocks on and above the diagonal.
 *
 *     A   a00  a01  .    a03          U   a00 a01 a03        row i of U is the part of row i of A
 *         a01' a11  a12  .                a11 a12            from the diagonal on, so that nothing
 *         .    a12' a22  .                a22                needs a map
 *         a03' .    .    a33              a33
 *
 * U is a tess_matrix like any other, of nearly half the bytes. Blocks on the diagonal are whole.
 */
#pragma once

#include "matrix/matrix.h"

/* Whether A(j, i) = A(i, j)^T exactly, everywhere. Zeros of both signs are equal, and any two NaN.
 */
bool tess_symmetric_holds(const tess_matrix *A);

/* Fails with TESS_ERR_MATRIX and the first pair that differs unless A is symmetric. */
tess_status tess_symmetric_check(tess_ctx *ctx, const tess_matrix *A);
/* offsets[i] .. offsets[i+1]-1 are the blocks of row i on and above the diagonal, numbered from 0.
 * The caller frees the array. */
tess_status tess_symmetric_offsets(tess_ctx *ctx, const tess_matrix *A, int64_t **offsets);

/* The places of the mirrors of blocks below the diagonal, for functions that copy new values. */
typedef struct tess_symmetric_mirrors {
    tess_ctx *ctx;
    int64_t *offsets; /* as from tess_symmetric_offsets */
    uint32_t *places; /* the mirror's number for each block below the diagonal, row by row. NULL:
                       * too many blocks for 32 bits; mirrors are searched for */
    bool diagonal;    /* every row has a block on the diagonal */
    bool nontemporal; /* new values are written by non-temporal stores; false at first */
} tess_symmetric_mirrors;

/* Fails as tess_symmetric_check does. */
tess_status tess_symmetric_mirrors_create(tess_ctx *ctx, const tess_matrix *A,
                                          tess_symmetric_mirrors **out);
void tess_symmetric_mirrors_destroy(tess_symmetric_mirrors *M); /* NULL is fine */

/* Whether, in rows first .. last-1, the blocks on and below the diagonal equal their mirrors.
 */
bool tess_symmetric_mirrors_equal(const tess_matrix *A, const tess_symmetric_mirrors *M,
                                  int64_t first, int64_t last);

/* Makes the upper half with its pattern. The caller fills in the values. */
tess_status tess_symmetric_create(tess_ctx *ctx, const tess_matrix *A,
                                  const tess_symmetric_mirrors *mirrors, tess_matrix **upper);

/* The bytes of all arrays that a product reads. */
int64_t tess_symmetric_bytes(const tess_matrix *upper);
