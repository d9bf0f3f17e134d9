/* The updates of a pass (solve/space/space.h) as macros. The code that uses them has
 *
 *   e[u][k]    the thread's elements of vector k, u = 0 .. REPEAT-1
 *   c[k]       coefficients
 *   sum[k]     the thread's part of dot product k
 *   diagonals  a diagonal_place
 *
 * For complex vectors a dot product x^H y is two real sums: DOT makes the real part, DOT_IM the
 * imaginary one. Transposes of their diagonals are conjugate transposes.
 *
 * BLOCK, HELD, DIRECT, THREADS, REPEAT, VECTORS: pass.cu.
 */
#ifndef TESS_UPDATES_CUH
#define TESS_UPDATES_CUH

/* Blocks of up to 8 rows are loaded together with the vectors, before anything is waited for. */
#ifndef AHEAD
#define AHEAD (BLOCK >= 1 && BLOCK <= 8)
#endif
#define SHARING (BLOCK > 1 && !DIRECT)
#define TILE (SHARING ? THREADS / BLOCK * BLOCK : THREADS)

/* What a DIAGONAL update needs to know. */
typedef struct diagonal_place {
    const held_scalar *diagonal;
    long long base, end; /* first row of the tile, end of all rows */
    scalar *shared;       /* SHARING: THREADS * REPEAT scalars */
} diagonal_place;

#define WARPS (THREADS / 32)

#define EACH UNROLL for (int u = 0; u < REPEAT; u++)

/* A term of a sum, and sums of two and three. */
#define TERM(k, v) TIMES(c[k], e[u][v])
#define TERMS2(c0, v0, c1, v1) PLUS(TERM(c0, v0), TERM(c1, v1))
#define TERMS3(c0, v0, c1, v1, c2, v2) PLUS(TERMS2(c0, v0, c1, v1), TERM(c2, v2))

#define SUM1(out, c0, v0) EACH e[u][out] = TERM(c0, v0);
#define SUM2(out, c0, v0, c1, v1) EACH e[u][out] = TERMS2(c0, v0, c1, v1);
#define SUM3(out, c0, v0, c1, v1, c2, v2) EACH e[u][out] = TERMS3(c0, v0, c1, v1, c2, v2);
#define SUM4(out, c0, v0, c1, v1, c2, v2, c3, v3) \
    EACH e[u][out] = PLUS(TERMS3(c0, v0, c1, v1, c2, v2), TERM(c3, v3));
#if COMPLEX
#define DOT(number, x, y)                                                  \
    EACH sum[number] += (double)e[u][x].re * (double)e[u][y].re +          \
                        (double)e[u][x].im * (double)e[u][y].im;
#define DOT_IM(number, x, y)                                               \
    EACH sum[number] += (double)e[u][x].re * (double)e[u][y].im -          \
                        (double)e[u][x].im * (double)e[u][y].re;
#else
#define DOT(number, x, y) EACH sum[number] += (double)e[u][x] * (double)e[u][y];
#endif
#define DIAGONAL(out, x) diagonal_update(&diagonals, e, out, x, 0, a.vector[x], d);
#define DIAGONAL_T(out, x) diagonal_update(&diagonals, e, out, x, 1, a.vector[x], d);
/* c0 D x, or c0 D^T x, plus other vectors. These are added up first, because `out` may be one of
 * them. */
#define ADD_DIAGONAL(out, c0, x, t, others)                         \
    {                                                               \
        scalar other[REPEAT];                                       \
        EACH other[u] = others;                                     \
        diagonal_update(&diagonals, e, out, x, t, a.vector[x], d);  \
        EACH e[u][out] = PLUS(TERM(c0, out), other[u]);             \
    }
#define DIAGONAL_SUM0(out, c0, x, t) ADD_DIAGONAL(out, c0, x, t, ZERO)
#define DIAGONAL_SUM1(out, c0, x, t, c1, v1) ADD_DIAGONAL(out, c0, x, t, TERM(c1, v1))
#define DIAGONAL_SUM2(out, c0, x, t, c1, v1, c2, v2) \
    ADD_DIAGONAL(out, c0, x, t, TERMS2(c1, v1, c2, v2))
#define DIAGONAL_SUM3(out, c0, x, t, c1, v1, c2, v2, c3, v3) \
    ADD_DIAGONAL(out, c0, x, t, TERMS3(c1, v1, c2, v2, c3, v3))

/* Loads the thread's rows of the diagonal's blocks, if they fit registers. */
#if AHEAD
#define DIAGONAL_AHEAD(p) held_scalar d[REPEAT][BLOCK]; diagonal_ahead(p, d);
#else
#define DIAGONAL_AHEAD(p) held_scalar (*const d)[1] = 0; (void)d;
#endif

#if AHEAD
DEVICE void diagonal_ahead(const diagonal_place *p, held_scalar (*d)[BLOCK])
{
    EACH
    {
        const long long i = p->base + u * TILE + threadIdx.x, first = i / BLOCK * BLOCK;
        UNROLL
        for (int j = 0; j < BLOCK; j++) {
            d[u][j] = ZERO_HELD;
            if (i < p->end && threadIdx.x < TILE)
                d[u][j] = p->diagonal[(first + j) * BLOCK + (i - first)];
        }
    }
}
#endif

#if BLOCK > 0
/* e[out] = D e[x], or D^T e[x], for the thread's rows. All rows of a block belong to one thread
 * block, whose threads exchange them through shared memory, unless DIRECT. */
DEVICE void diagonal_update(const diagonal_place *p, scalar (*e)[VECTORS], const int out,
                            const int x, const int transpose, const scalar *memory,
                            held_scalar (*ahead)[AHEAD ? BLOCK : 1])
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
        scalar total = ZERO;
        if (i < p->end && threadIdx.x < TILE) {
            const long long first = i / BLOCK * BLOCK;
            const held_scalar *d = p->diagonal + first * BLOCK + (i - first) * across;
#if SHARING
            const scalar *r = p->shared + u * THREADS + (int)threadIdx.x / BLOCK * BLOCK;
#elif DIRECT
            const scalar *r = memory + first;
#else
            const scalar *r = &e[u][x];
#endif
#if AHEAD
            if (!transpose) {
                UNROLL
                for (int j = 0; j < BLOCK; j++)
                    MULTIPLY_ADD(total, SCALAR_OF(ahead[u][j], 0), r[j]);
            } else
#endif
                UNROLL_4
            for (int j = 0; j < BLOCK; j++)
                MULTIPLY_ADD(total, SCALAR_OF(d[(long long)j * down], transpose), r[j]);
        }
        e[u][out] = total;
    }
    (void)memory, (void)ahead;
}
#endif

#if DOTS > 0
/* Sums over the warp, with the same bits in all lanes: both lanes of a pair add the same two
 * numbers. */
DEVICE void warp_totals(double *sum)
{
    UNROLL
    for (int by = 16; by > 0; by /= 2) {
        UNROLL
        for (int k = 0; k < DOTS; k++)
            sum[k] += __shfl_xor_sync(0xffffffffu, sum[k], by, 32);
    }
}

/* The thread block's partial sums of the dot products in `bits`, left in `mine` by all lanes of the
 * first warp. scratch: DOTS numbers per warp. */
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
