/* What an iteration does between two products, in one cooperative launch: the sum of the partial
 * sums that the product left of its dot product, passes, their dot products, scalars. A thread has
 * the same REPEAT rows in all passes: it loads them once, before the sums are known, and stores
 * them at the end. Thread blocks wait for each other only to sum a dot product.
 *
 * The method is the text of -DSTAGES: the macros of stages.cuh and
 *
 *   PRODUCT_SUM(slot)   slot = the sum of the product's partial sums
 *
 *   LOADS, STORES   as in pass.cu, for all passes together
 *   LATE            bits of vectors that the launch before this one writes
 *   MOST_AHEAD      the most scalars of the diagonal that a thread holds in registers
 *
 * The launch may begin while the product ends (LET_NEXT_START in sliced.cu). It loads all vectors
 * that the product does not write, then waits for the product, then loads the others.
 *
 * Every thread block computes the same scalars from the same sums. The last one to leave writes
 * them to memory, where no thread block reads the old ones any more.
 */
#include "common.cuh"
#define AHEAD (BLOCK >= 1 && BLOCK * REPEAT <= MOST_AHEAD)
#include "stages.cuh"

typedef struct between_args {
    finish_args f;
    scalar *vector[10];
    double factor[12];
    long long slot[12];
    long long dot_slot[8 * (1 + COMPLEX)];
    const held_scalar *diagonal;
    long long rows;
    const double *product_sums;
    long long product_count;
    double *partial;   /* 2 * DOTS per thread block */
    unsigned *meeting; /* arrivals and departures, 0 before and after */
} between_args;

typedef struct between_place {
    double *slots, *control, *scratch;
    unsigned barriers;
    bool ended; /* an iteration */
} between_place;

#ifdef TESS_EMULATE
#define arrive(at) ((void)atomicAdd(at, 1u))
#define arrivals_seen(from) (*(volatile const unsigned *)(from))
#else
/* Whoever sees the arrival also sees what this thread block wrote before it. */
DEVICE void arrive(unsigned *at)
{
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(at) : "memory");
}

DEVICE unsigned arrivals_seen(const unsigned *from)
{
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}
#endif

/* Adds up the dot products of `bits` from the threads' partial sums in `sum`. The totals are in
 * their slots, where the first thread sees them. Partial sums have two buffers: before a thread
 * block writes into one again, all others have read it and arrived at the next barrier. The warps'
 * sums in `scratch` also have two, because no barrier follows the first warp's reading of them. */
DEVICE void total(const between_args *a, between_place *p, double *sum, const unsigned bits)
{
    const int lane = (int)threadIdx.x % 32, blocks = (int)gridDim.x;
    const unsigned buffer = p->barriers++ % 2;
    double *partial = a->partial + buffer * (DOTS * blocks);
    double mine[DOTS];
    block_totals(sum, mine, bits, p->scratch + buffer * (DOTS * WARPS));
    if (threadIdx.x >= 32)
        return;
    if (lane == 0) {
        UNROLL
        for (int k = 0; k < DOTS; k++)
            if (bits >> k & 1)
                partial[k * blocks + blockIdx.x] = mine[k];
        arrive(a->meeting);
        while (arrivals_seen(a->meeting) < p->barriers * gridDim.x)
            LOOK_AGAIN();
    }
    __syncwarp(0xffffffffu);
    UNROLL
    for (int k = 0; k < DOTS; k++) {
        mine[k] = 0;
        UNROLL_4
        for (int b = lane; (bits >> k & 1) && b < blocks; b += 32)
            mine[k] += FRESH(partial + k * blocks + b);
    }
    warp_totals(mine);
    UNROLL
    for (int k = 0; k < DOTS; k++)
        if ((bits >> k & 1) && lane == 0) {
            CLEAR_IMAGINARY(p->slots, a->dot_slot[k], a->f.slot_count / 2)
            p->slots[a->dot_slot[k]] = mine[k];
        }
}

DEVICE void keep(const between_args *a, between_place *p)
{
    (void)a;
    p->ended = true;
}

/* The last thread block to leave writes the scalars out. */
DEVICE void leave(const between_args *a, const between_place *p, int *last)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        *last = atomicAdd(a->meeting + 1, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!*last)
        return;
    if (threadIdx.x < 2)
        a->meeting[threadIdx.x] = 0;
    const long long entry = (long long)p->control[COUNT] - 1;
    for (int i = (int)threadIdx.x; i < a->f.slot_count; i += THREADS) {
        a->f.slots[i] = p->slots[i];
        if (p->ended)
            a->f.ring[entry * a->f.slot_count + i] = p->slots[i];
    }
    if (p->ended && threadIdx.x < 8)
        a->f.control[threadIdx.x] = p->control[threadIdx.x];
}

#define BEGIN(loads, stores) \
    {                        \
        TAKE_COEFS()
#define END() }

/* Loads the thread's rows of these vectors. */
#define TAKE_ROWS(bits)                                                 \
    EACH                                                                \
    {                                                                   \
        const int row = u * TILE + (int)threadIdx.x;                    \
        UNROLL                                                          \
        for (int k = 0; k < VECTORS; k++)                               \
            if (((bits) >> k & 1) && row < count && threadIdx.x < TILE) \
                e[u][k] = a.vector[k][origin + row];                    \
    }

#define PRODUCT_SUM(slot)                                                                          \
    {                                                                                              \
        const double all = sum_partial(a.product_sums, a.product_count, product_scratch, THREADS); \
        if (threadIdx.x == 0)                                                                      \
            slots[slot] = all;                                                                     \
    }

KERNEL(between, between_args, THREADS, 1)
{
    SHARED(double, slots, SLOTS);
    SHARED(double, control, 8);
    SHARED(double, scratch, 2 * DOTS * WARPS + 1);
    SHARED(double, product_scratch, WARPS);
#if SHARING
    SHARED(scalar, shared, THREADS * REPEAT);
#else
    scalar *const shared = 0;
#endif
    SHARED(int, last, 1);
    const long long unit = BLOCK > 1 ? BLOCK : 1, each = (a.rows / unit + gridDim.x) / gridDim.x;
    const long long origin = blockIdx.x * each * unit, left = a.rows - origin;
    const int count = (int)(left < each * unit ? left : each * unit);
    const diagonal_place diagonals = {a.diagonal + origin * BLOCK, 0, count, shared};
    scalar e[REPEAT][VECTORS];
    DIAGONAL_AHEAD(&diagonals)
    EACH
    {
        UNROLL
        for (int k = 0; k < VECTORS; k++)
            e[u][k] = ZERO;
    }
    TAKE_ROWS(LOADS & ~(LATE))
    WAIT_FOR_LAST();
    TAKE_ROWS(LOADS & (LATE))
    for (int i = (int)threadIdx.x; i < a.f.slot_count; i += THREADS)
        slots[i] = a.f.slots[i];
    if (threadIdx.x < 8)
        control[threadIdx.x] = a.f.control[threadIdx.x];
    __syncthreads();
    if (halted(&a.f))
        return;
    between_place p;
    p.slots = slots;
    p.control = control;
    p.scratch = scratch;
    (void)product_scratch;
    p.barriers = 0;
    p.ended = false;
    double sum[DOTS + 1];
    UNROLL
    for (int k = 0; k < DOTS; k++)
        sum[k] = 0;
    STAGES
    LET_NEXT_START();
    (void)sum, (void)diagonals;
    EACH
    {
        const int row = u * TILE + (int)threadIdx.x;
        UNROLL
        for (int k = 0; k < VECTORS; k++)
            if ((STORES >> k & 1) && row < count && threadIdx.x < TILE)
                a.vector[k][origin + row] = e[u][k];
    }
    leave(&a, &p, last);
}
