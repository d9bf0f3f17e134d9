/* Solvers, preconditioners and products on plans that permute inside. With TEST_DEVICE=cuda the
 * vectors are device memory too. */
#include <math.h>
#include <string.h>

#include "unit/matrix/hidden.h"
#include "plan/regrouped.h"
#include "problems.h"

/* Elasticity, whose unknowns are numbered by fields or by chance; b = A x of a known x. */
typedef struct hidden_problem {
    tess_matrix *A;
    tess_device *device;
    tess_plan *plan; /* that permutes inside */
    double *b, *x, *exact;
} hidden_problem;

static const char *device_name(void)
{
    const char *name = getenv("TEST_DEVICE");
    return name ? name : "cpu:2";
}

static hidden_problem open_hidden(tess_ctx *ctx, bool fields)
{
    const tess_plan_options on = {.effort = TESS_EFFORT_ESTIMATE, .regroup = TESS_REGROUP_ON};
    tess_device *ref = test_device(ctx, "ref");
    hidden_problem h = {.device = test_device(ctx, device_name())};
    tess_matrix *G;
    tess_plan *truth;
    assert_int_equal(tess_matrix_generate(ctx, "gen:elasticity:n=4", &G, NULL), TESS_OK);
    int64_t *perm = fields ? by_fields(G->rows, 3) : by_chance(G->rows, 7);
    h.A = hide(ctx, G, perm);
    if (tess_plan_create(ctx, h.A, h.device, &on, &h.plan) != TESS_OK)
        fail_msg("%s", tess_ctx_error(ctx));
    h.exact = test_vector(h.A->rows, TESS_F64, 1);
    h.b = test_vector(h.A->rows, TESS_F64, 2);
    h.x = calloc((size_t)h.A->rows, sizeof *h.x);
    assert_int_equal(tess_plan_create(ctx, h.A, ref, NULL, &truth), TESS_OK);
    assert_int_equal(tess_spmv(truth, 1, h.exact, 0, h.b), TESS_OK);
    tess_plan_destroy(truth);
    tess_device_close(ref);
    tess_matrix_destroy(G);
    free(perm);
    return h;
}

static void close_hidden(hidden_problem *h)
{
    tess_plan_destroy(h->plan);
    tess_device_close(h->device);
    tess_matrix_destroy(h->A);
    free(h->b), free(h->x), free(h->exact);
}

static void check_solution(const hidden_problem *h, const char *spec, const tess_result *result,
                           const double *x)
{
    if (result->reason != TESS_REASON_CONVERGED || distance(x, h->exact, h->A->rows) > 1e-5)
        fail_msg("%s: %s, x is off by %g", spec, result->text, distance(x, h->exact, h->A->rows));
}

static bool may(const char *spec)
{
    return problem_may(spec) || !getenv("TEST_DEVICE");
}

static void solve_with(hidden_problem *h, const char *spec)
{
    tess_ctx *ctx = h->A->ctx;
    tess_result result;
    if (!may(spec))
        return;
    memset(h->x, 0, (size_t)h->A->rows * sizeof *h->x);
    if (tess_solve(h->plan, spec, h->b, h->x, &result) != TESS_OK)
        fail_msg("%s: %s", spec, tess_ctx_error(ctx));
    check_solution(h, spec, &result, h->x);
}

static void attempts_of_auto_are_told(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    hidden_problem h = open_hidden(ctx, true);
    tess_solver *solver;
    tess_result result;
    assert_int_equal(tess_solver_create(h.plan, "auto", &solver), TESS_OK);
    assert_null(tess_solver_spec(solver));
    assert_int_equal(tess_solver_solve(solver, h.b, h.x, &result), TESS_OK);
    check_solution(&h, "auto", &result, h.x);
    assert_non_null(tess_solver_attempt(solver, 0));
    assert_non_null(tess_solver_spec(solver));
    assert_non_null(strstr(tess_solver_attempt(solver, 0), "CONVERGED"));
    tess_solver_destroy(solver);
    close_hidden(&h);
}

static void methods_solve_in_the_inner_order(void **state)
{
    static const char *const specs[] = {"cg:tol=1e-10",
                                        "cg:pc=jacobi,tol=1e-10",
                                        "bicgstab:pc=jacobi,tol=1e-10",
                                        "gmres:pc=jacobi,tol=1e-10",
                                        "cg:pc=ic0,tol=1e-10",
                                        "cg:pc=amg,tol=1e-10",
                                        "cg:pc=jacobi,inner=f32,tol=1e-10",
                                        "gmres:pc=ilu0,scale=equilibrate,order=rcm,tol=1e-10",
                                        "auto:tol=1e-10"};
    for (int fields = 0; fields < 2; fields++) {
        hidden_problem h = open_hidden(test_ctx(state), fields);
        assert_non_null(h.plan->inner);
        for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
            solve_with(&h, specs[i]);
        close_hidden(&h);
    }
}

/* A copy in the memory of the device, where it has one. */
static double *to_device(const hidden_problem *h, const double *x, int64_t count)
{
    void *there;
    assert_int_equal(tess_device_alloc(h->device, (size_t)count * sizeof *x, &there), TESS_OK);
    assert_int_equal(tess_device_copy_to(h->device, there, x, (size_t)count * sizeof *x), TESS_OK);
    return there;
}

static void from_device(const hidden_problem *h, double *x, double *there, int64_t count)
{
    assert_int_equal(tess_device_copy_from(h->device, x, there, (size_t)count * sizeof *x),
                     TESS_OK);
    tess_device_free(h->device, there);
}

/* Three systems with gaps between them, and new values between two solves. */
static void several_systems_and_new_values(void **state)
{
    enum { K = 3 };
    tess_ctx *ctx = test_ctx(state);
    hidden_problem h = open_hidden(ctx, false);
    const int64_t n = h.A->rows, ld = n + 2;
    double *B = calloc((size_t)(K * ld), sizeof *B), *X = calloc((size_t)(K * ld), sizeof *X);
    for (int j = 0; j < K; j++)
        for (int64_t i = 0; i < n; i++)
            B[j * ld + i] = (j + 1) * h.b[i];
    tess_solver *solver;
    tess_result results[K];
    assert_int_equal(tess_solver_create(h.plan, "cg:pc=jacobi,tol=1e-10", &solver), TESS_OK);
    double *device_B = to_device(&h, B, K * ld), *device_X = to_device(&h, X, K * ld);
    assert_int_equal(tess_solver_solve_many(solver, K, device_B, ld, device_X, ld, results),
                     TESS_OK);
    from_device(&h, X, device_X, K * ld);
    tess_device_free(h.device, device_B);
    for (int j = 0; j < K; j++) {
        for (int64_t i = 0; i < n; i++)
            h.x[i] = X[j * ld + i] / (j + 1);
        check_solution(&h, "several", &results[j], h.x);
    }
    double *values = malloc((size_t)h.A->blocks * sizeof *values);
    for (int64_t k = 0; k < h.A->blocks; k++)
        values[k] = 2 * tess_matrix_value(h.A, k);
    double *device_values = to_device(&h, values, h.A->blocks);
    assert_int_equal(tess_solver_update(solver, device_values), TESS_OK);
    memset(h.x, 0, (size_t)n * sizeof *h.x);
    assert_int_equal(tess_solver_solve(solver, h.b, h.x, results), TESS_OK);
    for (int64_t i = 0; i < n; i++)
        h.x[i] *= 2;
    check_solution(&h, "new values", results, h.x);
    tess_solver_destroy(solver);
    tess_device_free(h.device, device_values);
    free(values), free(B), free(X);
    close_hidden(&h);
}

/* Both vectors in host memory, both in device memory, or one in each. */
/* A solver around it may change the tolerances and the most iterations before each solve. */
static void changed_options_reach_the_inner_solver(void **state)
{
    for (int fields = 0; fields < 2; fields++) {
        hidden_problem h = open_hidden(test_ctx(state), fields);
        tess_solver *solver;
        tess_result result;
        assert_int_equal(tess_solver_create(h.plan, "cg:tol=1e-12", &solver), TESS_OK);
        solver->options.max = 3;
        assert_int_equal(tess_solver_solve(solver, h.b, h.x, &result), TESS_OK);
        assert_int_equal(result.reason, TESS_REASON_ITERATION_LIMIT);
        assert_int_equal(result.iterations, 3);
        solver->options.max = 1000;
        solver->options.tol = 0.1;
        assert_int_equal(tess_solver_solve(solver, h.b, h.x, &result), TESS_OK);
        assert_int_equal(result.reason, TESS_REASON_CONVERGED);
        assert_true(result.true_residual > 1e-4);
        tess_solver_destroy(solver);
        close_hidden(&h);
    }
}

static void products_take_vectors_of_either_memory(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int fields = 0; fields < 2; fields++) {
        hidden_problem h = open_hidden(ctx, fields);
        const int64_t n = h.A->rows;
        for (int where = 0; where < 4; where++) {
            double *x = where & 1 ? to_device(&h, h.exact, n) : h.exact;
            double *y = where & 2 ? to_device(&h, h.b, n) : h.b, dot = NAN, want = 0;
            void *before = malloc((size_t)n * sizeof(double));
            memcpy(before, h.b, (size_t)n * sizeof(double));
            if (tess_spmv_dot(h.plan, 2, x, 0.5, y, x, &dot) != TESS_OK)
                fail_msg("%s", tess_ctx_error(ctx));
            if (where & 2)
                from_device(&h, h.b, y, n);
            test_check_spmv("dot", h.A, 2, h.exact, 0.5, before, h.b);
            for (int64_t i = 0; i < n; i++)
                want += h.exact[i] * h.b[i];
            assert_true(fabs(dot - want) <= 1e-10 * fabs(want) + 1e-10);
            memcpy(before, h.b, (size_t)n * sizeof(double));
            y = where & 2 ? to_device(&h, h.b, n) : h.b;
            assert_int_equal(tess_spmv(h.plan, 1, x, -1, y), TESS_OK);
            if (where & 2)
                from_device(&h, h.b, y, n);
            test_check_spmv("product", h.A, 1, h.exact, -1, before, h.b);
            if (where & 1)
                tess_device_free(h.device, x);
            free(before);
        }
        close_hidden(&h);
    }
}

/* z = r / diagonal, by the caller, in the caller's numbering. */
typedef struct diagonal {
    const tess_matrix *A;
    tess_device *device;
    int64_t calls;
} diagonal;

static tess_status divide(void *user, int transpose, const void *r, void *z, void *stream)
{
    diagonal *d = user;
    const int64_t n = d->A->rows;
    const size_t bytes = (size_t)n * sizeof(double);
    double *copy = malloc(bytes);
    (void)transpose, (void)stream;
    d->calls++;
    tess_status status = tess_device_synchronize(d->device);
    if (status == TESS_OK)
        status = tess_device_copy_from(d->device, copy, r, bytes);
    for (int64_t i = 0; i < n; i++)
        copy[i] /= tess_matrix_value(d->A, tess_matrix_find(d->A, i, i));
    if (status == TESS_OK)
        status = tess_device_copy_to(d->device, z, copy, bytes);
    free(copy);
    return status;
}

static void the_callers_preconditioner_sees_the_callers_numbering(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    hidden_problem h = open_hidden(ctx, false);
    diagonal d = {h.A, h.device, 0};
    const tess_operator M = {.type = TESS_F64, .rows = h.A->rows, .apply = divide, .user = &d};
    tess_solver *solver;
    tess_result with, without;
    assert_int_equal(tess_solve(h.plan, "cg:tol=1e-10", h.b, h.x, &without), TESS_OK);
    memset(h.x, 0, (size_t)h.A->rows * sizeof *h.x);
    assert_int_equal(tess_solver_create_with(h.plan, "cg:tol=1e-10", &M, &solver), TESS_OK);
    assert_int_equal(tess_solver_solve(solver, h.b, h.x, &with), TESS_OK);
    check_solution(&h, "M", &with, h.x);
    assert_true(d.calls >= with.iterations);
    /* With the diagonal in a wrong order cg would need far more iterations. */
    if (with.iterations > without.iterations + 5)
        fail_msg("%lld iterations with M, %lld without", (long long)with.iterations,
                 (long long)without.iterations);
    tess_solver_destroy(solver);
    close_hidden(&h);
}

/* The library's preconditioner alone: M^-1 A x = x where M is made of complete factors of A. */
static void a_preconditioner_alone_takes_the_callers_vectors(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    hidden_problem h = open_hidden(ctx, false);
    tess_preconditioner *pc;
    const char *spec = may("cg:pc=ilu0") ? "iluk:levels=40,fill=100,schedule=levels" : "jacobi";
    if (tess_pc_create(h.plan, spec, &pc) != TESS_OK)
        fail_msg("%s", tess_ctx_error(ctx));
    assert_int_equal(tess_pc_apply(pc, h.b, h.x), TESS_OK);
    /* In the energy of x, jacobi is at least no worse than no preconditioner. */
    double energy = 0;
    for (int64_t i = 0; i < h.A->rows; i++)
        energy += h.x[i] * h.b[i];
    assert_true(energy > 0);
    if (strcmp(spec, "jacobi") != 0 && distance(h.x, h.exact, h.A->rows) > 1e-6)
        fail_msg("%s leaves x off by %g", spec, distance(h.x, h.exact, h.A->rows));
    tess_pc_destroy(pc);
    close_hidden(&h);
}

/* Modes are taken in the caller's numbering. Coordinates are refused by name. */
static void modes_are_permuted(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    if (!may("cg:pc=amg"))
        return;
    hidden_problem h = open_hidden(ctx, true);
    const int64_t n = h.A->rows;
    double *modes = calloc((size_t)(3 * n), sizeof *modes);
    for (int64_t i = 0; i < n; i++) /* a constant of each field */
        modes[i / (n / 3) * n + i] = 1;
    tess_solver *solver;
    tess_result result;
    assert_int_equal(tess_solver_create(h.plan, "cg:pc=amg,tol=1e-10", &solver), TESS_OK);
    assert_int_equal(tess_solver_set_modes(solver, 3, modes, n), TESS_OK);
    assert_int_equal(tess_solver_solve(solver, h.b, h.x, &result), TESS_OK);
    check_solution(&h, "modes", &result, h.x);
    assert_int_equal(tess_solver_set_coordinates(solver, 3, modes), TESS_ERR_UNSUPPORTED);
    assert_non_null(strstr(tess_ctx_error(ctx), "permutes inside"));
    tess_solver_destroy(solver);
    free(modes);
    close_hidden(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_solve_in_the_inner_order),
        cmocka_unit_test(attempts_of_auto_are_told),
        cmocka_unit_test(several_systems_and_new_values),
        cmocka_unit_test(changed_options_reach_the_inner_solver),
        cmocka_unit_test(products_take_vectors_of_either_memory),
        cmocka_unit_test(the_callers_preconditioner_sees_the_callers_numbering),
        cmocka_unit_test(a_preconditioner_alone_takes_the_callers_vectors),
        cmocka_unit_test(modes_are_permuted),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
