/* Whole iterations of a method on a small system in one cooperative launch: each thread block keeps
 * its rows of the matrix and of the vectors in shared memory; all meet only where a product needs
 * other rows of a vector, or a dot product is summed.
 *
 * The method is the text of -DSTAGES, a list of
 *
 *   PRODUCT(x, y)          y = A x
 *   PRODUCT_DOT(x, y, w, k)  the same, and dot product k = w . y
 *   BEGIN(loads, stores) ... END()   a pass over the rows (lines.cuh) with bits as in pass.cu
 *   SHARE()                a barrier: rows written so far are seen by all
 *   TOTAL(bits)            the sums of these dot products, in their slots
 *   SCALARS(at)            the programme that begins there; the end of an iteration is judged
 *
 *   REAL, BLOCK, HELD, THREADS, VECTORS, COEFS, DOTS: pass.cu     BH   block height of the matrix
 *   PROGRAMME   ints of all programmes     SHOWN  bit k: other thread blocks read vector k, in memory
 *
 * Every thread block has the slots in shared memory and computes the same scalars from the same
 * sums, so all agree when to stop; the first one writes them out.
 */
#define DIRECT 0
#define REPEAT 1
#include "common.cuh"
#include "steps.cuh"
#include "lines.cuh"

#ifdef TESS_EMULATE
#define NOT_A_NUMBER NAN
#else
#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000ll)
#endif
#define WARPS (THREADS / 32)
#define ACROSS (32 / BH) /* columns of blocks that a warp takes at a time */

/* Columns of blocks whose x is under way at a time. */
#define BATCH (THREADS > 512 ? 6 : 10) /* of 64 registers a thread */

typedef struct loop_args {
    finish_args f; /* its programme: the first of all */
    real *vector[10];
    double factor[12];
    long long slot[12];
    long long dot_slot[8];
    const held *diagonal;
    long long rows;
    const long long *offsets; /* the matrix: bsr */
    const int *columns;
    const real *values;
    const int *first; /* block row of each thread block, and the end */
    double *parts;    /* 3 * DOTS a thread block, all bits 1 */
    unsigned *arrived; /* 0 */
} loop_args;

/* What a thread block knows: its rows, and all that it keeps in shared memory. */
typedef struct loop_place {
    int first, end; /* block rows */
    int span;       /* scalar rows, padding included */
    const real *values;
    const int *columns, *offsets; /* both from the block's first on */
    real *local;                  /* vector k from k * span on */
    double *slots, *control, *scratch;
    const int *programme;
    unsigned barriers, totals;
} loop_place;

#ifndef TESS_EMULATE
/* How many have arrived, and what they wrote before that. */
DEVICE unsigned acquire_count(const unsigned *from)
{
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}
#endif

DEVICE void grid_barrier(const loop_args *a, loop_place *p)
{
#ifdef TESS_EMULATE
    (void)a, (void)p;
    grid_sync();
#else
    p->barriers++;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(a->arrived, 1u);
        while (acquire_count(a->arrived) < p->barriers * gridDim.x)
            ;
    }
    __syncthreads();
#endif
}

/* One warp a block row: lane (i, s) adds row i of every ACROSS-th column of blocks. Returns the
 * thread's part of w . y. */
DEVICE double product(const loop_args *a, const loop_place *p, const real *x, real *y, const real *w)
{
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int i = lane % BH, s = lane / BH;
    double part = 0;
    __syncthreads();
    NO_UNROLL
    for (int row = warp; row < p->end - p->first; row += WARPS) {
        const int from = p->offsets[row] * BH;
        const int end = s < ACROSS ? p->offsets[row + 1] * BH : 0;
        real total = 0;
        NO_UNROLL
        for (int q0 = from + s; q0 < end; q0 += ACROSS * BATCH) {
            real xs[BATCH];
            UNROLL
            for (int u = 0; u < BATCH; u++) {
                const int q = q0 + u * ACROSS;
                xs[u] = 0;
                if (q < end)
                    xs[u] = FRESH(x + (long long)p->columns[q / BH] * BH + q % BH);
            }
            UNROLL
            for (int u = 0; u < BATCH; u++) {
                const int q = q0 + u * ACROSS;
                if (q < end)
                    total += p->values[q * BH + i] * xs[u];
            }
        }
        UNROLL
        for (int by = 16; by > 0; by /= 2) {
            if (by < ACROSS) {
                const real other = __shfl_down_sync(0xffffffffu, total, (by * BH) & 31, 32);
                if (s + by < ACROSS)
                    total += other;
            }
        }
        const int at = row * BH + i;
        if (s == 0 && (long long)p->first * BH + at < a->rows) {
            y[at] = total;
            if (w)
                part += (double)total * (double)w[at];
        }
    }
    __syncthreads();
    return part;
}

/* A thread block's part of dot product k, once it is there: until then all its bits are 1, which no
 * sum has. */
DEVICE double take_part(const double *from)
{
#ifdef TESS_EMULATE
    return *from;
#else
    double part;
    do {
        part = *(const volatile double *)from;
    } while (__double_as_longlong(part) == -1);
    return part;
#endif
}

/* Adds up the dot products of `bits`, whose parts are in sum; rows written before are seen by all
 * afterwards. Parts go round three buffers: who writes into one has seen that all have read the one
 * before it, and so that nobody reads the next, which it clears. */
DEVICE void total(const loop_args *a, loop_place *p, double *sum, const unsigned bits)
{
    double *parts = a->parts + (long long)(p->totals % 3) * DOTS * gridDim.x;
    double *next = a->parts + (long long)((p->totals + 1) % 3) * DOTS * gridDim.x;
    double mine[DOTS];
    p->totals++;
    UNROLL
    for (int k = 0; k < DOTS; k++) {
        mine[k] = 0;
        if (bits >> k & 1)
            mine[k] = block_total(sum[k], p->scratch, THREADS);
        if (bits >> k & 1)
            sum[k] = 0;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
#ifndef TESS_EMULATE
        UNROLL
        for (int k = 0; k < DOTS; k++)
            next[(long long)k * gridDim.x + blockIdx.x] = __longlong_as_double(-1);
        __threadfence();
#endif
        UNROLL
        for (int k = 0; k < DOTS; k++)
            if (bits >> k & 1)
                *(volatile double *)(parts + (long long)k * gridDim.x + blockIdx.x) =
                    mine[k] == mine[k] ? mine[k] : NOT_A_NUMBER;
    }
#ifdef TESS_EMULATE
    (void)next;
    grid_sync();
#endif
    /* A thread waits for one thread block's parts: there are no more of these than threads. */
    UNROLL
    for (int k = 0; k < DOTS; k++) {
        mine[k] = 0;
        if ((bits >> k & 1) && threadIdx.x < gridDim.x)
            mine[k] = take_part(parts + (long long)k * gridDim.x + threadIdx.x);
    }
    __threadfence();
    UNROLL
    for (int k = 0; k < DOTS; k++) {
        if (bits >> k & 1) {
            const double all = block_total(mine[k], p->scratch, THREADS);
            if (threadIdx.x == 0)
                p->slots[a->dot_slot[k]] = all;
        }
    }
    __syncthreads();
}

DEVICE void scalars(const loop_args *a, const loop_place *p, int at)
{
    const int *programme = p->programme + at;
    const bool ends = programme[2] != 0;
    const long long entry = ends ? (long long)p->control[COUNT] : 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        const int *op = programme + 3;
        for (int i = 0; i < programme[0]; i++, op += 4)
            p->slots[op[1]] = scalar_op(op[0], p->slots[op[2]], p->slots[op[3]]);
        if (ends)
            judge(op, programme[1], p->slots, p->control);
    }
    __syncthreads();
    if (ends && blockIdx.x == 0)
        for (long long i = threadIdx.x; i < a->f.slot_count; i += THREADS)
            a->f.ring[entry * a->f.slot_count + i] = p->slots[i];
}

#define SHARE() grid_barrier(&a, &p);
#define TOTAL(bits) total(&a, &p, sum, bits);
#define SCALARS(at) scalars(&a, &p, at);
#define LOCAL(k) (p.local + (k) * p.span)
#define PRODUCT(x, y) product(&a, &p, a.vector[x], LOCAL(y), 0);
#define PRODUCT_DOT(x, y, w, k) sum[k] += product(&a, &p, a.vector[x], LOCAL(y), LOCAL(w));

#define BEGIN(loads, stores)                                                                \
    {                                                                                       \
        const unsigned stored = stores;                                                     \
        const long long start = (long long)p.first * BH;                                    \
        const long long end = start + p.span < a.rows ? start + p.span : a.rows;            \
        real c[COEFS + 1];                                                                  \
        UNROLL                                                                              \
        for (int k = 0; k < COEFS; k++)                                                     \
            c[k] = (real)(a.slot[k] < 0 ? a.factor[k] : a.factor[k] * slots[a.slot[k]]);    \
        NO_UNROLL                                                                           \
        for (long long base = start; base < end; base += TILE) {                            \
            const line_place lines = {a.diagonal, base, end, shared};                       \
            const long long row = base + threadIdx.x;                                       \
            const bool mine = row < end && threadIdx.x < TILE;                              \
            real e[1][VECTORS];                                                             \
            DIAGONAL_AHEAD(&lines)                                                          \
            UNROLL                                                                          \
            for (int k = 0; k < VECTORS; k++) {                                             \
                e[0][k] = 0;                                                                \
                if (mine && ((loads) >> k & 1))                                             \
                    e[0][k] = LOCAL(k)[row - start];                                        \
            }

#define END()                                                \
            UNROLL                                           \
            for (int k = 0; k < VECTORS; k++) {              \
                if (mine && (stored >> k & 1))               \
                    LOCAL(k)[row - start] = e[0][k];         \
                if (mine && (stored >> k & 1) && (SHOWN >> k & 1)) \
                    a.vector[k][row] = e[0][k];              \
            }                                                \
            (void)lines;                                     \
        }                                                    \
        (void)c;                                             \
    }

/* The rows of all vectors, from memory or back to it. */
DEVICE void move_vectors(const loop_args *a, const loop_place *p, bool back)
{
    const long long start = (long long)p->first * BH;
    UNROLL
    for (int k = 0; k < VECTORS; k++)
        for (int i = (int)threadIdx.x; i < p->span; i += THREADS) {
            if (start + i >= a->rows)
                continue;
            if (back)
                a->vector[k][start + i] = p->local[k * p->span + i];
            else
                p->local[k * p->span + i] = a->vector[k][start + i];
        }
}

KERNEL(loop, loop_args, THREADS, 1)
{
    DYNAMIC_SHARED(memory);
    SHARED(double, slots, FINISH_SLOTS);
    SHARED(double, control, 8);
    SHARED(double, scratch, WARPS);
    SHARED(int, programme, PROGRAMME);
    SHARED(real, shared, THREADS);
    loop_place p;
    p.first = a.first[blockIdx.x];
    p.end = a.first[blockIdx.x + 1];
    p.span = (p.end - p.first) * BH;
    p.slots = slots;
    p.control = control;
    p.scratch = scratch;
    p.programme = programme;
    p.barriers = p.totals = 0;
    const long long from = a.offsets[p.first];
    const int blocks = (int)(a.offsets[p.end] - from);
    real *values = (real *)memory;
    p.local = values + blocks * BH * BH;
    int *columns = (int *)(p.local + VECTORS * p.span), *offsets = columns + blocks;
    for (int i = (int)threadIdx.x; i < blocks * BH * BH; i += THREADS)
        values[i] = a.values[from * BH * BH + i];
    for (int i = (int)threadIdx.x; i < blocks; i += THREADS)
        columns[i] = a.columns[from + i];
    for (int i = (int)threadIdx.x; i <= p.end - p.first; i += THREADS)
        offsets[i] = (int)(a.offsets[p.first + i] - from);
    p.values = values;
    p.columns = columns;
    p.offsets = offsets;
    move_vectors(&a, &p, false);
    for (long long i = threadIdx.x; i < a.f.slot_count; i += THREADS)
        slots[i] = a.f.slots[i];
    for (int i = (int)threadIdx.x; i < PROGRAMME; i += THREADS)
        programme[i] = a.f.programme[i];
    if (threadIdx.x < 8)
        control[threadIdx.x] = a.f.control[threadIdx.x];
    double sum[DOTS];
    UNROLL
    for (int k = 0; k < DOTS; k++)
        sum[k] = 0;
    __syncthreads();
    NO_UNROLL
    while (control[STOPPED] == 0) {
        STAGES
        __syncthreads();
    }
    move_vectors(&a, &p, true);
    if (blockIdx.x == 0) {
        for (long long i = threadIdx.x; i < a.f.slot_count; i += THREADS)
            a.f.slots[i] = slots[i];
        if (threadIdx.x < 8)
            a.f.control[threadIdx.x] = control[threadIdx.x];
    }
    (void)shared;
}
