/* y = alpha A x + beta y for complex blocks over ranges of block rows, a template.
 *
 * Included once for each ISA and precision, with what bsr_spmv.inc.c is included with. It gives
 * NAME(complex_spmv)(args, bounds, r, c, streams, rest), always inlined.
 *
 * A block is r x c, column-major; a column is 2 r reals, real and imaginary parts in turn:
 *
 *     values  | re im re im re im | re im . . | next block
 *     vectors  [  0  ][  1  ]                   r = 3, W = 4: parts = 2
 *
 * Real and imaginary parts are not swapped while blocks stream by. Every column is added to two
 * sums: to S after multiplication by the real part of x_j, to T by the imaginary part. A row ends
 * with
 *
 *     y_re = S_re - T_im,   y_im = S_im + T_re     A x
 *     y_re = S_re + T_im,   y_im = T_re - S_im     conj(A) x
 *
 * so the conjugate costs nothing. The last vector of a column may run over into the next column of
 * the same block: its spare lanes are never used. Only where it would leave the block is it loaded
 * by parts.
 *
 * Each row is summed in the same order whatever the number of streams.
 */
enum { NAME(complex_most) = 16, NAME(complex_panel) = 128, NAME(complex_group) = 4 };

#define COMPLEX_PARTS(r) ((2 * (r) + W - 1) / W)

typedef struct NAME(complex_factors) {
    REAL alpha, alpha_im, beta, beta_im;
    bool conjugate, keep; /* keep: beta is not 0 */
} NAME(complex_factors);

SIMD_INLINE NAME(complex_factors) NAME(complex_factors_of)(const tess_cpu_spmv_args *args)
{
    return (NAME(complex_factors)){(REAL)args->alpha, (REAL)args->alpha_im,
                                   (REAL)args->beta,  (REAL)args->beta_im,
                                   args->conjugate,   args->beta != 0 || args->beta_im != 0};
}

/* y[0], y[1] = alpha (re, im) + beta y. */
SIMD_INLINE void NAME(complex_put)(const NAME(complex_factors) * f, REAL re, REAL im, REAL *y)
{
    REAL to_re = f->alpha * re - f->alpha_im * im, to_im = f->alpha * im + f->alpha_im * re;
    if (f->keep) {
        to_re += f->beta * y[0] - f->beta_im * y[1];
        to_im += f->beta * y[1] + f->beta_im * y[0];
    }
    y[0] = to_re;
    y[1] = to_im;
}

/* Rows 0 .. r-1 of y from their sums. */
SIMD_INLINE void NAME(complex_rows)(const NAME(complex_factors) * f, const REAL *S, const REAL *T,
                                    REAL *y, const int64_t r)
{
    for (int64_t i = 0; i < r; i++) {
        const REAL *s = S + 2 * i, *t = T + 2 * i;
        NAME(complex_put)
        (f, f->conjugate ? s[0] + t[1] : s[0] - t[1], f->conjugate ? t[0] - s[1] : s[1] + t[0],
         y + 2 * i);
    }
}

SIMD_INLINE void NAME(complex_finish)(const NAME(complex_factors) * f, const V *s, const V *t,
                                      REAL *y, const int r)
{
    REAL S[2 * NAME(complex_most) + W], T[2 * NAME(complex_most) + W];
    SIMD_UNROLL(8)
    for (int p = 0; p < COMPLEX_PARTS(r); p++) {
        STORE(S + p * W, s[p]);
        STORE(T + p * W, t[p]);
    }
    NAME(complex_rows)(f, S, T, y, r);
}

/* s and t += the block at `values` times x. */
SIMD_INLINE void NAME(complex_block)(V *s, V *t, const REAL *values, const REAL *x, const int r,
                                     const int c)
{
    const int parts = COMPLEX_PARTS(r), rest = 2 * r - (parts - 1) * W;
    simd_fetch(values, 2 * r * c * (int)sizeof(REAL));
    SIMD_UNROLL(4)
    for (int j = 0; j < c; j++) {
        const REAL re = x[2 * j], im = x[2 * j + 1];
        const REAL *column = values + 2 * r * j;
        SIMD_UNROLL(8)
        for (int p = 0; p < parts; p++) {
            const bool inside = 2 * r * j + (p + 1) * W <= 2 * r * c;
            const V v = inside ? LOAD(column + p * W) : LOAD_PART(column + p * W, rest);
            s[p] += v * re;
            t[p] += v * im;
        }
    }
}

/* ---- 1 x 1 blocks: as many entries at once as a vector has pairs ---- */

/* The sums of a row, as one pair in s and t. */
SIMD_INLINE void NAME(complex_scalars)(const tess_cpu_spmv_args *args, int64_t row, REAL *s,
                                       REAL *t)
{
    const int pairs = W > 1 ? W / 2 : 1;
    const REAL *values = args->values, *x = args->x;
    int64_t k = args->row_offsets[row];
    const int64_t end = args->row_offsets[row + 1];
    V S = {0}, T = {0};
    for (; W > 1 && k + pairs <= end; k += pairs) {
        const V v = LOAD(values + 2 * k);
        V re, im;
        SIMD_UNROLL(8)
        for (int e = 0; e < pairs; e++) {
            const REAL *at = x + 2 * (int64_t)args->columns[k + e];
            re[2 * e] = re[(2 * e + 1) % W] = at[0];
            im[2 * e] = im[(2 * e + 1) % W] = at[1];
        }
        S += v * re;
        T += v * im;
    }
    s[0] = s[1] = t[0] = t[1] = 0;
    for (int e = 0; W > 1 && e < pairs; e++) {
        s[0] += S[2 * e];
        s[1] += S[(2 * e + 1) % W];
        t[0] += T[2 * e];
        t[1] += T[(2 * e + 1) % W];
    }
    for (; k < end; k++) {
        const REAL *at = x + 2 * (int64_t)args->columns[k];
        s[0] += values[2 * k] * at[0];
        s[1] += values[2 * k + 1] * at[0];
        t[0] += values[2 * k] * at[1];
        t[1] += values[2 * k + 1] * at[1];
    }
}

SIMD_INLINE void NAME(complex_scalar_rows)(const tess_cpu_spmv_args *args, int64_t first,
                                           int64_t last)
{
    const NAME(complex_factors) f = NAME(complex_factors_of)(args);
    for (int64_t row = first; row < last; row++) {
        REAL s[2], t[2];
        NAME(complex_scalars)(args, row, s, t);
        NAME(complex_rows)(&f, s, t, (REAL *)args->y + 2 * row, 1);
    }
}

/* ---- Any block size: the sums of a panel of rows wait in memory ---- */

/* S and T += 2 * height reals of `count` columns, which are 2 r apart. */
SIMD_INLINE void NAME(complex_columns)(REAL *S, REAL *T, const REAL *values, const REAL *x,
                                       int64_t r, int64_t height, const int count)
{
    int64_t i = 0;
    for (; i + W <= 2 * height; i += W) {
        V s = LOAD(S + i), t = LOAD(T + i);
        SIMD_UNROLL(4)
        for (int j = 0; j < count; j++) {
            const V v = LOAD(values + 2 * r * j + i);
            s += v * x[2 * j];
            t += v * x[2 * j + 1];
        }
        STORE(S + i, s);
        STORE(T + i, t);
    }
    for (; i < 2 * height; i++) {
        SIMD_UNROLL(4)
        for (int j = 0; j < count; j++) {
            S[i] += values[2 * r * j + i] * x[2 * j];
            T[i] += values[2 * r * j + i] * x[2 * j + 1];
        }
    }
}

/* Scalar rows top .. top+height-1 of one block row. */
SIMD_INLINE void NAME(complex_any_panel)(const tess_cpu_spmv_args *args, int64_t row, int64_t top,
                                         int64_t height)
{
    const NAME(complex_factors) f = NAME(complex_factors_of)(args);
    const int64_t r = args->block_height, c = args->block_width;
    REAL S[2 * NAME(complex_panel)], T[2 * NAME(complex_panel)];
    for (int64_t i = 0; i < 2 * height; i++)
        S[i] = T[i] = 0;
    for (int64_t k = args->row_offsets[row]; k < args->row_offsets[row + 1]; k++) {
        const REAL *values = (const REAL *)args->values + 2 * (k * r * c + top);
        const REAL *x = (const REAL *)args->x + 2 * (int64_t)args->columns[k] * c;
        int64_t j = 0;
        for (; j + NAME(complex_group) <= c; j += NAME(complex_group))
            NAME(complex_columns)
        (S, T, values + 2 * r * j, x + 2 * j, r, height, NAME(complex_group));
        for (; j < c; j++)
            NAME(complex_columns)(S, T, values + 2 * r * j, x + 2 * j, r, height, 1);
    }
    NAME(complex_rows)(&f, S, T, (REAL *)args->y + 2 * (row * r + top), height);
}

SIMD_INLINE void NAME(complex_any_rows)(const tess_cpu_spmv_args *args, int64_t first, int64_t last)
{
    const int64_t r = args->block_height, panel = NAME(complex_panel);
    for (int64_t row = first; row < last; row++)
        for (int64_t top = 0; top < r; top += panel)
            NAME(complex_any_panel)(args, row, top, r - top < panel ? r - top : panel);
}

/* ---- Blocks of a fixed size ---- */

/* Stream s walks the rows bounds[s] .. bounds[s+1]-1. One row of each goes on in lockstep, block by
 * block. Rows that longer ranges have left go to `rest`, the kernel of one stream. */
SIMD_INLINE void NAME(complex_lockstep)(const tess_cpu_spmv_args *args, const int64_t *bounds,
                                        const int r, const int c, const int streams,
                                        tess_cpu_spmv_fn rest)
{
    const NAME(complex_factors) f = NAME(complex_factors_of)(args);
    const int64_t *offsets = args->row_offsets;
    const REAL *values = args->values, *x = args->x;
    const int64_t steps = NAME(common_rows)(offsets, bounds, streams, 0);
    for (int64_t i = 0; i < steps; i++) {
        V s[2][COMPLEX_PARTS(NAME(complex_most))], t[2][COMPLEX_PARTS(NAME(complex_most))];
        int64_t common = INT64_MAX;
        SIMD_UNROLL(2)
        for (int n = 0; n < streams; n++) {
            const int64_t *row = offsets + bounds[n] + i;
            common = row[1] - row[0] < common ? row[1] - row[0] : common;
            SIMD_UNROLL(8)
            for (int p = 0; p < COMPLEX_PARTS(r); p++)
                s[n][p] = t[n][p] = (V){0};
        }
        for (int64_t done = 0; done < common; done++) {
            SIMD_UNROLL(2)
            for (int n = 0; n < streams; n++) {
                const int64_t k = offsets[bounds[n] + i] + done;
                NAME(complex_block)
                (s[n], t[n], values + 2 * k * r * c, x + 2 * (int64_t)args->columns[k] * c, r, c);
            }
        }
        SIMD_UNROLL(2)
        for (int n = 0; n < streams; n++) {
            const int64_t row = bounds[n] + i;
            for (int64_t k = offsets[row] + common; streams > 1 && k < offsets[row + 1]; k++)
                NAME(complex_block)
            (s[n], t[n], values + 2 * k * r * c, x + 2 * (int64_t)args->columns[k] * c, r, c);
            NAME(complex_finish)(&f, s[n], t[n], (REAL *)args->y + 2 * row * r, r);
        }
    }
    for (int n = 0; n < streams; n++)
        if (bounds[n] + steps < bounds[n + 1])
            rest(args, (const int64_t[]){bounds[n] + steps, bounds[n + 1]});
}

SIMD_INLINE void NAME(complex_spmv)(const tess_cpu_spmv_args *args, const int64_t *bounds,
                                    const int r, const int c, const int streams,
                                    tess_cpu_spmv_fn rest)
{
    if (r == 0)
        NAME(complex_any_rows)(args, bounds[0], bounds[1]);
    else if (r == 1 && c == 1)
        NAME(complex_scalar_rows)(args, bounds[0], bounds[1]);
    else
        NAME(complex_lockstep)(args, bounds, r, c, streams, rest);
}
#undef COMPLEX_PARTS
