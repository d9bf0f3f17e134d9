/* The language that methods and preconditioners are written in: a list of steps.
 *
 * A method is not a loop but a list (a tess_steps), built once: products, preconditioner, linear
 * combinations, dot products and arithmetic on scalars, in the order in which a book writes them.
 * The list refers to vectors and scalars by number. A space (space/space.h) keeps them where it
 * likes, scalars included: an iteration needs nothing from the host. It may run one list for
 * several systems, and may compile or capture it.
 *
 * Vector updates that follow each other are one pass over memory:
 *
 *     r = r - alpha q              chunk 0     chunk 1     chunk 2 ...
 *     z = D r             ==>      3 updates   3 updates   3 updates      each chunk stays in cache
 *     rz = r . z
 *
 * An update that needs the result of a dot product of the same pass begins a new pass.
 *
 * Vectors and slots of a complex system are complex, and the same lists run on them. A transpose is
 * then the conjugate transpose, a dot product x^H y; TESS_S_RR and other norms have no imaginary
 * part. Where a formula has a conjugate that real numbers do not show, the builder has a call for
 * it: tess_step_project, tess_step_scalar_conjugate.
 *
 * A preconditioner may have vectors of other lengths and another precision: those of its levels.
 * Level 0 has the matrix's length and the method's precision. Vectors of a pass are of one level; a
 * product goes from the level of a plan's columns to that of its rows.
 */
#pragma once

#include "core/core.h"

struct tess_pc;   /* pc/pc.h */
struct tess_plan; /* backend/backend.h */

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

/* A block diagonal matrix: b x b blocks, column-major, one after the other. Rows of padding are
 * rows of the identity. */
typedef struct tess_diagonal {
    tess_type type;
    int32_t block;
    size_t bytes;  /* of the blocks */
    bool resident; /* the blocks are in the memory of the device that applies them */
    void *blocks;
} tess_diagonal;

typedef enum tess_update_kind {
    TESS_UPDATE_COMBINE,  /* out = sum of the terms */
    TESS_UPDATE_DIAGONAL, /* out = factor D x, or D^T x, plus the terms */
    TESS_UPDATE_DOT       /* slot = x . y */
} tess_update_kind;

/* What x . y is of complex vectors. */
typedef enum tess_dot_kind {
    TESS_DOT_FORWARD,  /* x^H y */
    TESS_DOT_REVERSED, /* y^H x */
    TESS_DOT_REAL      /* the real part of x^H y */
} tess_dot_kind;

/* One statement of a pass: a vector or a dot product, element by element. */
typedef struct tess_update {
    tess_update_kind kind;
    int out, x, y, slot;
    const tess_diagonal *diagonal; /* DIAGONAL; x is not out */
    double factor;
    bool transpose;
    tess_dot_kind dot; /* DOT */
    int terms;
    tess_term term[TESS_TERMS_MAX];
} tess_update;

typedef enum tess_scalar_op {
    TESS_OP_DIV,          /* out = a / b, 0 where b is 0 or the quotient not finite */
    TESS_OP_DIV_POSITIVE, /* the same, and 0 unless b > 0 */
    TESS_OP_MUL,
    TESS_OP_ADD,
    TESS_OP_SUB,
    TESS_OP_SQRT, /* of a; b unused */
    TESS_OP_COPY  /* of a; b unused */
} tess_scalar_op;

typedef enum tess_step_kind {
    TESS_STEP_PASS,
    TESS_STEP_SCALAR,
    TESS_STEP_APPLY,   /* y = A x or A^T x; slot >= 0: slot = w . y. Or y = alpha B x + beta y */
    TESS_STEP_CONVERT, /* y = x / slot or x * slot, between two precisions */
    TESS_STEP_PRECONDITION /* y = M^-1 x or M^-T x, not elementwise */
} tess_step_kind;

typedef struct tess_step {
    tess_step_kind kind;
    int64_t first_update, updates;    /* PASS */
    double vectors;                   /* PASS: vectors moved, in lengths; of these: */
    double diagonal_share, dot_share; /* the shares that DIAGONAL and DOT updates move */
    tess_scalar_op op;                /* SCALAR */
    int out, a, b;
    bool conjugate;           /* SCALAR: b is conjugated; in a COPY, a */
    tess_dot_kind dot;        /* APPLY: that of the slot, with w as x */
    int x, y, w, slot;        /* APPLY, PRECONDITION, CONVERT */
    struct tess_plan *plan;   /* APPLY: of B, the preconditioner's; NULL: A */
    double alpha, beta;       /* APPLY: of B */
    bool divide;              /* CONVERT */
    int level;                /* PASS, PRECONDITION: of the vectors; CONVERT: of y */
    const struct tess_pc *pc; /* PRECONDITION */
    bool transpose;
} tess_step;

typedef struct tess_steps {
    tess_ctx *ctx;
    tess_step *step;
    int64_t count, capacity;
    tess_update *update;
    int64_t update_count, update_capacity;
    int level;          /* of the updates that follow */
    bool real_dots;     /* all dot products are real but for rounding: of a Hermitian matrix */
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
/* y = alpha B x + beta y with the matrix of a plan of the preconditioner's. */
void tess_step_product(tess_steps *steps, struct tess_plan *plan, double alpha, int x, double beta,
                       int y);
/* y, of the level given, is x / slot (`divide`; 0 where the slot is 0) or x * slot. */
void tess_step_convert(tess_steps *steps, int level, int x, int y, int slot, bool divide);
/* Updates from here on are on vectors of this level, 0 before the first call. */
void tess_steps_on_level(tess_steps *steps, int level);
/* y = M^-1 x or M^-T x by a solve of its own. Methods call tess_pc_append (pc/pc.h). */
void tess_step_precondition(tess_steps *steps, const struct tess_pc *pc, int x, int y,
                            bool transpose);
/* out = D x or D^T x. */
void tess_step_diagonal(tess_steps *steps, const tess_diagonal *diagonal, int x, int out,
                        bool transpose);
/* out = factor D x or factor D^T x, plus up to TESS_TERMS_MAX - 1 terms, of which out may be
 * one. */
void tess_step_diagonal_sum(tess_steps *steps, const tess_diagonal *diagonal, double factor, int x,
                            int out, bool transpose, int terms, const tess_term *term);
void tess_step_combine(tess_steps *steps, int out, int terms, const tess_term *term);
void tess_step_dot(tess_steps *steps, int slot, int x, int y);
/* slot = v^H x, for real vectors x . v: the component of x along a v of length 1. */
void tess_step_project(tess_steps *steps, int slot, int x, int v);
void tess_step_scalar(tess_steps *steps, tess_scalar_op op, int out, int a, int b);
/* The same with the conjugate of b, or of a in a COPY. */
void tess_step_scalar_conjugate(tess_steps *steps, tess_scalar_op op, int out, int a, int b);
/* Counts the traffic of every pass; returns the status of the building. */
tess_status tess_steps_finish(tess_steps *steps);

/* out = a x + b y with slots as coefficients, the most frequent combination. */
static inline void tess_step_sum(tess_steps *steps, int out, double fx, int sx, int x, double fy,
                                 int sy, int y)
{
    const tess_term term[2] = {{fx, sx, x}, {fy, sy, y}};
    tess_step_combine(steps, out, 2, term);
}

/* r = b - A x */
static inline void tess_step_residual(tess_steps *steps, int r)
{
    tess_step_apply(steps, TESS_V_X, r);
    tess_step_sum(steps, r, 1, TESS_ONE, TESS_V_B, -1, TESS_ONE, r);
}

static inline void tess_step_copy(tess_steps *steps, int out, int x)
{
    const tess_term term = {1, TESS_ONE, x};
    tess_step_combine(steps, out, 1, &term);
}

/* ---- Iterations without the host ---- */

/* Conditions beside |r| under which a device that runs several iterations by itself must let the
 * host look. It may stop too early but never too late: the method's own check decides. */
typedef enum tess_stop_kind {
    TESS_STOP_NOT_POSITIVE, /* slot a is not positive */
    TESS_STOP_ZERO,         /* slot a is 0 or not finite */
    TESS_STOP_SMALL         /* a / b is less than 1e-29 of the largest so far */
} tess_stop_kind;

typedef struct tess_stop {
    tess_stop_kind kind;
    int a, b;
} tess_stop;
