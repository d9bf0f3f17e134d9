/* Which blocks for a matrix on a device: those with the shortest predicted product. */
#include "plan/model/blocking.h"

#include "plan/model/model.h"

int tess_pick_blockings(const tess_detection *detection, tess_block_candidate *picked)
{
    int count = 0;
    for (int64_t i = 0; i < detection->count; i++) {
        const tess_block_candidate *c = &detection->candidates[i];
        if (c->row_offset != 0 || c->col_offset != 0)
            continue;
        int at = count < TESS_BLOCKINGS ? count++ : TESS_BLOCKINGS;
        for (; at > 0 && c->bytes < picked[at - 1].bytes; at--)
            if (at < TESS_BLOCKINGS)
                picked[at] = picked[at - 1];
        if (at < TESS_BLOCKINGS)
            picked[at] = *c;
    }
    bool plain = false;
    for (int i = 0; i < count; i++)
        plain |= picked[i].rows == 1 && picked[i].cols == 1;
    if (!plain && count > 0 && detection->candidates[0].rows == 1)
        picked[count - 1] = detection->candidates[0];
    return count;
}

/* The predicted time of blocks that store many zeros is divided by this. Such blocks take more
 * memory, and they are seldom square, so that their times are guessed from those of square blocks
 * (random columns, 3 x 1 instead of 1 x 1: predicted 0.7 to 1.1 times the time, measured 0.9 to
 * 1.3). */
static const double gain_for_zeros = 0.75;

/* Predicted seconds of the fastest product with A in these blocks; 0: not known. */
static tess_status price(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                         const tess_blocking *blocking, double *seconds)
{
    static const tess_product product = {.kind = TESS_PRODUCT_SPMV, .effort = TESS_EFFORT_ESTIMATE};
    tess_candidates list = {0};
    tess_matrix *B;
    TESS_TRY(tess_matrix_to_blocks(ctx, A, blocking, &B));
    tess_status status = tess_candidates_list(device, B, &product, &list);
    *seconds = status == TESS_OK && list.count > 0 ? tess_candidate_doubted(&list.items[0]) : 0;
    tess_candidates_free(ctx, &list);
    tess_matrix_destroy(B);
    return status;
}

tess_status tess_choose_blocking(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                                 tess_blocking *out)
{
    tess_detection *detection;
    tess_block_candidate picked[TESS_BLOCKINGS];
    if (!ctx || !A || !device || !out)
        return tess_null_argument(ctx, __func__);
    TESS_TRY(tess_detect(ctx, A, NULL, &detection));
    tess_blocking best = {detection->recommended.rows, detection->recommended.cols};
    int count = tess_pick_blockings(detection, picked);
    tess_detection_destroy(detection);
    if (count == 0)
        best = (tess_blocking){1, 1};
    /* Which block sizes fill a SIMD vector is a matter of the instructions. */
    const tess_model *model = tess_device_performance(device);
    if (model && model->foreign)
        count = 0;
    double least = 0;
    for (int i = 0; i < count; i++) {
        tess_blocking blocking = {picked[i].rows, picked[i].cols};
        double seconds;
        TESS_TRY(price(ctx, A, device, &blocking, &seconds));
        tess_log(ctx, "blocking: %dx%d, %.3g ms per product predicted", (int)blocking.rows,
                 (int)blocking.cols, 1e3 * seconds);
        if (picked[i].fill > 1.3)
            seconds /= gain_for_zeros;
        if (seconds > 0 && (least == 0 || seconds < least)) {
            least = seconds;
            best = blocking;
        }
    }
    *out = best;
    return TESS_OK;
}
