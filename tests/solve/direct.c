/* Complete factors by SuiteSparse. Skipped where it is not installed, except for the message in
 * that case. */
#include "solve/direct/direct.h"

#include "problems.h"
#include "ref/ref.h"

#include <math.h>
#include <string.h>

static const tess_direct_limits no_limits = {0, 0};

static bool is_here(tess_ctx *ctx, bool positive)
{
    if (tess_direct_available(ctx, positive) == TESS_OK)
        return true;
    print_message("skipped: %s\n", tess_ctx_error(ctx));
    return false;
}

/* |b - A x| / |b| for x from the factors, b random. */
static double residual(tess_ctx *ctx, const tess_matrix *A, tess_direct *direct, bool transpose,
                       uint64_t seed)
{
    const int64_t n = A->rows;
    double *b = malloc((size_t)n * sizeof *b), *x = malloc((size_t)n * sizeof *x);
    double *y = malloc((size_t)n * sizeof *y), *sums = malloc((size_t)n * sizeof *sums);
    double difference = 0, size = 0;
    for (int64_t i = 0; i < n; i++)
        b[i] = tess_random_unit(seed, (uint64_t)i);
    assert_int_equal(tess_direct_solve(direct, transpose, b, x), TESS_OK);
    if (transpose)
        tess_ref_spmv_transpose(A, 1, x, 0, y, sums);
    else
        tess_ref_spmv(A, 1, x, 0, y);
    for (int64_t i = 0; i < n; i++) {
        difference += (b[i] - y[i]) * (b[i] - y[i]);
        size += b[i] * b[i];
    }
    free(b);
    free(x);
    free(y);
    free(sums);
    (void)ctx;
    return sqrt(difference / size);
}

static void check(void **state, const char *spec, bool positive, const char *library)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    tess_direct *direct;
    assert_int_equal(tess_matrix_generate(ctx, spec, &A, NULL), TESS_OK);
    assert_int_equal(tess_direct_create(ctx, A, positive, &no_limits, &direct), TESS_OK);
    assert_string_equal(tess_direct_library_name(direct), library);
    assert_true(tess_direct_bytes(direct) > 8.0 * (double)A->rows);
    for (int transpose = 0; transpose < 2; transpose++)
        if (residual(ctx, A, direct, transpose, 3) > 1e-11)
            fail_msg("%s by %s: %g", spec, library, residual(ctx, A, direct, transpose, 3));
    double *values = A->values; /* other values in the same pattern */
    for (int64_t i = 0; i < tess_matrix_stored(A); i++)
        values[i] *= 3;
    assert_int_equal(tess_direct_update(direct, A), TESS_OK);
    assert_true(residual(ctx, A, direct, false, 4) < 1e-11);
    tess_direct_destroy(direct);
    tess_matrix_destroy(A);
}

static void cholmod_solves_positive_definite_systems(void **state)
{
    if (!is_here(test_ctx(state), true))
        return;
    check(state, "elasticity:n=4", true, "CHOLMOD");
    check(state, "stencil7:n=9,b=1", true, "CHOLMOD");
}

static void klu_solves_systems_of_any_kind(void **state)
{
    if (!is_here(test_ctx(state), false))
        return;
    check(state, "cdr:n=6,b=3", false, "KLU");
    check(state, "stencil27:n=5,b=2", false, "KLU");
}

static void what_is_not_positive_definite_or_singular_is_said(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t offsets[] = {0, 2, 4};
    const int32_t columns[] = {0, 1, 0, 1};
    const double indefinite[] = {1, 2, 2, 1}, singular[] = {1, 2, 2, 4};
    tess_matrix *A;
    tess_direct *direct = NULL;
    if (!is_here(ctx, true) || !is_here(ctx, false))
        return;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 2, 2, offsets, columns, indefinite,
                                          TESS_OWNERSHIP_COPY, &A),
                     TESS_OK);
    assert_int_equal(tess_direct_create(ctx, A, true, &no_limits, &direct), TESS_ERR_MATRIX);
    assert_non_null(strstr(tess_ctx_error(ctx), "not positive definite"));
    assert_int_equal(tess_direct_create(ctx, A, false, &no_limits, &direct), TESS_OK);
    assert_true(residual(ctx, A, direct, false, 1) < 1e-12);
    tess_direct_destroy(direct);
    tess_matrix_destroy(A);
    direct = NULL;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 2, 2, offsets, columns, singular,
                                          TESS_OWNERSHIP_COPY, &A),
                     TESS_OK);
    assert_int_equal(tess_direct_create(ctx, A, false, &no_limits, &direct), TESS_ERR_MATRIX);
    assert_non_null(strstr(tess_ctx_error(ctx), "singular"));
    assert_null(direct);
    tess_matrix_destroy(A);
}

/* A dense matrix: factors of n^2 entries and n^3 operations. */
static void factors_beyond_the_limits_are_refused_before_they_grow(void **state)
{
    enum { N = 200 };
    tess_ctx *ctx = test_ctx(state);
    static int64_t rows[N * N], columns[N * N];
    static double values[N * N];
    for (int64_t k = 0; k < N * N; k++) {
        rows[k] = k / N;
        columns[k] = k % N;
        values[k] = rows[k] == columns[k] ? 2 * N : 1;
    }
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, N, N, N * N, rows, columns, values, &A),
                     TESS_OK);
    for (int positive = 0; positive < 2; positive++) {
        tess_direct *direct = NULL;
        if (!is_here(ctx, positive))
            continue;
        assert_int_equal(
            tess_direct_create(ctx, A, positive, &(tess_direct_limits){1e5, 0}, &direct),
            TESS_ERR_UNSUPPORTED);
        assert_non_null(strstr(tess_ctx_error(ctx), "GB, and 0.0001 are allowed"));
        assert_int_equal(
            tess_direct_create(ctx, A, positive, &(tess_direct_limits){0, 1e-6}, &direct),
            TESS_ERR_UNSUPPORTED);
        assert_non_null(strstr(tess_ctx_error(ctx), "s, and 1e-06 are left"));
        assert_null(direct);
        assert_int_equal(
            tess_direct_create(ctx, A, positive, &(tess_direct_limits){1e9, 1e3}, &direct),
            TESS_OK);
        tess_direct_destroy(direct);
    }
    tess_matrix_destroy(A);
}

static int refuse(void *user, const char *what, double fraction)
{
    (void)fraction;
    if (strcmp(what, "factoring") != 0)
        return 0;
    if (*(double *)user == 0)
        *(double *)user = tess_seconds();
    return 1;
}

/* Both ways of factoring can be stopped: the first factoring, and one with new values in a known
 * order. */
static void check_stopped(void **state, bool positive, const tess_matrix *A)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t live = test_live(state);
    tess_direct *direct = NULL;
    double begin = tess_seconds(), refused = 0;
    assert_int_equal(tess_direct_create(ctx, A, positive, &no_limits, &direct), TESS_OK);
    const double whole = tess_seconds() - begin;
    double least[2] = {HUGE_VAL, HUGE_VAL}; /* other processes may slow down one or the other */
    for (int i = 0; i < 6; i++) {
        const bool update = i % 2;
        tess_direct *other = NULL;
        refused = 0;
        tess_ctx_set_progress(ctx, refuse, &refused);
        const tess_status status = update
                                       ? tess_direct_update(direct, A)
                                       : tess_direct_create(ctx, A, positive, &no_limits, &other);
        const double late = tess_seconds() - refused;
        tess_ctx_set_progress(ctx, NULL, NULL);
        assert_int_equal(status, TESS_ERR_CANCELLED);
        assert_null(other);
        least[update] = fmin(least[update], late);
    }
    print_message("%s: %.2f s in all, stopped after %.3f s, with new values after %.3f s\n",
                  positive ? "CHOLMOD" : "KLU", whole, least[0], least[1]);
    if (fmax(least[0], least[1]) > 0.5 * whole)
        fail_msg("stopped after %g s, where the factors take %g", fmax(least[0], least[1]), whole);
    double b = 1;
    assert_int_not_equal(tess_direct_solve(direct, false, &b, &b), TESS_OK); /* no factors */
    assert_int_equal(tess_direct_update(direct, A), TESS_OK);
    assert_true(residual(ctx, A, direct, false, 5) < 1e-11);
    tess_direct_destroy(direct);
    assert_int_equal(test_live(state), live);
}

static void a_factorisation_under_way_is_stopped(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int positive = 0; positive < 2; positive++) {
        if (!is_here(ctx, positive))
            continue;
        tess_matrix *A = random_matrix(ctx, positive ? 4500 : 2200, 5, positive);
        check_stopped(state, positive, A);
        tess_matrix_destroy(A);
    }
}

/* KLU prefers pivots on the diagonal as long as they are large enough. With other pivots the
 * factors are larger than AMD's order predicts. */
static void factors_that_outgrow_their_prediction_are_stopped(void **state)
{
    enum { N = 2000 };
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = random_matrix(ctx, N, 4, false);
    tess_direct *direct = NULL;
    if (is_here(ctx, false)) {
        double *values = A->values, predicted;
        for (int64_t i = 0; i < N; i++)
            values[tess_matrix_find(A, i, i)] = 1e-9;
        assert_int_equal(tess_direct_create(ctx, A, false, &(tess_direct_limits){1, 0}, &direct),
                         TESS_ERR_UNSUPPORTED);
        assert_int_equal(sscanf(tess_ctx_error(ctx), "KLU's factors would take %lg GB", &predicted),
                         1);
        const tess_direct_limits more = {1.1e9 * predicted, 0};
        assert_int_equal(tess_direct_create(ctx, A, false, &more, &direct), TESS_ERR_UNSUPPORTED);
        assert_non_null(strstr(tess_ctx_error(ctx), "KLU's factors take more than the "));
        assert_null(direct);
    }
    tess_matrix_destroy(A);
}

static void a_missing_library_is_named_with_its_package(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    char *before = getenv("TESSERA_SUITESPARSE");
    setenv("TESSERA_SUITESPARSE", "off", 1);
    assert_int_equal(tess_direct_available(ctx, false), TESS_ERR_UNSUPPORTED);
    assert_non_null(strstr(tess_ctx_error(ctx), "libklu1"));
    assert_int_equal(tess_direct_available(ctx, true), TESS_ERR_UNSUPPORTED);
    assert_non_null(strstr(tess_ctx_error(ctx), "libcholmod3"));
    if (before)
        setenv("TESSERA_SUITESPARSE", before, 1);
    else
        unsetenv("TESSERA_SUITESPARSE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cholmod_solves_positive_definite_systems),
        cmocka_unit_test(klu_solves_systems_of_any_kind),
        cmocka_unit_test(what_is_not_positive_definite_or_singular_is_said),
        cmocka_unit_test(factors_beyond_the_limits_are_refused_before_they_grow),
        cmocka_unit_test(a_factorisation_under_way_is_stopped),
        cmocka_unit_test(factors_that_outgrow_their_prediction_are_stopped),
        cmocka_unit_test(a_missing_library_is_named_with_its_package),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
