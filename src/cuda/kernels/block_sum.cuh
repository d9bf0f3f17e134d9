/* The sum over a thread block. */
#ifndef TESS_BLOCK_SUM_CUH
#define TESS_BLOCK_SUM_CUH

/* Returns the sum over the thread block's `threads` threads: always the same tree. `scratch` has a
 * number per thread. A barrier must come before it is written again. */
DEVICE double block_sum(double mine, double *scratch, int threads)
{
    scratch[threadIdx.x] = mine;
    __syncthreads();
    for (int left = threads, half; left > 1; left = half) {
        half = (left + 1) / 2;
        if ((int)threadIdx.x < left - half)
            scratch[threadIdx.x] += scratch[threadIdx.x + half];
        __syncthreads();
    }
    return scratch[0];
}

#endif
