/* Square matrices that are awkward for triangular solves, with a dominant diagonal, and the check
 * of a solve by stages on them. */
#ifndef TEST_SHAPES_H
#define TEST_SHAPES_H

#include "solve/pc/factors/factors.h"
#include "support/support.h"

typedef enum test_shape {
    TEST_SHAPE_ONE,      /* one block row */
    TEST_SHAPE_DIAGONAL, /* nothing but the diagonal: one stage */
    TEST_SHAPE_CHAIN,    /* each row waits for the one before: as many levels as rows */
    TEST_SHAPE_ARROW,    /* last row and column full */
    TEST_SHAPE_UPPER,    /* first row full, no row waits for it but by its own blocks */
    TEST_SHAPE_BANDED,   /* neighbours, and some farther off, as in a grid */
    TEST_SHAPE_RANDOM,   /* rows of any length, not symmetric in their pattern */
    TEST_SHAPE_RAGGED,   /* the same, the last block cut */
    TEST_SHAPES
} test_shape;

const char *test_shape_name(test_shape shape);

/* About `size` block rows of b x b; symmetric: A = A^T, positive definite. */
tess_matrix *test_shape_matrix(tess_ctx *ctx, test_shape shape, int64_t size, int32_t b,
                               bool symmetric, tess_type type, uint64_t seed);

/* Fails unless z = M^-1 r (M^-T r) within c n eps |z|, where |z| is the solve's sum of magnitudes,
 * row by row; the reference is computed here in double, row after row. */
void test_check_staged(const char *what, const tess_staged *staged, bool transpose, const void *r,
                       const void *z);

#endif
