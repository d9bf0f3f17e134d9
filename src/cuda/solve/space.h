/* A solver's vectors and scalars on a CUDA device.
 *
 *     list of steps ──> space_list.c: units, each one or a few launches ──> plain launches, or
 *                       pass.c: the kernels of a pass                       a graph (advance.c)
 *
 * Scalars never come to the host inside an iteration: a kernel that ends a dot product also runs
 * the arithmetic that follows it (its programme) and, at the end of an iteration, decides whether
 * the system stops (kernels/steps.cuh). Kernels of a stopped system return at once, so the host may
 * put many iterations into the stream and look later.
 */
#ifndef TESS_SPACE_CUDA_H
#define TESS_SPACE_CUDA_H

#include "cuda/solve/factors.h"
#include "cuda/plan/plan.h"
#include "solve/space/space.h"

/* ---- pass.c: kernels of a pass, without a device ---- */

enum {
    TESS_PASS_VECTORS = 10,
    TESS_PASS_COEFS = 12,
    TESS_PASS_DOTS = 8,
    TESS_PASS_TEXT = 640, /* bytes of a defines text */
    TESS_PASS_THREADS = 256,
    TESS_PASS_BLOCK = 64 /* largest diagonal block that a thread block shares */
};

/* One launch of pass.cu: updates of a pass with vectors, coefficients and dots numbered from 0. */
typedef struct tess_pass_kernel {
    int vectors, coefs, dots;
    int repeat; /* rows a thread at a time */
    int vector[TESS_PASS_VECTORS];
    tess_term coef[TESS_PASS_COEFS]; /* factor and slot */
    int dot_slot[TESS_PASS_DOTS];
    unsigned loads, stores;
    tess_diagonal diagonal; /* of its DIAGONAL updates; block 0: there are none */
    bool direct;
    char lines[420];
} tess_pass_kernel;

/* Puts updates first.. of the pass into one kernel, as many as fit; returns how many. */
int64_t tess_pass_take(const tess_steps *steps, const tess_step *pass, int64_t first,
                       tess_pass_kernel *kernel);
/* Chooses `repeat` for vectors of that length and a grid of at most `blocks`. */
void tess_pass_fit(tess_pass_kernel *kernel, int64_t rows, int blocks);
/* The defines of pass.cu. */
void tess_pass_defines(const tess_pass_kernel *kernel, tess_type type, char *text, size_t size);
/* What the arguments of every kernel of a solver begin with: finish_args of kernels/steps.cuh. */
typedef struct tess_finish_call {
    uint64_t slots, control, ring; /* of the system */
    int64_t slot_count, guard;
    uint64_t programme;
    int64_t ints; /* of the programme */
} tess_finish_call;
void tess_finish_arguments(const tess_finish_call *call, tess_cuda_launch *run);

/* And what follows where rows of vectors are computed: pass.cu, between.cu, loop.cu. */
typedef struct tess_rows_call {
    tess_finish_call finish;
    uint64_t vector[TESS_PASS_VECTORS];
    uint64_t diagonal;
    int64_t rows;
} tess_rows_call;
void tess_rows_arguments(const tess_pass_kernel *kernel, const tess_rows_call *call,
                         tess_cuda_launch *run);

/* The launch: grid, and arguments that depend on the kernel alone; the rest is in `call`. */
typedef struct tess_pass_call {
    tess_rows_call common;
    uint64_t parts, ticket;
    int blocks; /* thread blocks at most */
} tess_pass_call;
void tess_pass_launch(const tess_pass_kernel *kernel, const tess_pass_call *call,
                      tess_cuda_launch *out);

/* Appends an update; false, with the kernel as it was, when there is no room for it. */
bool tess_pass_add(tess_pass_kernel *kernel, const tess_update *update);
/* The kernel's number of a vector of the space; -1 when there is no room. */
int tess_pass_place(tess_pass_kernel *kernel, int vector);

/* ---- Units: units.c, without a device ---- */

/* steps.cuh */
enum { TESS_GUARD_NONE = -1, TESS_GUARD_STOPPED = 0, TESS_GUARD_PAST = 1, TESS_CONTROL = 8 };
enum { TESS_CONTROL_COUNT = 2, TESS_CONTROL_LIMIT, TESS_CONTROL_ENOUGH, TESS_CONTROL_TOO_MUCH };

typedef enum tess_unit_kind {
    TESS_UNIT_APPLY,       /* a product; its dot's parts go to the FINISH that follows */
    TESS_UNIT_PASS,        /* one kernel */
    TESS_UNIT_FINISH,      /* the last sum of an APPLY, and scalars */
    TESS_UNIT_PRECONDITION /* triangular solves */
} tess_unit_kind;

typedef struct tess_unit {
    tess_unit_kind kind;
    const tess_step *step;  /* that its time is counted for */
    tess_pass_kernel *pass; /* PASS; FINISH: the dot, where no product did it */
    cu_function function;
    bool sums;                     /* FINISH: of the product before */
    int64_t first_update, updates; /* PASS: those of the steps in it */
    int64_t programme;             /* index into the list's programmes, -1: none */
    int64_t guard;
} tess_unit;

/* Units between two products that are one launch. */
typedef struct tess_between tess_between;

typedef struct tess_unit_list {
    struct tess_unit_list *next;
    tess_ctx *ctx; /* the steps may be gone before the list */
    const tess_steps *steps;
    tess_unit *units;
    int64_t count, capacity;
    int *programmes;
    int64_t programme_count, programme_capacity;
    cu_pointer device_programmes;
    tess_between *between; /* of an iteration, in order */
    int between_count;
} tess_unit_list;

/* Fills a list that has its steps. `fused`: products leave the parts of their dots. `iteration`:
 * the list ends one, and stops are looked at. */
tess_status tess_units_build(tess_unit_list *list, bool fused, bool iteration,
                             const tess_stop *stops, int stop_count);
/* All but the list itself and what is on the device. */
void tess_units_free(tess_unit_list *list);

/* ---- Whole iterations in one launch: loop.c ---- */

enum {
    TESS_LOOP_TEXT = 800,
    TESS_LOOP_BLOCK = 16,
    TESS_LOOP_SLOTS = 64, /* loop.cu: SLOTS */
    TESS_LOOP_TEAM = 16   /* thread blocks of a cluster at most */
};

/* loop.cu for one method. */
typedef struct tess_loop_code {
    tess_pass_kernel numbers; /* vectors, coefficients and dots of all stages */
    char stages[TESS_LOOP_TEXT];
    char defines[TESS_LOOP_TEXT + 160];
    int threads;
    int team;               /* loop.cu: thread blocks of the cluster */
    unsigned loads, stores; /* between.cu: bits of vectors, as in pass.cu */
    tess_diagonal diagonal; /* of the whole list; block 0: there is none */
} tess_loop_code;

/* The text of a list of units; false when it is not one for loop.cu. */
bool tess_loop_write(const tess_unit_list *list, tess_type type, int32_t block, int threads,
                     int team, tess_loop_code *code);
/* The same for between.cu: `count` units from `first` on, none of them a product; for vectors of
 * that many rows and a grid of so many thread blocks. */
bool tess_between_write(const tess_unit_list *list, int64_t first, int64_t count, tess_type type,
                        int threads, int64_t rows, int grid, tess_loop_code *code);

/* Which rows each thread block has, and which rows of x it needs: loop.cu's arrays. */
typedef struct tess_loop_layout {
    int grid;
    int32_t *first, *source_first; /* grid + 1 each */
    int32_t *sources;
    uint16_t *places; /* one a block */
    int64_t span;     /* scalar rows of the largest thread block */
    int64_t shared;   /* bytes of shared memory that the largest needs */
} tess_loop_layout;

/* `most`: bytes of shared memory of a thread block. False in *fits when that is too little. */
tess_status tess_loop_lay_out(tess_ctx *ctx, const tess_matrix *A, const tess_loop_code *code,
                              int grid, int64_t most, tess_loop_layout *layout, bool *fits);
void tess_loop_layout_free(tess_ctx *ctx, tess_loop_layout *layout);

/* What a launch needs beside the code; addresses on the device. */
typedef struct tess_loop_call {
    tess_rows_call common;
    int64_t span;
    uint64_t offsets, columns, values;
    uint64_t first, sources, source_first, places;
    uint64_t product_parts, parts, meeting; /* between.cu */
    int64_t product_count;
    int grid;
    int64_t shared;
} tess_loop_call;
void tess_between_launch(const tess_loop_code *code, const tess_loop_call *call,
                         tess_cuda_launch *out);
void tess_loop_launch(const tess_loop_code *code, const tess_loop_call *call,
                      tess_cuda_launch *out);

typedef struct tess_loop {
    bool planned, fits;
    tess_loop_code code;
    tess_loop_layout layout;
    cu_module module;
    cu_function function;
    tess_cuda_resident *resident;
    cu_pointer first, sources, source_first, places;
} tess_loop;

/* Chooses the loop for a list, if it is one for loop.cu: then loop->planned. */
tess_status tess_cuda_plan_loop(tess_space *space, const tess_stretch *stretch);
/* Loads the loop that was planned: then loop->fits. */
tess_status tess_cuda_need_loop(tess_space *space);
void tess_cuda_loop_free(tess_space *space);
/* Iterations of one system until it stops; the work is in the stream. */
tess_status tess_cuda_run_loop(tess_space *space, const tess_unit_list *list, int system);

/* ---- What is between two products in one launch: between.c ---- */

struct tess_between {
    int64_t first, count; /* units */
    tess_loop_code code;
    cu_module module;
    cu_function function;
};

/* The next units, at least so many, from *at on that can be one launch; false: there are none. */
bool tess_between_find(const tess_unit_list *list, int least, int64_t *at, int64_t *count);
/* Finds and loads them for the units of an iteration. */
tess_status tess_cuda_need_between(tess_space *space, tess_unit_list *list);
void tess_cuda_between_free(tess_space *space, tess_unit_list *list);
tess_status tess_cuda_run_between(tess_space *space, const tess_unit_list *list,
                                  const tess_between *between, int system);

/* ---- On the device ---- */

/* A compiled pass, shared by all lists. */
typedef struct tess_pass_module {
    struct tess_pass_module *next;
    cu_module module;
    cu_function function;
    char defines[TESS_PASS_TEXT];
} tess_pass_module;

typedef struct tess_cuda_graph {
    struct tess_cuda_graph *next;
    uint64_t systems; /* one bit a system */
    int64_t position, iterations;
    bool seen;          /* launched once */
    cu_graph_exec exec; /* NULL before the second time */
} tess_cuda_graph;

/* Chunks of iterations in the stream at once: one runs, one waits. */
enum { TESS_FLIGHTS = 2 };

typedef struct tess_cuda_space {
    tess_cuda *cuda;
    tess_cuda_plan *plan;
    cu_pointer data, slots, control, ring, diagonal, parts, tickets;
    tess_cuda_factors *factors; /* preconditioners that are not diagonal */
    int64_t ring_length;        /* iterations */
    int part_blocks;            /* thread blocks of a pass at most */
    tess_pass_module *modules;
    cu_module finish_module;
    cu_function finish;
    tess_unit_list *lists;
    tess_cuda_parts product; /* left by the last product with a dot */
    tess_cuda_graph *graphs;
    double *host_control; /* pinned: the controls of all systems, for each flight and to upload */
    double *host_ring;    /* pinned: the rings */
    cu_stream aside;      /* copies controls to the host while the plan's stream goes on */
    cu_event chunk_end, flight[TESS_FLIGHTS];
    tess_loop loop;
    int timed;                /* iterations of which the numbers below are; the last counts */
    double share[TESS_TIMES]; /* of an iteration's time, by kind of step */
    double iteration_seconds; /* outside a graph */
} tess_cuda_space;

static inline tess_cuda_space *tess_cuda_space_of(const tess_space *space)
{
    return space->state;
}

static inline cu_pointer tess_cuda_vector(const tess_space *space, int v, int system)
{
    const int64_t at = ((int64_t)v * space->systems + system) * space->stride;
    return tess_cuda_space_of(space)->data + (uint64_t)at * tess_type_size(space->type);
}

/* ---- space_list.c ---- */

/* One entry of an embedded source; the module is the caller's. */
tess_status tess_cuda_load_function(tess_cuda *cuda, const char *source, const char *defines,
                                    const char *entry, cu_module *module, cu_function *function);

/* The units of a list, made now if this is the first time. `stretch`: iterations end with the
 * list; NULL: they do not. */
tess_status tess_cuda_need_list(tess_space *space, const tess_steps *steps,
                                const tess_stretch *stretch, const tess_unit_list **out);
void tess_cuda_lists_free(tess_space *space);
/* Compiles the passes of these lists, and of the `length` first of a cycle, side by side. */
void tess_cuda_warm(tess_space *space, const tess_steps *const *once, int count,
                    const tess_steps *cycle, int64_t length);

/* ---- space_units.c ---- */

cu_pointer tess_cuda_slots(const tess_space *space, int system);
cu_pointer tess_cuda_control(const tess_space *space, int system);
/* What a system's kernels begin with; without a programme. */
tess_finish_call tess_cuda_finish_call(const tess_space *space, int64_t guard, int system);
tess_rows_call tess_cuda_rows_call(const tess_space *space, const tess_pass_kernel *kernel,
                                   int64_t guard, int system);
/* Launches one unit for the systems listed. */
tess_status tess_cuda_run_unit(tess_space *space, const tess_unit_list *list, const tess_unit *unit,
                               const int *systems, int count);

/* All units of a list; the work is in the stream afterwards. */
tess_status tess_cuda_run_list(tess_space *space, const tess_unit_list *list, const int *systems,
                               int count);

/* ---- advance.c ---- */

tess_status tess_cuda_advance(tess_space *space, const tess_stretch *stretch);
tess_status tess_cuda_recall(tess_space *space, int system, int64_t i, double *to);
void tess_cuda_graphs_free(tess_space *space);
/* Counts one run of a list for `count` systems; its time is divided as its bytes are. */
void tess_cuda_account(tess_space *space, const tess_steps *steps, int count, double seconds);

extern const tess_space_ops tess_cuda_space_ops;

#endif
