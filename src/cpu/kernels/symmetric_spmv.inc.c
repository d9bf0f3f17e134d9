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
 * A chunk is a range of rows done by one thread alone. Rows j beyond it belong to other chunks:
 * what it has for them goes to its window, which the caller adds to y later, in the order of the
 * chunks. y and the window are initialised (beta y, 0) a row ahead of their first use, while in the
 * cache.
 */

#define PARTS(b) (((b) + W - 1) / W)

/* A chunk under way. */
typedef struct NAME(symmetric_walk) {
    REAL *y, *window; /* of row 0, of row `last` */
    int64_t last, ready;
} NAME(symmetric_walk);

/* Where the contributions to row j go. */
SIMD_INLINE REAL *NAME(symmetric_target)(const NAME(symmetric_walk) * walk, int64_t j, int64_t b)
{
    return j < walk->last ? walk->y + j * b : walk->window + (j - walk->last) * b;
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

/* sums += block * x_j and y_j += block' * x_i. */
SIMD_INLINE void NAME(symmetric_block)(V *sums, const REAL *values, const V *xi, const REAL *xj,
                                       REAL *yj, const int b)
{
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

/* Row i begins: x_i scaled, sums cleared, the block on the diagonal done. Returns the position of
 * the first block beyond the diagonal. */
SIMD_INLINE int64_t NAME(symmetric_begin)(const tess_cpu_symmetric_args *args,
                                          NAME(symmetric_walk) * walk, int64_t row, V *sums, V *xi,
                                          const int b)
{
    const int parts = PARTS(b), rest = b % W;
    const REAL *x = (const REAL *)args->x + row * b;
    int64_t k = args->row_offsets[row], end = args->row_offsets[row + 1];
    NAME(symmetric_prepare)(walk, k < end ? args->columns[end - 1] : row, b, (REAL)args->beta);
    SIMD_UNROLL(8)
    for (int p = 0; p < parts; p++) {
        V part = p < parts - 1 || rest == 0 ? LOAD(x + p * W) : LOAD_PART(x + p * W, rest);
        xi[p] = part * (REAL)args->alpha;
        sums[p] = (V){0};
    }
    if (k == end || args->columns[k] != row)
        return k;
    const REAL *values = (const REAL *)args->values + k * b * b;
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

SIMD_INLINE void NAME(symmetric_finish)(REAL *y, const V *sums, REAL alpha, const int b)
{
    const int parts = PARTS(b), rest = b % W;
    SIMD_UNROLL(8)
    for (int p = 0; p < parts; p++) {
        if (p < parts - 1 || rest == 0)
            STORE(y + p * W, LOAD(y + p * W) + sums[p] * alpha);
        else
            STORE_PART(y + p * W, LOAD_PART(y + p * W, rest) + sums[p] * alpha, rest);
    }
}

/* Rows first .. last-1 of one chunk. */
SIMD_INLINE void NAME(symmetric_rows)(const tess_cpu_symmetric_args *args,
                                      NAME(symmetric_walk) * walk, int64_t first, int64_t last,
                                      const int b)
{
    const REAL *values = args->values, *x = args->x;
    for (int64_t row = first; row < last; row++) {
        V sums[8], xi[8];
        int64_t k = NAME(symmetric_begin)(args, walk, row, sums, xi, b);
        for (; k < args->row_offsets[row + 1]; k++) {
            int64_t j = args->columns[k];
            NAME(symmetric_block)
            (sums, values + k * b * b, xi, x + j * b, NAME(symmetric_target)(walk, j, b), b);
        }
        NAME(symmetric_finish)(walk->y + row * b, sums, (REAL)args->alpha, b);
    }
}

/* One row of each chunk in step, block by block, so that each thread reads several streams. */
SIMD_INLINE void NAME(symmetric_lockstep)(const tess_cpu_symmetric_args *args,
                                          const tess_cpu_chunk *chunks,
                                          NAME(symmetric_walk) * walks, int64_t steps, const int b,
                                          const int streams)
{
    const REAL *values = args->values, *x = args->x;
    for (int64_t i = 0; i < steps; i++) {
        V sums[TESS_CPU_STREAMS][8], xi[TESS_CPU_STREAMS][8];
        int64_t at[TESS_CPU_STREAMS], end[TESS_CPU_STREAMS], common = INT64_MAX;
        SIMD_UNROLL(3)
        for (int s = 0; s < streams; s++) {
            int64_t row = chunks[s].first + i;
            at[s] = NAME(symmetric_begin)(args, &walks[s], row, sums[s], xi[s], b);
            end[s] = args->row_offsets[row + 1];
            common = end[s] - at[s] < common ? end[s] - at[s] : common;
        }
        for (int64_t n = 0; n < common; n++) {
            SIMD_UNROLL(3)
            for (int s = 0; s < streams; s++) {
                int64_t k = at[s] + n, j = args->columns[k];
                NAME(symmetric_block)
                (sums[s], values + k * b * b, xi[s], x + j * b,
                 NAME(symmetric_target)(&walks[s], j, b), b);
            }
        }
        SIMD_UNROLL(3)
        for (int s = 0; s < streams; s++) {
            for (int64_t k = at[s] + common; k < end[s]; k++) {
                int64_t j = args->columns[k];
                NAME(symmetric_block)
                (sums[s], values + k * b * b, xi[s], x + j * b,
                 NAME(symmetric_target)(&walks[s], j, b), b);
            }
            NAME(symmetric_finish)
            (walks[s].y + (chunks[s].first + i) * b, sums[s], (REAL)args->alpha, b);
        }
    }
}

/* Any block size: everything in memory. */
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
            const REAL *xj = x + j * b, *xi = x + row * b;
            REAL *yj = NAME(symmetric_target)(walk, j, b);
            for (int64_t q = 0; q < b; q++) {
                const REAL *column = (const REAL *)args->values + (k * b + q) * b;
                REAL sum = 0, right = alpha * xj[q];
                for (int64_t p = 0; p < b; p++) {
                    yi[p] += column[p] * right;
                    sum += column[p] * xi[p];
                }
                if (j != row)
                    yj[q] += alpha * sum;
            }
        }
    }
}

SIMD_INLINE void NAME(symmetric_spmv)(const tess_cpu_symmetric_args *args,
                                      const tess_cpu_chunk *chunks, const int b, const int streams)
{
    NAME(symmetric_walk) walks[TESS_CPU_STREAMS];
    int64_t steps = streams == 1 ? 0 : INT64_MAX;
    for (int s = 0; s < streams; s++) {
        int64_t rows = chunks[s].last - chunks[s].first;
        steps = rows < steps ? rows : steps;
        walks[s] = (NAME(symmetric_walk)){.y = args->y,
                                          .window = chunks[s].window,
                                          .last = chunks[s].last,
                                          .ready = chunks[s].first};
    }
    if (streams > 1)
        NAME(symmetric_lockstep)(args, chunks, walks, steps, b, streams);
    for (int s = 0; s < streams; s++) {
        if (b == 0)
            NAME(symmetric_any_rows)(args, &walks[s], chunks[s].first + steps, chunks[s].last);
        else
            NAME(symmetric_rows)(args, &walks[s], chunks[s].first + steps, chunks[s].last, b);
        NAME(symmetric_prepare)
        (&walks[s], chunks[s].last - 1, b ? b : args->block_size, (REAL)args->beta);
    }
}

#undef PARTS
