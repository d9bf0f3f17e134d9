/* Solvers of complex matrices on a device against those of ref: methods and preconditioners at
 * several block sizes and in both precisions have the same residuals in every iteration but for
 * rounding, and the residual of their x, computed again with ref, is the one that they say. With
 * TEST_DEVICE=cuda the device is a GPU, or the fake driver's. */
#include <math.h>
#include <string.h>

#include "complex_problems.h"

typedef struct side {
    tess_device *device;
    tess_plan *plan;
    tess_solver *solver;
    void *x;
    tess_result result;
} side;

static side solve_on(tess_ctx *ctx, const tess_matrix *A, tess_device *device, const char *spec,
                     const void *b)
{
    side s = {.device = device,
              .plan = complex_plan(ctx, A, device),
              .x = calloc((size_t)A->rows, sizeof(tess_complex))};
    if (tess_solver_create(s.plan, spec, &s.solver) != TESS_OK ||
        tess_solver_solve(s.solver, b, s.x, &s.result) != TESS_OK)
        fail_msg("%s: %s", spec, tess_ctx_error(ctx));
    return s;
}

static void close_side(side *s)
{
    tess_solver_destroy(s->solver);
    tess_plan_destroy(s->plan);
    tess_device_close(s->device);
    free(s->x);
}

/* Compares the first iterations, to a few roundings of a vector's type in each. Later residuals
 * differ by more. */
static void compare_histories(const char *what, tess_type type, const tess_result *got,
                              const tess_result *want)
{
    const double digits = type == TESS_C64 ? 1e-7 : 2e-4, noise = type == TESS_C64 ? 1e-13 : 2e-5;
    const int64_t count = tess_min(got->history_count, want->history_count);
    if (llabs((long long)(got->iterations - want->iterations)) > 1)
        fail_msg("%s: %lld iterations, ref has %lld", what, (long long)got->iterations,
                 (long long)want->iterations);
    for (int64_t i = 0; i < count && i <= 8; i++)
        if (!(fabs(got->history[i] - want->history[i]) <= digits * want->history[i] + noise))
            fail_msg("%s: |r|/|b| = %.10g after %lld iterations, ref has %.10g", what,
                     got->history[i], (long long)i, want->history[i]);
}

static void check_spec(tess_ctx *ctx, const tess_matrix *A, const char *spec, double tol)
{
    char what[200];
    void *b = complex_vector(A->rows, A->type, 5);
    snprintf(what, sizeof what, "%s, %s, blocks of %d", spec, tess_type_name(A->type),
             (int)A->block_height);
    side got = solve_on(ctx, A, problem_device(ctx, "cpu"), spec, b);
    side want = solve_on(ctx, A, test_device(ctx, "ref"), spec, b);
    const double residual = complex_residual(ctx, A, b, got.x);
    assert_int_equal(want.result.reason, TESS_REASON_CONVERGED);
    if (got.result.reason != TESS_REASON_CONVERGED || !(residual <= 1.06 * tol) ||
        !(fabs(residual - got.result.true_residual) <= 0.02 * tol))
        fail_msg("%s: %s; |b - Ax|/|b| = %g, said %g", what, got.result.text, residual,
                 got.result.true_residual);
    compare_histories(what, A->type, &got.result, &want.result);
    close_side(&got);
    close_side(&want);
    free(b);
}

/* Whether the preconditioner is the same on all devices, as factors are not, and works: rows that
 * are turned need one. */
static bool suits(const tess_pc_ops *pc, const tess_method *method, bool hermitian)
{
    return pc->complex && problem_fits(method, pc) &&
           (hermitian ? pc->identity || pc->diagonal : pc->diagonal && !pc->symmetric);
}

static void residuals_are_those_of_ref(void **state)
{
    static const tess_method *const methods[] = {&tess_method_cg, &tess_method_bicg,
                                                 &tess_method_bicgstab, &tess_method_gmres};
    static const int32_t sizes[] = {1, 2, 3, 5};
    tess_ctx *ctx = test_ctx(state);
    size_t item = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int single = 0; single < 2; single++) {
            const tess_type type = single ? TESS_C32 : TESS_C64;
            const double tol = single ? 1e-5 : 1e-10;
            for (size_t m = 0; m < 4; m++) {
                const bool hermitian = m == 0 || m == 3;
                tess_matrix *A =
                    complex_matrix(ctx, 70 * sizes[s] - 1, sizes[s], hermitian, type, 3 + s);
                for (size_t p = 0; tess_pcs[p]; p++) {
                    char spec[80];
                    if (!suits(tess_pcs[p], methods[m], hermitian) || !problem_part(item++))
                        continue;
                    snprintf(spec, sizeof spec, "%s:pc=%s,tol=%g%s", methods[m]->name,
                             tess_pcs[p]->name, tol, methods[m]->keys ? ",restart=9" : "");
                    check_spec(ctx, A, spec, tol);
                }
                tess_matrix_destroy(A);
            }
        }
}

/* The methods that the matrices above leave out, without a preconditioner. The matrix is i times a
 * Hermitian one: all slots are complex, and the divisors have no real part. */
static void methods_without_a_preconditioner_divide_by_imaginary_numbers(void **state)
{
    static const char *const specs[] = {"bicg:tol=1e-10", "bicgstab:tol=1e-10",
                                        "gmres:tol=1e-10,restart=6", "idr:tol=1e-10"};
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tess_matrix *A = complex_matrix(ctx, 120, 1 + (int32_t)i, true, TESS_C64, 9);
        tess_complex *values = A->values;
        for (int64_t k = 0; k < tess_matrix_stored(A); k++)
            values[k] = (tess_complex){-values[k].im, values[k].re};
        check_spec(ctx, A, specs[i], 1e-10);
        tess_matrix_destroy(A);
    }
}

/* Vectors too long for one launch of a small system's loop, and for one thread per row. */
static void long_vectors_are_solved_for(void **state)
{
    static const char *const specs[] = {"cg:pc=bjacobi,tol=1e-10", "bicg:pc=jacobi,tol=1e-10",
                                        "bicgstab:pc=bjacobi,tol=1e-10",
                                        "gmres:pc=jacobi,tol=1e-10", "cg:pc=chebyshev,tol=1e-10"};
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = complex_matrix(ctx, 9001, 3, true, TESS_C64, 4);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        if (problem_part(i))
            check_spec(ctx, A, specs[i], 1e-10);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residuals_are_those_of_ref),
        cmocka_unit_test(methods_without_a_preconditioner_divide_by_imaginary_numbers),
        cmocka_unit_test(long_vectors_are_solved_for),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
