/* y = alpha A x + beta y for a symmetric matrix stored by half with rows in lanes
 * (format/symmetric_lanes.h), a template.
 *
 * Included like bsr_spmv.inc.c. It gives NAME(symmetric_lanes)(args, chunk, b), always inlined:
 * templates.inc.c calls it with constants, one function for each line of kernels.def.
 *
 * A vector holds scalar (p, q) of W blocks (i+l, j+l). With x and y of W rows in lanes likewise,
 *
 *     sums[p] += a(p, q) * x_j[q]         y of the group's rows, in registers
 *     y_j[q]  += a(p, q) * x_i[p]         y of the columns, from memory and back
 *
 * need no sum across lanes and no factor taken out of a lane. On Neoverse-V1 a 3 x 3 block takes
 * 10.5 vector operations (for two blocks twice 9 multiply-adds and 3 stores). Row by row, with sums
 * across lanes and stores of part of a vector, it takes 14.
 *
 * x_j and y_j in lanes are kept in a ring of the rows that the chunk is at:
 *
 *     ring row j   x   q = 0 .. b-1   x_j[q]  x_j+1[q]  ..      zero beyond the last row
 *                  y   q = 0 .. b-1   for y_j[q], for y_j+1[q], ..
 *
 * so that y[row] is the sum of lane m of ring row `row - m` over all m. The ring is read and
 * written in the same whole vectors, so that the processor forwards stores to loads. y itself would
 * be read in other pieces than the row before wrote. Rows enter the ring before their first use and
 * leave it when their group is done. Sums for rows beyond the chunk go to the window.
 */

/* A chunk under way. */
typedef struct NAME(lanes_walk) {
    REAL *ring;
    int64_t mask;
    int64_t ready; /* rows before it are in the ring */
} NAME(lanes_walk);

/* Where the ring has row j; before row 0 too. */
SIMD_INLINE REAL *NAME(lanes_row)(const NAME(lanes_walk) * walk, int64_t j, const int b)
{
    return walk->ring + (j & walk->mask) * (2 * b * W);
}

/* Rows up to `row` enter the ring. */
SIMD_INLINE void NAME(lanes_prepare)(NAME(lanes_walk) * walk, const tess_cpu_symmetric_args *args,
                                     int64_t row, const int b)
{
    for (; walk->ready <= row; walk->ready++) {
        const int64_t left = args->block_rows - walk->ready;
        const REAL *x = (const REAL *)args->x + walk->ready * (args->by_fields ? 1 : b);
        REAL *to = NAME(lanes_row)(walk, walk->ready, b);
        SIMD_UNROLL(8)
        for (int q = 0; q < b; q++) {
            V values = {0};
            if (args->by_fields) {
                const REAL *field = x + q * args->block_rows;
                values = left >= W ? LOAD(field) : LOAD_PART(field, (int)left);
            } else if (left >= W) {
                SIMD_UNROLL(16)
                for (int l = 0; l < W; l++)
                    values[l] = x[l * b + q];
            } else {
                for (int l = 0; l < left; l++)
                    values[l] = x[l * b + q];
            }
            STORE(to + q * W, values);
            STORE(to + (b + q) * W, (V){0});
        }
    }
}

/* Where a walk over slots is. */
typedef struct NAME(lanes_place) {
    const int32_t *column;
    const REAL *values[2];
} NAME(lanes_place);

/* How many of a block's b*b scalars are in values[0]: the first ones. */
#define LANES_HALF(b) (((b) * (b) + 1) / 2)

SIMD_INLINE V NAME(lanes_value)(const NAME(lanes_place) * at, const int e, const int b)
{
    const int half = LANES_HALF(b);
    return e < half ? LOAD(at->values[0] + e * W) : LOAD(at->values[1] + (e - half) * W);
}

SIMD_INLINE void NAME(lanes_go_on)(NAME(lanes_place) * at, const int b)
{
    at->column++;
    at->values[0] += LANES_HALF(b) * W;
    at->values[1] += (b * b - LANES_HALF(b)) * W;
}

/* Sets of b sums, which the columns of a block are added to in turn where one set is too few to
 * hide the latency. */
#define LANES_SETS(b) ((b) >= 2 && (b) <= 3 ? 2 : 1)

/* Columns of a block whose y are added to before the first is stored: all, where there are
 * registers for that. The compiler can then interleave their chains of additions. */
#define LANES_AT_ONCE(b) (((2 + LANES_SETS(b)) * (b) + 4) <= SIMD_REGISTERS ? (b) : 1)

/* Blocks on the diagonal: they count once. */
SIMD_INLINE void NAME(lanes_diagonal)(V *sums, const V *xi, const NAME(lanes_place) * at,
                                      const int b)
{
    SIMD_UNROLL(8)
    for (int q = 0; q < b; q++) {
        SIMD_UNROLL(8)
        for (int p = 0; p < b; p++)
            sums[p] += NAME(lanes_value)(at, q * b + p, b) * xi[q];
    }
}

SIMD_INLINE void NAME(lanes_slot)(V *sums, const V *xi, const NAME(lanes_place) * at, REAL *row,
                                  const int b)
{
    const int at_once = LANES_AT_ONCE(b), half = LANES_HALF(b) * W * (int)sizeof(REAL);
    simd_fetch(at->values[0], half);
    simd_fetch(at->values[1], b * b * W * (int)sizeof(REAL) - half);
    SIMD_UNROLL(8)
    for (int first = 0; first < b; first += at_once) {
        V below[8];
        SIMD_UNROLL(8)
        for (int q = first; q < first + at_once; q++)
            below[q] = LOAD(row + (b + q) * W);
        SIMD_UNROLL(8)
        for (int q = first; q < first + at_once; q++) {
            const V right = LOAD(row + q * W);
            SIMD_UNROLL(8)
            for (int p = 0; p < b; p++) {
                const V value = NAME(lanes_value)(at, q * b + p, b);
                sums[q % LANES_SETS(b) * b + p] += value * right;
                below[q] += value * xi[p];
            }
        }
        SIMD_UNROLL(8)
        for (int q = first; q < first + at_once; q++)
            STORE(row + (b + q) * W, below[q]);
    }
}

/* Returns what the ring has for scalar p of the rows `row` .. row+W-1, one row per lane. */
SIMD_INLINE V NAME(lanes_gather)(const NAME(lanes_walk) * walk, int64_t row, int p, const int b)
{
    V rows[2 * W], sum = {0};
    SIMD_UNROLL(32)
    for (int i = 0; i < 2 * W - 1; i++)
        rows[i] = LOAD(NAME(lanes_row)(walk, row + i - (W - 1), b) + (b + p) * W);
    SIMD_UNROLL(16)
    for (int m = 0; m < W; m++) {
        V part = {0};
        SIMD_UNROLL(16)
        for (int l = 0; l < W; l++)
            part[l] = rows[l - m + W - 1][m];
        sum = m == 0 ? part : sum + part;
    }
    return sum;
}

/* y = alpha (sums + what the ring has) + beta y for the W rows from `row` on, or for the `left`
 * rows that there are. Scalars go from one row per lane into the order of y, or by fields of
 * `field` scalars they stay so (field = 0: they are not by fields). */
SIMD_INLINE void NAME(lanes_finish)(const NAME(lanes_walk) * walk, V *sums, int64_t row,
                                    int64_t left, REAL alpha, REAL beta, REAL *y, int64_t field,
                                    const int b)
{
    REAL last[8 * W];
    SIMD_UNROLL(8)
    for (int p = 0; p < b; p++)
        sums[p] = (sums[p] + NAME(lanes_gather)(walk, row, p, b)) * alpha;
    if (field > 0) {
        const int count = left < W ? (int)left : W;
        SIMD_UNROLL(8)
        for (int p = 0; p < b; p++) {
            REAL *to = y + p * field;
            if (beta != 0)
                sums[p] += (count < W ? LOAD_PART(to, count) : LOAD(to)) * beta;
            if (count < W)
                STORE_PART(to, sums[p], count);
            else
                STORE(to, sums[p]);
        }
        return;
    }
    SIMD_UNROLL(8)
    for (int k = 0; k < b; k++) {
        V out = {0};
        SIMD_UNROLL(16)
        for (int l = 0; l < W; l++)
            out[l] = sums[(k * W + l) % b][(k * W + l) / b];
        if (left < W) {
            STORE(last + k * W, out);
        } else {
            if (beta != 0)
                out += LOAD(y + k * W) * beta;
            STORE(y + k * W, out);
        }
    }
    for (int64_t i = 0; left < W && i < left * b; i++)
        y[i] = beta == 0 ? last[i] : last[i] + beta * y[i];
}

/* The sums for rows beyond the chunk. */
SIMD_INLINE void NAME(lanes_window)(const NAME(lanes_walk) * walk,
                                    const tess_cpu_symmetric_args *args,
                                    const tess_cpu_chunk *chunk, const int b)
{
    for (int64_t row = chunk->last; row < chunk->end; row += W) {
        V sums[8];
        SIMD_UNROLL(8)
        for (int p = 0; p < b; p++)
            sums[p] = (V){0};
        NAME(lanes_finish)
        (walk, sums, row, chunk->end - row, (REAL)args->alpha, 0,
         (REAL *)chunk->window + (row - chunk->last) * b, 0, b);
    }
}

SIMD_INLINE void NAME(symmetric_lanes)(const tess_cpu_symmetric_args *args,
                                       const tess_cpu_chunk *chunk, const int b)
{
    NAME(lanes_walk)
    walk = {.ring = args->ring, .mask = args->ring_rows - 1, .ready = chunk->first};
    for (int64_t row = chunk->first - W + 1; row < chunk->first; row++)
        for (int i = 0; i < b * W; i++)
            NAME(lanes_row)(&walk, row, b)[b * W + i] = 0;
    const int64_t first = args->row_offsets[chunk->first / W];
    NAME(lanes_place)
    at = {.column = args->columns + first,
          .values = {(const REAL *)args->values + first * LANES_HALF(b) * W,
                     (const REAL *)args->more_values + first * (b * b - LANES_HALF(b)) * W}};
    for (int64_t row = chunk->first; row < chunk->last; row += W) {
        const int32_t *end = args->columns + args->row_offsets[row / W + 1];
        const int64_t farthest = at.column < end && end[-1] > row + W - 1 ? end[-1] : row + W - 1;
        NAME(lanes_prepare)(&walk, args, farthest, b);
        const int count = LANES_SETS(b) * b;
        V sums[16], xi[8];
        SIMD_UNROLL(8)
        for (int p = 0; p < b; p++)
            xi[p] = LOAD(NAME(lanes_row)(&walk, row, b) + p * W);
        SIMD_UNROLL(16)
        for (int p = 0; p < count; p++)
            sums[p] = (V){0};
        if (at.column < end && *at.column == row) {
            NAME(lanes_diagonal)(sums, xi, &at, b);
            NAME(lanes_go_on)(&at, b);
        }
        while (at.column < end) {
            NAME(lanes_slot)(sums, xi, &at, NAME(lanes_row)(&walk, *at.column, b), b);
            NAME(lanes_go_on)(&at, b);
        }
        SIMD_UNROLL(8)
        for (int p = b; p < count; p++)
            sums[p - b] += sums[p];
        NAME(lanes_finish)
        (&walk, sums, row, args->block_rows - row, (REAL)args->alpha, (REAL)args->beta,
         (REAL *)args->y + row * (args->by_fields ? 1 : b), args->by_fields ? args->block_rows : 0,
         b);
    }
    NAME(lanes_prepare)(&walk, args, chunk->end - 1, b);
    NAME(lanes_window)(&walk, args, chunk, b);
}

#undef LANES_HALF
#undef LANES_SETS
#undef LANES_AT_ONCE
