/* The emulated machine, threads as fibers, live blocks with their shared memory, and who waits for
 * what. machine.c schedules, warp.c has barriers and warp operations, shared.c shared memory,
 * copy.c asynchronous copies. */
#ifndef EMU_MACHINE_H
#define EMU_MACHINE_H

#include <math.h>
#include <string.h>

#define REAL 8 /* the sources' scalar type plays no role here */
typedef double real;
typedef double held;
#include "emulate.h"
#include "fiber.h"
#include "run.h"

typedef enum emu_state {
    EMU_READY,
    EMU_AT_BARRIER, /* __syncthreads */
    EMU_AT_GRID,    /* grid_sync */
    EMU_AT_WARP,    /* a warp operation */
    EMU_AT_COPY,    /* barrier_wait */
    EMU_DONE
} emu_state;

typedef struct emu_copy {
    void *to;
    const void *from;
    unsigned bytes;
    mbarrier *barrier; /* NULL: cp.async of a thread */
    int group;         /* cp.async: committed group, -1 before the commit */
    struct emu_thread *owner;
} emu_copy;

typedef struct emu_thread {
    emu_place place;
    struct emu_block *block;
    fiber *fiber;    /* NULL: it has not begun, or is done */
    unsigned number; /* in its block */
    emu_state state;
    int line; /* of the operation it waits in */
    /* EMU_AT_WARP */
    emu_warp_op op;
    unsigned mask;
    int argument, width;
    uint64_t value;
    /* EMU_AT_COPY */
    mbarrier *barrier;
    unsigned phase;
    int groups; /* cp.async groups committed */
} emu_thread;

typedef struct emu_array {
    int site;
    size_t bytes;
    unsigned char *memory; /* EMU_CANARY bytes, the array, EMU_CANARY bytes */
} emu_array;

enum { EMU_CANARY = 64, EMU_SITES = 16 };

typedef struct emu_block {
    unsigned threads, done, at_barrier;
    unsigned at_warp[32]; /* of each warp, the lanes that wait in a warp operation */
    emu_thread *thread;
    emu_array array[EMU_SITES];
    int arrays;
    size_t static_shared; /* bytes of the arrays but the dynamic one */
} emu_block;

typedef struct emu_machine {
    emu_entry *entry;
    const emu_grid *grid;
    const void *args;
    uint64_t seed; /* the random numbers' state */
    bool in_order; /* the thread that became ready last runs next */
    fiber scheduler;
    emu_thread *now;
    emu_thread **ready, **looking; /* looking: ready when nobody else is */
    size_t ready_count, looking_count;
    emu_block *block; /* slots for live blocks */
    unsigned live, at_grid;
    emu_copy *copy; /* under way */
    size_t copies, copy_capacity;
    int64_t looks; /* at values of other threads */
    bool failed;
    char message[512];
} emu_machine;

extern emu_machine emu;

/* Uniform in 0..bound-1. */
size_t emu_random(size_t bound);
void emu_make_ready(emu_thread *thread);
/* Other threads run; returns when it is the running thread's turn again, which needs someone who
 * makes it ready. */
void emu_switch(void);
/* The same in a state to wait in. */
void emu_sleep(emu_state state, int line);

/* shared.c: frees a block's arrays; a changed canary is a write outside. */
void emu_drop_shared(emu_block *block);

/* copy.c: finishes one copy under way, drawn at random; false when there is none. */
bool emu_copy_step(void);
/* Whether a thread's barrier_wait is over. */
bool emu_wait_over(const emu_thread *thread);

#endif
