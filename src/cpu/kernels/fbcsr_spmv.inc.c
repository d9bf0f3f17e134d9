/* y += alpha * the blocks of one shape (format/fbcsr/fbcsr.h, paper 001), a template.
 *
 * Included like bsr_spmv.inc.c, after it. It gives NAME(fbcsr_spmv)(args, pieces, count, height,
 * width, shift), always inlined: templates.inc.c calls it with constants, one function for each
 * line of kernels.def.
 *
 *     row i of a block   columns col + shift*i .. col + shift*i + width-1
 *     values             column-major: (i, k) at k*height + i
 *
 * so the k-th values of all rows lie together, and so do their factors in x: all the same for
 * shift 0, neighbours for shift 1, neighbours backwards for shift -1. The sums of the rows are
 * vectors. A block of height 1 is a dot product instead.
 *
 * Neighbouring blocks that begin in the same row, a run, are summed in registers before y is
 * touched. A thread walks `count` pieces in lockstep, run by run, each with a stream of values of
 * its own.
 */

/* Sums of a strip of rows, in vectors. */
enum { NAME(fbcsr_strip) = SIMD_REGISTERS >= 32 ? 16 : 8 };

/* Runs of rectangles that are summed side by side. */
enum { NAME(fbcsr_at_once) = 2 };
/* The least blocks in half of a run for it to be read as two streams. */
enum { NAME(fbcsr_long_half) = 32 };
#define FBCSR_PAIRED(h, w, shift) \
    ((h) > 1 && (w) > 1 && (shift) == 0 && 2 * ROW_SUMS(h, w) <= SIMD_REGISTERS / 2)

/* The blocks from..to-1, which begin in one row. */
typedef struct NAME(fbcsr_run) {
    int64_t from, to;
} NAME(fbcsr_run);

/* The factors of n <= W rows, each `shift` right of the one above. */
SIMD_INLINE V NAME(fbcsr_factors)(const REAL *x, const int n, const int shift)
{
    if (shift == 1 || W == 1) /* one lane is in order both ways */
        return n == W ? LOAD(x) : LOAD_PART(x, n);
    V factors = {0};
    if (shift == -1 && n == W) {
        const V backwards = LOAD(x - (W - 1));
        SIMD_UNROLL(16)
        for (int lane = 0; lane < W; lane++)
            factors[lane] = backwards[W - 1 - lane];
        return factors;
    }
    SIMD_UNROLL(16)
    for (int lane = 0; lane < n; lane++)
        factors[lane] = x[(int64_t)lane * shift];
    return factors;
}

/* Adds rows top .. top+rows-1 of a run; rows is at most a strip. The sums begin as y, which saves
 * an instruction per vector: where runs are short, each one counts. `scale`: alpha is not 1. */
SIMD_INLINE void NAME(fbcsr_strip_rows)(const tess_cpu_fbcsr_args *args, NAME(fbcsr_run) run,
                                        REAL *y, const int top, const int rows, const int height,
                                        const int width, const int shift, const bool scale)
{
    const int parts = (rows + W - 1) / W, rest = rows % W;
    const REAL *x = args->x;
    V acc[NAME(fbcsr_strip)];
    SIMD_UNROLL(16)
    for (int p = 0; p < parts; p++)
        acc[p] =
            p == parts - 1 && rest != 0 ? LOAD_PART(y + top + p * W, rest) : LOAD(y + top + p * W);
    for (int64_t block = run.from; block < run.to; block++) {
        const REAL *values = (const REAL *)args->values + block * height * width + top;
        const REAL *factors = x + args->cols[block] + (int64_t)shift * top;
        for (int k = 0; k < width; k++) {
            SIMD_UNROLL(16)
            for (int p = 0; p < parts; p++) {
                const int n = p == parts - 1 && rest != 0 ? rest : W;
                const REAL *from = values + k * height + p * W;
                V value = n == W ? LOAD(from) : LOAD_PART(from, n);
                if (scale)
                    value *= (REAL)args->alpha;
                if (shift == 0)
                    acc[p] += value * factors[k];
                else
                    acc[p] +=
                        value * NAME(fbcsr_factors)(factors + k + (int64_t)shift * p * W, n, shift);
            }
        }
    }
    SIMD_UNROLL(16)
    for (int p = 0; p < parts; p++) {
        if (p == parts - 1 && rest != 0)
            STORE_PART(y + top + p * W, acc[p], rest);
        else
            STORE(y + top + p * W, acc[p]);
    }
}

/* All rows of a run, strip by strip. */
SIMD_INLINE void NAME(fbcsr_strips)(const tess_cpu_fbcsr_args *args, NAME(fbcsr_run) run, REAL *y,
                                    const int height, const int width, const int shift,
                                    const bool scale)
{
    const int strip = NAME(fbcsr_strip) * W;
    for (int top = 0; top < height; top += strip)
        NAME(fbcsr_strip_rows)
    (args, run, y, top, height - top < strip ? height - top : strip, height, width, shift, scale);
}

/* Block `block` of height 1, added to its sums. */
SIMD_INLINE void NAME(fbcsr_dot_add)(V *acc, const tess_cpu_fbcsr_args *args, int64_t block,
                                     const int width)
{
    const REAL *values = (const REAL *)args->values + block * width;
    const REAL *factors = (const REAL *)args->x + args->cols[block];
    int k = 0;
    for (; k + 4 * W <= width; k += 4 * W) {
        SIMD_UNROLL(4)
        for (int p = 0; p < 4; p++)
            acc[p] += LOAD(values + k + p * W) * LOAD(factors + k + p * W);
    }
    for (; k + W <= width; k += W)
        acc[0] += LOAD(values + k) * LOAD(factors + k);
    if (k < width)
        acc[1] += LOAD_PART(values + k, width - k) * LOAD_PART(factors + k, width - k);
}

/* Blocks of height 1 have one sum. A long run is read as two streams of values, its halves, since
 * pieces are not done in lockstep here. */
SIMD_INLINE void NAME(fbcsr_dot)(const tess_cpu_fbcsr_args *args, NAME(fbcsr_run) run, REAL *y,
                                 const int width)
{
    V acc[4] = {{0}, {0}, {0}, {0}};
    const int64_t half = (run.to - run.from) / 2;
    int64_t block = run.from;
    if (half >= NAME(fbcsr_long_half)) {
        V other[4] = {{0}, {0}, {0}, {0}};
        for (; block < run.from + half; block++) {
            NAME(fbcsr_dot_add)(acc, args, block, width);
            NAME(fbcsr_dot_add)(other, args, block + half, width);
        }
        SIMD_UNROLL(4)
        for (int p = 0; p < 4; p++)
            acc[p] += other[p];
        block += half;
    }
    for (; block < run.to; block++)
        NAME(fbcsr_dot_add)(acc, args, block, width);
    V sums = (acc[0] + acc[1]) + (acc[2] + acc[3]);
    REAL sum = 0;
    SIMD_UNROLL(16)
    for (int lane = 0; lane < W; lane++)
        sum += sums[lane];
    *y += (REAL)args->alpha * sum;
}

/* Block `block` added to the sums of its run. */
SIMD_INLINE void NAME(fbcsr_add)(V *acc, const tess_cpu_fbcsr_args *args, int64_t block,
                                 const int height, const int width)
{
    NAME(block)
    (acc, (const REAL *)args->values + block * height * width,
     (const REAL *)args->x + args->cols[block], height, width, 0, width);
}

/* Blocks with shift 0 are done like those of bsr_spmv.inc.c. The runs of all pieces take turns
 * block by block: that makes `count` streams of values, and as many independent sums. */
SIMD_INLINE void NAME(fbcsr_rectangles)(const tess_cpu_fbcsr_args *args, NAME(fbcsr_run) * runs,
                                        const int count, const int height, const int width)
{
    V acc[NAME(fbcsr_at_once)][NAME(accumulators)];
    int64_t least = INT64_MAX;
    SIMD_UNROLL(2)
    for (int s = 0; s < count; s++) {
        NAME(clear)(acc[s], height, width);
        least = runs[s].to - runs[s].from < least ? runs[s].to - runs[s].from : least;
    }
    for (int64_t i = 0; i < least; i++) {
        SIMD_UNROLL(2)
        for (int s = 0; s < count; s++)
            NAME(fbcsr_add)(acc[s], args, runs[s].from + i, height, width);
    }
    SIMD_UNROLL(2)
    for (int s = 0; s < count; s++) {
        for (int64_t block = runs[s].from + least; block < runs[s].to; block++)
            NAME(fbcsr_add)(acc[s], args, block, height, width);
        NAME(finish)
        (acc[s], (REAL)args->alpha, 1, (REAL *)args->y + args->rows[runs[s].from], height, width, 1,
         false);
    }
}

/* Any shape, in strips of four vectors. The rows that are left are done in strips of one vector,
 * then row by row. */
static void NAME(fbcsr_any)(const tess_cpu_fbcsr_args *args, NAME(fbcsr_run) run, REAL *y)
{
    const int height = args->height, width = args->width, shift = args->shift;
    int top = 0;
    for (; top + 4 * W <= height; top += 4 * W)
        NAME(fbcsr_strip_rows)(args, run, y, top, 4 * W, height, width, shift, true);
    for (; top + W <= height; top += W)
        NAME(fbcsr_strip_rows)(args, run, y, top, W, height, width, shift, true);
    for (; top < height; top++)
        NAME(fbcsr_strip_rows)(args, run, y, top, 1, height, width, shift, true);
}

/* A run that begins before the piece or ends after it: only the rows inside. */
static void NAME(fbcsr_clipped)(const tess_cpu_fbcsr_args *args, NAME(fbcsr_run) run,
                                const tess_cpu_fbcsr_piece *piece)
{
    const int64_t height = args->height, width = args->width, row = args->rows[run.from];
    int64_t top = piece->first > row ? piece->first - row : 0;
    int64_t bottom = piece->last < row + height ? piece->last - row : height;
    REAL *y = (REAL *)args->y + row;
    for (int64_t block = run.from; block < run.to; block++) {
        const REAL *values = (const REAL *)args->values + block * height * width;
        const REAL *x = (const REAL *)args->x + args->cols[block];
        for (int64_t k = 0; k < width; k++)
            for (int64_t i = top; i < bottom; i++)
                y[i] += (REAL)args->alpha * (values[k * height + i] * x[k + args->shift * i]);
    }
}

SIMD_INLINE void NAME(fbcsr_run_blocks)(const tess_cpu_fbcsr_args *args, NAME(fbcsr_run) run,
                                        REAL *y, const int height, const int width, const int shift)
{
    if (height == 0)
        NAME(fbcsr_any)(args, run, y);
    else if (height == 1)
        NAME(fbcsr_dot)(args, run, y, width == 0 ? args->width : width);
    else if (shift == 0 && width > 1)
        NAME(fbcsr_rectangles)(args, &run, 1, height, width);
    else if (args->alpha == 1)
        NAME(fbcsr_strips)(args, run, y, height, width, shift, false);
    else
        NAME(fbcsr_strips)(args, run, y, height, width, shift, true);
}

/* The run that begins at block `from`. */
SIMD_INLINE NAME(fbcsr_run) NAME(fbcsr_next)(const int32_t *rows, int64_t from, int64_t end)
{
    NAME(fbcsr_run) run = {from, from + 1};
    while (run.to < end && rows[run.to] == rows[from])
        run.to++;
    return run;
}

SIMD_INLINE void NAME(fbcsr_spmv)(const tess_cpu_fbcsr_args *args,
                                  const tess_cpu_fbcsr_piece *pieces, int count, const int height,
                                  const int width, const int shift)
{
    const int64_t tall = args->height;
    int64_t at[TESS_CPU_STREAMS];
    bool left = true;
    for (int s = 0; s < count; s++)
        at[s] = pieces[s].begin;
    while (left) {
        NAME(fbcsr_run) waiting[TESS_CPU_STREAMS];
        int number = 0;
        left = false;
        for (int s = 0; s < count; s++) {
            if (at[s] >= pieces[s].end)
                continue;
            NAME(fbcsr_run) run = NAME(fbcsr_next)(args->rows, at[s], pieces[s].end);
            const int64_t row = args->rows[run.from];
            if (row < pieces[s].first || row + tall > pieces[s].last)
                NAME(fbcsr_clipped)(args, run, &pieces[s]);
            else if (FBCSR_PAIRED(height, width, shift))
                waiting[number++] = run;
            else
                NAME(fbcsr_run_blocks)(args, run, (REAL *)args->y + row, height, width, shift);
            if (number == NAME(fbcsr_at_once)) {
                NAME(fbcsr_rectangles)(args, waiting, NAME(fbcsr_at_once), height, width);
                number = 0;
            }
            at[s] = run.to;
            left = true;
        }
        if (number > 0)
            NAME(fbcsr_rectangles)(args, waiting, 1, height, width);
    }
}
