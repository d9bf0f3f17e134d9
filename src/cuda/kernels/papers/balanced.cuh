/* The reduction of balanced BSR (src/format/balanced.h, paper 003, section 5.5), for the kernels
 * that run on segments: y = alpha * (sum of the row's segments, in order) + beta y.
 *
 *   the first long_count thread blocks  take a long row each: thread (i, q) adds every
 *                                       BALANCED_PARTS-th segment of scalar row i, then the parts
 *                                       are added in order
 *   the others                          have one thread per scalar row
 */
#ifndef TESS_BALANCED_CUH
#define TESS_BALANCED_CUH

#include "segments.cuh"

#define BALANCED_THREADS 128
#define BALANCED_LONG 8 /* TESS_BALANCED_LONG */
#define BALANCED_ROWS (BH < BALANCED_THREADS ? BH : BALANCED_THREADS)
#define BALANCED_PARTS (BALANCED_THREADS / BALANCED_ROWS)

typedef struct balanced_sum_args {
    const int *segment_ptr, *long_rows;
    long long long_count;
    const scalar *partial; /* segments * BH */
    scalar *y;
    long long rows;
    factor alpha, beta;
} balanced_sum_args;

KERNEL(balanced_sum, balanced_sum_args, BALANCED_THREADS, 1)
{
    SHARED(scalar, parts, BALANCED_THREADS);
    if (blockIdx.x < a.long_count) {
        const int long_row = a.long_rows[blockIdx.x];
        const int first = a.segment_ptr[long_row], end = a.segment_ptr[long_row + 1];
        const int i = (int)threadIdx.x % BALANCED_ROWS, q = (int)threadIdx.x / BALANCED_ROWS;
        for (int i0 = 0; i0 < BH; i0 += BALANCED_ROWS) {
            scalar sum = ZERO;
            if (i0 + i < BH && q < BALANCED_PARTS)
                sum = add_segments(a.partial, i0 + i, first + q, end, BALANCED_PARTS);
            parts[threadIdx.x] = sum;
            __syncthreads();
            const long long row = (long long)long_row * BH + i0 + i;
            if (q == 0 && i0 + i < BH && row < a.rows) {
                for (int part = 1; part < BALANCED_PARTS; part++)
                    ADD_TO(sum, parts[part * BALANCED_ROWS + i]);
                a.y[row] = scaled(a.alpha, sum, a.beta, a.y, row);
            }
            __syncthreads();
        }
    } else {
        const long long row = (blockIdx.x - a.long_count) * BALANCED_THREADS + threadIdx.x;
        if (row >= a.rows)
            return;
        const int first = READ_ONLY(a.segment_ptr + row / BH);
        const int end = READ_ONLY(a.segment_ptr + row / BH + 1);
        if (end - first > BALANCED_LONG)
            return;
        const scalar sum = add_segments(a.partial, (int)(row % BH), first, end, 1);
        a.y[row] = scaled(a.alpha, sum, a.beta, a.y, row);
    }
}

#endif
