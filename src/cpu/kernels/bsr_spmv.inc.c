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
#include "cpu/kernels/bsr_spmv_block.inc.c"

/* Prefetches the part of x that the block `ahead` blocks further on needs. */
SIMD_INLINE void NAME(fetch)(const int32_t *columns, const REAL *x, const int c, const int ahead)
{
    const int cache_line = 64 / (int)sizeof(REAL);
    if (ahead == 0)
        return;
    const REAL *part = x + (int64_t)columns[ahead] * c;
    SIMD_UNROLL(4)
    for (int i = 0; i < c; i += cache_line)
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

/* Adds the next `at_once` blocks of a row, or the next one. */
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

/* Adds `count` blocks of a row. While enough are left, `steps` steps follow each other without a
 * branch. */
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

/* Where the ends of rows cost most, y = A x (alpha 1, beta 0) has code of its own, which gained 2 %
 * for 3 x 3 in cache. */
SIMD_INLINE void NAME(bsr_rows)(const tess_cpu_spmv_args *args, int64_t first, int64_t last,
                                const int r, const int c, const int at_once)
{
    if (STEPS(r, c) > 1 && args->alpha == 1 && args->beta == 0)
        NAME(rows_alone)(args, first, last, r, c, at_once, true);
    else
        NAME(rows_alone)(args, first, last, r, c, at_once, false);
}

/* The number of rows that all streams have, such that no prefetch `ahead` blocks on reads beyond
 * the last column of these rows. */
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

/* Stream s walks the rows bounds[s] .. bounds[s+1]-1. One row of each goes on in lockstep, block by
 * block or TURN columns by TURN columns. Rows that longer ranges have left go to `rest`, the kernel
 * of one stream. */
SIMD_INLINE void NAME(bsr_lockstep)(const tess_cpu_spmv_args *args, const int64_t *bounds,
                                    const int r, const int c, const int streams, const int at_once,
                                    const int ahead, tess_cpu_spmv_fn rest)
{
    const int64_t *row_offsets = args->row_offsets;
    const REAL *x = args->x;
    REAL *y = args->y;
    const REAL alpha = (REAL)args->alpha, beta = (REAL)args->beta;
    const int64_t rows = NAME(common_rows)(row_offsets, bounds, streams, ahead);
    const int turns = SEVERAL_TURNS(r, c);
    NAME(place) at[TESS_CPU_STREAMS];
    SIMD_UNROLL(4)
    for (int s = 0; s < streams; s++)
        at[s] = NAME(place_of)(args, bounds[s], r, c);
    for (int64_t i = 0; i < rows; i++) {
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
        if (bounds[s] + rows < bounds[s + 1])
            rest(args, (const int64_t[]){bounds[s] + rows, bounds[s + 1]});
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

/* `brief` is the kernel for short rows, where they are done in another way. It is a function of its
 * own, because with both forms in one function the compiler spilled registers. */
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
