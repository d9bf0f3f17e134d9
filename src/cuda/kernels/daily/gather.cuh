/* Loads of a block's x.
 *
 *   XVEC     scalars of x per load, where x is aligned to them
 *   RAGGED   cols is not a multiple of BW: the last block column hangs over the end of x
 *   FIELDS   x is by fields (fields.cuh): XVEC is 1, RAGGED is 0
 */
#ifndef TESS_GATHER_CUH
#define TESS_GATHER_CUH

#include "fields.cuh"

/* Scalar first + j of a block's x. Loads that differ only in j, a compile-time constant, share an
 * address. */
DEVICE scalar load_x(const scalar *x, long long column, int first, int j, long long cols,
                     policy keep)
{
#if FIELDS
    const long long at = field_place(column, first + j, cols, BW);
#else
    const long long at = column * BW + first + j;
#endif
#if RAGGED
    if (at >= cols)
        return ZERO;
#endif
    return keep_scalar(x + at, keep);
}

#define load_x_vector PASTE(keep_scalar, XVEC)

/* Loads x of one block; `vectors`: it is aligned to XVEC scalars. */
DEVICE void load_x_block(const scalar *x, long long cols, long long column, bool vectors, scalar *xs,
                         policy keep)
{
    if (XVEC > 1 && vectors) {
        UNROLL
        for (int j = 0; j < BW; j += XVEC)
            load_x_vector(x + column * BW + j, xs + j, keep);
        return;
    }
    UNROLL
    for (int j = 0; j < BW; j++)
        xs[j] = load_x(x, column, 0, j, cols, keep);
}

#endif
