/* Small complex systems for the solver tests. */
#ifndef TEST_COMPLEX_PROBLEMS_H
#define TEST_COMPLEX_PROBLEMS_H

#include "problems.h"
#include "unit/matrix/complex_numbers.h"

/* A random band of n rows in blocks of b; the last block may be padded. It is Hermitian positive
 * definite, or not Hermitian: then the diagonal is strong, and every row is turned by an angle of
 * its own. */
tess_matrix *complex_matrix(tess_ctx *ctx, int64_t n, int32_t b, bool hermitian, tess_type type,
                            uint64_t seed);
/* Returns whether combination `at` of a long list is to be tested. On a GPU, where each combination
 * needs its own kernels, it is every tenth of this process's part (TEST_PART), otherwise all. */
bool complex_sampled(uint64_t at);
/* `count` random scalars. Caller frees with free(). */
void *complex_vector(int64_t count, tess_type type, uint64_t seed);
/* |b - A x| / |b| in c64, the product by ref. */
double complex_residual(tess_ctx *ctx, const tess_matrix *A, const void *b, const void *x);
/* An ESTIMATE plan on a device that the caller closes. */
tess_plan *complex_plan(tess_ctx *ctx, const tess_matrix *A, tess_device *device);

/* A c64 system with its plan. */
typedef struct complex_system {
    tess_matrix *A;
    tess_device *device;
    tess_plan *plan;
    tess_complex *b, *x;
} complex_system;

complex_system complex_open(tess_ctx *ctx, int64_t n, int32_t b, const char *device);
void complex_close(complex_system *s);
/* Solves from x = 0. Fails the test when the call fails. */
tess_result complex_solve(complex_system *s, const char *spec);

#endif
