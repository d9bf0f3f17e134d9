/* y = alpha A x + beta y on blocks of several shapes and a CSR remainder (paper 001), stored by
 * slices (src/format/fbcsr/slices.h): one warp per slice, LANES lanes per row.
 *
 *   diagonals  All lanes read the same descriptor of a piece. A lane whose row the piece has reads
 *              a value, and x at a column that goes with the row.
 *   runs       Of W columns: a lane reads its run's column, then its values of the run.
 *
 * The values of runs are found by the slice's head alone. Every row is summed in the same order:
 * diagonals, runs from the widest down to single entries, then over its lanes. Slices of segments
 * of cut rows come first and leave their sums in slots; sliced_sum adds these to y in a fixed
 * order.
 *
 *   WIDTH0 .. WIDTH3  columns of a run of each class, falling; 0: no such class
 *   BITS       bits of a word of `lengths` that count the runs of one class
 *   DIAGONALS  whether there are diagonals  DEPTH    pieces in flight
 *   FLIGHT     scalars of runs in flight    THREADS  threads per thread block
 *   AHEAD      prefetch the heads of later slices
 */
#include "common.cuh"

#define ALL 0xffffffffu
#define WIDEST 8
#define CLASSES 4
#define SEGMENT_LANES 8
#define HEAD 8
#define BESIDE 12 /* pieces beside a head */
#define RECORD (DIAGONALS ? HEAD + 2 * BESIDE : HEAD)
#define LATER 4096 /* slices: about as many as a device works on at a time */
/* Threads per SM, which limit a thread's registers: pieces are short, so many warps must have loads
 * in flight. */
#define DIAGONAL_THREADS (WIDTH2 ? 1024 : WIDTH1 || ARCH < 90 ? 1280 : 1536)
#define LEAST_BLOCKS (DIAGONALS ? DIAGONAL_THREADS / THREADS : 1)

/* Lanes that read one run together: tess_fbcsr_share. */
#define SHARE(width, lanes)                 \
    ((lanes) >= 8 && (width) % 8 == 0   ? 8 \
     : (lanes) >= 4 && (width) % 4 == 0 ? 4 \
     : (lanes) >= 2 && (width) % 2 == 0 ? 2 \
                                        : 1)

typedef struct fbcsr_args {
    const int *heads;
    const int *lengths; /* runs of each class, one word per place */
    const int *targets; /* rows of the places; NULL: in order */
    const int *pieces;
    const int *columns;
    const real *values;
    const real *x;
    real *y;
    real *slots; /* sums of segments */
    long long rows, slices, segments;
    double alpha, beta;
} fbcsr_args;

typedef struct hints {
    policy stream, keep;
} hints;

#if DIAGONALS
/* Returns the sum over `count` pieces, DEPTH of them in flight. The lanes from `first` on hold
 * their descriptors, two numbers each. The pieces' values begin at *at, which moves behind the last
 * one's. */
DEVICE real piece_sum(const real *x, const real *values, int *at, int held, const int first,
                      int count, unsigned lane, hints h)
{
    real sum = 0;
    NO_UNROLL
    for (int k = 0; k < count; k += DEPTH) {
        real v[DEPTH], xs[DEPTH];
        UNROLL
        for (int u = 0; u < DEPTH; u++) {
            const int column = __shfl_sync(ALL, held, first + 2 * (k + u), 32);
            const int word = __shfl_sync(ALL, held, first + 2 * (k + u) + 1, 32);
            const unsigned i = lane - (word & 255), rows = word >> 8 & 255;
            v[u] = xs[u] = 0;
            if (i < rows) {
                stream_load1(values + (*at + (int)i), &v[u], h.stream);
                xs[u] = keep_load(x + (column + (word >> 16) * (int)lane), h.keep);
            }
            *at += (int)rows;
        }
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            sum += v[u] * xs[u];
    }
    return sum;
}

/* Returns the sum over all pieces of a slice: those beside its head, which `held` has, then the
 * others. */
DEVICE real diagonal_sum(const fbcsr_args *a, const real *values, int *at, int held, const int *pieces,
                     int count, unsigned lane, hints h)
{
    real sum = piece_sum(a->x, values, at, held, HEAD, count < BESIDE ? count : BESIDE, lane, h);
    NO_UNROLL
    for (int left = count - BESIDE; left > 0; left -= 16) {
        held = 0;
        if ((int)lane < 2 * left)
            stream_index1(pieces + lane, &held, h.stream);
        sum += piece_sum(a->x, values, at, held, 0, left < 16 ? left : 16, lane, h);
        pieces += 32;
    }
    return sum;
}
#endif

/* Steps of a class in flight. */
#define IN_FLIGHT(each) (FLIGHT > (each) ? FLIGHT / (each) : 1)

DEVICE void load_run_columns(const int *columns, int left, int *next, const int width,
                             const int lanes, policy p)
{
    const int share = SHARE(width, lanes);
    UNROLL
    for (int u = 0; u < IN_FLIGHT(width / share); u++)
        if (u < left)
            stream_index1(columns + u * (32 / share), &next[u], p);
}

/* Returns the sum over `left` steps of one width. Pointers are the lane's; `next` holds the first
 * columns. */
DEVICE real run_sum(const real *x, const real *values, const int *columns, int left, int *next,
                    const int width, const int lanes, hints h)
{
    const int share = SHARE(width, lanes), each = width / share, depth = IN_FLIGHT(each);
    real sum = 0;
    NO_UNROLL
    for (; left > 0; left -= depth) {
        real v[FLIGHT + WIDEST], xs[FLIGHT + WIDEST];
        int column[FLIGHT];
        UNROLL
        for (int u = 0; u < depth; u++) {
            column[u] = next[u];
            UNROLL
            for (int i = 0; i < each; i++)
                if (u < left)
                    stream_load1(values + (u * each + i) * 32, &v[u * each + i], h.stream);
        }
        values += depth * each * 32;
        columns += depth * (32 / share);
        load_run_columns(columns, left - depth, next, width, lanes, h.stream);
        UNROLL
        for (int u = 0; u < depth; u++) {
            UNROLL
            for (int i = 0; i < each; i++)
                if (u < left)
                    xs[u * each + i] = keep_load(x + column[u] + i * share, h.keep);
        }
        UNROLL
        for (int u = 0; u < depth; u++) {
            UNROLL
            for (int i = 0; i < each; i++)
                if (u < left)
                    sum += v[u * each + i] * xs[u * each + i];
        }
    }
    return sum;
}

/* What is known of a slice before it is summed up. */
typedef struct ahead {
    int head[HEAD];
    unsigned word;                /* runs of the lane's row */
    int left[CLASSES];            /* steps of the lane's row */
    int columns[CLASSES][FLIGHT]; /* of the first steps */
} ahead;

/* Finds how many steps of class c the lane has, and loads their first columns. *columns moves to
 * the next class. */
DEVICE void load_class(const int **columns, ahead *s, unsigned lane, const int c, const int width,
                       const int lanes, hints h)
{
    const int share = SHARE(width, lanes), per = lanes / share;
    const int sub = (int)(lane % lanes) / share, runs = (int)(s->word << c * BITS >> (32 - BITS));
    s->left[c] = (runs - sub + per - 1) / per;
    load_run_columns(*columns + lane / share, s->left[c], s->columns[c], width, lanes, h.stream);
    *columns += (long long)s->head[4 + c] * (32 / share);
}

DEVICE void load_first_columns(const fbcsr_args *a, ahead *s, unsigned lane, const int lanes,
                               hints h)
{
    const int *columns = a->columns + (long long)s->head[1] * 4;
    load_class(&columns, s, lane, 0, WIDTH0, lanes, h);
    if (WIDTH1)
        load_class(&columns, s, lane, 1, WIDTH1, lanes, h);
    if (WIDTH2)
        load_class(&columns, s, lane, 2, WIDTH2, lanes, h);
    if (WIDTH3)
        load_class(&columns, s, lane, 3, WIDTH3, lanes, h);
}

/* The steps of class c; the pointers move to the next class. */
DEVICE real class_sum(const real *x, const real **values, const int **columns, ahead *s,
                      unsigned lane, const int c, const int width, const int lanes, hints h)
{
    const int share = SHARE(width, lanes);
    const real sum = run_sum(x + lane % share, *values + lane, *columns + lane / share, s->left[c],
                             s->columns[c], width, lanes, h);
    *values += (long long)s->head[4 + c] * (width / share * 32);
    *columns += (long long)s->head[4 + c] * (32 / share);
    return sum;
}

/* The runs of a slice, of which head and word are known; the sum is the same in all lanes of a row.
 */
DEVICE real all_runs(const fbcsr_args *a, const real *values, ahead *s, unsigned lane,
                     const int lanes, hints h)
{
    const int *columns = a->columns + (long long)s->head[1] * 4;
    load_first_columns(a, s, lane, lanes, h);
    real sum = class_sum(a->x, &values, &columns, s, lane, 0, WIDTH0, lanes, h);
    if (WIDTH1)
        sum += class_sum(a->x, &values, &columns, s, lane, 1, WIDTH1, lanes, h);
    if (WIDTH2)
        sum += class_sum(a->x, &values, &columns, s, lane, 2, WIDTH2, lanes, h);
    if (WIDTH3)
        sum += class_sum(a->x, &values, &columns, s, lane, 3, WIDTH3, lanes, h);
    UNROLL
    for (int by = lanes / 2; by > 0; by /= 2)
        sum += __shfl_xor_sync(ALL, sum, by, 32);
    return sum;
}

/* A slice without diagonals. */
DEVICE real run_slice(const fbcsr_args *a, long long slice, long long place, unsigned lane,
                      const int lanes, hints h)
{
    ahead s;
    s.word = (unsigned)READ_ONLY(a->lengths + place);
    stream_index4(a->heads + slice * RECORD, s.head, h.stream);
    stream_index4(a->heads + slice * RECORD + 4, s.head + 4, h.stream);
    return all_runs(a, a->values + (long long)s.head[0] * 32, &s, lane, lanes, h);
}

#if DIAGONALS
/* A slice with diagonals. Each lane loads one number of its head and of the pieces beside it. */
DEVICE real diagonal_slice(const fbcsr_args *a, long long slice, long long place, unsigned lane,
                       hints h)
{
    int held;
    stream_index1(a->heads + slice * RECORD + lane, &held, h.stream);
    if (AHEAD && lane == 0 && slice + LATER < a->slices)
        fetch_line(a->heads + (slice + LATER) * RECORD);
    const int count = __shfl_sync(ALL, held, 3, 32);
    const real *values = a->values + (long long)__shfl_sync(ALL, held, 0, 32) * 32;
    const bool runs = __any_sync(ALL, lane >= 4 && lane < HEAD && held != 0);
    int at = 0;
    ahead s;
    if (runs)
        s.word = (unsigned)READ_ONLY(a->lengths + place);
    real sum = diagonal_sum(a, values, &at, held,
                        a->pieces + (long long)__shfl_sync(ALL, held, 2, 32) * 2, count, lane, h);
    if (runs) {
        UNROLL
        for (int i = 0; i < HEAD; i++)
            s.head[i] = __shfl_sync(ALL, held, i, 32);
        sum += all_runs(a, values + (at + 31) / 32 * 32, &s, lane, 1, h);
    }
    return sum;
}
#endif

KERNEL(fbcsr, fbcsr_args, THREADS, LEAST_BLOCKS)
{
    const long long slice = ((long long)blockIdx.x * THREADS + threadIdx.x) / 32;
    const unsigned lane = threadIdx.x % 32;
    hints h;
    if (slice >= a.slices)
        return;
    h.stream = stream_policy();
    h.keep = keep_policy();
    if (slice < a.segments) {
        const long long place = slice * (32 / SEGMENT_LANES) + lane / SEGMENT_LANES;
        const real sum = run_slice(&a, slice, place, lane, SEGMENT_LANES, h);
        if (lane % SEGMENT_LANES == 0)
            a.slots[place] = sum;
        return;
    }
    long long row = (slice - a.segments) * (32 / LANES) + lane / LANES;
    const long long place = a.segments * (32 / SEGMENT_LANES) + row;
    if (a.targets)
        row = READ_ONLY(a.targets + row);
    const bool mine = lane % LANES == 0 && row < a.rows;
    real old = 0;
    if (mine && a.beta != 0)
        old = a.y[row];
#if DIAGONALS
    const real sum = diagonal_slice(&a, slice, place, lane, h);
#else
    const real sum = run_slice(&a, slice, place, lane, LANES, h);
#endif
    if (mine)
        a.y[row] = combined(a.alpha, sum, a.beta, old);
}

#define BH 1
#define DOT 0
#include "sliced_sum.cuh"
