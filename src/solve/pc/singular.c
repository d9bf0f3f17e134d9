/* Singular values of small dense matrices, by one-sided Jacobi rotations (Hestenes 1958): columns
 * are turned against each other until all are orthogonal. */
#include <float.h>

#include "solve/pc/pc.h"

enum { MOST_SWEEPS = 40 };

/* Turns columns p and q of `count` rows by the angle with cosine c and sine s. */
static void turn(double *p, double *q, int32_t count, double c, double s)
{
    for (int32_t i = 0; i < count; i++) {
        const double low = p[i], high = q[i];
        p[i] = c * low - s * high;
        q[i] = s * low + c * high;
    }
}

/* Makes two columns orthogonal. Returns false where they already were. */
static bool make_orthogonal(double *p, double *q, double *vp, double *vq, int32_t b)
{
    double pp = 0, qq = 0, pq = 0;
    for (int32_t i = 0; i < b; i++) {
        pp += p[i] * p[i];
        qq += q[i] * q[i];
        pq += p[i] * q[i];
    }
    if (!(fabs(pq) > DBL_EPSILON * sqrt(pp * qq)) || !isfinite(pq))
        return false;
    const double zeta = (qq - pp) / (2 * pq);
    const double tangent = copysign(1, zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    const double c = 1 / sqrt(1 + tangent * tangent);
    turn(p, q, b, c, c * tangent);
    turn(vp, vq, b, c, c * tangent);
    return true;
}

void tess_dense_singular(double *a, int64_t stride, int32_t b, double *v)
{
    memset(v, 0, (size_t)b * (size_t)b * sizeof *v);
    for (int64_t i = 0; i < b; i++)
        v[i * b + i] = 1;
    bool turned = true;
    for (int sweep = 0; turned && sweep < MOST_SWEEPS; sweep++) {
        turned = false;
        for (int64_t p = 0; p + 1 < b; p++)
            for (int64_t q = p + 1; q < b; q++)
                turned |= make_orthogonal(a + p * stride, a + q * stride, v + p * b, v + q * b, b);
    }
}

/* |a|^-1 = sum of v_j v_j^T / sigma_j. */
int32_t tess_dense_invert_magnitude(double *a, int32_t b, double *work, double *pivot)
{
    double largest = 0;
    tess_dense_singular(a, b, b, work);
    for (int64_t j = 0; j < b; j++) {
        double square = 0;
        for (int64_t i = 0; i < b; i++)
            square += a[j * b + i] * a[j * b + i];
        a[j * b] = sqrt(square); /* sigma_j, in place of the column */
        if (!isfinite(a[j * b]))
            largest = a[j * b];
        largest = fmax(largest, a[j * b]);
    }
    for (int64_t j = 0; j < b; j++) {
        *pivot = a[j * b];
        if (!(*pivot > (b == 1 ? 0 : b * DBL_EPSILON * largest)) || !isfinite(*pivot))
            return (int32_t)j;
        const double root = 1 / sqrt(*pivot);
        for (int64_t i = 0; i < b; i++)
            work[j * b + i] *= root;
    }
    for (int64_t i = 0; i < b; i++)
        for (int64_t k = 0; k < b; k++) {
            double sum = 0;
            for (int64_t j = 0; j < b; j++)
                sum += work[j * b + i] * work[j * b + k];
            a[k * b + i] = sum;
        }
    return -1;
}
