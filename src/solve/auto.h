/* method=auto: what is seen of a matrix, and the attempts that follow from it.
 *
 *     auto_look.c   matrix ──> tess_look_at ──> a ladder of rungs, the cheapest first
 *     auto.c        climbs it: each rung from the best x so far, until one solves the system
 */
#pragma once

#include "solve/solve.h"

enum { TESS_RUNGS_MAX = 12, TESS_SPEC_MAX = 160 };

typedef struct tess_look_at {
    int64_t rows, entries;
    bool square; /* before it was padded */
    bool symmetric, positive_diagonal;
    bool strong_diagonal;   /* no diagonal entry is less than a thousandth of its row's largest */
    int64_t not_finite_row; /* the first with an entry that is not finite; -1: none */
    int64_t zero_rows, zero_row, zero_columns, zero_column; /* how many, and the first */
} tess_look_at;

/* Which matrices a rung is for, as far as the rungs before have found out. */
typedef enum tess_rung_for { TESS_FOR_ANY, TESS_FOR_DEFINITE, TESS_FOR_INDEFINITE } tess_rung_for;

typedef struct tess_rung {
    char spec[TESS_SPEC_MAX];
    int64_t most;    /* iterations */
    const char *why; /* why it is tried */
    tess_rung_for only;
} tess_rung;

/* A has its present values. `zero`: a flag a row, set for those that are 0. */
tess_status tess_look_at_matrix(tess_ctx *ctx, const tess_matrix *A, bool *zero, tess_look_at *out);
/* The rungs for such a matrix on a processor or another device; returns how many. */
int tess_make_ladder(const tess_look_at *look, bool host, double memory, tess_rung *rungs);
