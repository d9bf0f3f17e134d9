/* Small complex systems for the solver tests. */
#ifndef TEST_COMPLEX_PROBLEMS_H
#define TEST_COMPLEX_PROBLEMS_H

#include "problems.h"
#include "unit/complex_numbers.h"

/* n rows in blocks of b, of which the last may be cut: a random band, Hermitian positive definite;
 * or not Hermitian, every row of a strong diagonal turned by an angle of its own. */
tess_matrix *complex_matrix(tess_ctx *ctx, int64_t n, int32_t b, bool hermitian, tess_type type,
                            uint64_t seed);
/* Whether combination `at` of a long list is to be tested: on a GPU, where each needs kernels of
 * its own, every tenth of this process's part (TEST_PART), else all of them. */
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

complex_system complex_open(tess_ctx *ctx, int64_t n, int32_t b, bool hermitian,
                            const char *device);
void complex_close(complex_system *s);
/* From x = 0; fails where the call does. */
tess_result complex_solve(complex_system *s, const char *spec);

#endif
