/* Y = alpha A X + beta Y for VECTORS vectors on the sliced format (src/format/sliced.h, V = 1, no
 * cut rows): a thread keeps CHUNK scalar rows of a block row times EACH vectors in registers, so
 * that a value is loaded once for EACH products and an element of X once for CHUNK.
 *
 *   BH, BW     block height and width        HEIGHT     lines (block rows) per slice
 *   VECTORS    right-hand sides              EACH       vectors per thread
 *   CHUNK      scalar rows per thread        THREADS    threads per thread block
 *   ROW_MAJOR  the vectors' elements of one row lie together: element i of vector j is X[i*ld + j],
 *              otherwise X[j*ld + i]
 *   TARGETS, RAGGED as in sliced.cu
 *
 * Row-major: the threads of one chunk lie side by side and read a row of X together. Column-major:
 * EACH is large, and neighbouring threads are neighbouring block rows.
 */
#include "common.cuh"

#define LANES (HEIGHT * BH)                       /* scalar rows per slice */
#define CHUNKS ((BH + CHUNK - 1) / CHUNK)         /* threads per block row and vector group */
#define GROUPS ((VECTORS + EACH - 1) / EACH)      /* threads per chunk */
#define PAIR (16 / SCALAR_BYTES)                  /* scalars of the widest load */

typedef struct sliced_spmm_args {
    const long long *offsets;
    const int *lengths;
    const int *targets;
    const int *columns;
    const scalar *values;
    const scalar *x;
    scalar *y;
    long long lines, rows, cols, ldx, ldy;
    factor alpha, beta;
    long long aligned; /* rows of X may be read 16 bytes at a time */
} sliced_spmm_args;

DEVICE long long element(long long i, long long j, long long ld)
{
#if ROW_MAJOR
    return i * ld + j;
#else
    return j * ld + i;
#endif
}

/* Whether rows of X can be read 16 bytes at a time, if they are aligned. */
#define PAIRS (ROW_MAJOR && EACH % PAIR == 0 && VECTORS % EACH == 0)

/* Elements of row i of X for the thread's vectors. */
DEVICE void load_row(const sliced_spmm_args *a, long long i, int first, bool pairs, scalar *xs)
{
#if RAGGED
    if (i >= a->cols) {
        UNROLL
        for (int j = 0; j < EACH; j++)
            xs[j] = ZERO;
        return;
    }
#endif
    if (pairs) {
        UNROLL
        for (int j = 0; j + PAIR <= EACH; j += PAIR)
            cached_scalars16(a->x + i * a->ldx + first + j, xs + j);
        return;
    }
    UNROLL
    for (int j = 0; j < EACH; j++)
        xs[j] = first + j < VECTORS ? read_scalar(a->x + element(i, first + j, a->ldx)) : ZERO;
}

/* Adds to `sums` the thread's rows of a line, from i0 on, times its vectors, from `first` on. */
DEVICE void multiply(const sliced_spmm_args *a, const scalar *values, const int *columns, int length,
                     int i0, int first, bool pairs, scalar sums[CHUNK][EACH])
{
    int next = length > 0 ? READ_ONLY(columns) : 0;
    NO_UNROLL
    for (int k = 0; k < length; k++) {
        const int column = next;
        columns += HEIGHT;
        if (k + 1 < length)
            next = READ_ONLY(columns);
        UNROLL_4
        for (int c = 0; c < BW; c++) {
            scalar v[CHUNK], xs[EACH];
            UNROLL
            for (int i = 0; i < CHUNK; i++)
                v[i] = i0 + i < BH ? read_scalar(values + c * LANES + i) : ZERO;
            load_row(a, (long long)column * BW + c, first, pairs, xs);
            UNROLL
            for (int i = 0; i < CHUNK; i++)
                UNROLL
                for (int j = 0; j < EACH; j++)
                    MULTIPLY_ADD(sums[i][j], v[i], xs[j]);
        }
        values += BW * LANES;
    }
}

KERNEL(sliced_spmm, sliced_spmm_args, THREADS, 1)
{
    const long long place = (long long)blockIdx.x * THREADS + threadIdx.x;
    const int first = (int)(place % GROUPS) * EACH;
    const unsigned piece = (unsigned)(place / GROUPS);
    const unsigned line = piece / CHUNKS, slice = line / HEIGHT;
    const int i0 = (int)(piece % CHUNKS) * CHUNK;
    if (line >= a.lines)
        return;
    const long long start = READ_ONLY(a.offsets + slice);
    const int length = READ_ONLY(a.lengths + line);
    const scalar *values = a.values + start * (BW * LANES) + line % HEIGHT * BH + i0;
    const int *columns = a.columns + start * HEIGHT + line % HEIGHT;
    scalar sums[CHUNK][EACH];
    UNROLL
    for (int i = 0; i < CHUNK; i++)
        UNROLL
        for (int j = 0; j < EACH; j++)
            sums[i][j] = ZERO;
    if (PAIRS && a.aligned)
        multiply(&a, values, columns, length, i0, first, PAIRS, sums);
    else
        multiply(&a, values, columns, length, i0, first, false, sums);
#if TARGETS
    const long long row = (long long)READ_ONLY(a.targets + line) * BH + i0;
#else
    const long long row = (long long)line * BH + i0;
#endif
    UNROLL
    for (int i = 0; i < CHUNK; i++)
        UNROLL
        for (int j = 0; j < EACH; j++)
            if (i0 + i < BH && row + i < a.rows && first + j < VECTORS) {
                const long long at = element(row + i, first + j, a.ldy);
                a.y[at] = scaled(a.alpha, sums[i][j], a.beta, a.y, at);
            }
}
