/* Iterations as text, which loop.cu and between.cu share. -DSTAGES is a list of macros:
 *
 *   BEGIN(loads, stores) ... END()   a pass over rows (updates.cuh), bits as in pass.cu;
 *                          the including source defines both
 *   TOTAL(bits)            adds up these dot products into their slots, where the first thread sees
 *                          them
 *   SYNC()                 a barrier: all threads of the thread block see the slots
 *   SCALARS(at) OP() ... ENDS() DONE()   the programme at index `at` as statements of the first
 *                          thread; ENDS, at the end of an iteration, judges it; after DONE all see
 *                          the slots
 *   KEEP()                 writes the slots of this iteration to the ring
 *
 * The including source adds others. The macros use its variables a (arguments), p (the thread
 * block), slots, control and sum.
 *
 *   REAL, COMPLEX, BLOCK, HELD, THREADS, REPEAT, VECTORS, COEFS, DOTS: pass.cu
 */
#ifndef TESS_STAGES_CUH
#define TESS_STAGES_CUH

#define DIRECT 0
#define STOPS_UNROLL UNROLL
#include "steps.cuh"
#include "updates.cuh"

#define SLOTS 64

#define TOTAL(bits) total(&a, &p, sum, bits);
#define SYNC() __syncthreads();
#define SCALARS(at) if (threadIdx.x == 0) {
#define OP(op, out, x, y)                                                            \
    PUT_SLOT(slots, out, a.f.slot_count / 2,                                         \
             scalar_op(op, GET_SLOT(slots, x, a.f.slot_count / 2),                   \
                       GET_SLOT(slots, y, a.f.slot_count / 2)));
#define ENDS(count, ...)                  \
    const int stops[] = {0, __VA_ARGS__}; \
    judge(stops + 1, count, slots, a.f.slot_count / 2, control);
#define DONE() } __syncthreads();
#define KEEP() keep(&a, &p);

/* The coefficients of a pass, once their slots are known. */
#define TAKE_COEFS()                                                                 \
    scalar c[COEFS + 1];                                                             \
    UNROLL                                                                           \
    for (int k = 0; k < COEFS; k++)                                                  \
        c[k] = COEFFICIENT(a.factor[k], a.slot[k], slots, a.f.slot_count / 2);       \
    (void)c;

#endif
