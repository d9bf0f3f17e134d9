/* y = alpha A x + beta y on plain BSR, the stream of blocks cut into equal shares.
 *
 * Thread block g takes a contiguous range of tiles of TILE blocks, whatever rows they belong to, so
 * that a row of any length costs no thread block more than its share. A ring of STAGES tiles of
 * values and columns is filled by bulk copies (sm_90 and newer) or cp.async. x is gathered one tile
 * ahead, into registers first.
 *
 *     ring     | tile t: being multiplied | tile t+1: its x is being gathered | t+2 ... under way |
 *     partial  one number per (block, scalar row of it)
 *     sums     LANES threads add the partials of one (block row, scalar row), lane l every
 *              LANES-th, then a shuffle: a fixed order
 *
 * A row that leaves the tile is carried to the next. A row that leaves the share, or came into it,
 * goes to tail[g] or head[g]; stream_join adds tail[g] + head[g+1] + ... in this order.
 *
 * The range of a row's blocks is fetched a tile ahead too: it depends on the tile's rows, and two
 * loads in turn would take longer than the tile.
 *
 * Macros: BH, BW, THREADS, TILE, STAGES, LANES as above; RAGGED: cols is not a multiple of BW;
 * PER_SM: thread blocks per SM.
 */
#include "common.cuh"

#define TILE_VALUES (TILE * BH * BW)
#define X_EACH ((TILE * BW + THREADS - 1) / THREADS) /* elements of x per thread and tile */

/* The registers allow PER_SM thread blocks, but a thread has at least 64. It has more where the
 * threads do the copying, or gather much of x. */
#define LEAST_BLOCKS (ARCH < 90 || X_EACH > 4 ? 1 : PER_SM * THREADS > 1024 ? 1024 / THREADS : PER_SM)

/* Shared memory: ring of values, ring of columns, x and partials of two tiles, carries, barriers.
 * Every part is a multiple of 16 bytes. stream.c computes the same sum. */
#define AT_COLUMNS (STAGES * TILE_VALUES * REAL)
#define AT_X (AT_COLUMNS + STAGES * TILE * 4)
#define AT_PARTIALS (AT_X + 2 * TILE * BW * REAL)
#define AT_CARRY (AT_PARTIALS + 2 * TILE * BH * REAL)
#define AT_BARRIERS (AT_CARRY + (2 * BH * REAL + 15) / 16 * 16)

typedef struct stream_args {
    const long long *offsets;
    const int *columns;
    const real *values;
    const int *tile_rows; /* first block row that begins in the tile or later; tiles + 1 */
    const real *x;
    real *y;
    real *head, *tail; /* BH numbers per thread block */
    long long tiles, blocks, rows, cols;
    double alpha, beta;
} stream_args;

/* First tile of share g of G. */
DEVICE long long share_start(long long tiles, unsigned g, unsigned shares)
{
    return tiles * g / shares;
}

DEVICE long long tile_end(const stream_args *a, long long tile)
{
    const long long end = (tile + 1) * TILE;
    return end < a->blocks ? end : a->blocks;
}

/* Asks for a tile. What does not fill 16 bytes at the end of the matrix is copied by ordinary
 * loads. */
DEVICE void request(const stream_args *a, unsigned char *memory, long long tile, int stage,
                    policy p)
{
    const long long first = tile * TILE;
    const int count = (int)(tile_end(a, tile) - first);
    real *values = (real *)memory + stage * TILE_VALUES;
    int *columns = (int *)(memory + AT_COLUMNS) + stage * TILE;
    const unsigned value_bytes = (unsigned)count * (BH * BW * REAL), column_bytes = count * 4;
    const real *from_values = a->values + first * (BH * BW);
    const int *from_columns = a->columns + first;
    const unsigned whole_values = value_bytes / 16 * 16, whole_columns = column_bytes / 16 * 16;
#if ARCH >= 90
    mbarrier *full = (mbarrier *)(memory + AT_BARRIERS) + stage;
    if (threadIdx.x != 0)
        return;
    for (unsigned i = whole_values / REAL; i < value_bytes / REAL; i++)
        values[i] = from_values[i];
    for (unsigned i = whole_columns / 4; i < column_bytes / 4; i++)
        columns[i] = from_columns[i];
    bulk_fence();
    barrier_expect(full, whole_values + whole_columns);
    if (whole_values > 0)
        bulk_copy(values, from_values, whole_values, full, p);
    if (whole_columns > 0)
        bulk_copy(columns, from_columns, whole_columns, full, p);
#else
    (void)p;
    for (unsigned at = threadIdx.x * 16; at < whole_values; at += THREADS * 16)
        cp_async((char *)values + at, (const char *)from_values + at, 16);
    for (unsigned at = threadIdx.x * 16; at < whole_columns; at += THREADS * 16)
        cp_async((char *)columns + at, (const char *)from_columns + at, 16);
    for (unsigned i = whole_values / REAL + threadIdx.x; i < value_bytes / REAL; i += THREADS)
        values[i] = from_values[i];
    for (unsigned i = whole_columns / 4 + threadIdx.x; i < column_bytes / 4; i += THREADS)
        columns[i] = from_columns[i];
#endif
}

/* Waits until the n-th tile of the share is in shared memory, for all threads. */
DEVICE void await(unsigned char *memory, long long n)
{
#if ARCH >= 90
    barrier_wait((mbarrier *)(memory + AT_BARRIERS) + n % STAGES, (unsigned)(n / STAGES) & 1);
#else
    (void)memory;
    (void)n;
    cp_async_wait(STAGES - 2);
    __syncthreads();
#endif
}

/* Loads the thread's part of the tile's x. */
DEVICE void gather(const stream_args *a, const int *columns, int count, real *xs)
{
    UNROLL
    for (int i = 0; i < X_EACH; i++) {
        const int at = (int)threadIdx.x + i * THREADS;
        xs[i] = 0;
        if (at < count * BW) {
            const long long element = (long long)columns[at / BW] * BW + at % BW;
#if RAGGED
            if (element < a->cols)
#endif
                xs[i] = READ_ONLY(a->x + element);
        }
    }
}

DEVICE void keep(const real *xs, real *to)
{
    UNROLL
    for (int i = 0; i < X_EACH; i++)
        if ((int)threadIdx.x + i * THREADS < TILE * BW)
            to[threadIdx.x + i * THREADS] = xs[i];
}

/* partial[block * BH + i] = row i of the block times its part of x. */
DEVICE void multiply(const real *values, const real *x, int count, real *partial)
{
    for (int at = (int)threadIdx.x; at < count * BH; at += THREADS) {
        const int block = at / BH, i = at % BH;
        const real *v = values + block * (BH * BW) + i, *xb = x + block * BW;
        real sum = 0;
        UNROLL
        for (int j = 0; j < BW; j++)
            sum += v[j * BH] * xb[j];
        partial[at] = sum;
    }
}

/* Where the sum of a row's blocks in this tile goes. */
DEVICE void deliver(const stream_args *a, real sum, long long row, int i, bool began_here,
                    bool ends_here, bool share_ends, real *carry)
{
    if (!ends_here)
        carry[i] = sum;
    if (!began_here && (ends_here || share_ends)) {
        a->head[(long long)blockIdx.x * BH + i] = sum;
    } else if (!ends_here && share_ends) {
        a->tail[(long long)blockIdx.x * BH + i] = sum;
    } else if (ends_here && row * BH + i < a->rows) {
        a->y[row * BH + i] = scaled(a->alpha, sum, a->beta, a->y, row * BH + i);
    }
}

/* The thread's row in one pass over a tile's rows, and where its blocks begin and end. The first row
 * is the one that came in from the tile before, the others begin in the tile: rows begin-1 .. end-1,
 * where begin and end are tile_rows[] of the tile and the next. */
typedef struct tile_row {
    long long first, last;
    int row, i; /* block row, or -1: none; scalar row in it */
} tile_row;

DEVICE tile_row fetch_row(const stream_args *a, int row, int i, int end)
{
    tile_row r = {0, 0, row < end ? row : -1, i};
    if (r.row >= 0) {
        r.first = READ_ONLY(a->offsets + r.row);
        r.last = READ_ONLY(a->offsets + r.row + 1);
    }
    return r;
}

#define PLACES (THREADS / LANES)         /* scalar rows of a pass */
#define PLACE ((int)threadIdx.x / LANES) /* the thread's among them */

DEVICE tile_row first_row(const stream_args *a, int begin, int end)
{
    return fetch_row(a, begin - 1 + PLACE / BH, PLACE % BH, end);
}

/* Adds the partials of every row with blocks in the tile, and of empty rows that begin in it. `r`
 * is the thread's row in the first pass, fetched a tile ahead: short tiles need no other. */
DEVICE void add_rows(const stream_args *a, long long tile, int rows_begin, int rows_end, tile_row r,
                     long long share_first, bool share_ends, const real *partial,
                     const real *carry_in, real *carry_out)
{
    const long long start = tile * TILE, end = tile_end(a, tile);
    const long long work = (long long)(rows_end - rows_begin + 1) * (BH * LANES);
    const int lane = (int)threadIdx.x % LANES;
    /* Additions find the rows of later passes: the number of a place would not fit 32 bits where a
     * tile has many empty rows. */
    int row = rows_begin - 1 + PLACE / BH, i = PLACE % BH;
    NO_UNROLL
    for (long long left = work; left > 0; left -= THREADS) {
        if (left < work) {
            row += PLACES / BH;
            i += PLACES % BH;
            if (i >= BH) {
                i -= BH;
                row++;
            }
            r = fetch_row(a, row, i, rows_end);
        }
        const bool here = r.row >= rows_begin || (r.row >= 0 && r.last > start);
        real sum = 0;
        if (here) {
            const int from = r.first > start ? (int)(r.first - start) : 0;
            const int to = r.last < end ? (int)(r.last - start) : (int)(end - start);
            for (int block = from + lane; block < to; block += LANES)
                sum += partial[block * BH + r.i];
        }
        UNROLL
        for (int by = LANES / 2; by > 0; by /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, by, LANES);
        if (here && lane == 0) {
            if (r.first < start && tile > share_first)
                sum += carry_in[r.i];
            deliver(a, sum, r.row, r.i, r.first >= share_first * TILE, r.last <= end, share_ends,
                    carry_out);
        }
    }
}

KERNEL(stream, stream_args, THREADS, LEAST_BLOCKS)
{
    DYNAMIC_SHARED(memory);
    const long long first = share_start(a.tiles, blockIdx.x, gridDim.x);
    const long long count = share_start(a.tiles, blockIdx.x + 1, gridDim.x) - first;
    const policy p = stream_policy();
    real *ring = (real *)memory, *x = (real *)(memory + AT_X);
    real *partials = (real *)(memory + AT_PARTIALS), *carry = (real *)(memory + AT_CARRY);
    const int *columns = (const int *)(memory + AT_COLUMNS);
#if ARCH >= 90
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; stage++)
            barrier_init((mbarrier *)(memory + AT_BARRIERS) + stage, 1);
        barrier_fence();
    }
    __syncthreads();
#endif
    for (int n = 0; n < STAGES - 1; n++) {
        if (n < count)
            request(&a, memory, first + n, n, p);
#if ARCH < 90
        cp_async_commit();
#endif
    }
    real xs[X_EACH];
    /* tile_rows of this tile, the next and the one after. */
    int rows_at = READ_ONLY(a.tile_rows + first), rows_next = READ_ONLY(a.tile_rows + first + 1);
    int rows_after = count > 1 ? READ_ONLY(a.tile_rows + first + 2) : 0;
    tile_row r = first_row(&a, rows_at, rows_next), r_next = r;
    await(memory, 0);
    gather(&a, columns, (int)(tile_end(&a, first) - first * TILE), xs);
    keep(xs, x);
    __syncthreads();
    NO_UNROLL
    for (long long n = 0; n < count; n++) {
        const long long tile = first + n;
        const int stage = (int)(n % STAGES), now = (int)(n & 1), next = now ^ 1;
        const int ahead = (int)((n + 1) % STAGES);
        /* The stage that tile n-1 used is free since the last barrier. */
        if (n + STAGES - 1 < count)
            request(&a, memory, tile + STAGES - 1, (int)((n + STAGES - 1) % STAGES), p);
#if ARCH < 90
        cp_async_commit();
#endif
        const int rows_far = n + 2 < count ? READ_ONLY(a.tile_rows + tile + 3) : 0;
        if (n + 1 < count) {
            r_next = first_row(&a, rows_next, rows_after);
            await(memory, n + 1);
            gather(&a, columns + ahead * TILE,
                   (int)(tile_end(&a, tile + 1) - (tile + 1) * TILE), xs);
        }
        multiply(ring + stage * TILE_VALUES, x + now * (TILE * BW),
                 (int)(tile_end(&a, tile) - tile * TILE), partials + now * (TILE * BH));
        if (n + 1 < count)
            keep(xs, x + next * (TILE * BW));
        __syncthreads();
        add_rows(&a, tile, rows_at, rows_next, r, first, n + 1 == count,
                 partials + now * (TILE * BH), carry + now * BH, carry + next * BH);
        rows_at = rows_next;
        rows_next = rows_after;
        rows_after = rows_far;
        r = r_next;
    }
}

/* Rows cut between shares: one thread per (share, scalar row). A row that begins in share g and
 * goes on has the sum tail[g] + head[g+1] + ... + head of the share that it ends in. */
#define JOIN_THREADS 128

typedef struct stream_join_args {
    const long long *offsets;
    const int *tile_rows;
    const real *head, *tail;
    real *y;
    long long shares, tiles, rows;
    double alpha, beta;
} stream_join_args;

KERNEL(stream_join, stream_join_args, JOIN_THREADS, 1)
{
    const long long mine = (long long)blockIdx.x * JOIN_THREADS + threadIdx.x;
    const unsigned g = (unsigned)(mine / BH), shares = (unsigned)a.shares;
    const int i = (int)(mine % BH);
    if (g + 1 >= shares)
        return;
    const long long begin = share_start(a.tiles, g, shares);
    const long long end = share_start(a.tiles, g + 1, shares);
    const long long row = (long long)a.tile_rows[end] - 1; /* the last that begins in the share */
    if (row < 0 || row * BH + i >= a.rows)
        return;
    const long long first = a.offsets[row], last = a.offsets[row + 1];
    if (first < begin * TILE || last <= end * TILE)
        return;
    real sum = a.tail[(long long)g * BH + i];
    for (unsigned h = g + 1; h < shares && share_start(a.tiles, h, shares) * TILE < last; h++)
        sum += a.head[(long long)h * BH + i];
    a.y[row * BH + i] = scaled(a.alpha, sum, a.beta, a.y, row * BH + i);
}
