/* Small dense blocks. */
#include <float.h>

#include "solve/pc/pc.h"

/* Inverts a by Gauss-Jordan on the rows of [a | work]; work starts as the identity. A pivot of
 * rounding's size means that the block is singular. */
static inline __attribute__((always_inline)) int32_t invert(double *restrict a, const int32_t b,
                                                            double *restrict work, double *pivot)
{
    double largest = 0;
    memset(work, 0, (size_t)b * (size_t)b * sizeof *work);
    for (int64_t i = 0; i < (int64_t)b * b; i++)
        largest = fmax(largest, fabs(a[i]));
    for (int32_t i = 0; i < b; i++)
        work[i * b + i] = 1;
    for (int32_t k = 0; k < b; k++) {
        int32_t best = k;
        for (int32_t i = k + 1; i < b; i++)
            if (fabs(a[k * b + i]) > fabs(a[k * b + best]))
                best = i;
        *pivot = fabs(a[k * b + best]);
        if (!(*pivot > (b == 1 ? 0 : b * DBL_EPSILON * largest)) || !isfinite(*pivot))
            return k;
        const double inverse = 1 / a[k * b + best];
        for (int32_t j = 0; j < b; j++) {
            double swap = a[j * b + k];
            a[j * b + k] = a[j * b + best] * inverse;
            if (best != k)
                a[j * b + best] = swap;
            swap = work[j * b + k];
            work[j * b + k] = work[j * b + best] * inverse;
            if (best != k)
                work[j * b + best] = swap;
        }
        for (int32_t j = 0; j < b; j++) {
            if (j == k) /* its factors are needed last */
                continue;
            const double other = a[j * b + k];
            for (int32_t i = 0; i < b; i++)
                a[j * b + i] -= i == k ? 0 : a[k * b + i] * other;
        }
        for (int32_t j = 0; j < b; j++) {
            const double other = work[j * b + k];
            for (int32_t i = 0; i < b; i++)
                work[j * b + i] -= i == k ? 0 : a[k * b + i] * other;
        }
    }
    memcpy(a, work, (size_t)b * (size_t)b * sizeof *work);
    return -1;
}

/* The most frequent sizes are compiled separately, which makes them several times faster. */
int32_t tess_dense_invert(double *a, int32_t b, double *work, double *pivot)
{
    switch (b) {
    case 1:
        return invert(a, 1, work, pivot);
    case 2:
        return invert(a, 2, work, pivot);
    case 3:
        return invert(a, 3, work, pivot);
    case 4:
        return invert(a, 4, work, pivot);
    case 5:
        return invert(a, 5, work, pivot);
    default:
        return invert(a, b, work, pivot);
    }
}
