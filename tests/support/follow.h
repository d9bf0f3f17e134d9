/* A plan uses the present values of its matrix, with every format and kernel. */
#ifndef TEST_FOLLOW_H
#define TEST_FOLLOW_H

#include "support/support.h"

/* Walks over the candidates for products with a generated matrix, one of each format and kernel,
 * and changes the matrix under a plan of each. Returns how many there were. */
int test_follow(void **state, tess_device *device, const char *spec);

#endif
