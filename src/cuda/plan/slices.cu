/* slices copies values from the matrix's order to sliced storage (src/format/sliced.h), or with
 * BACK from sliced storage to the matrix's order. Padding becomes 0. columns copies block columns
 * to the matrix's order. A thread block copies one slice.
 *
 *   REAL, COMPLEX  the scalar (scalar.cuh)    THREADS  threads per thread block    BACK  0 or 1
 */
#include "common.cuh"

typedef struct slices_args {
    const long long *offsets; /* of slices, in groups */
    const int *lengths;       /* of lines, in blocks */
    const long long *starts;  /* of lines: the first block in the matrix's order */
    scalar *values;
    scalar *given;   /* in the matrix's order */
    long long lines; /* per slice */
    long long block_height, block_width;
    long long width;  /* scalars stored per row of a block */
    long long vector; /* scalars along the row that lie together */
    long long group;  /* blocks per group */
} slices_args;

/* The place of a scalar in a slice, in the order of storage: `vector` scalars along the row, the
 * rows of a block, the lines, and again along the row. */
typedef struct place {
    unsigned row, line, block, column;
} place;

DEVICE place place_of(const slices_args *a, unsigned pack, unsigned inner)
{
    const unsigned height = (unsigned)a->block_height, lines = (unsigned)a->lines;
    const unsigned entry = pack / (lines * height) * (unsigned)a->vector + inner;
    place p;
    p.row = pack % height;
    p.line = pack / height % lines;
    p.block = entry / (unsigned)a->width;
    p.column = entry % (unsigned)a->width;
    return p;
}

/* Adds `step` to a place; `carry` is added where its lines are through. */
DEVICE void go_on(place *p, const place *step, const place *carry, const slices_args *a)
{
    p->row += step->row;
    p->line += step->line;
    p->block += step->block;
    p->column += step->column;
    if (p->row >= (unsigned)a->block_height) {
        p->row -= (unsigned)a->block_height;
        p->line++;
    }
    if (p->line >= (unsigned)a->lines) {
        p->line -= (unsigned)a->lines;
        p->block += carry->block;
        p->column += carry->column;
    }
    UNROLL
    for (int i = 0; i < 2; i++)
        if (p->column >= (unsigned)a->width) {
            p->column -= (unsigned)a->width;
            p->block++;
        }
}

enum { EACH = 8 };

/* Places go on by additions: to divide for every scalar takes longer than to copy it. `vector`
 * divides THREADS, so that a thread's scalars have the same place in a vector. A thread reads its
 * first scalars before it knows `count`, for which it waits: beyond a slice's last scalar every
 * line has ended. */
KERNEL(slices, slices_args, THREADS, 4)
{
    const long long slice = blockIdx.x, first = READ_ONLY(a.offsets + slice);
    const unsigned vector = (unsigned)a.vector;
    const long long group = a.group * a.width * a.lines * a.block_height;
    const unsigned count = (unsigned)((READ_ONLY(a.offsets + slice + 1) - first) * group);
    scalar *values = a.values + first * group;
    const long long *starts = a.starts + slice * a.lines;
    const int *lengths = a.lengths + slice * a.lines;
    const place step = place_of(&a, THREADS / vector, 0);
    const place carry = {0, 0, vector / (unsigned)a.width, vector % (unsigned)a.width};
    place p = place_of(&a, threadIdx.x / vector, threadIdx.x % vector);
    unsigned at = threadIdx.x;
    do {
        scalar *given[EACH];
        UNROLL
        for (int u = 0; u < EACH; u++) {
            const int inside = p.block < (unsigned)READ_ONLY(lengths + p.line) &&
                               p.column < (unsigned)a.block_width;
            const long long from =
                (READ_ONLY(starts + p.line) + p.block) * a.block_width + p.column;
            given[u] = inside ? a.given + (from * a.block_height + p.row) : 0;
            go_on(&p, &step, &carry, &a);
        }
#if BACK
        UNROLL
        for (int u = 0; u < EACH; u++)
            if (given[u])
                *given[u] = values[at + u * THREADS];
#else
        scalar value[EACH];
        UNROLL
        for (int u = 0; u < EACH; u++)
            value[u] = given[u] ? read_scalar(given[u]) : ZERO;
        UNROLL
        for (int u = 0; u < EACH; u++)
            if (at + u * THREADS < count)
                values[at + u * THREADS] = value[u];
#endif
        at += EACH * THREADS;
    } while (at < count);
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
