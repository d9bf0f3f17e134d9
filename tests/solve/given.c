/* The caller's operators and preconditioners, and ours used alone. */
#include <math.h>
#include <string.h>

#include "problems.h"

/* A generated matrix applied by the caller, and how often. */
typedef struct caller {
    tess_plan *plan;
    int64_t calls, fails_at;
} caller;

static tess_status apply_matrix(void *user, int transpose, const void *x, void *y)
{
    caller *c = user;
    if (c->calls++ == c->fails_at)
        return TESS_ERR_CANCELLED;
    return transpose ? tess_spmv_transpose(c->plan, 1, x, 0, y) : tess_spmv(c->plan, 1, x, 0, y);
}

/* z = r / 4, any size. */
typedef struct scaling {
    int64_t rows, calls, fails_at;
} scaling;

static tess_status apply_scaling(void *user, int transpose, const void *r, void *z)
{
    scaling *s = user;
    (void)transpose;
    if (s->calls++ == s->fails_at)
        return TESS_ERR_IO;
    for (int64_t i = 0; i < s->rows; i++)
        ((double *)z)[i] = ((const double *)r)[i] / 4;
    return TESS_OK;
}

static tess_operator operator_of(const tess_matrix *A, tess_apply_fn apply, void *user)
{
    return (tess_operator){.type = A->type, .rows = A->rows, .apply = apply, .user = user};
}

static double *zeros(int64_t count)
{
    double *x = test_vector(count, TESS_F64, 1);
    memset(x, 0, (size_t)count * sizeof *x);
    return x;
}

static void every_method_solves_with_the_callers_operator_as_with_the_matrix(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_matrix *A;
    void *b;
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=5,b=2", &A, &b), TESS_OK);
    tess_plan *plan, *ours;
    assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
    caller c = {.plan = plan, .fails_at = -1};
    tess_operator given = operator_of(A, apply_matrix, &c);
    assert_int_equal(tess_plan_from_operator(ctx, device, &given, &ours), TESS_OK);
    for (size_t i = 0; tess_methods[i]; i++) {
        if (tess_methods[i]->direct)
            continue;
        scaling s = {.rows = A->rows, .fails_at = -1};
        tess_operator M = operator_of(A, apply_scaling, &s);
        for (int with = 0; with < 2; with++) {
            tess_result ar, br;
            tess_solver *one, *other;
            double *x = zeros(A->rows), *y = zeros(A->rows);
            const char *name = tess_methods[i]->name;
            assert_int_equal(tess_solver_create_with(plan, name, with ? &M : NULL, &one), TESS_OK);
            assert_int_equal(tess_solver_create_with(ours, name, with ? &M : NULL, &other),
                             TESS_OK);
            const int64_t before = c.calls;
            assert_int_equal(tess_solver_solve(one, b, x, &ar), TESS_OK);
            assert_int_equal(tess_solver_solve(other, b, y, &br), TESS_OK);
            if (br.reason != TESS_REASON_CONVERGED || br.iterations != ar.iterations ||
                c.calls == before)
                fail_msg("%s%s: %s after %lld, with the matrix %lld", name, with ? " with M" : "",
                         br.text, (long long)br.iterations, (long long)ar.iterations);
            for (int64_t j = 0; j < A->rows; j++)
                assert_true(fabs(y[j] - 1) < 1e-5); /* b = A 1 */
            assert_true(!with || s.calls > 0);
            tess_solver_destroy(one);
            tess_solver_destroy(other);
            free(x), free(y);
        }
    }
    assert_non_null(strstr(tess_plan_explain(ours), "operator"));
    tess_plan_destroy(ours);
    tess_plan_destroy(plan);
    tess_release(ctx, b);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void a_failing_call_ends_the_solve_with_its_status(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 30, 2, true, TESS_F64, 9), "cpu:2");
    caller c = {.plan = p.plan, .fails_at = 3};
    scaling s = {.rows = p.A->rows, .fails_at = 2};
    tess_operator A = operator_of(p.A, apply_matrix, &c), M = operator_of(p.A, apply_scaling, &s);
    tess_plan *ours;
    tess_solver *solver;
    tess_result result;
    double *x = zeros(p.A->rows);
    assert_int_equal(tess_plan_from_operator(ctx, p.device, &A, &ours), TESS_OK);
    assert_int_equal(tess_solver_create(ours, "cg", &solver), TESS_OK);
    assert_int_equal(tess_solver_solve(solver, p.b, x, &result), TESS_ERR_CANCELLED);
    assert_non_null(strstr(tess_ctx_error(ctx), "operator"));
    tess_solver_destroy(solver);
    assert_int_equal(tess_solver_create_with(p.plan, "gmres", &M, &solver), TESS_OK);
    assert_int_equal(tess_solver_solve(solver, p.b, x, &result), TESS_ERR_IO);
    assert_non_null(strstr(tess_ctx_error(ctx), "preconditioner"));
    memset(x, 0, (size_t)p.A->rows * sizeof *x); /* the next solve is sound */
    assert_int_equal(tess_solver_solve(solver, p.b, x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_CONVERGED);
    tess_solver_destroy(solver);
    tess_plan_destroy(ours);
    free(x);
    problem_close(&p);
}

static void what_needs_entries_is_refused(void **state)
{
    static const char *const specs[] = {
        NULL,           "auto",  "cg:pc=ilu0", "gmres:scale=match", "gmres:order=rcm",
        "cg:inner=f32", "direct"};
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 30, 2, true, TESS_F64, 9), "cpu:2");
    caller c = {.plan = p.plan, .fails_at = -1};
    tess_operator A = operator_of(p.A, apply_matrix, &c);
    tess_plan *ours;
    tess_solver *solver;
    tess_preconditioner *pc;
    assert_int_equal(tess_plan_from_operator(ctx, p.device, &A, &ours), TESS_OK);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        assert_int_equal(tess_solver_create(ours, specs[i], &solver), TESS_ERR_UNSUPPORTED);
        assert_int_equal(tess_solver_create_with(p.plan, specs[i], &A, &solver),
                         TESS_ERR_UNSUPPORTED);
    }
    assert_int_equal(tess_pc_create(ours, "ilu0", &pc), TESS_ERR_UNSUPPORTED);
    tess_operator bad = A;
    bad.rows--;
    assert_int_equal(tess_solver_create_with(p.plan, "cg", &bad, &solver), TESS_ERR_ARGUMENT);
    bad.apply = NULL;
    assert_int_equal(tess_plan_from_operator(ctx, p.device, &bad, &ours), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_plan_from_operator(ctx, p.device, NULL, &ours), TESS_ERR_ARGUMENT);
    tess_plan_destroy(ours);
    problem_close(&p);
}

/* gmres with our preconditioner through tess_pc_apply takes the same steps as with pc=. */
static tess_status apply_ours(void *user, int transpose, const void *r, void *z)
{
    return transpose ? TESS_ERR_UNSUPPORTED : tess_pc_apply(user, r, z);
}

static void our_preconditioners_serve_alone(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 30, 2, true, TESS_F64, 9), "cpu:2");
    for (size_t i = 0; tess_pcs[i]; i++) {
        tess_preconditioner *pc;
        tess_solver *one, *other;
        tess_result ar, br;
        char spec[80];
        snprintf(spec, sizeof spec, "gmres:pc=%s", tess_pcs[i]->name);
        if (tess_pc_create(p.plan, tess_pcs[i]->name, &pc) != TESS_OK) {
            assert_true(tess_pcs[i]->complete); /* SuiteSparse is not installed */
            continue;
        }
        assert_int_equal(tess_pc_update(pc, NULL), TESS_OK);
        tess_operator M = operator_of(p.A, apply_ours, pc);
        double *x = zeros(p.A->rows), *y = zeros(p.A->rows);
        assert_int_equal(tess_solver_create(p.plan, spec, &one), TESS_OK);
        assert_int_equal(tess_solver_create_with(p.plan, "gmres", &M, &other), TESS_OK);
        assert_int_equal(tess_solver_solve(one, p.b, x, &ar), TESS_OK);
        assert_int_equal(tess_solver_solve(other, p.b, y, &br), TESS_OK);
        if (br.reason != TESS_REASON_CONVERGED || br.iterations != ar.iterations)
            fail_msg("%s: %lld iterations, with pc= %lld", spec, (long long)br.iterations,
                     (long long)ar.iterations);
        tess_solver_destroy(one);
        tess_solver_destroy(other);
        tess_pc_destroy(pc);
        free(x), free(y);
    }
    tess_preconditioner *pc;
    assert_int_equal(tess_pc_create(p.plan, "ssor:omega=1.2,schedule=levels", &pc), TESS_OK);
    assert_int_equal(tess_pc_apply(pc, NULL, p.b), TESS_ERR_ARGUMENT);
    tess_pc_destroy(pc);
    assert_int_equal(tess_pc_create(p.plan, "ilu0:tol=1e-3", &pc), TESS_ERR_OPTION);
    assert_int_equal(tess_pc_create(p.plan, "ilu", &pc), TESS_ERR_OPTION);
    assert_int_equal(tess_pc_create(p.plan, NULL, &pc), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_pc_create(NULL, "ilu0", &pc), TESS_ERR_ARGUMENT);
    tess_pc_destroy(NULL);
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        pc = NULL;
        status = tess_pc_create(p.plan, "ilu0", &pc);
        tess_pc_destroy(pc);
    } while (test_sweep_goes_on(&sweep, status));
    problem_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_solves_with_the_callers_operator_as_with_the_matrix),
        cmocka_unit_test(a_failing_call_ends_the_solve_with_its_status),
        cmocka_unit_test(what_needs_entries_is_refused),
        cmocka_unit_test(our_preconditioners_serve_alone),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
