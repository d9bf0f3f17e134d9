/* Complete factors by SuiteSparse; skipped where it is not installed, except what is said then. */
#include "solve/direct/direct.h"

#include "ref/ref.h"
#include "support/support.h"

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
    double *values = A->values; /* other numbers in the same pattern */
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
        cmocka_unit_test(a_missing_library_is_named_with_its_package),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
