/* y = alpha A x + beta y for any block size, a part of bsr_spmv.inc.c, which includes it. It gives
 * NAME(any_rows)(args, bounds, streams, rest).
 *
 * The sums of up to `panel` scalar rows wait in memory while the blocks stream by. A block of at
 * most `low` rows is done in strips of rows, whose sums stay in registers for all of its columns. A
 * higher block is done `group` columns at a time from top to bottom, so that it is read in the
 * order in which it is stored. Streams take turns block by block.
 */
enum { NAME(panel) = 256, NAME(group) = 4, NAME(low) = 8 * W };

/* sums += all c columns of `vectors` * W rows. */
SIMD_INLINE void NAME(any_strip)(REAL *sums, const REAL *values, const REAL *x, int64_t r,
                                 int32_t c, const int vectors)
{
    V acc[4];
    SIMD_UNROLL(4)
    for (int p = 0; p < vectors; p++)
        acc[p] = LOAD(sums + p * W);
    for (int32_t j = 0; j < c; j++) {
        SIMD_UNROLL(4)
        for (int p = 0; p < vectors; p++)
            acc[p] += LOAD(values + j * r + p * W) * x[j];
    }
    SIMD_UNROLL(4)
    for (int p = 0; p < vectors; p++)
        STORE(sums + p * W, acc[p]);
}

/* sums += rows 0..height-1 of all c columns, strip by strip. */
SIMD_INLINE void NAME(any_strips)(REAL *sums, const REAL *values, const REAL *x, int64_t r,
                                  int32_t c, int64_t height)
{
    int64_t i = 0;
    for (; i + 4 * W <= height; i += 4 * W)
        NAME(any_strip)(sums + i, values + i, x, r, c, 4);
    if (i + 2 * W <= height) {
        NAME(any_strip)(sums + i, values + i, x, r, c, 2);
        i += 2 * W;
    }
    if (i + W <= height) {
        NAME(any_strip)(sums + i, values + i, x, r, c, 1);
        i += W;
    }
    for (; i < height; i++) {
        REAL sum = sums[i];
        for (int32_t j = 0; j < c; j++)
            sum += values[j * r + i] * x[j];
        sums[i] = sum;
    }
}

/* sums += rows 0..height-1 of the `count` columns at `values`, which are r apart. */
SIMD_INLINE void NAME(any_columns)(REAL *sums, const REAL *values, const REAL *x, int64_t r,
                                   int64_t height, const int count)
{
    int64_t i = 0;
    for (; i + W <= height; i += W) {
        V acc = LOAD(sums + i);
        SIMD_UNROLL(4)
        for (int j = 0; j < count; j++)
            acc += LOAD(values + j * r + i) * x[j];
        STORE(sums + i, acc);
    }
    for (; i < height; i++) {
        SIMD_UNROLL(4)
        for (int j = 0; j < count; j++)
            sums[i] += values[j * r + i] * x[j];
    }
}

/* sums += rows 0..height-1 of the block at `values`, whose columns are r apart. */
static void NAME(any_block)(REAL *sums, const REAL *values, const REAL *x, int64_t r, int32_t c,
                            int64_t height)
{
    int32_t j = 0;
    if (height <= NAME(low)) {
        NAME(any_strips)(sums, values, x, r, c, height);
        return;
    }
    for (; j + NAME(group) <= c; j += NAME(group))
        NAME(any_columns)(sums, values + j * r, x + j, r, height, NAME(group));
    for (; j < c; j++)
        NAME(any_columns)(sums, values + j * r, x + j, r, height, 1);
}

/* Scalar rows top .. top+height-1 of one block row of each stream. */
SIMD_INLINE void NAME(any_panel)(const tess_cpu_spmv_args *args, const int64_t *rows, int64_t top,
                                 int64_t height, const int streams)
{
    const int64_t r = args->block_height, size = r * args->block_width;
    const int32_t c = args->block_width;
    const REAL alpha = (REAL)args->alpha, beta = (REAL)args->beta;
    REAL sums[TESS_CPU_STREAMS][NAME(panel)];
    int64_t longest = 0;
    for (int s = 0; s < streams; s++) {
        int64_t count = args->row_offsets[rows[s] + 1] - args->row_offsets[rows[s]];
        longest = count > longest ? count : longest;
        for (int64_t i = 0; i < height; i++)
            sums[s][i] = 0;
    }
    for (int64_t n = 0; n < longest; n++) {
        for (int s = 0; s < streams; s++) {
            int64_t k = args->row_offsets[rows[s]] + n;
            if (k < args->row_offsets[rows[s] + 1])
                NAME(any_block)
            (sums[s], (const REAL *)args->values + k * size + top,
             (const REAL *)args->x + (int64_t)args->columns[k] * c, r, c, height);
        }
    }
    for (int s = 0; s < streams; s++) {
        REAL *y = (REAL *)args->y + rows[s] * r + top;
        for (int64_t i = 0; i < height; i++)
            y[i] = beta == 0 ? alpha * sums[s][i] : alpha * sums[s][i] + beta * y[i];
    }
}

SIMD_INLINE void NAME(any_rows)(const tess_cpu_spmv_args *args, const int64_t *bounds,
                                const int streams, tess_cpu_spmv_fn rest)
{
    const int64_t r = args->block_height;
    const int64_t steps = NAME(common_rows)(args->row_offsets, bounds, streams, 0);
    for (int64_t i = 0; i < steps; i++) {
        int64_t rows[TESS_CPU_STREAMS];
        for (int s = 0; s < streams; s++)
            rows[s] = bounds[s] + i;
        for (int64_t top = 0; top < r; top += NAME(panel))
            NAME(any_panel)
        (args, rows, top, r - top < NAME(panel) ? r - top : NAME(panel), streams);
    }
    for (int s = 0; s < streams; s++)
        if (bounds[s] + steps < bounds[s + 1])
            rest(args, (const int64_t[]){bounds[s] + steps, bounds[s + 1]});
}
