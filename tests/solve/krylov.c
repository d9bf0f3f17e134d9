/* Properties of single methods: sides of the preconditioner, the orthogonality of a basis. */
#include <math.h>
#include <string.h>

#include "problems.h"

static void expect_solution(problem *p, const char *spec, double tol)
{
    tess_result result = problem_solve(p, spec);
    double error = distance(p->x, p->exact, p->A->rows);
    if (result.reason != TESS_REASON_CONVERGED || !(error < 1e-8) ||
        !(result.true_residual <= 1.05 * tol))
        fail_msg("%s, blocks %d: %s, %s; error %g, true residual %g", spec, (int)p->A->block_height,
                 tess_reason_name(result.reason), result.text, error, result.true_residual);
}

/* Every preconditioner for matrices that are not symmetric, from both sides. */
static void check_sides(problem *p, const char *method, const char *more, size_t size, size_t *at)
{
    static const char *const sides[] = {"left", "right"};
    for (size_t j = 0; tess_pcs[j]; j++)
        for (int i = 0; i < 2 && !tess_pcs[j]->symmetric && !tess_pcs[j]->complete; i++) {
            char spec[128];
            snprintf(spec, sizeof spec, "%s:pc=%s,side=%s,tol=1e-12%s", method, tess_pcs[j]->name,
                     sides[i], more);
            if (size % 2 || problem_sampled(size, (*at)++))
                expect_solution(p, spec, 1e-12);
        }
}

static void both_sides_lead_to_the_same_solution(void **state)
{
    static const int32_t sizes[] = {1, 3, 4, 9};
    tess_ctx *ctx = test_ctx(state);
    for (size_t s = 0; s < 4; s++) {
        if (!problem_part(s / 2))
            continue;
        problem p = problem_open(ctx, problem_matrix(ctx, 23, sizes[s], false, TESS_F64, 40 + s),
                                 s % 2 ? "ref" : "cpu");
        size_t at = 0;
        for (size_t i = 0; tess_methods[i]; i++)
            if (tess_methods[i]->sides == TESS_SIDES_BOTH)
                check_sides(&p, tess_methods[i]->name, "", s, &at);
        check_sides(&p, "gmres", ",restart=5", s, &at);
        problem_close(&p);
    }
}

/* With a preconditioner from the left the recurrence has M^-1 r. Rows are scaled by 1 to 10^9, so
 * that |r| is no fixed multiple of |M^-1 r|. */
static void from_the_left_the_true_residual_decides(void **state)
{
    static const char *const specs[] = {
        "gmres:pc=jacobi,side=left,tol=1e-11", "gmres:pc=ssor,side=left,restart=6,tol=1e-11",
        "bicgstab:pc=jacobi,side=left,tol=1e-11", "bicgstab:pc=ilu0,side=left,domains=4,tol=1e-11"};
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = problem_matrix(ctx, 60, 1, false, TESS_F64, 5);
    double *values = A->values;
    for (int64_t row = 0; row < A->block_rows; row++)
        for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++)
            values[k] *= pow(10, (double)(row % 10));
    problem p = problem_open(ctx, A, "cpu");
    for (int64_t i = 0; i < A->rows; i++)
        p.x[i] = sin((double)i);
    assert_int_equal(tess_spmv(p.plan, 1, p.x, 0, p.b), TESS_OK);
    for (size_t i = 0; i < 4; i++) {
        tess_result result = problem_solve(&p, specs[i]);
        if (result.reason != TESS_REASON_CONVERGED || !(result.true_residual <= 1.05e-11))
            fail_msg("%s: %s, %s; true residual %g", specs[i], tess_reason_name(result.reason),
                     result.text, result.true_residual);
    }
    problem_close(&p);
}

static void a_side_that_a_method_does_not_have_is_an_error(void **state)
{
    static const char *const wrong[] = {"cg:side=left", "cg:side=right", "cg_single:side=left",
                                        "bicg:side=left", "fgmres:side=left"};
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, problem_matrix(ctx, 5, 2, true, TESS_F64, 1), "cpu");
    tess_result result;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(tess_solve(p.plan, wrong[i], p.b, p.x, &result), TESS_ERR_OPTION);
        assert_non_null(
            strstr(tess_ctx_error(ctx), "leave side out, or choose one of bicgstab and gmres"));
    }
    assert_int_equal(tess_solve(p.plan, "gmres:side=both", p.b, p.x, &result), TESS_ERR_OPTION);
    assert_int_equal(tess_solve(p.plan, "fgmres:side=right", p.b, p.x, &result), TESS_OK);
    problem_close(&p);
}

/* With a basis that is not orthogonal the small problem's residual is not that of x, and the method
 * has to restart. With a single orthogonalisation all digits are lost within one long cycle. */
static void a_long_basis_of_gmres_stays_orthogonal(void **state)
{
    static const char *const inputs[] = {"cdr:n=12,b=2", "elasticity:n=6"};
    tess_ctx *ctx = test_ctx(state);
    for (int i = 0; i < 2; i++) {
        tess_matrix *A;
        double *b;
        tess_plan *plan;
        tess_result result;
        assert_int_equal(tess_matrix_generate(ctx, inputs[i], &A, (void **)&b), TESS_OK);
        tess_device *device = test_device(ctx, "cpu");
        assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
        double *x = calloc((size_t)A->rows, sizeof *x);
        assert_int_equal(tess_solve(plan, "gmres:restart=400,tol=1e-9", b, x, &result), TESS_OK);
        assert_int_equal(result.reason, TESS_REASON_CONVERGED);
        assert_true(result.iterations > 60);
        if (!(fabs(result.residual - result.true_residual) < 1e-4 * result.true_residual))
            fail_msg("%s: |r| is %.6e by the recurrence, %.6e recomputed, after %lld iterations",
                     inputs[i], result.residual, result.true_residual,
                     (long long)result.iterations);
        free(x);
        tess_release(ctx, b);
        tess_plan_destroy(plan);
        tess_device_close(device);
        tess_matrix_destroy(A);
    }
}

/* h.v is exactly 0 in the second iteration, because all numbers are small multiples of powers of 2.
 */
static void bicgstab_begins_again_where_its_shadow_fails(void **state)
{
    static const int64_t rows[] = {0, 0, 1, 1, 2}, columns[] = {1, 2, 0, 1, 0};
    static const double values[] = {2, 2, 2, 1, 2}, rhs[] = {-1, 0, -1};
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, 3, 3, 5, rows, columns, values, &A),
                     TESS_OK);
    problem p = problem_open(ctx, A, "cpu");
    memcpy(p.b, rhs, sizeof rhs);
    tess_result result = problem_solve(&p, "bicgstab:tol=1e-12,max=2");
    assert_int_equal(result.reason, TESS_REASON_ITERATION_LIMIT); /* not a breakdown */
    result = problem_solve(&p, "bicgstab:tol=1e-12");
    assert_int_equal(result.reason, TESS_REASON_CONVERGED);
    assert_true(result.iterations > 2 && result.true_residual < 1e-12);
    assert_true(fabs(p.x[0] + 0.5) < 1e-10 && fabs(p.x[1] - 1) < 1e-10);
    /* A turns every vector by 90 degrees, so that already the first iteration breaks down. */
    static const int64_t turn_rows[] = {0, 1}, turn_columns[] = {1, 0};
    static const double turn[] = {1, -1};
    problem_close(&p);
    assert_int_equal(
        tess_matrix_from_coo(ctx, TESS_F64, 2, 2, 2, turn_rows, turn_columns, turn, &A), TESS_OK);
    p = problem_open(ctx, A, "cpu");
    result = problem_solve(&p, "bicgstab");
    assert_int_equal(result.reason, TESS_REASON_BREAKDOWN);
    assert_non_null(strstr(result.text, "h.v = 0"));
    problem_close(&p);
}

/* Kershaw's matrix (1978) is positive definite, but its incomplete factors have the pivot -5: cg
 * needs the factors of a heavier diagonal. With blocks, every entry is multiplied by a positive
 * definite block. */
static void incomplete_factors_of_definite_matrices_are_definite(void **state)
{
    static const double kershaw[4][4] = {
        {3, -2, 0, 2}, {-2, 3, -2, 0}, {0, -2, 3, -2}, {2, 0, -2, 3}};
    static const char *const specs[] = {"cg:pc=ic0,domains=1",
                                        "cg:pc=ilu0,domains=1",
                                        "cg_single:pc=ic0",
                                        "cg_single:pc=ilu0",
                                        "bicgstab:pc=ic0",
                                        "gmres:pc=ic0",
                                        "cg:pc=ic0,schedule=colours",
                                        "cg:pc=ilu0,schedule=levels",
                                        "cg:pc=ic0,pc_type=f32"};
    tess_ctx *ctx = test_ctx(state);
    for (int32_t b = 1; b <= 3; b++) {
        int64_t rows[144], columns[144], count = 0;
        double values[144];
        for (int i = 0; i < 4 * b; i++)
            for (int j = 0; j < 4 * b; j++) {
                rows[count] = i;
                columns[count] = j;
                values[count] = kershaw[i / b][j / b] * (i % b == j % b ? 2 : 0.5);
                count += kershaw[i / b][j / b] != 0;
            }
        tess_matrix *scalar, *A;
        assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, 4 * b, 4 * b, count, rows, columns,
                                              values, &scalar),
                         TESS_OK);
        assert_int_equal(tess_matrix_to_blocks(ctx, scalar, &(tess_blocking){b, b}, &A), TESS_OK);
        tess_matrix_destroy(scalar);
        problem p = problem_open(ctx, A, "cpu");
        for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
            char spec[80];
            snprintf(spec, sizeof spec, "%s,tol=1e-12", specs[i]);
            if (!problem_has(&p, spec))
                continue;
            expect_solution(&p, spec, 1e-12);
            /* The report names the heavier diagonal, as the caller did not ask for it. By colours
             * there is no bad pivot. */
            if (strstr(spec, "domains=1") && p.device->threads > 0)
                assert_non_null(strstr(problem_solve(&p, spec).text, "times the diagonal"));
        }
        problem_close(&p);
    }
}

enum { SPECTRUM = 48 };

/* A = H2 H1 D H1 H2 with reflections H: eigenvalues of both signs near 1, 1 / sqrt(condition) and
 * 1 / condition. */
static tess_matrix *known_spectrum(tess_ctx *ctx, double condition, uint64_t seed)
{
    static double A[SPECTRUM][SPECTRUM];
    int64_t rows[SPECTRUM * SPECTRUM], cols[SPECTRUM * SPECTRUM];
    memset(A, 0, sizeof A);
    for (int i = 0; i < SPECTRUM; i++)
        A[i][i] = (i % 2 ? 1 : -1) * pow(condition, -0.5 * (i / 2 % 3)) *
                  (1 + 1e-3 * tess_random_unit(seed, (uint64_t)i));
    for (int turn = 0; turn < 4; turn++) { /* rows, then columns, of each reflection */
        double v[SPECTRUM], square = 0;
        for (int i = 0; i < SPECTRUM; i++) {
            v[i] = tess_random_unit(seed + 1, (uint64_t)(turn / 2 * SPECTRUM + i));
            square += v[i] * v[i];
        }
        for (int j = 0; j < SPECTRUM; j++) {
            double dot = 0;
            for (int i = 0; i < SPECTRUM; i++)
                dot += v[i] * (turn % 2 ? A[j][i] : A[i][j]);
            for (int i = 0; i < SPECTRUM; i++)
                *(turn % 2 ? &A[j][i] : &A[i][j]) -= 2 / square * dot * v[i];
        }
    }
    for (int64_t k = 0; k < SPECTRUM * SPECTRUM; k++) {
        rows[k] = k / SPECTRUM;
        cols[k] = k % SPECTRUM;
        if (cols[k] < rows[k]) /* symmetric to the last bit */
            A[rows[k]][cols[k]] = A[cols[k]][rows[k]];
    }
    tess_matrix *out;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, SPECTRUM, SPECTRUM, SPECTRUM * SPECTRUM,
                                          rows, cols, &A[0][0], &out),
                     TESS_OK);
    return out;
}

/* minres restarts where A is nearly singular (minres.c). This must cost a regular system no
 * iterations: with six clusters of eigenvalues it takes fewer iterations than the matrix has rows,
 * at any condition. */
static void minres_takes_few_iterations_at_any_condition(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int power = 2; power <= 12; power++)
        for (uint64_t seed = 1; seed < 6; seed++) {
            problem p = problem_open(ctx, known_spectrum(ctx, pow(10, power), seed), "cpu");
            double ones[SPECTRUM];
            tess_result result;
            for (int i = 0; i < SPECTRUM; i++)
                ones[i] = 1;
            assert_int_equal(tess_spmv(p.plan, 1, ones, 0, p.b), TESS_OK);
            memset(p.x, 0, sizeof ones);
            assert_int_equal(tess_solve(p.plan, "minres:pc=none,tol=1e-8", p.b, p.x, &result),
                             TESS_OK);
            if (result.reason != TESS_REASON_CONVERGED || result.iterations > SPECTRUM)
                fail_msg("condition 1e%d, seed %d: %s, %s", power, (int)seed,
                         tess_reason_name(result.reason), result.text);
            problem_close(&p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_lead_to_the_same_solution),
        cmocka_unit_test(from_the_left_the_true_residual_decides),
        cmocka_unit_test(a_side_that_a_method_does_not_have_is_an_error),
        cmocka_unit_test(a_long_basis_of_gmres_stays_orthogonal),
        cmocka_unit_test(incomplete_factors_of_definite_matrices_are_definite),
        cmocka_unit_test(bicgstab_begins_again_where_its_shadow_fails),
        cmocka_unit_test(minres_takes_few_iterations_at_any_condition),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
