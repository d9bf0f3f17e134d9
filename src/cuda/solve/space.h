/* A solver's vectors and scalars on a CUDA device.
 *
 *     list of steps ──> space_list.c: units, each one or a few launches ──> plain launches, or
 *                       pass.c: the kernels of a pass                       a graph (chunk.c)
 *
 * Scalars stay on the device during an iteration. The kernel that ends a dot product also runs the
 * scalar operations behind it (its programme) and, at the end of an iteration, decides whether the
 * system stops (steps.cuh). Passes of a stopped system return at once, so the host may put many
 * iterations into the stream and look later.
 */
#pragma once

#include "cuda/solve/between.h"
#include "cuda/solve/triangles/factors.h"
#include "cuda/solve/parts/halo.h"
#include "cuda/solve/loop.h"

typedef struct tess_cuda_diagonal tess_cuda_diagonal;
typedef struct tess_cuda_applied tess_cuda_applied;

/* A compiled pass, shared by all lists. */
typedef struct tess_pass_module {
    struct tess_pass_module *next;
    cu_module module;
    cu_function function;
    char defines[TESS_PASS_TEXT];
} tess_pass_module;

typedef struct tess_cuda_graph {
    struct tess_cuda_graph *next;
    uint64_t systems; /* one bit per system */
    int64_t position, iterations;
    bool seen, captured; /* put once before; captured as a graph */
    cu_graph_exec exec;  /* with several parts: part 0's */
} tess_cuda_graph;

/* Chunks of iterations in the stream at once: one runs, one waits. */
enum { TESS_FLIGHTS = 2 };

typedef struct tess_cuda_space {
    tess_cuda *cuda;
    tess_cuda_plan *plan; /* of a part: the plan of its own block */
    tess_cuda_halo *halo; /* of a part: its exchange with the others; NULL: the matrix is whole */
    cu_pointer data, slots, control, ring, partial, tickets;
    tess_cuda_diagonal *diagonals; /* that updates of the lists apply */
    tess_cuda_applied *applied;    /* triangular factors that steps of the lists apply */
    int64_t ring_length;           /* iterations */
    int part_blocks;               /* thread blocks of a pass at most */
    tess_pass_module *modules;
    cu_module finish_module;
    cu_function finish;
    tess_unit_list *lists;
    tess_cuda_partial_sums product; /* partial sums of the last product with a dot product */
    tess_cuda_graph *graphs;
    /* Pinned: the controls of all systems, once per flight, once to upload, once as last heard. */
    double *host_control;
    double *host_ring; /* pinned: the rings */
    cu_stream aside;   /* copies controls to the host while the plan's stream goes on */
    cu_event chunk_end, flight[TESS_FLIGHTS];
    tess_loop loop;
    bool calls;                  /* the host calls the caller's operators in every iteration */
    int timed;                   /* iterations timed so far; the next three are of the last one */
    double share[TESS_TIMES];    /* of an iteration's time, by kind of step */
    double launches[TESS_TIMES]; /* of an iteration, by kind of step */
    double iteration_seconds;    /* outside a graph */
} tess_cuda_space;

static inline tess_cuda_space *tess_cuda_space_of(const tess_space *space)
{
    return space->state;
}

static inline cu_pointer tess_cuda_vector(const tess_space *space, int v, int system)
{
    return tess_cuda_space_of(space)->data + (uint64_t)tess_space_offset(space, v, system);
}

/* Doubles from a slot's real part to its imaginary part; 0: the system is real. */
static inline int tess_cuda_imaginary(const tess_space *space)
{
    return tess_is_complex(space->type) ? space->slots : 0;
}

/* The operation of a product with A. */
static inline tess_operation tess_cuda_step_operation(const tess_space *space,
                                                      const tess_step *step)
{
    return step->transpose && tess_is_complex(space->type) ? TESS_OPERATION_CONJUGATE_TRANSPOSE
                                                           : tess_cuda_operation(step->transpose);
}

/* The plan whose matrix a product multiplies with. */
static inline tess_cuda_plan *tess_cuda_step_plan(const tess_space *space, const tess_step *step)
{
    return step->plan ? tess_cuda_plan_of(step->plan) : tess_cuda_space_of(space)->plan;
}

/* Whether one product multiplies all systems. Systems are multiplied one by one by a transpose, by
 * the caller's operator, where there is a halo, and where the caller named a kernel whose layout
 * has no product with several vectors. */
static inline bool tess_cuda_multiplies_together(const tess_space *space, const tess_step *step)
{
    const tess_plan *plan = step->plan ? step->plan : space->plan;
    return space->systems > 1 && !step->transpose && !tess_cuda_plan_of(plan)->caller.apply &&
           !(plan->named && plan->one_vector) && !(tess_cuda_space_of(space)->halo && !step->plan);
}

/* ---- diagonals.c ---- */

/* Copies of the diagonals that a list's updates apply, made now if this is the first time. */
tess_status tess_cuda_need_diagonals(tess_cuda_space *state, const tess_steps *steps);
/* The copy of a diagonal, 0 before it is made. */
cu_pointer tess_cuda_diagonal_copy(const tess_cuda_space *state, const tess_diagonal *diagonal);
/* Uploads all of them again: the host's values have changed. */
tess_status tess_cuda_update_diagonals(tess_cuda_space *state);
void tess_cuda_diagonals_free(tess_cuda_space *state);

/* ---- space_factors.c ---- */

/* Copies of the factors that a list's steps apply, made now if this is the first time. */
tess_status tess_cuda_need_factors(tess_cuda_space *state, const tess_steps *steps);
/* The copy of pc's factors, NULL before it is made. */
tess_cuda_factors *tess_cuda_factors_of(const tess_cuda_space *state, const tess_pc *pc);
/* Uploads all of them again: the host's values have changed. */
tess_status tess_cuda_update_factors(tess_cuda_space *state);
void tess_cuda_applied_free(tess_cuda_space *state);

/* ---- space_list.c ---- */

/* The units of a list, made now if this is the first time. `stretch`: the list is an iteration of
 * it; NULL: the list is no iteration. */
tess_status tess_cuda_need_list(tess_space *space, const tess_steps *steps,
                                const tess_stretch *stretch, const tess_unit_list **out);
void tess_cuda_lists_free(tess_space *space);
/* Compiles the passes of these lists, and of the first `length` lists of a cycle, at once. */
void tess_cuda_warm(tess_space *space, const tess_steps *const *once, int count,
                    const tess_steps *cycle, int64_t length);

/* ---- space_units.c ---- */

cu_pointer tess_cuda_slots(const tess_space *space, int system);
cu_pointer tess_cuda_control(const tess_space *space, int system);
/* The first arguments of a system's kernels on rows, without a programme. */
tess_rows_call tess_cuda_rows_call(const tess_space *space, const tess_pass_kernel *kernel,
                                   int64_t guard, int system);
/* How many units from `at` on are one launch for `count` systems. */
int64_t tess_cuda_units_together(const tess_unit_list *list, int64_t at, int count);
/* Launches the units from `at` on that are one launch, for the systems listed. */
tess_status tess_cuda_run_units(tess_space *space, const tess_unit_list *list, int64_t at,
                                const int *systems, int count);

/* Launches all units of a list. The call does not wait. */
tess_status tess_cuda_run_list(tess_space *space, const tess_unit_list *list, const int *systems,
                               int count);

/* ---- space.c ---- */

/* Enters the device. With parts of other processes a failure is kept: this part takes part in all
 * messages, and tess_cuda_space_leave tells all parts of it. */
tess_status tess_cuda_space_enter(tess_cuda_space *state, bool *entered);
/* Leaves the device. Parts of several processes return the same status. */
tess_status tess_cuda_space_leave(const tess_cuda_space *state, bool entered, tess_status status);

/* ---- chunk.c ---- */

/* Iterations position .. position + iterations - 1 of the cycle, as plain launches. */
tess_status tess_cuda_put_iterations(tess_space *space, const tess_stretch *stretch,
                                     int64_t position, int64_t iterations);

/* Iterations at .. at + iterations - 1 of the stretch; the work is in the stream afterwards. */
tess_status tess_cuda_put_chunk(tess_space *space, const tess_stretch *stretch, int64_t at,
                                int64_t iterations);
void tess_cuda_graphs_free(tess_space *space);

/* ---- controls.c ---- */

/* Allows the device `most` iterations of a stretch. */
tess_status tess_cuda_put_controls(tess_space *space, const tess_stretch *stretch, int64_t most);
/* Puts a copy of the controls to the host into stream `aside`, behind what is in the plan's stream
 * now. */
tess_status tess_cuda_ask(tess_space *space, int flight);
/* Waits for the copy of tess_cuda_ask: the iterations done by each system, and whether all have
 * stopped. */
tess_status tess_cuda_hear(tess_space *space, const tess_stretch *stretch, int flight,
                           bool *stopped);
/* As tess_cuda_hear for all parts together: one part may have copied the decision of a later chunk
 * than another. *near: the chunks under way, up to iteration `put`, may be the last ones. */
tess_status tess_cuda_answer(tess_space *space, const tess_stretch *stretch, int flight,
                             int64_t put, bool *stopped, bool *near);

/* ---- advance.c ---- */

tess_status tess_cuda_advance(tess_space *space, const tess_stretch *stretch);
tess_status tess_cuda_recall(tess_space *space, int system, int64_t i, double *to);
/* Counts one run of a list for `count` systems; its time is divided as its bytes are. */
void tess_cuda_account(tess_space *space, const tess_steps *steps, int count, double seconds);

extern const tess_space_ops tess_cuda_space_ops;
