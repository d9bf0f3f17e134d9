/* The sum of the partial sums that the thread blocks of a product with a dot product leave. */
#ifndef TESS_DOT_SUM_CUH
#define TESS_DOT_SUM_CUH
#include "block_sum.cuh"

#define DOT_THREADS 1024

typedef struct dot_sum_args {
    const double *dot_part;
    long long parts;
    double *dot;
} dot_sum_args;

/* One thread block, in a fixed order. */
KERNEL(dot_sum, dot_sum_args, DOT_THREADS, 1)
{
    SHARED(double, scratch, DOT_THREADS);
    double sum = 0;
    for (long long i = threadIdx.x; i < a.parts; i += DOT_THREADS)
        sum += a.dot_part[i];
    sum = block_sum(sum, scratch, DOT_THREADS);
    if (threadIdx.x == 0)
        *a.dot = sum;
}

#endif
