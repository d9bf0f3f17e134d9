/* Our preconditioners without our solvers: tess_pc_create, tess_pc_apply. */
#include <string.h>

#include "problems.h"

static double *zeros(int64_t count)
{
    double *x = test_vector(count, TESS_F64, 1);
    memset(x, 0, (size_t)count * sizeof *x);
    return x;
}

/* gmres with our preconditioner through tess_pc_apply takes the same steps as with pc=. */
static tess_status apply_ours(void *user, int transpose, const void *r, void *z, void *stream)
{
    (void)stream;
    return transpose ? TESS_ERR_UNSUPPORTED : tess_pc_apply(user, r, z);
}

/* z of vectors in the device's memory is z of vectors in the host's. */
static void check_device_vectors(const problem *p, tess_preconditioner *pc)
{
    const size_t bytes = (size_t)p->A->rows * sizeof(double);
    double *z = zeros(p->A->rows), *back = zeros(p->A->rows);
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
        tess_solver *one, *other;
        tess_result ar, br;
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
        tess_operator M = {.type = TESS_F64, .rows = p.A->rows, .apply = apply_ours, .user = pc};
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
    assert_true(tested >= 3);
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
        cmocka_unit_test(what_is_no_preconditioner_is_refused),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
