/* The product of two block matrices against dense ones. */
#include "matrix/multiply/multiply.h"
#include "support/support.h"

#include <math.h>
#include <string.h>

/* Checks that every entry of C is within rounding of the dense sum, and that no other block is
 * stored. */
static void check_product(const char *what, const tess_matrix *A, const tess_matrix *B,
                          const tess_matrix *C)
{
    double *a = test_dense(A), *b = test_dense(B), *c = test_dense(C);
    const double unit = A->type == TESS_F64 ? 0x1p-52 : 0x1p-23;
    for (int64_t i = 0; i < A->rows; i++) {
        for (int64_t j = 0; j < B->cols; j++) {
            double sum = 0, size = 0;
            for (int64_t l = 0; l < A->cols; l++) {
                sum += a[i * A->cols + l] * b[l * B->cols + j];
                size += fabs(a[i * A->cols + l] * b[l * B->cols + j]);
            }
            const double error = fabs(c[i * B->cols + j] - sum);
            if (!(error <= (double)(A->cols + 2) * unit * size))
                fail_msg("%s: (%lld, %lld) is %.17g, not %.17g", what, (long long)i, (long long)j,
                         c[i * B->cols + j], sum);
        }
    }
    free(a);
    free(b);
    free(c);
}

static void one_case(void **state, uint64_t seed)
{
    static const int32_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11};
    tess_ctx *ctx = test_ctx(state);
    int32_t shape[3];
    for (uint64_t i = 0; i < 3; i++)
        shape[i] = sizes[tess_random_below(seed, i, sizeof sizes / sizeof *sizes)];
    const test_pattern pattern = (test_pattern)tess_random_below(seed, 3, TEST_PATTERNS);
    const tess_type type = tess_random_below(seed, 4, 2) ? TESS_F32 : TESS_F64;
    const int64_t size = 1 + tess_random_below(seed, 5, 14);
    char what[120];
    snprintf(what, sizeof what, "seed %llu: %s, %dx%d times %dx%d, %s, size %lld",
             (unsigned long long)seed, test_pattern_name(pattern), shape[0], shape[1], shape[1],
             shape[2], tess_type_name(type), (long long)size);
    tess_matrix *A = test_matrix(ctx, pattern, size, shape[0], shape[1], type, seed);
    tess_matrix *other = test_matrix(ctx, pattern, size, shape[2], shape[1], type, seed + 1), *B;
    assert_int_equal(tess_matrix_transpose(ctx, other, &B), TESS_OK);
    if (A->cols == B->rows) {
        tess_matrix *C, *again;
        assert_int_equal(tess_matrix_multiply(ctx, A, B, &C), TESS_OK);
        test_check_valid(what, C);
        check_product(what, A, B, C);
        const int threads = ctx->threads;
        ctx->threads = 1 + (int)tess_random_below(seed, 6, 5);
        assert_int_equal(tess_matrix_multiply(ctx, A, B, &again), TESS_OK);
        ctx->threads = threads;
        test_check_identical(what, C, again);
        tess_matrix_destroy(C);
        tess_matrix_destroy(again);
    }
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
    tess_matrix_destroy(other);
}

/* Columns fall into every 64-bit word of several summaries. Rows have one block or hundreds, and
 * more blocks in all than the first walk's buffer holds. */
static void long_rows_of_scattered_columns_are_complete(void **state)
{
    static const char *const specs[] = {"random:rows=20000,avg=3,seed=3",
                                        "powerlaw:rows=9000,avg=3,b=1,long=3,length=4000",
                                        "random:rows=5000,avg=30", "diffusion:n=18"};
    tess_ctx *ctx = test_ctx(state);
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        tess_matrix *A, *C;
        assert_int_equal(tess_matrix_generate(ctx, specs[s], &A, NULL), TESS_OK);
        assert_int_equal(tess_matrix_multiply(ctx, A, A, &C), TESS_OK);
        test_check_valid(specs[s], C);
        double *sums = calloc((size_t)A->cols, sizeof *sums), *sizes = calloc((size_t)A->cols, 8);
        bool *there = calloc((size_t)A->cols, 1);
        const double *a = A->values, *c = C->values;
        for (int64_t i = 0; i < A->rows; i++) {
            int64_t count = 0;
            for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++)
                for (int64_t j = A->columns[k], l = A->row_offsets[j]; l < A->row_offsets[j + 1];
                     l++) {
                    const int32_t to = A->columns[l];
                    count += !there[to];
                    there[to] = true;
                    sums[to] += a[k] * a[l];
                    sizes[to] += fabs(a[k] * a[l]);
                }
            if (count != C->row_offsets[i + 1] - C->row_offsets[i])
                fail_msg("%s: row %lld has not %lld columns", specs[s], (long long)i,
                         (long long)count);
            for (int64_t k = C->row_offsets[i]; k < C->row_offsets[i + 1]; k++) {
                const int32_t to = C->columns[k];
                if (!there[to] || !(fabs(c[k] - sums[to]) <= 1e-12 * sizes[to]))
                    fail_msg("%s: (%lld, %d) is %.17g, not %.17g", specs[s], (long long)i, to, c[k],
                             sums[to]);
                there[to] = false;
                sums[to] = sizes[to] = 0;
            }
        }
        free(sums);
        free(sizes);
        free(there);
        tess_matrix_destroy(A);
        tess_matrix_destroy(C);
    }
}

/* One walk gives the pattern and values of two walks, to the bit. In the walk's own order of
 * columns the values are the same. */
static void one_walk_gives_what_two_give(void **state)
{
    static const char *const specs[] = {"random:rows=3000,avg=5,seed=4",
                                        "powerlaw:rows=3000,avg=3,b=1,long=3,length=2000",
                                        "diffusion:n=12"};
    tess_ctx *ctx = test_ctx(state);
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        tess_matrix *A, *once, *twice, *unsorted;
        assert_int_equal(tess_matrix_generate(ctx, specs[s], &A, NULL), TESS_OK);
        assert_true(tess_multiplies_scalars(A, A));
        assert_int_equal(tess_multiply_scalars(ctx, A, A, false, &once), TESS_OK);
        assert_int_equal(tess_multiply_pattern(ctx, A, A, &twice), TESS_OK);
        assert_int_equal(tess_multiply_values(ctx, A, A, twice), TESS_OK);
        test_check_identical(specs[s], once, twice);
        assert_int_equal(tess_multiply_scalars(ctx, A, A, true, &unsorted), TESS_OK);
        assert_int_equal(unsorted->blocks, twice->blocks);
        for (int64_t i = 0; i < A->rows; i++)
            for (int64_t k = unsorted->row_offsets[i]; k < unsorted->row_offsets[i + 1]; k++) {
                const int64_t at = tess_matrix_find(twice, i, unsorted->columns[k]);
                assert_true(at >= 0);
                assert_memory_equal((double *)unsorted->values + k, (double *)twice->values + at,
                                    sizeof(double));
            }
        tess_matrix_destroy(A), tess_matrix_destroy(once);
        tess_matrix_destroy(twice), tess_matrix_destroy(unsorted);
    }
}

static void products_are_those_of_dense_matrices_whatever_the_threads(void **state)
{
    for (uint64_t seed = 1; seed <= 600; seed++)
        one_case(state, seed);
}

/* A zero of the padding must not meet an infinity. */
static void an_infinity_stays_out_of_the_padding(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RAGGED, 5, 3, 3, TESS_F64, 5), *T, *C;
    assert_int_equal(tess_matrix_transpose(ctx, A, &T), TESS_OK);
    for (int64_t k = 0; k < A->blocks; k++)
        ((double *)A->values)[9 * k] = INFINITY;
    assert_int_equal(tess_matrix_multiply(ctx, A, T, &C), TESS_OK);
    assert_int_equal(tess_matrix_check_padding(C), TESS_OK);
    tess_matrix_destroy(A);
    tess_matrix_destroy(T);
    tess_matrix_destroy(C);
}

static void what_does_not_fit_is_named(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_BANDED, 4, 2, 3, TESS_F64, 1), *C = NULL;
    tess_matrix *B = test_matrix(ctx, TEST_BANDED, 4, 2, 3, TESS_F64, 1), *F;
    assert_int_equal(tess_matrix_multiply(ctx, A, B, &C), TESS_ERR_ARGUMENT);
    assert_non_null(strstr(tess_ctx_error(ctx), "in blocks of 3, B"));
    assert_int_equal(tess_matrix_transpose(ctx, B, &F), TESS_OK);
    tess_matrix_destroy(B);
    assert_int_equal(tess_matrix_to_type(ctx, F, TESS_F32, &B), TESS_OK);
    assert_int_equal(tess_matrix_multiply(ctx, A, B, &C), TESS_ERR_ARGUMENT);
    assert_string_equal(tess_ctx_error(ctx), "A B: A is f64, B is f32");
    assert_null(C);
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        C = NULL;
        status = tess_matrix_multiply(ctx, A, F, &C);
        tess_matrix_destroy(C);
    } while (test_sweep_goes_on(&sweep, status));
    assert_true(sweep.failed >= 5);
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
    tess_matrix_destroy(F);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_walk_gives_what_two_give),
        cmocka_unit_test(products_are_those_of_dense_matrices_whatever_the_threads),
        cmocka_unit_test(long_rows_of_scattered_columns_are_complete),
        cmocka_unit_test(an_infinity_stays_out_of_the_padding),
        cmocka_unit_test(what_does_not_fit_is_named),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
