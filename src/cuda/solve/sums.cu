/* Dot products of several parts. Each part writes its own sums to its mailbox (post_sums). Every part
 * then adds up all of them in the order of the parts and runs the programme of scalars (add_sums).
 * Each kernel is one thread block.
 *
 *   THREADS  threads a thread block
 */
#define REAL 8
#include "common.cuh"
#include "steps.cuh"

typedef struct post_args {
    const double *slots;
    double *mail;
    long long dots;
    long long dot_slot[8];
} post_args;

KERNEL(post_sums, post_args, THREADS, 1)
{
    if (threadIdx.x < a.dots)
        a.mail[threadIdx.x] = a.slots[a.dot_slot[threadIdx.x]];
}

typedef struct add_args {
    finish_args f;
    const double *const *mails; /* one a part */
    long long parts, dots;
    long long dot_slot[8];
} add_args;

KERNEL(add_sums, add_args, THREADS, 1)
{
    SHARED(finish_desk, desk, 1);
    load_desk(&a.f, desk, THREADS);
    if (halted(&a.f))
        return;
    __syncthreads();
    if (threadIdx.x < a.dots) {
        double sum = 0;
        NO_UNROLL
        for (long long r = 0; r < a.parts; r++)
            sum += FRESH(a.mails[r] + threadIdx.x);
        desk_slots(&a.f, desk)[a.dot_slot[threadIdx.x]] = sum;
    }
    run_programme(&a.f, desk, THREADS);
}
