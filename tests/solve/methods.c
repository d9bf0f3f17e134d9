/* Every method with every preconditioner finds the solution that elimination finds. */
#include <math.h>
#include <string.h>

#include "matrix/arrange/arrange.h"
#include "problems.h"

static const int32_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 16};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void check_solve(problem *p, const char *method, const char *pc, const char *more)
{
    char spec[128], what[256];
    snprintf(spec, sizeof spec, "%s:pc=%s,tol=1e-12%s", method, pc, more);
    snprintf(what, sizeof what, "%s on %s, %lld rows of blocks %d", spec, p->device->backend->name,
             (long long)p->A->rows, (int)p->A->block_height);
    tess_result result;
    if (!problem_has(p, spec))
        return;
    memset(p->x, 0, (size_t)p->A->rows * sizeof *p->x);
    tess_status status = tess_solve(p->plan, spec, p->b, p->x, &result);
    if (status != TESS_OK)
        fail_msg("%s: %s", what, tess_ctx_error(p->plan->ctx));
    if (result.reason != TESS_REASON_CONVERGED)
        fail_msg("%s: %s, %s", what, tess_reason_name(result.reason), result.text);
    double error = distance(p->x, p->exact, p->A->rows);
    if (!(error < 1e-9) || !(result.true_residual < 2e-12))
        fail_msg("%s: error %g, true residual %g", what, error, result.true_residual);
}

/* Returns whether the two may be asked for together. */
static bool fits(const tess_method *method, const tess_pc_ops *pc, bool symmetric)
{
    return problem_fits(method, pc) && (symmetric || !(method->symmetric || pc->symmetric));
}

static void check_all(void **state, bool symmetric, const char *device)
{
    tess_ctx *ctx = test_ctx(state);
    for (size_t s = 0; s < COUNT(sizes); s++) {
        if (!problem_part(s))
            continue;
        int64_t block_rows = sizes[s] == 1 ? 61 : 17;
        problem p = problem_open(
            ctx, problem_matrix(ctx, block_rows, sizes[s], symmetric, TESS_F64, 3 + s), device);
        size_t number = 0;
        for (size_t i = 0; tess_methods[i]; i++)
            for (size_t j = 0; tess_pcs[j]; j++)
                if (problem_sampled(s, number++) && fits(tess_methods[i], tess_pcs[j], symmetric))
                    check_solve(&p, tess_method_names[i], tess_pc_names[j], "");
        problem_close(&p);
    }
}

static void symmetric_systems_are_solved_by_every_method(void **state)
{
    check_all(state, true, "cpu");
    if (!test_slowed()) /* the same methods, with other products */
        check_all(state, true, "ref");
}

/* Levels and colours with every method and each preconditioner that has them. */
static void schedules_solve_with_every_method(void **state)
{
    static const char *const schedules[] = {",schedule=levels", ",schedule=colours"};
    tess_ctx *ctx = test_ctx(state);
    for (size_t s = 0; s < COUNT(sizes); s++) {
        if (!problem_part(s))
            continue;
        problem p =
            problem_open(ctx, problem_matrix(ctx, 17, sizes[s], true, TESS_F64, 3 + s), "cpu");
        for (size_t w = 0; w < COUNT(schedules); w++) {
            for (size_t j = 0; tess_pcs[j]; j++)
                for (size_t i = 0; tess_methods[i] && tess_pcs[j]->triangular; i++)
                    if (problem_sampled(s, w + 2 * i + j) && !(w && tess_pcs[j]->ordered) &&
                        fits(tess_methods[i], tess_pcs[j], true))
                        check_solve(&p, tess_method_names[i], tess_pc_names[j], schedules[w]);
            check_solve(&p, "bicg", "ilu0",
                        w ? ",schedule=colours,pc_type=f32" : ",schedule=levels,inner=f32");
        }
        problem_close(&p);
    }
}

/* With an arrangement the method solves another system. x is that of the caller's system. */
static void arranged_systems_are_solved(void **state)
{
    static const char *const any[] = {",scale=equilibrate", ",scale=match", ",order=rcm",
                                      ",scale=match,order=rcm", ",scale=match,order=rcm,inner=f32"};
    tess_ctx *ctx = test_ctx(state);
    for (size_t s = 0; s < 4; s++) {
        if (!problem_part(s))
            continue;
        problem p =
            problem_open(ctx, problem_matrix(ctx, 23, sizes[s], s % 2, TESS_F64, 60 + s), "cpu");
        for (size_t w = 0; w < COUNT(any); w++) {
            check_solve(&p, "gmres", "bjacobi", any[w]);
            check_solve(&p, "bicgstab", "ilut", any[w]);
        }
        check_solve(&p, "gmres", "ilut", ",pivot=0.5");
        check_solve(&p, "gmres", "ilut", ",pivot=1,drop=0,fill=100,scale=match,order=rcm");
        if (s % 2)
            check_solve(&p, "cg", "ic0", ",scale=equilibrate,order=rcm");
        problem_close(&p);
    }
}

/* Rows in the wrong order, and of sizes from 1/16 to 16. */
static void a_matching_finds_the_diagonal(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = problem_matrix(ctx, 60, 1, false, TESS_F64, 5), *B;
    tess_arrangement shuffle;
    assert_int_equal(tess_arrangement_open(ctx, A, &shuffle), TESS_OK);
    assert_int_equal(TESS_ALLOC(ctx, A->rows, &shuffle.row_order), TESS_OK);
    assert_int_equal(TESS_ALLOC(ctx, A->rows, &shuffle.row_scale), TESS_OK);
    for (int64_t i = 0; i < A->rows; i++) {
        shuffle.row_order[i] = (7 * i + 3) % A->rows;
        shuffle.row_scale[i] = ldexp(1, (int)(i % 9) - 4);
    }
    assert_int_equal(tess_matrix_arrange(A, &shuffle, &B), TESS_OK);
    tess_arrangement_close(&shuffle);
    tess_matrix_destroy(A);
    problem p = problem_open(ctx, B, "cpu");
    tess_result result;
    assert_int_equal(tess_solve(p.plan, "gmres:pc=jacobi", p.b, p.x, &result), TESS_ERR_MATRIX);
    check_solve(&p, "gmres", "jacobi", ",scale=match");
    check_solve(&p, "gmres", "ilut", ",scale=match,order=rcm,pivot=0.1");
    problem_close(&p);
}

static void other_systems_are_solved_by_every_method_that_may(void **state)
{
    check_all(state, false, "cpu");
}

/* Rows that the block size does not divide: padding must not reach the solution. */
static void ragged_matrices_are_solved(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int32_t b = 2; b <= 5; b++) {
        if (!problem_part((size_t)b))
            continue;
        tess_matrix *scalar = problem_matrix(ctx, 47, 1, true, TESS_F64, 11), *A;
        assert_int_equal(tess_matrix_to_blocks(ctx, scalar, &(tess_blocking){b, b}, &A), TESS_OK);
        tess_matrix_destroy(scalar);
        problem p = problem_open(ctx, A, "cpu");
        for (size_t j = 0; tess_pcs[j]; j++)
            if (fits(&tess_method_gmres, tess_pcs[j], true))
                check_solve(&p, tess_pcs[j]->unsymmetric ? "gmres" : "cg", tess_pc_names[j], "");
        problem_close(&p);
    }
}

static void blocks_that_are_not_square_are_solved_with_jacobi(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *scalar = problem_matrix(ctx, 50, 1, true, TESS_F64, 12), *A;
    assert_int_equal(tess_matrix_to_blocks(ctx, scalar, &(tess_blocking){2, 5}, &A), TESS_OK);
    tess_matrix_destroy(scalar);
    problem p = problem_open(ctx, A, "cpu");
    check_solve(&p, "cg", "jacobi", "");
    tess_result result;
    assert_int_equal(tess_solve(p.plan, "cg:pc=bjacobi", p.b, p.x, &result), TESS_ERR_UNSUPPORTED);
    problem_close(&p);
}

static void single_precision_matrices_are_solved(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (size_t s = 0; s < COUNT(sizes); s++) {
        if (!problem_part(s))
            continue;
        problem p = problem_open(ctx, problem_matrix(ctx, 17, sizes[s], true, TESS_F32, 5), "cpu");
        int64_t n = p.A->rows;
        float *b = malloc((size_t)n * sizeof *b), *x = calloc((size_t)n, sizeof *x);
        for (int64_t i = 0; i < n; i++)
            b[i] = (float)p.b[i];
        tess_result result;
        assert_int_equal(tess_solve(p.plan, "cg:pc=bjacobi,tol=1e-5", b, x, &result), TESS_OK);
        assert_int_equal(result.reason, TESS_REASON_CONVERGED);
        for (int64_t i = 0; i < n; i++)
            p.x[i] = x[i];
        assert_true(distance(p.x, p.exact, n) < 1e-4);
        free(b);
        free(x);
        problem_close(&p);
    }
}

/* All but the residual is in single precision, and x still has f64's accuracy. */
static void refinement_reaches_double_precision(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (size_t s = 0; s < COUNT(sizes); s++) {
        if (!problem_part(s))
            continue;
        problem p = problem_open(ctx, problem_matrix(ctx, 17, sizes[s], true, TESS_F64, 5), "cpu");
        check_solve(&p, "cg", "bjacobi", ",inner=f32");
        check_solve(&p, "bicgstab", "ilu0", ",inner=f32");
        check_solve(&p, "cg", "ilu0", ",pc_type=f32");
        check_solve(&p, "gmres", "ssor", ",pc_type=f32,omega=1.2,domains=3");
        check_solve(&p, "cg", "bjacobi", ",pc_type=f32");
        problem_close(&p);
    }
}

/* `spec` for K systems at once, of which number 3 is zero, and for each alone. */
static void check_several(problem *p, const char *spec)
{
    enum { K = 19, LD = 60 };
    const int64_t n = p->A->rows;
    double *B = test_vector(K * LD, TESS_F64, 2), *X = calloc(K * LD, sizeof *X);
    memset(B + 3 * LD, 0, (size_t)n * sizeof *B); /* one of them ends at once */
    tess_result results[K];
    tess_solver *solver;
    assert_int_equal(tess_solver_create(p->plan, spec, &solver), TESS_OK);
    assert_int_equal(tess_solver_solve_many(solver, K, B, LD, X, LD, results), TESS_OK);
    for (int j = 0; j < K; j += test_slowed() ? 3 : 1) {
        tess_result one;
        memset(p->x, 0, (size_t)n * sizeof *p->x);
        assert_int_equal(tess_solver_solve(solver, B + j * LD, p->x, &one), TESS_OK);
        assert_int_equal(one.reason, results[j].reason);
        if (labs((long)(one.iterations - results[j].iterations)) > 1)
            fail_msg("%s, system %d: %ld iterations, alone %ld", spec, j,
                     (long)results[j].iterations, (long)one.iterations);
        if (!(distance(X + j * LD, p->x, n) < 1e-10))
            fail_msg("%s, system %d differs by %g", spec, j, distance(X + j * LD, p->x, n));
    }
    assert_int_equal(results[3].reason, TESS_REASON_ZERO_RHS);
    tess_solver_destroy(solver);
    free(B);
    free(X);
}

static void several_right_hand_sides_are_those_of_one_at_a_time(void **state)
{
    static const char *const specs[] = {
        "cg:pc=bjacobi,tol=1e-12",
        "bicgstab:pc=bjacobi,tol=1e-12",
        "gmres:pc=bjacobi,tol=1e-12",
        "gmres:pc=bjacobi,restart=7,tol=1e-12",
        "gmres:pc=jacobi,side=left,restart=9,tol=1e-12",
        "fgmres:pc=ilu0,restart=5,tol=1e-12",
    };
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 17, 3, true, TESS_F64, 21), "cpu");
    for (size_t i = 0; i < COUNT(specs); i++)
        if (problem_part(i))
            check_several(&p, specs[i]);
    problem_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symmetric_systems_are_solved_by_every_method),
        cmocka_unit_test(arranged_systems_are_solved),
        cmocka_unit_test(a_matching_finds_the_diagonal),
        cmocka_unit_test(other_systems_are_solved_by_every_method_that_may),
        cmocka_unit_test(schedules_solve_with_every_method),
        cmocka_unit_test(ragged_matrices_are_solved),
        cmocka_unit_test(blocks_that_are_not_square_are_solved_with_jacobi),
        cmocka_unit_test(single_precision_matrices_are_solved),
        cmocka_unit_test(refinement_reaches_double_precision),
        cmocka_unit_test(several_right_hand_sides_are_those_of_one_at_a_time),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
