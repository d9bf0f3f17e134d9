/* What a plan would do by itself. */
#ifndef TESSERA_BENCH_SEARCH_H
#define TESSERA_BENCH_SEARCH_H

#include "../../bench/internal.h"

typedef struct bench_search {
    char format[32], kernel[64], params[160]; /* that a MEASURE search takes */
    int spmvs;                                /* products that it ran */
    double seconds;                           /* that it took */
    int again_spmvs;                       /* the same with the next matrix of this class, where */
    double again_seconds;                  /* wisdom is kept */
    double iteration, iteration_predicted; /* of CG with the kernel that the model prefers; 0:
                                              the matrix is not for it, or nothing is known */
} bench_search;

/* `cg`: with an iteration of CG. */
tess_status bench_search_run(tess_device *device, const tess_matrix *A, bool cg, bench_search *out);

#endif
