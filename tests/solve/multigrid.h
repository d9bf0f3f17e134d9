/* Systems that tests of multigrid solve, on the CPU or on the emulator. */
#pragma once

#include "problems.h"
#include "solve/pc/amg/amg.h"

/* One system and what solves it. */
typedef struct amg_run {
    tess_matrix *A;
    tess_device *device;
    tess_plan *plan;
    tess_solver *solver;
    void *b, *x;
    tess_result result;
} amg_run;

/* Returns whether only a few small systems are run, as on the emulator. */
bool amg_run_few(void);
/* A plan of A, which the run takes over. */
void amg_run_plan(tess_ctx *ctx, tess_matrix *A, amg_run *r);
/* A generated problem with its right-hand side. */
amg_run amg_run_generate(tess_ctx *ctx, const char *input);
/* Solves from 0 with a new solver; x has to be finite. */
void amg_run_solve(amg_run *r, const char *what, const char *spec);
/* The same solve, which has to converge within `most` iterations. */
void amg_run_within(amg_run *r, const char *what, const char *spec, int64_t most);
/* Removes the couplings of about every fifth row. About every ninth of these rows becomes 0, with
 * its right-hand side. */
void amg_run_isolate(tess_ctx *ctx, amg_run *r, uint64_t seed);
/* Every allocation of set-up and new values fails once, and is reported. */
void amg_run_sweep(void **state, const char *input, const char *spec);
const tess_amg *amg_run_hierarchy(const amg_run *r);
void amg_run_close(tess_ctx *ctx, amg_run *r);
