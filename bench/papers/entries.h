/* The ways in which a case of products.c multiplies: plans of ours, and peers.
 *
 *   plan                what a plan without measurements takes
 *   NAME, NAME:PARAMS   the kernel of that name
 *   FORMAT/, FORMAT/:PARAMS, FORMAT/NAME    a plan in that format
 *   naive               blocks as they are and a plain kernel (CPU)
 *   csr                 the same matrix in 1 x 1 blocks, whole (CPU)
 *   cusparse, cusparse_bsr ...   all of cuSPARSE's ways whose name begins so
 *   cublas, cblas       gemv of a dense matrix, on a GPU and on the host
 *   peers:DIRECTORY     the adapters of other libraries there (bench/peers), on the host
 *
 * With PARAMS "KEY=VALUE,...,tune=SECONDS" the kernel is timed with every set of its parameters
 * that has these values, for at most so many seconds, and the best set takes part. Compilation is
 * not counted. With "shapes=..." the case says what of the matrix lies in blocks of these shapes.
 */
#ifndef BENCH_PAPERS_ENTRIES_H
#define BENCH_PAPERS_ENTRIES_H

#include <jansson.h>

#include "../../tools/tessera/bench/bench.h"
#include "../fbcsr/forms.h"
#include "../peers/cblas.h"
#include "../peers/cublas.h"
#include "../peers/cusparse.h"

enum { ROUNDS = 5, REPS = 4, ENTRIES = 64, NAME = 256 };

extern const tess_product entries_spmv;

typedef struct entry {
    char name[NAME], refused[256], version[160];
    tess_plan *plan;
    cusparse_product *cusparse;
    cublas_gemv *cublas;
    cblas_gemv *cblas;
    bench_variant *variant;
    int sets, of;   /* parameters: that were timed, that there are; 0: only this one */
    json_t *stored; /* what of the matrix lies in shapes; NULL: not asked for */
    double error, rounds[ROUNDS];
} entry;

typedef struct trial {
    tess_ctx *ctx;
    tess_device *device;
    tess_cuda *cuda; /* NULL: another device */
    tess_matrix *A;
    tess_matrix *input;  /* before it got its blocks; NULL: A */
    tess_matrix *scalar; /* in 1 x 1 blocks; NULL: not asked for yet */
    tess_matrix *copy;   /* what A has many of along its diagonal; NULL: A */
    int64_t nonzeros;    /* of the input */
    void *x, *y;
    bench_truth truth;
    cusparse_matrix *shared;
    bench_peers *peers;
    int count;
    entry entries[ENTRIES];
} trial;

/* Adds the ways that `text` names, which it changes. What does not apply is an entry that says so.
 */
tess_status entries_add(trial *T, char *text);
/* All in turn, round after round, after one round that is compared and not counted. */
tess_status entries_measure(trial *T);
json_t *entries_json(const trial *T);
void entries_close(trial *T);

/* tuned.c: the plan of the best set of a kernel's parameters. `fixed` is "KEY=VALUE,..." or "". */
tess_status entries_tune(trial *T, entry *E, const char *kernel, const char *fixed, double seconds);
/* Seconds of one product. */
tess_status entries_time(trial *T, entry *E, double *seconds);

#endif
