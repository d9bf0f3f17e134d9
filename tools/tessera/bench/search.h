/* The choice of a plan that searches. */
#ifndef TESSERA_BENCH_SEARCH_H
#define TESSERA_BENCH_SEARCH_H

#include "../../../bench/internal.h"

typedef struct bench_search {
    char format[32], kernel[64], params[160]; /* the choice of a MEASURE search */
    int spmvs;                                /* products that the search ran */
    double seconds;                           /* that the search took */
    int again_spmvs;      /* the same for the next matrix of this class, where wisdom is kept */
    double again_seconds; /* likewise */
    double iteration, iteration_predicted; /* of CG with the kernel that the model prefers; 0: CG
                                              does not apply to the matrix, or nothing is known */
} bench_search;

/* `cg`: also times an iteration of CG. */
tess_status bench_search_run(tess_device *device, const tess_matrix *A, bool cg, bench_search *out);

#endif
