/* Sums of the segments of cut rows, in a fixed order.
 *   the first `cut_long` rows  have many segments: a thread block per row. Thread (i, q) adds every
 *                              SUM_PARTS-th segment of scalar row i. Then the parts are added
 *                              pairwise, always the same pairs.
 *   the others                 have one thread per scalar row, which adds the segments in their
 *                              order.
 * The launch may start before the one that leaves the segments' sums has ended. */
#include "block_sum.cuh"
#include "fields.cuh"
#include "segments.cuh"

#define SUM_THREADS 512
#define SUM_ROWS (BH < SUM_THREADS ? BH : SUM_THREADS)
#define SUM_PARTS (SUM_THREADS / SUM_ROWS)

typedef struct sliced_sum_args {
    const int *cut_row, *cut_slots;
    long long cut_rows, cut_long;
    const scalar *slots;
    scalar *y;
    long long rows;
    factor alpha, beta;
    const scalar *w;
    double *dot_part;
} sliced_sum_args;

/* Writes y and returns the row's part of the dot product. */
DEVICE double put_row(const sliced_sum_args *a, long long row, scalar sum)
{
    if (row >= a->rows)
        return 0;
    const long long at = y_place(row, a->rows);
    const scalar result = scaled(a->alpha, sum, a->beta, a->y, at);
    a->y[at] = result;
#if DOT
    if (a->dot_part)
        return (double)result * (double)(a->w ? a->w[at] : result);
#endif
    return 0;
}

KERNEL(sliced_sum, sliced_sum_args, SUM_THREADS, 1)
{
    SHARED(scalar, parts, SUM_THREADS);
    double product = 0;
    if (blockIdx.x < a.cut_long) {
        const int first = READ_ONLY(a.cut_slots + blockIdx.x);
        const int end = READ_ONLY(a.cut_slots + blockIdx.x + 1);
        const int i = (int)threadIdx.x % SUM_ROWS, q = (int)threadIdx.x / SUM_ROWS;
        WAIT_FOR_LAST();
        for (int i0 = 0; i0 < BH; i0 += SUM_ROWS) {
            scalar sum = ZERO;
            if (i0 + i < BH && q < SUM_PARTS)
                sum = add_segments(a.slots, i0 + i, first + q, end, SUM_PARTS);
            parts[threadIdx.x] = sum;
            __syncthreads();
            for (int width = SUM_PARTS, half; width > 1; width = half) {
                half = (width + 1) / 2;
                if (q + half < width)
                    ADD_TO(parts[threadIdx.x], parts[threadIdx.x + half * SUM_ROWS]);
                __syncthreads();
            }
            if (q == 0 && i0 + i < BH)
                product += put_row(&a, (long long)a.cut_row[blockIdx.x] * BH + i0 + i, parts[i]);
            __syncthreads();
        }
    } else {
        const long long pair = (blockIdx.x - a.cut_long) * SUM_THREADS + threadIdx.x;
        const long long cut = a.cut_long + pair / BH;
        const int i = (int)(pair % BH);
        const bool mine = cut < a.cut_rows;
        const int first = mine ? READ_ONLY(a.cut_slots + cut) : 0;
        const int end = mine ? READ_ONLY(a.cut_slots + cut + 1) : 0;
        WAIT_FOR_LAST();
        if (mine)
            product = put_row(&a, (long long)a.cut_row[cut] * BH + i,
                              add_segments(a.slots, i, first, end, 1));
    }
#if DOT
    SHARED(double, scratch, SUM_THREADS);
    if (a.dot_part) {
        product = block_sum(product, scratch, SUM_THREADS);
        if (threadIdx.x == 0)
            a.dot_part[blockIdx.x] = product;
    }
#else
    (void)product;
#endif
}
