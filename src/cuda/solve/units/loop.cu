/* Whole iterations of a method on a small system in one launch. The grid is one cluster of at most
 * TEAM thread blocks. Each keeps its rows of the matrix and of the vectors in shared memory, which
 * the others can read. Thread blocks wait at the cluster's barrier where a product needs rows of
 * other thread blocks, or a dot product is summed.
 *
 * The method is the text of -DSTAGES: that of stages.cuh and
 *
 *   PRODUCT(x, y)            y = A x
 *   PRODUCT_DOT(x, y, w, k)  the same, and dot product k = w . y; of real vectors
 *   SHARE()                  the cluster's barrier: all thread blocks see the rows written so far
 *
 *   BH   block height of the matrix
 *
 * Every thread block has the slots in shared memory and computes the same scalars from the same
 * sums, so all stop in the same iteration. The first thread block writes the slots to memory.
 */
#include "common.cuh"
#define REPEAT 1
#include "stages.cuh"

/* LOCAL(k): the thread block's rows of vector k. */
#define BEGIN(loads, stores)                                                             \
    {                                                                                    \
        const unsigned stored = stores;                                                  \
        TAKE_COEFS()                                                                     \
        NO_UNROLL                                                                        \
        for (int base = 0; base < p.count; base += TILE) {                               \
            const diagonal_place diagonals = {p.diagonal, base, p.count, p.x};           \
            const int row = base + (int)threadIdx.x;                                     \
            const bool mine = row < p.count && threadIdx.x < TILE;                       \
            scalar e[1][VECTORS];                                                        \
            DIAGONAL_AHEAD(&diagonals)                                                   \
            UNROLL                                                                       \
            for (int k = 0; k < VECTORS; k++) {                                          \
                e[0][k] = ZERO;                                                          \
                if (mine && ((loads) >> k & 1))                                          \
                    e[0][k] = LOCAL(k)[row];                                             \
            }

#define END()                                \
            UNROLL                           \
            for (int k = 0; k < VECTORS; k++) \
                if (mine && (stored >> k & 1)) \
                    LOCAL(k)[row] = e[0][k]; \
            (void)diagonals;                 \
        }                                    \
    }

#define ACROSS (32 / BH) /* blocks that a warp takes at a time */
#define KEPT 4           /* iterations whose slots are written to memory together */

typedef struct loop_args {
    finish_args f;
    scalar *vector[10];
    double factor[12];
    long long slot[12];
    long long dot_slot[8 * (1 + COMPLEX)];
    const held_scalar *diagonal;
    long long rows;
    long long span;           /* scalar rows of the thread block that has most */
    const long long *offsets; /* the matrix: bsr */
    const scalar *values;
    const int *first;             /* block row of each thread block, and the end */
    const int *sources;           /* block rows of x per thread block: owner << 16 | row */
    const int *source_first;      /* of each thread block, and the end */
    const unsigned short *places; /* of each block: where its part of x lies among the sources */
} loop_args;

/* The rows of a thread block, and what its shared memory has. */
typedef struct loop_place {
    int first, rows; /* block rows */
    int span;        /* as in loop_args */
    int count;       /* scalar rows, no padding */
    const scalar *values;
    const held_scalar *diagonal;
    scalar *local; /* vector k from k * span on */
    scalar *x;     /* a product's rows of x, in the order of sources; scratch memory of a pass */
    const int *offsets, *sources; /* offsets: counted from the thread block's first block */
    int source_count;
    const unsigned short *places;
    double *slots, *control, *scratch, *arrivals, *kept;
    unsigned totals;
    long long start; /* iterations done before this launch */
} loop_place;

/* ---- Meeting ---- */

#ifndef TESS_EMULATE
DEVICE unsigned remote_address(const void *pointer, unsigned rank)
{
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(there)
        : "r"(shared_address(pointer)), "r"(rank));
    return there;
}

DEVICE scalar remote_load(const scalar *from, unsigned rank)
{
    scalar value;
#if COMPLEX
    asm volatile("ld.shared::cluster.v2." SCALAR_KIND " {%0, %1}, [%2];"
                 : SCALAR_OUT(value.re), SCALAR_OUT(value.im)
                 : "r"(remote_address(from, rank)));
#else
    asm volatile("ld.shared::cluster." SCALAR_KIND " %0, [%1];"
                 : SCALAR_OUT(value)
                 : "r"(remote_address(from, rank)));
#endif
    return value;
}

DEVICE void remote_store(double *to, unsigned rank, double value)
{
    asm volatile("st.shared::cluster.f64 [%0], %1;" ::"r"(remote_address(to, rank)), "d"(value)
                 : "memory");
}

DEVICE void cluster_sync(void)
{
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;" ::: "memory");
}
#endif

/* ---- Products ---- */

/* The sum over the lanes (i, s) of row i; lane (i, 0) has it. */
DEVICE scalar row_total(scalar total, int s)
{
    UNROLL
    for (int by = 16; by > 0; by /= 2) {
        if (by < ACROSS) {
            const scalar other = shuffle_down(0xffffffffu, total, (by * BH) & 31, 32);
            if (s + by < ACROSS)
                ADD_TO(total, other);
        }
    }
    return total;
}

/* Copies the rows of x that this thread block multiplies with from the thread blocks that own
 * them. */
DEVICE void gather(const loop_place *p, int vector)
{
    __syncthreads();
    NO_UNROLL
    for (int i = (int)threadIdx.x; i < p->source_count * BH; i += THREADS) {
        const int source = p->sources[i / BH], j = i % BH;
        p->x[i] = remote_load(p->local + vector * p->span + (source & 0xffff) * BH + j,
                              (unsigned)source >> 16);
    }
    __syncthreads();
}

/* Lane (i, s): row i of blocks s, s + ACROSS, ... of a block row, times x. */
DEVICE scalar row_part(const loop_place *p, int row, int i, int s)
{
    const int end = s < ACROSS ? p->offsets[row + 1] : 0;
    scalar total = ZERO;
    UNROLL_4
    for (int block = p->offsets[row] + s; block < end; block += ACROSS) {
        const scalar *x = p->x + p->places[block], *v = p->values + block * (BH * BH) + i;
        UNROLL
        for (int j = 0; j < BH; j++)
            MULTIPLY_ADD(total, v[j * BH], x[j]);
    }
    return total;
}

/* y = A x: one warp per block row, lane (i, s) a share of row i. Returns the thread's partial sum
 * of w . y. */
DEVICE double product(const loop_place *p, int vector, scalar *y, const scalar *w)
{
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int i = lane % BH, s = lane / BH;
    double part = 0;
    gather(p, vector);
    NO_UNROLL
    for (int row = warp; row < p->rows; row += WARPS) {
        const scalar total = row_total(row_part(p, row, i, s), s);
        const int at = row * BH + i;
        if (s == 0 && at < p->count) {
            y[at] = total;
#if !COMPLEX
            if (w)
                part += (double)total * (double)w[at];
#endif
        }
    }
    __syncthreads();
    return part;
}

/* ---- Sums ---- */

/* Adds up the dot products of `bits` from the threads' partial sums in `sum`. The totals are in
 * their slots, where the first thread sees them. All thread blocks see the rows written before. */
DEVICE void total(const loop_args *a, loop_place *p, double *sum, const unsigned bits)
{
    const int lane = (int)threadIdx.x % 32;
    double *arrivals = p->arrivals + (p->totals++ % 2) * (DOTS * TEAM);
    double mine[DOTS];
    block_totals(sum, mine, bits, p->scratch);
    UNROLL
    for (int k = 0; k < DOTS; k++)
        if ((bits >> k & 1) && threadIdx.x < gridDim.x)
            remote_store(arrivals + k * TEAM + blockIdx.x, threadIdx.x, mine[k]);
    cluster_sync();
    if (threadIdx.x >= 32)
        return;
    UNROLL
    for (int k = 0; k < DOTS; k++)
        mine[k] = (bits >> k & 1) && lane < (int)gridDim.x ? arrivals[k * TEAM + lane] : 0;
    warp_totals(mine);
    UNROLL
    for (int k = 0; k < DOTS; k++)
        if ((bits >> k & 1) && lane == 0) {
            CLEAR_IMAGINARY(p->slots, a->dot_slot[k], a->f.slot_count / 2)
            p->slots[a->dot_slot[k]] = mine[k];
        }
}

/* Keeps the slots of the iteration that has just ended, and writes those of KEPT iterations to the
 * ring. A thread writes the same slot every time, so no barrier is needed. */
DEVICE void keep(const loop_args *a, const loop_place *p)
{
    const long long count = (long long)p->control[COUNT], slots = a->f.slot_count;
    const int i = (int)threadIdx.x;
    if (blockIdx.x != 0 || i >= slots)
        return;
    p->kept[(count - 1) % KEPT * SLOTS + i] = p->slots[i];
    if (count % KEPT != 0 && p->control[STOPPED] == 0)
        return;
    long long from = (count - 1) / KEPT * KEPT;
    for (from = from < p->start ? p->start : from; from < count; from++)
        a->f.ring[from * slots + i] = p->kept[from % KEPT * SLOTS + i];
}

/* ---- Stages ---- */

#define SHARE() cluster_sync();
#define LOCAL(k) (p.local + (k) * p.span)
#define PRODUCT(x, y) product(&p, x, LOCAL(y), 0);
#define PRODUCT_DOT(x, y, w, k) sum[k] += product(&p, x, LOCAL(y), LOCAL(w));

/* Copies the thread block's rows of all vectors from memory, or `back` to it. */
DEVICE void move_vectors(const loop_args *a, const loop_place *p, bool back)
{
    const long long start = (long long)p->first * BH;
    UNROLL
    for (int k = 0; k < VECTORS; k++)
        for (int i = (int)threadIdx.x; i < p->rows * BH; i += THREADS) {
            if (!back)
                p->local[k * p->span + i] = i < p->count ? a->vector[k][start + i] : ZERO;
            else if (i < p->count)
                a->vector[k][start + i] = p->local[k * p->span + i];
        }
}

/* Divides the shared memory and copies into it all that the thread block keeps. */
DEVICE void settle(const loop_args *a, loop_place *p, unsigned char *memory)
{
    p->first = a->first[blockIdx.x];
    p->rows = a->first[blockIdx.x + 1] - p->first;
    p->span = (int)a->span;
    const long long left = a->rows - (long long)p->first * BH;
    p->count = left < p->rows * BH ? (int)left : p->rows * BH;
    p->totals = 0;
    const long long from = a->offsets[p->first];
    const int blocks = (int)(a->offsets[p->first + p->rows] - from);
    const int source = a->source_first[blockIdx.x];
    p->source_count = a->source_first[blockIdx.x + 1] - source;
    p->local = (scalar *)memory;
    p->x = p->local + VECTORS * p->span;
    scalar *values = p->x + (p->source_count * BH > THREADS ? p->source_count * BH : THREADS);
    held_scalar *diagonal = (held_scalar *)(values + blocks * BH * BH);
    int *offsets = (int *)(diagonal + p->rows * BH * BLOCK), *sources = offsets + p->rows + 1;
    unsigned short *places = (unsigned short *)(sources + p->source_count);
    for (int i = (int)threadIdx.x; i < blocks * BH * BH; i += THREADS)
        values[i] = a->values[from * BH * BH + i];
    for (int i = (int)threadIdx.x; i < blocks; i += THREADS)
        places[i] = a->places[from + i];
    for (int i = (int)threadIdx.x; i <= p->rows; i += THREADS)
        offsets[i] = (int)(a->offsets[p->first + i] - from);
    for (int i = (int)threadIdx.x; i < p->source_count; i += THREADS)
        sources[i] = a->sources[source + i];
#if BLOCK > 0
    for (int i = (int)threadIdx.x; i < p->rows * BH * BLOCK; i += THREADS)
        if (BLOCK > 1 || i < p->count)
            diagonal[i] = a->diagonal[(long long)p->first * BH * BLOCK + i];
#endif
    p->values = values;
    p->diagonal = diagonal;
    p->offsets = offsets;
    p->sources = sources;
    p->places = places;
    move_vectors(a, p, false);
}

KERNEL(loop, loop_args, THREADS, 1)
{
    DYNAMIC_SHARED(memory);
    SHARED(double, slots, SLOTS);
    SHARED(double, control, 8);
    SHARED(double, scratch, DOTS *WARPS);
    SHARED(double, arrivals, 2 * DOTS * TEAM);
    SHARED(double, kept, KEPT *SLOTS);
    loop_place p;
    p.slots = slots;
    p.control = control;
    p.scratch = scratch;
    p.arrivals = arrivals;
    p.kept = kept;
    p.start = (long long)a.f.control[COUNT];
    settle(&a, &p, memory);
    for (int i = (int)threadIdx.x; i < a.f.slot_count; i += THREADS)
        slots[i] = a.f.slots[i];
    if (threadIdx.x < 8)
        control[threadIdx.x] = a.f.control[threadIdx.x];
    double sum[DOTS];
    UNROLL
    for (int k = 0; k < DOTS; k++)
        sum[k] = 0;
    cluster_sync();
    NO_UNROLL
    while (control[STOPPED] == 0) {
        STAGES
        __syncthreads();
    }
    cluster_sync(); /* no thread block leaves while others may read its rows */
    move_vectors(&a, &p, true);
    if (blockIdx.x == 0) {
        for (int i = (int)threadIdx.x; i < a.f.slot_count; i += THREADS)
            a.f.slots[i] = slots[i];
        if (threadIdx.x < 8)
            a.f.control[threadIdx.x] = control[threadIdx.x];
    }
}
