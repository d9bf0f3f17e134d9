#include "matrices.h"

#include <math.h>
#include <stdlib.h>

tess_matrix *dealt_draw(tess_ctx *ctx, uint64_t seed)
{
    static const test_pattern patterns[] = {TEST_DIAGONAL,  TEST_BANDED,     TEST_RANDOM,
                                            TEST_DENSE_ROW, TEST_EMPTY_ENDS, TEST_RAGGED,
                                            TEST_ONE_BLOCK, TEST_SKEWED,     TEST_EMPTY};
    const int32_t b = 1 + (int32_t)tess_random_below(seed, 100, 7);
    const test_pattern pattern = patterns[tess_random_below(seed, 101, 9)];
    tess_matrix *A = test_matrix(ctx, pattern, 1 + tess_random_below(seed, 102, 40), b, b,
                                 tess_random_below(seed, 103, 4) == 0 ? TESS_F32 : TESS_F64, seed);
    if (A->rows == A->cols)
        return A;
    tess_matrix_destroy(A);
    return test_matrix(ctx, TEST_BANDED, 20, b, b, TESS_F64, seed);
}

/* Fewer rows than parts, and rows without blocks, are among them. */
tess_matrix *dealt_any_shape(tess_ctx *ctx, uint64_t seed)
{
    const int r = 1 + (int)tess_random_below(seed, 0, 7),
              c = 1 + (int)tess_random_below(seed, 1, 7);
    const int64_t rows = 1 + tess_random_below(seed, 2, seed % 3 ? 60 : 4);
    int64_t cols = 1 + tess_random_below(seed, 3, 60);
    cols += rows * r == cols * c && r == c;
    char text[128];
    tess_matrix *A;
    snprintf(text, sizeof text, "random:rows=%d,cols=%d,avg=%d,r=%d,c=%d,seed=%d,type=%s",
             (int)rows, (int)cols, 1 + (int)(seed % 5), r, c, (int)seed, seed % 2 ? "f64" : "f32");
    assert_int_equal(tess_matrix_generate(ctx, text, &A, NULL), TESS_OK);
    return A;
}

tess_matrix *dealt_dominant(tess_ctx *ctx, int64_t block_rows, int32_t b, bool symmetric,
                            uint64_t seed)
{
    const int64_t n = block_rows * b;
    int64_t *offsets = calloc((size_t)n + 1, sizeof *offsets), count = 0;
    int32_t *columns = malloc((size_t)n * 64 * sizeof *columns);
    double *values = malloc((size_t)n * 64 * sizeof *values);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            const int64_t far = llabs(i / b - j / b);
            if (far != 0 && far != 1 && far != 5)
                continue;
            const int64_t low = symmetric ? tess_min(i, j) : i, high = symmetric ? i + j - low : j;
            columns[count] = (int32_t)j;
            values[count++] =
                i == j ? 3.0 * b + 2 : tess_random_unit(seed, (uint64_t)(low * n + high));
        }
        offsets[i + 1] = count;
    }
    tess_matrix *scalar, *A;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, n, n, offsets, columns, values,
                                          TESS_OWNERSHIP_COPY, &scalar),
                     TESS_OK);
    const tess_blocking blocking = {b, b};
    assert_int_equal(tess_matrix_to_blocks(ctx, scalar, &blocking, &A), TESS_OK);
    tess_matrix_destroy(scalar);
    free(offsets), free(columns), free(values);
    return A;
}

double dealt_residual(const tess_matrix *A, const double *b, const double *x)
{
    double *dense = test_dense(A), rr = 0, bb = 0;
    for (int64_t i = 0; i < A->rows; i++) {
        double r = b[i];
        for (int64_t j = 0; j < A->cols; j++)
            r -= dense[i * A->cols + j] * x[j];
        rr += r * r;
        bb += b[i] * b[i];
    }
    free(dense);
    return sqrt(rr / bb);
}
