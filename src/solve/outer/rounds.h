/* What outer solvers share: an inner plan, and rounds of an inner solver, each of which corrects x,
 * counted as one solve. */
#pragma once

#include "solve/solve.h"

/* Makes a plan of a matrix that stands for the solver's own. Where the caller named a kernel, the
 * plan has that kernel if it fits the matrix, else the same format. Where nothing was named,
 * `options` decide. */
tess_status tess_inner_plan(const tess_solver *solver, const tess_matrix *A,
                            const tess_plan_options *options, tess_plan **out);
/* Frees the inner solver, its plan and its matrix. */
void tess_inner_close(tess_solver *solver);
/* The inner plan and solver take the values that the inner matrix has now. */
tess_status tess_inner_update(tess_solver *solver);

typedef struct tess_rounds {
    tess_solver *solver;
    tess_result result;     /* so far: iterations, seconds, bytes */
    double rhs_norm, norm;  /* |b|, |b - A x| now */
    double rounding, grain; /* as in tess_residual */
    int64_t most;           /* iterations in all */
} tess_rounds;

/* Returns the |r| at which the solve has converged. */
double tess_rounds_threshold(const tess_rounds *rounds);
/* Returns whether |r| is there, whatever its rounding. */
bool tess_rounds_solved(const tess_rounds *rounds);
/* Returns |r|/|b| for a report: with its rounding, where that is why the system is not solved. */
double tess_rounds_relative(const tess_rounds *rounds);
void tess_rounds_set(tess_rounds *rounds, tess_residual residual);
/* The same where `residual` is smaller than the present one. Returns whether it is. */
bool tess_rounds_take(tess_rounds *rounds, tess_residual residual);
/* Solves A' d = r to `tol` with solver->inner, from the given d. Adds its iterations, costs and
 * history to those of the rounds. */
tess_status tess_rounds_solve(tess_rounds *rounds, double tol, const void *r, void *d,
                              tess_result *inner);
/* Ends the solve with the reason and text of `end`. */
void tess_rounds_end(tess_rounds *rounds, const tess_system *end);
/* tess_residual_wide with the solver's plan, whose cost is added to the result's. */
tess_status tess_rounds_residual(tess_rounds *rounds, const void *b, const void *x, void *r,
                                 tess_residual *out);
/* Ends a solve whose r the inner solver calls the smallest there is: with TESS_REASON_LEAST_SQUARES
 * where A^T r is small, with TESS_REASON_STAGNATED otherwise. r is in host memory. */
tess_status tess_rounds_least(tess_rounds *rounds, const void *r, tess_system *end);
/* Starts rounds: computes |b|. Ends them where b alone decides (end->done), with x = 0 where b =
 * 0. */
tess_status tess_rounds_start(tess_rounds *rounds, const void *b, void *x, tess_system *end);
/* Completes the result. `started`: the time at which the solve began. */
void tess_rounds_finish(tess_rounds *rounds, double started, tess_result *result);
