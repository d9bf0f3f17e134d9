/* Where a solver's vectors and scalars live, and who runs its lists of steps.
 *
 * Vectors: number v of system j starts `offset + j * stride` scalars behind the vector of system 0,
 * so the same vector of all systems is a column-major matrix for SpMM. The method's vectors come
 * first, then those of the preconditioner's levels. Scalars of padding (rows up to a multiple of
 * the block size) are 0 and stay 0.
 *
 * Slots of complex systems: the real parts of all, then as many imaginary parts.
 */
#pragma once

#include "backend/backend.h"
#include "solve/pc/pc.h"

/* Iterations that a device runs without the host. */
typedef struct tess_stretch {
    const tess_steps *lists; /* iteration i is lists[(position + i) % cycle] */
    int64_t cycle, position;
    const tess_stop *stops;
    int stop_count;
    const int *systems;
    int count;
    int64_t most;   /* iterations, 1 to space->stretch */
    double seconds; /* return after about this time, with at least one iteration done */
    /* Per system listed: stop when |r|^2 <= enough or >= too_much; the iterations done. */
    const double *enough, *too_much;
    int64_t *done;
} tess_stretch;

/* ---- Space ---- */

/* Kinds of time. From TESS_TIME_LEVEL on: the preconditioner's time again, by level of its
 * vectors. */
enum {
    TESS_TIME_SPMV,
    TESS_TIME_PC,
    TESS_TIME_DOTS,
    TESS_TIME_VECTORS,
    TESS_TIME_LEVEL,
    TESS_TIMES = TESS_TIME_LEVEL + 32
};

typedef struct tess_space tess_space;

typedef struct tess_space_ops {
    /* Allocates vectors and slots, all 0. */
    tess_status (*open)(tess_space *space);
    void (*close)(tess_space *space);
    /* Between host arrays of `rows` scalars and vector v of a system. */
    tess_status (*upload)(tess_space *space, int v, int system, const void *from);
    tess_status (*download)(tess_space *space, int v, int system, void *to);
    /* All slots of one system, to and from the host. */
    tess_status (*read_slots)(tess_space *space, int system, double *to);
    tess_status (*write_slots)(tess_space *space, int system, const double *from);
    /* Before the first solve: makes what lists need to run, such as code. The lists are the `count`
     * in `once`, and those of iterations; of `stretch` only the lists and stops are read. NULL:
     * nothing has to be made. */
    tess_status (*prepare)(tess_space *space, const tess_steps *const *once, int count,
                           const tess_stretch *stretch);
    /* Runs the steps for the `count` systems listed. Adds to seconds and bytes. */
    tess_status (*run)(tess_space *space, const tess_steps *steps, const int *systems, int count);
    /* Runs iterations until all systems have stopped or stretch->most are done. A stopped system
     * stays as its last iteration left it. */
    tess_status (*advance)(tess_space *space, const tess_stretch *stretch);
    /* All slots of a system as they were after iteration i of the last stretch. */
    tess_status (*recall)(tess_space *space, int system, int64_t i, double *to);
    /* The preconditioner has new values; NULL: nothing was copied. */
    tess_status (*update_values)(tess_space *space);
} tess_space_ops;

/* The vectors of one level: 0 is the method's. */
typedef struct tess_space_level {
    int64_t rows;
    int64_t stride; /* scalars from a system's vector to the next system's */
    int32_t block;
    tess_type type;
} tess_space_level;

/* Where vector v begins, in bytes, and of which level it is. */
typedef struct tess_vector_place {
    int64_t offset;
    int level;
} tess_vector_place;

struct tess_space {
    tess_ctx *ctx;
    tess_plan *plan;
    const tess_space_ops *ops;
    const tess_pc *pc;
    tess_type type;
    int64_t rows;
    int64_t stride; /* scalars from a system's vector to the next system's */
    int32_t block;  /* height of a block: passes cut vectors at multiples of it */
    int vectors, slots, systems;
    tess_space_level *level; /* those above are level 0's */
    tess_vector_place *place;
    int64_t data_bytes;         /* all vectors of all systems */
    int64_t stretch;            /* iterations of one call of advance, at most */
    void *state;                /* the backend's own */
    double seconds[TESS_TIMES]; /* a pass's time is divided as its vectors are */
    double moved[TESS_TIMES];   /* bytes, divided like the time */
    double bytes;               /* all of them */
};

/* Allocates vectors and slots for `systems` systems, where the plan's device wants them. */
tess_status tess_space_open(tess_plan *plan, const tess_pc *pc, int vectors, int slots, int systems,
                            tess_space *space);
void tess_space_close(tess_space *space);

/* Bytes from the first vector to vector v of a system. */
static inline int64_t tess_space_offset(const tess_space *space, int v, int system)
{
    const tess_vector_place *place = &space->place[v];
    const tess_space_level *level = &space->level[place->level];
    return place->offset + system * level->stride * (int64_t)tess_type_size(level->type);
}

/* Doubles in the slots of a system. */
static inline int64_t tess_space_slot_reals(const tess_space *space)
{
    return tess_reals(space->type, space->slots);
}

static inline const tess_space_level *tess_space_level_of(const tess_space *space, int v)
{
    return &space->level[space->place[v].level];
}

/* Adds a step's time, or its bytes, to those of its kinds, and the preconditioner's share to that
 * of a level. */
void tess_step_divide(const tess_space *space, const tess_step *step, double amount,
                      double times[TESS_TIMES]);
/* Adds the bytes of one step for `count` systems, and its time. */
void tess_space_account(tess_space *space, const tess_step *step, int count, double seconds);
/* The bytes that a step moves for `count` systems. */
double tess_space_step_bytes(const tess_space *space, const tess_step *step, int count);

extern const tess_space_ops tess_space_cpu;
