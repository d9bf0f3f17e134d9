/* The values of a multigrid level, whose patterns have been made. Blocks are column-major.
 *
 *   HEIGHT, INNER, WIDTH  blocks of C = A B: HEIGHT x INNER times INNER x WIDTH
 *   THREADS               threads a thread block of multiply
 *   FLAT                  threads a thread block of turn and revive
 *
 * multiply: a thread block computes a row of C. It takes the blocks of A's row one after the other.
 * Blocks of one row of B have different columns, so their products go to different blocks of C. Every
 * scalar of C is thereby summed in one order.
 */
#define REAL 8
#include "common.cuh"

enum { SIZE = HEIGHT * WIDTH, WARP = 32 };

/* The position of `column` among a row's sorted columns; the last one not larger where it is not
 * among them. */
DEVICE int find_column(const int *columns, int count, int column)
{
    int low = 0;
    while (count > 1) {
        const int half = count / 2;
        if (READ_ONLY(columns + low + half) <= column)
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
    long long room; /* scalars of shared memory: rows of C up to that long are summed there */
} multiply_args;

/* Adds one block of A times a row of B. */
DEVICE void add_products(const multiply_args *a, long long p, const int *columns, int count,
                         real *sums)
{
    const int j = READ_ONLY(a->a_columns + p);
    const long long first = READ_ONLY(a->b_offsets + j);
    const int scalars = (int)(READ_ONLY(a->b_offsets + j + 1) - first) * SIZE;
    const real *block = a->a + p * (HEIGHT * INNER);
    NO_UNROLL
    for (int t = (int)threadIdx.x; t < scalars; t += THREADS) {
        const int l = t / SIZE, at = t % SIZE;
        const real *left = block + at % HEIGHT;
        const real *right = a->b + ((first + l) * WIDTH + at / HEIGHT) * INNER;
        real *to = sums + find_column(columns, count, READ_ONLY(a->b_columns + first + l)) * SIZE + at;
        real sum = *to;
        UNROLL
        for (int c = 0; c < INNER; c++)
            sum += READ_ONLY(left + c * HEIGHT) * READ_ONLY(right + c);
        *to = sum;
    }
}

KERNEL(multiply, multiply_args, THREADS, 1)
{
    DYNAMIC_SHARED(memory);
    const long long row = blockIdx.x, first = a.c_offsets[row];
    const int count = (int)(a.c_offsets[row + 1] - first), scalars = count * SIZE;
    const int inside = scalars <= a.room;
    real *values = a.c + first * SIZE, *sums = inside ? (real *)memory : values;
    for (int t = (int)threadIdx.x; t < scalars; t += THREADS)
        sums[t] = 0;
    __syncthreads();
    NO_UNROLL
    for (long long p = a.a_offsets[row]; p < a.a_offsets[row + 1]; p++) {
        add_products(&a, p, a.c_columns + first, count, sums);
        __syncthreads();
    }
    for (int t = (int)threadIdx.x; inside && t < scalars; t += THREADS)
        values[t] = sums[t];
}

/* P = Q - omega D^-1 (A Q) for P's values A Q: a thread block a row, a thread a column of a block.
 * HEIGHT x WIDTH are P's blocks. */
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

/* R = P': block `from[at]` of P transposed is block `at` of R. HEIGHT x WIDTH are P's blocks. */
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

/* Gives dead rows of the coarse matrix a diagonal: the largest of their block, or 1. A thread a block
 * row; blocks are WIDTH x WIDTH. */
typedef struct revive_args {
    const long long *offsets;
    const int *columns;
    real *values;
    const unsigned char *dead;
    long long rows;
} revive_args;

KERNEL(revive, revive_args, FLAT, 1)
{
    const long long row = (long long)blockIdx.x * FLAT + threadIdx.x;
    if (row >= a.rows)
        return;
    const long long first = a.offsets[row];
    const int count = (int)(a.offsets[row + 1] - first);
    const long long at = first + (count > 0 ? find_column(a.columns + first, count, (int)row) : 0);
    if (count == 0 || a.columns[at] != row)
        return;
    real *block = a.values + at * (WIDTH * WIDTH), most = 0;
    for (int i = 0; i < WIDTH; i++)
        most = fmax(most, fabs(block[i * (WIDTH + 1)]));
    for (int i = 0; i < WIDTH; i++)
        if (a.dead[row * WIDTH + i])
            block[i * (WIDTH + 1)] = most > 0 ? most : 1;
}
