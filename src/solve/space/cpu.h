/* What the space of the host keeps (cpu.c), and its passes over vectors (cpu_pass.c). */
#pragma once

#include "solve/space/pass.h"
#include "solve/space/space.h"

/* The most dot products of a pass whose sum over the parts may overlap with later steps. */
enum { TESS_CPU_WAITING = 16 };

/* How the vectors of a level are cut. */
typedef struct tess_cpu_chunks {
    int64_t size, count;
} tess_cpu_chunks;

typedef struct tess_cpu_state {
    char *data;
    double *slots;
    int64_t slot_reals;       /* of one system */
    tess_cpu_update *updates; /* of the longest pass so far */
    int64_t update_capacity;
    double *sums; /* chunks * dots of the longest pass so far, of complex vectors twice */
    int64_t sum_capacity;
    /* Dot products whose sum over the parts is under way: the slots that wait for them. */
    double *waiting[TESS_CPU_WAITING];
    int waiting_count;
    tess_cpu_chunks *chunks; /* one per level */
} tess_cpu_state;

static inline void *tess_cpu_vector(const tess_space *space, int v, int system)
{
    const tess_cpu_state *state = space->state;
    return state->data + tess_space_offset(space, v, system);
}

static inline double *tess_cpu_slots(const tess_space *space, int system)
{
    const tess_cpu_state *state = space->state;
    return state->slots + system * state->slot_reals;
}

/* Writes the sums under way to the slots that wait for them, before steps read slots. */
tess_status tess_cpu_receive(const tess_space *space);
/* Returns the number of threads for a step that moves `bytes` bytes. */
int tess_cpu_threads(const tess_space *space, double bytes);
/* Makes room for all passes of a list, so that running it allocates nothing: memory that is missing
 * on one of several parts would leave the others waiting for its sums. */
tess_status tess_cpu_reserve(tess_space *space, const tess_steps *steps);
tess_status tess_cpu_pass(tess_space *space, const tess_steps *steps, const tess_step *pass,
                          int system);
