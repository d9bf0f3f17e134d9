/* The scheduler: blocks in random order, a few alive at a time (all of them for a cooperative
 * launch), their threads in random order between the points where they wait.
 *
 * When nothing can run, nothing is under way, and threads are left, the launch has hung: that is an
 * error with the place where the first of them waits. */
#include "machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "asan.h"

/* The distance between stacks is no power of two, or their tops would share a few cache sets. */
enum { STACK = 128 * 1024 + 33 * 64, LIVE = 2, MAX_THREADS = 1024 };

emu_machine emu;
const emu_place *emu_place_now;

size_t emu_random(size_t bound)
{
    uint64_t z = emu.seed += 0x9e3779b97f4a7c15; /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (size_t)((unsigned __int128)(z ^ z >> 31) * bound >> 64);
}

void emu_make_ready(emu_thread *thread)
{
    thread->state = EMU_READY;
    emu.ready[emu.ready_count++] = thread;
}

/* ---- Fibers: a thread has one from its first turn to its end. Without barriers one fiber runs all
 * threads of a launch, on a stack that stays in the caches. They are kept between launches. ---- */

static fiber *fibers, **idle;
static size_t fiber_count, idle_count;
static char *stacks;
static bool abandoned; /* a launch failed: its fibers stand somewhere in a kernel */

/* Whose turn it is: NULL when nobody can run. */
static emu_thread *next_thread(void)
{
    if (emu.failed)
        return NULL;
    if (emu.ready_count == 0)
        while (emu.looking_count > 0)
            emu_make_ready(emu.looking[--emu.looking_count]);
    if (emu.ready_count == 0)
        return NULL;
    if (emu.copies > 0 && emu_random(8) == 0)
        emu_copy_step();
    size_t at = emu.in_order ? emu.ready_count - 1 : emu_random(emu.ready_count);
    emu_thread *thread = emu.ready[at];
    emu.ready[at] = emu.ready[--emu.ready_count];
    return thread;
}

static void run_threads(void *argument);

/* Makes it the turn of `next`, on the fiber that it returns; NULL: the scheduler's. */
static fiber *turn_to(emu_thread *next)
{
    emu.now = next;
    if (!next)
        return &emu.scheduler;
    emu_place_now = &next->place;
    if (!next->fiber) {
        next->fiber = idle[--idle_count];
        if (!next->fiber->sp)
            fiber_start(next->fiber, run_threads, next->fiber);
    }
    return next->fiber;
}

static void run_threads(void *argument)
{
    fiber *me = argument;
    fiber_arrived();
    for (;;) {
        emu.entry->run(emu.args);
        emu_thread *done = emu.now;
        done->state = EMU_DONE;
        done->block->done++;
        done->fiber = NULL;
        idle[idle_count++] = me; /* and the next to be taken */
        fiber *next = turn_to(next_thread());
        if (next != me)
            fiber_switch(me, next);
    }
}

void emu_switch(void)
{
    fiber *me = emu.now->fiber, *next = turn_to(next_thread());
    if (next != me)
        fiber_switch(me, next);
}

void emu_sleep(emu_state state, int line)
{
    emu.now->state = state;
    emu.now->line = line;
    emu_switch();
}

/* At least so many idle fibers. */
static void need_fibers(size_t count)
{
    if (count <= fiber_count && !abandoned)
        return;
    if (count > fiber_count) {
        free(stacks);
        free(fibers);
        free(idle);
        fiber_count = count > LIVE * MAX_THREADS ? count : LIVE * MAX_THREADS;
        stacks = malloc(fiber_count * STACK);
        fibers = malloc(fiber_count * sizeof *fibers);
        idle = malloc(fiber_count * sizeof *idle);
    }
    ASAN_UNPOISON_MEMORY_REGION(stacks, fiber_count * STACK); /* frames that were abandoned */
    for (size_t i = 0; i < fiber_count; i++) {
        fibers[i] = (fiber){.stack = stacks + i * STACK, .size = STACK};
        idle[fiber_count - 1 - i] = &fibers[i];
    }
    idle_count = fiber_count;
    abandoned = false;
}

void emu_fault(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int used = vsnprintf(emu.message, sizeof emu.message, format, list);
    va_end(list);
    const emu_place *at = &emu.now->place;
    snprintf(emu.message + used, sizeof emu.message - (size_t)used, " (thread %u of block %u)",
             at->thread.x, at->block.x);
    emu.failed = true;
    fiber_leave(emu.now->fiber, &emu.scheduler);
}

static void start_block(emu_block *block, uint64_t index)
{
    const unsigned *b = emu.grid->block, *g = emu.grid->grid;
    emu_place place = {{0, 0, 0},
                       {(unsigned)(index % g[0]), (unsigned)(index / g[0] % g[1]),
                        (unsigned)(index / g[0] / g[1])},
                       {g[0], g[1], g[2]}};
    block->done = block->at_barrier = 0;
    memset(block->at_warp, 0, sizeof block->at_warp);
    for (unsigned i = 0; i < block->threads; i++) {
        block->thread[i] = (emu_thread){.block = block, .number = i, .place = place};
        emu_make_ready(&block->thread[i]);
        place.thread.x++;
        if (place.thread.x == b[0]) {
            place.thread.x = 0;
            place.thread.y++;
        }
        if (place.thread.y == b[1]) {
            place.thread.y = 0;
            place.thread.z++;
        }
    }
}

static void report_hang(void)
{
    static const char *const where[] = {"is ready",           "waits at __syncthreads",
                                        "waits at grid_sync", "waits in a warp operation",
                                        "waits for a copy",   "is done"};
    for (unsigned b = 0; b < emu.live; b++) {
        for (unsigned i = 0; i < emu.block[b].threads; i++) {
            const emu_thread *thread = &emu.block[b].thread[i];
            if (thread->state == EMU_DONE)
                continue;
            snprintf(
                emu.message, sizeof emu.message,
                "hung: thread %u of block %u %s on line %d for ever, %u of %u threads are done",
                thread->place.thread.x, thread->place.block.x, where[thread->state], thread->line,
                emu.block[b].done, emu.block[b].threads);
            emu.failed = true;
            return;
        }
    }
}

static void wake_waiting(void)
{
    for (unsigned b = 0; b < emu.live; b++)
        for (unsigned i = 0; i < emu.block[b].threads; i++) {
            emu_thread *thread = &emu.block[b].thread[i];
            if (thread->state == EMU_AT_COPY && emu_wait_over(thread))
                emu_make_ready(thread);
        }
}

/* Runs ready threads until there are none. */
static void run_ready(void)
{
    fiber *first = turn_to(next_thread());
    if (first != &emu.scheduler)
        fiber_switch(&emu.scheduler, first);
}

static void run_blocks(const uint64_t *order, uint64_t count)
{
    uint64_t started = 0;
    for (unsigned b = 0; b < emu.live; b++)
        start_block(&emu.block[b], order[started++]);
    uint64_t finished = 0;
    while (!emu.failed && finished < count) {
        run_ready();
        bool progress = false;
        for (unsigned b = 0; b < emu.live && !emu.failed; b++) {
            emu_block *block = &emu.block[b];
            if (block->done < block->threads)
                continue;
            block->done = 0; /* not again */
            finished++;
            progress = true;
            emu_drop_shared(block);
            if (started < count)
                start_block(block, order[started++]);
        }
        if (emu.failed || progress)
            continue;
        progress = emu_copy_step();
        wake_waiting();
        if (!progress && emu.ready_count == 0)
            report_hang();
    }
}

static uint64_t *random_order(uint64_t count)
{
    uint64_t *order = malloc((size_t)(count + 1) * sizeof *order);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = emu_random((size_t)i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    return order;
}

static const char *check(const emu_entry *entry, const emu_grid *grid, unsigned threads)
{
    if (threads != entry->threads)
        return "the block's threads are not those the entry was compiled for";
    if (threads == 0 || threads > MAX_THREADS || grid->grid[0] == 0 || grid->grid[1] == 0 ||
        grid->grid[2] == 0)
        return "an empty or too large block or grid";
    return NULL;
}

const char *emu_run(emu_entry *entry, const emu_grid *grid, const void *args, uint64_t seed)
{
    unsigned threads = grid->block[0] * grid->block[1] * grid->block[2];
    uint64_t count = (uint64_t)grid->grid[0] * grid->grid[1] * grid->grid[2];
    const char *wrong = check(entry, grid, threads);
    free(emu.copy);
    emu = (emu_machine){.entry = entry, .grid = grid, .args = args, .seed = seed};
    emu.in_order = seed == EMU_IN_ORDER;
    if (wrong) {
        snprintf(emu.message, sizeof emu.message, "%s: %s", entry->name, wrong);
        return emu.message;
    }
    emu.live = grid->cooperative || grid->cluster || count < LIVE ? (unsigned)count : LIVE;
    size_t threads_alive = (size_t)emu.live * threads;
    emu.ready = malloc(threads_alive * sizeof *emu.ready);
    emu.looking = malloc(threads_alive * sizeof *emu.looking);
    emu.block = calloc(emu.live, sizeof *emu.block);
    need_fibers(threads_alive);
    emu_thread *pool = malloc(threads_alive * sizeof *pool);
    for (unsigned b = 0; b < emu.live; b++) {
        emu.block[b].threads = threads;
        emu.block[b].thread = pool + (size_t)b * threads;
    }
    uint64_t *order = random_order(count);
    run_blocks(order, count);
    for (unsigned b = 0; b < emu.live; b++)
        emu_drop_shared(&emu.block[b]);
    free(order);
    free(pool);
    free(emu.block);
    free(emu.ready);
    free(emu.looking);
    abandoned = emu.failed;
    return emu.failed ? emu.message : NULL;
}
