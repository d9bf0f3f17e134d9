/* Holds its stream until the host has launched all that is to be timed. Events then measure the
 * device's own time, not how fast the host launches. `flag` is the host's memory. After `most`
 * nanoseconds the gate opens by itself.
 */
#define REAL 8
#include "common.cuh"

typedef struct gate_args {
    const volatile unsigned *flag;
    long long wanted; /* an unsigned */
    unsigned long long most;
} gate_args;

#ifndef TESS_EMULATE
DEVICE unsigned long long nanoseconds(void)
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}
#endif

KERNEL(gate, gate_args, 1, 1)
{
    const unsigned long long start = nanoseconds();
    while ((int)(*a.flag - (unsigned)a.wanted) < 0 && nanoseconds() - start < a.most)
        ;
}
