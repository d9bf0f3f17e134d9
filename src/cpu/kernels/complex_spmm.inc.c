/* Y = alpha A X + beta Y for complex blocks and k vectors side by side, a template.
 *
 * Included as complex_spmv.inc.c is, after it. It gives NAME(complex_spmm)(args, first, last, r,
 * c), always inlined; r = 0: any block size.
 *
 * A row of X is 2 k reals, real and imaginary parts in turn. A strip of rows of A takes `chunk` of
 * them at a time, two vectors of W. Each is added to two sums: to S after multiplication by the
 * real part of a_ij, to T by the imaginary part. A row ends with
 *
 *     y_re = S_re - T_im,   y_im = S_im + T_re
 */
enum { NAME(complex_chunk) = 2 * W };

/* Reals 0 .. n-1 of a vector of X, zeros behind them. */
SIMD_INLINE V NAME(complex_some)(const REAL *p, int n)
{
    return n >= W ? LOAD(p) : n > 0 ? LOAD_PART(p, n) : (V){0};
}

/* Sums `rows` rows from `top` on, for reals `at` .. at+n-1 of X's rows, and puts them into Y. */
SIMD_INLINE void NAME(complex_strip)(const tess_cpu_spmm_args *args, int64_t row, int64_t top,
                                     const int rows, const int64_t r, const int64_t c, int64_t at,
                                     const int n)
{
    V s[4][2], t[4][2];
    SIMD_UNROLL(4)
    for (int i = 0; i < rows; i++)
        s[i][0] = s[i][1] = t[i][0] = t[i][1] = (V){0};
    for (int64_t k = args->row_offsets[row]; k < args->row_offsets[row + 1]; k++) {
        const REAL *block = (const REAL *)args->values + 2 * (k * r * c + top);
        const REAL *x =
            (const REAL *)args->x + 2 * (int64_t)args->columns[k] * c * args->x_row + at;
        for (int64_t j = 0; j < c; j++, x += 2 * args->x_row, block += 2 * r) {
            const V x0 = NAME(complex_some)(x, n), x1 = NAME(complex_some)(x + W, n - W);
            SIMD_UNROLL(4)
            for (int i = 0; i < rows; i++) {
                s[i][0] += x0 * block[2 * i];
                s[i][1] += x1 * block[2 * i];
                t[i][0] += x0 * block[2 * i + 1];
                t[i][1] += x1 * block[2 * i + 1];
            }
        }
    }
    const NAME(complex_factors) f = {(REAL)args->alpha,
                                     (REAL)args->alpha_im,
                                     (REAL)args->beta,
                                     (REAL)args->beta_im,
                                     false,
                                     args->beta != 0 || args->beta_im != 0};
    SIMD_UNROLL(4)
    for (int i = 0; i < rows; i++) {
        REAL S[NAME(complex_chunk)], T[NAME(complex_chunk)];
        STORE(S, s[i][0]);
        STORE(S + W, s[i][1]);
        STORE(T, t[i][0]);
        STORE(T + W, t[i][1]);
        REAL *y =
            (REAL *)args->y + 2 * ((row * r + top + i) * args->y_row + at / 2 * args->y_vector);
        for (int v = 0; v < n / 2; v++, y += 2 * args->y_vector)
            NAME(complex_put)(&f, S[2 * v] - T[2 * v + 1], S[2 * v + 1] + T[2 * v], y);
    }
}

/* All rows of a block row, by strips of 4, 2 and 1; of 2 where registers are few. */
SIMD_INLINE void NAME(complex_strips)(const tess_cpu_spmm_args *args, int64_t row, const int64_t r,
                                      const int64_t c, int64_t at, const int n)
{
    int64_t top = 0;
    for (; SIMD_REGISTERS >= 32 && top + 4 <= r; top += 4)
        NAME(complex_strip)(args, row, top, 4, r, c, at, n);
    for (; top + 2 <= r; top += 2)
        NAME(complex_strip)(args, row, top, 2, r, c, at, n);
    if (top < r)
        NAME(complex_strip)(args, row, top, 1, r, c, at, n);
}

SIMD_INLINE void NAME(complex_spmm)(const tess_cpu_spmm_args *args, int64_t first, int64_t last,
                                    const int r, const int c)
{
    const int64_t height = r == 0 ? args->block_height : r, width = r == 0 ? args->block_width : c;
    const int64_t reals = 2 * args->vectors, chunk = NAME(complex_chunk);
    for (int64_t row = first; row < last; row++) {
        int64_t at = 0;
        for (; at + chunk <= reals; at += chunk)
            NAME(complex_strips)(args, row, height, width, at, NAME(complex_chunk));
        if (at < reals)
            NAME(complex_strips)(args, row, height, width, at, (int)(reals - at));
    }
}
