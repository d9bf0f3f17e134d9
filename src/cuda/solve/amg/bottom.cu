/* The dense inverse of a symmetric positive definite matrix of up to a few thousand rows.
 *
 * The matrix is scaled to a diagonal of ones and cut into tiles, of which those on and below the
 * diagonal are stored, column-major. The sweep of tile k, with D = A_kk, is Gauss-Jordan's step on
 * a symmetric matrix:
 *
 *     pivot    A_kk = -D^-1                          the last step of the update before
 *     column   A_ik = A_ik D^-1                      i other than k; A_ik before is kept
 *     update   A_ij = A_ij - (A_ik D^-1) A_kj        i and j other than k
 *
 * After the sweeps of all tiles, A is minus its inverse. Rows are not exchanged, which a definite
 * matrix does not need. Pivots that are no larger than rounding errors are counted: one of them
 * makes the result useless. Rows behind the last one are those of the identity.
 *
 *   THREADS  threads per thread block, 256    TILE   rows of a tile, 64
 *   OUT      rows of a block of the result
 */
#define REAL 8
#include "common.cuh"

#define EDGE 16            /* threads along an edge of a tile */
#define EACH (TILE / EDGE) /* rows of a tile per thread, and columns */
#define CHUNK 16           /* columns of two tiles in shared memory */
#define SIZE (TILE * TILE)

typedef struct bottom_args {
    const long long *offsets;
    const int *columns;
    const real *values;
    real *tiles;
    real *scale;    /* one per row of the tiles: 1 / sqrt of the diagonal */
    real *pivot;    /* D^-1 */
    real *column;   /* tiles A_ik */
    real *product;  /* tiles A_ik D^-1 */
    real *inverse;  /* column-major blocks, by rows */
    unsigned *failed;
    long long rows, block, across, step; /* scalar rows; scalars of a block row; tiles; k */
    real least;                          /* pivots must be larger */
} bottom_args;

/* Tile (i, j), i >= j. */
DEVICE real *tile(const bottom_args *a, long long i, long long j)
{
    return a->tiles + (i * (i + 1) / 2 + j) * SIZE;
}

/* Entry (i, j) of the matrix, i >= j. */
DEVICE real *entry(const bottom_args *a, long long i, long long j)
{
    return tile(a, i / TILE, j / TILE) + j % TILE * TILE + i % TILE;
}

/* The thread's place in a tile: it has rows first_row() + EDGE r and columns first_column() + EDGE
 * c. */
DEVICE int first_row(void)
{
    return (int)threadIdx.x % EDGE;
}

DEVICE int first_column(void)
{
    return (int)threadIdx.x / EDGE;
}

DEVICE int place_of(int r, int c)
{
    return (first_column() + EDGE * c) * TILE + first_row() + EDGE * r;
}

KERNEL(scale, bottom_args, THREADS, 1)
{
    const long long row = (long long)blockIdx.x * THREADS + threadIdx.x;
    const long long b = a.block, own = row / b, within = row % b;
    real diagonal = 0;
    if (row >= a.across * TILE)
        return;
    if (row >= a.rows) {
        a.scale[row] = 1;
        *entry(&a, row, row) = 1;
        return;
    }
    for (long long k = a.offsets[own]; k < a.offsets[own + 1]; k++)
        if (a.columns[k] == own)
            diagonal = a.values[(k * b + within) * b + within];
    const bool good = diagonal > 0 && diagonal - diagonal == 0;
    a.scale[row] = good ? 1 / sqrt(diagonal) : 0;
    if (!good)
        (void)atomicAdd(a.failed, 1u);
}

/* One thread block per block row. */
KERNEL(place, bottom_args, THREADS, 1)
{
    const long long b = a.block, own = blockIdx.x, first = a.offsets[own];
    const long long count = (a.offsets[own + 1] - first) * b * b;
    for (long long e = threadIdx.x; e < count; e += THREADS) {
        const long long k = first + e / (b * b), j = e % (b * b) / b, i = e % b;
        const long long row = own * b + i, column = a.columns[k] * b + j;
        if (row >= column)
            *entry(&a, row, column) = a.values[k * b * b + j * b + i] * a.scale[row] * a.scale[column];
    }
}

/* The pivot's step: d, a tile on the diagonal, becomes -D^-1 by sweeps of single rows, in
 * registers. d is symmetric, and both halves are stored. `line` has room for two columns. */
DEVICE void invert_tile(const bottom_args *a, long long k, real d[EACH][EACH], real *line)
{
    real *const own = tile(a, k, k);
    UNROLL
    for (int outer = 0; outer < EACH; outer++)
        NO_UNROLL
        for (int inner = 0; inner < EDGE; inner++) {
            const int s = EDGE * outer + inner;
            real *const now = line + s % 2 * TILE; /* others may still read the last one */
            if (first_column() == inner)
                UNROLL
                for (int r = 0; r < EACH; r++)
                    now[first_row() + EDGE * r] = d[r][outer];
            __syncthreads();
            const real p = now[s], one = 1 / p;
            if (threadIdx.x == 0 && !(p > a->least && p - p == 0))
                (void)atomicAdd(a->failed, 1u);
            UNROLL
            for (int c = 0; c < EACH; c++)
                UNROLL
                for (int r = 0; r < EACH; r++) {
                    const int i = first_row() + EDGE * r, j = first_column() + EDGE * c;
                    if (i == s || j == s)
                        d[r][c] = i == j ? -one : d[r][c] * one;
                    else
                        d[r][c] -= now[i] * now[j] * one;
                }
        }
    UNROLL
    for (int c = 0; c < EACH; c++)
        UNROLL
        for (int r = 0; r < EACH; r++) {
            own[place_of(r, c)] = d[r][c];
            a->pivot[place_of(r, c)] = -d[r][c];
        }
}

/* The pivot of the first tile. Later pivots follow the last update of their tile. */
KERNEL(pivot, bottom_args, THREADS, 1)
{
    SHARED(real, line, 2 * TILE);
    const real *const own = tile(&a, 0, 0);
    real d[EACH][EACH];
    UNROLL
    for (int c = 0; c < EACH; c++)
        UNROLL
        for (int r = 0; r < EACH; r++) {
            const int i = first_row() + EDGE * r, j = first_column() + EDGE * c;
            d[r][c] = i >= j ? own[j * TILE + i] : own[i * TILE + j];
        }
    invert_tile(&a, 0, d, line);
}

/* sum += left right', of two tiles. */
DEVICE void add_product(real sum[EACH][EACH], const real *left, const real *right, real *lefts,
                        real *rights)
{
    for (int k0 = 0; k0 < TILE; k0 += CHUNK) {
        __syncthreads();
        UNROLL
        for (int e = (int)threadIdx.x; e < CHUNK * TILE; e += THREADS) {
            lefts[e] = left[k0 * TILE + e];
            rights[e] = right[k0 * TILE + e];
        }
        __syncthreads();
        UNROLL
        for (int k = 0; k < CHUNK; k++) {
            real l[EACH], r[EACH];
            UNROLL
            for (int i = 0; i < EACH; i++) {
                l[i] = lefts[k * TILE + first_row() + EDGE * i];
                r[i] = rights[k * TILE + first_column() + EDGE * i];
            }
            UNROLL
            for (int i = 0; i < EACH; i++)
                UNROLL
                for (int j = 0; j < EACH; j++)
                    sum[i][j] += l[i] * r[j];
        }
    }
}

/* One thread block per tile. */
KERNEL(column, bottom_args, THREADS, 1)
{
    SHARED(real, lefts, CHUNK * TILE);
    SHARED(real, rights, CHUNK * TILE);
    const long long i = blockIdx.x, k = a.step;
    real *const kept = a.column + i * SIZE, *const product = a.product + i * SIZE;
    real *const own = i > k ? tile(&a, i, k) : tile(&a, k, i);
    real sum[EACH][EACH] = {{0}};
    if (i == k)
        return;
    for (int e = (int)threadIdx.x; e < SIZE; e += THREADS)
        kept[i > k ? e : e % TILE * TILE + e / TILE] = own[e];
    __syncthreads();
    add_product(sum, kept, a.pivot, lefts, rights); /* D^-1 is symmetric */
    UNROLL
    for (int c = 0; c < EACH; c++)
        UNROLL
        for (int r = 0; r < EACH; r++) {
            const int at = place_of(r, c);
            product[at] = sum[r][c];
            own[i > k ? at : at % TILE * TILE + at / TILE] = sum[r][c];
        }
}

/* Replaces `sum` by the tile `own` of the diagonal less `sum`, from its lower half. */
DEVICE void mirror(const real *own, real sum[EACH][EACH], real *whole)
{
    UNROLL
    for (int c = 0; c < EACH; c++)
        UNROLL
        for (int r = 0; r < EACH; r++) {
            const int i = first_row() + EDGE * r, j = first_column() + EDGE * c;
            if (i >= j)
                whole[j * TILE + i] = whole[i * TILE + j] = own[j * TILE + i] - sum[r][c];
        }
    __syncthreads();
    UNROLL
    for (int c = 0; c < EACH; c++)
        UNROLL
        for (int r = 0; r < EACH; r++)
            sum[r][c] = whole[place_of(r, c)];
    __syncthreads();
}

/* One thread block per tile; those above the diagonal have nothing to do. The thread block of the
 * next pivot goes on with its step, while others are still at their updates. */
KERNEL(update, bottom_args, THREADS, 1)
{
    SHARED(real, memory, SIZE);
    const long long i = blockIdx.x, j = blockIdx.y;
    real sum[EACH][EACH] = {{0}};
    if (i < j || i == a.step || j == a.step)
        return;
    real *const own = tile(&a, i, j);
    add_product(sum, a.product + i * SIZE, a.column + j * SIZE, memory, memory + CHUNK * TILE);
    if (i == j && i == a.step + 1) {
        __syncthreads();
        mirror(own, sum, memory);
        invert_tile(&a, i, sum, memory);
        return;
    }
    UNROLL
    for (int c = 0; c < EACH; c++)
        UNROLL
        for (int r = 0; r < EACH; r++)
            own[place_of(r, c)] -= sum[r][c];
}

/* The inverse in blocks of OUT x OUT; one thread per entry. */
KERNEL(write, bottom_args, THREADS, 1)
{
    const long long e = (long long)blockIdx.x * THREADS + threadIdx.x;
    const long long across = (a.rows + OUT - 1) / OUT, k = e / (OUT * OUT);
    const long long row = k / across * OUT + e % OUT, column = k % across * OUT + e / OUT % OUT;
    if (k >= across * across)
        return;
    const bool lower = row >= column, within = row < a.rows && column < a.rows;
    a.inverse[e] = !within ? 0
                           : -*entry(&a, lower ? row : column, lower ? column : row) *
                                 (a.scale[row] * a.scale[column]);
}
