/* y = alpha A x + beta y on sliced storage in tiles (src/format/sliced.h): for matrices whose
 * columns are scattered over an x that the cache cannot hold.
 *
 * A thread block has a chunk of rows, whose sums it keeps in shared memory while it sweeps over the
 * panels of columns. Chunks have equal work, so the thread blocks that run at the same time are in
 * about the same panel, whose part of x stays in L2; nothing but speed depends on that. y is
 * written once, however many panels there are.
 *
 *   HEIGHT, BH, BW, XVEC, RAGGED   as in sliced.cu; one thread a scalar row, single values
 *   TEAMS     slices at a time: a thread keeps its lane from slice to slice
 *   DEPTH     blocks in flight
 *   AHEAD     what is fetched while the blocks before it are multiplied: 1 columns, 2 values too
 *   PER_SM    thread blocks an SM is to hold
 *
 * sliced_sum then adds the segments of rows that were cut.
 */
#include "common.cuh"

#define VEC 1
#define GROUP 1
#define PER_ROW 1
#define WIDE 0
#define DOT 0
#include "sliced_row.cuh"

#define THREADS (TEAMS * LANES)
#define STEP (BW * LANES) /* from a block's values to the next block's */

/* Words of lines (src/format/sliced.h). */
#define WORD_BITS 24
#define WORD_ROW 0xffffffu

typedef struct sliced_tiles_args {
    const int *offsets; /* from the chunk's first group */
    const unsigned *words;
    const int *slot_list;
    const int *columns;
    const real *values;
    const real *x;
    real *y;
    real *slots;
    const int *chunk_row, *chunk_slot, *tile_slice;
    const long long *chunk_group;
    long long panels, rows, cols;
    double alpha, beta;
} sliced_tiles_args;

/* Where the thread block looks ahead: team 0's slice, the tile and its end. */
typedef struct cursor {
    int slice, end, tile;
} cursor;

DEVICE int tile_end(const sliced_tiles_args *a, int tile)
{
    return READ_ONLY(a->tile_slice + (long long)blockIdx.x * a->panels + tile + 1);
}

DEVICE void step_on(const sliced_tiles_args *a, cursor *at)
{
    at->slice += TEAMS;
    while (at->slice >= at->end && at->tile < (int)a->panels) {
        at->slice = at->end;
        if (++at->tile < (int)a->panels)
            at->end = tile_end(a, at->tile);
    }
}

/* What a thread knows of a line before it works on it; word 0: nothing to do. */
typedef struct ahead {
    unsigned word;
    int offset;
} ahead;

DEVICE ahead look(const sliced_tiles_args *a, const cursor *at, policy p)
{
    const int slice = at->slice + (int)(threadIdx.x / LANES);
    ahead line = {0, 0};
    if (slice < at->end) {
        stream_index1((const int *)a->words + slice * HEIGHT + (int)(threadIdx.x % LANES / BH),
                      (int *)&line.word, p);
        line.offset = READ_ONLY(a->offsets + slice);
    }
    return line;
}

DEVICE int length_of(ahead line)
{
    return (int)(line.word >> WORD_BITS);
}

DEVICE void load_next(const int *columns, int offset, int left, int *next, policy p)
{
    columns += (long long)offset * HEIGHT;
    UNROLL
    for (int u = 0; u < DEPTH; u++)
        if (u < left)
            stream_index1(columns + u * HEIGHT, &next[u], p);
}

DEVICE void load_values(const real *values, int offset, int left, real v[DEPTH][BW], policy p)
{
    values += (long long)offset * STEP;
    UNROLL
    for (int u = 0; u < DEPTH; u++)
        if (u < left)
            UNROLL
            for (int j = 0; j < BW; j++)
                stream_load1(values + (u * BW + j) * LANES, &v[u][j], p);
}

/* Adds the line's sum to its row's, or puts it into its slot. */
DEVICE void put(const sliced_tiles_args *a, real *sums, int rows, unsigned word, real sum)
{
    const int row = (int)(word & WORD_ROW), i = (int)(threadIdx.x % LANES % BH);
    if (row < rows) {
        if (word != 0)
            sums[row * BH + i] += sum;
    } else {
        const int slot = a->slot_list[a->chunk_slot[blockIdx.x] + row - rows];
        a->slots[(long long)slot * BH + i] = sum;
    }
}

/* All tiles of the chunk. The columns (and values) of the blocks to come are on their way while
 * those before are multiplied, also from tile to tile. */
DEVICE void sweep(const sliced_tiles_args *a, real *sums, bool vectors)
{
    const policy p = stream_policy(), keep = keep_policy();
    const long long group = a->chunk_group[blockIdx.x];
    const real *values = a->values + group * STEP + threadIdx.x % LANES;
    const int *columns = a->columns + group * HEIGHT + threadIdx.x % LANES / BH;
    const int rows = a->chunk_row[blockIdx.x + 1] - a->chunk_row[blockIdx.x];
    const int first = tile_end(a, -1);
    cursor at = {first - TEAMS, tile_end(a, 0), 0};
    step_on(a, &at);
    int tile = at.tile, tile_last = at.end; /* of the line in work */
    int slice = at.slice;
    ahead one = look(a, &at, p);
    step_on(a, &at);
    ahead two = look(a, &at, p);
    int next[DEPTH];
    real v[DEPTH][BW];
    load_next(columns, one.offset, length_of(one), next, p);
#if AHEAD > 1
    load_values(values, one.offset, length_of(one), v, p);
#endif
    NO_UNROLL
    while (tile < (int)a->panels) {
        const unsigned word = one.word;
        int left = length_of(one), offset = one.offset;
        real sum = 0;
        one = two;
        step_on(a, &at);
        two = look(a, &at, p);
        do {
            real xs[DEPTH][BW];
#if AHEAD > 1
            real coming[DEPTH][BW];
#else
            load_values(values, offset, left, v, p);
#endif
            UNROLL
            for (int u = 0; u < DEPTH; u++)
                if (u < left)
                    load_x_block(a->x, a->cols, next[u], vectors, xs[u], keep);
            /* Then the rest of this line, or the next one. */
            const int more = left > DEPTH ? left - DEPTH : length_of(one);
            offset = left > DEPTH ? offset + DEPTH : one.offset;
            load_next(columns, offset, more, next, p);
#if AHEAD > 1
            load_values(values, offset, more, coming, p);
#endif
            UNROLL
            for (int u = 0; u < DEPTH; u++)
                if (u < left)
                    UNROLL
                    for (int j = 0; j < BW; j++)
                        sum += v[u][j] * xs[u][j];
#if AHEAD > 1
            UNROLL
            for (int u = 0; u < DEPTH; u++)
                UNROLL
                for (int j = 0; j < BW; j++)
                    v[u][j] = coming[u][j];
#endif
            left -= DEPTH;
        } while (left > 0);
        put(a, sums, rows, word, sum);
        slice += TEAMS;
        if (slice >= tile_last) { /* the next tile: other threads get the rows */
            __syncthreads();
            slice = tile_last;
            while (++tile < (int)a->panels && (tile_last = tile_end(a, tile)) == slice)
                ;
        }
    }
}

KERNEL(sliced_tiles, sliced_tiles_args, THREADS, PER_SM)
{
    DYNAMIC_SHARED(memory);
    real *sums = (real *)memory;
    const int first_row = a.chunk_row[blockIdx.x];
    const int scalars = (a.chunk_row[blockIdx.x + 1] - first_row) * BH;
    for (int i = (int)threadIdx.x; i < scalars; i += THREADS)
        sums[i] = 0;
    __syncthreads();
    if (XVEC == 1 || (unsigned long long)a.x % (XVEC * REAL) == 0)
        sweep(&a, sums, true);
    else
        sweep(&a, sums, false);
    for (int i = (int)threadIdx.x; i < scalars; i += THREADS) {
        const long long row = (long long)first_row * BH + i;
        if (row < a.rows)
            a.y[row] = scaled(a.alpha, sums[i], a.beta, a.y, row);
    }
}

#include "sliced_sum.cuh"
