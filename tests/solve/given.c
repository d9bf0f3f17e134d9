/* The caller's operators and preconditioners. With TEST_DEVICE=cuda vectors
 * are device memory and calls get the solver's stream. */
#include <math.h>
#include <string.h>

#include "problems.h"

/* A matrix that the caller applies, and how often. */
typedef struct caller {
    tess_plan *plan;
    int64_t calls, fails_at;
    tess_status fails_with;
    bool streams; /* calls must come with a stream */
} caller;

static tess_status apply_matrix(void *user, int transpose, const void *x, void *y, void *stream)
{
    caller *c = user;
    assert_int_equal(stream != NULL, c->streams);
    if (c->calls++ == c->fails_at)
        return c->fails_with;
    return transpose ? tess_spmv_transpose(c->plan, 1, x, 0, y) : tess_spmv(c->plan, 1, x, 0, y);
}

static bool on_host(const problem *p)
{
    return p->device->threads > 0;
}

static caller caller_of(const problem *p, tess_plan *plan)
{
    return (caller){.plan = plan, .fails_at = -1, .streams = !on_host(p)};
}

static tess_operator operator_of(const tess_matrix *A, tess_apply_fn apply, void *user)
{
    return (tess_operator){.type = A->type, .rows = A->rows, .apply = apply, .user = user};
}

/* z = r / 4 as a matrix with a plan, for M. */
typedef struct quarter {
    tess_matrix *D;
    tess_plan *plan;
} quarter;

static quarter quarter_open(tess_ctx *ctx, const problem *p)
{
    const tess_plan_options quick = {.effort = TESS_EFFORT_ESTIMATE};
    const int64_t n = p->A->rows;
    int64_t *offsets = malloc((size_t)(n + 1) * sizeof *offsets);
    int32_t *columns = malloc((size_t)n * sizeof *columns);
    double *values = malloc((size_t)n * sizeof *values);
    for (int64_t i = 0; i < n; i++) {
        offsets[i] = i;
        columns[i] = (int32_t)i;
        values[i] = 0.25;
    }
    offsets[n] = n;
    quarter q;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, n, n, offsets, columns, values,
                                          TESS_OWNERSHIP_COPY, &q.D),
                     TESS_OK);
    assert_int_equal(tess_plan_create(ctx, q.D, p->device, &quick, &q.plan), TESS_OK);
    free(offsets), free(columns), free(values);
    return q;
}

static void quarter_close(quarter *q)
{
    tess_plan_destroy(q->plan);
    tess_matrix_destroy(q->D);
}

/* Checks that a method converges with the caller's A (and M) as with the matrix. */
static void check_method(const problem *p, const char *name, tess_plan *ours,
                         const tess_operator *M)
{
    tess_result ar, br;
    tess_solver *one, *other;
    double *x = problem_zeros(p->A->rows), *y = problem_zeros(p->A->rows);
    assert_int_equal(tess_solver_create_with(p->plan, name, M, &one), TESS_OK);
    assert_int_equal(tess_solver_create_with(ours, name, M, &other), TESS_OK);
    assert_int_equal(tess_solver_solve(one, p->b, x, &ar), TESS_OK);
    assert_int_equal(tess_solver_solve(other, p->b, y, &br), TESS_OK);
    /* A device's product sums its dots in another order than a pass does. */
    if (br.reason != TESS_REASON_CONVERGED ||
        llabs(br.iterations - ar.iterations) > (on_host(p) ? 0 : 2))
        fail_msg("%s%s: %s after %lld, with the matrix %lld", name, M ? " with M" : "", br.text,
                 (long long)br.iterations, (long long)ar.iterations);
    if (distance(y, p->exact, p->A->rows) > 1e-5)
        fail_msg("%s%s: x is off by %g", name, M ? " with M" : "",
                 distance(y, p->exact, p->A->rows));
    tess_solver_destroy(one);
    tess_solver_destroy(other);
    free(x), free(y);
}

static void every_method_solves_with_the_callers_operator_as_with_the_matrix(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 30, 2, true, TESS_F64, 9), "cpu");
    quarter q = quarter_open(ctx, &p);
    for (size_t i = 0; tess_methods[i]; i++) {
        if (tess_methods[i]->pc || !problem_has(&p, tess_methods[i]->name) || !problem_part(i))
            continue;
        for (int with = 0; with < 4; with++) {
            caller a = caller_of(&p, p.plan), m = caller_of(&p, q.plan);
            tess_operator A = operator_of(p.A, apply_matrix, &a);
            tess_operator M = operator_of(p.A, apply_matrix, &m);
            tess_plan *ours;
            A.capturable = M.capturable = with / 2;
            assert_int_equal(tess_plan_from_operator(ctx, p.device, &A, &ours), TESS_OK);
            check_method(&p, tess_methods[i]->name, ours, with % 2 ? &M : NULL);
            assert_true(a.calls > 0 && (m.calls > 0) == (with % 2));
            assert_non_null(strstr(tess_plan_explain(ours), "operator"));
            tess_plan_destroy(ours);
        }
    }
    quarter_close(&q);
    problem_close(&p);
}

/* Counts the applications of A in a solve by cg. */
static int64_t count_calls(tess_ctx *ctx, const problem *p, int capturable, int64_t *iterations)
{
    caller a = caller_of(p, p->plan);
    tess_operator A = operator_of(p->A, apply_matrix, &a);
    tess_plan *ours;
    tess_solver *solver;
    tess_result result;
    double *x = problem_zeros(p->A->rows);
    A.capturable = capturable;
    assert_int_equal(tess_plan_from_operator(ctx, p->device, &A, &ours), TESS_OK);
    assert_int_equal(tess_solver_create(ours, "cg:tol=1e-13", &solver), TESS_OK);
    assert_int_equal(tess_solver_solve(solver, p->b, x, &result), TESS_OK);
    memset(x, 0, (size_t)p->A->rows * sizeof *x);
    a.calls = 0; /* all that is made once exists now */
    assert_int_equal(tess_solver_solve(solver, p->b, x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_CONVERGED);
    *iterations = result.iterations;
    tess_solver_destroy(solver);
    tess_plan_destroy(ours);
    free(x);
    return a.calls;
}

static void calls_are_as_many_as_applications_unless_they_can_be_captured(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    assert_int_equal(tess_matrix_generate(ctx, "diffusion:n=7,jump=100", &A, NULL), TESS_OK);
    problem p = problem_open(ctx, A, "cpu");
    int64_t iterations, called = count_calls(ctx, &p, 0, &iterations);
    assert_true(iterations > 20);
    /* One per iteration, one for the residual at the beginning and one for the recomputed one at
     * the end. */
    assert_in_range(called, iterations + 1, iterations + 4);
    called = count_calls(ctx, &p, 1, &iterations);
    if (on_host(&p))
        assert_in_range(called, iterations + 1, iterations + 4);
    else
        assert_true(called < iterations / 2); /* graphs repeat the rest */
    problem_close(&p);
}

static void products_of_the_callers_operator_take_alpha_and_beta(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 30, 2, false, TESS_F64, 4), "cpu");
    caller c = caller_of(&p, p.plan);
    tess_operator A = operator_of(p.A, apply_matrix, &c);
    tess_plan *ours;
    double *x = test_vector(p.A->rows, TESS_F64, 3);
    assert_int_equal(tess_plan_from_operator(ctx, p.device, &A, &ours), TESS_OK);
    static const double factors[][2] = {{1, 0}, {-2, 0}, {0.5, 3}, {1, 1}};
    for (int i = 0; i < 8; i++) {
        double *y = test_vector(p.A->rows, TESS_F64, 5), *z = test_vector(p.A->rows, TESS_F64, 5);
        const double alpha = factors[i / 2][0], beta = factors[i / 2][1];
        tess_status (*const product)(tess_plan *, double, const void *, double, void *) =
            i % 2 ? tess_spmv_transpose : tess_spmv;
        assert_int_equal(product(p.plan, alpha, x, beta, y), TESS_OK);
        assert_int_equal(product(ours, alpha, x, beta, z), TESS_OK);
        assert_true(distance(z, y, p.A->rows) < 1e-14);
        free(y), free(z);
    }
    tess_plan_destroy(ours);
    free(x);
    problem_close(&p);
}

static void a_failing_call_ends_the_solve_with_its_status(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 30, 2, true, TESS_F64, 9), "cpu");
    quarter q = quarter_open(ctx, &p);
    for (int capturable = 0; capturable < 2; capturable++) {
        caller a = caller_of(&p, p.plan), m = caller_of(&p, q.plan);
        tess_operator A = operator_of(p.A, apply_matrix, &a),
                      M = operator_of(p.A, apply_matrix, &m);
        tess_plan *ours;
        tess_solver *solver;
        tess_result result;
        double *x = problem_zeros(p.A->rows);
        A.capturable = M.capturable = capturable;
        a.fails_at = 3, a.fails_with = TESS_ERR_CANCELLED;
        m.fails_at = 2, m.fails_with = TESS_ERR_IO;
        assert_int_equal(tess_plan_from_operator(ctx, p.device, &A, &ours), TESS_OK);
        assert_int_equal(tess_solver_create(ours, "cg", &solver), TESS_OK);
        assert_int_equal(tess_solver_solve(solver, p.b, x, &result), TESS_ERR_CANCELLED);
        assert_non_null(strstr(tess_ctx_error(ctx), "operator"));
        tess_solver_destroy(solver);
        assert_int_equal(tess_solver_create_with(p.plan, "gmres", &M, &solver), TESS_OK);
        assert_int_equal(tess_solver_solve(solver, p.b, x, &result), TESS_ERR_IO);
        assert_non_null(strstr(tess_ctx_error(ctx), "preconditioner"));
        memset(x, 0, (size_t)p.A->rows * sizeof *x); /* the next solve must succeed */
        assert_int_equal(tess_solver_solve(solver, p.b, x, &result), TESS_OK);
        assert_int_equal(result.reason, TESS_REASON_CONVERGED);
        tess_solver_destroy(solver);
        tess_plan_destroy(ours);
        free(x);
    }
    quarter_close(&q);
    problem_close(&p);
}

static void what_needs_entries_is_refused(void **state)
{
    static const char *const specs[] = {
        NULL,           "auto",  "cg:pc=ilu0", "gmres:scale=match", "gmres:order=rcm",
        "cg:inner=f32", "direct"};
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 30, 2, true, TESS_F64, 9), "cpu");
    caller c = caller_of(&p, p.plan);
    tess_operator A = operator_of(p.A, apply_matrix, &c);
    tess_plan *ours, *none;
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
    bad.bytes = NAN;
    assert_int_equal(tess_plan_from_operator(ctx, p.device, &bad, &none), TESS_ERR_ARGUMENT);
    bad.apply = NULL;
    assert_int_equal(tess_plan_from_operator(ctx, p.device, &bad, &none), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_plan_from_operator(ctx, p.device, NULL, &none), TESS_ERR_ARGUMENT);
    tess_device *profile = test_device(ctx, "profile:h200");
    assert_int_equal(tess_plan_from_operator(ctx, profile, &A, &none), TESS_ERR_UNSUPPORTED);
    tess_device_close(profile);
    tess_plan_destroy(ours);
    problem_close(&p);
}

/* A system of least squares: the last row of A is 0, and b is not 0 there. |A| of an operator is
 * not known. What is taken for it is at most |A| and not much less, so that the end is the same. */
static void least_squares_of_an_operator_are_judged_by_its_products(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *matrix = problem_matrix(ctx, 15, 2, false, TESS_F64, 9);
    const int64_t last = matrix->block_rows - 1;
    for (int64_t k = 4 * matrix->row_offsets[last]; k < 4 * matrix->row_offsets[last + 1]; k++)
        ((double *)matrix->values)[k] = 0;
    problem p = problem_open(ctx, matrix, "cpu");
    quarter q = quarter_open(ctx, &p);
    caller c = caller_of(&p, p.plan), m = caller_of(&p, q.plan);
    const tess_operator A = operator_of(p.A, apply_matrix, &c),
                        M = operator_of(p.A, apply_matrix, &m);
    tess_plan *ours;
    assert_int_equal(tess_plan_from_operator(ctx, p.device, &A, &ours), TESS_OK);
    for (int i = 0; i < 4; i++) {
        static const char *const specs[] = {"lsqr", "lsqr:max=2"};
        tess_result results[2];
        for (int j = 0; j < 2; j++) {
            tess_solver *solver;
            memset(p.x, 0, (size_t)p.A->rows * sizeof *p.x);
            assert_int_equal(tess_solver_create_with(j ? ours : p.plan, specs[i % 2],
                                                     i < 2 ? NULL : &M, &solver),
                             TESS_OK);
            assert_int_equal(tess_solver_solve(solver, p.b, p.x, &results[j]), TESS_OK);
            tess_solver_destroy(solver);
        }
        const double ratio = results[1].normal_residual / results[0].normal_residual;
        if (results[0].reason != results[1].reason ||
            results[0].reason !=
                (i % 2 ? TESS_REASON_ITERATION_LIMIT : TESS_REASON_LEAST_SQUARES) ||
            (i % 2 && !(ratio >= 1 && ratio < 10)))
            fail_msg("%d: %s; the operator: %s, %g |A||r| instead of %g", i, results[0].text,
                     results[1].text, results[1].normal_residual, results[0].normal_residual);
    }
    tess_plan_destroy(ours);
    quarter_close(&q);
    problem_close(&p);
}

/* Creates and uses all that a caller's operator and preconditioner need. */
static tess_status whole_life(tess_ctx *ctx, const problem *p, const tess_operator *A,
                              const tess_operator *M, double *x)
{
    tess_plan *ours = NULL;
    tess_solver *solver = NULL;
    tess_result result;
    memset(x, 0, (size_t)p->A->rows * sizeof *x);
    tess_status status = tess_plan_from_operator(ctx, p->device, A, &ours);
    if (status == TESS_OK)
        status = tess_spmv(ours, 2, p->b, 0, x);
    if (status == TESS_OK)
        status = tess_solver_create_with(ours, "cg", M, &solver);
    memset(x, 0, (size_t)p->A->rows * sizeof *x);
    if (status == TESS_OK)
        status = tess_solver_solve(solver, p->b, x, &result);
    tess_solver_destroy(solver);
    tess_plan_destroy(ours);
    return status;
}

static void allocation_failures_leave_nothing(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 12, 2, true, TESS_F64, 9), "cpu");
    quarter q = quarter_open(ctx, &p);
    caller a = caller_of(&p, p.plan), m = caller_of(&p, q.plan);
    const tess_operator A = operator_of(p.A, apply_matrix, &a),
                        M = operator_of(p.A, apply_matrix, &m);
    double *x = problem_zeros(p.A->rows);
    assert_int_equal(whole_life(ctx, &p, &A, &M, x), TESS_OK); /* code is compiled once */
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        status = whole_life(ctx, &p, &A, &M, x);
    } while (test_sweep_goes_on(&sweep, status));
    free(x);
    quarter_close(&q);
    problem_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_solves_with_the_callers_operator_as_with_the_matrix),
        cmocka_unit_test(calls_are_as_many_as_applications_unless_they_can_be_captured),
        cmocka_unit_test(products_of_the_callers_operator_take_alpha_and_beta),
        cmocka_unit_test(a_failing_call_ends_the_solve_with_its_status),
        cmocka_unit_test(what_needs_entries_is_refused),
        cmocka_unit_test(least_squares_of_an_operator_are_judged_by_its_products),
        cmocka_unit_test(allocation_failures_leave_nothing),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
