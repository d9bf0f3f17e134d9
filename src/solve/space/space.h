/* Where a solver's vectors and scalars live, and the few things it can do with them.
 *
 * A method is not a loop but a list of steps (a tess_steps), built once: products, preconditioner,
 * linear combinations, dot products and arithmetic on scalars, in the order in which a book writes
 * them. The list refers to vectors and scalars by number, so that a backend may keep them where it
 * likes (scalars included: an iteration needs nothing from the host), may run one list for several
 * systems, and may compile or capture it.
 *
 * Elementwise statements that follow each other are one pass over memory:
 *
 *     r = r - alpha q              chunk 0   chunk 1   chunk 2 ...
 *     z = D r             ==>      3 lines   3 lines   3 lines      each chunk stays in cache
 *     rz = r . z
 *
 * A statement that needs the result of a dot product of the same pass begins a new pass.
 *
 * Vectors: number v of system j starts at data + (v * systems + j) * stride scalars, so the same
 * vector of all systems is a column-major matrix for SpMM. Scalars of padding (rows up to a
 * multiple of the block size) are 0 and stay 0.
 */
#ifndef TESS_SPACE_H
#define TESS_SPACE_H

#include "backend/backend.h"
#include "solve/pc/pc.h"

/* ---- Steps: steps.c ---- */

/* Vectors every method has; its own begin at TESS_V_OWN. */
enum { TESS_V_X, TESS_V_B, TESS_V_OWN };

/* Slots every method has; its own begin at TESS_S_OWN. TESS_S_RR is |r|^2, which the driver looks
 * at after START and after each iteration. */
enum { TESS_S_RR, TESS_S_OWN };
/* In place of a slot: the number 1. */
enum { TESS_ONE = -1 };

/* factor * slot * vector. */
typedef struct tess_term {
    double factor;
    int slot;
    int vector;
} tess_term;

enum { TESS_TERMS_MAX = 4 };

typedef enum tess_line_kind {
    TESS_LINE_COMBINE,  /* out = sum of the terms */
    TESS_LINE_DIAGONAL, /* out = D x or D^T x: a preconditioner that is (block) diagonal */
    TESS_LINE_DOT       /* slot = x . y */
} tess_line_kind;

/* One statement of a pass. */
typedef struct tess_line {
    tess_line_kind kind;
    int out, x, y, slot;
    bool transpose;
    int terms;
    tess_term term[TESS_TERMS_MAX];
} tess_line;

typedef enum tess_scalar_op {
    TESS_OP_DIV,          /* out = a / b, 0 where b is 0 or the quotient not finite */
    TESS_OP_DIV_POSITIVE, /* the same, and 0 unless b > 0: no step in a direction that is not safe
                           */
    TESS_OP_MUL,
    TESS_OP_ADD,
    TESS_OP_SUB,
    TESS_OP_SQRT, /* of a; b unused */
    TESS_OP_COPY  /* of a; b unused */
} tess_scalar_op;

typedef enum tess_step_kind {
    TESS_STEP_PASS,
    TESS_STEP_SCALAR,
    TESS_STEP_APPLY,       /* y = A x or A^T x; slot >= 0: slot = w . y */
    TESS_STEP_PRECONDITION /* y = M^-1 x or M^-T x, not elementwise */
} tess_step_kind;

typedef struct tess_step {
    tess_step_kind kind;
    int64_t first_line, lines;  /* PASS */
    double vectors;             /* PASS: vectors moved, in lengths; of these: */
    double pc_share, dot_share; /* share of the vectors that is the diagonal's, and the dots' */
    tess_scalar_op op;          /* SCALAR */
    int out, a, b;
    int x, y, w, slot; /* APPLY, PRECONDITION */
    bool transpose;
} tess_step;

typedef struct tess_steps {
    tess_ctx *ctx;
    const tess_pc *pc;
    tess_step *step;
    int64_t count, capacity;
    tess_line *line;
    int64_t line_count, line_capacity;
    tess_status status; /* the first failure of a builder call: checked once, at the end */
} tess_steps;

void tess_steps_free(tess_steps *steps);

static inline tess_term tess_term_of(double factor, int slot, int vector)
{
    return (tess_term){factor, slot, vector};
}

/* The builder. Failures are kept in steps->status. */
void tess_step_apply(tess_steps *steps, int x, int y);
void tess_step_apply_transpose(tess_steps *steps, int x, int y);
/* y = A x and slot = w . y. */
void tess_step_apply_dot(tess_steps *steps, int x, int y, int w, int slot);
/* M^-1 r into z. Returns the vector that holds it: r itself without a preconditioner. */
int tess_step_precondition(tess_steps *steps, int r, int z);
int tess_step_precondition_transpose(tess_steps *steps, int r, int z);
void tess_step_combine(tess_steps *steps, int out, int terms, const tess_term *term);
void tess_step_dot(tess_steps *steps, int slot, int x, int y);
void tess_step_scalar(tess_steps *steps, tess_scalar_op op, int out, int a, int b);
/* Counts the traffic of every pass; returns the status of the building. */
tess_status tess_steps_finish(tess_steps *steps);

/* out = a x + b y with slots as coefficients, the commonest of combinations. */
static inline void tess_step_sum(tess_steps *steps, int out, double fx, int sx, int x, double fy,
                                 int sy, int y)
{
    const tess_term term[2] = {{fx, sx, x}, {fy, sy, y}};
    tess_step_combine(steps, out, 2, term);
}

static inline void tess_step_copy(tess_steps *steps, int out, int x)
{
    const tess_term term = {1, TESS_ONE, x};
    tess_step_combine(steps, out, 1, &term);
}

/* ---- Iterations without the host ---- */

/* When a device that runs several iterations by itself must let the host look, beside |r|. It may
 * stop too early but never too late: the method's own check decides. */
typedef enum tess_stop_kind {
    TESS_STOP_NOT_POSITIVE, /* of slot a */
    TESS_STOP_ZERO,         /* slot a is 0 or not finite */
    TESS_STOP_SMALL         /* a / b is less than 1e-29 of the largest so far */
} tess_stop_kind;

typedef struct tess_stop {
    tess_stop_kind kind;
    int a, b;
} tess_stop;

typedef struct tess_stretch {
    const tess_steps *lists; /* iteration i is lists[(position + i) % cycle] */
    int64_t cycle, position;
    const tess_stop *stops;
    int stop_count;
    const int *systems;
    int count;
    int64_t most;   /* iterations, 1 to space->stretch */
    double seconds; /* return after about so long, with at least one iteration done */
    /* One a system listed: stop when |r|^2 <= enough or >= too_much; the iterations done. */
    const double *enough, *too_much;
    int64_t *done;
} tess_stretch;

/* ---- Space ---- */

enum { TESS_TIME_SPMV, TESS_TIME_PC, TESS_TIME_DOTS, TESS_TIME_VECTORS, TESS_TIMES };

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
    /* Makes what lists need to run (code, say) before the first solve: `count` lists, and those of
     * iterations; of `stretch` only the lists and stops count. NULL: nothing to be made. */
    tess_status (*prepare)(tess_space *space, const tess_steps *const *once, int count,
                           const tess_stretch *stretch);
    /* Runs the steps for the `count` systems listed. Adds to seconds and bytes. */
    tess_status (*run)(tess_space *space, const tess_steps *steps, const int *systems, int count);
    /* Runs iterations until all systems have stopped or stretch->most are done. A stopped system
     * stays as its last iteration left it. */
    tess_status (*advance)(tess_space *space, const tess_stretch *stretch);
    /* All slots of a system as they were after iteration i of the last stretch. */
    tess_status (*recall)(tess_space *space, int system, int64_t i, double *to);
    /* The preconditioner has new numbers; NULL: nothing was copied. */
    tess_status (*refresh)(tess_space *space);
} tess_space_ops;

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
    int64_t stretch;            /* iterations of one call of advance, at most */
    void *state;                /* the backend's own */
    double seconds[TESS_TIMES]; /* a pass's time is divided as its vectors are */
    double bytes;
};

/* Vectors and slots for `systems` systems, where the plan's device wants them. */
tess_status tess_space_open(tess_plan *plan, const tess_pc *pc, int vectors, int slots, int systems,
                            tess_space *space);
void tess_space_close(tess_space *space);

/* Adds the bytes of one step for `count` systems, and its time. */
void tess_space_account(tess_space *space, const tess_step *step, int count, double seconds);
/* The bytes that a step moves for `count` systems. */
double tess_space_step_bytes(const tess_space *space, const tess_step *step, int count);

extern const tess_space_ops tess_space_cpu;

/* ---- Passes of the CPU: pass_f64.c, pass_f32.c ---- */

/* A line with addresses in place of numbers. */
typedef struct tess_cpu_line {
    tess_line_kind kind;
    int terms;
    bool transpose;
    double factor[TESS_TERMS_MAX];
    const void *in[TESS_TERMS_MAX]; /* of a dot: x and y */
    void *out;
    double *sum; /* DOT: one a chunk */
} tess_cpu_line;

/* Runs all lines on scalars first .. first+count-1; a dot leaves its part in sum[chunk]. `diagonal`
 * holds the blocks of a DIAGONAL line. */
typedef void (*tess_pass_fn)(const tess_cpu_line *lines, int64_t count_lines,
                             const tess_diagonal *diagonal, int64_t chunk, int64_t first,
                             int64_t count);
void tess_pass_f64(const tess_cpu_line *lines, int64_t count_lines, const tess_diagonal *diagonal,
                   int64_t chunk, int64_t first, int64_t count);
void tess_pass_f32(const tess_cpu_line *lines, int64_t count_lines, const tess_diagonal *diagonal,
                   int64_t chunk, int64_t first, int64_t count);

#endif
