/* Shared by the tests of half storage and its kernels: symmetric matrices of every pattern, and the
 * content of lanes. */
#ifndef TEST_SYMMETRIC_H
#define TEST_SYMMETRIC_H

#include "support/support.h"

#include "format/symmetric_lanes.h"
#include "ref/ref.h"

/* A test matrix made symmetric: A + A^T. Of rectangular patterns the square part is taken. */
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
                    tess_put(S->values, type, blocks * b * b + at, value);
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

/* Scalar e of the block that slot k has in lane l. */
static inline double symmetric_lane_value(const tess_symmetric_lanes *S, tess_type type, int64_t k,
                                          int l, int32_t e)
{
    const int32_t rest = S->block_size * S->block_size - S->half;
    const bool second = e >= S->half;
    int64_t at = second ? k * rest + e - S->half : k * S->half + e;
    return tess_get(S->values[second], type, at * S->lanes + l);
}

/* Checks that every slot of S holds blocks of A or zeros. Returns the number of blocks. */
static inline int64_t symmetric_check_slots(const tess_symmetric_lanes *S, const tess_matrix *A)
{
    const int32_t size = S->block_size * S->block_size;
    int64_t found = 0;
    for (int64_t g = 0; g < S->groups; g++) {
        for (int64_t k = S->offsets[g]; k < S->offsets[g + 1]; k++) {
            assert_true(k == S->offsets[g] || S->columns[k - 1] < S->columns[k]);
            assert_in_range(S->columns[k], g * S->lanes, g * S->lanes + S->span - 1);
            for (int l = 0; l < S->lanes; l++) {
                int64_t i = g * S->lanes + l, j = S->columns[k] + l;
                bool inside = i < A->block_rows && j < A->block_rows;
                int64_t block = inside ? tess_matrix_find(A, i, j) : -1;
                found += block >= 0;
                for (int32_t e = 0; e < size; e++)
                    assert_true(symmetric_lane_value(S, A->type, k, l, e) ==
                                (block < 0 ? 0 : tess_matrix_value(A, block * size + e)));
            }
        }
    }
    return found;
}

#endif
