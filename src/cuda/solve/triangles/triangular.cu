/* One sweep of a triangular solve by stages (solve/pc/triangles/staged.h): a thread per scalar row.
 *
 *   down:  out_p = in_row(p) - sum of L_pc out_c              in: r by rows
 *   up:    out_p = D_p^-1 in_p - sum of U_pc out_c, z_row(p) = out_p    in: L's result by places
 *
 * Rows of a stage are cut into tiles of at most ROWS block rows. In a tile the blocks k of all rows
 * lie together, column by column, so that neighbouring threads read neighbouring values:
 *
 *     values of tile t, block k, column j:  [r0 i0, r0 i1, ..., r1 i0, ...]     lanes = rows * BH
 *
 * Rows of a tile do not wait for each other. Two ways to run a range of tiles:
 *
 *   (plain)   One launch per stage, one thread block per tile. Earlier launches have computed what
 *             rows need.
 *   _waiting  One launch for many stages. Thread blocks draw tiles in the order of the sweep, so
 *             that what a tile waits for is already being computed. They poll the values that they
 *             need until none is absent; before the sweep all of `out` is absent. The order of a
 *             row's sum is fixed.
 *
 * A row is read in steps of DEPTH blocks; the first step may have fewer. The last blocks, which the
 * row waits for longest, are then one whole step, and nothing has to be read after them. Waiting
 * rows load the next step's blocks while they wait.
 *
 *   REAL, HELD  bytes of a real of the vectors and of the factors; COMPLEX: scalar.cuh
 *   BH          height and width of a block        ROWS     of a tile, at most
 *   THREADS     threads per thread block: at least ROWS * BH, or fewer than BH (large blocks)
 *   DEPTH       blocks of a step                   PANEL    columns of a block of a step
 *   BLOCKS      thread blocks of the plain entries that an SM must be able to hold
 *   AHEAD       1: plain rows load the next step ahead too
 */
#include "common.cuh"

enum { PANELS = (BH + PANEL - 1) / PANEL };

typedef struct triangular_args {
    const int *tiles;   /* 4 per tile: its first block (64 bits), its first position, its rows */
    const int *places;  /* 2 per position: blocks of the row, the matrix's block row */
    const int *columns; /* places */
    const held_scalar *values;
    const held_scalar *inverse; /* up: of the diagonal blocks, in tiles as the values */
    const scalar *in;
    scalar *out;       /* by places */
    scalar *z;         /* up: by rows */
    int *ticket;       /* waiting: -1 before */
    long long tile;    /* the first, */
    long long end;     /* and the one after the last */
    long long rows;    /* block rows */
    long long scalars; /* rows of the matrix */
} triangular_args;

/* One scalar row of a tile. */
typedef struct triangular_row {
    const int *columns;
    const held_scalar *values;
    int rows, lanes; /* of the tile */
    int first;       /* block of the first step: 0, or negative */
} triangular_row;

/* Loads the blocks of one step. The first step may begin before the row's first block. */
DEVICE void load_step(const triangular_row *row, int step, int *places, held_scalar *v, policy p)
{
    const int k = row->first + step / PANELS * DEPTH, column = step % PANELS * PANEL;
    const int *columns = row->columns + (long long)k * row->rows;
    const held_scalar *values = row->values + ((long long)k * BH + column) * row->lanes;
    UNROLL for (int d = 0; d < DEPTH; d++)
    {
        places[d] = -1;
        if (k + d >= 0)
            stream_index1(columns + d * row->rows, &places[d], p);
        UNROLL for (int j = 0; j < PANEL; j++)
        {
            v[d * PANEL + j] = ZERO_HELD;
            if (k + d >= 0 && (BH % PANEL == 0 || column + j < BH))
                stream_held_scalar(values + (d * BH + j) * row->lanes, &v[d * PANEL + j], p);
        }
    }
}

/* Loads the values of `out` that a step needs; `waiting`: polls until all are there. */
DEVICE void fetch(const scalar *out, const int *places, int column, scalar *x, const int waiting)
{
    int absent;
    do {
        absent = 0;
        UNROLL for (int d = 0; d < DEPTH; d++)
        {
            const scalar *from = out + (long long)places[d] * BH + column;
            UNROLL for (int j = 0; j < PANEL; j++)
            {
                scalar value = ZERO;
                if (places[d] >= 0 && (BH % PANEL == 0 || column + j < BH))
                    value = waiting ? arriving_scalar(from + j) : from[j];
                x[d * PANEL + j] = value;
                absent |= scalar_is_absent(value);
            }
        }
        if (waiting && absent)
            LOOK_AGAIN();
    } while (waiting && absent);
}

/* `sum` minus the row's blocks times `out`. */
DEVICE scalar subtract_blocks(const triangular_row *row, int steps, const scalar *out, scalar sum,
                              const int waiting)
{
    const policy p = stream_policy();
    int next_places[DEPTH];
    held_scalar next[DEPTH * PANEL];
    if (steps > 0)
        load_step(row, 0, next_places, next, p);
    NO_UNROLL for (int step = 0; step < steps; step++)
    {
        int places[DEPTH];
        held_scalar v[DEPTH * PANEL];
        scalar x[DEPTH * PANEL];
        UNROLL for (int d = 0; d < DEPTH; d++) places[d] = next_places[d];
        UNROLL for (int d = 0; d < DEPTH * PANEL; d++) v[d] = next[d];
        if ((waiting || AHEAD) && step + 1 < steps)
            load_step(row, step + 1, next_places, next, p);
        fetch(out, places, step % PANELS * PANEL, x, waiting);
        UNROLL for (int d = 0; d < DEPTH * PANEL; d++) MULTIPLY_SUBTRACT(sum, SCALAR_OF(v[d], 0), x[d]);
        if (!(waiting || AHEAD) && step + 1 < steps)
            load_step(row, step + 1, next_places, next, p);
    }
    return sum;
}

/* Row i of D^-1 y. */
DEVICE scalar scaled_start(const held_scalar *inverse, int lanes, const scalar *in)
{
    const policy p = stream_policy();
    scalar sum = ZERO;
    UNROLL_4 for (int j = 0; j < BH; j++)
    {
        held_scalar d;
        stream_held_scalar(inverse + (long long)j * lanes, &d, p);
        MULTIPLY_ADD(sum, SCALAR_OF(d, 0), read_scalar(in + j));
    }
    return sum;
}

DEVICE void solve_lane(const triangular_args *a, long long block, int first, int rows, int lane,
                       const int up, const int waiting)
{
    const int r = lane / BH, i = lane - r * BH, position = first + r;
    const int place = up ? (int)a->rows - 1 - position : position;
    int info[2]; /* blocks, block row */
    stream_index2(a->places + 2 * (long long)position, info, stream_policy());
    const long long at = (long long)info[1] * BH + i;
    const int chunks = (info[0] + DEPTH - 1) / DEPTH;
    const triangular_row row = {a->columns + block + r, a->values + block * (BH * BH) + lane, rows,
                                rows * BH, info[0] - chunks * DEPTH};
    scalar sum = ZERO;
    if (up)
        sum = scaled_start(a->inverse + (long long)first * BH * BH + lane, rows * BH,
                           a->in + (long long)place * BH);
    else if (at < a->scalars)
        sum = read_scalar(a->in + at);
    sum = subtract_blocks(&row, chunks * PANELS, a->out, sum, waiting);
    hand_scalar_on(a->out + (long long)place * BH + i, sum); /* a later launch may wait for it */
    if (up && at < a->scalars)
        a->z[at] = sum;
}

DEVICE void solve_tile(const triangular_args *a, long long tile, const int up, const int waiting)
{
    int head[4];
    stream_index4(a->tiles + 4 * tile, head, stream_policy());
    const long long block = (long long)(unsigned)head[0] | (long long)head[1] << 32;
    const int first = head[2], rows = head[3];
#if BH > THREADS
    NO_UNROLL for (int lane = threadIdx.x; lane < rows * BH; lane += THREADS)
        solve_lane(a, block, first, rows, lane, up, waiting);
#else
    if (threadIdx.x < rows * BH)
        solve_lane(a, block, first, rows, threadIdx.x, up, waiting);
#endif
}

DEVICE void solve_drawn_tiles(const triangular_args *a, const int up)
{
    SHARED(int, drawn, 1);
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0)
            drawn[0] = atomicAdd(a->ticket, 1) + 1;
        __syncthreads();
        const long long tile = a->tile + drawn[0];
        if (tile >= a->end)
            return;
        solve_tile(a, tile, up, 1);
    }
}

KERNEL(triangular_down, triangular_args, THREADS, BLOCKS)
{
    solve_tile(&a, a.tile + blockIdx.x, 0, 0);
}

KERNEL(triangular_up, triangular_args, THREADS, BLOCKS)
{
    solve_tile(&a, a.tile + blockIdx.x, 1, 0);
}

KERNEL(triangular_down_waiting, triangular_args, THREADS, 1)
{
    solve_drawn_tiles(&a, 0);
}

KERNEL(triangular_up_waiting, triangular_args, THREADS, 1)
{
    solve_drawn_tiles(&a, 1);
}
