/* Our preconditioners without our solvers: tess_pc_create, tess_pc_apply. */
#include <math.h>
#include <string.h>

#include "problems.h"

static tess_status apply_ours(void *user, int transpose, const void *r, void *z, void *stream)
{
    (void)stream;
    return transpose ? tess_pc_apply_transpose(user, r, z) : tess_pc_apply(user, r, z);
}

/* Checks that `method` takes the same steps with the preconditioner through tess_pc_apply as with
 * pc=. */
static void check_steps(problem *p, const char *method, const char *name, tess_preconditioner *pc)
{
    tess_solver *one, *other;
    tess_result ar, br;
    char spec[80];
    tess_operator M = {.type = TESS_F64, .rows = p->A->rows, .apply = apply_ours, .user = pc};
    double *x = problem_zeros(p->A->rows), *y = problem_zeros(p->A->rows);
    snprintf(spec, sizeof spec, "%s:pc=%s", method, name);
    assert_int_equal(tess_solver_create(p->plan, spec, &one), TESS_OK);
    assert_int_equal(tess_solver_create_with(p->plan, method, &M, &other), TESS_OK);
    assert_int_equal(tess_solver_solve(one, p->b, x, &ar), TESS_OK);
    assert_int_equal(tess_solver_solve(other, p->b, y, &br), TESS_OK);
    if (br.reason != TESS_REASON_CONVERGED || br.iterations != ar.iterations)
        fail_msg("%s: %lld iterations, with pc= %lld", spec, (long long)br.iterations,
                 (long long)ar.iterations);
    tess_solver_destroy(one);
    tess_solver_destroy(other);
    free(x), free(y);
}

/* Checks that vectors in the device's memory give the same z as vectors in the host's. */
static void check_device_vectors(const problem *p, tess_preconditioner *pc)
{
    const size_t bytes = (size_t)p->A->rows * sizeof(double);
    double *z = problem_zeros(p->A->rows), *back = problem_zeros(p->A->rows);
    void *r_there, *z_there;
    assert_int_equal(tess_pc_apply(pc, p->b, z), TESS_OK);
    assert_int_equal(tess_device_alloc(p->device, bytes, &r_there), TESS_OK);
    assert_int_equal(tess_device_alloc(p->device, bytes, &z_there), TESS_OK);
    assert_int_equal(tess_device_copy_to(p->device, r_there, p->b, bytes), TESS_OK);
    assert_int_equal(tess_pc_apply(pc, r_there, z_there), TESS_OK);
    assert_int_equal(tess_device_copy_from(p->device, back, z_there, bytes), TESS_OK);
    assert_memory_equal(back, z, bytes);
    tess_device_free(p->device, r_there);
    tess_device_free(p->device, z_there);
    free(z), free(back);
}

static void our_preconditioners_serve_alone(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 30, 2, true, TESS_F64, 9), "cpu");
    int tested = 0;
    for (size_t i = 0; tess_pcs[i]; i++) {
        tess_preconditioner *pc;
        char spec[80];
        snprintf(spec, sizeof spec, "gmres:pc=%s", tess_pcs[i]->name);
        if (!problem_may(spec))
            continue;
        const tess_status status = tess_pc_create(p.plan, tess_pcs[i]->name, &pc);
        if (status != TESS_OK) {
            /* SuiteSparse is not installed, or the device has no such kernels. */
            assert_true(tess_pcs[i]->complete ||
                        (status == TESS_ERR_UNSUPPORTED && !problem_has(&p, spec)));
            continue;
        }
        tested++;
        assert_int_equal(tess_pc_update(pc, NULL), TESS_OK);
        check_device_vectors(&p, pc);
        check_steps(&p, "gmres", tess_pcs[i]->name, pc);
        check_steps(&p, "bicg", tess_pcs[i]->name, pc); /* M^-T too */
        assert_int_equal(tess_pc_update(pc, NULL), TESS_OK);
        check_steps(&p, "bicg", tess_pcs[i]->name, pc);
        assert_int_equal(*tess_pc_describe(pc) != 0, tess_pcs[i]->describe != NULL);
        tess_pc_destroy(pc);
    }
    assert_true(tested >= 3);
    problem_close(&p);
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
                                        "ic0",
                                        "ic0:schedule=levels",
                                        "ick:levels=1",
                                        "fsai",
                                        "chebyshev",
                                        "ssor:schedule=colours,pc_type=f32"};
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 40, 3, false, TESS_F64, 17), "cpu:2");
    const int64_t n = p.A->rows;
    double *v = problem_zeros(n), *u = problem_zeros(n), *Mv = problem_zeros(n),
           *Mu = problem_zeros(n);
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

/* After a call that fails, the former preconditioner is still applied. */
static void a_transpose_that_fails_leaves_the_preconditioner(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 30, 2, false, TESS_F64, 3), "cpu:2");
    const int64_t n = p.A->rows;
    double *before = problem_zeros(n), *z = problem_zeros(n), *zt = problem_zeros(n);
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

/* Modes change amg's hierarchy, as they do in a solver with the same modes. */
static void modes_reach_amg_alone(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 30, 2, true, TESS_F64, 9), "cpu:2");
    const int64_t n = p.A->rows;
    double *modes = problem_zeros(3 * n), *one = problem_zeros(n), *other = problem_zeros(n);
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
    assert_string_equal(tess_pc_describe(pc), ""); /* amg is made at the next application */
    assert_int_equal(tess_pc_apply(pc, p.b, other), TESS_OK);
    assert_memory_not_equal(one, other, (size_t)n * sizeof *one);

    tess_solver *solver;
    tess_result result;
    double *x = problem_zeros(n); /* one step of cg from 0: a multiple of M^-1 b */
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

static void what_is_no_preconditioner_is_refused(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 30, 2, true, TESS_F64, 9), "cpu");
    tess_preconditioner *pc;
    assert_int_equal(tess_pc_create(p.plan, "bjacobi", &pc), TESS_OK);
    assert_int_equal(tess_pc_apply(pc, NULL, p.b), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_pc_apply(pc, p.b, NULL), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_pc_apply(NULL, p.b, p.b), TESS_ERR_ARGUMENT);
    tess_pc_destroy(pc);
    assert_int_equal(tess_pc_create(p.plan, "ilu0:tol=1e-3", &pc), TESS_ERR_OPTION);
    assert_int_equal(tess_pc_create(p.plan, "ilu", &pc), TESS_ERR_OPTION);
    assert_int_equal(tess_pc_create(p.plan, NULL, &pc), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_pc_create(NULL, "ilu0", &pc), TESS_ERR_ARGUMENT);
    tess_pc_destroy(NULL);
    const char *kind = problem_may("ilu0") ? "ilu0:schedule=colors" : "bjacobi";
    assert_int_equal(tess_pc_create(p.plan, kind, &pc), TESS_OK);
    tess_pc_destroy(pc);
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        pc = NULL;
        status = tess_pc_create(p.plan, kind, &pc);
        tess_pc_destroy(pc);
    } while (test_sweep_goes_on(&sweep, status));
    problem_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_preconditioners_serve_alone),
        cmocka_unit_test(transposes_are_those_of_the_preconditioner),
        cmocka_unit_test(a_transpose_that_fails_leaves_the_preconditioner),
        cmocka_unit_test(modes_reach_amg_alone),
        cmocka_unit_test(what_is_no_preconditioner_is_refused),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
