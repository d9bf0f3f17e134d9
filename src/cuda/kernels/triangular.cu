/* One sweep of a triangular solve, stage by stage (solve/staged.h): a thread a scalar row.
 *
 *   down:  out_p = in_row(p) - sum of L_pc out_c              in: r by rows
 *   up:    out_p = D_p^-1 in_p - sum of U_pc out_c, z_row(p) = out_p    in: L's result by places
 *
 * Rows of a stage are cut in tiles of at most ROWS block rows; in a tile, block k of all rows lies
 * together, column by column, so that neighbouring threads read neighbouring values:
 *
 *     values of tile t, block k, column j:  [r0 i0, r0 i1, ..., r1 i0, ...]     lanes = rows * BH
 *
 * Rows of a tile do not wait for each other. Two ways to run a range of tiles:
 *
 *   (plain)   a stage a launch, a tile a thread block: what a row needs is there.
 *   _waiting  many stages a launch. Thread blocks draw tiles in the order of the sweep, so that
 *             what a tile waits for is already being computed, and look at the values it needs
 * until they are there. `out` is all absent before; the order of a row's sum is fixed.
 *
 *   REAL, HELD  bytes of a scalar of the vectors and of the factors
 *   BH          height and width of a block        ROWS     of a tile, at most
 *   THREADS     a block: at least ROWS * BH where BH is not larger than that
 *   DEPTH       blocks in flight                   PANEL    columns of a block in flight
 *   BLOCKS      thread blocks of the plain entries that an SM must be able to hold
 */
#include "common.cuh"

typedef struct triangular_args {
    const long long *tile_offsets; /* a tile's first block */
    const int *tile_first;         /* its first position; one more than tiles */
    const int *lengths;            /* blocks of a row, by position */
    const int *columns;            /* places */
    const held *values;
    const held *inverse; /* up: of the diagonal blocks, in tiles as the values */
    const int *rows;     /* place to block row */
    const real *in;
    real *out;         /* by places */
    real *z;           /* up: by rows */
    int *ticket;       /* waiting: -1 before */
    long long tile;    /* the first, */
    long long end;     /* and the one after the last */
    long long places;  /* block rows */
    long long scalars; /* rows of the matrix */
} triangular_args;

/* x of DEPTH blocks, PANEL columns from `column` of each. */
DEVICE void fetch(const real *out, const int *places, int column, real *x, const int waiting)
{
    int absent;
    do {
        absent = 0;
        UNROLL for (int d = 0; d < DEPTH; d++)
        {
            const real *from = out + (long long)places[d] * BH + column;
            UNROLL for (int j = 0; j < PANEL; j++)
            {
                real value = 0;
                if (places[d] >= 0 && (BH % PANEL == 0 || column + j < BH))
                    value = waiting ? arriving_load(from + j) : from[j];
                x[d * PANEL + j] = value;
                absent |= is_absent(value);
            }
        }
        if (waiting && absent)
            LOOK_AGAIN();
    } while (waiting && absent);
}

/* What a row starts from: its part of r, or of D^-1 y. */
DEVICE real start(const triangular_args *a, int first, int lanes, int lane, int place, int i,
                  const int up)
{
    if (!up) {
        const long long scalar = (long long)READ_ONLY(a->rows + place) * BH + i;
        return scalar < a->scalars ? READ_ONLY(a->in + scalar) : 0;
    }
    const held *inverse = a->inverse + (long long)first * BH * BH + lane;
    const real *in = a->in + (long long)place * BH;
    const policy p = stream_policy();
    real sum = 0;
    UNROLL_4 for (int j = 0; j < BH; j++)
    {
        held d;
        stream_held1(inverse + (long long)j * lanes, &d, p);
        sum += (real)d * READ_ONLY(in + j);
    }
    return sum;
}

DEVICE void solve_lane(const triangular_args *a, long long tile, int first, int rows, int lane,
                       const int up, const int waiting)
{
    const int r = lane / BH, i = lane - r * BH, lanes = rows * BH;
    const int position = first + r, place = up ? (int)a->places - 1 - position : position;
    const int length = READ_ONLY(a->lengths + position);
    const long long at = READ_ONLY(a->tile_offsets + tile);
    const int *columns = a->columns + at + r;
    const held *values = a->values + at * (BH * BH) + lane;
    const policy p = stream_policy();
    real sum = start(a, first, lanes, lane, place, i, up);
    NO_UNROLL for (int k = 0; k < length; k += DEPTH)
    {
        int places[DEPTH];
        UNROLL for (int d = 0; d < DEPTH; d++)
        {
            places[d] = -1;
            if (k + d < length)
                stream_index1(columns + d * rows, &places[d], p);
        }
        NO_UNROLL for (int column = 0; column < BH; column += PANEL)
        {
            held v[DEPTH * PANEL];
            real x[DEPTH * PANEL];
            UNROLL for (int d = 0; d < DEPTH; d++)
            {
                UNROLL for (int j = 0; j < PANEL; j++)
                {
                    v[d * PANEL + j] = 0;
                    if (places[d] >= 0 && (BH % PANEL == 0 || column + j < BH))
                        stream_held1(values + (d * BH + column + j) * lanes, &v[d * PANEL + j], p);
                }
            }
            fetch(a->out, places, column, x, waiting);
            UNROLL for (int d = 0; d < DEPTH * PANEL; d++) sum -= (real)v[d] * x[d];
        }
        columns += DEPTH * rows;
        values += DEPTH * BH * lanes;
    }
    const long long out = (long long)place * BH + i;
    if (waiting)
        hand_on(a->out + out, sum);
    else
        a->out[out] = sum;
    if (up) {
        const long long scalar = (long long)READ_ONLY(a->rows + place) * BH + i;
        if (scalar < a->scalars)
            a->z[scalar] = sum;
    }
}

DEVICE void solve_tile(const triangular_args *a, long long tile, const int up, const int waiting)
{
    const int first = READ_ONLY(a->tile_first + tile);
    const int rows = READ_ONLY(a->tile_first + tile + 1) - first;
#if BH > THREADS
    NO_UNROLL for (int lane = threadIdx.x; lane < rows * BH; lane += THREADS)
        solve_lane(a, tile, first, rows, lane, up, waiting);
#else
    if (threadIdx.x < rows * BH)
        solve_lane(a, tile, first, rows, threadIdx.x, up, waiting);
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
