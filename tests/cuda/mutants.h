/* Mutants: kernels with one fault each, made from the real source by a sed script while the tests
 * are built. What every kernel must pass (product.h), no mutant may pass. */
#ifndef TEST_CUDA_MUTANTS_H
#define TEST_CUDA_MUTANTS_H

#include "variants.h"

typedef struct test_mutant {
    const char *name;
    const char *kernel, *params; /* of kernels.def; params beside those of the guess */
    int32_t block;
    const char *script; /* for the source and its headers; "": the kernel as it is */
} test_mutant;

extern const test_mutant test_mutants[];
extern const int test_mutant_count;

/* The variant to compile and to run, with the mutant's name. */
bool test_mutant_variant(tess_ctx *ctx, const test_mutant *mutant, test_variant *out);

#endif
