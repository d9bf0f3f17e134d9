/* Sums of the segments of cut rows, BH scalars each, for papers/balanced.cuh and sliced_sum.cuh. */
#ifndef TESS_SEGMENTS_CUH
#define TESS_SEGMENTS_CUH

/* Returns the sum of scalar i of every step-th segment from `first` on, eight loads in flight. */
DEVICE scalar add_segments(const scalar *segments, int i, int first, int end, int step)
{
    scalar sum = ZERO;
    NO_UNROLL
    for (int segment = first; segment < end; segment += 8 * step) {
        scalar part[8];
        UNROLL
        for (int u = 0; u < 8; u++)
            part[u] =
                segment + u * step < end ? segments[(long long)(segment + u * step) * BH + i] : ZERO;
        UNROLL
        for (int u = 0; u < 8; u++)
            ADD_TO(sum, part[u]);
    }
    return sum;
}

#endif
