/* A system and its solution, as `tessera solve` and `tessera report` make them. */
#ifndef TESSERA_SOLVE_RUN_H
#define TESSERA_SOLVE_RUN_H

#include "report.h"

#define SOLVE_TOL 1e-8 /* the library's default */

/* What a user may ask of a solve. */
typedef struct solve_options {
    const char *rhs, *spec, *method, *pc, *more, *tol, *coordinates, *modes;
    int64_t max;
} solve_options;

/* The arguments of a command with USES_SOLVER begin with these; solver_options are the options for
 * them. */
typedef struct solver_args {
    common_args common;
    solve_options solve;
} solver_args;

/* Rules of a command with USES_SOLVER. */
#define SOLVER_RULES                                           \
    {                                                          \
        "method,pc,tol,max-iterations,options", WITH, "solver" \
    }

/* A cli_command's `choices` for --method and --pc. */
const char *solve_choices(const char *option, int i, const char **summary);

/* What one run needs; all of it is released at one place. */
typedef struct solve_run {
    solve_report report;
    tess_matrix *matrix;
    tess_device *device;
    tess_plan *plan;
    tess_solver *solver;
    void *b, *x; /* b: the generator's, or NULL */
    char spec[256];
} solve_run;

/* Solves with r's plan of its matrix. Ctrl-C ends the solve with the best x so far. */
int solve_system(cli_app *app, const solve_options *options, solve_run *r);
void solve_release(solve_run *r);
/* Whether the method takes symmetric matrices and preconditioners alone. */
bool solve_is_symmetric(const solve_run *r);
/* |r|/|b| at which the solve was to end. */
double solve_tolerance(const solve_run *r);

/* plot.c: |r|/|b| by iteration on a logarithmic scale, with the tolerance and the outcome; `alone`
 * as in svg_open. */
void solve_draw(FILE *out, const solve_run *r, bool alone);
int solve_write_plot(cli_app *app, const solve_run *r, const char *path);

#endif
