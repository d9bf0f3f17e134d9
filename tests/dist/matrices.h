/* Matrices that the tests of parts share. */
#ifndef TEST_DIST_MATRICES_H
#define TEST_DIST_MATRICES_H

#include "support/support.h"

/* A square matrix of random pattern, block size and type. */
tess_matrix *dealt_draw(tess_ctx *ctx, uint64_t seed);
/* A matrix of random pattern that is not square, or whose blocks are not. */
tess_matrix *dealt_any_shape(tess_ctx *ctx, uint64_t seed);
/* A block band that is diagonally dominant; symmetric where asked. */
tess_matrix *dealt_dominant(tess_ctx *ctx, int64_t block_rows, int32_t b, bool symmetric,
                            uint64_t seed);
/* |b - A x| / |b| by plain loops over the whole matrix. */
double dealt_residual(const tess_matrix *A, const double *b, const double *x);

#endif
