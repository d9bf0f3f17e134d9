/* One pass of a solver: elementwise updates and dot products on a few vectors, each read and
 * written once. The updates are macros (updates.cuh) in the text -DUPDATES. Vectors,
 * coefficients and dot products have the numbers of the launch's arrays, so that passes alike share
 * their code.
 *
 *   VECTORS  vectors             LOADS, STORES  bit k: vector k is loaded, is stored
 *   COEFS    coefficients        DOTS           dot products, of complex vectors real sums
 *   BLOCK    size of the diagonal's blocks, 0: none       HELD  bytes of its reals (8 or 4)
 *   DIRECT   1: blocks are too large for shared memory: threads read x from memory, and the update
 *            is alone in its pass
 *   THREADS  threads per thread block      REPEAT  rows per thread at a time
 *
 * A thread holds its rows' elements in registers. Rows of one diagonal block belong to one thread
 * block, whose threads exchange them through shared memory. Each thread block writes its partial
 * sums of the dot products. The last one to finish adds them in order and runs the programme of
 * scalars.
 */
#include "common.cuh"
#include "steps.cuh"
#include "updates.cuh"

typedef struct pass_args {
    finish_args f;
    scalar *vector[10];
    double factor[12];
    long long slot[12]; /* of each coefficient: factor * slot; -1: factor alone */
    long long dot_slot[8 * (1 + COMPLEX)];
    const held_scalar *diagonal;
    long long count; /* rows */
    double *partial; /* DOTS numbers per thread block */
    unsigned *ticket;
    double *mail; /* where the sums go to be added to other parts'; NULL: to their slots */
} pass_args;

#if DOTS > 0
#define ALL_DOTS ((1u << DOTS) - 1)

/* Writes the partial sums of this thread block. The last thread block also adds them up, all dot
 * products at once: one after the other, each would wait for memory. Returns whether this thread
 * block runs the programme. */
DEVICE bool add_up(const pass_args *a, double *sum, double *scratch, int *last, finish_desk *desk)
{
    double mine[DOTS];
    block_totals(sum, mine, ALL_DOTS, scratch);
    if (threadIdx.x == 0) {
        UNROLL
        for (int k = 0; k < DOTS; k++)
            a->partial[(long long)k * gridDim.x + blockIdx.x] = mine[k];
        __threadfence();
        *last = atomicAdd(a->ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!*last)
        return false;
    __threadfence();
    if (!a->mail)
        load_desk(&a->f, desk, THREADS);
    UNROLL_4
    for (unsigned i = threadIdx.x; i < gridDim.x; i += THREADS) {
        UNROLL
        for (int k = 0; k < DOTS; k++)
            sum[k] += FRESH(a->partial + (long long)k * gridDim.x + i);
    }
    block_totals(sum, mine, ALL_DOTS, scratch);
    if (threadIdx.x == 0) {
        UNROLL
        for (int k = 0; k < DOTS; k++) {
            CLEAR_IMAGINARY(desk_slots(&a->f, desk), a->dot_slot[k], a->f.slot_count / 2)
            *(a->mail ? a->mail + k : desk_slots(&a->f, desk) + a->dot_slot[k]) = mine[k];
        }
        *a->ticket = 0;
    }
    return !a->mail;
}
#endif

KERNEL(pass, pass_args, THREADS, 1)
{
#if SHARING
    SHARED(scalar, shared, THREADS *REPEAT);
#else
    scalar *const shared = 0;
#endif
    LET_NEXT_START();
    WAIT_FOR_LAST();
    scalar c[COEFS + 1];
    UNROLL
    for (int k = 0; k < COEFS; k++)
        c[k] = COEFFICIENT(a.factor[k], a.slot[k], a.f.slots, a.f.slot_count / 2);
    if (halted(&a.f))
        return;
#if DOTS > 0
    double sum[DOTS];
    UNROLL
    for (int k = 0; k < DOTS; k++)
        sum[k] = 0;
#endif
    NO_UNROLL
    for (long long base = (long long)blockIdx.x * (TILE * REPEAT); base < a.count;
         base += (long long)gridDim.x * (TILE * REPEAT)) {
        const diagonal_place diagonals = {a.diagonal, base, a.count, shared};
        scalar e[REPEAT][VECTORS];
        DIAGONAL_AHEAD(&diagonals)
        EACH
        {
            const long long i = base + u * TILE + threadIdx.x;
            const bool mine = i < a.count && threadIdx.x < TILE;
            UNROLL
            for (int k = 0; k < VECTORS; k++) {
                e[u][k] = ZERO;
                if (mine && (LOADS >> k & 1))
                    e[u][k] = a.vector[k][i];
            }
        }
        UPDATES
        (void)diagonals;
        EACH
        {
            const long long i = base + u * TILE + threadIdx.x;
            const bool mine = i < a.count && threadIdx.x < TILE;
            UNROLL
            for (int k = 0; k < VECTORS; k++)
                if (mine && (STORES >> k & 1))
                    a.vector[k][i] = e[u][k];
        }
    }
    (void)shared;
    (void)c;
#if DOTS > 0
    SHARED(double, scratch, DOTS *WARPS);
    SHARED(finish_desk, desk, 1);
    SHARED(int, last, 1);
    if (add_up(&a, sum, scratch, last, desk))
        run_programme(&a.f, desk, THREADS);
#endif
}
