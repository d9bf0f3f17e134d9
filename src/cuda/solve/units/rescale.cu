/* Copies a vector to another precision: to = from * slot, or with DIVIDE to = from / slot, which is
 * 0 where the slot is 0.
 *
 *   FROM, TO  bytes of their scalars (8 or 4)   DIVIDE  0 or 1   THREADS  threads per thread block
 */
#define REAL 8
#include "common.cuh"
#include "precisions.cuh"
#include "steps.cuh"

typedef struct rescale_args {
    finish_args f;
    const given *from;
    taken *to;
    long long count; /* of scalars */
    long long slot;
} rescale_args;

KERNEL(rescale, rescale_args, THREADS, 1)
{
    LET_NEXT_START();
    WAIT_FOR_LAST();
    if (halted(&a.f))
        return;
    const double slot = a.f.slots[a.slot];
    const double factor = DIVIDE ? (slot == 0 ? 0 : 1 / slot) : slot;
    NO_UNROLL
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < a.count;
         i += (long long)gridDim.x * THREADS)
        a.to[i] = (taken)((double)a.from[i] * factor);
}
