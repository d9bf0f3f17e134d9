// Holds its stream until the host has put behind it all that is to be timed: what events then say is
// the device's own time, and not how fast the host launches. `flag` is the host's memory; after `most`
// nanoseconds the gate opens by itself.

extern "C" __global__ void gate(const volatile unsigned *flag, unsigned wanted,
                                unsigned long long most)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while ((int)(*flag - wanted) < 0 && now - start < most);
}
