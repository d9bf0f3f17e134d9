/* A matrix in blocks of another size: the caller's, or the recommended one. */
#include "matrix/detect/detect.h"

tess_status tess_matrix_to_blocks(tess_ctx *ctx, const tess_matrix *A,
                                  const tess_blocking *blocking, tess_matrix **out)
{
    TESS_NEED(ctx, ctx && A && out);
    if (!blocking || (blocking->rows == 0 && blocking->cols == 0)) {
        tess_detection *found;
        TESS_TRY(tess_detect(ctx, A, NULL, &found));
        int32_t r = found->recommended.rows, c = found->recommended.cols;
        tess_detection_destroy(found);
        return tess_matrix_convert_blocks(ctx, A, r, c, out);
    }
    if (blocking->rows < 1 || blocking->cols < 1)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "blocks of %d x %d are outside 1..%d",
                         (int)blocking->rows, (int)blocking->cols, TESS_BLOCK_MAX);
    return tess_matrix_convert_blocks(ctx, A, blocking->rows, blocking->cols, out);
}
