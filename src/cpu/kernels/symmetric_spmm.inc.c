/* Y = alpha A X + beta Y for several vectors and a symmetric matrix of which the blocks on and
 * above the diagonal are stored, a template.
 *
 * Included like bsr_spmv.inc.c, after bsr_spmm.inc.c and symmetric_spmv.inc.c. It gives
 * NAME(symmetric_spmm)(args, chunk, b), always inlined: templates.inc.c calls it with constants,
 * one function for each line of kernels.def.
 *
 * The vectors lie side by side, as in bsr_spmm.inc.c; chunks and windows are those of
 * symmetric_spmv.inc.c, with `vectors` scalars where that has one. Each a(p, q) of a block (i, j)
 * is used twice, for up to `tile` SIMD vectors:
 *
 *     sums[p][0..tile-1] += a(p, q) * X_j(q)       Y_i, in registers for the whole row
 *     t[0..tile-1]       += a(p, q) * X_i(p)       Y_j(q), from memory and back for each column q
 */

/* SIMD vectors of a tile: sums and X_i of all rows, X_j and Y_j of one. */
#define SYMMETRIC_TILE(b) ((2 * (b) + 2) * 2 <= SIMD_REGISTERS * 3 / 4 ? 2 : 1)

/* A chunk under way. */
typedef struct NAME(symmetric_vectors) {
    REAL *y, *window; /* where row 0 is, or would be */
    int64_t y_row, window_row;
    int64_t last, ready;
} NAME(symmetric_vectors);

/* Returns where the contributions to block row j go. Its scalar rows are `stride` apart there. */
SIMD_INLINE REAL *NAME(symmetric_rows_of)(const NAME(symmetric_vectors) * walk, int64_t j,
                                          int64_t b, int64_t *stride)
{
    *stride = j < walk->last ? walk->y_row : walk->window_row;
    return (j < walk->last ? walk->y : walk->window) + j * b * *stride;
}

/* Rows up to `row` get their initial value. */
SIMD_INLINE void NAME(symmetric_prepare_vectors)(NAME(symmetric_vectors) * walk, int64_t row,
                                                 int64_t b, int64_t vectors, REAL beta)
{
    for (; walk->ready <= row; walk->ready++) {
        int64_t stride;
        REAL *y = NAME(symmetric_rows_of)(walk, walk->ready, b, &stride);
        const REAL factor = walk->ready < walk->last ? beta : 0;
        for (int64_t q = 0; q < b; q++)
            for (int64_t v = 0; v < vectors; v++)
                y[q * stride + v] = factor == 0 ? 0 : factor * y[q * stride + v];
    }
}

SIMD_INLINE V NAME(load_some)(const REAL *from, int lanes, const bool whole)
{
    return whole ? LOAD(from) : LOAD_PART(from, lanes);
}

SIMD_INLINE void NAME(store_some)(REAL *to, V value, int lanes, const bool whole)
{
    if (whole)
        STORE(to, value);
    else
        STORE_PART(to, value, lanes);
}

/* sums += block * X_j and Y_j += block' * X_i. */
SIMD_INLINE void NAME(symmetric_tile_block)(V *sums, const V *xi, const REAL *values,
                                            const REAL *xj, int64_t x_row, REAL *yj, int64_t y_row,
                                            const int b, const int tile, int lanes,
                                            const bool whole)
{
    SIMD_UNROLL(8)
    for (int q = 0; q < b; q++) {
        V right[2], t[2];
        SIMD_UNROLL(2)
        for (int n = 0; n < tile; n++) {
            right[n] = NAME(load_some)(xj + q * x_row + n * W, lanes, whole || n < tile - 1);
            t[n] = NAME(load_some)(yj + q * y_row + n * W, lanes, whole || n < tile - 1);
        }
        SIMD_UNROLL(8)
        for (int p = 0; p < b; p++) {
            SIMD_UNROLL(2)
            for (int n = 0; n < tile; n++) {
                V *sum = &sums[p * tile + n];
                *sum = NAME(spmm_add)(*sum, right[n], values, q * b + p, b * b);
                t[n] = NAME(spmm_add)(t[n], xi[p * tile + n], values, q * b + p, b * b);
            }
        }
        SIMD_UNROLL(2)
        for (int n = 0; n < tile; n++)
            NAME(store_some)(yj + q * y_row + n * W, t[n], lanes, whole || n < tile - 1);
    }
}

/* Vectors v, v+1, ... of one block row. */
SIMD_INLINE void NAME(symmetric_tile)(const tess_cpu_symmetric_spmm_args *args,
                                      const NAME(symmetric_vectors) * walk, int64_t row, int64_t v,
                                      const int b, const int tile, int lanes, const bool whole)
{
    const REAL *values = args->values, *x = (const REAL *)args->x + v;
    const REAL alpha = (REAL)args->alpha;
    const int64_t x_row = args->x_row;
    V sums[16], xi[16];
    SIMD_UNROLL(16)
    for (int i = 0; i < b * tile; i++) {
        const REAL *from = x + (row * b + i / tile) * x_row + i % tile * W;
        xi[i] = NAME(load_some)(from, lanes, whole || i % tile < tile - 1) * alpha;
        sums[i] = (V){0};
    }
    for (int64_t k = args->row_offsets[row]; k < args->row_offsets[row + 1]; k++) {
        const int64_t j = args->columns[k];
        const REAL *block = values + k * b * b, *xj = x + j * b * x_row;
        int64_t y_row;
        REAL *yj = NAME(symmetric_rows_of)(walk, j, b, &y_row) + v;
        if (j == row)
            NAME(spmm_block)(sums, block, b, b * b, xj, x_row, b, b, tile, 1, lanes, whole);
        else
            NAME(symmetric_tile_block)
        (sums, xi, block, xj, x_row, yj, y_row, b, tile, lanes, whole);
    }
    REAL *y = walk->y + row * b * walk->y_row + v;
    SIMD_UNROLL(16)
    for (int i = 0; i < b * tile; i++) {
        REAL *to = y + i / tile * walk->y_row + i % tile * W;
        const bool full = whole || i % tile < tile - 1;
        NAME(store_some)(to, NAME(load_some)(to, lanes, full) + sums[i] * alpha, lanes, full);
    }
}

SIMD_INLINE void NAME(symmetric_row_vectors)(const tess_cpu_symmetric_spmm_args *args,
                                             const NAME(symmetric_vectors) * walk, int64_t row,
                                             const int b)
{
    const int tile = SYMMETRIC_TILE(b);
    const int64_t vectors = args->vectors;
    int64_t v = 0;
    for (; v + tile * W <= vectors; v += tile * W)
        NAME(symmetric_tile)(args, walk, row, v, b, tile, W, true);
    if (tile > 1 && v + W <= vectors) {
        NAME(symmetric_tile)(args, walk, row, v, b, 1, W, true);
        v += W;
    }
    if (v < vectors)
        NAME(symmetric_tile)(args, walk, row, v, b, 1, (int)(vectors - v), false);
}

/* Any block size, everything in memory. */
static void NAME(symmetric_any_vectors)(const tess_cpu_symmetric_spmm_args *args,
                                        const NAME(symmetric_vectors) * walk, int64_t row)
{
    const int64_t b = args->block_size, x_row = args->x_row;
    const REAL alpha = (REAL)args->alpha, *x = args->x;
    REAL *yi = walk->y + row * b * walk->y_row;
    for (int64_t k = args->row_offsets[row]; k < args->row_offsets[row + 1]; k++) {
        const int64_t j = args->columns[k];
        int64_t y_row;
        REAL *yj = NAME(symmetric_rows_of)(walk, j, b, &y_row);
        for (int64_t q = 0; q < b; q++) {
            for (int64_t p = 0; p < b; p++) {
                const REAL a = alpha * ((const REAL *)args->values)[(k * b + q) * b + p];
                const REAL *xj = x + (j * b + q) * x_row, *xi = x + (row * b + p) * x_row;
                for (int64_t v = 0; v < args->vectors; v++)
                    yi[p * walk->y_row + v] += a * xj[v];
                for (int64_t v = 0; j != row && v < args->vectors; v++)
                    yj[q * y_row + v] += a * xi[v];
            }
        }
    }
}

SIMD_INLINE void NAME(symmetric_spmm)(const tess_cpu_symmetric_spmm_args *args,
                                      const tess_cpu_chunk *chunk, const int b)
{
    const int64_t size = b ? b : args->block_size, vectors = args->vectors;
    const uintptr_t before = (uintptr_t)(chunk->last * size * vectors) * sizeof(REAL);
    NAME(symmetric_vectors)
    walk = {.y = args->y,
            .window = (REAL *)((uintptr_t)chunk->window - before),
            .y_row = args->y_row,
            .window_row = vectors,
            .last = chunk->last,
            .ready = chunk->first};
    for (int64_t row = chunk->first; row < chunk->last; row++) {
        int64_t begin = args->row_offsets[row], end = args->row_offsets[row + 1];
        NAME(symmetric_prepare_vectors)
        (&walk, begin < end ? args->columns[end - 1] : row, size, vectors, (REAL)args->beta);
        if (b == 0)
            NAME(symmetric_any_vectors)(args, &walk, row);
        else
            NAME(symmetric_row_vectors)(args, &walk, row, b);
    }
    NAME(symmetric_prepare_vectors)(&walk, chunk->last - 1, size, vectors, (REAL)args->beta);
}

#undef SYMMETRIC_TILE
