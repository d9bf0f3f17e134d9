/* y = alpha A x + beta y for a symmetric matrix of which the blocks on and above the diagonal are
 * stored, a template.
 *
 * Included like bsr_spmv.inc.c, after it. It gives NAME(symmetric_spmv)(args, chunks, b, streams),
 * always inlined: templates.inc.c calls it with constants, one function for each line of
 * kernels.def.
 *
 * A block (i, j) is read once and used twice: y_i += A_ij x_j stays in registers for the whole row,
 * y_j += A_ij' x_i goes to memory. A column q of the block is vectors c[q][0..parts-1]:
 *
 *     sums[p] += c[q][p] * x_j[q]                        y_i, along the column
 *     d[q]     = c[q][0] * x_i[0] + c[q][1] * x_i[1]...  y_j[q] is the sum of d[q]'s lanes; W of
 *                                                        them are summed together (SUMS)
 *
 * A chunk is a range of rows done by one thread alone. Rows j beyond it belong to other chunks.
 * Contributions to them go to the chunk's window, which the caller adds to y later, in the order of
 * the chunks. y and the window are initialised (to beta y and 0) when the first row begins that
 * adds to them, so that they are still in the cache.
 */

/* Small odd blocks on vectors of two go by pairs of columns; the middle vector of a pair belongs to
 * both columns, and its factors are the two neighbours in x:
 *
 *     values  | column 0 . . | column 1 . . | column 2 . . | next block
 *     vectors  [  0  ][  1  ][  2   ]                        b = 3: 3 vectors for two columns
 *
 * Where a pair has few vectors (b = 3), the last single column has sums of its own. Reading
 * straight on over two blocks, as in bsr_spmv.inc.c, was not faster: here the vector operations and
 * the ends of rows take the time.
 */
#define PAIRS(b) (W == 2 && (b) % 2 == 1 && (b) >= 3 && (b) <= 5)
#define PAIR_SUMS(b) ((b) == 3 ? 5 : (b))
/* Accumulators of a row. */
#define SYMMETRIC_SUMS(b) (PAIRS(b) ? PAIR_SUMS(b) : PARTS(b))

/* acc += block * x by pairs of columns. With h = (b-1)/2, of each pair
 *     acc[0 .. h-1]     rows 0,1  2,3 ...           of the left column
 *     acc[h]            row b-1 of the left column, row 0 of the right one
 *     acc[h+1 .. 2h]    rows 1,2  3,4 ...           of the right column
 * The last column without partner: acc[2h+1 .. 3h+1], or acc[0 .. h] again. */
SIMD_INLINE void NAME(block_pairs)(V *acc, const REAL *values, const REAL *x, const int b)
{
    const int h = (b - 1) / 2, second = W > 1 ? 1 : 0;
    SIMD_UNROLL(4)
    for (int j = 0; j + 2 <= b; j += 2) {
        const REAL *pair = values + j * b;
        V factors = LOAD(x + j);
        SIMD_UNROLL(4)
        for (int p = 0; p < h; p++)
            acc[p] += LOAD(pair + 2 * p) * factors[0];
        acc[h] += LOAD(pair + 2 * h) * factors;
        SIMD_UNROLL(4)
        for (int p = h + 1; p < b; p++)
            acc[p] += LOAD(pair + 2 * p) * factors[second];
    }
    V *last = PAIR_SUMS(b) > b ? acc + b : acc;
    SIMD_UNROLL(4)
    for (int p = 0; p < h; p++)
        last[p] += LOAD(values + (b - 1) * b + 2 * p) * x[b - 1];
    last[h] += LOAD_PART(values + b * b - 1, 1) * x[b - 1];
}

/* The accumulators of pairs brought together in acc[0 .. h], rows 0,1  2,3 ... */
SIMD_INLINE void NAME(fold_pairs)(V *acc, const int b)
{
    const int h = (b - 1) / 2, second = W > 1 ? 1 : 0;
    V middle = acc[h];
    acc[h][0] += acc[2 * h][second];
    SIMD_UNROLL(4)
    for (int p = 0; p < h; p++) {
        V right = {0};
        right[0] = p == 0 ? middle[second] : acc[h + p][second];
        right[second] = acc[h + p + 1][0];
        acc[p] += right;
    }
    if (PAIR_SUMS(b) > b) {
        SIMD_UNROLL(4)
        for (int p = 0; p <= h; p++)
            acc[p] += acc[b + p];
    }
}

/* A chunk under way. */
typedef struct NAME(symmetric_walk) {
    REAL *y, *window; /* where row 0 is, or would be */
    int64_t last, ready;
} NAME(symmetric_walk);

/* Where the contributions to row j go. */
SIMD_INLINE REAL *NAME(symmetric_target)(const NAME(symmetric_walk) * walk, int64_t j, int64_t b)
{
    return (j < walk->last ? walk->y : walk->window) + j * b;
}

/* Rows up to `row` get their initial value. */
SIMD_INLINE void NAME(symmetric_prepare)(NAME(symmetric_walk) * walk, int64_t row, int64_t b,
                                         REAL beta)
{
    for (; walk->ready <= row; walk->ready++) {
        REAL *y = NAME(symmetric_target)(walk, walk->ready, b);
        if (beta == 0 || walk->ready >= walk->last)
            for (int64_t i = 0; i < b; i++)
                y[i] = 0;
        else
            for (int64_t i = 0; i < b; i++)
                y[i] *= beta;
    }
}

/* x_i for blocks that go by pairs of columns: with h = (b-1)/2,
 *     pairs[0 .. h-1]     rows 0,1  2,3 ...      for the left column
 *     pairs[h]            row b-1, row 0         for the vector that belongs to both
 *     pairs[h+1 .. 2h]    rows 1,2  3,4 ...      for the right column
 *     pairs[b]            row b-1, nothing       for the last scalar of the last column */
SIMD_INLINE void NAME(symmetric_factors)(V *pairs, const V *xi, const int b)
{
    const int h = (b - 1) / 2, second = W > 1 ? 1 : 0;
    if (!PAIRS(b)) {
        SIMD_UNROLL(8)
        for (int p = 0; p < PARTS(b); p++)
            pairs[p] = xi[p];
        return;
    }
    V right = {0};
    SIMD_UNROLL(4)
    for (int p = 0; p < h; p++) {
        pairs[p] = xi[p];
        right[0] = xi[p][second];
        right[second] = xi[p + 1][0];
        pairs[h + 1 + p] = right;
    }
    right[0] = xi[h][0];
    right[second] = xi[0][0];
    pairs[h] = right;
    pairs[b] = xi[h];
}

/* symmetric_block by pairs of columns. For 3 x 3 in vectors of two that takes 12 operations, where
 * columns one by one take 16, and saves as many loads. The sums across lanes begin with y_j. */
SIMD_INLINE void NAME(symmetric_block_pairs)(V *sums, const REAL *values, const V *pairs,
                                             const REAL *xj, REAL *yj, const int b)
{
    const int h = (b - 1) / 2, second = W > 1 ? 1 : 0;
    V d[W];
    SIMD_UNROLL(4)
    for (int q = 0; q + 2 <= b; q += 2) {
        const V factors = LOAD(xj + q), middle = LOAD(values + q * b + 2 * h);
        d[0] = LOAD_PART(yj + q, 1);
        d[second] = LOAD_PART(yj + q + 1, 1);
        sums[h] += middle * factors;
        SIMD_UNROLL(4)
        for (int p = 0; p < h; p++) {
            const V left = LOAD(values + q * b + 2 * p);
            const V right = LOAD(values + q * b + 2 * (h + 1 + p));
            sums[p] += left * factors[0];
            sums[h + 1 + p] += right * factors[second];
            d[0] += left * pairs[p];
            d[second] += right * pairs[h + 1 + p];
        }
        STORE(yj + q, SUMS(d) + middle * pairs[h]);
    }
    V *last = PAIR_SUMS(b) > b ? sums + b : sums;
    const REAL *column = values + (b - 1) * b;
    const V corner = LOAD_PART(column + b - 1, 1);
    d[0] = LOAD_PART(yj + b - 1, 1) + corner * pairs[b];
    last[h] += corner * xj[b - 1];
    SIMD_UNROLL(4)
    for (int p = 0; p < h; p++) {
        const V value = LOAD(column + 2 * p);
        last[p] += value * xj[b - 1];
        d[0] += value * pairs[p];
    }
    d[second] = d[0];
    STORE_PART(yj + b - 1, SUMS(d), 1);
}

/* sums += block * x_j and y_j += block' * x_i. */
SIMD_INLINE void NAME(symmetric_block)(V *sums, const REAL *values, const V *xi, const REAL *xj,
                                       REAL *yj, const int b)
{
    if (b > 1)
        simd_fetch(values, b * b * (int)sizeof(REAL));
    if (PAIRS(b)) {
        NAME(symmetric_block_pairs)(sums, values, xi, xj, yj, b);
        return;
    }
    const int parts = PARTS(b), rest = b % W;
    SIMD_UNROLL(8)
    for (int group = 0; group < parts; group++) {
        V d[W];
        SIMD_UNROLL(16)
        for (int lane = 0; lane < W; lane++) {
            const int q = group * W + lane;
            d[lane] = (V){0};
            SIMD_UNROLL(8)
            for (int p = 0; q < b && p < parts; p++) {
                const REAL *from = values + q * b + p * W;
                V value = p < parts - 1 || rest == 0 ? LOAD(from) : LOAD_PART(from, rest);
                sums[p] += value * xj[q];
                d[lane] = p == 0 ? value * xi[p] : d[lane] + value * xi[p];
            }
        }
        REAL *y = yj + group * W;
        if (group < parts - 1 || rest == 0)
            STORE(y, LOAD(y) + SUMS(d));
        else
            STORE_PART(y, LOAD_PART(y, rest) + SUMS(d), rest);
    }
}

/* Begins a row: scales x_i, clears the sums and does the block on the diagonal. Returns the
 * position of the first block beyond the diagonal. */
SIMD_INLINE int64_t NAME(symmetric_begin)(const tess_cpu_symmetric_args *args,
                                          NAME(symmetric_walk) * walk, int64_t row, V *sums, V *xi,
                                          const int b)
{
    const int parts = PARTS(b), rest = b % W;
    const REAL *x = (const REAL *)args->x + row * b;
    int64_t k = args->row_offsets[row], end = args->row_offsets[row + 1];
    NAME(symmetric_prepare)(walk, k < end ? args->columns[end - 1] : row, b, (REAL)args->beta);
    V scaled[8];
    SIMD_UNROLL(8)
    for (int p = 0; p < parts; p++) {
        V part = p < parts - 1 || rest == 0 ? LOAD(x + p * W) : LOAD_PART(x + p * W, rest);
        scaled[p] = part * (REAL)args->alpha;
    }
    NAME(symmetric_factors)(xi, scaled, b);
    const int count = SYMMETRIC_SUMS(b);
    SIMD_UNROLL(8)
    for (int p = 0; p < count; p++)
        sums[p] = (V){0};
    if (k == end || args->columns[k] != row)
        return k;
    const REAL *values = (const REAL *)args->values + k * b * b;
    if (PAIRS(b)) {
        NAME(block_pairs)(sums, values, x, b);
        return k + 1;
    }
    SIMD_UNROLL(8)
    for (int q = 0; q < b; q++) {
        SIMD_UNROLL(8)
        for (int p = 0; p < parts; p++) {
            const REAL *from = values + q * b + p * W;
            sums[p] += (p < parts - 1 || rest == 0 ? LOAD(from) : LOAD_PART(from, rest)) * x[q];
        }
    }
    return k + 1;
}

SIMD_INLINE void NAME(symmetric_finish)(REAL *y, V *sums, REAL alpha, const int b)
{
    const int parts = PARTS(b), rest = b % W;
    if (PAIRS(b))
        NAME(fold_pairs)(sums, b);
    SIMD_UNROLL(8)
    for (int p = 0; p < parts; p++) {
        if (p < parts - 1 || rest == 0)
            STORE(y + p * W, LOAD(y + p * W) + sums[p] * alpha);
        else
            STORE_PART(y + p * W, LOAD_PART(y + p * W, rest) + sums[p] * alpha, rest);
    }
}

/* `count` blocks of row i beyond the diagonal. */
SIMD_INLINE void NAME(symmetric_blocks)(V *sums, const V *xi, const NAME(symmetric_walk) * walk,
                                        const REAL *values, const int32_t *columns, const REAL *x,
                                        int64_t count, const int b)
{
    for (const int32_t *end = columns + count; columns < end; columns++) {
        int64_t j = *columns;
        NAME(symmetric_block)
        (sums, values, xi, x + j * b, NAME(symmetric_target)(walk, j, b), b);
        values += b * b;
    }
}

/* Some rows of one chunk. */
SIMD_INLINE void NAME(symmetric_rows)(const tess_cpu_symmetric_args *args,
                                      NAME(symmetric_walk) * walk, int64_t first, int64_t last,
                                      const int b)
{
    const REAL *values = args->values, *x = args->x;
    for (int64_t row = first; row < last; row++) {
        V sums[8], xi[8];
        int64_t k = NAME(symmetric_begin)(args, walk, row, sums, xi, b);
        NAME(symmetric_blocks)
        (sums, xi, walk, values + k * b * b, args->columns + k, x, args->row_offsets[row + 1] - k,
         b);
        NAME(symmetric_finish)(walk->y + row * b, sums, (REAL)args->alpha, b);
    }
}

/* One row of each chunk in lockstep, block by block, so that each thread reads several streams. */
SIMD_INLINE void NAME(symmetric_lockstep)(const tess_cpu_symmetric_args *args,
                                          const tess_cpu_chunk *chunks,
                                          NAME(symmetric_walk) * walks, int64_t steps, const int b,
                                          const int streams)
{
    const REAL *x = args->x;
    for (int64_t i = 0; i < steps; i++) {
        V sums[TESS_CPU_STREAMS][8], xi[TESS_CPU_STREAMS][8];
        int64_t count[TESS_CPU_STREAMS], common = INT64_MAX;
        const REAL *values[TESS_CPU_STREAMS];
        const int32_t *columns[TESS_CPU_STREAMS];
        SIMD_UNROLL(4)
        for (int s = 0; s < streams; s++) {
            int64_t row = chunks[s].first + i;
            int64_t k = NAME(symmetric_begin)(args, &walks[s], row, sums[s], xi[s], b);
            values[s] = (const REAL *)args->values + k * b * b;
            columns[s] = args->columns + k;
            count[s] = args->row_offsets[row + 1] - k;
            common = count[s] < common ? count[s] : common;
        }
        for (int64_t n = 0; n < common; n++) {
            SIMD_UNROLL(4)
            for (int s = 0; s < streams; s++) {
                int64_t j = *columns[s]++;
                NAME(symmetric_block)
                (sums[s], values[s], xi[s], x + j * b, NAME(symmetric_target)(&walks[s], j, b), b);
                values[s] += b * b;
            }
        }
        SIMD_UNROLL(4)
        for (int s = 0; s < streams; s++) {
            NAME(symmetric_blocks)
            (sums[s], xi[s], &walks[s], values[s], columns[s], x, count[s] - common, b);
            NAME(symmetric_finish)
            (walks[s].y + (chunks[s].first + i) * b, sums[s], (REAL)args->alpha, b);
        }
    }
}

#include "cpu/kernels/symmetric_spmv_any.inc.c"

SIMD_INLINE void NAME(symmetric_spmv)(const tess_cpu_symmetric_args *args,
                                      const tess_cpu_chunk *chunks, const int b, const int streams)
{
    NAME(symmetric_walk) walks[TESS_CPU_STREAMS];
    int64_t steps = streams == 1 ? 0 : INT64_MAX;
    for (int s = 0; s < streams; s++) {
        int64_t rows = chunks[s].stop - chunks[s].first;
        steps = rows < steps ? rows : steps;
        uintptr_t before = (uintptr_t)(chunks[s].last * (b ? b : args->block_size)) * sizeof(REAL);
        walks[s] = (NAME(symmetric_walk)){.y = args->y,
                                          .window = (REAL *)((uintptr_t)chunks[s].window - before),
                                          .last = chunks[s].last,
                                          .ready = chunks[s].ready};
    }
    if (streams > 1)
        NAME(symmetric_lockstep)(args, chunks, walks, steps, b, streams);
    for (int s = 0; s < streams; s++) {
        if (b == 0)
            NAME(symmetric_any_rows)(args, &walks[s], chunks[s].first + steps, chunks[s].stop);
        else
            NAME(symmetric_rows)(args, &walks[s], chunks[s].first + steps, chunks[s].stop, b);
        NAME(symmetric_prepare)
        (&walks[s], chunks[s].stop - 1, b ? b : args->block_size, (REAL)args->beta);
    }
}

#undef PAIRS
#undef PAIR_SUMS
#undef SYMMETRIC_SUMS
