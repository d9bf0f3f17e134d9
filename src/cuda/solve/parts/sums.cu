/* Dot products of several parts: every part adds up the sums of all of them, in the order of the
 * parts, and goes on with the scalars. One thread block.
 *
 *   THREADS  threads per thread block      PARTS, DOTS  the most parts and dot products
 */
#define REAL 8
#include "common.cuh"
#include "steps.cuh"

typedef struct add_args {
    finish_args f;
    const double *const *mails; /* one per part */
    long long parts, dots;
    long long dot_slot[DOTS];
} add_args;

KERNEL(add_sums, add_args, THREADS, 1)
{
    SHARED(finish_desk, desk, 1);
    SHARED(double, mail, PARTS *DOTS);
    load_desk(&a.f, desk, THREADS);
    if (halted(&a.f))
        return;
    /* All loads at once: one after the other, each would wait for memory. */
    NO_UNROLL
    for (long long i = threadIdx.x; i < a.parts * a.dots; i += THREADS)
        mail[i] = FRESH(a.mails[i / a.dots] + i % a.dots);
    __syncthreads();
    if (threadIdx.x < a.dots) {
        double sum = 0;
        NO_UNROLL
        for (long long r = 0; r < a.parts; r++)
            sum += mail[r * a.dots + threadIdx.x];
        desk_slots(&a.f, desk)[a.dot_slot[threadIdx.x]] = sum;
    }
    run_programme(&a.f, desk, THREADS);
}
