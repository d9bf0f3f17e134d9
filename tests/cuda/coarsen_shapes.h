/* Blocks and modes for which coarsen.cu is compiled and tested. */
#ifndef TEST_COARSEN_SHAPES_H
#define TEST_COARSEN_SHAPES_H

#include "cuda/solve/amg/coarsen.h"

typedef struct test_coarsen_shape {
    int32_t block, modes;
} test_coarsen_shape;

static const test_coarsen_shape test_coarsen[] = {{3, 6}, {6, 6}, {1, 1},  {2, 3},  {4, 4},
                                                  {5, 2}, {7, 9}, {1, 32}, {16, 1}, {16, 16}};
enum { test_coarsen_count = sizeof test_coarsen / sizeof *test_coarsen };

#endif
