/* dot = w . y in double, in a fixed order: a fixed number of thread blocks adds strided parts, one
 * thread block adds the parts.
 *
 *   REAL  bytes of a scalar (8 or 4)     THREADS  threads a block, a power of two
 */
#if REAL == 8
typedef double real;
#else
typedef float real;
#endif

static __device__ double block_sum(double mine)
{
    __shared__ double part[THREADS];
    part[threadIdx.x] = mine;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    return part[0];
}

extern "C" __global__ void __launch_bounds__(THREADS)
    dot_partial(const real *w, const real *y, long long count, double *parts)
{
    double sum = 0;
    long long step = (long long)gridDim.x * THREADS;
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < count; i += step)
        sum += (double)w[i] * (double)y[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    dot_final(const double *parts, int count, double *dot)
{
    double sum = 0;
    for (int i = threadIdx.x; i < count; i += THREADS)
        sum += parts[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        *dot = sum;
}
