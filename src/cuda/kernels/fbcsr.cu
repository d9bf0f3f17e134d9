/* y = alpha A x + beta y on blocks of several shapes and a CSR remainder (paper 001), stored by
 * slices of 32 rows (src/format/fbcsr_slices.h): a warp a slice, a thread a row, its sum in a
 * register.
 *
 *   pieces   of lines: all lanes read the same descriptor, lanes low .. low+n-1 a value each and x
 *            at column + shift * i
 *   runs     of W columns: every lane whose row has a k-th run reads its column; then adjacent
 *            lanes, as many as hold a run, take the runs of their rows one after the other, a
 * column each. The lanes that have a run are counted, so values are stored without padding.
 *
 * Every row is summed in the same order: pieces, then runs from the widest down to single entries.
 * Slices of segments of rows that were cut come first and leave their sums in slots; sliced_sum
 * adds these to y in a fixed order.
 *
 *   WIDTHS   bit W: there may be runs of W columns
 *   DEPTH    pieces in flight a thread      FLIGHT   single entries in flight a thread
 *   THREADS  threads a block
 *   AHEAD    ask for values before their places in the slice are known
 */
#include "common.cuh"

#define ALL 0xffffffffu
#define WIDEST 8
#define LATER 4096 /* slices: about as many as a device works on at a time */

typedef struct fbcsr_args {
    const long long *heads; /* of each slice: values, columns, pieces before it; full */
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

/* The same where all pieces have 32 rows: values need not wait for descriptors. */
DEVICE real full_sum(const fbcsr_args *a, cursor *at, long long piece, long long end)
{
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
            v[u] = 0;
            xs[u] = 0;
            if (piece + u < end)
                stream_load1(at->values + (u * 32 + at->lane), &v[u], at->stream);
        }
        at->values += DEPTH * 32;
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            if (piece + u < end)
                xs[u] = keep_load(a->x + ((int)next[u] + (int)(next[u] >> 48) * (int)at->lane),
                                  at->keep);
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            next[u] = piece + DEPTH + u < end ? READ_ONLY(a->pieces + piece + DEPTH + u) : 0;
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            sum += v[u] * xs[u];
    }
    at->values -= (piece - end) * 32;
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

/* Single entries, FLIGHT of them in flight, columns known a round ahead; all lanes of the warp call
 * this. */
DEVICE real single_sum(const fbcsr_args *a, cursor *at, int length)
{
    const unsigned below = (1u << at->lane) - 1;
    const real *values = at->values;
    int column[FLIGHT];
    real sum = 0;
    load_run_columns(at, 0, FLIGHT, length, column);
    NO_UNROLL
    for (int k = 0; __any_sync(ALL, k < length); k += FLIGHT) {
        real v[FLIGHT], xs[FLIGHT];
        UNROLL
        for (int u = 0; u < FLIGHT; u++) {
            const unsigned active = __ballot_sync(ALL, k + u < length);
            v[u] = 0;
            xs[u] = 0;
            if (k + u < length)
                stream_load1(values + __popc(active & below), &v[u], at->stream);
            values += __popc(active);
        }
        UNROLL
        for (int u = 0; u < FLIGHT; u++)
            if (k + u < length)
                xs[u] = keep_load(a->x + column[u], at->keep);
        load_run_columns(at, k + FLIGHT, FLIGHT, length, column);
        UNROLL
        for (int u = 0; u < FLIGHT; u++)
            sum += v[u] * xs[u];
    }
    at->values = values;
    return sum;
}

/* parts[i] of the `group` adjacent lanes added: lane i of them gets the sum of all parts[i]. */
DEVICE real group_sum(real *parts, int group, unsigned lane)
{
    UNROLL
    for (int half = WIDEST / 2; half > 0; half /= 2) {
        UNROLL
        for (int i = 0; i < half; i++) {
            if (half < group) {
                const bool upper = (lane & half) != 0;
                real given = upper ? parts[i] : parts[i + half];
                const real kept = upper ? parts[i + half] : parts[i];
                parts[i] = kept + __shfl_xor_sync(ALL, given, half, 32);
            }
        }
    }
    return parts[0];
}

/* Runs of several columns. The lanes of a group take those of their rows one after the other, each
 * lane one column, so that values and x are read side by side; every lane has a sum for each of the
 * rows. */
DEVICE real run_sum(const fbcsr_args *a, cursor *at, int width, int length)
{
    const int group = width > 4 ? 8 : width > 2 ? 4 : 2, steps = WIDEST / group;
    const unsigned firsts = group == 8 ? 0x01010101u : group == 4 ? 0x11111111u : 0x55555555u;
    const unsigned member = at->lane % group, first = at->lane - member;
    const real *values = at->values + member;
    real parts[WIDEST];
    int column[WIDEST / 2];
    UNROLL
    for (int i = 0; i < WIDEST; i++)
        parts[i] = 0;
    load_run_columns(at, 0, steps, length, column);
    NO_UNROLL
    for (int k = 0; __any_sync(ALL, k < length); k += steps) {
        real v[WIDEST], xs[WIDEST];
        UNROLL
        for (int s = 0; s < steps; s++) {
            const unsigned active = __ballot_sync(ALL, k + s < length);
            UNROLL
            for (int i = 0; i < group; i++) {
                const unsigned row = first + i, runs = active & firsts << i;
                const int u = s * group + i, before = __popc(runs & ((1u << row) - 1));
                int from = __shfl_sync(ALL, column[s], (int)row, 32);
                v[u] = 0;
                xs[u] = 0;
                if (member < width && (runs >> row & 1)) {
                    stream_load1(values + before * width, &v[u], at->stream);
                    xs[u] = keep_load(a->x + from + member, at->keep);
                }
                values += __popc(runs) * width;
            }
        }
        load_run_columns(at, k + steps, steps, length, column);
        UNROLL
        for (int u = 0; u < WIDEST; u++)
            parts[u % group] += v[u] * xs[u];
    }
    at->values = values - member;
    return group_sum(parts, group, at->lane);
}

/* Asks for what the warp needs next, and for the head of a slice that comes much later: a warp has
 * little to do, so every wait after another counts. */
DEVICE void fetch_ahead(const fbcsr_args *a, long long slice, unsigned lane)
{
    const long long *head = a->heads + 4 * slice;
    const long long first = READ_ONLY(head), end = READ_ONLY(head + 4);
    if (lane == 0 && slice + LATER < a->slices)
        fetch_line(head + 4 * LATER);
    if (first + lane * (128 / REAL) < end)
        fetch_line(a->values + first + lane * (128 / REAL));
    const long long column = READ_ONLY(head + 1) + lane * 32;
    if (column < READ_ONLY(head + 5))
        fetch_line(a->columns + column);
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
    int length[WIDEST + 1];
    UNROLL
    for (int width = WIDEST, place = 0; width > 0; width--)
        if (WIDTHS >> width & 1)
            length[width] =
                READ_ONLY(a.lengths + (slice * __popc(WIDTHS) + place++) * 32 + at.lane);
    const long long *head = a.heads + 4 * slice;
    const long long column = READ_ONLY(head + 1);
    const bool runs = column < READ_ONLY(head + 5);
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
    const long long piece = READ_ONLY(head + 2), end = READ_ONLY(head + 6);
    real sum = READ_ONLY(head + 3) ? full_sum(&a, &at, piece, end) : piece_sum(&a, &at, piece, end);
    if (runs) {
        UNROLL
        for (int width = WIDEST; width > 0; width--)
            if ((WIDTHS >> width & 1) && __any_sync(ALL, length[width] > 0))
                sum += width > 1 ? run_sum(&a, &at, width, length[width])
                                 : single_sum(&a, &at, length[width]);
    }
    if (mine)
        a.y[row] = combined(a.alpha, sum, a.beta, old);
    else if (row < 0)
        a.slots[slice * 32 + at.lane] = sum;
}

#define BH 1
#define DOT 0
#include "sliced_sum.cuh"
