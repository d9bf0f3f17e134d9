/* Asynchronous copies: they move their bytes at a random moment between issue and the end of the
 * wait for them. Until then the destination holds NaN, so that reading too early, or issuing a copy
 * over data still in use, shows.
 *
 * An mbarrier is one 64-bit word, as on the device: bits 0..14 arrivals a phase, 15..29 arrivals
 * missing, 30 the phase's parity, 31.. bytes missing (signed). */
#include "machine.h"

#include <stdlib.h>

typedef struct parts {
    unsigned arrivals, missing, phase;
    int64_t bytes;
} parts;

static parts unpack(mbarrier word)
{
    return (parts){(unsigned)(word & 0x7fff), (unsigned)(word >> 15 & 0x7fff),
                   (unsigned)(word >> 30 & 1), (int64_t)word >> 31};
}

static void pack(mbarrier *barrier, parts p)
{
    if (p.missing == 0 && p.bytes == 0) { /* the phase is over: the next begins */
        p.missing = p.arrivals;
        p.phase ^= 1;
    }
    *barrier =
        (mbarrier)p.bytes << 31 | (mbarrier)p.phase << 30 | (mbarrier)p.missing << 15 | p.arrivals;
}

void barrier_init(mbarrier *barrier, unsigned arrivals)
{
    *barrier = (mbarrier)arrivals << 15 | arrivals;
}

void barrier_expect(mbarrier *barrier, unsigned bytes)
{
    parts p = unpack(*barrier);
    if (p.arrivals == 0 || p.missing == 0 || p.missing > p.arrivals)
        emu_fault("an arrival at an mbarrier that expects none");
    p.missing--;
    p.bytes += bytes;
    pack(barrier, p);
}

bool emu_wait_over(const emu_thread *thread)
{
    return thread->barrier && unpack(*thread->barrier).phase != thread->phase;
}

void barrier_wait(mbarrier *barrier, unsigned phase)
{
    emu.now->barrier = barrier;
    emu.now->phase = phase & 1;
    while (!emu_wait_over(emu.now))
        emu_sleep(EMU_AT_COPY, 0);
    emu.now->barrier = NULL;
}

static void issue(emu_copy copy)
{
    if (emu.copies == emu.copy_capacity) {
        emu.copy_capacity = emu.copy_capacity ? 2 * emu.copy_capacity : 64;
        emu.copy = realloc(emu.copy, emu.copy_capacity * sizeof *emu.copy);
    }
    memset(copy.to, 0xff, copy.bytes);
    emu.copy[emu.copies++] = copy;
}

void bulk_copy(void *to, const void *from, unsigned bytes, mbarrier *barrier, policy p)
{
    (void)p;
    if ((uintptr_t)to % 16 != 0 || (uintptr_t)from % 16 != 0 || bytes % 16 != 0)
        emu_fault("a bulk copy of %u bytes: addresses and size must be multiples of 16", bytes);
    issue((emu_copy){to, from, bytes, barrier, 0, emu.now});
}

void cp_async(void *to, const void *from, unsigned bytes)
{
    if (bytes > 16 || (uintptr_t)to % 16 != 0 || (uintptr_t)from % 16 != 0)
        emu_fault("cp.async of %u bytes: up to 16, aligned to 16", bytes);
    memset((char *)to + bytes, 0,
           16 - bytes); /* like the rest, of no use before it is waited for */
    issue((emu_copy){to, from, bytes, NULL, -1, emu.now});
}

void cp_async_commit(void)
{
    for (size_t i = 0; i < emu.copies; i++)
        if (emu.copy[i].owner == emu.now && emu.copy[i].group < 0)
            emu.copy[i].group = emu.now->groups;
    emu.now->groups++;
}

static void finish(size_t at)
{
    emu_copy copy = emu.copy[at];
    emu.copy[at] = emu.copy[--emu.copies];
    memcpy(copy.to, copy.from, copy.bytes);
    if (copy.barrier) {
        parts p = unpack(*copy.barrier);
        p.bytes -= copy.bytes;
        pack(copy.barrier, p);
    }
}

void cp_async_wait(int groups)
{
    for (size_t i = 0; i < emu.copies;)
        if (emu.copy[i].owner == emu.now && !emu.copy[i].barrier && emu.copy[i].group >= 0 &&
            emu.copy[i].group < emu.now->groups - groups)
            finish(i);
        else
            i++;
}

bool emu_copy_step(void)
{
    if (emu.copies == 0)
        return false;
    finish(emu_random(emu.copies));
    return true;
}
