/* Whole iterations of a method on a small system in one cooperative launch: each thread block keeps
 * its rows of the matrix in shared memory and its rows of the vectors to itself, all meet at
 * barriers only where a product needs other rows of a vector, or a dot product is summed.
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
 *   PROGRAMME   ints of all programmes
 *
 * Every thread block has the slots in shared memory and computes the same scalars from the same
 * sums, so all agree when to stop; the first one writes them out.
 */
#define DIRECT 0
#define REPEAT 1
#include "common.cuh"
#include "steps.cuh"
#include "lines.cuh"

#define WARPS (THREADS / 32)
#define ACROSS (32 / BH) /* columns of blocks that a warp takes at a time */

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
    double *parts;    /* 2 * DOTS a thread block */
    unsigned *arrived;
} loop_args;

/* What a thread block knows: its rows, and all that it keeps in shared memory. */
typedef struct loop_place {
    int first, end; /* block rows */
    long long base; /* of its blocks */
    const real *values;
    const int *columns;
    double *slots, *control, *scratch;
    const int *programme;
    unsigned barriers, totals;
} loop_place;

DEVICE void grid_barrier(const loop_args *a, loop_place *p)
{
#ifdef TESS_EMULATE
    (void)a, (void)p;
    grid_sync();
#else
    p->barriers++;
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned all = p->barriers * gridDim.x;
        unsigned seen;
        __threadfence();
        atomicAdd(a->arrived, 1u);
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(a->arrived) : "memory");
        } while (seen < all);
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
    for (int row = p->first + warp; row < p->end; row += WARPS) {
        const int from = (int)(a->offsets[row] - p->base), to = (int)(a->offsets[row + 1] - p->base);
        const int end = s < ACROSS ? (to - from) * BH : 0;
        real total = 0;
        UNROLL_4
        for (int q = s; q < end; q += ACROSS) {
            const int block = from + q / BH, j = q % BH;
            total += p->values[((long long)block * BH + j) * BH + i] *
                     FRESH(x + (long long)p->columns[block] * BH + j);
        }
        UNROLL
        for (int by = 16; by > 0; by /= 2) {
            if (by < ACROSS) {
                const real other = __shfl_down_sync(0xffffffffu, total, (by * BH) & 31, 32);
                if (s + by < ACROSS)
                    total += other;
            }
        }
        const long long at = (long long)row * BH + i;
        if (s == 0 && at < a->rows) {
            y[at] = total;
            if (w)
                part += (double)total * (double)w[at];
        }
    }
    __syncthreads();
    return part;
}

/* Adds up the dot products of `bits`, whose parts are in sum. */
DEVICE void total(const loop_args *a, loop_place *p, double *sum, const unsigned bits)
{
    double *parts = a->parts + (long long)(p->totals++ % 2) * DOTS * gridDim.x;
    UNROLL
    for (int k = 0; k < DOTS; k++) {
        if (bits >> k & 1) {
            const double part = block_total(sum[k], p->scratch, THREADS);
            if (threadIdx.x == 0)
                parts[(long long)k * gridDim.x + blockIdx.x] = part;
            sum[k] = 0;
        }
    }
    grid_barrier(a, p);
    UNROLL
    for (int k = 0; k < DOTS; k++) {
        if ((bits >> k & 1) && (int)threadIdx.x / 32 == k % WARPS) {
            double all = 0;
            for (unsigned b = threadIdx.x % 32; b < gridDim.x; b += 32)
                all += FRESH(parts + (long long)k * gridDim.x + b);
            UNROLL
            for (int by = 16; by > 0; by /= 2)
                all += __shfl_down_sync(0xffffffffu, all, by, 32);
            if (threadIdx.x % 32 == 0)
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
#define PRODUCT(x, y) product(&a, &p, a.vector[x], a.vector[y], 0);
#define PRODUCT_DOT(x, y, w, k) \
    sum[k] += product(&a, &p, a.vector[x], a.vector[y], a.vector[w]);

#define BEGIN(loads, stores)                                                                   \
    {                                                                                          \
        const unsigned stored = stores;                                                        \
        const long long end = (long long)p.end * BH < a.rows ? (long long)p.end * BH : a.rows; \
        real c[COEFS + 1];                                                                     \
        UNROLL                                                                                 \
        for (int k = 0; k < COEFS; k++)                                                        \
            c[k] = (real)(a.slot[k] < 0 ? a.factor[k] : a.factor[k] * slots[a.slot[k]]);       \
        NO_UNROLL                                                                              \
        for (long long base = (long long)p.first * BH; base < end; base += TILE) {             \
            const line_place lines = {a.diagonal, base, end, shared};                          \
            DIAGONAL_AHEAD(&lines)                                                             \
            const long long row = base + threadIdx.x;                                          \
            const bool mine = row < end && threadIdx.x < TILE;                                 \
            real e[1][VECTORS];                                                                \
            UNROLL                                                                             \
            for (int k = 0; k < VECTORS; k++) {                                                \
                e[0][k] = 0;                                                                   \
                if (mine && ((loads) >> k & 1))                                                \
                    e[0][k] = a.vector[k][row];                                                \
            }

#define END()                                   \
            UNROLL                              \
            for (int k = 0; k < VECTORS; k++)   \
                if (mine && (stored >> k & 1))  \
                    a.vector[k][row] = e[0][k]; \
            (void)lines;                        \
        }                                       \
        (void)c;                                \
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
    p.base = a.offsets[p.first];
    p.slots = slots;
    p.control = control;
    p.scratch = scratch;
    p.programme = programme;
    p.barriers = p.totals = 0;
    const long long blocks = a.offsets[p.end] - p.base;
    real *values = (real *)memory;
    int *columns = (int *)(values + blocks * BH * BH);
    for (long long i = threadIdx.x; i < blocks * BH * BH; i += THREADS)
        values[i] = a.values[p.base * BH * BH + i];
    for (long long i = threadIdx.x; i < blocks; i += THREADS)
        columns[i] = a.columns[p.base + i];
    p.values = values;
    p.columns = columns;
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
    if (blockIdx.x == 0) {
        for (long long i = threadIdx.x; i < a.f.slot_count; i += THREADS)
            a.f.slots[i] = slots[i];
        if (threadIdx.x < 8)
            a.f.control[threadIdx.x] = control[threadIdx.x];
    }
    (void)shared;
}
