/* tess_matrix_scattered is the share of blocks without a column nearby in the 64 rows before. */
#include <stdlib.h>

#include "support/support.h"

enum { ROWS = 64, BLOCKS = 4096, SAMPLES = 64 };

/* The end of the blocks of rows first .. first + 63 that count: at most the first 4096. */
static int64_t end_of(const tess_matrix *A, int64_t first)
{
    return tess_min(A->row_offsets[first + ROWS], A->row_offsets[first] + BLOCKS);
}

static double by_definition(const tess_matrix *A)
{
    const int64_t pairs = A->block_rows / (2 * ROWS), samples = tess_min(pairs, SAMPLES);
    int64_t far = 0, all = 0;
    for (int64_t s = 0; s < samples; s++) {
        const int64_t row = s * pairs / samples * 2 * ROWS, next = row + ROWS;
        for (int64_t i = A->row_offsets[next]; i < end_of(A, next); i++, all++) {
            bool near = false;
            for (int64_t k = A->row_offsets[row]; k < end_of(A, row) && !near; k++)
                near = labs((long)A->columns[k] - A->columns[i]) <= ROWS;
            far += !near;
        }
    }
    return all > 0 ? (double)far / (double)all : 0;
}

/* Rows of up to `most` blocks in rising columns, in a band or anywhere. */
static tess_matrix *make(tess_ctx *ctx, int64_t rows, int64_t cols, int64_t most, bool anywhere,
                         uint64_t seed)
{
    const int64_t gap = tess_max(anywhere ? cols / most : 40, 1);
    int64_t *row_index = malloc((size_t)(rows * most) * sizeof *row_index), count = 0;
    int64_t *col_index = malloc((size_t)(rows * most) * sizeof *col_index);
    double *values = calloc((size_t)(rows * most), sizeof *values);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t length = tess_random_below(seed, (uint64_t)i, most + 1);
        int64_t column = anywhere ? -1 : i * cols / rows - 1;
        for (int64_t j = 0; j < length; j++) {
            column += 1 + tess_random_below(seed + 1, (uint64_t)(i * most + j), gap);
            if (column >= cols)
                break;
            row_index[count] = i;
            col_index[count++] = column;
        }
    }
    tess_matrix *A;
    assert_int_equal(
        tess_matrix_from_coo(ctx, TESS_F64, rows, cols, count, row_index, col_index, values, &A),
        TESS_OK);
    free(row_index), free(col_index), free(values);
    return A;
}

static void scattered_is_what_its_definition_says(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    int between = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const int64_t rows = 1 + tess_random_below(seed, 100, 1500);
        const int64_t cols = 1 + tess_random_below(seed, 101, seed % 2 ? 100000 : 1000);
        const int64_t most = 1 + tess_random_below(seed, 102, seed % 8 ? 20 : 150);
        tess_matrix *A = make(ctx, rows, cols, most, seed % 3 == 0, seed);
        const double want = by_definition(A), got = tess_matrix_scattered(A);
        if (got != want)
            fail_msg("seed %d: %g, by the definition %g", (int)seed, got, want);
        between += want > 0 && want < 1;
        tess_matrix_destroy(A);
    }
    assert_true(between > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(scattered_is_what_its_definition_says)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
