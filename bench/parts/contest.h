/* Several ways to compute with one matrix on the cores of one machine, timed in turns.
 *
 *     threads   one process, one device: cpu:P
 *     parts     one process, a device of P parts: cpu:1,1
 *     ranks     P MPI processes of one thread
 *     petsc     PETSc's MPIBAIJ on the same ranks and the same rows
 *
 * P is the number of MPI ranks. The first two run on rank 0, while the others sleep.
 */
#ifndef BENCH_PARTS_CONTEST_H
#define BENCH_PARTS_CONTEST_H

#include <petscksp.h>
#include <stdbool.h>

#include "tessera/tessera_mpi.h"

enum { ROUNDS_MAX = 64 };
typedef enum way { THREADS, PARTS, RANKS, PETSC, WAYS } way;

typedef struct contest {
    tess_ctx *ctx;   /* of one thread: the rank's */
    tess_ctx *alone; /* with one thread per core: the ways of one process */
    tess_comm comm;
    int rank, ranks;
    const char *input;
    int rounds;
    double seconds; /* that a sample of products takes at least */
    /* Rank 0 alone. */
    tess_matrix *A;
    tess_device *device[PETSC];
    tess_plan *plan[PETSC]; /* that of RANKS on every rank */
    double *whole_b, *whole_x, *truth;
    /* Every rank's. */
    tess_matrix_view sizes; /* of the whole matrix; its arrays are not to be used */
    tess_part *part;
    tess_part_info info;
    double *b, *x;
    Mat mat;
    Vec petsc_b, petsc_x;
} contest;

/* The times and errors of one way in one work. */
typedef struct record {
    double seconds[ROUNDS_MAX], setup[ROUNDS_MAX];
    int count;
    long iterations;
    double
        error; /* of the last result: largest error of y over the largest |y|, or |b - Ax| / |b| */
} record;

/* ---- set_up.c ---- */

/* Ends the program on all ranks, with the context's sentence, unless the call succeeded. */
void must(contest *c, tess_status status);
void set_up(contest *c);
void tear_down(contest *c);

/* ---- measure.c ---- */

/* A barrier whose waiters sleep: rank 0's threads have the processors to themselves. */
void meet(void);
/* All ways in turns. `work` is "spmv", or a solver's spec; "iteration:SPEC" times iterations alone.
 */
void measure(contest *c, const char *work, bool with_petsc, record records[WAYS]);

#endif
