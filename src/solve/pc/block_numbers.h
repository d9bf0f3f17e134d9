/* Numbers of dense blocks, in double and column-major: products, norms, inverses of singular ones.
 * Each file compiles its own copy, so that the products of small blocks are unrolled. */
#pragma once

#include "solve/pc/pc.h"

#define INLINE static inline __attribute__((always_inline))

/* c = c - a b, or with b transposed; n x n column-major. */
INLINE void subtract_product_of(double *restrict c, const double *restrict a,
                                const double *restrict b, const int32_t n, const bool transpose_b)
{
    for (int32_t j = 0; j < n; j++)
        for (int32_t k = 0; k < n; k++) {
            const double factor = transpose_b ? b[k * n + j] : b[j * n + k];
            for (int32_t i = 0; i < n; i++)
                c[j * n + i] -= a[k * n + i] * factor;
        }
}

/* c = a b. */
INLINE void set_product_of(double *restrict c, const double *restrict a, const double *restrict b,
                           const int32_t n)
{
    for (int32_t j = 0; j < n; j++) {
        for (int32_t i = 0; i < n; i++)
            c[j * n + i] = 0;
        for (int32_t k = 0; k < n; k++)
            for (int32_t i = 0; i < n; i++)
                c[j * n + i] += a[k * n + i] * b[j * n + k];
    }
}

typedef enum block_product { SUBTRACT, SUBTRACT_TRANSPOSE, SET } block_product;

INLINE void product_of(block_product what, double *c, const double *a, const double *b,
                       const int32_t n)
{
    if (what == SET)
        set_product_of(c, a, b, n);
    else
        subtract_product_of(c, a, b, n, what == SUBTRACT_TRANSPOSE);
}

/* The most frequent sizes are compiled separately, which makes them several times faster. */
static inline void multiply(block_product what, double *c, const double *a, const double *b,
                            int32_t n)
{
    switch (n) {
    case 1:
        product_of(what, c, a, b, 1);
        break;
    case 2:
        product_of(what, c, a, b, 2);
        break;
    case 3:
        product_of(what, c, a, b, 3);
        break;
    case 4:
        product_of(what, c, a, b, 4);
        break;
    case 5:
        product_of(what, c, a, b, 5);
        break;
    default:
        product_of(what, c, a, b, n);
    }
}

/* Returns the size of a block: its Frobenius norm. */
static inline double block_norm(const double *block, int64_t scalars)
{
    double sum = 0;
    if (scalars == 1)
        return fabs(block[0]);
    for (int64_t i = 0; i < scalars; i++)
        sum += block[i] * block[i];
    return sqrt(sum);
}

/* Returns the square of the size of block k of A, in whatever precision it is stored. */
static inline double block_squares(const tess_matrix *A, int64_t k)
{
    const int64_t scalars = (int64_t)A->block_height * A->block_width;
    double sum = 0;
    for (int64_t i = k * scalars; i < (k + 1) * scalars; i++)
        sum += tess_matrix_value(A, i) * tess_matrix_value(A, i);
    return sum;
}

/* Inverts a singular diagonal block with a number added to its diagonal: 1e-4 of the row's mean
 * size, and ten times as much in each further attempt. Returns false where no attempt succeeds, as
 * with numbers that are not finite. */
static inline bool invert_heavier(const double *block, int32_t b, double mean, int attempts,
                                  double *scratch, double *inverse)
{
    double added = mean > 0 ? 1e-4 * mean : 1, found;
    for (int attempt = 0; attempt < attempts; attempt++, added *= 10) {
        memcpy(inverse, block, (size_t)b * (size_t)b * sizeof *inverse);
        for (int32_t i = 0; i < b; i++)
            inverse[i * b + i] += added;
        if (tess_dense_invert(inverse, b, scratch, &found) < 0)
            return true;
    }
    return false;
}
