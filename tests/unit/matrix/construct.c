/* Matrices from the caller's arrays: CSR, BSR and coordinates; ownership; faults by name. */
#include "support/support.h"

#include <math.h>
#include <string.h>

/* 3 x 4 with row 0 unsorted and (0, 1) given three times. */
static const int64_t messy_offsets[] = {0, 5, 5, 6};
static const int32_t messy_columns[] = {3, 1, 0, 1, 1, 2};
static const double messy_values[] = {5, 1e16, 7, 1, -1e16, 9};

static void a_copy_sorts_and_sums_repeated_columns_in_input_order(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 3, 4, messy_offsets, messy_columns,
                                          messy_values, TESS_OWNERSHIP_COPY, &A),
                     TESS_OK);
    const int64_t offsets[] = {0, 3, 3, 4};
    const int32_t columns[] = {0, 1, 3, 2};
    const double values[] = {7, 0, 5, 9}; /* (1e16 + 1) - 1e16 is 0 in this order only */
    assert_int_equal(A->blocks, 4);
    assert_memory_equal(A->row_offsets, offsets, sizeof offsets);
    assert_memory_equal(A->columns, columns, sizeof columns);
    assert_memory_equal(A->values, values, sizeof values);
    tess_matrix_destroy(A);

    const int32_t narrow[] = {0, 5, 5, 6};
    assert_int_equal(
        tess_matrix_from_csr_i32(ctx, TESS_F64, 3, 4, narrow, messy_columns, messy_values, &A),
        TESS_OK);
    assert_memory_equal(A->row_offsets, offsets, sizeof offsets);
    assert_memory_equal(A->values, values, sizeof values);
    tess_matrix_destroy(A);
}

static void coordinates_are_summed_in_input_order(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t row[] = {2, 0, 0, 0, 2, 0}, col[] = {2, 1, 3, 1, 0, 1};
    const float values[] = {4, 0x1p30f, 2, 1, NAN, -0x1p30f};
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F32, 3, 4, 6, row, col, values, &A), TESS_OK);
    const int64_t offsets[] = {0, 2, 2, 4};
    const int32_t columns[] = {1, 3, 0, 2};
    const float *got = A->values;
    assert_int_equal(A->blocks, 4);
    assert_memory_equal(A->row_offsets, offsets, sizeof offsets);
    assert_memory_equal(A->columns, columns, sizeof columns);
    assert_true(got[0] == 0 && got[1] == 2 && isnan(got[2]) && got[3] == 4);
    tess_matrix_destroy(A);
}

/* Many repetitions in random places: any number of threads gives the bits of one thread. */
static void coordinates_give_the_same_bits_for_any_number_of_threads(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    enum { ENTRIES = 20000 };
    const uint64_t seed = 41;
    int64_t *row = malloc(ENTRIES * sizeof *row), *col = malloc(ENTRIES * sizeof *col);
    double *values = malloc(ENTRIES * sizeof *values);
    double *dense = calloc(97 * 61, sizeof *dense);
    for (uint64_t k = 0; k < ENTRIES; k++) {
        row[k] = k % 3 ? tess_random_below(seed, k, 97) : 11; /* row 11 is very long */
        col[k] = tess_random_below(seed + 1, k, 61);
        values[k] = tess_random_unit(seed + 2, k);
        dense[row[k] * 61 + col[k]] += values[k];
    }
    tess_matrix *one = NULL, *many;
    for (int threads = 1; threads < 9; threads++) {
        assert_int_equal(tess_ctx_set_threads(ctx, threads), TESS_OK);
        assert_int_equal(
            tess_matrix_from_coo(ctx, TESS_F64, 97, 61, ENTRIES, row, col, values, &many), TESS_OK);
        test_check_valid("coo seed 41", many);
        double *got = test_dense(many);
        assert_memory_equal(got, dense, 97 * 61 * sizeof *dense);
        free(got);
        if (one)
            test_check_identical("coo seed 41", one, many);
        tess_matrix_destroy(one);
        one = many;
    }
    tess_matrix_destroy(one);
    assert_int_equal(tess_ctx_set_threads(ctx, 0), TESS_OK);
    free(row);
    free(col);
    free(values);
    free(dense);
}

/* One 2 x 2 block and, below it, a padded one: 3 x 3 in blocks of 2. Values 90.. lie outside. */
static const int64_t bsr_offsets[] = {0, 2, 3};
static const int32_t bsr_columns[] = {0, 1, 1};

static void row_major_blocks_are_turned_and_padding_is_zeroed(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const double values[] = {1, -0.0, 3, 4, 5, 90, 6, 91, 7, 92, 93, 94};
    const tess_matrix_view view = {.rows = 3,
                                   .cols = 3,
                                   .block_height = 2,
                                   .block_width = 2,
                                   .row_offsets = bsr_offsets,
                                   .columns = bsr_columns,
                                   .values = values};
    tess_matrix *A;
    assert_int_equal(
        tess_matrix_from_bsr(ctx, &view, TESS_ORDER_ROW_MAJOR, TESS_OWNERSHIP_COPY, &A), TESS_OK);
    const double expected[] = {1, 3, -0.0, 4, 5, 6, 0, 0, 7, 0, 0, 0}; /* zeros keep their sign */
    assert_memory_equal(A->values, expected, sizeof expected);
    double back[12];
    const double by_rows[] = {1, -0.0, 3, 4, 5, 0, 6, 0, 7, 0, 0, 0};
    assert_int_equal(tess_matrix_export_values(ctx, A, TESS_ORDER_ROW_MAJOR, back), TESS_OK);
    assert_memory_equal(back, by_rows, sizeof by_rows);
    assert_int_equal(tess_matrix_export_values(ctx, A, TESS_ORDER_COLUMN_MAJOR, back), TESS_OK);
    assert_memory_equal(back, expected, sizeof expected);
    tess_matrix_destroy(A);

    tess_matrix *B = NULL;
    assert_int_equal(
        tess_matrix_from_bsr(ctx, &view, TESS_ORDER_ROW_MAJOR, TESS_OWNERSHIP_BORROW, &B),
        TESS_ERR_UNSUPPORTED);
    assert_int_equal(
        tess_matrix_from_bsr(ctx, &view, TESS_ORDER_COLUMN_MAJOR, TESS_OWNERSHIP_BORROW, &B),
        TESS_ERR_MATRIX);
    assert_string_equal(tess_ctx_error(ctx),
                        "block row 0, position 1: value 6 at (0, 1) of the block lies outside the "
                        "3 x 3 matrix and must be 0");
    assert_null(B);
}

static void repeated_blocks_are_summed(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t offsets[] = {0, 3};
    const int32_t columns[] = {1, 0, 1};
    const double values[] = {1, 2, 3, 4, 9, 9, 9, 9, 10, 20, 30, 40};
    const tess_matrix_view view = {.rows = 2,
                                   .cols = 4,
                                   .block_height = 2,
                                   .block_width = 2,
                                   .row_offsets = offsets,
                                   .columns = columns,
                                   .values = values};
    tess_matrix *A;
    assert_int_equal(
        tess_matrix_from_bsr(ctx, &view, TESS_ORDER_ROW_MAJOR, TESS_OWNERSHIP_COPY, &A), TESS_OK);
    const double expected[] = {9, 9, 9, 9, 11, 33, 22, 44};
    assert_int_equal(A->blocks, 2);
    assert_memory_equal(A->values, expected, sizeof expected);
    tess_matrix_destroy(A);
}

static void borrowed_arrays_are_used_in_place_and_adopted_ones_freed(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t offsets[] = {0, 1, 2};
    const int32_t columns[] = {0, 1};
    const double values[] = {1, 2};
    tess_matrix *A;
    tess_matrix_view view;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 2, 2, offsets, columns, values,
                                          TESS_OWNERSHIP_BORROW, &A),
                     TESS_OK);
    tess_matrix_get_view(A, &view);
    assert_ptr_equal(view.values, values);
    tess_matrix_destroy(A);

    int64_t *own_offsets = malloc(sizeof offsets);
    int32_t *own_columns = malloc(sizeof columns);
    double *own_values = malloc(sizeof values);
    memcpy(own_offsets, offsets, sizeof offsets);
    memcpy(own_columns, columns, sizeof columns);
    memcpy(own_values, values, sizeof values);
    own_columns[1] = 7; /* refused: the arrays still belong to the caller */
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 2, 2, own_offsets, own_columns, own_values,
                                          TESS_OWNERSHIP_ADOPT, &A),
                     TESS_ERR_MATRIX);
    own_columns[1] = 1;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 2, 2, own_offsets, own_columns, own_values,
                                          TESS_OWNERSHIP_ADOPT, &A),
                     TESS_OK);
    tess_matrix_destroy(A);
}

static void the_first_fault_of_csr_arrays_is_named(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const struct {
        int64_t offsets[4];
        int32_t columns[4];
        tess_ownership ownership;
        const char *error;
    } cases[] = {
        {{1, 2, 3, 4}, {0, 1, 2, 3}, TESS_OWNERSHIP_COPY, "row offset 0 is 1, but must be 0"},
        {{0, 3, 2, 4},
         {0, 1, 2, 3},
         TESS_OWNERSHIP_COPY,
         "row 1: its offsets decrease from 3 to 2"},
        {{0, -1, 2, 4},
         {0, 1, 2, 3},
         TESS_OWNERSHIP_COPY,
         "row 0: its offsets decrease from 0 to -1"},
        {{0, 2, 3, 4},
         {0, 1, 4, -1},
         TESS_OWNERSHIP_COPY,
         "row 1, position 2: column 4 is outside 0..3"},
        {{0, 2, 3, 4},
         {0, -2, 4, 0},
         TESS_OWNERSHIP_COPY,
         "row 0, position 1: column -2 is outside 0..3"},
        {{0, 2, 3, 4},
         {3, 1, 0, 0},
         TESS_OWNERSHIP_BORROW,
         "row 0, position 1: column 1 follows 3, but columns must increase strictly"},
        {{0, 2, 2, 4},
         {1, 3, 2, 2},
         TESS_OWNERSHIP_ADOPT,
         "row 2, position 3: column 2 follows 2, but columns must increase strictly"},
    };
    const double values[4] = {1, 2, 3, 4};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tess_matrix *A = NULL;
        assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 3, 4, cases[i].offsets,
                                              cases[i].columns, values, cases[i].ownership, &A),
                         TESS_ERR_MATRIX);
        assert_string_equal(tess_ctx_error(ctx), cases[i].error);
        assert_null(A);
    }
}

static void bad_coordinates_are_named(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const struct {
        int64_t rows, cols, row, col;
        const char *error;
    } cases[] = {
        {3, 4, 3, 0, "entry 1: row 3 is outside 0..2"},
        {3, 4, -1, 0, "entry 1: row -1 is outside 0..2"},
        {3, 4, 2, 4, "entry 1: column 4 is outside 0..3"},
        {3, 0, 2, 4, "entry 0: column 0, but the matrix has no columns"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int64_t row[] = {0, cases[i].row}, col[] = {0, cases[i].col};
        const double values[] = {1, 1};
        tess_matrix *A = NULL;
        assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, cases[i].rows, cases[i].cols, 2, row,
                                              col, values, &A),
                         TESS_ERR_MATRIX);
        assert_string_equal(tess_ctx_error(ctx), cases[i].error);
        assert_null(A);
    }
}

static void impossible_sizes_are_refused(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t offsets[] = {0};
    tess_matrix *A = NULL;
    const struct {
        tess_type type;
        int64_t rows, cols;
        int32_t r, c;
        tess_status status;
    } cases[] = {
        {TESS_F64, -1, 0, 1, 1, TESS_ERR_ARGUMENT},
        {TESS_F64, 0, -1, 1, 1, TESS_ERR_ARGUMENT},
        {TESS_F64, 0, 0, 0, 1, TESS_ERR_ARGUMENT},
        {TESS_F64, 0, 0, 1, 40000, TESS_ERR_ARGUMENT},
        {(tess_type)7, 0, 0, 1, 1, TESS_ERR_ARGUMENT},
        {TESS_F64, 0, (int64_t)1 << 31, 1, 1, TESS_ERR_OVERFLOW},
        {TESS_F64, INT64_MAX, 1, 1, 1, TESS_ERR_OVERFLOW},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tess_matrix_view view = {.type = cases[i].type,
                                       .rows = cases[i].rows,
                                       .cols = cases[i].cols,
                                       .block_height = cases[i].r,
                                       .block_width = cases[i].c,
                                       .row_offsets = offsets};
        assert_int_equal(
            tess_matrix_from_bsr(ctx, &view, TESS_ORDER_COLUMN_MAJOR, TESS_OWNERSHIP_COPY, &A),
            cases[i].status);
        assert_true(tess_ctx_error(ctx)[0] != '\0');
    }
    const tess_matrix_view empty = {.rows = 0, .cols = 0, .block_height = 2, .block_width = 2};
    assert_int_equal(
        tess_matrix_from_bsr(ctx, &empty, TESS_ORDER_COLUMN_MAJOR, TESS_OWNERSHIP_COPY, &A),
        TESS_ERR_ARGUMENT);
    assert_string_equal(tess_ctx_error(ctx), "row_offsets is NULL");
    assert_int_equal(
        tess_matrix_from_bsr(ctx, &empty, (tess_block_order)5, TESS_OWNERSHIP_COPY, &A),
        TESS_ERR_ARGUMENT);
    assert_int_equal(
        tess_matrix_from_bsr(ctx, &empty, TESS_ORDER_COLUMN_MAJOR, (tess_ownership)5, &A),
        TESS_ERR_ARGUMENT);
    assert_int_equal(tess_matrix_from_csr_i32(ctx, TESS_F64, -3, 1, NULL, NULL, NULL, &A),
                     TESS_ERR_ARGUMENT);
    const int64_t one[] = {0, 1};
    assert_int_equal(
        tess_matrix_from_csr(ctx, TESS_F64, 1, 1, one, NULL, NULL, TESS_OWNERSHIP_COPY, &A),
        TESS_ERR_ARGUMENT);
    assert_string_equal(tess_ctx_error(ctx), "columns is NULL");
    const tess_matrix_view more = {.rows = 1,
                                   .cols = 1,
                                   .block_height = 1,
                                   .block_width = 1,
                                   .blocks = 2,
                                   .row_offsets = one,
                                   .columns = messy_columns + 2,
                                   .values = messy_values};
    assert_int_equal(
        tess_matrix_from_bsr(ctx, &more, TESS_ORDER_COLUMN_MAJOR, TESS_OWNERSHIP_COPY, &A),
        TESS_ERR_MATRIX);
    assert_string_equal(tess_ctx_error(ctx), "the last row offset is 1, but there are 2 blocks");
    assert_null(A);
}

static void a_failed_allocation_leaves_nothing_behind(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t row[] = {1, 0, 1}, col[] = {1, 0, 0};
    const int32_t narrow[] = {0, 5, 5, 6};
    const double values[] = {1, 2, 3};
    for (int call = 0; call < 3; call++) {
        test_sweep sweep = test_sweep_begin(state);
        tess_status status;
        do {
            tess_matrix *A = NULL;
            if (call == 0)
                status = tess_matrix_from_coo(ctx, TESS_F64, 2, 2, 3, row, col, values, &A);
            else if (call == 1)
                status = tess_matrix_from_csr(ctx, TESS_F64, 3, 4, messy_offsets, messy_columns,
                                              messy_values, TESS_OWNERSHIP_COPY, &A);
            else
                status = tess_matrix_from_csr_i32(ctx, TESS_F64, 3, 4, narrow, messy_columns,
                                                  messy_values, &A);
            assert_true((status == TESS_OK) == (A != NULL));
            tess_matrix_destroy(A);
        } while (test_sweep_goes_on(&sweep, status));
    }
}

static void bsr_of_scipy_is_what_the_wide_call_makes(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 1; seed < 20; seed++) {
        const int32_t r = 1 + (int32_t)tess_random_below(seed, 0, 5),
                      c = 1 + (int32_t)tess_random_below(seed, 1, 5);
        tess_matrix *A = test_matrix(ctx, TEST_RAGGED, 20, r, c, TESS_F64, seed), *B;
        int32_t *narrow = calloc((size_t)A->block_rows + 1, sizeof *narrow);
        double *rows = test_vector(tess_matrix_stored(A), TESS_F64, 1);
        for (int64_t i = 0; i <= A->block_rows; i++)
            narrow[i] = (int32_t)A->row_offsets[i];
        assert_int_equal(tess_matrix_export_values(ctx, A, TESS_ORDER_ROW_MAJOR, rows), TESS_OK);
        assert_int_equal(tess_matrix_from_bsr_i32(ctx, TESS_F64, A->rows, A->cols, r, c, narrow,
                                                  A->columns, rows, TESS_ORDER_ROW_MAJOR, &B),
                         TESS_OK);
        test_check_identical("bsr_i32", A, B);
        tess_matrix_destroy(B);
        narrow[1] = -3;
        assert_int_equal(tess_matrix_from_bsr_i32(ctx, TESS_F64, A->rows, A->cols, r, c, narrow,
                                                  A->columns, rows, TESS_ORDER_ROW_MAJOR, &B),
                         TESS_ERR_MATRIX);
        free(narrow), free(rows);
        tess_matrix_destroy(A);
    }
    tess_matrix *B;
    assert_int_equal(tess_matrix_from_bsr_i32(ctx, TESS_F64, 2, 2, 1, 1, NULL, NULL, NULL,
                                              TESS_ORDER_ROW_MAJOR, &B),
                     TESS_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bsr_of_scipy_is_what_the_wide_call_makes),
        cmocka_unit_test(a_copy_sorts_and_sums_repeated_columns_in_input_order),
        cmocka_unit_test(coordinates_are_summed_in_input_order),
        cmocka_unit_test(coordinates_give_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(row_major_blocks_are_turned_and_padding_is_zeroed),
        cmocka_unit_test(repeated_blocks_are_summed),
        cmocka_unit_test(borrowed_arrays_are_used_in_place_and_adopted_ones_freed),
        cmocka_unit_test(the_first_fault_of_csr_arrays_is_named),
        cmocka_unit_test(bad_coordinates_are_named),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
