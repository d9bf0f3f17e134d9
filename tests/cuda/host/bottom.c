/* The bottom of a multigrid hierarchy on the fake device: it is inverted there where it is
 * definite, and by the host where it is singular, from the start or with new values. */
#include "amg_setting.h"
#include "problems.h"

/* Nodes of a square of n x n that couple to their four neighbours. The diagonal is the sum of the
 * couplings, which makes the matrix singular, and `more`. */
static tess_matrix *make_square(void **state, int64_t n, double more)
{
    static const int64_t steps[5][2] = {{0, -1}, {-1, 0}, {0, 0}, {1, 0}, {0, 1}};
    tess_matrix *A;
    int64_t blocks = 0;
    ok(state,
       tess_matrix_allocate(test_ctx(state), TESS_F64, n * n, n * n, 1, 1, 5 * n * n - 4 * n, &A));
    double *values = A->values;
    for (int64_t i = 0; i < n * n; i++) {
        int64_t diagonal = blocks;
        double sum = more;
        for (int k = 0; k < 5; k++) {
            const int64_t x = i % n + steps[k][0], y = i / n + steps[k][1];
            if (x < 0 || x >= n || y < 0 || y >= n)
                continue;
            diagonal = k == 2 ? blocks : diagonal;
            sum += k == 2 ? 0 : 1;
            A->columns[blocks] = (int32_t)(y * n + x);
            values[blocks++] = -1;
        }
        values[diagonal] = sum;
        A->row_offsets[i + 1] = blocks;
    }
    return A;
}

/* A right-hand side whose sum is 0, as that of a singular matrix must be. */
static int64_t iterations_of(void **state, const setting *s, int64_t rows)
{
    double *b = test_vector(rows, TESS_F64, 3), *x = calloc((size_t)rows, sizeof *x), mean = 0;
    tess_result result;
    for (int64_t i = 0; i < rows; i++)
        mean += b[i] / (double)rows;
    for (int64_t i = 0; i < rows; i++)
        b[i] -= mean;
    ok(state, tess_solver_solve(s->solver, b, x, &result));
    if (result.reason != TESS_REASON_CONVERGED)
        fail_msg("%s", result.text);
    free(b), free(x);
    return result.iterations;
}

/* More unknowns than the host inverts, fewer than the device does. */
static void a_large_bottom_is_the_devices(void **state)
{
    static const char *const specs[] = {"cg:pc=amg", "cg:pc=amg,pc_type=f32"};
    tess_matrix *A = make_square(state, 66, 0.01);
    for (int i = 0; i < 2; i++) {
        setting here, there;
        ok(state, open_setting(test_ctx(state), A, "cpu:1", specs[i], &here));
        ok(state, open_setting(test_ctx(state), A, "cuda", specs[i], &there));
        const tess_amg *amg = hierarchy(&there);
        assert_true(amg->bottom_elsewhere);
        assert_true(amg->level[amg->levels - 1].A->rows > 500);
        assert_true(amg->levels < hierarchy(&here)->levels);
        const int64_t most = iterations_of(state, &here, A->rows) + 1;
        assert_true(iterations_of(state, &there, A->rows) <= most);
        ok(state, tess_solver_update(there.solver, NULL));
        assert_true(iterations_of(state, &there, A->rows) <= most);
        close_setting(&here);
        close_setting(&there);
    }
    tess_matrix_destroy(A);
}

static void a_singular_bottom_is_the_hosts(void **state)
{
    tess_matrix *A = make_square(state, 20, 0);
    setting here, there;
    ok(state, open_setting(test_ctx(state), A, "cpu:1", "cg:pc=amg,bottom=30", &here));
    ok(state, open_setting(test_ctx(state), A, "cuda", "cg:pc=amg,bottom=30", &there));
    assert_non_null(hierarchy(&there)->level[0].device);
    assert_non_null(hierarchy(&there)->bottom);
    assert_false(hierarchy(&there)->bottom_elsewhere);
    assert_true(iterations_of(state, &there, A->rows) <= iterations_of(state, &here, A->rows) + 1);
    close_setting(&here);
    close_setting(&there);
    tess_matrix_destroy(A);
}

/* Numbers as large as this inverse's lose its small eigenvalues in f32. */
static void an_inverse_that_f32_cannot_hold_is_not_made(void **state)
{
    static const char *const specs[] = {"cg:pc=amg,bottom=100", "cg:pc=amg,bottom=100,pc_type=f32"};
    tess_matrix *A = make_square(state, 20, 1e-8);
    int levels[2];
    for (int i = 0; i < 2; i++) {
        setting s;
        ok(state, open_setting(test_ctx(state), A, "cuda", specs[i], &s));
        levels[i] = hierarchy(&s)->levels;
        (void)iterations_of(state, &s, A->rows);
        close_setting(&s);
    }
    assert_true(levels[1] > levels[0]);
    tess_matrix_destroy(A);
}

/* The pattern and the plan stay; what the host inverts goes to the device. */
static void new_values_may_be_singular(void **state)
{
    static const char *const specs[] = {"cg:pc=amg,bottom=100", "cg:pc=amg,bottom=100,pc_type=f32"};
    tess_matrix *A = make_square(state, 20, 0.5), *singular = make_square(state, 20, 0);
    for (int i = 0; i < 2; i++) {
        setting s;
        ok(state, open_setting(test_ctx(state), A, "cuda", specs[i], &s));
        assert_true(hierarchy(&s)->bottom_elsewhere);
        const int64_t first = iterations_of(state, &s, A->rows);
        for (int round = 0; round < 2; round++) {
            ok(state, tess_plan_update_values(s.plan, singular->values));
            ok(state, tess_solver_update(s.solver, NULL));
            assert_true(iterations_of(state, &s, A->rows) <= first + 8);
            ok(state, tess_plan_update_values(s.plan, A->values));
            ok(state, tess_solver_update(s.solver, NULL));
            assert_int_equal(iterations_of(state, &s, A->rows), first);
        }
        close_setting(&s);
    }
    tess_matrix_destroy(A);
    tess_matrix_destroy(singular);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_large_bottom_is_the_devices),
        TEST(a_singular_bottom_is_the_hosts),
        TEST(an_inverse_that_f32_cannot_hold_is_not_made),
        TEST(new_values_may_be_singular),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
