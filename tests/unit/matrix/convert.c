/* Conversions between block sizes, CSR and coordinates, and the transpose. */
#include "support/support.h"

#include <string.h>

#include "ref/ref.h"

static const struct {
    int32_t r, c;
} shapes[] = {{1, 1}, {2, 2}, {3, 3},   {1, 3},  {2, 5},
              {4, 3}, {7, 7}, {33, 33}, {64, 5}, {100, 100}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static char what[128];

static const char *label(const char *call, int pattern, size_t from, size_t to, uint64_t seed)
{
    snprintf(what, sizeof what, "%s %s %dx%d to %dx%d seed %llu", call,
             test_pattern_name((test_pattern)pattern), (int)shapes[from].r, (int)shapes[from].c,
             (int)shapes[to].r, (int)shapes[to].c, (unsigned long long)seed);
    return what;
}

/* 3 x 4:  1 . 2 .      in 2 x 2 blocks:  [1 3; . 4] [2 . ; . 5]   column-major: 1 3 . 4, 2 . . 5
 *         3 4 . 5                        [6 . ; . .]              the last row is padding
 *         6 . . .                                                                              */
static const int64_t hand_offsets[] = {0, 2, 5, 6};
static const int32_t hand_columns[] = {0, 2, 0, 1, 3, 0};
static const double hand_values[] = {1, 2, 3, 4, 5, 6};

static void csr_to_blocks_by_hand(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A, *B;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 3, 4, hand_offsets, hand_columns,
                                          hand_values, TESS_OWNERSHIP_BORROW, &A),
                     TESS_OK);
    assert_int_equal(tess_matrix_to_blocks(ctx, A, &(tess_blocking){2, 2}, &B), TESS_OK);
    assert_int_equal(B->block_rows, 2);
    assert_int_equal(B->blocks, 3);
    const int64_t offsets[] = {0, 2, 3};
    const int32_t columns[] = {0, 1, 0};
    const double values[] = {1, 3, 0, 4, 2, 0, 0, 5, 6, 0, 0, 0};
    assert_memory_equal(B->row_offsets, offsets, sizeof offsets);
    assert_memory_equal(B->columns, columns, sizeof columns);
    assert_memory_equal(B->values, values, sizeof values);
    tess_matrix_destroy(B);
    tess_matrix_destroy(A);
}

static void blocks_to_csr_drops_or_keeps_zeros_by_hand(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t offsets[] = {0, 2, 3};
    const int32_t columns[] = {0, 1, 0};
    const double values[] = {1, 3, 0, 4, 2, -0.0, 0, 5, 6, 0, 0, 0};
    const tess_matrix_view view = {.rows = 3,
                                   .cols = 4,
                                   .block_height = 2,
                                   .block_width = 2,
                                   .row_offsets = offsets,
                                   .columns = columns,
                                   .values = values};
    tess_matrix *A, *B;
    assert_int_equal(
        tess_matrix_from_bsr(ctx, &view, TESS_ORDER_COLUMN_MAJOR, TESS_OWNERSHIP_BORROW, &A),
        TESS_OK);
    assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_ZEROS_DROP, &B), TESS_OK);
    assert_int_equal(B->blocks, 6);
    assert_memory_equal(B->row_offsets, hand_offsets, sizeof hand_offsets);
    assert_memory_equal(B->columns, hand_columns, sizeof hand_columns);
    assert_memory_equal(B->values, hand_values, sizeof hand_values);
    tess_matrix_destroy(B);
    assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_ZEROS_KEEP, &B), TESS_OK);
    assert_int_equal(B->blocks, 10);
    const int64_t kept[] = {0, 4, 8, 10};
    assert_memory_equal(B->row_offsets, kept, sizeof kept);
    tess_matrix_destroy(B);
    tess_matrix_destroy(A);
}

static void transpose_by_hand(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t offsets[] = {0, 2};
    const int32_t columns[] = {0, 1};
    const float values[] = {1, 4, 2, 5, 3, 6, 7, 0, 0, 0, 0, 0}; /* [1 2 3; 4 5 6] and 7 alone */
    const tess_matrix_view view = {.type = TESS_F32,
                                   .rows = 2,
                                   .cols = 4,
                                   .block_height = 2,
                                   .block_width = 3,
                                   .row_offsets = offsets,
                                   .columns = columns,
                                   .values = values};
    tess_matrix *A, *B;
    assert_int_equal(
        tess_matrix_from_bsr(ctx, &view, TESS_ORDER_COLUMN_MAJOR, TESS_OWNERSHIP_COPY, &A),
        TESS_OK);
    assert_int_equal(tess_matrix_transpose(ctx, A, &B), TESS_OK);
    const int64_t expected_offsets[] = {0, 1, 2};
    const float expected[] = {1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0};
    assert_int_equal(B->rows, 4);
    assert_int_equal(B->block_height, 3);
    assert_memory_equal(B->row_offsets, expected_offsets, sizeof expected_offsets);
    assert_memory_equal(B->values, expected, sizeof expected);
    tess_matrix_destroy(B);
    tess_matrix_destroy(A);
}

static void every_block_size_converts_to_every_other(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        for (size_t from = 0; from < SHAPES; from++) {
            int64_t size = shapes[from].r > 8 ? 2 : 11;
            tess_type type = from % 2 ? TESS_F32 : TESS_F64;
            tess_matrix *A = test_matrix(ctx, (test_pattern)pattern, size, shapes[from].r,
                                         shapes[from].c, type, 11 + from);
            for (size_t to = 0; to < SHAPES; to++) {
                tess_matrix *B, *C;
                label("to_blocks", pattern, from, to, 11 + from);
                assert_int_equal(
                    tess_matrix_to_blocks(ctx, A, &(tess_blocking){shapes[to].r, shapes[to].c}, &B),
                    TESS_OK);
                test_check_valid(what, B);
                test_check_same_dense(what, A, B);
                /* The blocks of A come back: outside them there are only zeros. */
                assert_int_equal(tess_matrix_to_csr(ctx, B, TESS_ZEROS_DROP, &C), TESS_OK);
                tess_matrix_destroy(B);
                test_check_valid(what, C);
                assert_int_equal(tess_matrix_to_blocks(
                                     ctx, C, &(tess_blocking){shapes[from].r, shapes[from].c}, &B),
                                 TESS_OK);
                test_check_identical(what, A, B);
                tess_matrix_destroy(B);
                tess_matrix_destroy(C);
            }
            tess_matrix_destroy(A);
        }
    }
}

static void transpose_of_the_transpose_is_the_matrix(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        for (size_t shape = 0; shape < SHAPES; shape++) {
            int64_t size = shapes[shape].r > 8 ? 3 : 37;
            tess_matrix *B, *C;
            tess_matrix *A = test_matrix(ctx, (test_pattern)pattern, size, shapes[shape].r,
                                         shapes[shape].c, TESS_F64, 5 + shape);
            label("transpose", pattern, shape, shape, 5 + shape);
            assert_int_equal(tess_matrix_transpose(ctx, A, &B), TESS_OK);
            test_check_valid(what, B);
            double *a = test_dense(A), *b = test_dense(B);
            for (int64_t i = 0; i < A->rows; i++)
                for (int64_t j = 0; j < A->cols; j++)
                    if (a[i * A->cols + j] != b[j * A->rows + i])
                        fail_msg("%s: entry (%lld, %lld)", what, (long long)i, (long long)j);
            assert_int_equal(tess_matrix_transpose(ctx, B, &C), TESS_OK);
            test_check_identical(what, A, C);
            free(a);
            free(b);
            tess_matrix_destroy(A);
            tess_matrix_destroy(B);
            tess_matrix_destroy(C);
        }
    }
}

static void coordinates_round_trip(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        for (size_t shape = 0; shape < 6; shape++) {
            tess_matrix *A = test_matrix(ctx, (test_pattern)pattern, 19, shapes[shape].r,
                                         shapes[shape].c, TESS_F64, 3 + shape);
            tess_matrix *B, *C, *D;
            label("coo", pattern, shape, shape, 3 + shape);
            int64_t entries, again;
            assert_int_equal(
                tess_matrix_to_coo(ctx, A, TESS_ZEROS_KEEP, 0, NULL, NULL, NULL, &entries),
                TESS_OK);
            size_t bytes = (size_t)(entries + 1) * 8;
            int64_t *row = malloc(bytes), *col = malloc(bytes);
            double *values = malloc(bytes);
            if (entries > 0)
                assert_int_equal(tess_matrix_to_coo(ctx, A, TESS_ZEROS_KEEP, entries - 1, row, col,
                                                    values, &again),
                                 TESS_ERR_ARGUMENT);
            assert_int_equal(
                tess_matrix_to_coo(ctx, A, TESS_ZEROS_KEEP, entries, row, col, values, &again),
                TESS_OK);
            assert_int_equal(entries, again);
            assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, A->rows, A->cols, entries, row,
                                                  col, values, &B),
                             TESS_OK);
            assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_ZEROS_KEEP, &C), TESS_OK);
            test_check_identical(what, B, C);
            tess_blocking blocking = {shapes[shape].r, shapes[shape].c};
            assert_int_equal(tess_matrix_to_blocks(ctx, B, &blocking, &D), TESS_OK);
            test_check_identical(what, A, D);
            free(row);
            free(col);
            free(values);
            tess_matrix_destroy(A);
            tess_matrix_destroy(B);
            tess_matrix_destroy(C);
            tess_matrix_destroy(D);
        }
    }
}

/* y = A x is the same, bit for bit, whether A is CSR or BSR: ref adds in the order of columns. */
static void blocks_and_csr_multiply_alike(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RAGGED, 40, 4, 3, TESS_F64, 17), *B;
    assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_ZEROS_DROP, &B), TESS_OK);
    double *x = test_vector(A->cols, TESS_F64, 18);
    double *y = malloc((size_t)A->rows * 8), *z = malloc((size_t)A->rows * 8);
    tess_ref_spmv(A, 1, x, 0, y);
    tess_ref_spmv(B, 1, x, 0, z);
    assert_memory_equal(y, z, (size_t)A->rows * 8);
    free(x);
    free(y);
    free(z);
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
}

static void matrices_without_rows_or_columns_convert(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t sizes[][2] = {{0, 0}, {0, 5}, {5, 0}};
    for (size_t i = 0; i < 3; i++) {
        tess_matrix *A, *B, *C, *D;
        int64_t rows = sizes[i][0], cols = sizes[i][1];
        assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, rows, cols, 0, NULL, NULL, NULL, &A),
                         TESS_OK);
        assert_int_equal(tess_matrix_to_blocks(ctx, A, &(tess_blocking){2, 3}, &B), TESS_OK);
        assert_int_equal(tess_matrix_transpose(ctx, B, &C), TESS_OK);
        assert_int_equal(tess_matrix_to_csr(ctx, C, TESS_ZEROS_KEEP, &D), TESS_OK);
        test_check_valid("no rows or columns", B);
        assert_int_equal(D->rows, cols);
        assert_int_equal(D->cols, rows);
        assert_int_equal(D->blocks, 0);
        tess_matrix_destroy(A);
        tess_matrix_destroy(B);
        tess_matrix_destroy(C);
        tess_matrix_destroy(D);
    }
}

static void check_places(const char *made, const tess_matrix *A, const tess_matrix *B)
{
    if (!B->coordinates || B->dimensions != A->dimensions)
        fail_msg("%s: the coordinates are lost", made);
    assert_memory_equal(B->coordinates, A->coordinates,
                        (size_t)(A->block_rows * A->dimensions) * sizeof *A->coordinates);
}

/* A conversion to another type, or to A's own block size, keeps each block row's place. */
static void coordinates_stay_with_their_block_rows(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A, *B;
    assert_int_equal(tess_matrix_generate(ctx, "elasticity:n=2", &A, NULL), TESS_OK);
    for (int type = TESS_F64; type <= TESS_C32; type++) {
        assert_int_equal(tess_matrix_to_type(ctx, A, (tess_type)type, &B), TESS_OK);
        check_places(tess_type_name((tess_type)type), A, B);
        tess_matrix_destroy(B);
    }
    assert_int_equal(tess_matrix_to_blocks(ctx, A, &(tess_blocking){3, 3}, &B), TESS_OK);
    check_places("3 x 3", A, B);
    tess_matrix_destroy(B);
    assert_int_equal(tess_matrix_to_blocks(ctx, A, &(tess_blocking){2, 2}, &B), TESS_OK);
    assert_null(B->coordinates);
    tess_matrix_destroy(B);
    tess_matrix_destroy(A);
}

static void the_block_size_is_detected_when_not_given(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 60, 3, 3, TESS_F64, 29), *csr, *B;
    assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_ZEROS_DROP, &csr), TESS_OK);
    assert_int_equal(tess_matrix_to_blocks(ctx, csr, NULL, &B), TESS_OK);
    test_check_identical("detected", A, B);
    tess_matrix_destroy(B);
    assert_int_equal(tess_matrix_to_blocks(ctx, csr, &(tess_blocking){0, 0}, &B), TESS_OK);
    test_check_identical("detected", A, B);
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
    tess_matrix_destroy(csr);
}

/* Makes all conversions of one matrix. The caller owns the results. */
enum { CONVERSIONS = 4 };
static tess_status convert_all(tess_ctx *ctx, const tess_matrix *A, tess_matrix *out[CONVERSIONS])
{
    tess_status status;
    memset(out, 0, CONVERSIONS * sizeof *out);
    (void)((status = tess_matrix_to_blocks(ctx, A, &(tess_blocking){2, 5}, &out[0])) ||
           (status = tess_matrix_to_csr(ctx, A, TESS_ZEROS_DROP, &out[1])) ||
           (status = tess_matrix_transpose(ctx, A, &out[2])) ||
           (status = tess_matrix_to_blocks(ctx, out[1], &(tess_blocking){4, 4}, &out[3])));
    return status;
}

static void destroy_all(tess_matrix *matrices[CONVERSIONS])
{
    for (int i = 0; i < CONVERSIONS; i++)
        tess_matrix_destroy(matrices[i]);
}

static void any_number_of_threads_gives_the_same_bits(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        tess_matrix *A = test_matrix(ctx, (test_pattern)pattern, 50, 3, 3, TESS_F64, 23);
        tess_matrix *one[CONVERSIONS], *many[CONVERSIONS];
        assert_int_equal(tess_ctx_set_threads(ctx, 1), TESS_OK);
        assert_int_equal(convert_all(ctx, A, one), TESS_OK);
        for (int threads = 2; threads < 8; threads += 3) {
            assert_int_equal(tess_ctx_set_threads(ctx, threads), TESS_OK);
            assert_int_equal(convert_all(ctx, A, many), TESS_OK);
            for (int i = 0; i < CONVERSIONS; i++)
                test_check_identical(test_pattern_name((test_pattern)pattern), one[i], many[i]);
            destroy_all(many);
        }
        destroy_all(one);
        tess_matrix_destroy(A);
    }
    assert_int_equal(tess_ctx_set_threads(ctx, 0), TESS_OK);
}

static void a_failed_allocation_leaves_nothing_behind(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 9, 3, 2, TESS_F64, 1), *out[CONVERSIONS];
    int64_t count;
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        status = convert_all(ctx, A, out);
        destroy_all(out);
        if (status == TESS_OK)
            status = tess_matrix_to_coo(ctx, A, TESS_ZEROS_KEEP, 0, NULL, NULL, NULL, &count);
    } while (test_sweep_goes_on(&sweep, status));
    tess_matrix_destroy(A);
}

static void bad_arguments_are_named(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 3, 2, 2, TESS_F64, 1), *B = A;
    assert_int_equal(tess_matrix_to_blocks(ctx, NULL, NULL, &B), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_matrix_to_blocks(ctx, A, &(tess_blocking){3, -1}, &B), TESS_ERR_ARGUMENT);
    assert_string_equal(tess_ctx_error(ctx), "blocks of 3 x -1 are outside 1..32768");
    assert_int_equal(tess_matrix_to_blocks(ctx, A, &(tess_blocking){40000, 1}, &B),
                     TESS_ERR_ARGUMENT);
    assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_ZEROS_DROP, NULL), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_matrix_transpose(NULL, A, &B), TESS_ERR_ARGUMENT);
    int64_t entries;
    assert_int_equal(tess_matrix_to_coo(ctx, A, TESS_ZEROS_KEEP, 1, NULL, NULL, B, &entries),
                     TESS_ERR_ARGUMENT);
    assert_int_equal(tess_matrix_to_coo(ctx, A, (tess_zeros)2, 0, NULL, NULL, NULL, &entries),
                     TESS_ERR_ARGUMENT);
    assert_int_equal(tess_matrix_to_csr(ctx, A, (tess_zeros)-1, &B), TESS_ERR_ARGUMENT);
    assert_ptr_equal(A, B);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csr_to_blocks_by_hand),
        cmocka_unit_test(blocks_to_csr_drops_or_keeps_zeros_by_hand),
        cmocka_unit_test(transpose_by_hand),
        cmocka_unit_test(every_block_size_converts_to_every_other),
        cmocka_unit_test(transpose_of_the_transpose_is_the_matrix),
        cmocka_unit_test(coordinates_round_trip),
        cmocka_unit_test(blocks_and_csr_multiply_alike),
        cmocka_unit_test(matrices_without_rows_or_columns_convert),
        cmocka_unit_test(coordinates_stay_with_their_block_rows),
        cmocka_unit_test(the_block_size_is_detected_when_not_given),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
        cmocka_unit_test(bad_arguments_are_named),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
