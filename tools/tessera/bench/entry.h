/* One entry of the rounds (measure.c), a plan of ours or a peer's variant: made, verified,
 * run for a turn, dropped. */
#ifndef TESSERA_BENCH_ENTRY_H
#define TESSERA_BENCH_ENTRY_H

#include "bench.h"

enum {
    BENCH_ROUNDS = 7, /* unless the options say */
    BENCH_UPDATES = 2 /* timed per round, after one that does not count */
};

/* What all entries share. */
typedef struct bench_session {
    tess_ctx *ctx;
    tess_device *device;
    const tess_matrix *A;
    const bench_options *options;
    bench_truth truth;
    void *x, *y;
    size_t y_bytes;
    void *values; /* A's values in device memory, for updates; NULL: the host's are taken */
    bench_peers *peers;
    bench_report *report;
    double *ceilings[TESS_READINGS]; /* samples of each access pattern */
    int ceiling_rounds, ceiling_room;
    int64_t done, total; /* progress, in turns */
} bench_session;

typedef struct bench_entry {
    tess_plan *plan;
    bench_variant *variant;
    bench_result *result;
    int turn;                   /* counted repetitions per turn */
    double *times, *turn_times; /* all counted so far; the last turn, uncounted ones first */
    int timed;
    double updates[BENCH_ROUNDS * BENCH_UPDATES];
    int updated;
    double once;   /* seconds of the first run; 0: it does not run */
    int rounds;    /* in which it takes part */
    void *first_y; /* the result that every run must repeat; NULL: an adapter's, not compared */
} bench_entry;

/* Makes a plan for the candidate. It returns only TESS_ERR_MEMORY, which the caller may cure by
 * emptying the group. Any other failure is the entry's outcome. */
tess_status bench_entry_make(bench_session *s, const tess_candidate *candidate, bench_entry *e);
/* Makes an entry of a peer's variant. */
void bench_entry_take(bench_variant *variant, bench_entry *e);
/* The first run: verified, and long enough to know how many repetitions make a turn. */
tess_status bench_entry_try(bench_session *s, bench_entry *e);
/* Runs a round's repetitions, and updates if they were asked for. */
void bench_entry_turn(bench_session *s, bench_entry *e);
/* Writes the medians to the entry's result, and frees the entry. */
void bench_entry_drop(bench_session *s, bench_entry *e);
void bench_set_outcome(bench_result *result, bench_outcome outcome, const char *reason);

#endif
