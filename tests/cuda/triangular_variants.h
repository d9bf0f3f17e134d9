/* The specialisations of triangular.cu under test. */
#ifndef TEST_TRIANGULAR_VARIANTS_H
#define TEST_TRIANGULAR_VARIANTS_H

#include "cuda/solve/triangles/triangles.h"

typedef struct test_triangular {
    char name[64]; /* "triangular_b3_f64_f32" */
    int32_t block;
    tess_type vector_type, type;
    tess_triangle_tuning tuning;
    char defines[TESS_CUDA_DEFINES];
} test_triangular;

/* Writes up to `capacity` of them; returns how many there are. */
int test_triangular_variants(test_triangular *variants, int capacity);

#endif
