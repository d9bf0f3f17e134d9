/* Complex matrices in tests: as dense arrays of C's own complex numbers. */
#ifndef TEST_COMPLEX_NUMBERS_H
#define TEST_COMPLEX_NUMBERS_H

#include <complex.h>

#include "unit/io/files.h"

#undef complex /* descriptors have a field of that name */

typedef double _Complex number;

/* Clang's headers have no CMPLX of their own, and the C library's is not for clang. */
#ifndef CMPLX
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#endif

static inline number get(const void *array, tess_type type, int64_t i)
{
    const tess_complex value = tess_get_complex(array, type, i);
    return CMPLX(value.re, value.im);
}

static inline tess_complex pair(number value)
{
    return (tess_complex){creal(value), cimag(value)};
}

/* Returns A as a dense row-major array of rows x cols. */
static inline number *dense_of(const tess_matrix *A)
{
    number *dense = calloc((size_t)(A->rows * A->cols) + 1, sizeof *dense);
    const int64_t r = A->block_height, c = A->block_width;
    for (int64_t ib = 0; ib < A->block_rows; ib++)
        for (int64_t k = A->row_offsets[ib]; k < A->row_offsets[ib + 1]; k++)
            for (int64_t at = 0; at < r * c; at++) {
                const int64_t i = ib * r + at % r, j = A->columns[k] * c + at / r;
                if (i < A->rows && j < A->cols)
                    dense[i * A->cols + j] = get(A->values, A->type, k * r * c + at);
            }
    return dense;
}

static inline void check_dense(const char *what, const tess_matrix *A, const number *expected)
{
    number *dense = dense_of(A);
    for (int64_t i = 0; i < A->rows * A->cols; i++)
        if (dense[i] != expected[i])
            fail_msg("%s: place %lld is %g%+gi instead of %g%+gi", what, (long long)i,
                     creal(dense[i]), cimag(dense[i]), creal(expected[i]), cimag(expected[i]));
    free(dense);
}

static inline tess_matrix *generate(tess_ctx *ctx, const char *spec)
{
    tess_matrix *A = NULL;
    if (tess_matrix_generate(ctx, spec, &A, NULL) != TESS_OK)
        fail_msg("%s: %s", spec, tess_ctx_error(ctx));
    return A;
}

#endif
