/* Half storage with blocks of any size: part of symmetric_spmv.inc.c. */

/* `count` columns of a block, b apart: yi += columns * right, and yj[q] += alpha * column q . xi;
 * yj is NULL on the diagonal. */
SIMD_INLINE void NAME(symmetric_any_columns)(REAL *yi, REAL *yj, const REAL *values, const REAL *xi,
                                             const REAL *xj, REAL alpha, int64_t b, const int count)
{
    REAL right[4], sums[4];
    V across, down[4];
    int64_t i = 0;
    SIMD_UNROLL(4)
    for (int q = 0; q < count; q++) {
        right[q] = alpha * xj[q];
        down[q] = (V){0};
    }
    for (; i + W <= b; i += W) {
        across = LOAD(yi + i);
        SIMD_UNROLL(4)
        for (int q = 0; q < count; q++) {
            const V value = LOAD(values + q * b + i);
            across += value * right[q];
            down[q] += value * LOAD(xi + i);
        }
        STORE(yi + i, across);
    }
    SIMD_UNROLL(4)
    for (int q = 0; q < count; q++) {
        sums[q] = 0;
        SIMD_UNROLL(16)
        for (int l = 0; l < W; l++)
            sums[q] += down[q][l];
        for (int64_t p = i; p < b; p++) {
            yi[p] += values[q * b + p] * right[q];
            sums[q] += values[q * b + p] * xi[p];
        }
    }
    SIMD_UNROLL(4)
    for (int q = 0; yj && q < count; q++)
        yj[q] += alpha * sums[q];
}

/* Any block size: the sums in memory, four columns at a time. */
static void NAME(symmetric_any_rows)(const tess_cpu_symmetric_args *args,
                                     NAME(symmetric_walk) * walk, int64_t first, int64_t last)
{
    const int64_t b = args->block_size;
    const REAL *x = args->x, alpha = (REAL)args->alpha;
    for (int64_t row = first; row < last; row++) {
        int64_t begin = args->row_offsets[row], end = args->row_offsets[row + 1];
        NAME(symmetric_prepare)
        (walk, begin < end ? args->columns[end - 1] : row, b, (REAL)args->beta);
        REAL *yi = walk->y + row * b;
        for (int64_t k = begin; k < end; k++) {
            const int64_t j = args->columns[k];
            const REAL *values = (const REAL *)args->values + k * b * b;
            const REAL *xj = x + j * b, *xi = x + row * b;
            REAL *yj = j == row ? NULL : NAME(symmetric_target)(walk, j, b);
            int64_t q = 0;
            for (; q + 4 <= b; q += 4)
                NAME(symmetric_any_columns)
            (yi, yj ? yj + q : NULL, values + q * b, xi, xj + q, alpha, b, 4);
            for (; q < b; q++)
                NAME(symmetric_any_columns)
            (yi, yj ? yj + q : NULL, values + q * b, xi, xj + q, alpha, b, 1);
        }
    }
}
