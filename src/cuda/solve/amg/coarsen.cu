/* The values of a multigrid level, whose patterns have been made. Blocks are column-major.
 *
 *   HEIGHT, INNER, WIDTH  blocks of C = A B: HEIGHT x INNER times INNER x WIDTH
 *   THREADS               threads per thread block of multiply, a multiple of 32
 *   CHUNK                 blocks of A's row that multiply takes at a time; divides 32
 *   COLUMNS               blocks of C's row that multiply takes at a time
 *   FLAT                  threads per thread block of turn and revive
 *
 * filter comes first where A has weak blocks.
 *
 * multiply: a warp computes a row of C. A lane sums a piece of a block's column, TILE scalars, in
 * registers, over the blocks of A's row in their order, and then goes on to another piece. A table
 * in shared memory says which block of B each pair of a block of A and a block of C needs:
 *
 *              C:  column 3   column 8   column 9        table[q * COLUMNS + c]: the place of C's
 *     A: block 0       0          1          -           column in the row of B that block q of A
 *        block 1       -          0          1           multiplies; -1: B has no such block
 */
#define REAL 8
#include "common.cuh"

enum { SIZE = HEIGHT * WIDTH, LEFT = HEIGHT * INNER, WARP = 32, WARPS = THREADS / WARP };
enum {
    PAIRS = (LEFT + 1) / 2,    /* of a block of A in shared memory */
    PIECES = (HEIGHT + 7) / 8, /* of a column, each a lane's */
    TILE = (HEIGHT + PIECES - 1) / PIECES,
    OWNERS = WIDTH * PIECES, /* pieces of a block of C */
    SPLIT = WARP / CHUNK,    /* lanes that read a row of B's columns */
    BATCH = LEFT <= 9 ? 4 : INNER <= 6 ? 2 : 1, /* blocks of B that a lane loads at a time */
    /* Thread blocks per SM: 80, 100 or 128 registers per thread, the fewest without spills. */
    RESIDENT = LEFT == 9                ? 768 / THREADS
               : LEFT < 9 || LEFT == 36 ? 640 / THREADS
               : LEFT < 36              ? 512 / THREADS
                                        : 1
};

/* Two scalars in one load. */
typedef struct ALIGNED(16) pair {
    real first, second;
} pair;

/* The position of `column` among a row's sorted columns. Where it is missing: of the last smaller
 * one, or 0. */
DEVICE int find_column(const int *columns, int count, int column)
{
    int low = 0;
    while (count > 1) {
        const int half = count / 2;
        if (columns[low + half] <= column)
            low += half;
        count -= half;
    }
    return low;
}

typedef struct multiply_args {
    const long long *a_offsets;
    const int *a_columns;
    const real *a;
    const long long *b_offsets;
    const int *b_columns;
    const real *b;
    const long long *c_offsets;
    const int *c_columns;
    real *c;
    long long rows;
} multiply_args;

/* What a warp has in shared memory. */
typedef struct multiply_memory {
    pair *blocks;      /* of A: a chunk */
    long long *starts; /* the first block of the row of B that each of them multiplies */
    int *table;
    int *columns; /* of C */
} multiply_memory;

/* Copies a chunk of A's row and empties the table. */
DEVICE void begin_chunk(const multiply_args *a, const multiply_memory *m, int lane, long long first,
                        int chunk)
{
    real *blocks = &m->blocks->first;
    for (int t = lane; t < chunk * LEFT; t += WARP)
        blocks[t / LEFT * (2 * PAIRS) + t % LEFT] = READ_ONLY(a->a + first * LEFT + t);
    for (int t = lane; t < chunk * COLUMNS; t += WARP)
        m->table[t] = -1;
}

/* Fills the table, with SPLIT lanes per block of A. Blocks of one row of B have different columns,
 * so that no two lanes write to one place. */
DEVICE void fill_table(const multiply_args *a, const multiply_memory *m, int lane, long long first,
                       int chunk, int width)
{
    const int q = lane / SPLIT;
    if (q >= chunk)
        return;
    const int j = READ_ONLY(a->a_columns + first + q);
    const long long start = READ_ONLY(a->b_offsets + j);
    const int length = (int)(READ_ONLY(a->b_offsets + j + 1) - start);
    if (lane % SPLIT == 0)
        m->starts[q] = start;
    for (int l = lane % SPLIT; l < length; l += SPLIT) {
        const int column = READ_ONLY(a->b_columns + start + l);
        const int at = find_column(m->columns, width, column);
        if (m->columns[at] == column)
            m->table[q * COLUMNS + at] = l;
    }
}

/* Adds a chunk's products to `to`: rows `top` to top + TILE - 1 of column j of block c. `fresh`:
 * `to` has no sums yet. Loads of a batch are in flight together. */
DEVICE void add_products(const multiply_args *a, const multiply_memory *m, int chunk, int c, int j,
                         int top, int fresh, real *to)
{
    real sums[TILE];
    UNROLL
    for (int i = 0; i < TILE; i++)
        sums[i] = fresh || top + i >= HEIGHT ? 0 : to[i];
    NO_UNROLL
    for (int q = 0; q < chunk; q += BATCH) {
        int place[BATCH];
        real right[BATCH][INNER];
        UNROLL
        for (int s = 0; s < BATCH; s++) {
            place[s] = q + s < chunk ? m->table[(q + s) * COLUMNS + c] : -1;
            if (place[s] < 0)
                continue;
            const real *from = a->b + ((m->starts[q + s] + place[s]) * WIDTH + j) * INNER;
            UNROLL
            for (int d = 0; d < INNER; d++)
                right[s][d] = READ_ONLY(from + d);
        }
        UNROLL
        for (int s = 0; s < BATCH; s++) {
            if (place[s] < 0)
                continue;
            const real *left = &m->blocks[(q + s) * PAIRS].first + (PIECES > 1 ? top : 0);
            UNROLL
            for (int d = 0; d < INNER; d++) {
                UNROLL
                for (int i = 0; i < TILE; i++)
                    if (PIECES * TILE == HEIGHT || top + i < HEIGHT)
                        sums[i] += left[d * HEIGHT + i] * right[s][d];
            }
        }
    }
    UNROLL
    for (int i = 0; i < TILE; i++)
        if (PIECES * TILE == HEIGHT || top + i < HEIGHT)
            to[i] = sums[i];
}

KERNEL(multiply, multiply_args, THREADS, RESIDENT)
{
    SHARED(pair, blocks, WARPS *CHUNK *PAIRS);
    SHARED(long long, starts, WARPS *CHUNK);
    SHARED(int, table, WARPS *CHUNK *COLUMNS);
    SHARED(int, columns, WARPS *COLUMNS);
    const int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    const multiply_memory m = {blocks + warp * (CHUNK * PAIRS), starts + warp * CHUNK,
                               table + warp * (CHUNK * COLUMNS), columns + warp * COLUMNS};
    const long long row = (long long)blockIdx.x * WARPS + warp;
    if (row >= a.rows)
        return;
    const long long first = a.c_offsets[row], begin = a.a_offsets[row], end = a.a_offsets[row + 1];
    const int count = (int)(a.c_offsets[row + 1] - first);
    NO_UNROLL
    for (int before = 0; before < count; before += COLUMNS) {
        const int width = count - before < COLUMNS ? count - before : COLUMNS;
        for (int t = lane; t < width; t += WARP)
            m.columns[t] = a.c_columns[first + before + t];
        NO_UNROLL
        for (long long p = begin; p < end; p += CHUNK) {
            const int chunk = end - p < CHUNK ? (int)(end - p) : CHUNK;
            begin_chunk(&a, &m, lane, p, chunk);
            __syncwarp(0xffffffffu);
            fill_table(&a, &m, lane, p, chunk, width);
            __syncwarp(0xffffffffu);
            NO_UNROLL
            for (int u = lane; u < width * OWNERS; u += WARP) {
                const int c = u / OWNERS, j = u % OWNERS % WIDTH, top = u % OWNERS / WIDTH * TILE;
                add_products(&a, &m, chunk, c, j, top, p == begin,
                             a.c + (first + before + c) * SIZE + j * HEIGHT + top);
            }
            __syncwarp(0xffffffffu);
        }
    }
}

/* A without its weak blocks, which are those that F's pattern lacks. They are added to the diagonal
 * block of their row, which F has always. One thread block per row; blocks are HEIGHT x INNER. */
typedef struct filter_args {
    const long long *a_offsets;
    const int *a_columns;
    const real *a;
    const long long *offsets;
    const int *columns;
    real *values;
    const real *modes; /* of scalars: the first one; else NULL */
} filter_args;

/* What a weak entry is multiplied by (tess_amg_filter_values). */
DEVICE real filter_weight(const real *modes, long long row, int column)
{
    const real most = 16, ratio = modes ? modes[column] / modes[row] : 1;
    return fabs(ratio) <= most && fabs(ratio) >= 1 / most ? ratio : 1;
}

KERNEL(filter, filter_args, WARP, 1)
{
    const long long row = blockIdx.x, from = a.a_offsets[row], first = a.offsets[row];
    const int count = (int)(a.a_offsets[row + 1] - from);
    const int kept = (int)(a.offsets[row + 1] - first);
    const int own = find_column(a.columns + first, kept, (int)row);
    for (int t = (int)threadIdx.x; t < kept * LEFT; t += WARP) {
        const int l = t / LEFT;
        if (l == own)
            continue;
        const int at = find_column(a.a_columns + from, count, a.columns[first + l]);
        a.values[first * LEFT + t] = a.a[(from + at) * LEFT + t % LEFT];
    }
    for (int p = (int)threadIdx.x; p < LEFT; p += WARP) {
        real sum = 0;
        for (int k = 0; k < count; k++) {
            const int column = a.a_columns[from + k];
            const int at = find_column(a.columns + first, kept, column);
            if (column == row || a.columns[first + at] != column)
                sum += filter_weight(a.modes, row, column) * a.a[(from + k) * LEFT + p];
        }
        a.values[(first + own) * LEFT + p] = sum;
    }
}

/* P = Q - omega D^-1 (A Q), where P's values are A Q before. One thread block per row, one thread
 * per column of a block. P's blocks are HEIGHT x WIDTH. */
typedef struct smooth_args {
    const long long *offsets;
    const int *columns;
    real *values;
    const long long *q_offsets;
    const int *q_columns;
    const real *q;
    const real *inverse;
    double omega;
} smooth_args;

KERNEL(smooth, smooth_args, WARP, 1)
{
    const long long row = blockIdx.x, first = a.offsets[row], own = a.q_offsets[row];
    const int count = (int)(a.offsets[row + 1] - first);
    const int group = a.q_offsets[row + 1] > own ? a.q_columns[own] : -1;
    const real *inverse = a.inverse + row * (HEIGHT * HEIGHT);
    for (int t = (int)threadIdx.x; t < count * WIDTH; t += WARP) {
        const int l = t / WIDTH, j = t % WIDTH;
        real *column = a.values + (first + l) * SIZE + j * HEIGHT;
        const real *tentative = a.columns[first + l] == group ? a.q + own * SIZE + j * HEIGHT : 0;
        real x[HEIGHT];
        UNROLL
        for (int i = 0; i < HEIGHT; i++)
            x[i] = column[i];
        UNROLL
        for (int i = 0; i < HEIGHT; i++) {
            real sum = 0;
            UNROLL
            for (int c = 0; c < HEIGHT; c++)
                sum += inverse[c * HEIGHT + i] * x[c];
            column[i] = -a.omega * sum + (tentative ? tentative[i] : 0);
        }
    }
}

/* R = P': block `from[at]` of P transposed is block `at` of R. P's blocks are HEIGHT x WIDTH. */
typedef struct turn_args {
    const long long *from;
    const real *p;
    real *r;
    long long blocks;
} turn_args;

KERNEL(turn, turn_args, FLAT, 1)
{
    const long long t = (long long)blockIdx.x * FLAT + threadIdx.x;
    if (t >= a.blocks * SIZE)
        return;
    const int at = (int)(t % SIZE);
    a.r[t] = a.p[a.from[t / SIZE] * SIZE + at % WIDTH * HEIGHT + at / WIDTH];
}

/* Gives rows of the coarse matrix that are 0 but for rounding a diagonal, as tess_amg_revive does.
 * One thread per block row; blocks are WIDTH x WIDTH, those of A INNER x INNER, those of Q
 * INNER x WIDTH. */
typedef struct revive_args {
    const long long *offsets;
    const int *columns;
    real *values;
    const unsigned char *dead;
    const long long *r_offsets; /* R's rows have the block rows of their groups, and others */
    const int *r_columns;
    const long long *q_offsets;
    const int *q_columns;
    const real *q;
    const long long *a_offsets;
    const int *a_columns;
    const real *a;
    long long rows;
} revive_args;

/* The sum of |A_ii| q_i^2 for mode j of a group. */
DEVICE real size_of_mode(const revive_args *a, long long group, int j)
{
    real size = 0;
    for (long long m = a->r_offsets[group]; m < a->r_offsets[group + 1]; m++) {
        const int row = a->r_columns[m];
        const long long own = a->q_offsets[row], first = a->a_offsets[row];
        const int count = (int)(a->a_offsets[row + 1] - first);
        if (a->q_offsets[row + 1] == own || a->q_columns[own] != group || count == 0)
            continue;
        const long long at = first + find_column(a->a_columns + first, count, row);
        const real *q = a->q + own * (INNER * WIDTH) + j * INNER;
        const real *block = a->a + at * (INNER * INNER);
        for (int i = 0; i < INNER && a->a_columns[at] == row; i++)
            size += fabs(block[i * (INNER + 1)]) * q[i] * q[i];
    }
    return size;
}

/* Whether row j of a block is made of rounding errors of numbers of this size. */
DEVICE int is_rounding(const real *block, int j, real size)
{
    real largest = 0;
    for (int c = 0; c < WIDTH; c++)
        largest = fmax(largest, fabs(block[c * WIDTH + j]));
    return largest <= 64 * 2.220446049250313e-16 * size;
}

KERNEL(revive, revive_args, FLAT, 1)
{
    const long long row = (long long)blockIdx.x * FLAT + threadIdx.x;
    if (row >= a.rows)
        return;
    const long long first = a.offsets[row];
    const int count = (int)(a.offsets[row + 1] - first), alone = count == 1;
    const long long at = first + (count > 0 ? find_column(a.columns + first, count, (int)row) : 0);
    if (count == 0 || a.columns[at] != row)
        return;
    real *block = a.values + at * (WIDTH * WIDTH), most = 0, size = 0;
    unsigned gone = 0; /* a bit per mode, of which there are at most 32 */
    for (int j = 0; j < WIDTH; j++) {
        const real own = alone ? size_of_mode(&a, row, j) : 0;
        if (a.dead[row * WIDTH + j] || (alone && is_rounding(block, j, own)))
            gone |= 1u << j;
        else
            most = fmax(most, fabs(block[j * (WIDTH + 1)]));
        size = fmax(size, own);
    }
    for (int j = 0; j < WIDTH; j++)
        if (gone >> j & 1)
            block[j * (WIDTH + 1)] = most > 0 ? most : size > 0 ? size : 1;
}
