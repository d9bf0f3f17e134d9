/* What a method is, and one linear system under way.
 *
 * A method is a constant tess_method: traits, and the functions that write its lists of steps and
 * look at its scalars. methods.def lists all of them.
 */
#pragma once

#include "solve/space/space.h"

typedef struct tess_method tess_method;

typedef struct tess_solve_options {
    const tess_method *method;
    tess_pc_options pc;
    double tol, atol;
    int64_t max, restart, stagnation;
    int64_t deflate; /* dgmres: vectors kept over a restart */
    bool left;       /* preconditioned from the left: methods with both sides */
    bool inner_single;
    bool automatic;        /* auto: method and pc are found by trying */
    double budget, memory; /* auto: seconds; GB that factors may take */
    int scale, order;      /* tess_scale, tess_order: of the inner system */
    bool padded;           /* made square by rows or columns of zeros */
    bool trusting;         /* convergence needs no true residual, as within refinement */
} tess_solve_options;

/* How the system that a method sees is scaled, and in which order its rows are (matrix/arrange). */
typedef enum tess_scale { TESS_SCALE_NONE, TESS_SCALE_EQUILIBRATE, TESS_SCALE_MATCH } tess_scale;
typedef enum tess_order {
    TESS_ORDER_NONE,
    TESS_ORDER_RCM,
    TESS_ORDER_ND,
    TESS_ORDER_AMD
} tess_order;

/* One A x = b. */
typedef struct tess_system {
    int64_t iteration;
    double rhs_norm, threshold; /* |b|; |r| at which to stop */
    double residual;            /* |r| of the recurrence, as of the last check */
    double scale;               /* left: from |M^-1 r| to |r|; else 1 */
    double drift;               /* true |r| over the recurrence's when last compared; >= 1 */
    double start_residual;      /* |r| of the initial guess */
    double best;                /* the smallest |r| */
    double best_normal;         /* lsqr: the smallest |A^T r|^2 */
    int64_t best_at;            /* the last iteration at which one of them became smaller */
    double true_residual;       /* |b - A x| when last computed; infinity before that */
    double largest_gain;        /* bicgstab, idr: the largest |A y| / |y| so far */
    int64_t started;            /* the iteration after which the recurrence began */
    bool restart;               /* the method asks to begin again from x */
    bool least;                 /* ... says that |r| is the smallest there is */
    double normal;              /* |A^T r| / (|A| |r|) when last computed; infinity before that */
    bool done;
    tess_reason reason;
    char text[sizeof(((tess_result *)0)->text)];
} tess_system;

struct tess_solver {
    tess_ctx *ctx;
    tess_plan *plan;
    tess_solve_options options;
    tess_pc pc;
    tess_space space;
    tess_steps start;    /* r = b - A x and all that follows from it */
    tess_steps residual; /* RR = |b - A x|^2 and nothing else */
    tess_steps check;    /* the same with other roundings */
    tess_steps rhs;      /* RR = |b|^2 */
    tess_steps normal;   /* RR = |b - A x|^2, then |A^T (b - A x)|^2: least squares */
    double norm;         /* |A|, the root of the sum of squares: least squares. Of an A without
                            entries the method finds the least that it may be */
    tess_steps zero;     /* x = 0, for a b that is 0 */
    tess_steps *loop;    /* cycle lists: iteration i is loop[i % cycle] */
    int64_t cycle;
    void *state;                 /* the method's own */
    bool made;                   /* preconditioner, lists and space exist */
    double *modes, *coordinates; /* the caller's, for preconditioners that take them */
    double *slots;               /* of the system being looked at, as space.h lays them out */
    bool careful; /* the next iteration must be looked at before another one is run */
    bool asks;    /* some part has a callback */
    bool solving; /* a call that solves is under way: its callback may not use the solver */
    tess_solve_fn callback;
    void *callback_user;
    char about[3072]; /* what tess_solver_describe says after a solve */
    double *history;  /* of system 0 */
    int64_t history_capacity;
    double *first_history; /* a copy, where systems after the first have their own */
    int64_t updates;       /* of the plan, when the solver last took its values */
    const char *chosen; /* auto on a part: the spec that was chosen; NULL: the caller's is used */
    const struct tess_outer *outer; /* solves by another solver: solve.h; NULL: iterates itself */
    void *outer_state;
    tess_solver *inner; /* that other solver, and the plan and matrix made for it */
    tess_plan *inner_plan;
    tess_matrix *inner_matrix;
};

/* From which sides a method applies its preconditioner. */
typedef enum tess_sides {
    TESS_SIDES_NONE,  /* where its formulas have it: there is no choice */
    TESS_SIDES_RIGHT, /* from the right alone, as the preconditioner may change */
    TESS_SIDES_BOTH
} tess_sides;

struct tess_method {
    const char *name;
    const char *summary;    /* one line for help, no full stop */
    bool symmetric;         /* A must be symmetric, M symmetric positive definite; of complex ones
                               Hermitian, so that all dot products are real */
    bool positive_definite; /* ... and A positive definite */
    bool least_squares;     /* minimises |b - A x| where no x solves the system */
    bool transpose;         /* A^T and M^-T are applied too */
    bool complex;           /* takes complex matrices */
    const tess_pc_ops *pc;  /* the only preconditioner it takes; NULL: any */
    const char *keys;       /* "restart,deflate": of the options, those that not all methods take;
                               NULL: none */
    bool deflates;          /* keeps vectors over a restart */
    bool flexible;          /* the preconditioner may change from one iteration to the next */
    tess_sides sides;
    int vectors, slots; /* those that all methods have included */
    /* Sets numbers that depend on the options, and the length of a cycle where it is not 1. NULL:
     * neither is needed. */
    void (*size)(const tess_solve_options *options, int *vectors, int *slots, int64_t *cycle);
    /* Fills solver->start and solver->loop. */
    void (*build)(tess_solver *solver);
    /* The method's own state, when it has any. */
    tess_status (*open)(tess_solver *solver);
    void (*close)(tess_solver *solver);
    /* Uploads vectors of the method's own, before a system starts; its x and b are in the space
     * already. NULL: there are none. */
    tess_status (*begin)(tess_solver *solver, int system);
    /* After an iteration, before `check`: runs more steps where the slots show a need, and then
     * reads the slots again. NULL: never. */
    tess_status (*mend)(tess_solver *solver, int system, int64_t position);
    /* After the start (position -1) and each iteration (position in the cycle), with the slots in
     * solver->slots: ends the system when a quantity has become unusable. system->residual is the
     * root of slot RR; a method that knows |r| otherwise sets it here. NULL: the driver's own
     * checks of |r| suffice. */
    void (*check)(tess_solver *solver, tess_system *system, int64_t position);
    /* What makes `check` end a system or `mend` work, for devices that iterate by themselves. */
    const tess_stop *stops;
    int stop_count;
    /* Brings x up to date when a recurrence that keeps it implicit ends; NULL: x always is. */
    tess_status (*finish)(tess_solver *solver, int system, int64_t positions);
};

static inline bool tess_solver_is_complex(const tess_solver *solver)
{
    return tess_is_complex(solver->plan->matrix->type);
}

/* Returns a slot that is divided by. In a complex system: its modulus. */
static inline double tess_solver_divisor(const tess_solver *solver, int slot)
{
    return tess_solver_is_complex(solver)
               ? hypot(solver->slots[slot], solver->slots[solver->space.slots + slot])
               : solver->slots[slot];
}

/* Returns whether there is a preconditioner that is applied from the left. */
static inline bool tess_applies_left(const tess_solve_options *options)
{
    return options->left && !options->pc.ops->identity;
}

/* All methods, in the order of methods.def, and their names; NULL after the last. */
extern const tess_method *const tess_methods[];
extern const char *const tess_method_names[];

#define METHOD(name, file) extern const tess_method tess_method_##name;
#include "solve/methods/methods.def"

/* ---- method.c: what methods share ---- */

/* Ends a system with a reason and a sentence. */
void tess_system_end(tess_system *system, tess_reason reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* side=left, at a start: system->residual is |r|, and `norm` is the recurrence's |M^-1 r|. Sets the
 * scale that takes |M^-1 r| to |r|, times the drift that was seen before. */
void tess_system_scale(tess_system *system, double norm);

/* Returns |A^T r| / (|A| |b|) at which the recurrence of a method of least squares stops: no other
 * x changes |r| by more than rounding does, unless it is larger by the inverse of this. */
double tess_least_rounding(tess_type type);

/* cg.c: the end of cg and cg_single when p.Ap or r.z is not positive. */
void tess_cg_check(tess_system *system, double pq, double rz);
