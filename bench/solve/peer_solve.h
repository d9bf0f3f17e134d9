/* The common part of the programs that run other libraries' solvers: the command line, and one JSON
 * line per solver.
 *
 *     PROGRAM FILE BLOCK TOL REPS METHOD:PC [METHOD:PC ...]
 *
 * FILE is matrix, right-hand side and perhaps coordinates in PETSc's binary format, as
 * tessera_bench_solve --dump writes it; METHOD is cg, bicgstab or gmres (restart 30), PC bjacobi
 * (inverted diagonal blocks), ilu0, amg (the library's multigrid) or amg_other (another of its
 * own). Each solver is set up and run REPS times from x = 0. A pair that the library does not have
 * is left out. */
#ifndef BENCH_PEER_SOLVE_H
#define BENCH_PEER_SOLVE_H

#include <stdio.h>

enum { PEER_REPS_MAX = 16 };

typedef struct peer_report {
    const char *peer, *version, *method, *pc;
    int threads, reps;
    long iterations;
    double setup[PEER_REPS_MAX], solve[PEER_REPS_MAX]; /* seconds */
    double true_residual;                              /* |b - A x| / |b| of the last x */
} peer_report;

static inline void peer_print_times(const char *name, const double *seconds, int count)
{
    printf("\"%s\": [", name);
    for (int i = 0; i < count; i++)
        printf("%s%.6f", i ? ", " : "", seconds[i]);
    printf("], ");
}

static inline void peer_print(const peer_report *r)
{
    printf("{\"peer\": \"%s\", \"version\": \"%s\", \"method\": \"%s\", \"pc\": \"%s\", "
           "\"threads\": %d, \"iterations\": %ld, ",
           r->peer, r->version, r->method, r->pc, r->threads, r->iterations);
    peer_print_times("setup_seconds", r->setup, r->reps);
    peer_print_times("solve_seconds", r->solve, r->reps);
    printf("\"true_residual\": %.6e}\n", r->true_residual);
    fflush(stdout);
}

#endif
