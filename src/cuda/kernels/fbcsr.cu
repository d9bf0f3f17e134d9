/* y = alpha A x + beta y on blocks of several shapes and a CSR remainder (paper 001), stored by
 * slices of 32 rows (src/format/fbcsr_slices.h): a warp a slice, a thread a row, its sum in a
 * register.
 *
 *   pieces   of lines: all lanes read the same descriptor, lanes low .. low+n-1 a value each and x
 *            at column + shift * i
 *   runs     of W columns: every lane whose row has a k-th run reads its column, then W values. The
 *            lanes that have one count themselves, so values are stored without padding.
 *
 * Every row is summed in the same order: pieces, then runs from the widest down to single entries.
 * Slices of segments of rows that were cut come first and leave their sums in slots; sliced_sum
 * adds these to y in a fixed order.
 *
 *   WIDTHS   bit W: there may be runs of W columns
 *   DEPTH    pieces in flight a thread      FLIGHT   scalars of runs in flight a thread
 *   THREADS  threads a block
 *   AHEAD    ask for values before their places in the slice are known
 */
#include "common.cuh"

#define ALL 0xffffffffu
#define WIDEST 8
#define LATER 4096 /* slices: about as many as a device works on at a time */

typedef struct fbcsr_args {
    const long long *heads; /* of each slice: values, columns and pieces before it */
    const int *targets;     /* rows of the places; NULL: in order */
    const long long *pieces;
    const unsigned char *lengths;
    const int *columns;
    const real *values;
    const real *x;
    real *y;
    real *slots; /* sums of segments */
    long long rows, slices, segments;
    double alpha, beta;
} fbcsr_args;

/* Where a warp is in its slice. */
typedef struct cursor {
    const real *values;
    const int *columns;
    unsigned lane;
    policy stream, keep;
} cursor;

DEVICE real piece_sum(const fbcsr_args *a, cursor *at, long long piece, long long end)
{
    const real *values = at->values;
    long long next[DEPTH];
    real sum = 0;
    UNROLL
    for (int u = 0; u < DEPTH; u++)
        next[u] = piece + u < end ? READ_ONLY(a->pieces + piece + u) : 0;
    NO_UNROLL
    for (; piece < end; piece += DEPTH) {
        real v[DEPTH], xs[DEPTH];
        UNROLL
        for (int u = 0; u < DEPTH; u++) {
            const int column = (int)next[u], word = (int)(next[u] >> 32);
            const unsigned i = at->lane - (word & 255), n = word >> 8 & 255;
            v[u] = 0;
            xs[u] = 0;
            if (i < n) {
                stream_load1(values + i, &v[u], at->stream);
                xs[u] = keep_load(a->x + (column + (word >> 16) * (int)i), at->keep);
            }
            values += n;
        }
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            next[u] = piece + DEPTH + u < end ? READ_ONLY(a->pieces + piece + DEPTH + u) : 0;
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            sum += v[u] * xs[u];
    }
    at->values = values;
    return sum;
}

/* Columns of the steps k .. k+depth-1, for the lanes that have a run there. */
DEVICE void load_run_columns(cursor *at, int k, int depth, int length, int *columns)
{
    const unsigned below = (1u << at->lane) - 1;
    UNROLL
    for (int u = 0; u < depth; u++) {
        const unsigned active = __ballot_sync(ALL, k + u < length);
        columns[u] = 0;
        if (k + u < length)
            stream_index1(at->columns + __popc(active & below), &columns[u], at->stream);
        at->columns += __popc(active);
    }
}

/* Runs of one width, columns known a round ahead; all lanes of the warp call this. */
DEVICE real run_sum(const fbcsr_args *a, cursor *at, int width, int length)
{
    const int depth = FLIGHT > width ? FLIGHT / width : 1;
    const unsigned below = (1u << at->lane) - 1;
    const real *values = at->values;
    int column[FLIGHT];
    real sum = 0;
    if (!__any_sync(ALL, length > 0))
        return 0;
    load_run_columns(at, 0, depth, length, column);
    NO_UNROLL
    for (int k = 0; __any_sync(ALL, k < length); k += depth) {
        real v[FLIGHT + WIDEST], xs[FLIGHT + WIDEST];
        UNROLL
        for (int u = 0; u < depth; u++) {
            const unsigned active = __ballot_sync(ALL, k + u < length);
            const int count = __popc(active), rank = __popc(active & below);
            UNROLL
            for (int j = 0; j < width; j++)
                if (k + u < length)
                    stream_load1(values + (j * count + rank), &v[u * width + j], at->stream);
            values += width * count;
        }
        UNROLL
        for (int u = 0; u < depth; u++) {
            UNROLL
            for (int j = 0; j < width; j++)
                if (k + u < length)
                    xs[u * width + j] = keep_load(a->x + column[u] + j, at->keep);
        }
        load_run_columns(at, k + depth, depth, length, column);
        UNROLL
        for (int u = 0; u < depth; u++) {
            UNROLL
            for (int j = 0; j < width; j++)
                if (k + u < length)
                    sum += v[u * width + j] * xs[u * width + j];
        }
    }
    at->values = values;
    return sum;
}

/* Asks for what the warp needs next, and for the head of a slice that comes much later: a warp has
 * little to do, so every wait after another counts. */
DEVICE void fetch_ahead(const fbcsr_args *a, long long slice, unsigned lane)
{
    const long long *head = a->heads + 3 * slice;
    const long long first = READ_ONLY(head), end = READ_ONLY(head + 3);
    if (lane == 0 && slice + LATER < a->slices)
        fetch_line(head + 3 * LATER);
    if (first + lane * (128 / REAL) < end)
        fetch_line(a->values + first + lane * (128 / REAL));
}

KERNEL(fbcsr, fbcsr_args, THREADS, 1)
{
    const long long slice = ((long long)blockIdx.x * THREADS + threadIdx.x) / 32;
    cursor at;
    if (slice >= a.slices)
        return;
    at.lane = threadIdx.x % 32;
    at.stream = stream_policy();
    at.keep = keep_policy();
    const long long *head = a.heads + 3 * slice;
    const long long column = READ_ONLY(head + 1);
    const bool runs = column < READ_ONLY(head + 4);
    at.values = a.values + READ_ONLY(head);
    at.columns = a.columns + column;
    if (AHEAD)
        fetch_ahead(&a, slice, at.lane);
    long long row = (slice - a.segments) * 32 + at.lane;
    if (a.targets && row >= 0)
        row = READ_ONLY(a.targets + row);
    const bool mine = row >= 0 && row < a.rows;
    real old = 0;
    if (mine && a.beta != 0)
        old = a.y[row];
    real sum = piece_sum(&a, &at, READ_ONLY(head + 2), READ_ONLY(head + 5));
    if (runs) {
        const unsigned char *length = a.lengths + slice * (__popc(WIDTHS) * 32) + at.lane;
        UNROLL
        for (int width = WIDEST; width > 0; width--) {
            if (WIDTHS >> width & 1) {
                sum += run_sum(&a, &at, width, READ_ONLY(length));
                length += 32;
            }
        }
    }
    if (mine)
        a.y[row] = combined(a.alpha, sum, a.beta, old);
    else if (row < 0)
        a.slots[slice * 32 + at.lane] = sum;
}

#define BH 1
#define DOT 0
#include "sliced_sum.cuh"
