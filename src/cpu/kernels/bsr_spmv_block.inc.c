/* One block times its part of x, and the sums of a row: part of bsr_spmv.inc.c, which has the
 * picture. */

/* Accumulators of one row: `sets` columns in flight, to hide the latency of a fused multiply-add
 * where a column has few vectors. */
#define PARTS(r) (((r) + W - 1) / W)
#define SETS(r, c) \
    (PARTS(r) == 1 ? (c) >= 4 ? 4 : (c) >= 2 ? 2 : 1 : PARTS(r) <= 3 && (c) >= 2 ? 2 : 1)

/* Whether the c scalars of x that a block needs are loaded as vectors. Where a lane of a vector is
 * as good a factor as a scalar, that takes fewer loads, and loads are what limits small blocks in
 * cache. */
#define X_VECTORS(r, c) (SIMD_LANE_FACTORS && PARTS(r) <= 4 && (c) % W == 0 && (c) <= 8)

/* How many blocks ahead x is prefetched: about 6 KB of values, which take as long as an access to
 * memory. In lockstep x is always prefetched for large blocks, since the processor itself looks
 * less than one such block ahead. */
#define AHEAD(r, c) ((r) * (c) <= 25 ? 32 : (r) * (c) >= 400 ? 2 : 800 / ((r) * (c)))
#define LARGE_BLOCK(r, c) ((r) * (c) > 64)
/* Columns of a block that a stream reads before the next stream has its turn: all, or about one
 * kilobyte if a block has several. Streams that took turns by whole blocks of that size would be as
 * slow as one stream. */
#define TURN(r, c) ((r) * (c) > 512 && PARTS(r) > 4 ? 128 / (r) + 1 : (c))

/* Whether values are prefetched column by column; those of lower blocks, block by block. */
#define TALL(r) ((r) * (int)sizeof(REAL) >= 64)

/* Whether a block's scalars are read straight on, without regard to its columns. */
#define STRAIGHT(r, c) (W == 2 && (r) % 2 == 1 && (r) >= 3 && (r) <= 7 && (c) >= 2)
/* Whether blocks are scalars of which W fill a vector, which saves a third of the loads. Their sums
 * have an accumulator of their own. Short rows are done in another way: the branches for scalars
 * that fill no vector are hard to predict there, and cost more than is saved. */
#define SCALARS(r, c) (SIMD_LANE_FACTORS && (r) == 1 && (c) == 1)
/* Blocks of a row done at once. */
#define AT_ONCE(r, c) (SCALARS(r, c) ? W : STRAIGHT(r, c) && (c) % 2 == 1 ? 2 : 1)
/* Steps of AT_ONCE blocks that the kernel of one stream does without a branch between them: the
 * fewer branches a row has, the better its end is predicted. In cache 3 x 3 gained 3 %, 4 x 4
 * gained nothing. */
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

/* Where a stream is: its next block. Rows of a stream lie one after the other, so the place only
 * ever advances. Computing each row's place from the row offsets cost 4 to 10 % in cache. */
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

/* acc += block * x for columns first .. last-1: all columns, or some if there is one set of
 * accumulators. */
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

/* acc += AT_ONCE blocks, which are done in SEVERAL_TURNS turns: this is turn `turn`. */
#define SEVERAL_TURNS(r, c) (SCALARS(r, c) ? 1 : 2)
SIMD_INLINE void NAME(several)(V *acc, const REAL *values, const int32_t *columns, const REAL *x,
                               const int r, const int c, const int turn)
{
    if (SCALARS(r, c))
        NAME(scalars)(acc, values, columns, x);
    else
        NAME(block_of_two)(acc, values, columns, x, r, c, turn);
}

/* Does the first of a row's `count` blocks alone if the blocks after it are then aligned. It is
 * number k of the matrix. Returns how many blocks are left. */
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
