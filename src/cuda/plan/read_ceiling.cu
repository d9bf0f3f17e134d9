// The read ceiling: how fast can this device read an array once, with nothing else to do?
//
// Every thread reads 16 bytes at a time, UNROLL independent loads in flight, neighbouring threads
// neighbouring addresses; the sum is kept only so that the loads are not removed. One partial sum a
// thread block is written: nothing to speak of beside the bytes read. STREAMING tells the caches
// that nothing will be read again; an array that fits in L2 is read without it.

#if STREAMING
#define LOAD(address) __ldcs(address)
#else
#define LOAD(address) __ldg(address)
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
    read_ceiling(const uint4 *__restrict__ data, long long count, unsigned *__restrict__ sums)
{
    long long tile = (long long)THREADS * UNROLL;
    unsigned sum = 0;
    for (long long first = blockIdx.x * tile; first < count; first += gridDim.x * tile) {
        uint4 part[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            long long i = first + u * THREADS + threadIdx.x;
            part[u] = i < count ? LOAD(data + i) : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            sum += part[u].x ^ part[u].y ^ part[u].z ^ part[u].w;
    }
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sums + blockIdx.x, sum);
}
