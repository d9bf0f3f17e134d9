/* slices copies values from the matrix's order to sliced storage (src/format/sliced.h), or with
 * BACK from sliced storage to the matrix's order. Padding becomes 0. columns copies block columns
 * to the matrix's order. A thread block copies one slice, a thread one scalar or column at a time.
 *
 *   REAL, COMPLEX  the scalar (scalar.cuh)    THREADS  threads per thread block    BACK  0 or 1
 */
#include "common.cuh"

typedef struct slices_args {
    const long long *offsets; /* of slices, in groups */
    const int *lengths;       /* of lines, in blocks */
    const long long *starts;  /* of lines: the first block in the matrix's order */
    scalar *values;
    scalar *given; /* in the matrix's order */
    long long lines; /* per slice */
    long long block_height, block_width;
    long long width;  /* scalars stored per row of a block */
    long long vector; /* scalars along the row that lie together */
    long long group;  /* blocks per group */
} slices_args;

KERNEL(slices, slices_args, THREADS, 1)
{
    const long long slice = blockIdx.x, first = a.offsets[slice];
    const unsigned height = (unsigned)a.block_height, width = (unsigned)a.width;
    const unsigned vector = (unsigned)a.vector, lanes = (unsigned)a.lines * height;
    const long long group = a.group * width * lanes;
    const unsigned count = (unsigned)((a.offsets[slice + 1] - first) * group);
    scalar *values = a.values + first * group;
    for (unsigned at = threadIdx.x; at < count; at += THREADS) {
        const unsigned pack = at / vector, lane = pack % lanes;
        const unsigned entry = pack / lanes * vector + at % vector; /* of the scalar row */
        const unsigned block = entry / width, column = entry % width;
        const long long line = slice * a.lines + lane / height;
        const long long from = ((a.starts[line] + block) * a.block_width + column) * height;
        scalar *given = a.given + from + lane % height;
        const int inside = block < (unsigned)a.lengths[line] && column < (unsigned)a.block_width;
#if BACK
        if (inside)
            *given = values[at];
#else
        values[at] = inside ? *given : ZERO;
#endif
    }
}

typedef struct columns_args {
    const long long *offsets, *starts;
    const int *lengths, *columns;
    int *to; /* in the matrix's order */
    long long lines, group;
} columns_args;

KERNEL(columns, columns_args, THREADS, 1)
{
    const long long slice = blockIdx.x, first = a.offsets[slice];
    const unsigned group = (unsigned)a.group, lines = (unsigned)a.lines;
    const unsigned count = (unsigned)(a.offsets[slice + 1] - first) * group * lines;
    const int *columns = a.columns + first * group * lines;
    for (unsigned at = threadIdx.x; at < count; at += THREADS) {
        const unsigned pack = at / group, block = pack / lines * group + at % group;
        const long long line = slice * lines + pack % lines;
        if (block < (unsigned)a.lengths[line])
            a.to[a.starts[line] + block] = columns[at];
    }
}
