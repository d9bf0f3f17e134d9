/* Small systems for the solver tests: matrices whose solution a dense elimination gives. */
#ifndef TEST_PROBLEMS_H
#define TEST_PROBLEMS_H

#include "solve/solve.h"
#include "support/support.h"

/* A with its plan on a device. */
typedef struct problem {
    tess_matrix *A;
    tess_device *device;
    tess_plan *plan;
    double *b, *x, *exact; /* f64: rows scalars */
} problem;

/* Random b x b blocks in a band, diagonally dominant; symmetric (then positive definite) or not. */
tess_matrix *problem_matrix(tess_ctx *ctx, int64_t block_rows, int32_t b, bool symmetric,
                            tess_type type, uint64_t seed);
/* n x n from entries, whose values are of the type given, in blocks of b of another type. */
tess_matrix *problem_from_entries(tess_ctx *ctx, int64_t n, int64_t count, const int64_t *rows,
                                  const int64_t *cols, tess_type given, const void *values,
                                  int32_t b, tess_type type);
/* Opens a device. A name that begins with "cpu" stands for TEST_DEVICE of the environment, where
 * that is set. The caller closes it. */
tess_device *problem_device(tess_ctx *ctx, const char *name);
/* Returns whether this process is to test an item of a list. TEST_PART=2/8 in the environment
 * selects every eighth item, so that processes can share a list whose kernels have to be compiled.
 */
bool problem_part(size_t item);
/* Returns whether a case of a long list is to be tested at size number `size`. On a real device
 * each case needs its own kernels: every third case is tested at one size, and every 24th at the
 * others; a third of these under compute-sanitizer. */
bool problem_sampled(size_t size, size_t number);
/* Returns whether the device has what the spec asks for. With TEST_DIAGONAL_ONLY, a fake device has
 * neither triangular solves nor multigrid. */
bool problem_may(const char *spec);
/* Returns whether the two may be combined. Complete factors need SuiteSparse. */
bool problem_fits(const tess_method *method, const tess_pc_ops *pc);
/* Returns whether the plan's device can run the spec. "cpu" can run all of them. */
bool problem_has(const problem *p, const char *spec);
/* A plan for A, a random right-hand side, x = 0, and the exact solution. Takes A over. */
problem problem_open(tess_ctx *ctx, tess_matrix *A, const char *device);
void problem_close(problem *p);
/* Solves from x = 0; NULL: the solver is found by trying. A failure names the spec. */
tess_result problem_solve(problem *p, const char *spec);
/* A vector of zeros in f64, which the caller frees. */
double *problem_zeros(int64_t count);

/* A (row-major n x n doubles, destroyed) x = b by elimination with partial pivoting. */
void dense_solve(double *A, int64_t n, const double *b, double *x);
/* max |x - y| / max |y|. */
double distance(const double *x, const double *y, int64_t n);

/* `a_row` random entries per row beside a strong diagonal, symmetric or not. Its complete factors
 * are nearly dense. */
tess_matrix *random_matrix(tess_ctx *ctx, int64_t n, int64_t a_row, bool symmetric);

#endif
