/* The values of C = A B.
 *
 * A row of C is summed in place, by columns of r scalars. Where blocks of C are wider than high the
 * row is summed transposed, by columns of k scalars, from a copy of B with transposed blocks:
 * vector instructions then fill k lanes instead of r.
 *
 *     C (r x k) += A (r x c) B (c x k)         C' (k x r) += B' (k x c) A' (c x r)
 *
 * Scalars (1 x 1 blocks) are summed in a dense row, which needs no list of places.
 */
#include "core/instructions.h"
#include "matrix/multiply/multiply.h"

#define real double
#define NAME(name) name##_f64
#include "matrix/multiply/multiply_values.inc"
#undef real
#undef NAME
#define real float
#define NAME(name) name##_f32
#include "matrix/multiply/multiply_values.inc"
#undef real
#undef NAME

struct do_share {
    const tess_matrix *A, *B;
    const void *turned;
    tess_matrix *C;
    int32_t *places; /* NULL: 1 x 1 blocks */
    void *sums;      /* NULL where rows of C are summed in place */
    int64_t row;     /* scalars of `sums` per share */
};

static void do_share(void *arg, tess_range rows)
{
    const struct do_share *job = arg;
    tess_matrix *C = job->C;
    const size_t scalar = tess_type_size(C->type);
    const tess_multiply_share work = {
        .A = job->A,
        .B = job->B,
        .turned = job->turned,
        .C = C,
        .first = rows.first,
        .last = rows.last,
        .place = job->places ? job->places + rows.share * C->block_cols : NULL,
        .sums = job->sums ? (char *)job->sums + (size_t)(rows.share * job->row) * scalar : NULL,
    };
    if (!work.place)
        memset(work.sums, 0, (size_t)job->row * scalar);
    if (C->type == TESS_F64)
        multiply_share_f64(&work);
    else
        multiply_share_f32(&work);
}

tess_status tess_multiply_values(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B,
                                 tess_matrix *C)
{
    const int shares = ctx->threads;
    const size_t scalar = tess_type_size(C->type);
    const int64_t size = (int64_t)C->block_height * C->block_width;
    const bool turn = C->block_width > C->block_height;
    const bool scalars = size == 1 && A->block_width == 1;
    const int64_t row = scalars ? C->block_cols : turn ? tess_matrix_longest_row(C) * size : 0;
    void *turned = NULL, *sums = NULL;
    int32_t *places = NULL;
    tess_status status;
    if (scalars)
        TESS_TRY_CLEAN(tess_alloc_bytes(ctx, row * shares, scalar, &sums));
    else
        TESS_TRY_CLEAN(TESS_ALLOC(ctx, C->block_cols * shares, &places));
    if (turn) {
        TESS_TRY_CLEAN(tess_alloc_bytes(ctx, tess_matrix_stored(B), scalar, &turned));
        TESS_TRY_CLEAN(tess_alloc_bytes(ctx, row * shares, scalar, &sums));
        if (B->type == TESS_F64)
            turn_blocks_f64(ctx, B, turned);
        else
            turn_blocks_f32(ctx, B, turned);
    }
    tess_for_rows(ctx, A->row_offsets, A->block_rows, do_share,
                  &(struct do_share){A, B, turned, C, places, sums, row});
    /* An infinity times a zero of the padding is NaN, so the padding of C is set to 0 again. */
    for (int64_t i = C->cols % C->block_width != 0 ? 0 : tess_max(C->block_rows - 1, 0);
         i < C->block_rows; i++)
        tess_matrix_zero_padding(C, i);
cleanup:
    TESS_FREE(ctx, places, turned, sums);
    return status;
}
