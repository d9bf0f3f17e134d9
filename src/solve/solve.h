/* Solvers: from a spec to a solution.
 *
 *     spec ──> spec.c (options) ──> methods/ (lists of steps) ──> solver.c, iterate.c (the loop)
 *     matrix ──> pc/ (preconditioner)          space/ (runs the steps) <──┘
 */
#pragma once

#include "solve/methods/method.h"

/* ---- spec.c ---- */

tess_status tess_solve_options_parse(tess_ctx *ctx, const char *spec, tess_solve_options *options);

/* Lists the names of those methods, or preconditioners, that have a trait: "cg, bicg and gmres".
 * `name` is tess_solve_method_name or tess_solve_pc_name. */
enum { TESS_NAMES_MAX = 160 };
void tess_name_those(char *text, size_t size, const char *(*name)(int i), bool (*has)(int i));

/* ---- complex.c: which solvers take complex matrices ---- */

/* Fails where the method, the preconditioner or an option takes real matrices only. The message
 * names what to use instead. */
tess_status tess_complex_check(const tess_plan *plan, const tess_solve_options *options);
/* The same check of a preconditioner alone. */
tess_status tess_complex_check_pc(const tess_plan *plan, const tess_pc_ops *pc);

/* ---- solver.c ---- */

/* Frees the preconditioner, the lists of steps and the space. They are made again when needed. */
void tess_solver_unmake(tess_solver *solver);
tess_status tess_solver_open(tess_plan *plan, const tess_solve_options *options, tess_solver **out);
/* Makes the space large enough for `systems` systems. */
tess_status tess_solver_reserve(tess_solver *solver, int systems);
/* Takes the values that the plan was given since: all of an outer solver's copies of them, or |A|
 * where the method needs it. A preconditioner keeps those it was made of. */
tess_status tess_solver_follow(tess_solver *solver);
/* Refuses `call` where it comes from the callback of a solve by the same solver. */
tess_status tess_solver_need_idle(tess_solver *solver, const char *call);
/* Returns |M^-1 e| |A| of the method's factors, also inside outer solvers; 0 without factors. */
double tess_solver_growth(const tess_solver *solver);

/* ---- modes.c ---- */

/* Copies k columns of as many numbers as the plan's matrix has rows, `ld` apart; into the inner
 * order of a plan that permutes inside. Fails where a number is not finite. */
tess_status tess_modes_copy(const tess_plan *plan, const char *call, int k, const double *modes,
                            int64_t ld, double **out);

/* Adds to the text of tess_solver_describe how fast `system` converged in the last solve, and how
 * the preconditioner's time is divided among its levels. */
void tess_solver_tell(tess_solver *solver, const tess_system *system);

/* ---- operator.c ---- */

/* Copies the caller's operator to *out, and checks it. */
tess_status tess_operator_take(tess_ctx *ctx, const tess_operator *given, tess_operator *out);

/* ---- Solvers around a solver ---- */

/* Gives an inner solver of the same system the callback, the tolerances and the most iterations of
 * the solver around it, which may have changed since it was opened. */
void tess_solver_pass_on(const tess_solver *solver, tess_solver *inner);

/* An outer solver solves every system by inner solvers: in rounds, by trying one after the other,
 * or on a matrix of another form. Its vectors are those of tess_solver_solve. */
typedef struct tess_outer {
    bool keeps_modes; /* modes of A are those of the inner matrix, but for their order */
    bool automatic;   /* the method is found by trying; outer_state is outer/auto.c's */
    bool parts;       /* A is held by parts of the process: parts_together.c */
    /* `close` frees what a failure leaves. */
    tess_status (*open)(tess_solver *solver);
    void (*close)(tess_solver *solver);
    tess_status (*update)(tess_solver *solver);
    tess_status (*solve)(tess_solver *solver, const void *b, void *x, tess_result *result);
    /* Several systems together, as tess_solver_solve_many; NULL: one after the other. */
    tess_status (*many)(tess_solver *solver, int k, const void *B, int64_t ldb, void *X,
                        int64_t ldx, tess_result *results);
} tess_outer;

extern const tess_outer tess_outer_refine;    /* outer/refine.c: inner=f32 */
extern const tess_outer tess_outer_arranged;  /* outer/arranged.c: scale=, order=, pivot= */
extern const tess_outer tess_outer_auto;      /* outer/auto.c: method=auto */
extern const tess_outer tess_outer_padded;    /* outer/padded.c: A is not square */
extern const tess_outer tess_outer_regrouped; /* outer/regrouped.c: the plan permutes inside */
extern const tess_outer tess_outer_parts; /* parts_together.c: A is held by parts of the process */

/* ---- parts_together.c: solvers whose outer solver has the trait `parts` ---- */

/* tess_solver_set_modes and tess_solver_set_coordinates: each part gets its own rows. */
tess_status tess_together_modes(tess_solver *solver, int k, const double *modes, int64_t ld);
tess_status tess_together_coordinates(tess_solver *solver, int dimensions,
                                      const double *coordinates);
/* Returns part 0's solver. */
tess_solver *tess_together_first(const tess_solver *solver);

/* ---- residual.c ---- */

/* Fills the lists solver->residual, solver->check and, of a method of least squares,
 * solver->normal. */
void tess_residual_build(tess_solver *solver);

/* |b - A x| as computed, about how much it may be off by, and how much it changes where x is
 * rounded. */
typedef struct tess_residual {
    double norm, rounding, grain;
} tess_residual;

/* Computes r = b - A x with the plan's present values in extended precision. All vectors are in
 * host memory. */
tess_status tess_residual_wide(tess_plan *plan, const void *b, const void *x, void *r,
                               tess_residual *out);
/* Sets *norm to |b - A x| of a system in the solver's space, its rounding included. Leaves it as it
 * is where A is not the host's. */
tess_status tess_residual_settle(tess_solver *solver, int system, double *norm);
/* Ends a system whose |b| is not finite: says which entry of b it is, or that their squares
 * overflow. */
tess_status tess_system_rhs_fault(tess_system *system, const tess_plan *plan, const void *b);
/* Ends a system where b alone decides: with TESS_REASON_ZERO_RHS, or as its |b|, whose square was
 * computed in double, says nothing. system->residual is then what stands for |r|. */
tess_status tess_system_check_rhs(tess_system *system, tess_plan *plan, const void *b);
/* Returns the root of the sum of squares, which may be beyond the range of double. */
double tess_norm_wide(const void *v, tess_type scalar, int64_t scalars);
/* Computes |A|, the root of the sum of all squares, of the plan's present values. For a part it is
 * the norm of the whole matrix: collective. */
tess_status tess_plan_norm(tess_plan *plan, double *norm);
/* Copies a vector in device memory to host memory. *copy is NULL where `vector` is there
 * already. */
tess_status tess_vector_to_host(const tess_plan *plan, const void *vector, void **copy);

/* ---- parts.c ---- */

/* Whether the plan is held by several parts together (dist/). */
bool tess_plan_is_part(const tess_plan *plan);
/* Fails where the options need the whole matrix on one part. Collective. */
tess_status tess_parts_check(tess_plan *plan, const tess_solve_options *options);
/* Sets up the preconditioner on all parts or on none. Afterwards all parts agree on what shapes a
 * method's steps. Collective. */
tess_status tess_parts_set_up_pc(tess_solver *solver);
/* Chooses the solver of auto on several parts: CG where A is symmetric with a positive diagonal,
 * GMRES otherwise. Two products with random vectors show whether A is symmetric. Collective. */
tess_status tess_parts_choose(tess_plan *plan, const char **spec);
/* The spec for matrices on which that choice fails: GMRES with factors whose pivots are replaced
 * where they cannot be inverted. */
extern const char *const tess_parts_choice_for_any;

/* ---- iterate.c ---- */

/* Sets entry `at` of the history, which grows as needed. */
tess_status tess_history_put(tess_solver *solver, int64_t at, double residual);

/* Ends a system with TESS_REASON_CONVERGED; norm is |b - Ax|. */
void tess_system_converged(tess_system *system, double norm, int64_t iterations);
/* Returns whether A^T r is a rounding error of A and b, or one of A, x and b where it no longer
 * falls: then up to 4e-10 |A| |b| in double. It must be small against r too, up to 9e-10 |A| |r|:
 * an r that is nearly 0 has such an A^T r though it can be reduced. normal: |A^T r| / (|A| |r|);
 * residual: |r|/|b|. */
bool tess_is_least(tess_type type, double normal, double residual, bool falls);
/* Ends a system with TESS_REASON_LEAST_SQUARES; normal is |A^T r| / (|A| |r|). */
void tess_system_least(tess_system *system, double norm, double normal, int64_t iterations);

/* Solves the k systems of the arguments of tess_solver_solve_many, k at most space.systems. */
tess_status tess_iterate(tess_solver *solver, int k, const void *B, int64_t ldb, void *X,
                         int64_t ldx, tess_result *results);
