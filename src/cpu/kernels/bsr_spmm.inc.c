/* Y = alpha A X + beta Y for several vectors over a range of block rows, a template.
 *
 * Included like bsr_spmv.inc.c. It gives NAME(bsr_spmm)(args, first, last, r, c), always inlined:
 * templates.inc.c calls it with constants, one function for each line of kernels.def.
 *
 * The vectors of X lie side by side, so a SIMD vector holds one scalar row of W vectors. A tile is
 * the r rows of a block row for up to `most` SIMD vectors, summed in registers:
 *
 *     X   row col*c+q   | v0 v1 | v2 v3 | v4 v5 | v6 v7 |      W = 2, tile of 4
 *                           *       *       *       *
 *     A   a(i, q)         sums[i][0..3]  += a(i, q) * X(q)     one broadcast, `tile` products
 *
 * A block row is walked once for each tile; from the second on its values come from the cache. If k
 * is not a multiple of W, the last SIMD vector is loaded and stored by parts.
 */

/* Registers for sums: three quarters of all; the rest is for X and the broadcast. */
enum { NAME(spmm_sums) = SIMD_REGISTERS * 3 / 4, NAME(spmm_most) = 4 };

/* SIMD vectors of the widest tile of r rows. */
#define SPMM_MOST(r) ((r)*4 <= SIMD_REGISTERS * 3 / 4 ? 4 : (r)*2 <= SIMD_REGISTERS * 3 / 4 ? 2 : 1)
/* Sets of sums, which the columns of a block are added to in turn: two hide the latency of a
 * multiply-add in small tiles. */
#define SPMM_SETS(r, c, tile) ((c) >= 2 && 2 * (r) * (tile) <= SIMD_REGISTERS / 2 ? 2 : 1)

/* sum + right * scalar i of a block. Its `count` scalars lie one after the other (0: they do not).
 * Where a lane is as good a factor as a scalar, scalars are loaded as vectors. */
SIMD_INLINE V NAME(spmm_add)(V sum, V right, const REAL *values, const int64_t i, const int count)
{
    const int64_t first = i - i % W;
    if (!SIMD_LANE_FACTORS || count == 0)
        return sum + right * values[i];
    return ADD_LANE(sum, right,
                    first + W <= count ? LOAD(values + first)
                                       : LOAD_PART(values + first, count % W),
                    (int)(i % W));
}

/* sums[set][i][n] += block * x for all c columns, which are `stride` scalars apart; `count` is that
 * of spmm_add. The last SIMD vector is loaded whole or by parts. */
SIMD_INLINE void NAME(spmm_block)(V *sums, const REAL *values, int64_t stride, const int count,
                                  const REAL *x, int64_t x_row, const int height, const int c,
                                  const int tile, const int sets, int lanes, const bool whole)
{
    SIMD_UNROLL(8)
    for (int q = 0; q < c; q++) {
        V right[NAME(spmm_most)];
        SIMD_ADDRESS(x);
        SIMD_UNROLL(4)
        for (int n = 0; n < tile; n++) {
            const REAL *from = x + n * W;
            right[n] = whole || n < tile - 1 ? LOAD(from) : LOAD_PART(from, lanes);
        }
        x += x_row;
        SIMD_UNROLL(8)
        for (int i = 0; i < height; i++) {
            SIMD_UNROLL(4)
            for (int n = 0; n < tile; n++) {
                V *sum = &sums[(q % sets * height + i) * tile + n];
                *sum = NAME(spmm_add)(*sum, right[n], values, q * stride + i, count);
            }
        }
    }
}

/* y = sum + beta y for W (or `lanes`) vectors of one scalar row, which lie side by side; for
 * spmm_put_strided they are y_vector apart. */
SIMD_INLINE void NAME(spmm_put)(REAL *y, V sum, REAL beta, int lanes, const bool whole)
{
    if (beta != 0)
        sum += (whole ? LOAD(y) : LOAD_PART(y, lanes)) * beta;
    if (whole)
        STORE(y, sum);
    else
        STORE_PART(y, sum, lanes);
}

SIMD_INLINE void NAME(spmm_put_strided)(REAL *y, int64_t y_vector, V sum, REAL beta, int lanes)
{
    SIMD_UNROLL(1)
    for (int lane = 0; lane < lanes; lane++) {
        REAL *to = y + lane * y_vector;
        *to = beta == 0 ? sum[lane] : sum[lane] + beta * *to;
    }
}

SIMD_INLINE void NAME(spmm_finish)(V *sums, const tess_cpu_spmm_args *args, REAL *y, const int r,
                                   const int tile, const int sets, int lanes, const bool whole)
{
    const REAL alpha = (REAL)args->alpha, beta = (REAL)args->beta;
    SIMD_UNROLL(16)
    for (int i = 0; i < r * tile; i++) {
        if (sets == 2)
            sums[i] += sums[r * tile + i];
        sums[i] *= alpha;
    }
    if (args->y_vector == 1) {
        SIMD_UNROLL(16)
        for (int i = 0; i < r * tile; i++)
            NAME(spmm_put)
        (y + i / tile * args->y_row + i % tile * W, sums[i], beta, lanes,
         whole || i % tile < tile - 1);
        return;
    }
    V indexed[NAME(spmm_sums)]; /* a copy to index by a variable: the sums stay in registers */
    SIMD_UNROLL(16)
    for (int i = 0; i < r * tile; i++)
        indexed[i] = sums[i];
    for (int i = 0; i < r * tile; i++)
        NAME(spmm_put_strided)
    (y + i / tile * args->y_row + i % tile * W * args->y_vector, args->y_vector, indexed[i], beta,
     whole || i % tile < tile - 1 ? W : lanes);
}

/* Vectors v, v+1, ... of one block row. */
SIMD_INLINE void NAME(spmm_tile)(const tess_cpu_spmm_args *args, int64_t row, int64_t v,
                                 const int r, const int c, const int tile, int lanes,
                                 const bool whole)
{
    const int sets = SPMM_SETS(r, c, tile);
    const REAL *x = (const REAL *)args->x + v;
    const REAL *values = (const REAL *)args->values + args->row_offsets[row] * r * c;
    const int32_t *columns = args->columns + args->row_offsets[row];
    const int32_t *end = args->columns + args->row_offsets[row + 1];
    const int64_t x_row = args->x_row, x_block = c * x_row;
    V sums[NAME(spmm_sums)];
    SIMD_UNROLL(24)
    for (int i = 0; i < sets * r * tile; i++)
        sums[i] = (V){0};
    for (; columns < end; columns++, values += r * c)
        NAME(spmm_block)
    (sums, values, r, r * c, x + *columns * x_block, x_row, r, c, tile, sets, lanes, whole);
    NAME(spmm_finish)
    (sums, args, (REAL *)args->y + row * r * args->y_row + v * args->y_vector, r, tile, sets, lanes,
     whole);
}

SIMD_INLINE void NAME(spmm_rows)(const tess_cpu_spmm_args *args, int64_t first, int64_t last,
                                 const int r, const int c)
{
    const int most = SPMM_MOST(r);
    const int64_t vectors = args->vectors;
    for (int64_t row = first; row < last; row++) {
        int64_t v = 0;
        for (; v + most * W <= vectors; v += most * W)
            NAME(spmm_tile)(args, row, v, r, c, most, W, true);
        if (most > 2 && v + 2 * W <= vectors) {
            NAME(spmm_tile)(args, row, v, r, c, 2, W, true);
            v += 2 * W;
        }
        int left = (int)(vectors - v);
        if (left == W)
            NAME(spmm_tile)(args, row, v, r, c, 1, W, true);
        else if (most > 1 && left > W)
            NAME(spmm_tile)(args, row, v, r, c, 2, left - W, false);
        else if (left > 0)
            NAME(spmm_tile)(args, row, v, r, c, 1, left, false);
    }
}

/* Any block size: the sums of `spmm_panel` scalar rows for `spmm_group` vectors wait in memory
 * while the blocks stream by; each block adds to them tile by tile. */
enum {
    NAME(spmm_panel) = 64,
    NAME(spmm_group) = 32,
    NAME(spmm_height) = 4,
    NAME(spmm_wide) = SPMM_MOST(4)
};

SIMD_INLINE void NAME(spmm_any_tile)(REAL *sums, const REAL *values, int64_t r, int32_t c,
                                     const REAL *x, int64_t x_row, const int height, const int tile,
                                     int lanes, const bool whole)
{
    V acc[NAME(spmm_height) * NAME(spmm_most)];
    SIMD_UNROLL(4)
    for (int i = 0; i < height; i++) {
        SIMD_UNROLL(4)
        for (int n = 0; n < tile; n++)
            acc[i * tile + n] = LOAD(sums + i * NAME(spmm_group) + n * W);
    }
    for (int32_t q = 0; q < c; q++)
        NAME(spmm_block)
    (acc, values + q * r, r, 0, x + q * x_row, x_row, height, 1, tile, 1, lanes, whole);
    SIMD_UNROLL(4)
    for (int i = 0; i < height; i++) {
        SIMD_UNROLL(4)
        for (int n = 0; n < tile; n++)
            STORE(sums + i * NAME(spmm_group) + n * W, acc[i * tile + n]);
    }
}

/* `height` scalar rows of a block, all vectors of the group. */
SIMD_INLINE void NAME(spmm_any_block)(REAL *sums, const REAL *values, int64_t r, int32_t c,
                                      const REAL *x, int64_t x_row, int vectors, const int height)
{
    const int wide = NAME(spmm_wide);
    int v = 0;
    for (; v + wide * W <= vectors; v += wide * W)
        NAME(spmm_any_tile)(sums + v, values, r, c, x + v, x_row, height, wide, W, true);
    for (; v + W <= vectors; v += W)
        NAME(spmm_any_tile)(sums + v, values, r, c, x + v, x_row, height, 1, W, true);
    if (v < vectors)
        NAME(spmm_any_tile)(sums + v, values, r, c, x + v, x_row, height, 1, vectors - v, false);
}

/* Scalar rows top .. top+height-1 of one block row, vectors v .. v+count-1. */
static void NAME(spmm_any_panel)(const tess_cpu_spmm_args *args, int64_t row, int64_t top,
                                 int height, int64_t v, int count)
{
    const int64_t r = args->block_height, x_row = args->x_row;
    const int32_t c = args->block_width;
    REAL sums[NAME(spmm_panel) * NAME(spmm_group)];
    for (int i = 0; i < height * NAME(spmm_group); i++)
        sums[i] = 0;
    for (int64_t k = args->row_offsets[row]; k < args->row_offsets[row + 1]; k++) {
        const REAL *values = (const REAL *)args->values + k * r * c + top;
        const REAL *x = (const REAL *)args->x + (int64_t)args->columns[k] * c * x_row + v;
        int i = 0;
        for (; i + NAME(spmm_height) <= height; i += NAME(spmm_height))
            NAME(spmm_any_block)
        (sums + i * NAME(spmm_group), values + i, r, c, x, x_row, count, NAME(spmm_height));
        for (; i < height; i++)
            NAME(spmm_any_block)
        (sums + i * NAME(spmm_group), values + i, r, c, x, x_row, count, 1);
    }
    const REAL alpha = (REAL)args->alpha, beta = (REAL)args->beta;
    for (int i = 0; i < height; i++) {
        REAL *y = (REAL *)args->y + (row * r + top + i) * args->y_row + v * args->y_vector;
        for (int n = 0; n < count; n++, y += args->y_vector) {
            REAL sum = alpha * sums[i * NAME(spmm_group) + n];
            *y = beta == 0 ? sum : sum + beta * *y;
        }
    }
}

static void NAME(spmm_any_rows)(const tess_cpu_spmm_args *args, int64_t first, int64_t last)
{
    const int64_t r = args->block_height, vectors = args->vectors;
    for (int64_t row = first; row < last; row++) {
        for (int64_t v = 0; v < vectors; v += NAME(spmm_group)) {
            int64_t count = vectors - v < NAME(spmm_group) ? vectors - v : NAME(spmm_group);
            for (int64_t top = 0; top < r; top += NAME(spmm_panel)) {
                int64_t height = r - top < NAME(spmm_panel) ? r - top : NAME(spmm_panel);
                NAME(spmm_any_panel)(args, row, top, (int)height, v, (int)count);
            }
        }
    }
}

SIMD_INLINE void NAME(bsr_spmm)(const tess_cpu_spmm_args *args, int64_t first, int64_t last,
                                const int r, const int c)
{
    if (r == 0)
        NAME(spmm_any_rows)(args, first, last);
    else
        NAME(spmm_rows)(args, first, last, r, c);
}

#undef SPMM_MOST
#undef SPMM_SETS
