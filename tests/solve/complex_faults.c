/* Solvers of complex matrices that fail: reasons, the row that a message names, failing
 * allocations, and methods that take no complex matrix. */
#include <math.h>
#include <string.h>

#include "complex_problems.h"

static void reasons_are_those_of_real_systems(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; tess_methods[i]; i++) {
        if (!tess_methods[i]->complex)
            continue;
        complex_system s = complex_open(ctx, 40, 2, "cpu");
        const char *name = tess_methods[i]->name;
        char few[64];
        snprintf(few, sizeof few, "%s:max=2,tol=1e-12", name);
        if (complex_solve(&s, few).reason != TESS_REASON_ITERATION_LIMIT)
            fail_msg("%s: no limit", name);
        s.b[7].im = NAN;
        tess_result result = complex_solve(&s, name);
        if (result.reason != TESS_REASON_NOT_FINITE || !strstr(result.text, "right-hand side"))
            fail_msg("%s, NaN in b: %s", name, result.text);
        memset(s.b, 0, (size_t)s.A->rows * sizeof *s.b);
        assert_int_equal(complex_solve(&s, name).reason, TESS_REASON_ZERO_RHS);
        s.b[3].im = 1e-200;
        result = complex_solve(&s, name);
        if (result.reason != TESS_REASON_NOT_FINITE || !strstr(result.text, "underflows"))
            fail_msg("%s, tiny b: %s", name, result.text);
        s.b[3].im = 1;
        ((tess_complex *)s.A->values)[9].im = NAN;
        assert_int_equal(tess_plan_update_values(s.plan, s.A->values), TESS_OK);
        if (complex_solve(&s, name).reason != TESS_REASON_NOT_FINITE)
            fail_msg("%s, NaN in A", name);
        complex_close(&s);
    }
}

static void cg_sees_an_indefinite_matrix(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    complex_system s = complex_open(ctx, 40, 2, "cpu");
    tess_complex *values = s.A->values;
    for (int64_t k = 0; k < tess_matrix_stored(s.A); k++)
        values[k] = (tess_complex){-values[k].re, -values[k].im};
    assert_int_equal(tess_plan_update_values(s.plan, values), TESS_OK);
    assert_int_equal(complex_solve(&s, "cg").reason, TESS_REASON_INDEFINITE);
    assert_int_equal(complex_solve(&s, "minres").reason, TESS_REASON_CONVERGED);
    complex_close(&s);
}

static void a_singular_diagonal_block_is_named(void **state)
{
    static const char *const pcs[] = {"jacobi", "bjacobi", "ssor",     "ilu0",
                                      "ic0",    "spai0",   "chebyshev"};
    tess_ctx *ctx = test_ctx(state);
    complex_system s = complex_open(ctx, 39, 3, "cpu:1");
    const int64_t k = tess_matrix_find(s.A, 5, 5);
    memset((tess_complex *)s.A->values + 9 * k, 0, 9 * sizeof(tess_complex));
    for (size_t i = 0; i < sizeof pcs / sizeof *pcs; i++) {
        char spec[40];
        tess_solver *solver = NULL;
        const bool ranges = i >= 2 && i <= 4;
        snprintf(spec, sizeof spec, "gmres:pc=%s%s", pcs[i], ranges ? ",domains=13" : "");
        assert_int_equal(tess_solver_create(s.plan, spec, &solver), TESS_ERR_MATRIX);
        const char *row = i == 0 ? "row 15 " : "block row 5 (rows 15..17)";
        if (!strstr(tess_ctx_error(ctx), row) || !strstr(tess_ctx_error(ctx), "try pc=none"))
            fail_msg("%s: %s", spec, tess_ctx_error(ctx));
    }
    complex_close(&s);
}

static void allocations_that_fail_leave_nothing_behind(void **state)
{
    static const char *const specs[] = {"cg:pc=bjacobi",
                                        "bicg:pc=ilu0",
                                        "gmres:pc=ic0,restart=4",
                                        "bicgstab:pc=ssor,schedule=levels,pc_type=f32",
                                        "auto",
                                        "bicgstab:pc=spai0",
                                        "cg:pc=chebyshev"};
    tess_ctx *ctx = test_ctx(state);
    complex_system s = complex_open(ctx, 30, 2, "cpu:2");
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        complex_solve(&s, specs[i]); /* the plan keeps A^H after its first use */
        test_sweep sweep = test_sweep_begin(state);
        tess_result result;
        tess_status status;
        do {
            memset(s.x, 0, (size_t)s.A->rows * sizeof *s.x);
            status = tess_solve(s.plan, specs[i], s.b, s.x, &result);
        } while (test_sweep_goes_on(&sweep, status));
        assert_int_equal(result.reason, TESS_REASON_CONVERGED);
    }
    complex_close(&s);
}

static void what_knows_reals_only_says_so(void **state)
{
    static const char *const keys[] = {"gmres:scale=match", "cg:order=rcm", "cg:inner=f32",
                                       "gmres:pc=ilut,pivot=0.1",
                                       "gmres:scale=equilibrate,pc=ilu0"};
    tess_ctx *ctx = test_ctx(state);
    complex_system s = complex_open(ctx, 30, 2, "cpu");
    tess_solver *solver = NULL;
    char spec[80];
    for (size_t i = 0; tess_methods[i]; i++)
        for (size_t j = 0; tess_pcs[j]; j++) {
            const tess_method *method = tess_methods[i];
            if ((method->complex && tess_pcs[j]->complex) || !problem_fits(method, tess_pcs[j]))
                continue;
            snprintf(spec, sizeof spec, "%s:pc=%s", method->name, tess_pcs[j]->name);
            assert_int_equal(tess_solver_create(s.plan, spec, &solver), TESS_ERR_UNSUPPORTED);
            const char *text = tess_ctx_error(ctx);
            if (!strstr(text, "this one is c64: use one of ") ||
                !strstr(text, method->complex ? "ilu0, " : "gmres, "))
                fail_msg("%s: %s", spec, text);
        }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_int_equal(tess_solver_create(s.plan, keys[i], &solver), TESS_ERR_UNSUPPORTED);
        if (!strstr(tess_ctx_error(ctx), "this one is c64: leave it out"))
            fail_msg("%s: %s", keys[i], tess_ctx_error(ctx));
    }
    assert_null(solver);
    complex_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons_are_those_of_real_systems),
        cmocka_unit_test(cg_sees_an_indefinite_matrix),
        cmocka_unit_test(a_singular_diagonal_block_is_named),
        cmocka_unit_test(allocations_that_fail_leave_nothing_behind),
        cmocka_unit_test(what_knows_reals_only_says_so),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
