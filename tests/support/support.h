/* Shared by all tests: a context per program, awkward matrices, and the comparison with `ref`.
 *
 * A case is reproduced by its seed: every failure message carries it.
 */
#ifndef TEST_SUPPORT_H
#define TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "matrix/matrix.h"

/* Group set-up and tear-down: a context with a counting allocator; tear-down fails on a leak. */
int test_setup(void **state);
int test_teardown(void **state);
tess_ctx *test_ctx(void **state);

/* The n-th allocation from now fails (0: the next one; -1: none). */
void test_fail_allocation(void **state, int64_t n);
/* Allocations now alive in the test's context. */
int64_t test_live(void **state);
/* Fails the test with the context's error when the call has failed. */
void test_ok(tess_ctx *ctx, tess_status status);
/* A call repeated with one allocation failing, then a later one (test_next_failure), until none
 * fails:
 *     test_sweep sweep = test_sweep_begin(state);
 *     do { status = call(&made); destroy(made); } while (test_sweep_goes_on(&sweep, status));
 * Each time the status is TESS_ERR_MEMORY or, at the end, TESS_OK, and nothing is left behind. */
typedef struct test_sweep {
    void **state;
    int64_t live;   /* allocations alive before the call */
    int64_t failed; /* the allocation that fails */
} test_sweep;
test_sweep test_sweep_begin(void **state);
bool test_sweep_goes_on(test_sweep *sweep, tess_status status);
/* The factor by which a test may have fewer cases: TEST_FEW of the environment, 6 in `./run check`
 * and more under a sanitizer. It is 1 without TEST_FEW, and with TEST_ALL, as in `./run
 * check-long`. */
int test_few(void);
/* Returns whether every step takes many times as long as usual: under a sanitizer, of the host or
 * of a GPU, whose TEST_FEW is 8 and more. Tests have smaller systems there, and leave out proofs
 * that they would notice a fault: those prove nothing about memory or threads. */
bool test_slowed(void);
/* The allocation that a sweep makes fail after the n-th one: the first twenty one by one, then
 * fewer and fewer, because later ones repeat those of an earlier iteration or candidate. With
 * TEST_ALL in the environment every one. */
int64_t test_next_failure(int64_t n);
/* How many of `count` cases drawn at random a test tries: one in test_few(), at least one. */
uint64_t test_draws(uint64_t count);
/* Returns whether a test tries the n-th of its combinations: one in test_few(). */
bool test_takes(uint64_t n);
/* A sweep of failing allocations over the creation of this plan. */
void test_plan_allocations(void **state, const tess_matrix *A, tess_device *device,
                           const tess_plan_options *options);

/* A device that has to exist: "cpu:2", or the CPU with that many threads. */
tess_device *test_device(tess_ctx *ctx, const char *name);
tess_device *test_threads(tess_ctx *ctx, int threads);

/* Patterns that break block codes, of roughly `size` block rows. */
typedef enum test_pattern {
    TEST_EMPTY,      /* no blocks at all */
    TEST_ONE_BLOCK,  /* 1 x 1 block rows and columns */
    TEST_ONE_ROW,    /* one block row, many columns */
    TEST_ONE_COLUMN, /* many block rows, one column */
    TEST_DIAGONAL,   /* one block a row */
    TEST_BANDED,     /* a few neighbours */
    TEST_RANDOM,     /* 0..8 blocks a row, some rows empty */
    TEST_DENSE_ROW,  /* random, and one row (in the middle) with every column */
    TEST_EMPTY_ENDS, /* first and last thirds of the rows empty */
    TEST_WIDE,       /* rectangular: more columns than rows */
    TEST_TALL,       /* rectangular: more rows than columns */
    TEST_RAGGED,     /* random, with rows and cols not multiples of the block size */
    TEST_SKEWED,     /* a quarter of the blocks in the last row */
    TEST_PATTERNS
} test_pattern;

const char *test_pattern_name(test_pattern pattern);

/* A matrix of that pattern with r x c blocks, random values. Caller destroys it. */
tess_matrix *test_matrix(tess_ctx *ctx, test_pattern pattern, int64_t size, int32_t r, int32_t c,
                         tess_type type, uint64_t seed);

/* A matrix of f64 from arrays written by hand, with column-major blocks. Caller destroys it. */
tess_matrix *test_blocks(tess_ctx *ctx, int64_t rows, int64_t cols, int32_t r, int32_t c,
                         const int64_t *offsets, const int32_t *columns, const double *values);

/* Row-major rows x cols doubles with what A stores, 0 elsewhere. Caller frees with free(). */
double *test_dense(const tess_matrix *A);

/* Fails the test, naming `what`, unless A obeys every rule of matrix.h. */
void test_check_valid(const char *what, const tess_matrix *A);
/* Fails unless A and B are the same matrix as dense ones, bit for bit (NaN equals NaN). */
void test_check_same_dense(const char *what, const tess_matrix *A, const tess_matrix *B);
/* Fails unless A and B have the same sizes and the same three arrays, bit for bit. */
void test_check_identical(const char *what, const tess_matrix *A, const tess_matrix *B);

/* `count` random scalars of `type` in [-1, 1). Caller frees with free(). */
void *test_vector(int64_t count, tess_type type, uint64_t seed);

/* Checks y = alpha A x + beta y0 componentwise against ref: |y - ref| <= c n eps (|alpha||A||x| +
 * |beta||y0|), n the longest row in scalars. y0 may be NULL when beta = 0. Fails the test with
 * `what`, the pattern's place and the values. */
void test_check_spmv(const char *what, const tess_matrix *A, double alpha, const void *x,
                     double beta, const void *y0, const void *y);
/* The same of a complex matrix with complex factors, real and imaginary parts each. */
void test_check_spmv_complex(const char *what, const tess_matrix *A, tess_complex alpha,
                             const void *x, tess_complex beta, const void *y0, const void *y);

#endif
