/* y = alpha A x + beta y on swept storage (src/format/swept.h): for matrices whose columns are
 * scattered over an x that the cache cannot hold.
 *
 * A warp has a chunk of lines. It keeps their sums in shared memory while it walks over their
 * blocks by rising column, one block per lane. All warps walk at about the same speed, so that the
 * part of x that they need at a time is in L2, and is read from memory once per round of thread
 * blocks. Only the speed depends on that: warps do not wait for each other. Every load is issued
 * steps ahead: the words first, which x needs, then values and x.
 *
 *   BH, BW, XVEC, RAGGED   as in sliced.cu
 *   WARPS    of a thread block        PER_SM   thread blocks that an SM is to hold
 *   AHEAD    steps of values in flight
 *   GATHER   steps of x in flight
 *   ASYNC    x of a block, a multiple of 8 bytes, is copied to shared memory, in the pieces of 16
 *            bytes that it lies in. A copy under way takes no more room than that, but a load
 *            takes a whole cache line of L1. x must be aligned to 16 bytes, and not RAGGED.
 *
 * Afterwards sliced_sum adds the segments of cut rows.
 */
#include "common.cuh"
#include "gather.cuh"

#define DOT 0

/* src/format/swept.h */
#define LANES 32
#define LINE_BITS 10
#define NO_LINE ((1u << LINE_BITS) - 1)

#define BLOCK (BH * BW)
#define STEP (LANES * BLOCK)
#if REAL == 8
#define PIECE 2 /* scalars of 16 bytes */
#else
#define PIECE 4
#endif
#define WHOLE (BLOCK / PIECE * PIECE)
#define load_piece PASTE(stream_load, PIECE)

/* Sums are read and written 16 bytes at a time where those of a line are a multiple of 16 bytes. */
#if BH % PIECE == 0
#define SUMS PIECE
#else
#define SUMS 1
#endif
typedef struct ALIGNED(SUMS * REAL) sums_piece {
    real of[SUMS];
} sums_piece;
typedef struct ALIGNED(16) x_piece {
    real of[PIECE];
} x_piece;

/* The pieces that x of a block lies in, and the scalars by which x lies later in them if the block
 * begins in the middle of a piece. */
#define X_PIECES ((BW * REAL + 8) / 16)
#define X_SHIFT (BW * REAL % 16 / REAL)
#define X_ROOM (GATHER * X_PIECES * LANES * PIECE) /* scalars per warp */

#define KNOWN (2 * (AHEAD > GATHER ? AHEAD : GATHER)) /* steps whose words are loaded */

typedef struct swept_args {
    const int *chunk_line;
    const long long *first_step;
    const unsigned *words;
    const real *values;
    const real *x;
    real *y;
    real *slots;
    long long chunks, panels, line_most, block_rows, rows, cols;
    double alpha, beta;
} swept_args;

DEVICE void load_values(const real *step, real *v, policy p)
{
    const int lane = (int)(threadIdx.x % LANES);
    UNROLL
    for (int e = 0; e < WHOLE; e += PIECE)
        load_piece(step + e * LANES + lane * PIECE, v + e, p);
    UNROLL
    for (int e = WHOLE; e < BLOCK; e++)
        stream_load1(step + e * LANES + lane, v + e, p);
}

/* Adds the lane's block to the sums of its line. */
DEVICE void add_block(real *sums, unsigned word, const real *v, const real *xs)
{
    const unsigned line = word & NO_LINE;
    if (line == NO_LINE)
        return;
    sums_piece *const own = (sums_piece *)(sums + line * BH), sum[BH / SUMS];
    real part[BH];
    UNROLL
    for (int i = 0; i < BH / SUMS; i++)
        sum[i] = own[i];
    UNROLL
    for (int e = 0; e < BLOCK; e++)
        part[e % BH] = e < BH ? v[e] * xs[0] : part[e % BH] + v[e] * xs[e / BH];
    UNROLL
    for (int i = 0; i < BH; i++)
        sum[i / SUMS].of[i % SUMS] += part[i];
    UNROLL
    for (int i = 0; i < BH / SUMS; i++)
        own[i] = sum[i];
}

/* The steps of x in flight: in registers, or, `copied`, in the lane's pieces of shared memory. */
typedef struct window {
    const real *x; /* of the panel */
    long long cols;
    real xs[GATHER][BW];
    real *copies;
    bool vectors, copied;
} window;

#if ASYNC
/* The last piece of the last block column may hang over the end of x. */
DEVICE void copy_x(const window *w, int slot, unsigned column)
{
    const long long first = (long long)column * BW - (column & 1) * X_SHIFT;
    real *to = w->copies + slot * (X_PIECES * LANES * PIECE);
    UNROLL
    for (int i = 0; i < X_PIECES; i++) {
        const bool whole = X_SHIFT == 0 || i < X_PIECES - 1 || first + X_PIECES * PIECE <= w->cols;
        cp_async(to + i * (LANES * PIECE), w->x + first + i * PIECE, whole ? 16 : 8);
    }
}
#endif

DEVICE void fetch(window *w, int slot, unsigned word, policy keep)
{
    const unsigned column = word >> LINE_BITS;
#if ASYNC
    if (w->copied) {
        copy_x(w, slot, column);
        return;
    }
#endif
    load_x_block(w->x, w->cols, column, w->vectors, w->xs[slot], keep);
}

/* Called after every step's fetch, also where there was nothing to fetch: cp_async_wait counts
 * steps. */
DEVICE void fetched(const window *w)
{
#if ASYNC
    if (w->copied)
        cp_async_commit();
#endif
}

/* Waits for the oldest step, and gives x of its block. */
DEVICE void arrived(const window *w, int slot, unsigned word, real *xs)
{
#if ASYNC
    if (w->copied) {
        const bool later = X_SHIFT > 0 && (word >> LINE_BITS & 1);
        x_piece x[X_PIECES];
        cp_async_wait(GATHER - 1);
        UNROLL
        for (int i = 0; i < X_PIECES; i++)
            x[i] = *(const x_piece *)(w->copies + (slot * X_PIECES + i) * (LANES * PIECE));
        UNROLL
        for (int j = 0; j < BW; j++) {
            const real at = x[j / PIECE].of[j % PIECE];
            xs[j] = later ? x[(j + X_SHIFT) / PIECE].of[(j + X_SHIFT) % PIECE] : at;
        }
        return;
    }
#else
    (void)word;
#endif
    UNROLL
    for (int j = 0; j < BW; j++)
        xs[j] = w->xs[slot][j];
}

/* The steps of one panel of the chunk. */
DEVICE void sweep(const swept_args *a, long long chunk, long long panel, real *sums, real *copies,
                  bool vectors)
{
    const policy p = stream_policy(), keep = keep_policy();
    const long long first = a->first_step[chunk * a->panels + panel];
    const int steps = (int)(a->first_step[chunk * a->panels + panel + 1] - first);
    const int *words = (const int *)a->words + first * LANES + threadIdx.x % LANES;
    const real *values = a->values + first * STEP;
    const long long before = panel * ((long long)BW << (32 - LINE_BITS));
    int word[KNOWN];
    real v[AHEAD][BLOCK];
    window w;
    w.x = a->x + before;
    w.cols = a->cols - before;
    w.copies = copies;
    w.vectors = vectors;
    w.copied = ASYNC && vectors;
    UNROLL
    for (int s = 0; s < KNOWN; s++)
        if (s < steps)
            stream_index1(words + s * LANES, &word[s], p);
    UNROLL
    for (int s = 0; s < AHEAD; s++)
        if (s < steps)
            load_values(values + s * STEP, v[s], p);
    UNROLL
    for (int s = 0; s < GATHER; s++) {
        if (s < steps)
            fetch(&w, s, (unsigned)word[s], keep);
        fetched(&w);
    }
    NO_UNROLL
    for (int left = steps; left > 0; left -= KNOWN) {
        UNROLL
        for (int s = 0; s < KNOWN; s++) {
            real xs[BW];
            arrived(&w, s % GATHER, (unsigned)word[s], xs);
            if (s < left)
                add_block(sums, (unsigned)word[s], v[s % AHEAD], xs);
            __syncwarp(0xffffffffu); /* the line may be another lane's in the next step */
            if (s + GATHER < left)
                fetch(&w, s % GATHER, (unsigned)word[(s + GATHER) % KNOWN], keep);
            fetched(&w);
            if (s + AHEAD < left)
                load_values(values + (s + AHEAD) * STEP, v[s % AHEAD], p);
            if (s + KNOWN < left)
                stream_index1(words + (s + KNOWN) * LANES, &word[s], p);
        }
        words += KNOWN * LANES;
        values += KNOWN * STEP;
    }
#if ASYNC
    cp_async_wait(0);
#endif
}

DEVICE void sweep_panels(const swept_args *a, long long chunk, real *sums, real *copies,
                         bool vectors)
{
    NO_UNROLL
    for (long long panel = 0; panel < a->panels; panel++)
        sweep(a, chunk, panel, sums, copies, vectors);
}

KERNEL(swept, swept_args, WARPS * LANES, PER_SM)
{
    DYNAMIC_SHARED(memory);
    const int lane = (int)(threadIdx.x % LANES), warp = (int)(threadIdx.x / LANES);
    const long long chunk = (long long)blockIdx.x * WARPS + warp;
    const int room = ((int)a.line_most * BH + PIECE - 1) / PIECE * PIECE;
    real *sums = (real *)memory + warp * room;
    real *copies = (real *)memory + WARPS * room + warp * X_ROOM + lane * PIECE; /* ASYNC */
    LET_NEXT_START(); /* sliced_sum: its few thread blocks take nobody's place */
    if (chunk >= a.chunks)
        return;
    const long long line = a.chunk_line[chunk];
    const int scalars = (int)(a.chunk_line[chunk + 1] - line) * BH;
    for (int i = lane; i < scalars; i += LANES)
        sums[i] = 0;
    __syncwarp(0xffffffffu);
    if ((!ASYNC && XVEC == 1) || (unsigned long long)a.x % (ASYNC ? 16 : XVEC * REAL) == 0)
        sweep_panels(&a, chunk, sums, copies, true);
    else
        sweep_panels(&a, chunk, sums, copies, false);
    for (int i = lane; i < scalars; i += LANES) {
        const long long row = line * BH + i;
        if (line >= a.block_rows)
            a.slots[row - a.block_rows * BH] = sums[i];
        else if (row < a.rows)
            a.y[row] = scaled(a.alpha, sums[i], a.beta, a.y, row);
    }
}

#include "sliced_sum.cuh"
