/* The comparison that every kernel variant must pass; the one that mutants must not. */
#ifndef TEST_CUDA_PRODUCT_H
#define TEST_CUDA_PRODUCT_H

#include "variants.h"

/* Runs the variant on one in `step` patterns of matrix, which ones the seed says: any thread order
 * gives the same bits, y is not read when beta = 0, nothing outside the arrays is touched, and the
 * result is ref's. Fails the test otherwise. */
void test_product(tess_ctx *ctx, const test_variant *variant, uint64_t seed, int step);

/* Runs the variant on a matrix whose columns are spread over an x of up to 64 GB, of which only
 * what is multiplied has memory. False: it was not run. Vectors by fields are short, a layout with
 * shapes is made with an array as long as x, or there are no such addresses. */
bool test_far_product(tess_ctx *ctx, const test_variant *variant, uint64_t seed);

#endif
