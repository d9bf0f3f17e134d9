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
            if (br.reason != TESS_CONVERGED || br.iterations != ar.iterations || c.calls == before)
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
    assert_int_equal(result.reason, TESS_CONVERGED);
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

static tess_status apply_ours(void *user, int transpose, const void *r, void *z)
{
    return transpose ? tess_pc_apply_transpose(user, r, z) : tess_pc_apply(user, r, z);
}

/* `method` with our preconditioner through tess_pc_apply takes the same steps as with pc=. */
static void check_steps(problem *p, const char *method, const char *name, tess_preconditioner *pc)
{
    tess_solver *one, *other;
    tess_result ar, br;
    char spec[80];
    tess_operator M = operator_of(p->A, apply_ours, pc);
    double *x = zeros(p->A->rows), *y = zeros(p->A->rows);
    snprintf(spec, sizeof spec, "%s:pc=%s", method, name);
    assert_int_equal(tess_solver_create(p->plan, spec, &one), TESS_OK);
    assert_int_equal(tess_solver_create_with(p->plan, method, &M, &other), TESS_OK);
    assert_int_equal(tess_solver_solve(one, p->b, x, &ar), TESS_OK);
    assert_int_equal(tess_solver_solve(other, p->b, y, &br), TESS_OK);
    if (br.reason != TESS_CONVERGED || br.iterations != ar.iterations)
        fail_msg("%s: %lld iterations, with pc= %lld", spec, (long long)br.iterations,
                 (long long)ar.iterations);
    tess_solver_destroy(one);
    tess_solver_destroy(other);
    free(x), free(y);
}

/* u.(M^-1 v) = (M^-T u).v, of a matrix that is not symmetric, for factors in every schedule. */
static void transposes_are_those_of_the_preconditioner(void **state)
{
    static const char *const specs[] = {"none",
                                        "jacobi",
                                        "bjacobi",
                                        "spai0",
                                        "ssor:omega=1.2",
                                        "ilu0:schedule=domains,domains=3",
                                        "ilu0:schedule=levels",
                                        "ilu0:schedule=colours",
                                        "iluk:levels=2",
                                        "ilut",
                                        "ssor:schedule=colours,pc_type=f32"};
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 40, 3, false, TESS_F64, 17), "cpu:2");
    const int64_t n = p.A->rows;
    double *v = zeros(n), *u = zeros(n), *Mv = zeros(n), *Mu = zeros(n);
    for (int64_t i = 0; i < n; i++) {
        v[i] = sin(1.0 + (double)i);
        u[i] = cos(2.0 * (double)i);
    }
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        tess_preconditioner *pc;
        double one = 0, other = 0, size = 0;
        assert_int_equal(tess_pc_create(p.plan, specs[s], &pc), TESS_OK);
        assert_int_equal(tess_pc_apply_transpose(pc, u, Mu), TESS_OK);
        assert_int_equal(tess_pc_apply(pc, v, Mv), TESS_OK);
        for (int64_t i = 0; i < n; i++) {
            one += u[i] * Mv[i];
            other += Mu[i] * v[i];
            size += fabs(u[i] * Mv[i]) + fabs(Mu[i] * v[i]);
        }
        const double rounding = strstr(specs[s], "f32") ? 0x1p-24 : 0x1p-53;
        if (!(fabs(one - other) <= 100 * rounding * size))
            fail_msg("%s: %.17g and with the transpose %.17g", specs[s], one, other);
        tess_pc_destroy(pc);
    }
    free(v), free(u), free(Mv), free(Mu);
    problem_close(&p);
}

/* What was there before a call that failed is still applied. */
static void a_transpose_that_fails_leaves_the_preconditioner(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 30, 2, false, TESS_F64, 3), "cpu:2");
    const int64_t n = p.A->rows;
    double *before = zeros(n), *z = zeros(n), *zt = zeros(n);
    tess_preconditioner *pc;
    tess_status status;
    assert_int_equal(tess_pc_create(p.plan, "ilu0:schedule=levels", &pc), TESS_OK);
    assert_int_equal(tess_pc_apply(pc, p.b, before), TESS_OK);
    tess_pc_destroy(pc);
    test_sweep sweep = test_sweep_begin(state);
    do {
        const int64_t failed = sweep.failed;
        test_fail_allocation(state, -1);
        assert_int_equal(tess_pc_create(p.plan, "ilu0:schedule=levels", &pc), TESS_OK);
        test_fail_allocation(state, failed);
        status = tess_pc_apply_transpose(pc, p.b, zt);
        test_fail_allocation(state, -1);
        assert_int_equal(tess_pc_apply(pc, p.b, z), TESS_OK);
        assert_memory_equal(before, z, (size_t)n * sizeof *z);
        tess_pc_destroy(pc);
    } while (test_sweep_goes_on(&sweep, status));
    assert_true(sweep.failed > 0);
    free(before), free(z), free(zt);
    problem_close(&p);
}

/* Modes change what amg is, and are those of a solver with the same ones. */
static void modes_reach_amg_alone(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 30, 2, true, TESS_F64, 9), "cpu:2");
    const int64_t n = p.A->rows;
    double *modes = zeros(3 * n), *one = zeros(n), *other = zeros(n);
    tess_preconditioner *pc;
    for (int64_t i = 0; i < n; i++) {
        modes[(i % 2) * n + i] = 1.0;
        modes[2 * n + i] = (double)i;
    }
    assert_int_equal(tess_pc_create(p.plan, "ilu0", &pc), TESS_OK);
    assert_int_equal(tess_pc_set_modes(pc, 3, modes, n), TESS_ERR_UNSUPPORTED);
    tess_pc_destroy(pc);
    assert_int_equal(tess_pc_create(p.plan, "amg:bottom=8", &pc), TESS_OK);
    assert_int_equal(tess_pc_set_modes(pc, 0, modes, n), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_pc_set_modes(pc, 3, NULL, n), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_pc_set_modes(pc, 3, modes, n - 1), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_pc_apply(pc, p.b, one), TESS_OK);
    assert_int_equal(tess_pc_set_modes(pc, 3, modes, n), TESS_OK);
    assert_string_equal(tess_pc_describe(pc), ""); /* it is made when it is next applied */
    assert_int_equal(tess_pc_apply(pc, p.b, other), TESS_OK);
    assert_memory_not_equal(one, other, (size_t)n * sizeof *one);

    tess_solver *solver;
    tess_result result;
    double *x = zeros(n); /* one step of cg from 0: a multiple of M^-1 b */
    assert_int_equal(tess_solver_create(p.plan, "cg:pc=amg,bottom=8,max=1", &solver), TESS_OK);
    assert_int_equal(tess_solver_set_modes(solver, 3, modes, n), TESS_OK);
    assert_int_equal(tess_solver_solve(solver, p.b, x, &result), TESS_OK);
    for (int64_t i = 1; i < n; i++)
        if (fabs(x[i] * other[0] - x[0] * other[i]) > 1e-12 * fabs(x[0] * other[0]) * (double)n)
            fail_msg("row %lld: %g of %g, and %g of %g", (long long)i, x[i], x[0], other[i],
                     other[0]);
    tess_solver_destroy(solver);
    tess_pc_destroy(pc);
    free(modes), free(one), free(other), free(x);
    problem_close(&p);
}

static void our_preconditioners_serve_alone(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 30, 2, true, TESS_F64, 9), "cpu:2");
    for (size_t i = 0; tess_pcs[i]; i++) {
        tess_preconditioner *pc;
        const char *name = tess_pcs[i]->name;
        if (tess_pc_create(p.plan, name, &pc) != TESS_OK) {
            assert_true(tess_pcs[i]->complete); /* SuiteSparse is not installed */
            continue;
        }
        assert_int_equal(tess_pc_update(pc, NULL), TESS_OK);
        check_steps(&p, "gmres", name, pc);
        check_steps(&p, "bicg", name, pc); /* M^-T too */
        assert_int_equal(tess_pc_update(pc, NULL), TESS_OK);
        check_steps(&p, "bicg", name, pc);
        assert_int_equal(*tess_pc_describe(pc) != 0, tess_pcs[i]->describe != NULL);
        tess_pc_destroy(pc);
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
        cmocka_unit_test(transposes_are_those_of_the_preconditioner),
        cmocka_unit_test(a_transpose_that_fails_leaves_the_preconditioner),
        cmocka_unit_test(modes_reach_amg_alone),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
