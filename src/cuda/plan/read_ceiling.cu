/* The read ceiling: how fast the device reads an array and does nothing else.
 *
 * Every thread has EACH independent loads of 16 bytes in flight; neighbouring threads read
 * neighbouring addresses. The data are summed only so that the compiler keeps the loads. One sum
 * per thread block is written, which is negligible beside the bytes read. STREAMING tells the
 * caches that nothing will be read again; an array that fits in L2 is read without it.
 */
#define REAL 8
#include "common.cuh"

#if STREAMING
#define LOAD(address) __ldcs(address)
#else
#define LOAD(address) __ldg(address)
#endif

typedef struct read_ceiling_args {
    const uint4 *data;
    long long count;
    unsigned *sums;
} read_ceiling_args;

KERNEL(read_ceiling, read_ceiling_args, THREADS, 1)
{
    const long long tile = (long long)THREADS * EACH;
    unsigned sum = 0;
    for (long long first = blockIdx.x * tile; first < a.count; first += gridDim.x * tile) {
        uint4 part[EACH];
        UNROLL
        for (int u = 0; u < EACH; u++) {
            const long long i = first + u * THREADS + threadIdx.x;
            part[u] = i < a.count ? LOAD(a.data + i) : make_uint4(0, 0, 0, 0);
        }
        UNROLL
        for (int u = 0; u < EACH; u++)
            sum += part[u].x ^ part[u].y ^ part[u].z ^ part[u].w;
    }
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, step, 32);
    if (threadIdx.x % 32 == 0)
        atomicAdd(a.sums + blockIdx.x, sum);
}
