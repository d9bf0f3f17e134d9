/* dot = w . y in double, in a fixed order: a fixed number of thread blocks adds strided parts, one
 * thread block adds the parts.
 *
 *   REAL  bytes of a scalar (8 or 4)     THREADS  threads a block, a power of two
 */
#include "common.cuh"

typedef struct dot_partial_args {
    const real *w, *y;
    long long count;
    double *parts; /* one a thread block */
} dot_partial_args;

typedef struct dot_final_args {
    const double *parts;
    long long count;
    double *dot;
} dot_final_args;

DEVICE double block_sum(double mine)
{
    SHARED(double, part, THREADS);
    part[threadIdx.x] = mine;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    return part[0];
}

KERNEL(dot_partial, dot_partial_args, THREADS, 1)
{
    double sum = 0;
    const long long step = (long long)gridDim.x * THREADS;
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < a.count; i += step)
        sum += (double)a.w[i] * (double)a.y[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        a.parts[blockIdx.x] = sum;
}

KERNEL(dot_final, dot_final_args, THREADS, 1)
{
    double sum = 0;
    for (long long i = threadIdx.x; i < a.count; i += THREADS)
        sum += a.parts[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        *a.dot = sum;
}
