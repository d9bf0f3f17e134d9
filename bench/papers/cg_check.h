/* Whether a solver's x is what the solver says it is. */
#ifndef BENCH_PAPERS_CG_CHECK_H
#define BENCH_PAPERS_CG_CHECK_H

#include "../internal.h"

/* Whether |b - A x|, computed anew in one obvious loop, is at most twice `claimed`, beside what
 * `iterations` updates of a residual may drift by rounding: eps |(|A||x| + |b|)| each. False where
 * something is not a number. A is of f64. */
bool cg_check(const tess_matrix *A, const double *b, const double *x, double claimed,
              int64_t iterations);

#endif
