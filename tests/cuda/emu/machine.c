/* The scheduler: blocks in random order, a few alive at a time (all of them for a cooperative
 * launch), their threads in random order between the points where they wait.
 *
 * When nothing can run, nothing is under way, and threads are left, the launch has hung: that is an
 * error with the place where the first of them waits. */
#include "machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)0)
#endif

/* Looks of all threads at values of others in one launch. */
enum { LOOKS = 50 * 1000 * 1000 };
enum { STACK = 128 * 1024, LIVE = 2, ENTRIES = 16384, MAX_THREADS = 1024 };

emu_machine emu;
const emu_place *emu_place_now;

typedef struct entry {
    const char *variant, *name;
    emu_entry *run;
    size_t args_bytes;
    unsigned threads;
} entry;
static entry entries[ENTRIES];
static size_t entry_count;

void emu_register(const char *variant, const char *name, emu_entry *run, size_t args_bytes,
                  unsigned threads)
{
    if (entry_count < ENTRIES)
        entries[entry_count++] = (entry){variant, name, run, args_bytes, threads};
}

static const entry *find(const char *variant, const char *name)
{
    for (size_t i = 0; i < entry_count; i++)
        if (strcmp(entries[i].variant, variant) == 0 &&
            (!name || strcmp(entries[i].name, name) == 0))
            return &entries[i];
    return NULL;
}

bool emu_has(const char *variant)
{
    return find(variant, NULL) != NULL;
}

size_t emu_random(size_t bound)
{
    return (size_t)tess_random_below(emu.seed, emu.drawn++, (int64_t)bound);
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

/* ---- Barriers ---- */

void emu_syncthreads(int line)
{
    emu_block *block = emu.now->block;
    if (++block->at_barrier == block->threads) {
        block->at_barrier = 0;
        for (unsigned i = 0; i < block->threads; i++)
            if (&block->thread[i] != emu.now)
                emu_make_ready(&block->thread[i]);
        emu_make_ready(emu.now);
        fiber_switch(&emu.now->fiber, &emu.scheduler);
        return;
    }
    emu_sleep(EMU_AT_BARRIER, line);
}

void emu_look_again(int line)
{
    if (++emu.looks > LOOKS)
        emu_fault("line %d: a value that never comes is waited for", line);
    emu_make_ready(emu.now);
    fiber_switch(&emu.now->fiber, &emu.scheduler);
}

void emu_grid_sync(int line)
{
    if (!emu.launch->cooperative && !emu.launch->cluster)
        emu_fault("line %d: grid_sync in a launch that is not cooperative", line);
    emu_block *block = emu.now->block;
    if (++emu.at_grid == emu.live * block->threads) {
        emu.at_grid = 0;
        for (unsigned b = 0; b < emu.live; b++)
            for (unsigned i = 0; i < block->threads; i++)
                emu_make_ready(&emu.block[b].thread[i]);
        fiber_switch(&emu.now->fiber, &emu.scheduler);
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
    else if (thread->op == EMU_SHFL_UP)
        from = own - thread->argument;
    else if (thread->op == EMU_SHFL_DOWN)
        from = own + thread->argument;
    else if (thread->op == EMU_SHFL_XOR)
        from = own ^ thread->argument;
    return from < 0 || from >= width ? lane : (unsigned)(first + from);
}

/* All lanes of the mask are here: gives each its result. */
static void finish_warp(emu_thread *warp, unsigned mask)
{
    unsigned char before[32][8];
    uint64_t ballot = 0;
    for (unsigned lane = 0; lane < 32; lane++) {
        if (!(mask >> lane & 1))
            continue;
        memcpy(before[lane], warp[lane].value, 8);
        if (warp[lane].op == EMU_BALLOT && before[lane][0])
            ballot |= (uint64_t)1 << lane;
    }
    for (unsigned lane = 0; lane < 32; lane++) {
        if (!(mask >> lane & 1))
            continue;
        if (warp[lane].op == EMU_BALLOT) {
            memcpy(warp[lane].value, &ballot, 8);
        } else if (warp[lane].op != EMU_SYNCWARP) {
            unsigned from = source_lane(&warp[lane], lane);
            if (!(mask >> from & 1))
                emu_fault("line %d: lane %u shuffles from lane %u, which is not in mask %08x",
                          warp[lane].line, lane, from, mask);
            memcpy(warp[lane].value, before[from], 8);
        }
        emu_make_ready(&warp[lane]);
    }
}

void emu_warp(emu_warp_op op, int line, unsigned mask, void *value, size_t bytes, int argument,
              int width)
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
    me->bytes = bytes;
    me->argument = argument;
    me->width = width;
    memset(me->value, 0, sizeof me->value);
    memcpy(me->value, value, bytes);
    me->state = EMU_AT_WARP;
    bool all = true;
    for (unsigned lane = 0; lane < 32 && all; lane++)
        if (mask >> lane & 1)
            all = warp[lane].state == EMU_AT_WARP && warp[lane].mask == mask &&
                  warp[lane].op == op && warp[lane].line == line;
    if (all)
        finish_warp(warp, mask);
    fiber_switch(&me->fiber, &emu.scheduler);
    memcpy(value, me->value, bytes);
}

/* ---- Shared memory ---- */

static void *shared_array(emu_block *block, int site, size_t bytes)
{
    for (int i = 0; i < block->arrays; i++)
        if (block->array[i].site == site)
            return block->array[i].memory + EMU_CANARY;
    if (block->arrays == EMU_SITES)
        emu_fault("more than %d shared arrays", EMU_SITES);
    emu_array *array = &block->array[block->arrays++];
    *array = (emu_array){.site = site, .bytes = bytes};
    if (posix_memalign((void **)&array->memory, 128, bytes + 2 * EMU_CANARY) != 0)
        emu_fault("no memory for a shared array of %zu bytes", bytes);
    memset(array->memory, 0xa5, bytes + 2 * EMU_CANARY);
    memset(array->memory + EMU_CANARY, 0xff, bytes);
    ASAN_POISON_MEMORY_REGION(array->memory, EMU_CANARY);
    ASAN_POISON_MEMORY_REGION(array->memory + EMU_CANARY + bytes, EMU_CANARY);
    return array->memory + EMU_CANARY;
}

void *emu_shared(int site, size_t bytes)
{
    return shared_array(emu.now->block, site, bytes);
}

void *emu_dynamic_shared(void)
{
    return shared_array(emu.now->block, -1, emu.launch->shared);
}

void *emu_remote(const void *pointer, unsigned rank, int line)
{
    const unsigned char *at = pointer;
    const emu_block *mine = emu.now->block;
    const emu_array *found = NULL;
    for (int i = 0; i < mine->arrays && !found; i++)
        if (at >= mine->array[i].memory + EMU_CANARY &&
            at < mine->array[i].memory + EMU_CANARY + mine->array[i].bytes)
            found = &mine->array[i];
    for (unsigned b = 0; b < emu.live && found; b++) {
        const emu_block *other = &emu.block[b];
        for (int i = 0; other->thread->place.block.x == rank && i < other->arrays; i++)
            if (other->array[i].site == found->site)
                return other->array[i].memory + (at - found->memory);
    }
    emu_fault("line %d: no such shared memory in thread block %u", line, rank);
}

/* Frees the block's arrays; a changed canary is a write outside. */
static void drop_shared(emu_block *block)
{
    for (size_t i = 0; i < emu.copies && !emu.failed; i++)
        if (emu.copy[i].owner->block == block) {
            emu.failed = true;
            snprintf(emu.message, sizeof emu.message,
                     "a block ended while a copy into its shared memory was under way");
        }
    for (int i = 0; i < block->arrays; i++) {
        emu_array *array = &block->array[i];
        ASAN_UNPOISON_MEMORY_REGION(array->memory, array->bytes + 2 * EMU_CANARY);
        for (size_t at = 0; at < EMU_CANARY; at++)
            if ((array->memory[at] != 0xa5 ||
                 array->memory[EMU_CANARY + array->bytes + at] != 0xa5) &&
                !emu.failed) {
                emu.failed = true;
                snprintf(emu.message, sizeof emu.message,
                         "a write outside the shared array of line %d", array->site);
            }
        free(array->memory);
    }
    block->arrays = 0;
}

/* ---- Scheduling ---- */

static void thread_body(void *argument)
{
    emu_thread *me = argument;
    fiber_arrived(&emu.scheduler);
    emu.run(emu.launch->args);
    me->state = EMU_DONE;
    me->block->done++;
    fiber_leave(&me->fiber, &emu.scheduler);
}

static void start_block(emu_block *block, uint64_t index)
{
    const tess_cuda_launch *launch = emu.launch;
    const unsigned *b = launch->block, *g = launch->grid;
    block->done = block->at_barrier = 0;
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
    while (emu.ready_count > 0 && !emu.failed) {
        if (emu.copies > 0 && emu_random(8) == 0)
            emu_copy_step();
        size_t at = emu_random(emu.ready_count);
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
            drop_shared(block);
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

static const char *check(const entry *found, const tess_cuda_launch *launch, unsigned threads)
{
    if (!found)
        return "no such entry point";
    if (found->args_bytes != (size_t)launch->slots * sizeof *launch->args)
        return "the launch's arguments do not have the size of the entry's struct";
    if (threads != found->threads)
        return "the block's threads are not those the entry was compiled for";
    if (threads == 0 || threads > MAX_THREADS || launch->grid[0] == 0 || launch->grid[1] == 0 ||
        launch->grid[2] == 0)
        return "an empty or too large block or grid";
    return NULL;
}

/* Stacks are kept between launches: a stack is the costly part of a thread. */
static char *stacks;

const char *emu_launch(const char *variant, const tess_cuda_launch *launch, uint64_t seed)
{
    unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
    uint64_t count = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    const entry *found = find(variant, launch->entry);
    const char *wrong = check(found, launch, threads);
    free(emu.copy);
    emu = (emu_machine){.launch = launch, .seed = seed};
    if (wrong) {
        snprintf(emu.message, sizeof emu.message, "%s: %s", launch->entry, wrong);
        return emu.message;
    }
    emu.run = found->run;
    emu.live = launch->cooperative || launch->cluster || count < LIVE ? (unsigned)count : LIVE;
    size_t fibers = (size_t)emu.live * threads;
    size_t kept = (size_t)LIVE * MAX_THREADS;
    if (!stacks)
        stacks = malloc(kept * STACK);
    ASAN_UNPOISON_MEMORY_REGION(stacks, kept * STACK); /* frames of a launch that was abandoned */
    char *own = fibers > kept ? malloc(fibers * STACK) : NULL;
    emu.ready = malloc(fibers * sizeof *emu.ready);
    emu.block = calloc(emu.live, sizeof *emu.block);
    emu_thread *pool = calloc(fibers, sizeof *pool);
    for (size_t i = 0; i < fibers; i++) {
        pool[i].fiber.stack = (own ? own : stacks) + i * STACK;
        pool[i].fiber.size = STACK;
    }
    for (unsigned b = 0; b < emu.live; b++) {
        emu.block[b].threads = threads;
        emu.block[b].thread = pool + (size_t)b * threads;
    }
    uint64_t *order = random_order(count);
    run_blocks(order, count);
    for (unsigned b = 0; b < emu.live; b++)
        drop_shared(&emu.block[b]);
    free(order);
    free(pool);
    free(emu.block);
    free(emu.ready);
    free(own);
    return emu.failed ? emu.message : NULL;
}
