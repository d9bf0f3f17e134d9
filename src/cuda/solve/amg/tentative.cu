/* The tentative prolongator Q of a multigrid level (solve/pc/amg/tentative.c): the modes on each
 * group of block rows, made orthonormal by Gram-Schmidt, twice per column. Q has at most one block
 * per row, of block x modes scalars, column-major. The factors R become the next level's modes.
 *
 *   THREADS  threads per thread block, a multiple of 32
 *
 * A warp has a group. Lane t has the scalars t, t + 32, ... of every column, which stay in Q. Dot
 * products are summed by lanes, then over the lanes in one order.
 */
#define REAL 8
#include "common.cuh"

enum { WARP = 32 };

typedef struct tentative_args {
    const long long *offsets; /* of groups */
    const int *members;
    const long long *q_offsets; /* of Q's rows */
    real *q;
    const real *given;       /* modes as columns of `length` scalars; 0: they are made here ... */
    const real *coordinates; /* ... of coordinates, `block` a block row; 0: constants alone */
    real *coarse;            /* the next level's modes: columns of groups * modes scalars */
    unsigned char *dead;     /* per row of `coarse`, 1: on its group the mode depends on others */
    long long groups, block, modes, length;
    double centre[3]; /* of the coordinates */
} tentative_args;

/* Scalar `at` of mode j; 0 in padding. The first modes are one constant per component. Then come
 * rotations in the planes (0,1), (0,2) and (1,2). */
DEVICE real mode_value(const tentative_args *a, long long at, int j)
{
    const int b = (int)a->block;
    if (a->given)
        return at < a->length ? a->given[j * a->length + at] : 0;
    const long long node = at / b;
    const int c = (int)(at - node * b), plane = j - b;
    if (plane < 0)
        return c == j;
    const int p = plane == 2, q = plane == 0 ? 1 : 2;
    /* Constant places: an index would put the arguments on the stack. */
    const double centre_p = p == 0 ? a->centre[0] : a->centre[1];
    const double centre_q = q == 1 ? a->centre[1] : a->centre[2];
    return c == p   ? -(a->coordinates[node * b + q] - centre_q)
           : c == q ? a->coordinates[node * b + p] - centre_p
                    : 0;
}

/* A group: `count` scalars per column. */
typedef struct group {
    const int *members;
    int count;
} group;

/* Scalar i of the group's first column; columns are `block` scalars apart. */
DEVICE real *scalar_at(const tentative_args *a, const group *g, int i)
{
    const int b = (int)a->block, member = i / b;
    return a->q + a->q_offsets[g->members[member]] * (b * a->modes) + (i - member * b);
}

/* The dot product of two columns, the same in all lanes. */
DEVICE double dot(const tentative_args *a, const group *g, int x, int y)
{
    const int b = (int)a->block;
    double sum = 0;
    for (int i = (int)threadIdx.x % WARP; i < g->count; i += WARP) {
        const real *first = scalar_at(a, g, i);
        sum += first[x * b] * first[y * b];
    }
    for (int by = WARP / 2; by > 0; by /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, by, WARP);
    return sum;
}

DEVICE void gather(const tentative_args *a, const group *g)
{
    const int b = (int)a->block;
    for (int i = (int)threadIdx.x % WARP; i < g->count; i += WARP) {
        real *first = scalar_at(a, g, i);
        const long long at = (long long)g->members[i / b] * b + i % b;
        for (int j = 0; j < (int)a->modes; j++)
            first[j * b] = mode_value(a, at, j);
    }
}

/* Column y = column y - share * column x. */
DEVICE void subtract(const tentative_args *a, const group *g, int x, int y, double share)
{
    const int b = (int)a->block;
    for (int i = (int)threadIdx.x % WARP; i < g->count; i += WARP) {
        real *first = scalar_at(a, g, i);
        first[y * b] -= share * first[x * b];
    }
}

/* Divides column j by its norm; a dead one becomes 0. */
DEVICE void scale(const tentative_args *a, const group *g, int j, double norm, int dead)
{
    const int b = (int)a->block;
    for (int i = (int)threadIdx.x % WARP; i < g->count; i += WARP) {
        real *x = scalar_at(a, g, i) + j * b;
        *x = dead ? 0 : *x / norm;
    }
}

KERNEL(tentative, tentative_args, THREADS, 1)
{
    const double spanned = 1e-10; /* as on the host */
    const long long number = (long long)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
    const int b = (int)a.block, k = (int)a.modes, leads = threadIdx.x % WARP == 0;
    if (number >= a.groups)
        return;
    const long long first = a.offsets[number];
    const group g = {a.members + first, (int)(a.offsets[number + 1] - first) * b};
    gather(&a, &g);
    for (int j = 0; j < k; j++) {
        real *coarse = a.coarse + j * a.groups * k + number * k;
        const double before = sqrt(dot(&a, &g, j, j));
        for (int l = 0; leads && l < k; l++)
            coarse[l] = 0;
        for (int round = 0; round < 2; round++)
            for (int l = 0; l < j; l++) {
                const double share = dot(&a, &g, l, j);
                if (leads)
                    coarse[l] += share;
                subtract(&a, &g, l, j, share);
            }
        const double norm = sqrt(dot(&a, &g, j, j));
        const int dead = !(norm > spanned * before);
        scale(&a, &g, j, norm, dead);
        if (!leads)
            continue;
        coarse[j] = dead ? 0 : norm;
        a.dead[number * k + j] = (unsigned char)dead;
    }
}
