/* What the files of tessera-mpi share. */
#ifndef TESSERA_MPI_COMMAND_H
#define TESSERA_MPI_COMMAND_H

#include "tessera/tessera_mpi.h"

enum { EXIT_DONE = 0, EXIT_USAGE = 2, EXIT_NOT_SOLVED = 1, EXIT_FAILED = 3 };

struct run_state;

typedef struct mpi_command {
    const char *name;
    int (*run)(struct run_state *r); /* returns the exit status */
} mpi_command;

typedef struct arguments {
    const mpi_command *command;
    const char *input, *solver, *device, *rhs, *out, *partition, *form;
    int block, threads, reps, json;
} arguments;

typedef struct run_state {
    arguments args;
    int rank, size, local_rank, local_size;
    tess_ctx *ctx;
    tess_comm comm;
    tess_device *device;
    tess_matrix *matrix; /* rank 0's */
    tess_part *part;
    tess_plan *plan;
    tess_part_info info;
    void *whole_b, *b, *x;
    char sentence[512]; /* of this rank's failure; "": the context's */
} run_state;

/* ---- arguments.c ---- */

/* Fills r->args. Returns EXIT_DONE, or the status to end with; -1: the help has been printed. */
int parse_arguments(int argc, char **argv, run_state *r);

/* ---- tessera_mpi.c: the commands ---- */

int solve(run_state *r);
int spmv(run_state *r);

/* ---- print.c: rank 0 prints, all ranks take part ---- */

/* Prints the result of a solve; returns the exit status. */
int report_solve(run_state *r, const char *spec, const char *rhs, const tess_result *result,
                 double setup);
/* Prints the time of products, whose median is given in seconds. */
void report_products(run_state *r, double median);

#endif
