/* auto on matrices drawn at random: sizes, shapes, conditioning, diagonals of zeros, orders,
 * scales, singular ones. Every solution that is claimed is checked here, with a dense copy of A;
 * whatever is not solved has a reason in words. TEST_SEED of the environment draws others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problems.h"

enum { TRIALS = 120, LARGEST = 90 };

/* What is done to a random matrix whose diagonal dominates. */
enum {
    SYMMETRIC = 1,
    SHUFFLED = 2,    /* rows in another order */
    SCALED = 4,      /* rows and columns times powers of ten between -6 and 6 */
    NO_DIAGONAL = 8, /* every other diagonal entry is 0 */
    SINGULAR = 16,   /* a row is the sum of two others */
    ZERO_ROW = 32,   /* and the column of the same number */
    RECTANGULAR = 64,
    KINDS = 128
};

typedef struct trial {
    uint64_t seed;
    int kind;
    int64_t rows, cols;
    int32_t block;
    double *dense; /* row-major */
    double *b, *x;
} trial;

static double draw(const trial *t, uint64_t at)
{
    return tess_random_unit(t->seed, at);
}

static void scale_rows_and_columns(trial *t)
{
    for (int64_t i = 0; i < t->rows; i++)
        for (int64_t j = 0; j < t->cols; j++)
            t->dense[i * t->cols + j] *= pow(10, round(6 * draw(t, 7000 + (uint64_t)i))) *
                                         pow(10, round(6 * draw(t, 8000 + (uint64_t)j)));
}

static void shuffle_rows(trial *t)
{
    for (int64_t i = t->rows - 1; i > 0; i--) {
        const int64_t other = (int64_t)(fabs(draw(t, 9000 + (uint64_t)i)) * (double)i);
        for (int64_t j = 0; j < t->cols; j++) {
            const double kept = t->dense[i * t->cols + j];
            t->dense[i * t->cols + j] = t->dense[other * t->cols + j];
            t->dense[other * t->cols + j] = kept;
        }
    }
}

static void fill_dense(trial *t)
{
    const int64_t m = t->rows, n = t->cols;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const bool mirrored = t->kind & SYMMETRIC && j > i && m == n;
            const uint64_t at = (uint64_t)(mirrored ? j * 100 + i : i * 100 + j);
            double value = fabs(draw(t, 20000 + at)) < 0.1 ? draw(t, at) : 0;
            if (i == j)
                value = t->kind & NO_DIAGONAL && i % 2 ? 0 : 4 + draw(t, at);
            t->dense[i * n + j] = value;
        }
    for (int64_t j = 0; t->kind & SINGULAR && m > 4 && j < n; j++)
        t->dense[3 * n + j] = t->dense[n + j] + t->dense[2 * n + j];
    for (int64_t i = 0; t->kind & ZERO_ROW && m > 4 && i < (m < n ? m : n); i++)
        t->dense[4 * n + i] = t->dense[i * n + (n > 4 ? 4 : 0)] = 0;
    if (t->kind & SCALED)
        scale_rows_and_columns(t);
    if (t->kind & SHUFFLED)
        shuffle_rows(t);
}

static trial draw_trial(uint64_t seed)
{
    trial t = {.seed = seed};
    t.kind = (int)(fabs(draw(&t, 1)) * KINDS) % KINDS;
    t.rows = 1 + (int64_t)(fabs(draw(&t, 2)) * LARGEST);
    t.cols = t.kind & RECTANGULAR ? 1 + (int64_t)(fabs(draw(&t, 3)) * LARGEST) : t.rows;
    t.block = 1 + (int32_t)(fabs(draw(&t, 4)) * 4);
    const int64_t longest = t.rows > t.cols ? t.rows : t.cols;
    t.dense = malloc((size_t)(t.rows * t.cols) * sizeof *t.dense);
    t.b = calloc((size_t)longest, sizeof *t.b);
    t.x = calloc((size_t)longest, sizeof *t.x);
    fill_dense(&t);
    /* Every other right-hand side is in the range of A. */
    for (int64_t i = 0; i < t.rows; i++)
        t.b[i] = draw(&t, 50000 + (uint64_t)i);
    for (int64_t i = 0; seed % 2 && i < t.rows; i++) {
        t.b[i] = 0;
        for (int64_t j = 0; j < t.cols; j++)
            t.b[i] += t.dense[i * t.cols + j] * (1 + draw(&t, 60000 + (uint64_t)j));
    }
    return t;
}

static tess_matrix *sparse_of(tess_ctx *ctx, const trial *t)
{
    int64_t *rows = malloc((size_t)(t->rows * t->cols) * sizeof *rows), count = 0;
    int64_t *cols = malloc((size_t)(t->rows * t->cols) * sizeof *cols);
    double *values = malloc((size_t)(t->rows * t->cols) * sizeof *values);
    for (int64_t k = 0; k < t->rows * t->cols; k++)
        if (t->dense[k] != 0) {
            rows[count] = k / t->cols;
            cols[count] = k % t->cols;
            values[count++] = t->dense[k];
        }
    tess_matrix *scalar, *A;
    assert_int_equal(
        tess_matrix_from_coo(ctx, TESS_F64, t->rows, t->cols, count, rows, cols, values, &scalar),
        TESS_OK);
    assert_int_equal(tess_matrix_to_blocks(ctx, scalar, &(tess_blocking){t->block, t->block}, &A),
                     TESS_OK);
    tess_matrix_destroy(scalar);
    free(rows);
    free(cols);
    free(values);
    return A;
}

/* |b - A x| / |b| and |A^T r| / (|A| |r|), in long double. */
static void measure(const trial *t, double *residual, double *normal)
{
    long double rr = 0, bb = 0, aa = 0, nn = 0;
    long double *r = malloc((size_t)t->rows * sizeof *r);
    for (int64_t i = 0; i < t->rows; i++) {
        r[i] = t->b[i];
        for (int64_t j = 0; j < t->cols; j++) {
            r[i] -= (long double)t->dense[i * t->cols + j] * t->x[j];
            aa += (long double)t->dense[i * t->cols + j] * t->dense[i * t->cols + j];
        }
        rr += r[i] * r[i];
        bb += (long double)t->b[i] * t->b[i];
    }
    for (int64_t j = 0; j < t->cols; j++) {
        long double sum = 0;
        for (int64_t i = 0; i < t->rows; i++)
            sum += t->dense[i * t->cols + j] * r[i];
        nn += sum * sum;
    }
    *residual = (double)sqrtl(rr / (bb > 0 ? bb : 1));
    *normal = rr > 0 && aa > 0 ? (double)(sqrtl(nn) / sqrtl(aa * rr)) : 0;
    free(r);
}

/* Returns whether the system must be solved: it is regular and, but for its scales, well
 * conditioned. */
static bool must_be_solved(const trial *t)
{
    return !(t->kind & (SINGULAR | ZERO_ROW | RECTANGULAR | NO_DIAGONAL | SCALED));
}

static void check(tess_ctx *ctx, uint64_t seed, int *solved)
{
    trial t = draw_trial(seed);
    tess_matrix *A = sparse_of(ctx, &t);
    tess_device *device = test_device(ctx, "cpu");
    tess_plan *plan;
    tess_result result;
    char what[120];
    double residual, normal;
    snprintf(what, sizeof what, "TEST_SEED=%llu: kind %d, %lld x %lld, blocks of %d",
             (unsigned long long)seed, t.kind, (long long)t.rows, (long long)t.cols, (int)t.block);
    assert_int_equal(tess_plan_create(ctx, A, device,
                                      &(tess_plan_options){.effort = TESS_EFFORT_ESTIMATE}, &plan),
                     TESS_OK);
    if (tess_solve(plan, "auto:budget=20", t.b, t.x, &result) != TESS_OK)
        fail_msg("%s: %s", what, tess_ctx_error(ctx));
    measure(&t, &residual, &normal);
    if (result.reason == TESS_REASON_CONVERGED && !(residual <= 1.001e-8))
        fail_msg("%s: a false claim, |b - Ax|/|b| = %g, said %g", what, residual,
                 result.true_residual);
    if (result.reason == TESS_REASON_LEAST_SQUARES && !(normal <= 1.1e-7))
        fail_msg("%s: a false claim, |A'r| = %g |A||r|, said %g", what, normal,
                 result.normal_residual);
    if (result.reason != TESS_REASON_CONVERGED && result.reason != TESS_REASON_ZERO_RHS &&
        strlen(result.text) < 20)
        fail_msg("%s: no reason is given: '%s'", what, result.text);
    if (isfinite(residual) == 0 || fabs(residual - result.true_residual) > 1e-6 + 0.01 * residual)
        fail_msg("%s: |b - Ax|/|b| = %g, said %g: %s", what, residual, result.true_residual,
                 result.text);
    if (must_be_solved(&t) && result.reason != TESS_REASON_CONVERGED)
        fail_msg("%s: %s, %s", what, tess_reason_name(result.reason), result.text);
    *solved += result.reason == TESS_REASON_CONVERGED || result.reason == TESS_REASON_LEAST_SQUARES;
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    free(t.dense);
    free(t.b);
    free(t.x);
}

static void what_auto_claims_is_true(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *text = getenv("TEST_SEED");
    const uint64_t first = text ? strtoull(text, NULL, 10) : 1;
    const int trials = text ? 1 : test_slowed() ? TRIALS / 4 : TRIALS;
    int solved = 0;
    for (uint64_t seed = first; seed < first + (uint64_t)trials; seed++)
        check(ctx, seed, &solved);
    /* Of the others, singular or badly scaled, some end at a residual just above the tolerance:
     * whether a smaller one exists is not known there. */
    if (!text && solved < trials * 7 / 10)
        fail_msg("only %d of %d", solved, trials);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_auto_claims_is_true),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
