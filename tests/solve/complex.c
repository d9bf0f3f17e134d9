/* Solvers of complex matrices: methods, preconditioners, block sizes, types and threads drawn at
 * random; every residual is computed again with ref. Then several systems, new values, auto and
 * least squares. */
#include <math.h>
#include <string.h>

#include "complex_problems.h"

enum { DRAWS = 300 };

static int64_t below(uint64_t seed, uint64_t at, int64_t bound)
{
    return tess_random_below(seed, at, bound);
}

/* ---- Draws ---- */

typedef struct draw {
    uint64_t seed;
    bool hermitian;
    tess_type type;
    int32_t block;
    int64_t rows;
    char device[16], spec[160];
} draw;

static int64_t count_names(const char *const *names)
{
    int64_t count = 0;
    while (names[count])
        count++;
    return count;
}

static const tess_method *draw_method(uint64_t seed, bool hermitian)
{
    for (uint64_t at = 100;; at++) {
        const tess_method *method = tess_methods[below(seed, at, count_names(tess_method_names))];
        if (method->complex && (hermitian || !method->symmetric))
            return method;
    }
}

static const tess_pc_ops *draw_pc(uint64_t seed, const tess_method *method, bool hermitian)
{
    for (uint64_t at = 200;; at++) {
        const tess_pc_ops *pc = tess_pcs[below(seed, at, count_names(tess_pc_names))];
        /* Without a preconditioner, rows that are turned take as many iterations as there are rows.
         */
        if (pc->complex && (hermitian || !(pc->symmetric || pc->identity)) &&
            problem_fits(method, pc))
            return pc;
    }
}

static void draw_spec(draw *d)
{
    static const char *const schedules[] = {"", ",schedule=levels", ",schedule=colours",
                                            ",domains=3"};
    const tess_method *method = draw_method(d->seed, d->hermitian);
    const tess_pc_ops *pc = draw_pc(d->seed, method, d->hermitian);
    const char *schedule = schedules[below(d->seed, 11, pc->ordered ? 2 : 4)];
    const bool left = method->sides == TESS_SIDES_BOTH && below(d->seed, 10, 3) == 0;
    snprintf(d->spec, sizeof d->spec, "%s:pc=%s,tol=%s%s%s%s%s", method->name, pc->name,
             d->type == TESS_C64 ? "1e-10" : "1e-5", pc->triangular ? schedule : "",
             below(d->seed, 12, 3) == 0 && !pc->identity ? ",pc_type=f32" : "",
             left ? ",side=left" : "", method->keys && below(d->seed, 13, 2) ? ",restart=7" : "");
}

static draw make_draw(uint64_t seed)
{
    static const int32_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17};
    draw d = {.seed = seed,
              .hermitian = below(seed, 1, 2),
              .type = below(seed, 2, 3) ? TESS_C64 : TESS_C32,
              .block = sizes[below(seed, 3, 12)]};
    d.rows = 1 + below(seed, 4, 120 / d.block + 2) * d.block + below(seed, 5, d.block);
    if (below(seed, 6, 8) == 0)
        snprintf(d.device, sizeof d.device, "ref");
    else
        snprintf(d.device, sizeof d.device, "cpu:%d", 1 + (int)below(seed, 7, 3));
    draw_spec(&d);
    return d;
}

static void check_draw(tess_ctx *ctx, uint64_t seed)
{
    const draw d = make_draw(seed);
    tess_matrix *A = complex_matrix(ctx, d.rows, d.block, d.hermitian, d.type, seed);
    tess_device *device = problem_device(ctx, d.device);
    tess_plan *plan = complex_plan(ctx, A, device);
    void *b = complex_vector(d.rows, d.type, seed + 1);
    void *x = calloc((size_t)d.rows, sizeof(tess_complex));
    tess_result result;
    char what[300];
    snprintf(what, sizeof what, "seed %llu: %s on %s, %s %s, %lld rows in blocks of %d",
             (unsigned long long)seed, d.spec, d.device, d.hermitian ? "Hermitian" : "general",
             tess_type_name(d.type), (long long)d.rows, (int)d.block);
    if (tess_solve(plan, d.spec, b, x, &result) != TESS_OK)
        fail_msg("%s: %s", what, tess_ctx_error(ctx));
    const double tol = d.type == TESS_C64 ? 1e-10 : 1e-5;
    const double residual = complex_residual(ctx, A, b, x);
    if (result.reason != TESS_REASON_CONVERGED || !(residual <= 1.06 * tol) ||
        !(fabs(residual - result.true_residual) <= 0.02 * tol))
        fail_msg("%s: %s, %s; |b - Ax|/|b| = %g, said %g", what, tess_reason_name(result.reason),
                 result.text, residual, result.true_residual);
    if (result.iterations > 150)
        fail_msg("%s: %lld iterations", what, (long long)result.iterations);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    free(b);
    free(x);
}

static void systems_drawn_at_random_are_solved(void **state)
{
    const char *text = getenv("TEST_SEED");
    const uint64_t first = text ? strtoull(text, NULL, 10) : 1;
    for (uint64_t i = 0; i < (text ? 1 : DRAWS); i++)
        if (text || (getenv("TEST_DEVICE") ? complex_sampled(i) : i < test_draws(DRAWS)))
            check_draw(test_ctx(state), first + i);
}

/* ---- Bits, new values, several systems ---- */

/* The same bits in every run, and for any number of threads. */
static void iterates_have_the_same_bits_on_any_number_of_threads(void **state)
{
    static const char *const specs[] = {
        "cg:pc=bjacobi",           "bicg:pc=ilu0,domains=3", "bicgstab:pc=ssor,schedule=levels",
        "gmres:pc=jacobi",         "idr:pc=ic0,domains=2",   "lsqr:pc=ilu0,schedule=colours",
        "minres:pc=bjacobi,max=9", "cr:pc=chebyshev",        "idr:pc=spai0"};
    static const char *const devices[] = {"cpu:1", "cpu:2", "cpu:3"};
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        if (!problem_part(i))
            continue;
        tess_complex *first = NULL;
        for (int run = 0; run < 4; run++) {
            complex_system s = complex_open(ctx, 5000, 3, devices[run % 3]);
            complex_solve(&s, specs[i]);
            if (!first) {
                first = s.x;
                s.x = NULL;
            } else {
                assert_memory_equal(first, s.x, (size_t)s.A->rows * sizeof *first);
            }
            complex_close(&s);
        }
        free(first);
    }
}

/* Divisors without a real part are no breakdown: A is i times a Hermitian matrix. */
static void imaginary_divisors_are_divided_by(void **state)
{
    static const char *const specs[] = {"bicg",        "bicgstab", "gmres",
                                        "fgmres",      "idr",      "bicgstab:pc=bjacobi,side=left",
                                        "bicg:pc=ilu0"};
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        if (!problem_part(i))
            continue;
        complex_system s = complex_open(ctx, 60, 2, "cpu");
        tess_complex *values = s.A->values;
        for (int64_t k = 0; k < tess_matrix_stored(s.A); k++)
            values[k] = (tess_complex){-values[k].im, values[k].re};
        assert_int_equal(tess_plan_update_values(s.plan, values), TESS_OK);
        const tess_result result = complex_solve(&s, specs[i]);
        if (result.reason != TESS_REASON_CONVERGED ||
            !(complex_residual(ctx, s.A, s.b, s.x) < 1.06e-8))
            fail_msg("%s: %s, %s", specs[i], tess_reason_name(result.reason), result.text);
        complex_close(&s);
    }
}

static void several_systems_are_solved_together(void **state)
{
    static const char *const specs[] = {"cg:pc=jacobi,tol=1e-11",
                                        "bicg:pc=ilu0,tol=1e-11",
                                        "bicgstab:pc=ssor,tol=1e-11",
                                        "gmres:tol=1e-11",
                                        "auto",
                                        "cg:pc=chebyshev,tol=1e-11"};
    enum { SYSTEMS = 3 };
    tess_ctx *ctx = test_ctx(state);
    complex_system s = complex_open(ctx, 101, 4, "cpu:2");
    const int64_t n = s.A->rows, ld = n + 5;
    tess_complex *B = complex_vector(SYSTEMS * ld, TESS_C64, 5);
    tess_complex *X = calloc((size_t)(SYSTEMS * ld), sizeof *X);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        if (!problem_part(i))
            continue;
        tess_solver *solver;
        tess_result results[SYSTEMS];
        memset(X, 0, (size_t)(SYSTEMS * ld) * sizeof *X);
        assert_int_equal(tess_solver_create(s.plan, specs[i], &solver), TESS_OK);
        if (tess_solver_solve_many(solver, SYSTEMS, B, ld, X, ld, results) != TESS_OK)
            fail_msg("%s: %s", specs[i], tess_ctx_error(ctx));
        for (int j = 0; j < SYSTEMS; j++)
            if (results[j].reason != TESS_REASON_CONVERGED ||
                !(complex_residual(ctx, s.A, B + j * ld, X + j * ld) < 1.06e-8))
                fail_msg("%s, system %d: %s", specs[i], j, results[j].text);
        tess_solver_destroy(solver);
    }
    free(B);
    free(X);
    complex_close(&s);
}

/* After new values in the same pattern, the preconditioner and its transposes are computed again.
 */
static void new_values_are_taken(void **state)
{
    static const char *const specs[] = {"gmres:pc=bjacobi",
                                        "gmres:pc=ilu0",
                                        "bicg:pc=ic0",
                                        "bicgstab:pc=ssor,schedule=levels,pc_type=f32",
                                        "auto",
                                        "bicg:pc=spai0",
                                        "cg:pc=chebyshev"};
    tess_ctx *ctx = test_ctx(state);
    complex_system s = complex_open(ctx, 67, 3, "cpu");
    tess_complex *values = s.A->values;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        if (!problem_part(i))
            continue;
        tess_solver *solver;
        tess_result result;
        assert_int_equal(tess_solver_create(s.plan, specs[i], &solver), TESS_OK);
        for (int round = 0; round < 2; round++) {
            for (int64_t k = 0; k < tess_matrix_stored(s.A); k++)
                values[k] = (tess_complex){3 * values[k].re, 3 * values[k].im};
            assert_int_equal(tess_solver_update(solver, values), TESS_OK);
            memset(s.x, 0, (size_t)s.A->rows * sizeof *s.x);
            assert_int_equal(tess_solver_solve(solver, s.b, s.x, &result), TESS_OK);
            if (result.reason != TESS_REASON_CONVERGED ||
                !(complex_residual(ctx, s.A, s.b, s.x) < 1.06e-8))
                fail_msg("%s: %s", specs[i], result.text);
        }
        tess_solver_destroy(solver);
    }
    complex_close(&s);
}

/* ---- auto ---- */

static void auto_solves_what_it_claims(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 1; seed <= test_draws(40); seed++) {
        const bool hermitian = seed % 2;
        const tess_type type = seed % 5 ? TESS_C64 : TESS_C32;
        const int32_t block = 1 + (int32_t)below(seed, 1, 8);
        const int64_t n = 1 + below(seed, 2, 150);
        tess_matrix *A = complex_matrix(ctx, n, block, hermitian, type, seed);
        tess_device *device = problem_device(ctx, "cpu");
        tess_plan *plan = complex_plan(ctx, A, device);
        tess_solver *solver;
        tess_result result;
        void *b = complex_vector(n, type, seed), *x = calloc((size_t)n, sizeof(tess_complex));
        assert_int_equal(
            tess_solver_create(plan, type == TESS_C64 ? "auto" : "auto:tol=1e-5", &solver),
            TESS_OK);
        assert_int_equal(tess_solver_solve(solver, b, x, &result), TESS_OK);
        const double residual = complex_residual(ctx, A, b, x);
        const char *expected = hermitian ? "cg:pc=bjacobi" : "bicgstab:pc=ilu0";
        if (result.reason != TESS_REASON_CONVERGED ||
            !(residual <= (type == TESS_C64 ? 1.01e-8 : 1.01e-5)) ||
            strncmp(tess_solver_spec(solver), expected, strlen(expected)) != 0)
            fail_msg("seed %llu: %s by %s, |b - Ax|/|b| = %g", (unsigned long long)seed,
                     result.text, tess_solver_spec(solver), residual);
        tess_solver_destroy(solver);
        tess_plan_destroy(plan);
        tess_device_close(device);
        tess_matrix_destroy(A);
        free(b);
        free(x);
    }
}

/* More rows than columns, and no solution: A^H r is 0 for the x that is found. */
static void least_squares_are_found(void **state)
{
    static const int64_t rows[] = {0, 1, 1, 2}, columns[] = {0, 0, 1, 1};
    static const tess_complex values[] = {{1, 1}, {0, 2}, {3, 0}, {1, -1}};
    static const tess_complex b[] = {{1, 0}, {0, 1}, {2, 2}};
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_C64, 3, 2, 4, rows, columns, values, &A),
                     TESS_OK);
    tess_device *device = problem_device(ctx, "cpu");
    tess_plan *plan = complex_plan(ctx, A, device);
    static const char *const specs[] = {"lsqr:tol=1e-12", "auto"};
    for (int i = 0; i < 2; i++) {
        tess_complex x[2] = {{0, 0}, {0, 0}}, r[3], normal[2];
        tess_result result;
        assert_int_equal(tess_solve(plan, specs[i], b, x, &result), TESS_OK);
        assert_int_equal(result.reason, TESS_REASON_LEAST_SQUARES);
        memcpy(r, b, sizeof r);
        assert_int_equal(tess_spmv(plan, -1, x, 1, r), TESS_OK);
        assert_int_equal(tess_spmv_complex(plan, TESS_OPERATION_CONJUGATE_TRANSPOSE,
                                           (tess_complex){1, 0}, r, (tess_complex){0, 0}, normal),
                         TESS_OK);
        for (int j = 0; j < 2; j++)
            assert_true(hypot(normal[j].re, normal[j].im) < 1e-6);
    }
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(systems_drawn_at_random_are_solved),
        cmocka_unit_test(iterates_have_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(imaginary_divisors_are_divided_by),
        cmocka_unit_test(several_systems_are_solved_together),
        cmocka_unit_test(new_values_are_taken),
        cmocka_unit_test(auto_solves_what_it_claims),
        cmocka_unit_test(least_squares_are_found),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
