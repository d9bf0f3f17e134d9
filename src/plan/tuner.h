/* The search for a plan: which candidates there were, what they took, which one was kept.
 *
 * A search is a series of duels. The first champion is what an estimate takes. It meets one
 * challenger at a time, both timed in turn on the same vectors, and the loser is released. So at
 * most two formats of a matrix are alive at once, and a change of the machine's speed during the
 * search hits both sides alike.
 *
 * Times of an asynchronous device vary little. There MEASURE has a duel only if all other
 * candidates can still get a glance; else the first few runs decide.
 */
#pragma once

#include "backend/backend.h"

typedef enum tess_trial_state {
    TESS_TRIAL_UNTRIED, /* not reached: the budget was spent, or the search was stopped */
    TESS_TRIAL_TIMED,   /* full duel */
    TESS_TRIAL_GLANCED, /* the first few runs decided: slower, or so much faster that no duel was
                           needed */
    TESS_TRIAL_REFUSED  /* could not be prepared or run: `note` says why */
} tess_trial_state;

typedef struct tess_trial {
    tess_candidate candidate;
    tess_trial_state state;
    double seconds;         /* median of its runs, 0: none */
    double prepare_seconds; /* format, upload, compilation */
    char note[160];
} tess_trial;

struct tess_search {
    tess_effort effort; /* that was used: a tiny matrix is only estimated */
    tess_trial *trials; /* trials[0] is what an estimate takes */
    int64_t count, chosen;
    int spmvs;      /* products run */
    double seconds; /* from the first candidate to the choice */
    bool open;      /* the options left the choice to the library */
    bool small;     /* MEASURE was asked for, but a product is too small to be worth a search */
    bool cancelled;
    bool remembered;                 /* taken from wisdom: there are no trials */
    double seconds_then, bytes_then; /* remembered: of one product, when it was measured */
};

/* Below this many bytes moved a product takes microseconds and a search costs more than it gives.
 */
#define TESS_TUNER_LEAST_BYTES 1e6

/* A plan for A as tess_plan_create makes it, with plan->search filled. `fresh`: wisdom is not asked
 * (but still told), and small matrices are searched too. */
tess_status tess_plan_search(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                             const tess_plan_options *options, bool fresh, tess_plan **out);
/* explain.c: sets what one product moves and what the plan keeps, as far as the backend knows. */
void tess_plan_price(tess_plan *plan);
/* The plan as the candidate it was, priced: bytes and predicted stay 0 where nothing is known. */
tess_candidate tess_plan_priced(tess_plan *plan);
/* Marks a trial as refused. The plan that takes its place gets a note (tess_plan_note). */
void tess_trial_refuse(tess_trial *trial, const char *reason);
/* Takes the matrix's values again where they were changed in place since the plan took them. Every
 * product does so. A plan that was given other values keeps those. */
tess_status tess_plan_follow(tess_plan *plan);
/* For benchmarks: plans of one matrix that share its layouts, and so take no new values. */
tess_status tess_plan_search_shared(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                                    const tess_plan_options *options, tess_plan **out);
tess_status tess_plan_create_shared(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                                    const tess_plan_options *options, tess_plan **out);
/* plan.c: refuses options that no plan on the device takes. */
tess_status tess_plan_check_options(tess_ctx *ctx, const tess_device *device,
                                    const tess_plan_options *options);
/* Fills trials with what applies and the options allow: trials.c. */
tess_status tess_search_list(tess_search *search, tess_device *device, const tess_matrix *A,
                             const tess_plan_options *options);
/* The first candidate in the backend's own order that the options allow: what a plan takes whose
 * options leave no choice. It has no price. *found: whether there is one. */
tess_status tess_search_first(tess_device *device, const tess_matrix *A,
                              const tess_plan_options *options, tess_candidate *out, bool *found);
/* Whether `params` or `reproducible` leave nothing to choose: the backend takes its own choice. */
bool tess_search_closed(const tess_plan_options *options);
/* Whether shapes for fbcsr are looked for, which takes as long as many products of a small matrix.
 */
bool tess_search_shapes(tess_effort effort, const tess_matrix *A);
void tess_search_free(tess_ctx *ctx, tess_search *search); /* NULL is fine */

/* The number of products after which the search has saved what it cost: 0 when it cost nothing, -1
 * when it saves nothing because the first guess was the best. */
int64_t tess_search_payback(const tess_search *search);
const char *tess_trial_state_name(tess_trial_state state);

/* One plan for exactly these options, no search. `shares_layouts`: as in struct tess_plan. */
tess_status tess_plan_prepare(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                              const tess_plan_options *options, bool shares_layouts,
                              tess_plan **out);
