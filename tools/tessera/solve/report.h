/* What `tessera solve` shows: progress while it runs, and the report at the end. */
#ifndef TESSERA_SOLVE_REPORT_H
#define TESSERA_SOLVE_REPORT_H

#include "../command.h"

typedef struct solve_report {
    tess_result result;
    const char *spec, *rhs; /* rhs: where b came from */
    tess_plan_info plan;    /* format, kernel, what is permuted inside */
    const tess_solver *solver;
    double setup_seconds;
    double ceiling; /* bytes per second; 0: unknown */
} solve_report;

/* The state of the progress line. */
typedef struct solve_progress {
    cli_app *app;
    double tol, started, shown;
    int64_t shown_iteration;
    double shown_residual;
} solve_progress;

bool solve_is_solved(const tess_result *result);

/* A tess_solve_fn; `user` is a solve_progress. Stops the solve after Ctrl-C. */
int solve_show_progress(void *user, int64_t iteration, double residual);

int solve_print(cli_app *app, const tess_matrix *A, const tess_device *device,
                const solve_report *report);
json_t *solve_json(const tess_matrix *A, const tess_device *device, const solve_report *report);
int solve_write_history(cli_app *app, const tess_result *result, const char *path);

#endif
