/* The sum over a thread block, for sliced.cu, sliced_sum.cuh and papers/cg.cu. */
#ifndef TESS_BLOCK_SUM_CUH
#define TESS_BLOCK_SUM_CUH

/* Returns the sum over the thread block's `threads` threads, a power of two: always the same tree.
 * `scratch` has a number per thread. A barrier must come before it is written again. */
DEVICE double block_sum(double mine, double *scratch, int threads)
{
    scratch[threadIdx.x] = mine;
    __syncthreads();
    for (int half = threads / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half)
            scratch[threadIdx.x] += scratch[threadIdx.x + half];
        __syncthreads();
    }
    return scratch[0];
}

#endif
