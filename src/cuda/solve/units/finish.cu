/* One thread block adds up the partial sums that a product left of its dot product, then runs the
 * programme of scalars.
 *
 *   THREADS  threads per thread block    COMPLEX  1: slots are complex (steps.cuh)
 */
#define REAL 8
#include "common.cuh"
#include "steps.cuh"

typedef struct finish_kernel_args {
    finish_args f;
    const double *partial;
    long long count;    /* of partial sums; 0: scalars only */
    long long dot_slot;
} finish_kernel_args;

KERNEL(finish, finish_kernel_args, THREADS, 1)
{
    SHARED(double, scratch, THREADS / 32);
    SHARED(finish_desk, desk, 1);
    LET_NEXT_START();
    WAIT_FOR_LAST();
    load_desk(&a.f, desk, THREADS);
    if (halted(&a.f))
        return;
    if (a.count > 0) {
        const double sum = sum_partial(a.partial, a.count, scratch, THREADS);
        if (threadIdx.x == 0)
            desk_slots(&a.f, desk)[a.dot_slot] = sum;
    }
    run_programme(&a.f, desk, THREADS);
}
