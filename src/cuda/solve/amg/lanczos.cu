/* Vectors of Lanczos' method (solve/pc/amg/lanczos.c), one thread per scalar at a time.
 *
 *   THREADS  threads per thread block, a power of two
 *
 * Each thread block leaves a partial sum. Their number depends on the length alone, and the host
 * adds them in order.
 */
#define REAL 8
#include "common.cuh"

/* r: random numbers over the root of the inverse diagonal's size; p = q = 0. */
typedef struct begin_args {
    const real *inverse; /* blocks of the inverse diagonal, column-major */
    real *r, *p, *q;
    long long count, rows; /* scalars with padding, without */
    long long block, seed;
} begin_args;

/* The same numbers as the host's tess_random_unit. */
DEVICE double random_unit(unsigned long long seed, unsigned long long i)
{
    unsigned long long z =
        (seed ^ 0x6a09e667f3bcc909ull) * 0x9e3779b97f4a7c15ull + i * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    return 2.0 * (((double)(z >> 11) + 0.5) * 1.1102230246251565e-16) - 1.0;
}

KERNEL(begin, begin_args, THREADS, 1)
{
    const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.count)
        return;
    const long long row = i / a.block, at = i % a.block;
    const double size = fabs(a.inverse[row * a.block * a.block + at * (a.block + 1)]);
    a.r[i] = i < a.rows && size > 0 ? random_unit((unsigned long long)a.seed, (unsigned long long)i) /
                                          sqrt(size)
                                    : 0;
    a.p[i] = 0;
    a.q[i] = 0;
}

/* The partial sum of a thread block is the sum of its threads' numbers. The tree is dot.cu's. */
DEVICE void leave_part(double sum, double *partial)
{
    SHARED(double, part, THREADS);
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        partial[blockIdx.x] = part[0];
}

/* to = r - alpha q, z = D^-1 to; partial sums of to . z. */
typedef struct advance_args {
    const real *inverse, *r, *q;
    real *to, *z;
    double *partial; /* one per thread block */
    long long count, block;
    double alpha;
} advance_args;

KERNEL(advance, advance_args, THREADS, 1)
{
    const long long step = (long long)gridDim.x * THREADS;
    const int b = (int)a.block;
    double sum = 0;
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < a.count; i += step) {
        const long long row = i / b, first = row * b;
        const real *inverse = a.inverse + first * b + (i - first);
        double z = 0;
        for (int c = 0; c < b; c++)
            z += inverse[c * b] * (a.r[first + c] - a.alpha * a.q[first + c]);
        const double mine = a.r[i] - a.alpha * a.q[i];
        a.to[i] = mine;
        a.z[i] = z;
        sum += z * mine;
    }
    leave_part(sum, a.partial);
}

/* q = A p for A in BSR, one thread per scalar row. Rows of padding become 0. */
typedef struct product_args {
    const long long *offsets;
    const int *columns;
    const real *values, *p;
    real *q;
    long long count, rows, block;
} product_args;

KERNEL(product, product_args, THREADS, 1)
{
    const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    const int b = (int)a.block;
    if (i >= a.count)
        return;
    const long long row = i / b;
    double sum = 0;
    for (long long k = a.offsets[row]; i < a.rows && k < a.offsets[row + 1]; k++) {
        const real *block = a.values + k * b * b + (i - row * b);
        const real *x = a.p + (long long)a.columns[k] * b;
        for (int c = 0; c < b; c++)
            sum += block[c * b] * x[c];
    }
    a.q[i] = sum;
}

/* Partial sums of p . q. */
typedef struct multiply_args {
    const real *p, *q;
    double *partial;
    long long count;
} multiply_args;

KERNEL(multiply, multiply_args, THREADS, 1)
{
    const long long step = (long long)gridDim.x * THREADS;
    double sum = 0;
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < a.count; i += step)
        sum += a.p[i] * a.q[i];
    leave_part(sum, a.partial);
}

/* p = z + beta p. */
typedef struct follow_args {
    const real *z;
    real *p;
    long long count;
    double beta;
} follow_args;

KERNEL(follow, follow_args, THREADS, 1)
{
    const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i < a.count)
        a.p[i] = a.z[i] + a.beta * a.p[i];
}
