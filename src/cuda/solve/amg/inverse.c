/* Inverses of a level's diagonal blocks, made on the device. */
#include "cuda/solve/amg/coarsen_level.h"

static tess_status launch(tess_coarsen_level *s, const tess_matrix *M, cu_pointer work,
                          cu_pointer singular)
{
    tess_cuda_launch l;
    tess_coarsen_invert(&s->matrix[COARSEN_A], M->rows, work, s->inverse, singular, &l);
    TESS_TRY(TESS_CU(s->cuda, cuMemsetD8Async(singular, 0, sizeof(uint32_t), s->cuda->stream)));
    return tess_coarsen_run(s->cuda, "inverse.cu", NULL, &l);
}

/* *singular is not 0 where a block is singular, or where there is no room to find out. */
static tess_status invert(tess_coarsen_level *s, const tess_amg_level *level, uint32_t *singular)
{
    tess_cuda *cuda = s->cuda;
    const int32_t b = level->A->block_height;
    const size_t bytes = (size_t)(level->A->block_rows * b * b) * sizeof(double);
    const tess_kept_error kept = tess_error_keep(cuda->ctx);
    cu_pointer work = 0;
    *singular = 1;
    if (!s->has_values)
        TESS_TRY(tess_coarsen_bring_values(s, level));
    tess_status status =
        tess_cuda_alloc(cuda, bytes + sizeof *singular, "inverse diagonals", &work);
    if (status == TESS_ERR_MEMORY) {
        tess_error_restore(cuda->ctx, &kept);
        return TESS_OK;
    }
    TESS_TRY_CLEAN(status);
    TESS_TRY_CLEAN(launch(s, level->A, work, work + bytes));
    TESS_TRY_CLEAN(
        tess_cuda_download(cuda, singular, work + bytes, sizeof *singular, cuda->stream));
cleanup:
    tess_cuda_free(cuda, work);
    return status;
}

tess_status tess_coarsen_inverse(void *state, const tess_amg_level *level, bool *singular)
{
    tess_coarsen_level *s = state;
    uint32_t count;
    TESS_TRY(tess_cuda_enter(s->cuda));
    TESS_TRY(tess_cuda_leave_with(s->cuda, invert(s, level, &count)));
    *singular = count > 0;
    return TESS_OK;
}

tess_status tess_coarsen_put_inverse(void *state, const tess_amg_level *level)
{
    tess_coarsen_level *s = state;
    const int32_t b = level->A->block_height;
    const size_t bytes = (size_t)(level->A->block_rows * b * b) * sizeof(double);
    TESS_TRY(tess_cuda_enter(s->cuda));
    return tess_cuda_leave_with(
        s->cuda, tess_cuda_upload(s->cuda, s->inverse, level->inverse, bytes, s->cuda->stream));
}
