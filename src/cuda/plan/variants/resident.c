/* A matrix in one layout in device memory. */
#include "cuda/plan/variants/resident.h"

/* Copies the layout's arrays to the device in a stream of their own and waits for that stream
 * alone: what the device computes meanwhile goes on. */
static tess_status upload_arrays(tess_cuda *cuda, tess_cuda_resident *resident)
{
    const cu_stream stream = cuda->uploads;
    const tess_cuda_layout *layout = resident->layout;
    for (int i = 0; i < layout->count; i++) {
        size_t bytes = layout->arrays[i].bytes;
        TESS_TRY(tess_cuda_alloc(cuda, bytes, i == layout->values ? "values" : "indices",
                                 &resident->arrays[i]));
        resident->bytes += bytes;
        if (i == layout->values && bytes > 0 && !resident->matrix->values)
            TESS_TRY(TESS_CU(cuda, cuMemsetD8Async(resident->arrays[i], 0, bytes, stream)));
        else
            TESS_TRY(
                tess_cuda_upload(cuda, resident->arrays[i], layout->arrays[i].host, bytes, stream));
    }
    if (layout->workspace > 0) {
        TESS_TRY(tess_cuda_alloc(cuda, layout->workspace, "workspace", &resident->workspace));
        resident->bytes += layout->workspace;
        TESS_TRY(TESS_CU(cuda, cuMemsetD8Async(resident->workspace, 0, layout->workspace, stream)));
    }
    return TESS_CU(cuda, cuStreamSynchronize(stream));
}

tess_status tess_cuda_resident_create(tess_cuda *cuda, const tess_matrix *A,
                                      const char *layout_name, tess_cuda_resident **out)
{
    tess_cuda_resident *resident;
    TESS_TRY(TESS_ALLOC(cuda->ctx, 1, &resident));
    *resident = (tess_cuda_resident){.matrix = A};
    tess_status status = tess_cuda_layout_create(cuda->ctx, A, layout_name, &resident->layout);
    if (status == TESS_OK)
        status = upload_arrays(cuda, resident);
    if (status != TESS_OK) {
        tess_cuda_resident_destroy(cuda, resident);
        return status;
    }
    *out = resident;
    return TESS_OK;
}

tess_status tess_cuda_resident_update(tess_cuda *cuda, tess_cuda_resident *resident,
                                      cu_stream stream)
{
    tess_cuda_layout *layout = resident->layout;
    tess_cuda_layout_update(layout, resident->matrix->values);
    return tess_cuda_upload(cuda, resident->arrays[layout->values],
                            layout->arrays[layout->values].host,
                            layout->arrays[layout->values].bytes, stream);
}

void tess_cuda_resident_destroy(tess_cuda *cuda, tess_cuda_resident *resident)
{
    if (!resident)
        return;
    for (int i = 0; i < TESS_CUDA_ARRAYS; i++)
        tess_cuda_free(cuda, resident->arrays[i]);
    tess_cuda_free(cuda, resident->workspace);
    tess_cuda_free(cuda, resident->map.numbers);
    tess_cuda_layout_destroy(resident->layout);
    tess_free(cuda->ctx, resident);
}
