/* What iterate.c (one system) and stretch.c (all of them, iteration by iteration) share. */
#pragma once

#include "solve/solve.h"

/* |r| may grow so far before a system is given up. */
#define TESS_DIVERGENCE 1e10

/* A norm over that of b. */
double tess_relative(const tess_system *system, double norm);
/* Iterations without progress before a system is given up. */
int64_t tess_patience(const tess_solver *solver);
/* After the start (position -1) or an iteration of system j, whose slots are in solver->slots.
 * *again: its recurrence must start again from x. */
tess_status tess_look(tess_solver *solver, tess_system *system, int j, int64_t position,
                      bool *again);
tess_status tess_begin_again(tess_solver *solver, tess_system *system, int j);

/* ---- stretch.c ---- */

/* The systems that are not done, and what one stretch of iterations does to them. */
typedef struct tess_group {
    tess_system *systems;
    int *active;
    double *enough, *too_much; /* of each active one */
    int64_t *done;
    bool *left; /* it has ended, or starts again, before the stretch was over */
    int count;
} tess_group;

tess_status tess_group_open(tess_ctx *ctx, int k, tess_group *g);
void tess_group_close(tess_ctx *ctx, tess_group *g);
/* Iterates the k systems of the group until all are done. */
tess_status tess_group_loop(tess_solver *solver, tess_group *g, int k);
