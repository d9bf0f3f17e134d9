/* Shared by the tests of kernels on half storage: symmetric matrices of every pattern. */
#ifndef TEST_SYMMETRIC_H
#define TEST_SYMMETRIC_H

#include "support/support.h"

#include "ref/ref.h"

/* The pattern and half of the numbers of a test matrix, made symmetric: A + A^T in the pattern of
 * both. Rectangular patterns give their square part. */
static inline tess_matrix *symmetric_matrix(tess_ctx *ctx, test_pattern pattern, int64_t size,
                                            int32_t b, tess_type type, uint64_t seed)
{
    tess_matrix *A = test_matrix(ctx, pattern, size, b, b, type, seed), *T = NULL, *S = NULL;
    assert_int_equal(tess_matrix_transpose(ctx, A, &T), TESS_OK);
    int64_t n = A->rows < A->cols ? A->rows : A->cols, block_rows = tess_ceil_div(n, b);
    int64_t blocks = 0;
    for (int pass = 0; pass < 2; pass++) { /* count, then fill */
        if (pass == 1)
            assert_int_equal(tess_matrix_allocate(ctx, type, n, n, b, b, blocks, &S), TESS_OK);
        blocks = 0;
        for (int64_t i = 0; i < block_rows; i++) {
            for (int64_t j = 0; j < block_rows; j++) {
                int64_t left = tess_matrix_find(A, i, j), right = tess_matrix_find(T, i, j);
                if (left < 0 && right < 0)
                    continue;
                for (int64_t at = 0; pass == 1 && at < b * b; at++) {
                    double value = left >= 0 ? tess_matrix_value(A, left * b * b + at) : 0;
                    value += right >= 0 ? tess_matrix_value(T, right * b * b + at) : 0;
                    tess_ref_put(S->values, type, blocks * b * b + at, value);
                    S->columns[blocks] = (int32_t)j;
                }
                blocks++;
            }
            if (pass == 1)
                S->row_offsets[i + 1] = blocks;
        }
    }
    tess_matrix_destroy(A);
    tess_matrix_destroy(T);
    test_check_valid("symmetric_matrix", S);
    return S;
}

#endif
