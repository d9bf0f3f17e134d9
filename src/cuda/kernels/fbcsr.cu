/* y = alpha A x + beta y on blocks of several shapes and a CSR remainder (src/format/fbcsr.h, paper
 * 001), all of it in one launch: a warp owns 32 rows of y and a thread one of them, in a register.
 *
 *   rest     the remainder in slices of 32 rows (src/format/sliced.h, C = 32): lane t reads row t
 *   tall     blocks of more than one row. LANES(h) lanes with adjacent rows, the largest power of
 * two up to h and 32, walk the blocks that touch one of their rows; each lane takes its row of the
 * block, if it has one. Values are column-major, so the lanes read neighbours; a block that begins
 * anywhere is read by two such groups, each its part. flat     blocks of one row: PIECE(w) lanes
 * take the elements of a block, the warp 32/PIECE blocks at a time; sums go through shuffles to the
 * lane of the row
 *
 * Every row is summed in the same order: remainder, then split by split in the blocks' order.
 *
 *   SPLITS   how many; the shape of each is what the code is specialised for: HIGH0 x WIDE0 and
 *            SHIFT0 are the first's, up to HIGH7 ...
 *   DEPTH    blocks of one column in flight a thread        THREADS  threads a block
 */
#include "common.cuh"

#define ALL 0xffffffffu
#define LANES(h) ((h) >= 32 ? 32 : (h) >= 16 ? 16 : (h) >= 8 ? 8 : (h) >= 4 ? 4 : 2)
#define PIECE(w) ((w) >= 32 ? 32 : (w) >= 16 ? 16 : (w) >= 8 ? 8 : (w) >= 4 ? 4 : 2)

enum { SPLITS_MAX = 8 };

typedef struct fbcsr_args {
    const long long
        *ranges;       /* of each group of lanes: its first block and the one after its last */
    const int *places; /* row and column of each block of all splits */
    const real *values;
    const long long *rest_offsets;
    const int *rest_lengths; /* NULL: nothing remains */
    const int *rest_columns;
    const real *rest_values;
    const real *x;
    real *y;
    long long rows;
    double alpha, beta;
    long long first_range[SPLITS_MAX]; /* of the split; -1: it has no blocks */
    long long first_value[SPLITS_MAX]; /* of block 0, if the split began with it */
} fbcsr_args;

DEVICE real rest_sum(const fbcsr_args *a, long long row, policy p)
{
    if (row >= a->rows)
        return 0;
    const long long first = READ_ONLY(a->rest_offsets + row / 32);
    const int length = READ_ONLY(a->rest_lengths + row);
    const real *values = a->rest_values + first * 32 + row % 32;
    const int *columns = a->rest_columns + first * 32 + row % 32;
    real sum = 0;
    NO_UNROLL
    for (int k = 0; k < length; k += 4) {
        int column[4];
        real v[4], xs[4];
        UNROLL
        for (int u = 0; u < 4; u++) {
            v[u] = 0;
            if (k + u < length) {
                stream_index1(columns + (k + u) * 32, &column[u], p);
                stream_load1(values + (k + u) * 32, &v[u], p);
            }
        }
        UNROLL
        for (int u = 0; u < 4; u++)
            xs[u] = k + u < length ? READ_ONLY(a->x + column[u]) : 0;
        UNROLL
        for (int u = 0; u < 4; u++)
            sum += v[u] * xs[u];
    }
    return sum;
}

/* The blocks of a split that touch rows of the thread's group of `lanes` lanes. */
DEVICE bool find_range(const fbcsr_args *a, int split, int lanes, long long row, long long *begin,
                       long long *end)
{
    const long long *range = a->ranges + 2 * (a->first_range[split] + row / lanes);
    *begin = *end = 0;
    if (a->first_range[split] < 0 || row / lanes * lanes >= a->rows)
        return false;
    *begin = READ_ONLY(range);
    *end = READ_ONLY(range + 1);
    return *begin < *end;
}

/* Blocks of one column: DEPTH in flight, their places known a round ahead. */
DEVICE real line_sum(const fbcsr_args *a, int split, int h, int shift, long long row, real sum,
                     policy p)
{
    long long block, end;
    if (!find_range(a, split, LANES(h), row, &block, &end))
        return sum;
    const real *values = a->values + a->first_value[split];
    int next[DEPTH][2];
    UNROLL
    for (int u = 0; u < DEPTH; u++)
        if (block + u < end)
            stream_index2(a->places + 2 * (block + u), next[u], p);
    NO_UNROLL
    for (; block < end; block += DEPTH) {
        real v[DEPTH], xs[DEPTH];
        UNROLL
        for (int u = 0; u < DEPTH; u++) {
            const int i = block + u < end ? (int)row - next[u][0] : -1;
            v[u] = 0;
            xs[u] = 0;
            if (i >= 0 && i < h) {
                stream_load1(values + (block + u) * h + i, &v[u], p);
                xs[u] = READ_ONLY(a->x + next[u][1] + shift * i);
            }
        }
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            if (block + DEPTH + u < end)
                stream_index2(a->places + 2 * (block + DEPTH + u), next[u], p);
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            sum += v[u] * xs[u];
    }
    return sum;
}

/* Blocks of several columns: up to 8 loads in flight, of one block or of several. */
DEVICE real tall_sum(const fbcsr_args *a, int split, int h, int w, int shift, long long row,
                     real sum, policy p)
{
    const int columns = w < 8 ? w : 8, blocks = 8 / columns;
    long long block, end;
    if (!find_range(a, split, LANES(h), row, &block, &end))
        return sum;
    NO_UNROLL
    for (; block < end; block += blocks) {
        int i[4];
        const real *values[4], *x[4];
        UNROLL
        for (int u = 0; u < blocks; u++) {
            int place[2] = {0, 0};
            i[u] = -1;
            if (block + u < end) {
                stream_index2(a->places + 2 * (block + u), place, p);
                i[u] = (int)row - place[0];
            }
            values[u] = a->values + a->first_value[split] + (block + u) * (h * w) + i[u];
            x[u] = a->x + place[1] + shift * i[u];
        }
        NO_UNROLL
        for (int k = 0; k < w; k += columns) {
            real v[8], xs[8];
            UNROLL
            for (int u = 0; u < blocks; u++)
                UNROLL
            for (int j = 0; j < columns; j++) {
                v[u * columns + j] = 0;
                xs[u * columns + j] = 0;
                if (i[u] >= 0 && i[u] < h && k + j < w) {
                    stream_load1(values[u] + (k + j) * h, &v[u * columns + j], p);
                    xs[u * columns + j] = READ_ONLY(x[u] + k + j);
                }
            }
            UNROLL
            for (int u = 0; u < blocks * columns; u++)
                sum += v[u] * xs[u];
        }
    }
    return sum;
}

/* The sum over the `lanes` lanes of a piece, in all of them. */
DEVICE real piece_sum(real sum, int lanes)
{
    UNROLL
    for (int by = 16; by > 0; by /= 2)
        if (by < lanes)
            sum += __shfl_xor_sync(ALL, sum, by, 32);
    return sum;
}

/* Blocks of one row, FLAT rounds of 32 / PIECE in flight; all lanes of the warp call this. Neighbours
 * of the same row are added before they are summed over the lanes. */
#define FLAT 4

DEVICE real flat_sum(const fbcsr_args *a, int split, int w, long long row, real sum, policy p)
{
    const int lanes = PIECE(w), blocks = 32 / PIECE(w), lane = (int)threadIdx.x % 32;
    const int rounds = (w + PIECE(w) - 1) / PIECE(w);
    long long block, end;
    (void)find_range(a, split, 32, row, &block, &end);
    const real *values = a->values + a->first_value[split] + lane % lanes;
    const real *x = a->x + lane % lanes;
    NO_UNROLL
    for (; block < end; block += FLAT * blocks) {
        int place[FLAT][2];
        real mine[FLAT];
        UNROLL
        for (int u = 0; u < FLAT; u++) {
            const long long own = block + u * blocks + lane / lanes;
            mine[u] = 0;
            place[u][0] = -1;
            if (own < end) {
                stream_index2(a->places + 2 * own, place[u], p);
                stream_load1(values + own * w, &mine[u], p);
            }
        }
        UNROLL
        for (int u = 0; u < FLAT; u++)
            if (place[u][0] >= 0)
                mine[u] *= READ_ONLY(x + place[u][1]);
        if (rounds > 1) {
            UNROLL
            for (int u = 0; u < FLAT; u++) {
                const long long own = block + u * blocks + lane / lanes;
                NO_UNROLL
                for (int k = lanes; k < w && own < end; k += lanes)
                    if (k + lane % lanes < w)
                        mine[u] += READ_ONLY(values + own * w + k) * READ_ONLY(x + place[u][1] + k);
            }
        }
        UNROLL
        for (int u = 0; u < FLAT; u++) {
            if (blocks == 1 && u + 1 < FLAT && place[u + 1][0] == place[u][0]) {
                mine[u + 1] += mine[u];
                continue;
            }
            mine[u] = piece_sum(mine[u], lanes);
            UNROLL
            for (int b = 0; b < blocks; b++) {
                const real part = blocks > 1 ? __shfl_sync(ALL, mine[u], b * lanes, 32) : mine[u];
                const int target =
                    blocks > 1 ? __shfl_sync(ALL, place[u][0], b * lanes, 32) : place[u][0];
                if (target == (int)row)
                    sum += part;
            }
        }
    }
    return sum;
}

DEVICE real split_sum(const fbcsr_args *a, int split, int h, int w, int shift, long long row,
                      real sum, policy p)
{
    if (h == 1)
        return flat_sum(a, split, w, row, sum, p);
    if (w == 1)
        return line_sum(a, split, h, shift, row, sum, p);
    return tall_sum(a, split, h, w, shift, row, sum, p);
}

KERNEL(fbcsr, fbcsr_args, THREADS, 1)
{
    const long long row = (long long)blockIdx.x * THREADS + threadIdx.x;
    const policy p = stream_policy();
    real sum = 0;
    if (a.rest_lengths)
        sum = rest_sum(&a, row, p);
    sum = split_sum(&a, 0, HIGH0, WIDE0, SHIFT0, row, sum, p);
#if SPLITS > 1
    sum = split_sum(&a, 1, HIGH1, WIDE1, SHIFT1, row, sum, p);
#endif
#if SPLITS > 2
    sum = split_sum(&a, 2, HIGH2, WIDE2, SHIFT2, row, sum, p);
#endif
#if SPLITS > 3
    sum = split_sum(&a, 3, HIGH3, WIDE3, SHIFT3, row, sum, p);
#endif
#if SPLITS > 4
    sum = split_sum(&a, 4, HIGH4, WIDE4, SHIFT4, row, sum, p);
#endif
#if SPLITS > 5
    sum = split_sum(&a, 5, HIGH5, WIDE5, SHIFT5, row, sum, p);
#endif
#if SPLITS > 6
    sum = split_sum(&a, 6, HIGH6, WIDE6, SHIFT6, row, sum, p);
#endif
#if SPLITS > 7
    sum = split_sum(&a, 7, HIGH7, WIDE7, SHIFT7, row, sum, p);
#endif
    if (row < a.rows)
        a.y[row] = scaled(a.alpha, sum, a.beta, a.y, row);
}
