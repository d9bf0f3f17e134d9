/* Generators: patterns, values and right-hand sides known in advance. */
#include "support/support.h"
#include "matrix/generate/generate.h"

#include <math.h>
#include <string.h>

static tess_matrix *generate(tess_ctx *ctx, const char *spec)
{
    tess_matrix *A = NULL;
    if (tess_matrix_generate(ctx, spec, &A, NULL) != TESS_OK)
        fail_msg("%s: %s", spec, tess_ctx_error(ctx));
    test_check_valid(spec, A);
    return A;
}

static void assert_symmetric(const char *spec, const double *D, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            if (D[i * n + j] != D[j * n + i])
                fail_msg("%s: (%d,%d) = %g but its mirror is %g", spec, (int)i, (int)j,
                         D[i * n + j], D[j * n + i]);
}

/* |a_ii| > sum of the others in every row. */
static void assert_dominant(const char *spec, const double *D, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++)
            sum += j == i ? 0 : fabs(D[i * n + j]);
        if (!(fabs(D[i * n + i]) > sum))
            fail_msg("%s: row %d: diagonal %g, others %g", spec, (int)i, D[i * n + i], sum);
    }
}

static void stencils_have_the_neighbours_of_a_box(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = generate(ctx, "gen:stencil7:nx=3,ny=2,nz=1,b=2");
    /* points 0 1 2 / 3 4 5: row 1 sees 0, 1, 2 and 4 */
    assert_int_equal(A->block_rows, 6);
    assert_int_equal(A->rows, 12);
    assert_int_equal(A->blocks, 6 + 2 * (4 + 3));
    assert_int_equal(A->row_offsets[2] - A->row_offsets[1], 4);
    const int32_t expected[] = {0, 1, 2, 4};
    assert_memory_equal(A->columns + A->row_offsets[1], expected, sizeof expected);
    tess_matrix_destroy(A);

    A = generate(ctx, "stencil27:nx=5,ny=4,nz=3,b=1");
    assert_int_equal(A->blocks, 13 * 10 * 7);
    tess_matrix_destroy(A);
    A = generate(ctx, "stencil27:n=1,b=3");
    assert_int_equal(A->blocks, 1);
    tess_matrix_destroy(A);
}

static void stencils_are_symmetric_and_dominant(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *specs[] = {"stencil7:n=3,b=1", "stencil7:n=3,b=4,seed=9", "stencil27:n=3,b=3",
                           "stencil27:nx=2,ny=1,nz=4,b=5,type=f32", "stencil7:n=1,b=1"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        tess_matrix *A = generate(ctx, specs[i]);
        double *D = test_dense(A);
        assert_symmetric(specs[i], D, A->rows);
        assert_dominant(specs[i], D, A->rows);
        free(D);
        tess_matrix_destroy(A);
    }
}

/* Returns whether D = L L^T exists with a positive diagonal. Overwrites D. */
static bool cholesky(double *D, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = j; i < n; i++) {
            double sum = D[i * n + j];
            for (int64_t k = 0; k < j; k++)
                sum -= D[i * n + k] * D[j * n + k];
            if (i == j && !(sum > 0))
                return false;
            D[i * n + j] = i == j ? sqrt(sum) : sum / D[j * n + j];
        }
    }
    return true;
}

static void elasticity_is_symmetric_positive_definite(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int i = 0; i < 9; i++) {
        static const char *const thin[] = {"1", "30", "0.05"};
        const int n = 1 + i % 3;
        char spec[48];
        snprintf(spec, sizeof spec, "elasticity:n=%d,thin=%s", n, thin[i / 3]);
        tess_matrix *A = generate(ctx, spec);
        assert_int_equal(A->rows, 3 * n * (n + 1) * (n + 1));
        assert_int_equal(A->block_height, 3);
        assert_int_equal(A->blocks, (3 * n - 2) * (3 * n + 1) * (3 * n + 1));
        double *D = test_dense(A);
        assert_symmetric(spec, D, A->rows);
        if (!cholesky(D, A->rows))
            fail_msg("%s is not positive definite", spec);
        free(D);
        tess_matrix_destroy(A);
    }
}

/* A free element has no energy in shifts and (linearised) turns, and positive energy in all other
 * modes. */
static void check_element(double thin)
{
    double K[8][8][3][3], energy[7] = {0}, force[7] = {0};
    tess_hexahedron_stiffness(0.5, thin, K);
    for (int mode = 0; mode < 7; mode++) {
        double u[8][3];
        for (int a = 0; a < 8; a++) {
            double x[3] = {a & 1, a >> 1 & 1, (a >> 2 & 1) / thin};
            for (int d = 0; d < 3; d++)
                u[a][d] = mode == d ? 1 : 0;
            if (mode >= 3 && mode < 6) { /* a turn around axis mode-3 */
                u[a][(mode + 1) % 3] = -x[(mode + 2) % 3];
                u[a][(mode + 2) % 3] = x[(mode + 1) % 3];
            }
            if (mode == 6)
                u[a][0] = 0.5 * x[0]; /* a stretch by 1 of an element 0.5 long */
        }
        for (int a = 0; a < 8; a++) {
            for (int p = 0; p < 3; p++) {
                double f = 0;
                for (int b = 0; b < 8; b++)
                    for (int q = 0; q < 3; q++)
                        f += K[a][b][p][q] * u[b][q];
                force[mode] = fmax(force[mode], fabs(f));
                energy[mode] += f * u[a][p];
            }
        }
    }
    for (int mode = 0; mode < 6; mode++)
        assert_true(force[mode] < 1e-15 * fmax(thin, 1 / thin));
    /* Strain 1 along x: energy = volume (lambda + 2 mu) = 0.125 / thin * 0.7 / (1.3 * 0.4). */
    assert_true(fabs(energy[6] - 0.125 / thin * 0.7 / (1.3 * 0.4)) < 1e-14 * fmax(1, 1 / thin));
}

static void element_has_exactly_the_rigid_body_modes(void **state)
{
    (void)state;
    check_element(1);
    check_element(8);
    check_element(0.25);
}

static void elasticity_load_is_the_weight_of_what_is_free(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int thin = 1; thin <= 16; thin *= 16) {
        char spec[48];
        tess_matrix *A;
        void *rhs;
        double sum[3] = {0}, top = 0;
        snprintf(spec, sizeof spec, "elasticity:n=4,thin=%d", thin);
        assert_int_equal(tess_matrix_generate(ctx, spec, &A, &rhs), TESS_OK);
        for (int64_t i = 0; i < A->rows; i++) {
            sum[i % 3] += ((double *)rhs)[i];
            top = fmax(top, i % 3 == 2 ? A->coordinates[i] : 0);
        }
        /* The clamped nodes carry half of the first of four layers. */
        assert_true(sum[0] == 0 && sum[1] == 0 && fabs(thin * sum[2] + 1 - 0.125) < 1e-14);
        assert_true(top == 1.0 / thin);
        tess_release(ctx, rhs);
        tess_matrix_destroy(A);
    }
}

static void cdr_of_one_component_is_the_upwind_stencil(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = generate(ctx, "cdr:n=3,b=1,convection=40,reaction=10");
    double *D = test_dense(A);
    /* At the centre, w = (0, 0, 20) and h = 1/4: the flow comes from below. */
    const double *row = D + 13 * 27;
    assert_true(row[12] == -1 && row[14] == -1 && row[10] == -1 && row[16] == -1);
    assert_true(row[4] == -1 - 5 && row[22] == -1 && row[13] == 6 + 5 + 10.0 / 16);
    free(D);
    tess_matrix_destroy(A);
}

static void cdr_blocks_are_dense_and_their_diagonal_ones_dominant(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = generate(ctx, "cdr:n=3,b=4");
    bool symmetric = true;
    double *D = test_dense(A);
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t j = 0; j < A->rows; j++)
            symmetric = symmetric && D[i * A->rows + j] == D[j * A->rows + i];
    assert_false(symmetric);
    for (int64_t k = 0; k < A->blocks * 16; k++)
        assert_true(((double *)A->values)[k] != 0);
    for (int64_t i = 0; i < A->rows; i++) {
        double sum = 0;
        for (int64_t j = i / 4 * 4; j < i / 4 * 4 + 4; j++)
            sum += j == i ? 0 : fabs(D[i * A->rows + j]);
        assert_true(D[i * A->rows + i] > 1.9 * sum);
    }
    free(D);
    tess_matrix_destroy(A);
}

static void powerlaw_has_its_long_rows_and_a_dominant_diagonal(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = generate(ctx, "powerlaw:rows=3000,avg=6,b=1,long=5,length=1000");
    int64_t long_rows = 0, others = 0;
    for (int64_t i = 0; i < A->rows; i++) {
        int64_t count = A->row_offsets[i + 1] - A->row_offsets[i];
        if (count > 11)
            assert_true(count >= 900 && count <= 1100);
        else
            assert_true(count >= 1);
        long_rows += count > 11;
        others += count > 11 ? 0 : count;
    }
    assert_int_equal(long_rows, 5);
    assert_in_range(others, 2995 * 58 / 10, 2995 * 62 / 10);
    double *D = test_dense(A);
    assert_dominant("powerlaw", D, A->rows);
    free(D);
    tess_matrix_destroy(A);

    A = generate(ctx, "powerlaw:rows=7,avg=100,b=2"); /* row lengths are limited by the width */
    assert_int_equal(A->blocks <= 49, 1);
    tess_matrix_destroy(A);
}

static void random_takes_the_counts_and_shapes_it_is_given(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = generate(ctx, "random:rows=500,cols=90,count=17,r=2,c=3");
    assert_int_equal(A->rows, 1000);
    assert_int_equal(A->cols, 270);
    assert_int_equal(A->blocks, 500 * 17);
    tess_matrix_destroy(A);
    A = generate(ctx, "random:rows=5000,avg=3");
    assert_true(A->blocks > 14500 && A->blocks < 15500);
    tess_matrix_destroy(A);
    A = generate(ctx, "random:rows=4,avg=0");
    assert_int_equal(A->blocks, 0);
    tess_matrix_destroy(A);
}

static void trefethen_is_what_its_definition_says(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int primes[] = {2,  3,  5,  7,  11, 13, 17, 19, 23, 29,
                          31, 37, 41, 43, 47, 53, 59, 61, 67, 71};
    for (int skip = 0; skip < 2; skip++) {
        tess_matrix *A = generate(ctx, skip ? "trefethen:n=20,skip=1" : "trefethen:n=20");
        assert_int_equal(A->blocks, skip ? 147 : 158);
        double *D = test_dense(A);
        for (int i = 0; i < A->rows; i++) {
            for (int j = 0; j < A->rows; j++) {
                int d = abs(i - j);
                double expected = d == 0 ? primes[i + skip] : (d & (d - 1)) == 0;
                assert_true(D[i * A->rows + j] == expected);
            }
        }
        free(D);
        tess_matrix_destroy(A);
    }
    tess_matrix *A = generate(ctx, "trefethen:n=20000");
    assert_int_equal(A->blocks, 554466);
    assert_true(((double *)A->values)[A->blocks - 1] == 224737); /* the 20000th prime */
    tess_matrix_destroy(A);
    for (int n = 1; n < 9; n++) {
        char spec[32];
        snprintf(spec, sizeof spec, "trefethen:n=%d", n);
        A = generate(ctx, spec);
        assert_true(((double *)A->values)[A->blocks - 1] == primes[n - 1]);
        tess_matrix_destroy(A);
    }
}

static void promote_makes_a_block_of_every_entry(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A, *B = generate(ctx, "trefethen:n=20");
    assert_int_equal(tess_matrix_input(ctx, "promote:b=4,seed=3:gen:trefethen:n=20", &A), TESS_OK);
    assert_int_equal(A->rows, 80);
    assert_int_equal(A->blocks, 158);
    assert_memory_equal(A->columns, B->columns, 158 * sizeof *A->columns);
    double *D = test_dense(A);
    assert_symmetric("promote", D, 80);
    assert_dominant("promote", D, 80);
    free(D);
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
    /* Every scalar of a block is promoted. A rectangular pattern stays rectangular. */
    A = generate(ctx, "promote:b=2:gen:random:rows=6,cols=5,count=3,r=2,c=3");
    assert_true(A->rows == 24 && A->cols == 30 && A->blocks == 6 * 3 * 6);
    tess_matrix_destroy(A);
}

static void right_hand_side_without_physics_is_the_row_sums(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    void *rhs;
    assert_int_equal(tess_matrix_generate(ctx, "stencil27:n=3,b=2", &A, &rhs), TESS_OK);
    double *D = test_dense(A);
    for (int64_t i = 0; i < A->rows; i++) {
        double sum = 0;
        for (int64_t j = 0; j < A->cols; j++)
            sum += D[i * A->cols + j];
        assert_true(fabs(sum - ((double *)rhs)[i]) < 1e-12);
        assert_true(sum > 0);
    }
    free(D);
    tess_release(ctx, rhs);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stencils_have_the_neighbours_of_a_box),
        cmocka_unit_test(stencils_are_symmetric_and_dominant),
        cmocka_unit_test(elasticity_is_symmetric_positive_definite),
        cmocka_unit_test(element_has_exactly_the_rigid_body_modes),
        cmocka_unit_test(elasticity_load_is_the_weight_of_what_is_free),
        cmocka_unit_test(cdr_of_one_component_is_the_upwind_stencil),
        cmocka_unit_test(cdr_blocks_are_dense_and_their_diagonal_ones_dominant),
        cmocka_unit_test(powerlaw_has_its_long_rows_and_a_dominant_diagonal),
        cmocka_unit_test(random_takes_the_counts_and_shapes_it_is_given),
        cmocka_unit_test(trefethen_is_what_its_definition_says),
        cmocka_unit_test(promote_makes_a_block_of_every_entry),
        cmocka_unit_test(right_hand_side_without_physics_is_the_row_sums),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
