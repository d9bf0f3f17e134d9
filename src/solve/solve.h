/* Solvers: from a spec to a solution.
 *
 *     spec ──> spec.c (options) ──> methods/ (lists of steps) ──> solver.c, iterate.c (the loop)
 *     matrix ──> pc/ (preconditioner)          space/ (runs the steps) <──┘
 */
#ifndef TESS_SOLVE_H
#define TESS_SOLVE_H

#include "solve/methods/method.h"

/* ---- spec.c ---- */

tess_status tess_solve_options_parse(tess_ctx *ctx, const char *spec, tess_solve_options *options);

/* ---- solver.c ---- */

tess_status tess_solver_open(tess_plan *plan, const tess_solve_options *options, tess_solver **out);

/* ---- refine.c: inner=f32 ---- */

tess_status tess_refine_open(tess_solver *solver);
void tess_refine_close(tess_solver *solver);
tess_status tess_refine_refresh(tess_solver *solver);
tess_status tess_refine_solve(tess_solver *solver, const double *b, double *x, tess_result *result);

/* ---- iterate.c ---- */

/* Entry `at` of the history, which grows as needed. */
tess_status tess_history_put(tess_solver *solver, int64_t at, double residual);

/* Ends a system with TESS_CONVERGED; norm is |b - Ax|. */
void tess_system_converged(tess_system *system, double norm, int64_t iterations);

/* Solves the k systems of the arguments of tess_solver_solve_many, k at most space.systems. */
tess_status tess_iterate(tess_solver *solver, int k, const void *B, int64_t ldb, void *X,
                         int64_t ldx, tess_result *results);

#endif
