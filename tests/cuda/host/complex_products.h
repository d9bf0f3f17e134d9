/* What a plan of a complex matrix must do on any device. */
#ifndef TEST_COMPLEX_PRODUCTS_H
#define TEST_COMPLEX_PRODUCTS_H

#include "support/support.h"

/* A, A^T and A^H with complex factors: right by ref, y not read where beta = 0, and twice the same
 * bits. With `several` > 0 also products of that many vectors, in both orders, and dot products.
 * Vectors are in `there`'s memory; NULL: in the host's. Fails the test otherwise. */
void test_complex_products(tess_ctx *ctx, tess_device *there, tess_plan *plan, const tess_matrix *A,
                           int several, const char *what);

#endif
