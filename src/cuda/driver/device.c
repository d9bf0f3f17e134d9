/* Opening "cuda" and "cuda:N": driver, device, primary context, one stream. */
#include "cuda/driver/module.h"

tess_status tess_cuda_check(const tess_cuda *cuda, cu_result result, const char *call)
{
    if (result == CU_SUCCESS)
        return TESS_OK;
    const char *name = NULL, *text = NULL;
    cuda->driver.cuGetErrorName(result, &name);
    cuda->driver.cuGetErrorString(result, &text);
    tess_status status = result == CU_ERROR_OUT_OF_MEMORY ? TESS_ERR_MEMORY : TESS_ERR_DEVICE;
    return tess_fail(cuda->ctx, status, "device '%s': %.*s: %s (%s)", cuda->name,
                     (int)strcspn(call, "("), call, name ? name : "unknown error",
                     text ? text : "the driver has no text for it");
}

tess_status tess_cuda_enter(const tess_cuda *cuda)
{
    return TESS_CU(cuda, cuCtxPushCurrent(cuda->context));
}

void tess_cuda_leave(const tess_cuda *cuda)
{
    cu_context popped;
    (void)cuda->driver.cuCtxPopCurrent(&popped);
}

tess_status tess_cuda_leave_with(const tess_cuda *cuda, tess_status status)
{
    tess_cuda_leave(cuda);
    return status;
}

static tess_status parse_ordinal(tess_ctx *ctx, const char *rest, int *ordinal)
{
    int64_t value = 0;
    if (rest && (!tess_parse_int64(rest, &value) || value < 0 || value > 4095))
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "device 'cuda:%s': after ':' comes the number of one GPU, as in 'cuda:0'",
                         rest);
    *ordinal = (int)value;
    return TESS_OK;
}

/* Finds the GPU, with a driver that is loaded. */
static tess_status find_device(tess_cuda *cuda)
{
    cu_result result = cuda->driver.cuInit(0);
    int count = 0;
    if (result != CU_ERROR_NO_DEVICE) {
        TESS_TRY(tess_cuda_check(cuda, result, "cuInit"));
        TESS_TRY(TESS_CU(cuda, cuDeviceGetCount(&count)));
    }
    if (count == 0)
        return tess_fail(cuda->ctx, TESS_ERR_DEVICE,
                         "device '%s': the NVIDIA driver is present but there is no GPU",
                         cuda->name);
    if (cuda->ordinal >= count)
        return tess_fail(cuda->ctx, TESS_ERR_DEVICE,
                         "device '%s' does not exist: the GPUs here are cuda:0 to cuda:%d",
                         cuda->name, count - 1);
    return TESS_CU(cuda, cuDeviceGet(&cuda->handle, cuda->ordinal));
}

void tess_cuda_name_model(tess_device *device, const char *gpu)
{
    const tess_cuda *cuda = tess_cuda_of(device);
    snprintf(device->model, sizeof device->model, "cuda, %s, %d SMs", gpu, cuda->multiprocessors);
    device->cache_bytes = 0.6 * (double)cuda->l2_bytes;
    device->memory_speed = cuda->memory_speed;
    device->gpu_threads = (double)cuda->multiprocessors * cuda->threads_per_multiprocessor;
}

static tess_status describe(tess_cuda *cuda, tess_device *device)
{
    static const int attributes[] = {CU_ATTRIBUTE_CAPABILITY_MAJOR,
                                     CU_ATTRIBUTE_CAPABILITY_MINOR,
                                     CU_ATTRIBUTE_MULTIPROCESSORS,
                                     CU_ATTRIBUTE_L2_BYTES,
                                     CU_ATTRIBUTE_THREADS_PER_MULTIPROCESSOR,
                                     CU_ATTRIBUTE_SHARED_PER_BLOCK_OPTIN,
                                     CU_ATTRIBUTE_MEMORY_CLOCK,
                                     CU_ATTRIBUTE_MEMORY_BUS,
                                     CU_ATTRIBUTE_F32_TO_F64_SPEED};
    enum { ATTRIBUTES = sizeof attributes / sizeof attributes[0] };
    int value[ATTRIBUTES] = {0}, version = 0;
    char model[128] = "";
    for (int i = 0; i < ATTRIBUTES; i++)
        TESS_TRY(TESS_CU(cuda, cuDeviceGetAttribute(&value[i], attributes[i], cuda->handle)));
    TESS_TRY(TESS_CU(cuda, cuDeviceGetName(model, sizeof model, cuda->handle)));
    TESS_TRY(TESS_CU(cuda, cuDeviceTotalMem(&cuda->memory_bytes, cuda->handle)));
    TESS_TRY(TESS_CU(cuda, cuDriverGetVersion(&version)));
    cuda->sm = 10 * value[0] + value[1];
    cuda->version = version;
    cuda->multiprocessors = value[2];
    cuda->l2_bytes = (size_t)value[3];
    cuda->threads_per_multiprocessor = value[4];
    cuda->shared_bytes = (size_t)value[5];
    cuda->f64_ratio = value[8];
    cuda->memory_speed = 2 * 1e3 * value[6] * (value[7] / 8.0); /* two transfers per clock */
    snprintf(device->description, sizeof device->description,
             "%s: %s, %d SMs, %.0f GiB, sm_%d, driver %d.%d", cuda->name, model,
             cuda->multiprocessors, (double)(cuda->memory_bytes >> 30), cuda->sm, version / 1000,
             version % 1000 / 10);
    device->state = cuda;
    tess_cuda_name_model(device, model);
    return TESS_OK;
}

static tess_status create_streams(tess_cuda *cuda)
{
    TESS_TRY(tess_cuda_enter(cuda));
    tess_status status = TESS_CU(cuda, cuStreamCreate(&cuda->stream, CU_STREAM_DEFAULT_FLAGS));
    if (status == TESS_OK) {
        status = TESS_CU(cuda, cuStreamCreate(&cuda->uploads, CU_STREAM_DEFAULT_FLAGS));
        if (status != TESS_OK)
            (void)cuda->driver.cuStreamDestroy(cuda->stream);
    }
    return tess_cuda_leave_with(cuda, status);
}

static void free_state(tess_cuda *cuda)
{
    tess_word_close(&cuda->loading);
    tess_word_close(&cuda->staging);
    tess_free(cuda->ctx, cuda);
}

tess_status tess_cuda_open(tess_device *device, const char *rest)
{
    tess_ctx *ctx = device->ctx;
    int ordinal = 0;
    TESS_TRY(parse_ordinal(ctx, rest, &ordinal));
    tess_cuda *cuda;
    TESS_TRY(TESS_ALLOC(ctx, 1, &cuda));
    *cuda = (tess_cuda){.ctx = ctx, .ordinal = ordinal};
    snprintf(cuda->name, sizeof cuda->name, "cuda:%d", ordinal);
    tess_word_open(&cuda->loading);
    tess_word_open(&cuda->staging);

    tess_status status;
    TESS_TRY_CLEAN(tess_driver_load(ctx, &cuda->driver));
    TESS_TRY_CLEAN(find_device(cuda));
    TESS_TRY_CLEAN(describe(cuda, device));
    TESS_TRY_CLEAN(TESS_CU(cuda, cuDevicePrimaryCtxRetain(&cuda->context, cuda->handle)));
    status = create_streams(cuda);
    if (status != TESS_OK) {
        (void)cuda->driver.cuDevicePrimaryCtxRelease(cuda->handle);
        goto cleanup;
    }
    device->threads = 0;
    return TESS_OK;

cleanup:
    free_state(cuda);
    return status;
}

void tess_cuda_close(tess_device *device)
{
    tess_cuda *cuda = tess_cuda_of(device);
    bool entered = tess_cuda_enter(cuda) == TESS_OK;
    (void)cuda->driver.cuStreamSynchronize(cuda->stream);
    tess_cuda_helpers_free(cuda);
    if (cuda->gate_flag)
        (void)cuda->driver.cuMemFreeHost((void *)cuda->gate_flag);
    for (int i = 0; i < TESS_CUDA_STAGES; i++) {
        if (cuda->stage_free[i])
            (void)cuda->driver.cuEventDestroy(cuda->stage_free[i]);
        if (cuda->stage[i])
            (void)cuda->driver.cuMemFreeHost(cuda->stage[i]);
    }
    (void)cuda->driver.cuStreamDestroy(cuda->stream);
    (void)cuda->driver.cuStreamDestroy(cuda->uploads);
    if (entered)
        tess_cuda_leave(cuda);
    (void)cuda->driver.cuDevicePrimaryCtxRelease(cuda->handle);
    free_state(cuda);
}
