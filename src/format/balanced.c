/* BSR to balanced BSR; balanced.h has the picture. */
#include "format/balanced.h"

static int64_t segments_of(const tess_matrix *A, int64_t row, int32_t split)
{
    int64_t length = A->row_offsets[row + 1] - A->row_offsets[row];
    return length > split ? tess_ceil_div(length, split) : 1;
}

static void cut_row(void *balanced, const void *matrix, int64_t row)
{
    const tess_balanced *B = balanced;
    const tess_matrix *A = matrix;
    for (int64_t s = B->segment_ptr[row]; s < B->segment_ptr[row + 1]; s++)
        B->segment_offsets[s] = A->row_offsets[row] + (s - B->segment_ptr[row]) * B->split;
}

static void fill(const tess_matrix *A, tess_balanced *B)
{
    int64_t listed = 0;
    B->segment_ptr[0] = 0;
    for (int64_t row = 0; row < A->block_rows; row++) {
        int64_t here = segments_of(A, row, B->split);
        B->segment_ptr[row + 1] = B->segment_ptr[row] + (int32_t)here;
        if (here > TESS_BALANCED_LONG)
            B->long_rows[listed++] = (int32_t)row;
    }
    tess_for_each(B->ctx, A->block_rows, 0, cut_row, B, A);
    B->segment_offsets[B->segments] = A->blocks;
}

tess_status tess_balanced_create(tess_ctx *ctx, const tess_matrix *A, int32_t split,
                                 tess_balanced **out)
{
    if (split < 1)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "balanced: lambda is %d, must be at least 1",
                         (int)split);
    int64_t segments = 0, long_count = 0;
    for (int64_t row = 0; row < A->block_rows; row++) {
        int64_t here = segments_of(A, row, split);
        segments += here;
        long_count += here > TESS_BALANCED_LONG;
    }
    if (segments > INT32_MAX - 4096) /* sums of a row step beyond its last segment */
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "balanced: %lld segments do not fit 31 bits",
                         (long long)segments);
    tess_balanced *B;
    TESS_TRY(TESS_ALLOC(ctx, 1, &B));
    *B = (tess_balanced){
        .ctx = ctx, .matrix = A, .split = split, .segments = segments, .long_count = long_count};
    tess_status status = TESS_OK;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, segments + 1, &B->segment_offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->block_rows + 1, &B->segment_ptr));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, long_count, &B->long_rows));
    fill(A, B);
cleanup:
    return TESS_DELIVER(status, B, tess_balanced_destroy, out);
}

void tess_balanced_destroy(tess_balanced *B)
{
    if (B)
        TESS_FREE(B->ctx, B->segment_offsets, B->segment_ptr, B->long_rows, B);
}
