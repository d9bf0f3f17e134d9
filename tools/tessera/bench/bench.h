/* Measures and verifies the products of a matrix on a device, for `tessera bench`.
 *
 * The entries are our kernels and the peers' storages. They run in turn, round after round,
 * together with the device's read ceiling, so that a disturbance of the machine affects all of
 * them. An entry's time is the median over all rounds. A speed is only stated as a share of the
 * ceiling or of a peer of the same run. Every entry's result is compared with `ref` before it is
 * timed, and a kernel of ours must repeat it bit for bit in every round.
 */
#ifndef TESSERA_BENCH_H
#define TESSERA_BENCH_H

#include "../../../bench/internal.h"

/* ---- check.c: the truth ---- */

typedef struct bench_truth {
    tess_type type;
    tess_ctx *ctx;     /* its threads compare */
    int64_t count;     /* scalars in y */
    void *expected;    /* ref's y */
    double *magnitude; /* n * eps * |A||x|, n the most terms of a sum: the unit of error */
} bench_truth;

tess_status bench_truth_create(const tess_matrix *A, const tess_product *product, const void *x,
                               bench_truth *truth);
void bench_truth_free(tess_ctx *ctx, bench_truth *truth);

/* The largest |y - expected| / magnitude; infinite where y is not a number, or differs where the
 * magnitude is 0. */
double bench_error(const bench_truth *truth, const void *y);

/* Sets all bytes to 255: a NaN in both precisions. */
void bench_poison(tess_ctx *ctx, char *y, size_t bytes);
bool bench_equal(tess_ctx *ctx, const char *a, const char *b, size_t bytes);
/* ref's sum and the kernel's may each be off by one unit. */
#define BENCH_ERROR_MAX 2.0

/* ---- peers.c: other libraries ---- */

typedef struct bench_peers bench_peers;
enum { BENCH_PEERS_MAX = 48 };

/* One storage of a library that took the matrix, or says why not. */
typedef struct bench_variant {
    struct bench_peer *peer;          /* the adapter that multiplies (adapter.h); or NULL */
    struct cusparse_product *product; /* cuSPARSE's product; or NULL */
    bool gives_y;                     /* gives y after every run, to be compared with the first */
    char library[64], version[64], name[64];
    int threads;
    char refused[256]; /* "" when it is ready */
} bench_variant;

/* On the host, starts every adapter in `directory` (NULL: none) and hands them A, which must be f64
 * with whole blocks, and x; on a GPU, opens cuSPARSE. A library that does not start is a variant
 * that refuses. A and x must outlive the peers. */
tess_status bench_peers_start(tess_device *device, const tess_matrix *A, const void *x,
                              const char *directory, bench_peers **out);
void bench_peers_stop(bench_peers *peers);
int bench_peers_count(const bench_peers *peers);
bench_variant *bench_peers_variant(bench_peers *peers, int index);
/* Times `reps` products. The last result is in y if the variant gives it. On a failure returns
 * false, and `refused` says what happened. */
bool bench_variant_time(const bench_peers *peers, bench_variant *variant, int reps, double *seconds,
                        void *y);
/* The result of an adapter's last product. */
bool bench_variant_result(bench_peers *peers, bench_variant *variant, double *y, int64_t count);
/* Waits until idle threads have gone to sleep. A library's threads that still spin would take the
 * cores of what runs next: the product after MKL's turn took up to 30 % longer, with a thread on
 * every one of 16 cores up to ten times as long. */
void bench_let_sleep(void);

/* ---- measure.c ---- */

typedef struct bench_options {
    tess_product product;
    const char *format, *kernel, *params; /* NULL: everything that applies */
    int reps;       /* timed repetitions per entry; 0: as many as fit in `seconds` */
    double seconds; /* 0: 0.4 */
    int rounds;     /* 0: 7 */
    bool peers;
    bool update;                 /* time tess_plan_update_values too */
    bool regroup;                /* time a plan that permutes inside too */
    const char *peers_directory; /* adapters for the host; NULL: none */
} bench_options;

typedef enum bench_outcome {
    BENCH_GOOD,
    BENCH_SKIPPED, /* does not apply: `reason` */
    BENCH_FAILED,  /* could not run: `reason` */
    BENCH_WRONG    /* ran, and the result is not A x: `reason` */
} bench_outcome;

typedef struct bench_result {
    tess_candidate candidate; /* as the plan chose it; for a peer, kernel = its storage */
    char peer[64];            /* "petsc", "" for our own */
    char version[64];         /* of the peer */
    bool regrouped;           /* on a plan that permutes inside */
    bool first;               /* what a plan would choose by itself */
    int threads;              /* 0: the device has no threads */
    double seconds;           /* median of one product */
    double update_seconds;    /* median of an update of values in its plan; 0: not measured */
    double error;             /* in units of n eps |A||x| */
    bench_outcome outcome;
    bool misnamed; /* BENCH_FAILED, as an option names what there is not */
    char reason[256];
} bench_result;

typedef struct bench_report {
    double bytes, flops; /* of one product */
    double ceiling;      /* bytes per second, best pattern's median; 0: unknown */
    double read_most;    /* the fastest of all samples */
    int rounds;
    bench_result *results;
    int64_t count;
} bench_report;

tess_status bench_measure(tess_device *device, const tess_matrix *A, const bench_options *options,
                          bench_report *report);
void bench_report_free(tess_ctx *ctx, bench_report *report);
/* Writes the order of entries 0 .. count-1 in this round: random, but the same in every run. */
void bench_order(int round, int count, int *order);

/* The fastest good result of ours (or of the peers); NULL when there is none. */
const bench_result *bench_best(const bench_report *report, bool peers);

/* ---- candidates.c ---- */

/* Candidates that apply to A and match the options' names; an unknown kernel or format is an error
 * that names the nearest one. */
tess_status bench_candidates(tess_device *device, const tess_matrix *A,
                             const bench_options *options, tess_candidates *list);

#endif
