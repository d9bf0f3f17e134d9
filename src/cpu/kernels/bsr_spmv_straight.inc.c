/* Blocks of small odd height on vectors of two, read straight on: part of bsr_spmv.inc.c.
 *
 * There are no spare lanes. Where a block has an odd number of scalars, two blocks are read at
 * once, so that every vector is aligned: one in four unaligned vectors spans two cache lines. A
 * vector may belong to two columns or two blocks; its factors are then two scalars of x:
 *
 *     rows of the values    0 1 2 0 1 2 0 1 2 | 0 1 2 0 1 2 0 1 2      r = 3, two blocks
 *     vectors               [ ] [ ] [ ] [ ] [ . ] [ ] [ ] [ ] [ ]
 *
 * Vectors that begin with the same row add to one accumulator: acc[i] has rows i and (i+1) % r.
 */

/* acc += block * x, straight on: the vectors begin with scalar `first` of the block, 0 or 1. x is
 * loaded by pairs too, from column `first` on: a vector of two columns is multiplied with such a
 * pair. The column without a partner, the last or the first, has its factor in a lane of
 * `single`. */
SIMD_INLINE void NAME(block_straight)(V *acc, const REAL *values, const REAL *x, const int r,
                                      const int c, const int first, const V single, const int lane)
{
    const int second = W > 1 ? 1 : 0;
    SIMD_UNROLL(32)
    for (int i = first; i + 2 <= r * c; i += 2) {
        const int row = i % r, column = i / r, pair = column - (column + first) % 2;
        const V value = LOAD(values + i);
        if (pair < 0 || pair + 1 == c)
            acc[row] = ADD_LANE(acc[row], value, single, lane);
        else if (row == r - 1)
            acc[row] = ADD_PRODUCT(acc[row], value, LOAD(x + pair));
        else
            acc[row] = ADD_LANE(acc[row], value, LOAD(x + pair), column == pair ? 0 : second);
    }
}

/* The same for a block by itself, where one scalar may be in no vector. */
SIMD_INLINE void NAME(block_alone)(V *acc, const REAL *values, const REAL *x, const int r,
                                   const int c, const int first)
{
    const V single = LOAD_PART(x + (first == 1 ? 0 : c - 1), 1);
    if (first == 1)
        acc[0] += LOAD_PART(values, 1) * single;
    NAME(block_straight)(acc, values, x, r, c, first, single, 0);
    if (first == 0 && r * c % 2 == 1)
        acc[r - 1] += LOAD_PART(values + r * c - 1, 1) * single;
}

/* acc += one of two blocks of an odd number of scalars; the vector between them, which belongs to
 * both, goes with the second. */
SIMD_INLINE void NAME(block_of_two)(V *acc, const REAL *values, const int32_t *columns,
                                    const REAL *x, const int r, const int c, const int number)
{
    const REAL *x0 = simd_row(x, columns[0], c * (int)sizeof *x);
    const REAL *x1 = simd_row(x, columns[1], c * (int)sizeof *x);
    const int second = W > 1 ? 1 : 0;
    V between = LOAD_PART(x0 + c - 1, 1);
    between[second] = x1[0];
    SIMD_WHOLE(between);
    if (number == 0) {
        NAME(block_straight)(acc, values, x0, r, c, 0, between, 0);
        return;
    }
    acc[r - 1] = ADD_PRODUCT(acc[r - 1], LOAD(values + r * c - 1), between);
    NAME(block_straight)(acc, values + r * c, x1, r, c, 1, between, second);
}

/* Brings the accumulators of blocks read straight on together in acc[0 .. r/2], rows 0,1 2,3 ... In
 * cache the time goes with the number of vector registers written: an instruction that writes none
 * is free, and one more load or operation per pair of 3 x 3 blocks costs 2 to 3 %. Here and in
 * `clear` half of the writes were saved, which gained 1 %. */
SIMD_INLINE void NAME(fold_straight)(V *acc, const int r)
{
    V sums[8];
    SIMD_UNROLL(4)
    for (int p = 0; p <= r / 2; p++)
        sums[p] = acc[2 * p] + BETWEEN(acc[(2 * p + r - 1) % r], acc[(2 * p + 1) % r]);
    SIMD_UNROLL(4)
    for (int p = 0; p <= r / 2; p++)
        acc[p] = sums[p];
}
