/* The kernel variants under test: every kernel of kernels.def at many block sizes, both precisions,
 * complex scalars where it takes them, with the parameters a plan would guess and with others of
 * its tuning space, so that every value of every parameter occurs three times. The build prints
 * this list to compile the variants for the emulator, the tests walk it to run them. */
#ifndef TEST_CUDA_VARIANTS_H
#define TEST_CUDA_VARIANTS_H

#include "cuda/kernels/table.h"

typedef struct test_variant {
    char name[64]; /* "sliced_17" */
    const tess_cuda_kernel *kernel;
    tess_cuda_problem problem; /* type, conjugate, block size, raggedness, vectors, order, fields */
    int params[TESS_CUDA_PARAMS];
} test_variant;

/* Writes up to `capacity` variants of a kernel; returns how many there are. */
int test_variants(const tess_cuda_kernel *kernel, test_variant *variants, int capacity);

/* One variant, without a name, of square blocks in double precision: the guess's parameters but for
 * `params` ("T=128"). These may begin with "type=TYPE", with "conjugate=TYPE" for the conjugate of
 * a complex matrix, with "shapes=LIST", or, vectors by fields, with "fields,". False: there is no
 * such kernel, or it does not fit. */
bool test_variant_of(tess_ctx *ctx, const char *kernel, const char *params, int32_t block,
                     test_variant *out);

/* More variants, until any two values of two parameters that fit at some size occur together. A
 * machine with a GPU has the time for them. */
typedef struct test_pairs {
    int variants;
    int covered;    /* pairs of values */
    int impossible; /* for which no block size was found */
} test_pairs;
test_pairs test_variants_pairs(const tess_cuda_kernel *kernel, test_variant *variants,
                               int capacity);

#endif
