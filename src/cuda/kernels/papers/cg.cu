/* The vector operations of paper 004's conjugate gradients (Algorithm 1, Table 2): five kernels and
 * a reduction, as the paper divides them. Each product that a dot needs is written to memory and
 * added up by the reduction: an iteration moves 18 vectors and three reductions beside A. The
 * paper's equation 6 counts 20, with cg2, which Algorithm 1 runs only when beta is below the
 * tolerance. The solver's own passes (src/cuda/solve) move 12, c counted as here; these are for
 * comparison.
 *
 *     kernel    reads           writes               vectors
 *     cg1       r b c           r w v p t s          9         once
 *     cg2       r               t                    2         when beta is below the tolerance
 *     cg3       u v             t                    3
 *     cg4       x v r u c       x r w t              9
 *     cg5       c w v           v p t                6
 *     red       t               partial sums         1         and a second launch that adds these
 *
 * c is 1 / sqrt of the diagonal: c * c is the Jacobi preconditioner. p is the whole vector, of
 * which v is one device's part. Grids are fixed (section 5.1): every thread walks the vectors in
 * steps of all threads.
 *
 * `load` is the benchmark of section 5.1: it reads VECTORS vectors and nothing else.
 *
 * Macros: REAL, THREADS (a power of two), VECTORS (load: 1, 2, 4 or 8).
 */
#include "common.cuh"
#include "block_sum.cuh"

typedef struct cg_args {
    const real *b, *c, *u;
    real *x, *r, *w, *v, *p, *t, *s;
    double *sums; /* red: one per thread block */
    long long n;
    double factor; /* cg4: t of the paper; cg5: s */
} cg_args;

#ifndef VECTORS
#define VECTORS 1
#endif

#define EACH(i)                                                                     \
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < a.n;      \
         i += (long long)gridDim.x * THREADS)

KERNEL(cg1, cg_args, THREADS, 1)
{
    EACH(i)
    {
        const real r = a.b[i] - a.r[i], w = a.c[i] * r, v = a.c[i] * w;
        a.r[i] = r;
        a.w[i] = w;
        a.v[i] = v;
        a.p[i] = v;
        a.t[i] = w * w;
        a.s[i] = v * v;
    }
}

KERNEL(cg2, cg_args, THREADS, 1)
{
    EACH(i)
    a.t[i] = a.r[i] * a.r[i];
}

KERNEL(cg3, cg_args, THREADS, 1)
{
    EACH(i)
    a.t[i] = a.u[i] * a.v[i];
}

KERNEL(cg4, cg_args, THREADS, 1)
{
    const real t = (real)a.factor;
    EACH(i)
    {
        const real r = a.r[i] - t * a.u[i], w = a.c[i] * r;
        a.x[i] += t * a.v[i];
        a.r[i] = r;
        a.w[i] = w;
        a.t[i] = w * w;
    }
}

KERNEL(cg5, cg_args, THREADS, 1)
{
    const real s = (real)a.factor;
    EACH(i)
    {
        const real v = a.c[i] * a.w[i] + s * a.v[i];
        a.v[i] = v;
        a.p[i] = v;
        a.t[i] = v * v;
    }
}

/* Sums t: one partial sum per thread block. */
KERNEL(red, cg_args, THREADS, 1)
{
    SHARED(double, scratch, THREADS);
    double sum = 0;
    EACH(i)
    sum += a.t[i];
    sum = block_sum(sum, scratch, THREADS);
    if (threadIdx.x == 0)
        a.sums[blockIdx.x] = sum;
}

/* One thread block: the sum of n partial sums, to the first of them. */
KERNEL(red_end, cg_args, THREADS, 1)
{
    SHARED(double, scratch, THREADS);
    double sum = 0;
    EACH(i)
    sum += a.sums[i];
    sum = block_sum(sum, scratch, THREADS);
    if (threadIdx.x == 0)
        a.sums[0] = sum;
}

/* Writes a sum only where it equals `factor`: with a NaN, nowhere. */
KERNEL(load, cg_args, THREADS, 1)
{
    EACH(i)
    {
        real sum = a.b[i];
        if (VECTORS > 1)
            sum += a.c[i];
        if (VECTORS > 2)
            sum += a.u[i] + a.x[i];
        if (VECTORS > 4)
            sum += a.r[i] + a.w[i] + a.v[i] + a.p[i];
        if (sum == (real)a.factor)
            a.t[i] = sum;
    }
}
