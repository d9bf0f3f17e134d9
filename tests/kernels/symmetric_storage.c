/* Half storage: half of the blocks are kept, each once, and all of them come back. */
#include <math.h>
#include <string.h>

#include "cpu/update/update.h"
#include "support/inverse.h"
#include "symmetric.h"

static void lanes_hold_every_block_once(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        for (int lanes = 1; lanes <= 16; lanes = lanes * 2 + (lanes == 2)) { /* 1, 2, 5, 10 */
            const tess_type type = lanes == 2 ? TESS_F32 : TESS_F64;
            tess_matrix *A =
                symmetric_matrix(ctx, (test_pattern)pattern, 11, 1 + pattern % 3, type, 8);
            tess_symmetric_lanes *S = NULL;
            tess_symmetric_mirrors *M = NULL;
            assert_int_equal(tess_symmetric_mirrors_create(ctx, A, &M), TESS_OK);
            assert_int_equal(tess_symmetric_lanes_create(ctx, A, lanes, &S), TESS_OK);
            assert_int_equal(tess_cpu_update_lanes(S, M, A), TESS_OK);
            int64_t upper = 0;
            for (int64_t i = 0; i < A->block_rows; i++)
                upper += A->row_offsets[i + 1] - tess_matrix_lower_bound(A, i, i);
            assert_int_equal(symmetric_check_slots(S, A), upper);
            double fill = (double)upper / (double)(S->slots > 0 ? S->slots * lanes : 1);
            assert_true(S->slots == 0 || tess_symmetric_lanes_fill(A, lanes) == fill);
            tess_symmetric_lanes_destroy(S);
            tess_symmetric_mirrors_destroy(M);
            tess_matrix_destroy(A);
        }
    }
}

/* On a grid successive rows have the same pattern, except at the ends of grid lines. */
static void storage_holds_half_and_comes_back(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        for (int32_t b = 1; b <= 5; b += 2) {
            tess_matrix *A = symmetric_matrix(ctx, (test_pattern)pattern, 11, b,
                                              b == 3 ? TESS_F32 : TESS_F64, 8);
            tess_matrix *U = NULL, *B = NULL;
            tess_symmetric_mirrors *M = NULL;
            assert_int_equal(tess_symmetric_mirrors_create(ctx, A, &M), TESS_OK);
            assert_int_equal(tess_symmetric_create(ctx, A, M, &U), TESS_OK);
            assert_int_equal(tess_cpu_update_upper(U, M, A), TESS_OK);
            int64_t diagonal = 0;
            for (int64_t i = 0; i < A->block_rows; i++)
                diagonal += tess_matrix_find(A, i, i) >= 0;
            assert_int_equal(2 * U->blocks, A->blocks + diagonal);
            assert_int_equal(tess_symmetric_bytes(U),
                             tess_matrix_stored(U) * (int64_t)tess_type_size(U->type) +
                                 4 * U->blocks + 8 * (U->block_rows + 1));
            test_check_valid("upper", U);
            assert_int_equal(test_symmetric_to_bsr(ctx, U, &B), TESS_OK);
            test_check_identical(test_pattern_name((test_pattern)pattern), A, B);
            tess_matrix_destroy(A);
            tess_matrix_destroy(B);
            tess_matrix_destroy(U);
            tess_symmetric_mirrors_destroy(M);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_hold_every_block_once),
        cmocka_unit_test(storage_holds_half_and_comes_back),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
