/* Where the threads of a block wait for each other: barriers, warp operations, values that another
 * thread hands on. The last thread to arrive makes the others ready. */
#include "machine.h"

/* Looks of all threads at values of others in one launch. */
enum { LOOKS = 50 * 1000 * 1000 };

void emu_syncthreads(int line)
{
    emu_block *block = emu.now->block;
    if (++block->at_barrier == block->threads) {
        block->at_barrier = 0;
        for (unsigned i = 0; i < block->threads; i++)
            if (&block->thread[i] != emu.now)
                emu_make_ready(&block->thread[i]);
        emu_make_ready(emu.now);
        emu_switch();
        return;
    }
    emu_sleep(EMU_AT_BARRIER, line);
}

void emu_look_again(int line)
{
    if (++emu.looks > LOOKS)
        emu_fault("line %d: a value that never comes is waited for", line);
    if (emu.in_order) /* behind all others, of which it waits for one */
        emu.looking[emu.looking_count++] = emu.now;
    else
        emu_make_ready(emu.now);
    emu_switch();
}

void emu_grid_sync(int line)
{
    if (!emu.grid->cooperative && !emu.grid->cluster)
        emu_fault("line %d: grid_sync in a launch that is not cooperative", line);
    emu_block *block = emu.now->block;
    if (++emu.at_grid == emu.live * block->threads) {
        emu.at_grid = 0;
        for (unsigned b = 0; b < emu.live; b++)
            for (unsigned i = 0; i < block->threads; i++)
                emu_make_ready(&emu.block[b].thread[i]);
        emu_switch();
        return;
    }
    emu_sleep(EMU_AT_GRID, line);
}

/* The lane a shuffle reads, or the own lane when the source lies outside the sub-warp. */
static unsigned source_lane(const emu_thread *thread, unsigned lane)
{
    int width = thread->width, first = (int)lane / width * width, own = (int)lane - first;
    int from = own;
    if (thread->op == EMU_SHFL)
        from = thread->argument & (width - 1);
    else if (thread->op == EMU_SHFL_DOWN)
        from = own + thread->argument;
    else if (thread->op == EMU_SHFL_XOR)
        from = own ^ thread->argument;
    return from < 0 || from >= width ? lane : (unsigned)(first + from);
}

/* All lanes of the mask are here: gives each its result. */
static void finish_warp(emu_thread *warp, unsigned mask)
{
    uint64_t before[32], ballot = 0;
    for (unsigned left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        before[lane] = warp[lane].value;
        ballot |= (uint64_t)(before[lane] != 0) << lane;
    }
    for (unsigned left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        if (warp[lane].op == EMU_BALLOT) {
            warp[lane].value = ballot;
        } else if (warp[lane].op != EMU_SYNCWARP) {
            unsigned from = source_lane(&warp[lane], lane);
            if (!(mask >> from & 1))
                emu_fault("line %d: lane %u shuffles from lane %u, which is not in mask %08x",
                          warp[lane].line, lane, from, mask);
            warp[lane].value = before[from];
        }
        emu_make_ready(&warp[lane]);
    }
}

uint64_t emu_warp(emu_warp_op op, int line, unsigned mask, uint64_t value, int argument, int width)
{
    emu_thread *me = emu.now;
    emu_thread *warp = me->block->thread + me->number / 32 * 32;
    if (!(mask >> me->number % 32 & 1))
        emu_fault("line %d: lane %u is not in its own mask %08x", line, me->number % 32, mask);
    unsigned lanes = me->block->threads - me->number / 32 * 32;
    if (lanes < 32 && mask >> lanes != 0)
        emu_fault("line %d: mask %08x names lanes that do not exist", line, mask);
    me->op = op;
    me->line = line;
    me->mask = mask;
    me->argument = argument;
    me->width = width;
    me->value = value;
    me->state = EMU_AT_WARP;
    unsigned *waiting = &me->block->at_warp[me->number / 32];
    bool all = ++*waiting >= (unsigned)__builtin_popcount(mask);
    for (unsigned lane = 0; lane < 32 && all; lane++)
        if (mask >> lane & 1)
            all = warp[lane].state == EMU_AT_WARP && warp[lane].mask == mask &&
                  warp[lane].op == op && warp[lane].line == line;
    if (all) {
        *waiting -= (unsigned)__builtin_popcount(mask);
        finish_warp(warp, mask);
    }
    emu_switch();
    return me->value;
}
