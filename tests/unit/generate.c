/* Generators: patterns, values and right-hand sides known in advance, bits that do not depend on
 * the number of threads, and the exact words of every refusal. */
#include "support/support.h"

#include <math.h>
#include <string.h>

static tess_matrix *generate(tess_ctx *ctx, const char *spec)
{
    tess_matrix *A = NULL;
    if (tess_matrix_generate(ctx, spec, &A, NULL) != TESS_OK)
        fail_msg("%s: %s", spec, tess_ctx_error(ctx));
    tess_matrix_view view;
    tess_matrix_get_view(A, &view);
    if (tess_matrix_validate(ctx, &view, true) != TESS_OK)
        fail_msg("%s: %s", spec, tess_ctx_error(ctx));
    return A;
}

/* Scalars as a dense row-major matrix: A is small here. */
static double *dense(const tess_matrix *A)
{
    double *D = calloc((size_t)(A->rows * A->cols), sizeof *D);
    int64_t r = A->block_height, c = A->block_width;
    for (int64_t i = 0; i < A->block_rows; i++)
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++)
            for (int64_t e = 0; e < r * c; e++)
                D[(i * r + e % r) * A->cols + A->columns[k] * c + e / r] =
                    A->type == TESS_F64 ? ((double *)A->values)[k * r * c + e]
                                        : (double)((float *)A->values)[k * r * c + e];
    return D;
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
        double *D = dense(A);
        assert_symmetric(specs[i], D, A->rows);
        assert_dominant(specs[i], D, A->rows);
        free(D);
        tess_matrix_destroy(A);
    }
}

static void right_hand_side_without_physics_is_the_row_sums(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    void *rhs;
    assert_int_equal(tess_matrix_generate(ctx, "stencil27:n=3,b=2", &A, &rhs), TESS_OK);
    double *D = dense(A);
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

static void assert_same_matrix(const char *spec, const tess_matrix *A, const tess_matrix *B)
{
    size_t bytes = (size_t)tess_matrix_stored(A) * tess_type_size(A->type);
    if (A->blocks != B->blocks || A->rows != B->rows ||
        memcmp(A->row_offsets, B->row_offsets, (size_t)(A->block_rows + 1) * 8) != 0 ||
        memcmp(A->columns, B->columns, (size_t)A->blocks * 4) != 0 ||
        memcmp(A->values, B->values, bytes) != 0)
        fail_msg("%s differs with the number of threads", spec);
}

static const char *const small_specs[] = {
    "stencil7:n=4,b=3",
    "stencil27:nx=5,ny=3,nz=2,b=2",
    "stencil27:n=3,b=2,type=f32",
};

static void any_number_of_threads_gives_the_same_bits(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    int threads = tess_ctx_threads(ctx);
    for (size_t i = 0; i < sizeof small_specs / sizeof small_specs[0]; i++) {
        const char *spec = small_specs[i];
        tess_matrix *A[2];
        void *rhs[2];
        for (int t = 0; t < 2; t++) {
            assert_int_equal(tess_ctx_set_threads(ctx, t ? 5 : 1), TESS_OK);
            assert_int_equal(tess_matrix_generate(ctx, spec, &A[t], &rhs[t]), TESS_OK);
        }
        assert_same_matrix(spec, A[0], A[1]);
        assert_memory_equal(rhs[0], rhs[1], (size_t)A[0]->rows * tess_type_size(A[0]->type));
        for (int t = 0; t < 2; t++) {
            tess_release(ctx, rhs[t]);
            tess_matrix_destroy(A[t]);
        }
    }
    assert_int_equal(tess_ctx_set_threads(ctx, threads), TESS_OK);
}

static void every_failed_allocation_is_survived(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < sizeof small_specs / sizeof small_specs[0]; i++) {
        int64_t live = test_live(state);
        for (int64_t n = 0;; n++) {
            tess_matrix *A = NULL;
            void *rhs = NULL;
            test_fail_allocation(state, n);
            tess_status status = tess_matrix_generate(ctx, small_specs[i], &A, &rhs);
            test_fail_allocation(state, -1);
            if (status == TESS_OK) {
                tess_release(ctx, rhs);
                tess_matrix_destroy(A);
                break;
            }
            assert_int_equal(status, TESS_ERR_MEMORY);
            assert_null(A);
            assert_null(rhs);
            assert_int_equal(test_live(state), live);
        }
    }
}

static void a_bad_spec_is_refused_in_these_words(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const struct {
        const char *spec;
        tess_status status;
        const char *error;
    } bad[] = {
        {"stencil8:n=3", TESS_ERR_OPTION, "unknown generator 'stencil8' (nearest: 'stencil7')"},
        {"", TESS_ERR_OPTION, "unknown generator '' (nearest: 'stencil7')"},
        {"gen:stencil7:m=3", TESS_ERR_OPTION, "gen:stencil7: unknown key 'm' (nearest: 'n')"},
        {"stencil27:n=0", TESS_ERR_OPTION, "gen:stencil27: n=0 is outside 1..2147483647"},
        {"stencil27:b=2.5", TESS_ERR_OPTION, "gen:stencil27: b=2.5 is not an integer"},
        {"stencil7:type=f16", TESS_ERR_OPTION,
         "gen:stencil7: type=f16 is not a choice (nearest: 'f64')"},
        {"stencil7:n=2000", TESS_ERR_OVERFLOW,
         "gen:stencil7: 2000 x 2000 x 2000 points with b=3 are more than 2^31-1 block columns"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tess_matrix *A = NULL;
        assert_int_equal(tess_matrix_generate(ctx, bad[i].spec, &A, NULL), bad[i].status);
        assert_string_equal(tess_ctx_error(ctx), bad[i].error);
        assert_null(A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stencils_have_the_neighbours_of_a_box),
        cmocka_unit_test(stencils_are_symmetric_and_dominant),
        cmocka_unit_test(right_hand_side_without_physics_is_the_row_sums),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(a_bad_spec_is_refused_in_these_words),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
