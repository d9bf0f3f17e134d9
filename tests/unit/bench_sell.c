/* The sliced ELL arrays that cuSPARSE gets (bench/peers/cusparse_arrays.c), multiplied as
 * cuSPARSE's documentation says. */
#include "../../bench/peers/cusparse_api.h"
#include "support/support.h"

static void sliced_ell_has_every_entry(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (test_pattern pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        tess_matrix *A = test_matrix(ctx, pattern, 70, 1, 1, TESS_F64, 5);
        double *x = test_vector(A->cols, TESS_F64, 1), *y0 = test_vector(A->rows, TESS_F64, 2);
        double *y = calloc((size_t)A->rows + 1, sizeof *y);
        sell_arrays S;
        assert_int_equal(cusparse_to_sell(ctx, A, &S), TESS_OK);
        assert_int_equal(S.offsets[S.slices], S.stored);
        for (int64_t s = 0; s < S.slices; s++)
            for (int64_t k = S.offsets[s]; k < S.offsets[s + 1]; k++) {
                const int64_t row = s * SELL_SLICE + (k - S.offsets[s]) % SELL_SLICE;
                if (S.columns[k] >= 0)
                    y[row] += ((const double *)S.values)[k] * x[S.columns[k]];
                else
                    assert_true(((const double *)S.values)[k] == 0);
            }
        test_check_spmv(test_pattern_name(pattern), A, 1, x, 0, y0, y);
        sell_free(ctx, &S);
        free(x), free(y0), free(y);
        tess_matrix_destroy(A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sliced_ell_has_every_entry)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
