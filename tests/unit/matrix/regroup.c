/* Blocks that a numbering hides are found again: fields, scattered unknowns, nearly equal rows. */
#include "unit/matrix/hidden.h"

#include <string.h>

static tess_regrouping *detect(tess_ctx *ctx, const tess_matrix *A)
{
    tess_regrouping *R;
    if (tess_detect_regrouping(ctx, A, NULL, &R) != TESS_OK)
        fail_msg("%s", tess_ctx_error(ctx));
    return R;
}

/* Checks that the order has every unknown once. */
static void check_order(const tess_regrouping *R, int64_t rows)
{
    bool *seen = calloc((size_t)rows, sizeof *seen);
    for (int64_t i = 0; i < rows; i++) {
        assert_in_range(R->order[i], 0, rows - 1);
        assert_false(seen[R->order[i]]);
        seen[R->order[i]] = true;
    }
    free(seen);
}

/* Checks that the order gives as many blocks as were counted. */
static void check_count(tess_ctx *ctx, const tess_matrix *A, const tess_regrouping *R)
{
    tess_matrix *B;
    assert_int_equal(tess_matrix_permute(ctx, A, R->order, &B), TESS_OK);
    assert_int_equal(natural_blocks(ctx, B, R->block), R->blocks);
    tess_matrix_destroy(B);
}

static void fields_are_found_and_interleaved(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int32_t b = 2; b <= 8; b++) {
        char input[64];
        tess_matrix *A;
        snprintf(input, sizeof input, "gen:stencil27:n=6,b=%d", (int)b);
        assert_int_equal(tess_matrix_generate(ctx, input, &A, NULL), TESS_OK);
        int64_t *perm = by_fields(A->rows, b);
        tess_matrix *hidden = hide(ctx, A, perm);
        tess_regrouping *R = detect(ctx, hidden);
        char text[64];
        snprintf(text, sizeof text, "%d fields of 216 unknowns: interleaved they are 100 %% full",
                 (int)b);
        if (R->block != b || R->fields != b || strstr(R->reason, text) == NULL)
            fail_msg("b = %d: %s", (int)b, R->reason);
        check_order(R, A->rows);
        check_count(ctx, hidden, R);
        assert_true(groups_found(R, perm, A->rows) == 1);
        tess_regrouping_destroy(R);
        tess_matrix_destroy(hidden);
        tess_matrix_destroy(A);
        free(perm);
    }
}

/* Full blocks and blocks with missing entries, in a random numbering. */
static void scattered_unknowns_find_each_other(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 1; seed <= 12; seed++) {
        const int32_t b = (int32_t)(2 + seed % 7);
        char input[64];
        tess_matrix *A, *S;
        snprintf(input, sizeof input, "gen:stencil27:n=6,b=%d", (int)b);
        assert_int_equal(tess_matrix_generate(ctx, input, &A, NULL), TESS_OK);
        for (int64_t k = 0; k < tess_matrix_stored(A); k++) /* removes up to 6 % of the entries */
            if (tess_random_below(seed, (uint64_t)k, 100) < (int64_t)(seed % 4) * 2)
                tess_put(A->values, A->type, k, 0);
        assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_ZEROS_DROP, &S), TESS_OK);
        int64_t *perm = by_chance(S->rows, seed);
        tess_matrix *hidden = hide(ctx, S, perm);
        tess_regrouping *R = detect(ctx, hidden);
        check_order(R, S->rows);
        check_count(ctx, hidden, R);
        /* Larger groups than the ones that were hidden may pay as well. */
        const double most = (double)natural_blocks(ctx, S, R->block) / 0.95;
        if (R->block % b != 0 || R->fields != 0 || !((double)R->blocks <= most) ||
            (R->block == b && !(groups_found(R, perm, S->rows) >= 0.95)))
            fail_msg("seed %llu, b = %d: %s; %.3f of the groups", (unsigned long long)seed, (int)b,
                     R->reason, groups_found(R, perm, S->rows));
        tess_regrouping_destroy(R);
        tess_matrix_destroy(hidden);
        tess_matrix_destroy(S);
        tess_matrix_destroy(A);
        free(perm);
    }
}

/* Without diagonal blocks the rows of a group do not have each other's columns. */
static void equal_rows_are_found_without_a_diagonal(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A, *S;
    assert_int_equal(tess_matrix_generate(ctx, "gen:stencil27:n=6,b=3", &A, NULL), TESS_OK);
    for (int64_t i = 0; i < A->block_rows; i++)
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++)
            for (int64_t e = 9 * k; e < 9 * (k + 1) && A->columns[k] == i; e++)
                tess_put(A->values, A->type, e, 0);
    assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_ZEROS_DROP, &S), TESS_OK);
    int64_t *perm = by_chance(S->rows, 5);
    tess_matrix *hidden = hide(ctx, S, perm);
    tess_regrouping *R = detect(ctx, hidden);
    check_count(ctx, hidden, R);
    if (R->block % 3 != 0 || !(R->density > 0.95))
        fail_msg("%s", R->reason);
    tess_regrouping_destroy(R);
    tess_matrix_destroy(hidden);
    tess_matrix_destroy(S);
    tess_matrix_destroy(A);
    free(perm);
}

static void nothing_is_found_where_there_is_nothing(void **state)
{
    static const char *const inputs[] = {"gen:stencil7:n=8,b=1", "gen:trefethen:n=500",
                                         "gen:random:rows=300,cols=200,avg=4"};
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        tess_matrix *A;
        if (tess_matrix_generate(ctx, inputs[i], &A, NULL) != TESS_OK)
            fail_msg("%s", tess_ctx_error(ctx));
        tess_regrouping *R = detect(ctx, A);
        if (R->block != 1 || R->order || R->reason[0] == '\0')
            fail_msg("%s: %s", inputs[i], R->reason);
        tess_regrouping_destroy(R);
        tess_matrix_destroy(A);
    }
    for (int p = 0; p <= TEST_TALL; p++) { /* any pattern gives an order or none */
        tess_matrix *A = test_matrix(ctx, (test_pattern)p, 30, 1, 1, TESS_F64, 7);
        tess_regrouping *R = detect(ctx, A);
        if (R->order) {
            check_order(R, A->rows);
            check_count(ctx, A, R);
        }
        tess_regrouping_destroy(R);
        tess_matrix_destroy(A);
    }
}

static void failing_allocations_leave_nothing_behind(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    assert_int_equal(tess_matrix_generate(ctx, "gen:stencil7:n=4,b=3", &A, NULL), TESS_OK);
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        tess_regrouping *R = NULL;
        status = tess_detect_regrouping(ctx, A, NULL, &R);
        tess_regrouping_destroy(R);
    } while (test_sweep_goes_on(&sweep, status));
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_found_and_interleaved),
        cmocka_unit_test(scattered_unknowns_find_each_other),
        cmocka_unit_test(equal_rows_are_found_without_a_diagonal),
        cmocka_unit_test(nothing_is_found_where_there_is_nothing),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
