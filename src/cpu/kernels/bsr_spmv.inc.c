/* y = alpha A x + beta y over ranges of block rows (paper 002, Algorithm 1), a template.
 *
 * Included once for each ISA and precision, with
 *     REAL, SUFFIX   double, f64 or float, f32
 *     W              lanes of a vector
 *     NAME(stem)     stem with the suffix, private to this expansion
 *     V, LOAD, LOAD_PART, STORE, STORE_PART   the vector layer for REAL
 * It gives NAME(bsr_spmv)(args, bounds, r, c, streams, ahead, rest, brief), always inlined:
 * templates.inc.c calls it with constants, one function for each line of kernels.def.
 *
 * A block is r x c, column-major. Its column j is `parts` vectors, the last one partly filled:
 *
 *     values  | column 0 . . | column 1 . . | column 2 . . | next block
 *     vectors  [  0  ][  1  ]                                r = 3, W = 2: parts = 2
 *                             [  0  ][  1  ]
 *
 * The last vector of a column may run over into the next column of the same block: its spare lanes
 * are never stored. Only where it would leave the block is it loaded by parts, so no access ever
 * leaves the block.
 *
 * Small odd heights on vectors of two are read straight on instead: bsr_spmv_straight.inc.c.
 *
 * Each row is summed in the same order whatever the number of streams, so that the choice of
 * kernel form and of threads never changes a bit of the result.
 */

/* Accumulators of one row: `sets` columns in flight, to hide the latency of a fused multiply-add
 * where a column has few vectors. */
#define PARTS(r) (((r) + W - 1) / W)
#define SETS(r, c) \
    (PARTS(r) == 1 ? (c) >= 4 ? 4 : (c) >= 2 ? 2 : 1 : PARTS(r) <= 3 && (c) >= 2 ? 2 : 1)

/* Whether the c scalars of x that a block needs are loaded as vectors: where a lane of one is as
 * good a factor as a scalar, that takes fewer loads, which is what limits small blocks in cache. */
#define X_VECTORS(r, c) (SIMD_LANE_FACTORS && PARTS(r) <= 4 && (c) % W == 0 && (c) <= 8)

/* Blocks between the one at work and the one whose part of x is fetched: about 6 KB of values, the
 * time of an access to memory. Blocks so large that the processor sees less than one of them ahead
 * always fetch. */
#define AHEAD(r, c) ((r) * (c) <= 25 ? 32 : (r) * (c) >= 400 ? 2 : 800 / ((r) * (c)))
#define LARGE_BLOCK(r, c) ((r) * (c) > 64)
/* Columns of a block that a stream reads before the next stream has its turn: all, or of blocks of
 * several kilobytes, of which one at a time would be as good as one stream, about one kilobyte. */
#define TURN(r, c) ((r) * (c) > 512 && PARTS(r) > 4 ? 128 / (r) + 1 : (c))

/* Whether values are fetched column by column, or by smaller blocks as a whole. */
#define TALL(r) ((r) * (int)sizeof(REAL) >= 64)

/* Whether a block's scalars are read straight on, without regard to its columns. */
#define STRAIGHT(r, c) (W == 2 && (r) % 2 == 1 && (r) >= 3 && (r) <= 7 && (c) >= 2)
/* Whether blocks are scalars of which W fill a vector, unless rows are short: that takes a third of
 * the loads away. Their sums have an accumulator of their own. In short rows the scalars that fill
 * no vector cost more, by branches that are hard to foresee. */
#define SCALARS(r, c) (SIMD_LANE_FACTORS && (r) == 1 && (c) == 1)
/* Blocks of a row done at once. */
#define AT_ONCE(r, c) (SCALARS(r, c) ? W : STRAIGHT(r, c) && (c) % 2 == 1 ? 2 : 1)
/* Steps of as many blocks that the kernel of one stream does without a branch between: the fewer
 * branches a row has, the sooner its end is foreseen. In cache 3 x 3 gained 3 %, 4 x 4 nothing. */
#define STEPS(r, c) (STRAIGHT(r, c) && (r) * (c) == 9 ? 6 : 1)
/* Accumulators of a row. */
#define ROW_SUMS(r, c) (STRAIGHT(r, c) ? (r) : SCALARS(r, c) ? 2 : PARTS(r) * SETS(r, c))

enum { NAME(accumulators) = 32 / W > 8 ? 32 / W : 8 };

/* What a block's columns are multiplied with: c scalars of x, in vectors if X_VECTORS. */
typedef struct NAME(factors) {
    const REAL *x;
    V vectors[8];
} NAME(factors);

SIMD_INLINE void NAME(load_factors)(NAME(factors) * factors, const REAL *x, const int r,
                                    const int c)
{
    factors->x = x;
    if (!X_VECTORS(r, c))
        return;
    SIMD_UNROLL(8)
    for (int i = 0; i < c; i += W)
        factors->vectors[i / W] = LOAD(x + i);
}

/* sum + a vector of column j * its factor. */
SIMD_INLINE V NAME(add_column)(V sum, V value, const NAME(factors) * factors, const int r,
                               const int c, const int j)
{
    if (!SIMD_LANE_FACTORS)
        return sum + value * factors->x[j];
    if (X_VECTORS(r, c))
        return ADD_LANE(sum, value, factors->vectors[j / W], j % W);
    return ADD_LANE(sum, value, LOAD_PART(factors->x + j, 1), 0);
}

/* acc += block * x for the columns j .. j+in_flight-1, one set of accumulators each; the last
 * vector of a column is loaded whole or by parts. */
SIMD_INLINE void NAME(column_sets)(V *acc, const REAL *values, const NAME(factors) * factors,
                                   const int r, const int c, const int j, const int in_flight,
                                   const bool whole)
{
    const int parts = PARTS(r);
    SIMD_UNROLL(4)
    for (int s = 0; s < in_flight; s++) {
        const REAL *column = values + (j + s) * r;
        if (TALL(r))
            simd_fetch(column, r * (int)sizeof(REAL));
        SIMD_UNROLL(32)
        for (int p = 0; p < parts; p++) {
            V value = p < parts - 1 || whole || r % W == 0 ? LOAD(column + p * W)
                                                           : LOAD_PART(column + p * W, r % W);
            acc[s * parts + p] = NAME(add_column)(acc[s * parts + p], value, factors, r, c, j + s);
        }
    }
}

/* The same for columns first .. last-1. A column of many vectors is work enough to overlap with the
 * next; unrolling more of them only makes the code larger. */
SIMD_INLINE void NAME(columns)(V *acc, const REAL *values, const NAME(factors) * factors,
                               const int r, const int c, const int sets, const int first,
                               const int last, const bool whole)
{
    if (PARTS(r) <= 4) {
        SIMD_UNROLL(8)
        for (int j = first; j < last; j += sets)
            NAME(column_sets)
        (acc, values, factors, r, c, j, last - j < sets ? last - j : sets, whole);
    } else {
        SIMD_UNROLL(2)
        for (int j = first; j < last; j++)
            NAME(column_sets)(acc, values, factors, r, c, j, 1, whole);
    }
}

/* Where a stream is: its next block. Rows of a stream lie one after the other, so that it only ever
 * goes on: computing each row's place from the row offsets cost 4 to 10 % in cache. */
typedef struct NAME(place) {
    const REAL *values;
    const int32_t *columns;
} NAME(place);

SIMD_INLINE NAME(place)
    NAME(place_of)(const tess_cpu_spmv_args *args, int64_t row, const int r, const int c)
{
    const int64_t k = args->row_offsets[row];
    return (NAME(place)){(const REAL *)args->values + k * r * c, args->columns + k};
}

SIMD_INLINE void NAME(go_on)(NAME(place) * at, int blocks, const int r, const int c)
{
    at->values += blocks * r * c;
    at->columns += blocks;
}

#include "cpu/kernels/bsr_spmv_straight.inc.c"

/* acc += block * x for columns first .. last-1: all, or with one set of accumulators some. */
SIMD_INLINE void NAME(block)(V *acc, const REAL *values, const REAL *x, const int r, const int c,
                             const int first, const int last)
{
    if (STRAIGHT(r, c)) {
        NAME(block_alone)(acc, values, x, r, c, 0);
        return;
    }
    if (!TALL(r) && r * c > 1)
        simd_fetch(values + first * r, (last - first) * r * (int)sizeof(REAL));
    const int sets = SETS(r, c);
    /* Columns whose last vector stays inside the block, rounded down to a multiple of sets. */
    const int inside = r * c >= PARTS(r) * W ? (r * c - PARTS(r) * W) / r + 1 : 0;
    const int whole = r % W == 0 ? c : inside - inside % sets;
    NAME(factors) factors;
    NAME(load_factors)(&factors, x, r, c);
    NAME(columns)(acc, values, &factors, r, c, sets, first, last < whole ? last : whole, true);
    NAME(columns)(acc, values, &factors, r, c, sets, first > whole ? first : whole, last, false);
}

/* acc[1] += W blocks of one scalar each. */
SIMD_INLINE void NAME(scalars)(V *acc, const REAL *values, const int32_t *columns, const REAL *x)
{
    V factors = {0};
    SIMD_UNROLL(4)
    for (int i = 0; i < W; i++)
        factors[i] = x[columns[i]];
    acc[1] += LOAD(values) * factors;
}

/* Turn `turn` of AT_ONCE blocks. */
#define SEVERAL_TURNS(r, c) (SCALARS(r, c) ? 1 : 2)
SIMD_INLINE void NAME(several)(V *acc, const REAL *values, const int32_t *columns, const REAL *x,
                               const int r, const int c, const int turn)
{
    if (SCALARS(r, c))
        NAME(scalars)(acc, values, columns, x);
    else
        NAME(block_of_two)(acc, values, columns, x, r, c, turn);
}

/* The first of a row's `count` blocks, number k of the matrix, alone if those after it are then
 * better placed: returns how many blocks are left. */
SIMD_INLINE int64_t NAME(lead)(V *acc, NAME(place) * at, const REAL *x, int64_t k, int64_t count,
                               const int r, const int c, const int at_once)
{
    if (at_once != 2 || SCALARS(r, c) || k % 2 == 0 || count == 0)
        return count;
    NAME(block_alone)(acc, at->values, x + (int64_t)*at->columns * c, r, c, 1);
    NAME(go_on)(at, 1, r, c);
    return count - 1;
}

SIMD_INLINE void NAME(clear)(V *acc, const int r, const int c)
{
    const int count = ROW_SUMS(r, c);
    SIMD_UNROLL(32)
    for (int i = 0; i < count; i++) {
        if (STRAIGHT(r, c))
            SIMD_CLEAR(acc[i]);
        else
            acc[i] = (V){0};
    }
}

/* y = alpha acc + beta y for one block row; `plain`: alpha is 1 and beta 0. */
SIMD_INLINE void NAME(finish)(V *acc, REAL alpha, REAL beta, REAL *y, const int r, const int c,
                              const int at_once, const bool plain)
{
    const int parts = PARTS(r), sets = SETS(r, c);
    if (STRAIGHT(r, c)) {
        NAME(fold_straight)(acc, r);
    } else if (at_once > 1) {
        SIMD_UNROLL(4)
        for (int i = 0; i < W; i++)
            acc[0][0] += acc[1][i];
    } else {
        SIMD_UNROLL(4)
        for (int s = 1; s < sets; s++) {
            SIMD_UNROLL(32)
            for (int p = 0; p < parts; p++)
                acc[p] += acc[s * parts + p];
        }
    }
    SIMD_UNROLL(32)
    for (int p = 0; p < parts; p++) {
        const bool part = p == parts - 1 && r % W != 0;
        V sum = plain ? acc[p] : acc[p] * alpha;
        if (!plain && beta != 0)
            sum += (part ? LOAD_PART(y + p * W, r % W) : LOAD(y + p * W)) * beta;
        if (part)
            STORE_PART(y + p * W, sum, r % W);
        else
            STORE(y + p * W, sum);
    }
}

/* Asks for the part of x that the block `ahead` blocks on will need. */
SIMD_INLINE void NAME(fetch)(const int32_t *columns, const REAL *x, const int c, const int ahead)
{
    const int line = 64 / (int)sizeof(REAL);
    if (ahead == 0)
        return;
    const REAL *part = x + (int64_t)columns[ahead] * c;
    SIMD_UNROLL(4)
    for (int i = 0; i < c; i += line)
        __builtin_prefetch(part + i);
    if (c > 1)
        __builtin_prefetch(part + c - 1);
}

SIMD_INLINE void NAME(fetch_several)(const int32_t *columns, const REAL *x, const int c,
                                     const int at_once, const int ahead)
{
    SIMD_UNROLL(4)
    for (int i = 0; i < at_once; i++)
        NAME(fetch)(columns + i, x, c, ahead);
}

/* The next `at_once` blocks of a row, or the next one. */
SIMD_INLINE void NAME(step)(V *acc, NAME(place) * at, const REAL *x, const int r, const int c,
                            const int at_once, const int ahead)
{
    const int turns = SEVERAL_TURNS(r, c);
    NAME(fetch_several)(at->columns, x, c, at_once, ahead);
    if (at_once == 1)
        NAME(block)(acc, at->values, x + (int64_t)*at->columns * c, r, c, 0, c);
    SIMD_UNROLL(2)
    for (int turn = 0; at_once > 1 && turn < turns; turn++)
        NAME(several)(acc, at->values, at->columns, x, r, c, turn);
    NAME(go_on)(at, at_once, r, c);
}

/* `count` blocks of a row, `steps` steps without a branch between them while there are as many. */
SIMD_INLINE void NAME(blocks)(V *acc, NAME(place) * at, const REAL *x, int64_t count, const int r,
                              const int c, const int at_once, const int steps, const int ahead)
{
    for (; steps > 1 && count >= steps * at_once; count -= steps * at_once) {
        SIMD_UNROLL(8)
        for (int i = 0; i < steps; i++)
            NAME(step)(acc, at, x, r, c, at_once, ahead);
    }
    for (; at_once > 1 && count >= at_once; count -= at_once)
        NAME(step)(acc, at, x, r, c, at_once, ahead);
    for (; count > 0; count--)
        NAME(step)(acc, at, x, r, c, 1, ahead);
}

SIMD_INLINE void NAME(rows_alone)(const tess_cpu_spmv_args *args, int64_t first, int64_t last,
                                  const int r, const int c, const int at_once, const bool plain)
{
    const int64_t *row_offsets = args->row_offsets;
    const REAL *x = args->x;
    REAL *y = args->y;
    const REAL alpha = (REAL)args->alpha, beta = (REAL)args->beta;
    NAME(place) at = NAME(place_of)(args, first, r, c);
    for (int64_t row = first; row < last; row++) {
        V acc[NAME(accumulators)];
        int64_t k = row_offsets[row], count = row_offsets[row + 1] - k;
        NAME(clear)(acc, r, c);
        count = NAME(lead)(acc, &at, x, k, count, r, c, at_once);
        NAME(blocks)(acc, &at, x, count, r, c, at_once, STEPS(r, c), 0);
        NAME(finish)(acc, alpha, beta, y + row * r, r, c, at_once, plain);
    }
}

/* Where the ends of rows count most, those of y = A x have code of their own: in cache 3 x 3 gained
 * 2 %. */
SIMD_INLINE void NAME(bsr_rows)(const tess_cpu_spmv_args *args, int64_t first, int64_t last,
                                const int r, const int c, const int at_once)
{
    if (STEPS(r, c) > 1 && args->alpha == 1 && args->beta == 0)
        NAME(rows_alone)(args, first, last, r, c, at_once, true);
    else
        NAME(rows_alone)(args, first, last, r, c, at_once, false);
}

/* Rows that all streams have, of which no block has its `ahead`th next one beyond the last column
 * of these rows. */
SIMD_INLINE int64_t NAME(common_rows)(const int64_t *row_offsets, const int64_t *bounds,
                                      const int streams, const int ahead)
{
    int64_t rows = bounds[1] - bounds[0];
    for (int s = 1; s < streams; s++)
        rows = bounds[s + 1] - bounds[s] < rows ? bounds[s + 1] - bounds[s] : rows;
    if (ahead > 0)
        while (rows > 0 &&
               row_offsets[bounds[streams - 1] + rows] + ahead > row_offsets[bounds[streams]])
            rows--;
    return rows;
}

/* Stream s walks the rows bounds[s] .. bounds[s+1]-1: one row of each in step, block by block or
 * TURN columns by TURN columns. What the longer ranges have left goes to `rest`, the kernel of one
 * stream. */
SIMD_INLINE void NAME(bsr_lockstep)(const tess_cpu_spmv_args *args, const int64_t *bounds,
                                    const int r, const int c, const int streams, const int at_once,
                                    const int ahead, tess_cpu_spmv_fn rest)
{
    const int64_t *row_offsets = args->row_offsets;
    const REAL *x = args->x;
    REAL *y = args->y;
    const REAL alpha = (REAL)args->alpha, beta = (REAL)args->beta;
    const int64_t steps = NAME(common_rows)(row_offsets, bounds, streams, ahead);
    const int turns = SEVERAL_TURNS(r, c);
    NAME(place) at[TESS_CPU_STREAMS];
    SIMD_UNROLL(4)
    for (int s = 0; s < streams; s++)
        at[s] = NAME(place_of)(args, bounds[s], r, c);
    for (int64_t i = 0; i < steps; i++) {
        V acc[TESS_CPU_STREAMS][NAME(accumulators)];
        int64_t count[TESS_CPU_STREAMS], common = INT64_MAX;
        SIMD_UNROLL(4)
        for (int s = 0; s < streams; s++) {
            const int64_t *offsets = row_offsets + bounds[s] + i;
            NAME(clear)(acc[s], r, c);
            count[s] =
                NAME(lead)(acc[s], &at[s], x, offsets[0], offsets[1] - offsets[0], r, c, at_once);
            common = count[s] < common ? count[s] : common;
        }
        int64_t done = 0;
        for (; at_once > 1 && done + at_once <= common; done += at_once) {
            SIMD_UNROLL(2)
            for (int turn = 0; turn < turns; turn++) {
                SIMD_UNROLL(4)
                for (int s = 0; s < streams; s++) {
                    if (turn == 0)
                        NAME(fetch_several)(at[s].columns, x, c, at_once, ahead);
                    NAME(several)(acc[s], at[s].values, at[s].columns, x, r, c, turn);
                }
            }
            SIMD_UNROLL(4)
            for (int s = 0; s < streams; s++)
                NAME(go_on)(&at[s], at_once, r, c);
        }
        for (; at_once == 1 && done < common; done++) {
            for (int j = 0; j < c; j += TURN(r, c)) {
                SIMD_UNROLL(4)
                for (int s = 0; s < streams; s++) {
                    const int end = c - j < TURN(r, c) ? c : j + TURN(r, c);
                    if (j == 0)
                        NAME(fetch)(at[s].columns, x, c, ahead);
                    NAME(block)
                    (acc[s], at[s].values, x + (int64_t)*at[s].columns * c, r, c, j, end);
                }
            }
            SIMD_UNROLL(4)
            for (int s = 0; s < streams; s++)
                NAME(go_on)(&at[s], 1, r, c);
        }
        SIMD_UNROLL(4)
        for (int s = 0; s < streams; s++) {
            NAME(blocks)(acc[s], &at[s], x, count[s] - done, r, c, at_once, 1, ahead);
            NAME(finish)(acc[s], alpha, beta, y + (bounds[s] + i) * r, r, c, at_once, false);
        }
    }
    for (int s = 0; s < streams; s++)
        if (bounds[s] + steps < bounds[s + 1])
            rest(args, (const int64_t[]){bounds[s] + steps, bounds[s + 1]});
}

#include "cpu/kernels/bsr_spmv_any.inc.c"

/* Blocks of a fixed size. */
SIMD_INLINE void NAME(fixed_rows)(const tess_cpu_spmv_args *args, const int64_t *bounds,
                                  const int r, const int c, const int streams, const int at_once,
                                  const bool ahead, tess_cpu_spmv_fn rest)
{
    if (streams == 1)
        NAME(bsr_rows)(args, bounds[0], bounds[1], r, c, at_once);
    else
        NAME(bsr_lockstep)
    (args, bounds, r, c, streams, at_once, ahead || LARGE_BLOCK(r, c) ? AHEAD(r, c) : 0, rest);
}

/* `brief` is the same kernel for short rows where those are done otherwise: a function of its own,
 * because both forms in one made the compiler spill. */
SIMD_INLINE void NAME(bsr_spmv)(const tess_cpu_spmv_args *args, const int64_t *bounds, const int r,
                                const int c, const int streams, const bool ahead,
                                tess_cpu_spmv_fn rest, tess_cpu_spmv_fn brief)
{
    if (r == 0)
        NAME(any_rows)(args, bounds, streams, rest);
    else if (SCALARS(r, c) && args->short_rows)
        brief(args, bounds);
    else
        NAME(fixed_rows)(args, bounds, r, c, streams, AT_ONCE(r, c), ahead, rest);
}
