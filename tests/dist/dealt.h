/* A whole matrix dealt out to threads, shared by the tests of parts.
 *
 * Bodies run on threads of their own, where an assertion cannot end the test. Each part records its
 * results, and the test asserts afterwards. */
#ifndef TEST_DEALT_H
#define TEST_DEALT_H

#include "support/support.h"
#include "support/thread_comm.h"

enum { DEALT_MOST = 8 };

typedef struct dealt {
    const tess_matrix *A;           /* the whole, square, of square blocks */
    int size;                       /* parts */
    int64_t firsts[DEALT_MOST + 1]; /* block rows */
    test_team *team;
    const char *device, *form; /* NULL: the default */
    int devices; /* of a kind, "cuda:": part r is on number r % devices; 0: on `device` */
    const char *last_device;                   /* that of the last part; NULL: as the others' */
    tess_effort effort;                        /* of the plans: a search, or a guess */
    void (*opened)(struct dealt *d, int rank); /* the part's device is open; NULL: nothing to do */
    /* What the parts saw. */
    tess_status status[DEALT_MOST];
    char error[DEALT_MOST][1024];
    tess_part_info info[DEALT_MOST];
    int64_t held[DEALT_MOST], peak[DEALT_MOST]; /* bytes of the part; of its making */
    /* The test's own: what a part does with its plan. */
    tess_status (*body)(struct dealt *d, int rank, tess_part *part, tess_plan *plan);
    const void *x, *y0;
    void *y;
    double alpha, beta, dot[DEALT_MOST];
    int k;
    tess_block_order order;
    const char *spec;
    tess_result result[DEALT_MOST];
    double *history[DEALT_MOST];
    int64_t allocation_fails[DEALT_MOST]; /* the n-th allocation of a part fails; -1: none */
} dealt;

/* Contiguous ranges drawn at random, empty ones included. */
void dealt_ranges(dealt *d, uint64_t seed);
/* A in such ranges, with a team; test_team_destroy(d.team) ends it. Every fourth seed is on cpu:1,
 * the others on ref. */
dealt dealt_open(const tess_matrix *A, int size, uint64_t seed);
/* Fails the test with the message of a part that failed. */
void dealt_ok(const dealt *d, uint64_t seed);
/* The part's rows of A as tess_part_create takes them: columns are numbered as in the whole matrix.
 */
tess_status dealt_part(const dealt *d, tess_ctx *ctx, const tess_comm *comm, tess_part **out);
/* The first scalar row of a part. */
int64_t dealt_row(const dealt *d, int rank);
/* A body: y = alpha A x + beta y of the whole vectors x and y, for k = -1 by A's transpose, for k =
 * 0 with x . y in `dot`, for k > 1 of k vectors. */
tess_status dealt_products(dealt *d, int rank, tess_part *part, tess_plan *plan);
/* Gives the part's plan twice the values of A. */
tess_status dealt_double_values(const dealt *d, int rank, tess_plan *plan);
/* A body: solves A y = x by d->spec from y, which is 0; results are those of each part. */
tess_status dealt_solve(dealt *d, int rank, tess_part *part, tess_plan *plan);
/* Runs dealt_solve on the ranges of d. Every part must return the expected status. If that is
 * TESS_OK, x has converged, and its true residual is small and the one that every part reports. */
void dealt_check_solve(dealt *d, const char *spec, uint64_t seed, tess_status expected);
/* Makes the parts and their plans and runs the body on all of them. */
void dealt_run(dealt *d);

#endif
