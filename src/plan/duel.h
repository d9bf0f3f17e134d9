/* One duel of a search: champion and challenger, timed in turn on the same vectors. */
#pragma once

#include "plan/products.h"

/* Runs of one side that count, in two batches. */
enum { TESS_DUEL_RUNS = 6 };

/* One side of a duel. */
typedef struct tess_contestant {
    tess_plan *plan;
    int64_t trial;
    double runs[TESS_DUEL_RUNS];
    int count;
    bool cold; /* its last batch was the search's first */
} tess_contestant;

/* What all duels of a search share. */
typedef struct tess_arena {
    tess_ctx *ctx;
    const tess_matrix *A;
    tess_device *device;
    const tess_plan_options *options; /* the user's */
    tess_effort effort;               /* the user's, or ESTIMATE where measuring does not pay */
    bool shares_layouts;              /* of the plan that is made; trials always do */
    tess_search *search;
    int64_t ahead; /* trials before this one need not be compiled any more */
    int64_t warm;  /* the trial that ran last, -1 at first */
    void *x, *y;
} tess_arena;

/* The most products of a MEASURE search. */
enum { TESS_MEASURE_PRODUCTS = 60 };

/* Times one batch of products of one side. */
tess_status tess_duel_batch(tess_arena *a, tess_contestant *c);
/* Whether `batches` more batches of the two are within the budget of products. */
bool tess_duel_room(const tess_arena *a, int64_t champion, int64_t challenger, int64_t batches);
/* Whether the challenger's format is too slow to spend more products on its kernels. */
bool tess_duel_format_is_out(const tess_arena *a, int64_t champion, int64_t challenger);
/* Whether the challenger wins; the champion has run a batch before. */
tess_status tess_duel(tess_arena *a, tess_contestant *champion, tess_contestant *challenger,
                      bool *won);

/* recall.c: a plan as it was chosen for the last matrix of this class; *out stays NULL when nothing
 * is known, or what is known does not work here any more. */
void tess_search_recall(tess_arena *a, const char *key, tess_plan **out);
/* Keeps in wisdom what the search has chosen. */
void tess_search_remember(const tess_arena *a, const char *key);
