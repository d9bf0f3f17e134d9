/* One pass of a solver: elementwise statements and dot products on a few vectors, each read and
 * written once. The statements are macros below, in the order of -DLINES; vectors, coefficients and
 * dot products have the numbers of the launch's arrays, so that passes alike share their code.
 *
 *   VECTORS  of the pass         LOADS, STORES  bit k: vector k is read first, is written
 *   COEFS    coefficients        DOTS           dot products
 *   BLOCK    size of the diagonal's blocks, 0: none       HELD  bytes of its scalars (8 or 4)
 *   DIRECT   1: blocks are too large to be shared by a thread block: they read memory, and such a
 *            line is alone in its pass
 *   THREADS  threads a block     REPEAT         rows a thread at a time
 *
 * A thread holds its rows' elements in registers. Rows of one diagonal block belong to one thread
 * block, which passes them round through shared memory. Each thread block leaves its parts of the
 * dot products; the last one to finish adds them in order and goes on with the scalars.
 */
#include "common.cuh"
#include "steps.cuh"

#if HELD == 4
typedef float held;
#else
typedef double held;
#endif

#define SHARING (BLOCK > 1 && !DIRECT)
#define TILE (SHARING ? THREADS / BLOCK * BLOCK : THREADS)

typedef struct pass_args {
    finish_args f;
    real *vector[10];
    double factor[12];
    long long slot[12]; /* of each coefficient: factor * slot; -1: factor alone */
    long long dot_slot[8];
    const held *diagonal;
    long long count; /* rows */
    double *parts;   /* DOTS numbers a thread block */
    unsigned *ticket;
} pass_args;

#define EACH UNROLL for (int u = 0; u < REPEAT; u++)

#define SUM1(out, c0, v0) EACH e[u][out] = c[c0] * e[u][v0];
#define SUM2(out, c0, v0, c1, v1) EACH e[u][out] = c[c0] * e[u][v0] + c[c1] * e[u][v1];
#define SUM3(out, c0, v0, c1, v1, c2, v2) \
    EACH e[u][out] = c[c0] * e[u][v0] + c[c1] * e[u][v1] + c[c2] * e[u][v2];
#define SUM4(out, c0, v0, c1, v1, c2, v2, c3, v3) \
    EACH e[u][out] = c[c0] * e[u][v0] + c[c1] * e[u][v1] + c[c2] * e[u][v2] + c[c3] * e[u][v3];
#define DOT(number, x, y) EACH sum[number] += (double)e[u][x] * (double)e[u][y];
#define DIAGONAL(out, x) diagonal_line(&a, base, e, out, x, 0, shared);
#define DIAGONAL_T(out, x) diagonal_line(&a, base, e, out, x, 1, shared);

#if BLOCK > 0
/* e[out] = D e[x], D or its transpose, for the thread's rows. */
DEVICE void diagonal_line(const pass_args *a, long long base, real (*e)[VECTORS], const int out,
                          const int x, const int transpose, real *shared)
{
    const int across = transpose ? BLOCK : 1, down = transpose ? 1 : BLOCK;
#if SHARING
    __syncthreads();
    EACH shared[u * THREADS + threadIdx.x] = e[u][x];
    __syncthreads();
#endif
    EACH
    {
        const long long i = base + u * TILE + threadIdx.x;
        real sum = 0;
        if (i < a->count && threadIdx.x < TILE) {
            const long long first = i / BLOCK * BLOCK;
            const held *d = a->diagonal + first * BLOCK + (i - first) * across;
#if SHARING
            const real *r = shared + u * THREADS + (int)threadIdx.x / BLOCK * BLOCK;
#elif DIRECT
            const real *r = a->vector[x] + first;
#else
            const real *r = &e[u][x];
#endif
            UNROLL_4
            for (int j = 0; j < BLOCK; j++)
                sum += (real)d[(long long)j * down] * r[j];
        }
        e[u][out] = sum;
    }
}
#endif

#if DOTS > 0
/* The parts of this thread block, and if it is the last one the sums. */
DEVICE bool add_up(const pass_args *a, const double *sum, double *scratch, int *last)
{
    UNROLL
    for (int k = 0; k < DOTS; k++) {
        const double part = block_total(sum[k], scratch, THREADS);
        if (threadIdx.x == 0)
            a->parts[(long long)k * gridDim.x + blockIdx.x] = part;
    }
    if (threadIdx.x == 0) {
        __threadfence();
        *last = atomicAdd(a->ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!*last)
        return false;
    __threadfence();
    UNROLL
    for (int k = 0; k < DOTS; k++) {
        const double total =
            sum_parts(a->parts + (long long)k * gridDim.x, gridDim.x, scratch, THREADS);
        if (threadIdx.x == 0)
            a->f.slots[a->dot_slot[k]] = total;
    }
    if (threadIdx.x == 0)
        *a->ticket = 0;
    return true;
}
#endif

KERNEL(pass, pass_args, THREADS, 1)
{
#if SHARING
    SHARED(real, shared, THREADS *REPEAT);
#else
    real *const shared = 0;
#endif
    if (halted(&a.f))
        return;
    real c[COEFS + 1];
    UNROLL
    for (int k = 0; k < COEFS; k++)
        c[k] = (real)(a.slot[k] < 0 ? a.factor[k] : a.factor[k] * a.f.slots[a.slot[k]]);
#if DOTS > 0
    double sum[DOTS];
    UNROLL
    for (int k = 0; k < DOTS; k++)
        sum[k] = 0;
#endif
    NO_UNROLL
    for (long long base = (long long)blockIdx.x * (TILE * REPEAT); base < a.count;
         base += (long long)gridDim.x * (TILE * REPEAT)) {
        real e[REPEAT][VECTORS];
        EACH
        {
            const long long i = base + u * TILE + threadIdx.x;
            const bool mine = i < a.count && threadIdx.x < TILE;
            UNROLL
            for (int k = 0; k < VECTORS; k++) {
                e[u][k] = 0;
                if (mine && (LOADS >> k & 1))
                    e[u][k] = a.vector[k][i];
            }
        }
        LINES
        EACH
        {
            const long long i = base + u * TILE + threadIdx.x;
            const bool mine = i < a.count && threadIdx.x < TILE;
            UNROLL
            for (int k = 0; k < VECTORS; k++)
                if (mine && (STORES >> k & 1))
                    a.vector[k][i] = e[u][k];
        }
    }
    (void)shared;
    (void)c;
#if DOTS > 0
    SHARED(double, scratch, THREADS / 32);
    SHARED(double, copy, FINISH_SLOTS);
    SHARED(int, last, 1);
    if (add_up(&a, sum, scratch, last))
        run_programme(&a.f, copy, THREADS);
#endif
}
