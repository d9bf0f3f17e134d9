/* Matrices and vectors for tests, and whether two are the same. */
#include <math.h>
#include <string.h>

#include "support/support.h"

tess_matrix *test_blocks(tess_ctx *ctx, int64_t rows, int64_t cols, int32_t r, int32_t c,
                         const int64_t *offsets, const int32_t *columns, const double *values)
{
    const tess_matrix_view view = {.rows = rows,
                                   .cols = cols,
                                   .block_height = r,
                                   .block_width = c,
                                   .row_offsets = offsets,
                                   .columns = columns,
                                   .values = values};
    tess_matrix *A = NULL;
    test_ok(ctx,
            tess_matrix_from_bsr(ctx, &view, TESS_ORDER_COLUMN_MAJOR, TESS_OWNERSHIP_COPY, &A));
    return A;
}

const char *test_pattern_name(test_pattern pattern)
{
    static const char *const names[TEST_PATTERNS] = {
        "empty",     "one_block",  "one_row", "one_column", "diagonal", "banded", "random",
        "dense_row", "empty_ends", "wide",    "tall",       "ragged",   "skewed",
    };
    return names[pattern];
}

/* Returns whether block (i, j) of a rows x cols grid of blocks is stored. */
static bool stored(test_pattern pattern, int64_t rows, int64_t cols, int64_t i, int64_t j,
                   uint64_t seed)
{
    int64_t odds = 1 + cols / 5; /* about five blocks per row */
    bool chosen = tess_random_below(seed, (uint64_t)(i * cols + j), odds) == 0 &&
                  tess_random_below(seed + 1, (uint64_t)i, 6) != 0; /* every sixth row empty */
    switch (pattern) {
    case TEST_EMPTY:
        return false;
    case TEST_ONE_BLOCK:
    case TEST_ONE_ROW:
    case TEST_ONE_COLUMN:
        return true;
    case TEST_DIAGONAL:
        return i == j;
    case TEST_BANDED:
        return llabs((long long)(i - j)) <= 2;
    case TEST_DENSE_ROW:
        return chosen || i == rows / 2;
    case TEST_EMPTY_ENDS:
        return chosen && i >= rows / 3 && i < rows - rows / 3;
    case TEST_SKEWED:
        return i == rows - 1 ? j % 2 == 0 : chosen && tess_random_below(seed + 2, (uint64_t)j, 2);
    default:
        return chosen;
    }
}

tess_matrix *test_matrix(tess_ctx *ctx, test_pattern pattern, int64_t size, int32_t r, int32_t c,
                         tess_type type, uint64_t seed)
{
    int64_t rows = size, cols = size;
    if (pattern == TEST_ONE_BLOCK || pattern == TEST_ONE_ROW)
        rows = 1;
    if (pattern == TEST_ONE_BLOCK || pattern == TEST_ONE_COLUMN)
        cols = 1;
    if (pattern == TEST_WIDE)
        rows = size / 3 + 1;
    if (pattern == TEST_TALL)
        cols = size / 3 + 1;
    /* Scalars short of a whole last block. */
    int64_t short_rows = pattern == TEST_RAGGED ? r / 2 : 0;
    int64_t short_cols = pattern == TEST_RAGGED ? c / 2 : 0;

    int64_t blocks = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            blocks += stored(pattern, rows, cols, i, j, seed);

    tess_matrix *A;
    assert_int_equal(tess_matrix_allocate(ctx, type, rows * r - short_rows, cols * c - short_cols,
                                          r, c, blocks, &A),
                     TESS_OK);
    int64_t k = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            if (!stored(pattern, rows, cols, i, j, seed))
                continue;
            A->columns[k] = (int32_t)j;
            for (int64_t at = 0; at < (int64_t)r * c; at++) {
                bool inside = i * r + at % r < A->rows && j * c + at / r < A->cols;
                const uint64_t number = (uint64_t)(k * r * c + at);
                const tess_complex value = {tess_random_unit(seed + 3, number),
                                            tess_random_unit(seed + 4, number)};
                tess_put_complex(A->values, type, k * r * c + at,
                                 inside ? value : (tess_complex){0, 0});
            }
            k++;
        }
        A->row_offsets[i + 1] = k;
    }
    return A;
}

double *test_dense(const tess_matrix *A)
{
    double *dense = calloc((size_t)(A->rows * A->cols) + 1, sizeof *dense);
    for (int64_t ib = 0; ib < A->block_rows; ib++) {
        for (int64_t k = A->row_offsets[ib]; k < A->row_offsets[ib + 1]; k++) {
            int64_t r = A->block_height, c = A->block_width;
            for (int64_t at = 0; at < r * c; at++) {
                int64_t row = ib * r + at % r, col = A->columns[k] * c + at / r;
                if (row < A->rows && col < A->cols)
                    dense[row * A->cols + col] = tess_matrix_value(A, k * r * c + at);
            }
        }
    }
    return dense;
}

void test_check_valid(const char *what, const tess_matrix *A)
{
    tess_matrix_view view;
    tess_matrix_get_view(A, &view);
    if (tess_matrix_validate(A->ctx, &view, true) != TESS_OK ||
        tess_matrix_check_padding(A) != TESS_OK)
        fail_msg("%s: %s", what, tess_ctx_error(A->ctx));
}

void test_check_same_dense(const char *what, const tess_matrix *A, const tess_matrix *B)
{
    if (A->rows != B->rows || A->cols != B->cols)
        fail_msg("%s: %lld x %lld against %lld x %lld", what, (long long)A->rows,
                 (long long)A->cols, (long long)B->rows, (long long)B->cols);
    double *a = test_dense(A), *b = test_dense(B);
    for (int64_t i = 0; i < A->rows * A->cols; i++)
        if (!(a[i] == b[i] || (isnan(a[i]) && isnan(b[i]))))
            fail_msg("%s: entry (%lld, %lld) is %.17g in one and %.17g in the other", what,
                     (long long)(i / A->cols), (long long)(i % A->cols), a[i], b[i]);
    free(a);
    free(b);
}

void test_check_identical(const char *what, const tess_matrix *A, const tess_matrix *B)
{
    if (A->type != B->type || A->rows != B->rows || A->cols != B->cols ||
        A->block_height != B->block_height || A->block_width != B->block_width ||
        A->blocks != B->blocks)
        fail_msg("%s: sizes differ", what);
    size_t size = tess_type_size(A->type);
    if (memcmp(A->row_offsets, B->row_offsets, (size_t)(A->block_rows + 1) * 8) != 0)
        fail_msg("%s: row offsets differ", what);
    for (int64_t k = 0; k < A->blocks; k++)
        if (A->columns[k] != B->columns[k])
            fail_msg("%s: block %lld has column %d and %d", what, (long long)k, (int)A->columns[k],
                     (int)B->columns[k]);
    for (int64_t at = 0; at < tess_matrix_stored(A); at++)
        if (memcmp((char *)A->values + (size_t)at * size, (char *)B->values + (size_t)at * size,
                   size) != 0)
            fail_msg("%s: value %lld is %.17g and %.17g", what, (long long)at,
                     tess_matrix_value(A, at), tess_matrix_value(B, at));
}

void *test_vector(int64_t count, tess_type type, uint64_t seed)
{
    void *x = malloc((size_t)(count > 0 ? count : 1) * tess_type_size(type));
    for (int64_t i = 0; i < count; i++)
        tess_put_complex(x, type, i,
                         (tess_complex){tess_random_unit(seed, (uint64_t)i),
                                        tess_random_unit(seed + 1000, (uint64_t)i)});
    return x;
}
