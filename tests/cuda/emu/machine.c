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

void emu_sleep(emu_state state, int line)
{
    emu_thread *me = emu.now;
    me->state = state;
    me->line = line;
    fiber_switch(&me->fiber, &emu.scheduler);
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
    fiber_leave(&emu.now->fiber, &emu.scheduler);
}

static void thread_body(void *argument)
{
    emu_thread *me = argument;
    fiber_arrived(&emu.scheduler);
    emu.entry->run(emu.args);
    me->state = EMU_DONE;
    me->block->done++;
    fiber_leave(&me->fiber, &emu.scheduler);
}

static void start_block(emu_block *block, uint64_t index)
{
    const unsigned *b = emu.grid->block, *g = emu.grid->grid;
    block->done = block->at_barrier = 0;
    memset(block->at_warp, 0, sizeof block->at_warp);
    for (unsigned i = 0; i < block->threads; i++) {
        emu_thread *thread = &block->thread[i];
        fiber kept = thread->fiber;
        *thread = (emu_thread){.block = block, .number = i, .fiber = kept};
        thread->place = (emu_place){
            {i % b[0], i / b[0] % b[1], i / b[0] / b[1]},
            {(unsigned)(index % g[0]), (unsigned)(index / g[0] % g[1]),
             (unsigned)(index / g[0] / g[1])},
            {b[0], b[1], b[2]},
            {g[0], g[1], g[2]},
        };
        fiber_start(&thread->fiber, thread_body, thread);
        emu_make_ready(thread);
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
    while (emu.ready_count + emu.looking_count > 0 && !emu.failed) {
        if (emu.ready_count == 0)
            while (emu.looking_count > 0)
                emu_make_ready(emu.looking[--emu.looking_count]);
        if (emu.copies > 0 && emu_random(8) == 0)
            emu_copy_step();
        size_t at = emu.in_order ? emu.ready_count - 1 : emu_random(emu.ready_count);
        emu_thread *thread = emu.ready[at];
        emu.ready[at] = emu.ready[--emu.ready_count];
        emu.now = thread;
        emu_place_now = &thread->place;
        fiber_switch(&emu.scheduler, &thread->fiber);
    }
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

/* Stacks are kept between launches: a stack is the costly part of a thread. */
static char *stacks;
static size_t stack_count;

static emu_thread *make_threads(size_t count)
{
    if (count > stack_count) {
        free(stacks);
        stack_count = count > LIVE * MAX_THREADS ? count : LIVE * MAX_THREADS;
        stacks = malloc(stack_count * STACK);
    }
    ASAN_UNPOISON_MEMORY_REGION(stacks, stack_count * STACK); /* frames of an abandoned launch */
    emu_thread *threads = calloc(count, sizeof *threads);
    for (size_t i = 0; i < count; i++) {
        threads[i].fiber.stack = stacks + i * STACK;
        threads[i].fiber.size = STACK;
    }
    return threads;
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
    size_t fibers = (size_t)emu.live * threads;
    emu.ready = malloc(fibers * sizeof *emu.ready);
    emu.looking = malloc(fibers * sizeof *emu.looking);
    emu.block = calloc(emu.live, sizeof *emu.block);
    emu_thread *pool = make_threads(fibers);
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
    return emu.failed ? emu.message : NULL;
}
