/* Devices by name: "cpu", "cpu:4", "cuda:0", "ref", "profile:h200"; and devices of several parts,
 * "cpu:4,4", "cuda:0,1". */
#include "backend/backend.h"

static const tess_backend *const backends[] = {
    &tess_cpu_backend,
    &tess_ref_backend,
    &tess_cuda_backend,
    &tess_profile_backend,
};
enum { BACKENDS = sizeof backends / sizeof backends[0] };

const tess_backend *tess_backend_named(const char *name, size_t length)
{
    for (size_t i = 0; i < BACKENDS; i++)
        if (strlen(backends[i]->name) == length && strncmp(name, backends[i]->name, length) == 0)
            return backends[i];
    return NULL;
}

static tess_status unknown_device(tess_ctx *ctx, const char *name)
{
    const char *names[BACKENDS + 1];
    for (size_t i = 0; i < BACKENDS; i++)
        names[i] = backends[i]->name;
    names[BACKENDS] = "auto";
    return tess_fail(ctx, TESS_ERR_ARGUMENT, "unknown device '%s' (%s)", name,
                     tess_suggest(&(tess_suggestion){""}, name, names, BACKENDS + 1));
}

/* "auto": the first GPU when there is one, else the CPU. A product whose vectors stay on the device
 * is limited by memory bandwidth, which is much higher on a GPU. A GPU that cannot be opened is no
 * failure here. */
static tess_status open_best(tess_ctx *ctx, tess_device **out)
{
    tess_kept_error kept = tess_error_keep(ctx);
    if (tess_device_open(ctx, "cuda", out) == TESS_OK)
        return TESS_OK;
    tess_log(ctx, "auto: cpu, as %s", ctx->error);
    tess_error_restore(ctx, &kept);
    return tess_device_open(ctx, "cpu", out);
}

tess_status tess_device_open(tess_ctx *ctx, const char *name, tess_device **out)
{
    TESS_NEED(ctx, ctx && name && out);
    if (strcmp(name, "auto") == 0)
        return open_best(ctx, out);
    const char *colon = strchr(name, ':');
    size_t length = colon ? (size_t)(colon - name) : strlen(name);
    const tess_backend *backend = tess_backend_named(name, length);
    if (!backend)
        return unknown_device(ctx, name);

    const bool several = colon && strchr(colon, ',');
    if (several)
        backend = &tess_parts_backend;
    tess_device *device;
    TESS_TRY(TESS_ALLOC(ctx, 1, &device));
    *device = (tess_device){.ctx = ctx, .backend = backend, .threads = ctx->threads};
    tess_status status = backend->open(device, several ? name : colon ? colon + 1 : NULL);
    return TESS_DELIVER_OR(status, device, tess_free(ctx, device), out);
}

void tess_device_close(tess_device *device)
{
    if (!device)
        return;
    device->backend->close(device);
    if (device->performance)
        device->performance_free(device->performance);
    tess_free(device->ctx, device);
}

const char *tess_device_description(const tess_device *device)
{
    return device ? device->description : "";
}

tess_status tess_device_alloc(tess_device *device, size_t bytes, void **out)
{
    TESS_NEED(device ? device->ctx : NULL, device && out);
    if (device->backend->memory_alloc)
        return device->backend->memory_alloc(device, bytes, out);
    if (bytes > INT64_MAX)
        return tess_fail(device->ctx, TESS_ERR_OVERFLOW, "tess_device_alloc: %zu bytes", bytes);
    return tess_alloc_bytes(device->ctx, (int64_t)bytes, 1, out);
}

void tess_device_free(tess_device *device, void *pointer)
{
    if (!device || !pointer)
        return;
    if (device->backend->memory_free)
        device->backend->memory_free(device, pointer);
    else
        tess_free(device->ctx, pointer);
}

/* Copies by the backend's function, or by memcpy if the device's memory is the host's. */
static tess_status copy(tess_device *device, const char *call, bool to_device, void *to,
                        const void *from, size_t bytes)
{
    if (!device || (bytes > 0 && (!to || !from)))
        return tess_null_argument(device ? device->ctx : NULL, call);
    const tess_backend *backend = device->backend;
    if (backend->memory_copy_to)
        return (to_device ? backend->memory_copy_to : backend->memory_copy_from)(device, to, from,
                                                                                 bytes);
    if (bytes > 0)
        memcpy(to, from, bytes);
    return TESS_OK;
}

tess_status tess_device_copy_to(tess_device *device, void *to, const void *from, size_t bytes)
{
    return copy(device, __func__, true, to, from, bytes);
}

tess_status tess_device_copy_from(tess_device *device, void *to, const void *from, size_t bytes)
{
    return copy(device, __func__, false, to, from, bytes);
}

tess_status tess_device_synchronize(tess_device *device)
{
    if (!device)
        return TESS_ERR_ARGUMENT;
    return device->backend->synchronize ? device->backend->synchronize(device) : TESS_OK;
}

tess_status tess_device_takes(const tess_device *device, const tess_matrix *A)
{
    if (!tess_is_complex(A->type) || device->backend->complex)
        return TESS_OK;
    return tess_fail(device->ctx, TESS_ERR_UNSUPPORTED,
                     "device '%s' has no products of complex matrices, and this one is %s: use "
                     "'cpu', 'cuda' or 'ref'",
                     device->backend->name, tess_type_name(A->type));
}
