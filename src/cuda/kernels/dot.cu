/* dot = w . y in double, for complex vectors w^H y. The order is fixed: each of a fixed number of
 * thread blocks adds products at a fixed stride, and one thread block adds their partial sums.
 *
 *   REAL, COMPLEX  the scalar (scalar.cuh)     THREADS  threads per thread block, a power of two
 */
#include "common.cuh"

#define NUMBERS (1 + COMPLEX) /* of a sum: the real part, the imaginary part */

typedef struct dot_partial_args {
    const scalar *w, *y;
    long long count;
    double *parts; /* NUMBERS per thread block */
} dot_partial_args;

typedef struct dot_final_args {
    const double *parts;
    long long count;
    double *dot;
} dot_final_args;

DEVICE void add_product(double *sum, scalar w, scalar y)
{
#if COMPLEX
    sum[0] += (double)w.re * (double)y.re + (double)w.im * (double)y.im;
    sum[1] += (double)w.re * (double)y.im - (double)w.im * (double)y.re;
#else
    sum[0] += (double)w * (double)y;
#endif
}

/* Each number becomes its sum over the thread block, in thread 0. The tree is block_sum.cuh's
 * with an unsigned comparison, which saves an instruction. */
DEVICE void block_sums(double *sum)
{
    SHARED(double, part, THREADS);
    UNROLL
    for (int n = 0; n < NUMBERS; n++) {
        if (n > 0)
            __syncthreads();
        part[threadIdx.x] = sum[n];
        __syncthreads();
        for (int half = THREADS / 2; half > 0; half /= 2) {
            if (threadIdx.x < half)
                part[threadIdx.x] += part[threadIdx.x + half];
            __syncthreads();
        }
        sum[n] = part[0];
    }
}

KERNEL(dot_partial, dot_partial_args, THREADS, 1)
{
    double sum[NUMBERS] = {0};
    const long long step = (long long)gridDim.x * THREADS;
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < a.count; i += step)
        add_product(sum, a.w[i], a.y[i]);
    block_sums(sum);
    if (threadIdx.x == 0)
        UNROLL
        for (int n = 0; n < NUMBERS; n++)
            a.parts[blockIdx.x * NUMBERS + n] = sum[n];
}

KERNEL(dot_final, dot_final_args, THREADS, 1)
{
    double sum[NUMBERS] = {0};
    for (long long i = threadIdx.x; i < a.count; i += THREADS)
        UNROLL
        for (int n = 0; n < NUMBERS; n++)
            sum[n] += a.parts[i * NUMBERS + n];
    block_sums(sum);
    if (threadIdx.x == 0)
        UNROLL
        for (int n = 0; n < NUMBERS; n++)
            a.dot[n] = sum[n];
}
