/* method=auto: what is seen of a matrix, and the attempts that follow from it.
 *
 *     auto_look.c   matrix ──> tess_look_at ──> a ladder of rungs, the cheapest first
 *     auto.c        climbs it: each rung from the best x so far, until one solves the system
 *     auto_watch.c  says when an attempt has to end
 */
#pragma once

#include "solve/outer/rounds.h"

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
    double setup;    /* seconds of its set-up per entry of A */
    double worth;    /* iterations of the previous rung that it is worth beside `setup` */
    const char *why; /* why it is tried */
    tess_rung_for only;
} tess_rung;

/* Looks at A, which has its present values. Sets zero[i] to whether row i is 0. */
tess_status tess_look_at_matrix(tess_ctx *ctx, const tess_matrix *A, bool *zero, tess_look_at *out);
/* Ends the system where A or b has a fault that no rung mends. `zero` is that of
 * tess_look_at_matrix; b is in host memory. */
void tess_look_for_faults(const tess_look_at *look, const tess_matrix *A, const bool *zero,
                          const void *b, double threshold, tess_system *end);
/* Returns what may be wrong with a system that no rung solves. */
const char *tess_look_for_doubts(const tess_look_at *look);
/* Makes the rungs for a matrix that looks like `look`, and returns their number. `factors`:
 * complete factors are allowed. `memory`: GB that factors may take. */
int tess_make_ladder(const tess_look_at *look, bool factors, double memory, tess_rung *rungs);
/* Returns the rung with this spec: the one at `at`, or else the first. `count` where there is
 * none. */
int tess_find_rung(const tess_rung *rungs, int count, const char *spec, int at);

/* ---- auto_watch.c ---- */

typedef struct tess_auto_watch {
    /* The caller's callbacks, which ours call: */
    tess_solve_fn callback;
    void *callback_user;
    tess_progress_fn progress;
    void *progress_user;
    bool cancelled; /* a callback of the caller's has said stop */
    double deadline;
    bool late, enough; /* the attempt is over its time; over its iterations */
    /* The attempt: */
    int64_t first, most, next;     /* iterations before it; its own at most; when to judge next */
    double tol;                    /* of |r|/|b| */
    double setup, worth;           /* of the next attempt: in seconds, HUGE_VAL where there is none;
                                    * in iterations of this one */
    double began, over_at;         /* when it began; when it had done `most` iterations */
    double best, mark[TESS_MARKS]; /* smallest |r|/|b|; and after every `step` iterations */
    int64_t step, marks;
} tess_auto_watch;

/* Puts callbacks that watch in place of those of solver and context. */
void tess_auto_watch_begin(tess_solver *solver, tess_auto_watch *watch);
/* Gives the caller's callbacks back to solver and context. */
void tess_auto_watch_end(tess_solver *solver, const tess_auto_watch *watch);
/* Begins to watch the iterations of an attempt, after `first` iterations of earlier attempts. */
void tess_auto_watch_attempt(tess_auto_watch *watch, int64_t first, int64_t most, double tol,
                             double setup, double worth);
