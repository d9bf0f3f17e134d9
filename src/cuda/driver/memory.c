/* Device memory: allocation that explains itself, copies through pinned buffers. */
#include "cuda/driver/device.h"

enum { STAGE_BYTES = 8 << 20, DIRECT_BYTES = 256 << 10, FEW_STAGES = 2, MANY_BYTES = 256 << 20 };

tess_status tess_cuda_alloc(tess_cuda *cuda, size_t bytes, const char *what, cu_pointer *out)
{
    cu_pointer pointer = 0;
    cu_result result = cuda->driver.cuMemAlloc(&pointer, bytes > 0 ? bytes : 16);
    if (result == CU_ERROR_OUT_OF_MEMORY) {
        size_t available = 0, total = 0;
        (void)cuda->driver.cuMemGetInfo(&available, &total);
        return tess_fail(cuda->ctx, TESS_ERR_MEMORY,
                         "device '%s': out of memory: %.1f MB were asked for (%s), %.1f of %.1f MB "
                         "are free",
                         cuda->name, 1e-6 * (double)bytes, what, 1e-6 * (double)available,
                         1e-6 * (double)total);
    }
    TESS_TRY(tess_cuda_check(cuda, result, "cuMemAlloc"));
    *out = pointer;
    return TESS_OK;
}

void tess_cuda_free(tess_cuda *cuda, cu_pointer pointer)
{
    if (pointer)
        (void)cuda->driver.cuMemFree(pointer);
}

/* The pinned buffers are made at the first large copy and live as long as the device. */
static tess_status need_stages(tess_cuda *cuda, int count)
{
    for (int i = 0; i < count; i++) {
        if (!cuda->stage[i])
            TESS_TRY(TESS_CU(cuda, cuMemAllocHost(&cuda->stage[i], STAGE_BYTES)));
        if (!cuda->stage_free[i])
            TESS_TRY(TESS_CU(cuda, cuEventCreate(&cuda->stage_free[i], CU_EVENT_NO_TIMING)));
    }
    return TESS_OK;
}

struct copy_parts {
    size_t part;
    char *to;
    const char *from;
    size_t bytes;
};

static void copy_parts(void *arg, tess_range range)
{
    const struct copy_parts *job = arg;
    const size_t part = job->part;
    for (int64_t i = range.first; i < range.last; i++) {
        size_t first = (size_t)i * part;
        memcpy(job->to + first, job->from + first, tess_min(job->bytes - first, part));
    }
}

/* One thread copies at about 10 GB/s, the bus takes 50. */
static void copy_parallel(tess_ctx *ctx, char *to, const char *from, size_t bytes)
{
    size_t part = 512 << 10;
    int64_t parts = (int64_t)((bytes + part - 1) / part);
    tess_for(ctx, parts, copy_parts, &(struct copy_parts){part, to, from, bytes});
}

static size_t stage_part(size_t bytes, size_t first)
{
    return tess_min(bytes - first, STAGE_BYTES);
}

static tess_status upload_staged(tess_cuda *cuda, cu_pointer to, const void *from, size_t bytes,
                                 cu_stream stream)
{
    /* With two buffers the bus waits for the host's threads: 2 GB go to an H200 at 35 GB/s, with
     * four at 53. Pinning two more takes some milliseconds, which a smaller copy would not win
     * back. */
    const int count = bytes < MANY_BYTES ? FEW_STAGES : TESS_CUDA_STAGES;
    TESS_TRY(need_stages(cuda, count));
    const char *source = from;
    int stage = 0;
    for (size_t first = 0; first < bytes; first += STAGE_BYTES, stage = (stage + 1) % count) {
        size_t part = stage_part(bytes, first);
        TESS_TRY(TESS_CU(cuda, cuEventSynchronize(cuda->stage_free[stage])));
        copy_parallel(cuda->ctx, cuda->stage[stage], source + first, part);
        TESS_TRY(TESS_CU(cuda, cuMemcpyHtoDAsync(to + first, cuda->stage[stage], part, stream)));
        TESS_TRY(TESS_CU(cuda, cuEventRecord(cuda->stage_free[stage], stream)));
    }
    return TESS_OK;
}

/* Whether a copy goes through the pinned buffers, which are the caller's then. Small ones do not
 * pay for that, and another thread may have the buffers. */
static bool take_stages(tess_cuda *cuda, size_t bytes)
{
    return bytes > DIRECT_BYTES && tess_try_lock(&cuda->staging);
}

tess_status tess_cuda_upload(tess_cuda *cuda, cu_pointer to, const void *from, size_t bytes,
                             cu_stream stream)
{
    if (bytes == 0)
        return TESS_OK;
    if (!take_stages(cuda, bytes)) /* the driver copies pageable memory aside before it returns */
        return TESS_CU(cuda, cuMemcpyHtoDAsync(to, from, bytes, stream));
    const tess_status status = upload_staged(cuda, to, from, bytes, stream);
    tess_unlock(&cuda->staging);
    return status;
}

static tess_status ask_for(tess_cuda *cuda, cu_pointer from, size_t bytes, int stage,
                           cu_stream stream)
{
    TESS_TRY(TESS_CU(cuda, cuEventSynchronize(cuda->stage_free[stage])));
    TESS_TRY(TESS_CU(cuda, cuMemcpyDtoHAsync(cuda->stage[stage], from, bytes, stream)));
    return TESS_CU(cuda, cuEventRecord(cuda->stage_free[stage], stream));
}

static tess_status download_staged(tess_cuda *cuda, void *to, cu_pointer from, size_t bytes,
                                   cu_stream stream)
{
    TESS_TRY(need_stages(cuda, FEW_STAGES));
    TESS_TRY(ask_for(cuda, from, stage_part(bytes, 0), 0, stream));
    int stage = 0;
    for (size_t first = 0; first < bytes; first += STAGE_BYTES, stage ^= 1) {
        size_t next = first + STAGE_BYTES;
        if (next < bytes)
            TESS_TRY(ask_for(cuda, from + next, stage_part(bytes, next), stage ^ 1, stream));
        TESS_TRY(TESS_CU(cuda, cuEventSynchronize(cuda->stage_free[stage])));
        copy_parallel(cuda->ctx, (char *)to + first, cuda->stage[stage], stage_part(bytes, first));
    }
    return TESS_OK;
}

tess_status tess_cuda_download(tess_cuda *cuda, void *to, cu_pointer from, size_t bytes,
                               cu_stream stream)
{
    if (!take_stages(cuda, bytes)) {
        if (bytes > 0)
            TESS_TRY(TESS_CU(cuda, cuMemcpyDtoHAsync(to, from, bytes, stream)));
        return TESS_CU(cuda, cuStreamSynchronize(stream));
    }
    const tess_status status = download_staged(cuda, to, from, bytes, stream);
    tess_unlock(&cuda->staging);
    return status;
}

bool tess_cuda_on_device(const tess_cuda *cuda, const void *pointer)
{
    /* The plural call: for memory the driver does not know it answers 0, where the singular one
     * fails, which debugging tools report as an error of the program. */
    unsigned type = 0;
    int attribute = CU_POINTER_MEMORY_TYPE;
    void *value = &type;
    cu_result result =
        cuda->driver.cuPointerGetAttributes(1, &attribute, &value, tess_cuda_address(pointer));
    return result == CU_SUCCESS && type == CU_MEMORY_DEVICE;
}

tess_status tess_cuda_memory_alloc(tess_device *device, size_t bytes, void **out)
{
    tess_cuda *cuda = tess_cuda_of(device);
    cu_pointer pointer = 0;
    TESS_TRY(tess_cuda_enter(cuda));
    tess_status status = tess_cuda_alloc(cuda, bytes, "tess_device_alloc", &pointer);
    tess_cuda_leave(cuda);
    if (status == TESS_OK)
        *out = (void *)(uintptr_t)pointer;
    return status;
}

void tess_cuda_memory_free(tess_device *device, void *pointer)
{
    tess_cuda *cuda = tess_cuda_of(device);
    bool entered = tess_cuda_enter(cuda) == TESS_OK;
    tess_cuda_free(cuda, tess_cuda_address(pointer));
    if (entered)
        tess_cuda_leave(cuda);
}

tess_status tess_cuda_memory_copy_to(tess_device *device, void *to, const void *from, size_t bytes)
{
    tess_cuda *cuda = tess_cuda_of(device);
    TESS_TRY(tess_cuda_enter(cuda));
    tess_status status = tess_cuda_upload(cuda, tess_cuda_address(to), from, bytes, cuda->stream);
    if (status == TESS_OK)
        status = TESS_CU(cuda, cuStreamSynchronize(cuda->stream));
    tess_cuda_leave(cuda);
    return status;
}

tess_status tess_cuda_memory_copy_from(tess_device *device, void *to, const void *from,
                                       size_t bytes)
{
    tess_cuda *cuda = tess_cuda_of(device);
    TESS_TRY(tess_cuda_enter(cuda));
    return tess_cuda_leave_with(
        cuda, tess_cuda_download(cuda, to, tess_cuda_address(from), bytes, cuda->stream));
}

tess_status tess_cuda_synchronize(tess_device *device)
{
    tess_cuda *cuda = tess_cuda_of(device);
    TESS_TRY(tess_cuda_enter(cuda));
    return tess_cuda_leave_with(cuda, TESS_CU(cuda, cuCtxSynchronize()));
}

bool tess_cuda_owns(tess_device *device, const void *pointer)
{
    tess_cuda *cuda = tess_cuda_of(device);
    if (tess_cuda_enter(cuda) != TESS_OK)
        return false;
    const bool owns = tess_cuda_on_device(cuda, pointer);
    tess_cuda_leave(cuda);
    return owns;
}
