/* The sum of one scalar row of sliced storage; sliced.cu says what the macros mean. */
#include "gather.cuh"

#define LANES (HEIGHT * BH)   /* scalar rows per slice */
/* Vectors of a group in one scalar row. The last one of a wide block's row may end with zeros. */
#define GV ((GROUP * BW + VEC - 1) / VEC)

#define load_vector PASTE(stream_scalar, VEC)
#define load_columns PASTE(stream_index, GROUP)

/* The thread's part of one row. `values` and `columns` point at the row's first scalar and column.
 * The loads in a loop's body differ by compile-time constants, so that they share an address. */
#if WIDE
#define ACROSS (PER_ROW / DEAL) /* threads that share a block's columns */
#define SHARE ((GV + ACROSS - 1) / ACROSS) /* vectors of a block that a thread takes */
#define LAST ((GV - 1) % SHARE + 1)        /* vectors of the last thread that takes any */

/* The loads of the last piece, when so many vectors are read in pieces of WIDE loads. */
#define AT_END(vectors) (((vectors)-1) % WIDE + 1)
/* Whether load j of the piece at j0 is one of the thread's. A condition that is known at run time
 * only costs registers: its load has an address of its own. */
#define INSIDE(j0, j) (((j) < AT_END(SHARE) && (j) < AT_END(LAST)) || (j0) + (j) < end)
/* Whether scalar i of load j lies in the block. Behind the block's row values are 0, but x may be
 * infinite. */
#define IN_BLOCK(j0, j, i)                                                                         \
    ((i) == 0 || BW % VEC == 0 || (j) != AT_END(LAST) - 1 || ((j0) + (j)) * VEC + (i) < BW)

/* The sum over this thread's columns of every DEAL-th block, WIDE loads at a time. */
DEVICE scalar row_sum(const scalar *x, long long cols, const scalar *values, const int *columns,
                      int length, int part, bool vectors, policy p, policy keep)
{
    (void)vectors;
    const int first = part % ACROSS * SHARE, end = first + SHARE < GV ? first + SHARE : GV;
    scalar sum = ZERO;
    int next = 0;
    values += (long long)(part / ACROSS) * GV * (LANES * VEC);
    columns += part / ACROSS * HEIGHT;
    if (part / ACROSS < length)
        load_columns(columns, &next, p);
    NO_UNROLL
    for (int k = part / ACROSS; k < length; k += DEAL) {
        const int column = next;
        columns += DEAL * HEIGHT;
        if (k + DEAL < length)
            load_columns(columns, &next, p);
        int j0 = first;
#if ACROSS == 2 && GV % 2 == 0 && SHARE == WIDE
        HIDE(j0); /* else 100 registers keep the addresses of all loads from block to block */
#endif
        NO_UNROLL
        for (; j0 < end; j0 += WIDE) {
            const scalar *piece = values + (long long)j0 * (LANES * VEC);
            scalar v[WIDE][VEC], xs[WIDE][VEC];
            UNROLL
            for (int j = 0; j < WIDE; j++)
                if (INSIDE(j0, j))
                    load_vector(piece + (long long)j * (LANES * VEC), v[j], p);
            UNROLL
            for (int j = 0; j < WIDE; j++)
                if (INSIDE(j0, j))
                    UNROLL
                    for (int i = 0; i < VEC; i++)
                        if (IN_BLOCK(j0, j, i))
                            xs[j][i] = load_x(x, column, j0 * VEC, j * VEC + i, cols, keep);
            UNROLL
            for (int j = 0; j < WIDE; j++)
                if (INSIDE(j0, j))
                    UNROLL
                    for (int i = 0; i < VEC; i++)
                        if (IN_BLOCK(j0, j, i))
                            MULTIPLY_ADD(sum, v[j][i], xs[j][i]);
        }
        values += (long long)DEAL * GV * (LANES * VEC);
    }
    return sum;
}
#else
/* The sum over every PER_ROW-th group of the row, DEPTH groups in flight. Columns are loaded one
 * turn ahead, as the loads of x need them. */
#define GROUP_VALUES ((long long)PER_ROW * GV * LANES * VEC) /* to the thread's next group */
#define GROUP_COLUMNS ((long long)PER_ROW * HEIGHT * GROUP)

DEVICE scalar row_sum(const scalar *x, long long cols, const scalar *values, const int *columns,
                      int length, int part, bool vectors, policy p, policy keep)
{
    int left = (length + GROUP - 1) / GROUP - part; /* groups from the thread's next one on */
    int blocks = length - part * GROUP;             /* and blocks */
    scalar sum = ZERO;
    int next[DEPTH][GROUP];
    values += part * (GROUP_VALUES / PER_ROW);
    columns += part * (GROUP_COLUMNS / PER_ROW);
    UNROLL
    for (int u = 0; u < DEPTH; u++)
        if (u * PER_ROW < left)
            load_columns(columns + u * GROUP_COLUMNS, next[u], p);
    NO_UNROLL
    for (; left > 0; left -= DEPTH * PER_ROW, blocks -= DEPTH * PER_ROW * GROUP) {
        int column[DEPTH][GROUP];
        scalar v[DEPTH][GV][VEC], xs[DEPTH][GROUP * BW];
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            UNROLL
            for (int i = 0; i < GROUP; i++)
                column[u][i] = next[u][i];
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            if (u * PER_ROW < left)
                UNROLL
                for (int j = 0; j < GV; j++)
                    load_vector(values + u * GROUP_VALUES + (long long)j * (LANES * VEC), v[u][j],
                                p);
        values += DEPTH * GROUP_VALUES;
        columns += DEPTH * GROUP_COLUMNS;
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            if ((DEPTH + u) * PER_ROW < left)
                load_columns(columns + u * GROUP_COLUMNS, next[u], p);
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            UNROLL
            for (int i = 0; i < GROUP; i++)
                if (u * PER_ROW * GROUP + i < blocks)
                    load_x_block(x, cols, column[u][i], vectors, xs[u] + i * BW, keep);
        UNROLL
        for (int u = 0; u < DEPTH; u++)
            UNROLL
            for (int i = 0; i < GROUP; i++)
                if (u * PER_ROW * GROUP + i < blocks)
                    UNROLL
                    for (int j = 0; j < BW; j++)
                        MULTIPLY_ADD(sum, v[u][(i * BW + j) / VEC][(i * BW + j) % VEC],
                                     xs[u][i * BW + j]);
    }
    return sum;
}
#endif
