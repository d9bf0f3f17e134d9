/* The updates of a pass (solve/space/space.h) as macros. Where they stand there are
 *
 *   e[u][k]    the thread's elements of vector k, u = 0 .. REPEAT-1
 *   c[k]       coefficients
 *   sum[k]     the thread's part of dot product k
 *   diagonals  a diagonal_place
 *
 * BLOCK, HELD, DIRECT, THREADS, REPEAT, VECTORS: cuda/solve/pass.cu.
 */
#ifndef TESS_UPDATES_CUH
#define TESS_UPDATES_CUH

#if HELD == 4
typedef float held;
#else
typedef double held;
#endif

/* Small blocks are loaded together with the vectors, before anybody waits. */
#ifndef AHEAD
#define AHEAD (BLOCK >= 1 && BLOCK <= 8)
#endif
#define SHARING (BLOCK > 1 && !DIRECT)
#define TILE (SHARING ? THREADS / BLOCK * BLOCK : THREADS)

/* What a DIAGONAL update needs to know. */
typedef struct diagonal_place {
    const held *diagonal;
    long long base, end; /* first row of the tile, end of all rows */
    real *shared;        /* SHARING: THREADS * REPEAT scalars */
} diagonal_place;

#define WARPS (THREADS / 32)

#define EACH UNROLL for (int u = 0; u < REPEAT; u++)

#define SUM1(out, c0, v0) EACH e[u][out] = c[c0] * e[u][v0];
#define SUM2(out, c0, v0, c1, v1) EACH e[u][out] = c[c0] * e[u][v0] + c[c1] * e[u][v1];
#define SUM3(out, c0, v0, c1, v1, c2, v2) \
    EACH e[u][out] = c[c0] * e[u][v0] + c[c1] * e[u][v1] + c[c2] * e[u][v2];
#define SUM4(out, c0, v0, c1, v1, c2, v2, c3, v3) \
    EACH e[u][out] = c[c0] * e[u][v0] + c[c1] * e[u][v1] + c[c2] * e[u][v2] + c[c3] * e[u][v3];
#define DOT(number, x, y) EACH sum[number] += (double)e[u][x] * (double)e[u][y];
#define DIAGONAL(out, x) diagonal_update(&diagonals, e, out, x, 0, a.vector[x], d);
#define DIAGONAL_T(out, x) diagonal_update(&diagonals, e, out, x, 1, a.vector[x], d);
/* c0 D x, or D^T x, and other vectors, of which `out` may be one: they are added up first. */
#define ADD_DIAGONAL(out, c0, x, t, others)                         \
    {                                                               \
        real other[REPEAT];                                         \
        EACH other[u] = others;                                     \
        diagonal_update(&diagonals, e, out, x, t, a.vector[x], d);  \
        EACH e[u][out] = c[c0] * e[u][out] + other[u];              \
    }
#define DIAGONAL_SUM0(out, c0, x, t) ADD_DIAGONAL(out, c0, x, t, 0)
#define DIAGONAL_SUM1(out, c0, x, t, c1, v1) ADD_DIAGONAL(out, c0, x, t, c[c1] * e[u][v1])
#define DIAGONAL_SUM2(out, c0, x, t, c1, v1, c2, v2) \
    ADD_DIAGONAL(out, c0, x, t, c[c1] * e[u][v1] + c[c2] * e[u][v2])
#define DIAGONAL_SUM3(out, c0, x, t, c1, v1, c2, v2, c3, v3) \
    ADD_DIAGONAL(out, c0, x, t, c[c1] * e[u][v1] + c[c2] * e[u][v2] + c[c3] * e[u][v3])

/* The thread's rows of the diagonal's blocks, if they fit registers. */
#if AHEAD
#define DIAGONAL_AHEAD(p) held d[REPEAT][BLOCK]; diagonal_ahead(p, d);
#else
#define DIAGONAL_AHEAD(p) held (*const d)[1] = 0; (void)d;
#endif

#if AHEAD
DEVICE void diagonal_ahead(const diagonal_place *p, held (*d)[BLOCK])
{
    EACH
    {
        const long long i = p->base + u * TILE + threadIdx.x, first = i / BLOCK * BLOCK;
        UNROLL
        for (int j = 0; j < BLOCK; j++) {
            d[u][j] = 0;
            if (i < p->end && threadIdx.x < TILE)
                d[u][j] = p->diagonal[(first + j) * BLOCK + (i - first)];
        }
    }
}
#endif

#if BLOCK > 0
/* e[out] = D e[x], D or its transpose, for the thread's rows. Rows of one block belong to one
 * thread block, which passes them round through shared memory. */
DEVICE void diagonal_update(const diagonal_place *p, real (*e)[VECTORS], const int out, const int x,
                          const int transpose, const real *memory,
                          held (*ahead)[AHEAD ? BLOCK : 1])
{
    const int across = transpose ? BLOCK : 1, down = transpose ? 1 : BLOCK;
#if SHARING
    __syncthreads();
    EACH p->shared[u * THREADS + threadIdx.x] = e[u][x];
    __syncthreads();
#endif
    EACH
    {
        const long long i = p->base + u * TILE + threadIdx.x;
        real total = 0;
        if (i < p->end && threadIdx.x < TILE) {
            const long long first = i / BLOCK * BLOCK;
            const held *d = p->diagonal + first * BLOCK + (i - first) * across;
#if SHARING
            const real *r = p->shared + u * THREADS + (int)threadIdx.x / BLOCK * BLOCK;
#elif DIRECT
            const real *r = memory + first;
#else
            const real *r = &e[u][x];
#endif
#if AHEAD
            if (!transpose) {
                UNROLL
                for (int j = 0; j < BLOCK; j++)
                    total += (real)ahead[u][j] * r[j];
            } else
#endif
                UNROLL_4
            for (int j = 0; j < BLOCK; j++)
                total += (real)d[(long long)j * down] * r[j];
        }
        e[u][out] = total;
    }
    (void)memory, (void)ahead;
}
#endif

#if DOTS > 0
/* All lanes have the same sums afterwards: of two lanes both add the same two numbers. */
DEVICE void warp_totals(double *sum)
{
    UNROLL
    for (int by = 16; by > 0; by /= 2) {
        UNROLL
        for (int k = 0; k < DOTS; k++)
            sum[k] += __shfl_xor_sync(0xffffffffu, sum[k], by, 32);
    }
}

/* The thread block's parts of the dot products of `bits`, in all lanes of the first warp; scratch:
 * DOTS numbers a warp. */
DEVICE void block_totals(double *sum, double *mine, const unsigned bits, double *scratch)
{
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    UNROLL
    for (int k = 0; k < DOTS; k++)
        mine[k] = bits >> k & 1 ? sum[k] : 0;
    warp_totals(mine);
    UNROLL
    for (int k = 0; k < DOTS; k++) {
        if (bits >> k & 1) {
            sum[k] = 0;
            if (lane == 0)
                scratch[k * WARPS + warp] = mine[k];
        }
    }
    __syncthreads();
    if (warp == 0) {
        UNROLL
        for (int k = 0; k < DOTS; k++)
            mine[k] = (bits >> k & 1) && lane < WARPS ? scratch[k * WARPS + lane] : 0;
        warp_totals(mine);
    }
}
#endif

#endif
