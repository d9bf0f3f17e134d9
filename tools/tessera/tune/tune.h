/* What `tessera tune` finds, and its output. */
#ifndef TOOLS_TUNE_H
#define TOOLS_TUNE_H

#include "../command.h"

enum { BLOCKINGS = 4 };

/* The search of one blocking; --block auto searches the few cheapest ones. */
typedef struct blocking_trial {
    tess_block_candidate blocking;
    char kernel[64];
    double seconds;
} blocking_trial;

typedef struct tuning {
    cli_app *app;
    tess_device *device;
    tess_plan_options options;
    tess_matrix *A;
    tess_plan *plan;
    blocking_trial blockings[BLOCKINGS];
    int blocking_count;
    double ceiling; /* bytes per second; 0: unknown */
} tuning;

tess_search_info search_of(const tess_plan *plan);
tess_trial_info trial_of(const tess_plan *plan, int64_t index);

/* report.c */
int tune_print_text(const tuning *t);
json_t *tune_json(const tuning *t, const char *input);

/* wisdom.c: --show and --forget */
int tune_show(cli_app *app, bool json);
int tune_forget(cli_app *app, const char *part, bool json);

#endif
