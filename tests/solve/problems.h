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
/* Whether this process is to test an item of a list: TEST_PART of the environment, "2/8", leaves
 * every eighth of them, so that processes can share a list whose kernels have to be compiled. */
bool problem_part(size_t item);
/* Whether a case of a long list is to be tested at size number `size`: on a real device, where each
 * needs kernels of its own, all of them at one size and every twelfth at the others. */
bool problem_sampled(size_t size, size_t number);
/* Whether a fake device has what the spec asks for: neither triangular solves nor
 * multigrid (TEST_DIAGONAL_ONLY). */
bool problem_may(const char *spec);
/* Whether the two may be asked for together; complete factors only where SuiteSparse is. */
bool problem_fits(const tess_method *method, const tess_pc_ops *pc);
/* Whether the device of the plan has it; "cpu" has all of it. */
bool problem_has(const problem *p, const char *spec);
/* A plan for A, a random right-hand side, x = 0, and the exact solution. Takes A over. */
problem problem_open(tess_ctx *ctx, tess_matrix *A, const char *device);
void problem_close(problem *p);

/* A (row-major n x n doubles, destroyed) x = b by elimination with partial pivoting. */
void dense_solve(double *A, int64_t n, const double *b, double *x);
/* max |x - y| / max |y|. */
double distance(const double *x, const double *y, int64_t n);

/* So many random entries a row over a strong diagonal, symmetric or not: complete factors of it are
 * all but dense. */
tess_matrix *random_matrix(tess_ctx *ctx, int64_t n, int64_t a_row, bool symmetric);

#endif
