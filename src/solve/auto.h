/* method=auto: what is seen of a matrix, and the attempts that follow from it.
 *
 *     auto_look.c   matrix ──> tess_look_at ──> a ladder of rungs, the cheapest first
 *     auto.c        climbs it: each rung from the best x so far, until one solves the system
 *     auto_watch.c  says when an attempt has to end
 */
#pragma once

#include "solve/solve.h"

enum { TESS_RUNGS_MAX = 12, TESS_SPEC_MAX = 160, TESS_MARKS = 512 };

typedef struct tess_look_at {
    int64_t rows, entries;
    bool square; /* before it was padded */
    bool complex;
    bool symmetric, positive_diagonal; /* of a complex matrix: Hermitian, real and positive */
    bool even;              /* block rows are about equally long, as those of meshes are */
    bool strong_diagonal;   /* no diagonal entry is less than a thousandth of its row's largest */
    int64_t not_finite_row; /* the first with an entry that is not finite; -1: none */
    int64_t zero_rows;
    int64_t zero_columns, zero_column; /* how many, and the first */
} tess_look_at;

/* Which matrices a rung is for, as far as the rungs before have found out. */
typedef enum tess_rung_for { TESS_FOR_ANY, TESS_FOR_DEFINITE, TESS_FOR_INDEFINITE } tess_rung_for;

typedef struct tess_rung {
    char spec[TESS_SPEC_MAX];
    int64_t most;    /* iterations */
    double setup;    /* seconds that setting it up takes, an entry of A */
    double worth;    /* iterations of the rung before that setting it up is worth besides */
    const char *why; /* why it is tried */
    tess_rung_for only;
} tess_rung;

/* A has its present values. `zero`: a flag a row, set for those that are 0. */
tess_status tess_look_at_matrix(tess_ctx *ctx, const tess_matrix *A, bool *zero, tess_look_at *out);
/* The rungs for such a matrix, with complete factors or without; returns how many. */
int tess_make_ladder(const tess_look_at *look, bool factors, double memory, tess_rung *rungs);

/* ---- auto_watch.c ---- */

typedef struct tess_auto_watch {
    /* The caller's, asked from within ours: */
    tess_solve_fn callback;
    void *callback_user;
    tess_progress_fn progress;
    void *progress_user;
    bool cancelled; /* one of them has said stop */
    double deadline;
    bool late, enough; /* the attempt is over its time; over its iterations */
    /* The attempt: */
    int64_t first, most, next;     /* the iterations before it; its own; when to ask again */
    double tol;                    /* of |r|/|b| */
    double setup, worth;           /* of the next attempt: seconds; iterations of this one */
    double began, over_at;         /* when it did; when its iterations were over */
    double best, mark[TESS_MARKS]; /* the smallest |r|/|b|; and what it was every `step` */
    int64_t step, marks;
} tess_auto_watch;

/* From here on the callbacks of solver and context are watched ... */
void tess_auto_watch_begin(tess_solver *solver, tess_auto_watch *watch);
/* ... and from here on they are the caller's again. */
void tess_auto_watch_end(tess_solver *solver, const tess_auto_watch *watch);
/* The iterations of an attempt begin, after `first` of others. */
void tess_auto_watch_attempt(tess_auto_watch *watch, int64_t first, int64_t most, double tol,
                             double setup, double worth);
