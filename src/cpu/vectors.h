/* Vectors of products: one scalar, copies by threads, several vectors side by side. */
#pragma once

#include "matrix/matrix.h"

/* y_i = alpha sum + beta y_i, whatever the precision. */
static inline void tess_cpu_put(void *y, tess_type type, int64_t i, double alpha, double sum,
                                double beta)
{
    sum *= alpha;
    if (beta != 0)
        sum += beta * tess_get(y, type, i);
    tess_put(y, type, i, sum);
}

/* The same of complex scalars. */
static inline void tess_cpu_put_complex(void *y, tess_type type, int64_t i, tess_complex alpha,
                                        tess_complex sum, tess_complex beta)
{
    sum = tess_complex_product(alpha, sum);
    if (!tess_complex_is_zero(beta))
        sum = tess_complex_sum(sum, tess_complex_product(beta, tess_get_complex(y, type, i)));
    tess_put_complex(y, type, i, sum);
}

/* y_to = alpha sum + beta y_to, where the sum is that of `pieces` scalars of `sums`, in this order:
 * first, first + step, ... The imaginary parts of alpha and beta are for complex types. */
void tess_cpu_put_pieces(tess_type type, const void *sums, int64_t first, int64_t step,
                         int64_t pieces, tess_complex alpha, tess_complex beta, void *y,
                         int64_t to);

/* memcpy by threads: with one thread the copy could cost more than the product. */
void tess_cpu_copy(tess_ctx *ctx, void *to, const void *from, size_t bytes, int shares);

/* Scalar i of vector v is data[i*row + v*vector]. */
typedef struct tess_cpu_vectors {
    void *data;
    int64_t row, vector;
} tess_cpu_vectors;
/* Puts `count` vectors X, as long as A is wide, side by side, with zeros below up to a whole
 * block. */
void tess_cpu_pack(tess_ctx *ctx, const tess_matrix *A, const tess_cpu_vectors *X, int64_t count,
                   void *to, int shares);
/* Y = beta Y + `count` vectors of `rows` scalars, which lie side by side at `from`. */
void tess_cpu_unpack(tess_ctx *ctx, tess_type type, int64_t rows, const void *from, int64_t count,
                     const tess_cpu_vectors *Y, double beta, int shares);
/* The most vectors done together; more are done in groups of this size. */
#define TESS_CPU_SPMM_GROUP 32
