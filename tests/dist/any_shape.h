/* Matrices of any shape on devices of several parts: checks that hold for any kind of part. */
#ifndef TEST_ANY_SHAPE_H
#define TEST_ANY_SHAPE_H

#include "support/support.h"

/* All products and new values of a random matrix that is not square or whose blocks are not. */
void check_any_shape(tess_ctx *ctx, const char *device, uint64_t seed);

#endif
