/* What iterate.c (one system) and stretch.c (all of them, iteration by iteration) share. */
#pragma once

#include "solve/solve.h"

/* A system diverges when |r| exceeds this multiple of |b| and of |r| at the start. */
#define TESS_DIVERGENCE 1e10

/* Returns norm / |b|, or `norm` where b is 0. */
double tess_relative(const tess_system *system, double norm);
/* Returns the number of iterations without progress after which a system is given up. */
int64_t tess_patience(const tess_solver *solver);
/* Looks at system j after its start (position -1) or after an iteration. Its slots are in
 * solver->slots. Sets *again where its recurrence must start again from x. */
tess_status tess_look(tess_solver *solver, tess_system *system, int j, int64_t position,
                      bool *again);
tess_status tess_begin_again(tess_solver *solver, tess_system *system, int j);

/* ---- stretch.c ---- */

/* The systems that are not done, and what one stretch of iterations does to them. */
typedef struct tess_group {
    tess_system *systems;
    int *active;
    double *enough, *too_much; /* |r|^2 at which each active one has converged or diverged */
    int64_t *done;
    bool *left; /* it ended, or starts again, before the stretch was over */
    int count;
} tess_group;

tess_status tess_group_open(tess_ctx *ctx, int k, tess_group *g);
void tess_group_close(tess_ctx *ctx, tess_group *g);
/* Iterates the k systems of the group until all are done. */
tess_status tess_group_loop(tess_solver *solver, tess_group *g, int k);
