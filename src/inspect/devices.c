/* Lists the devices of this machine and describes each. */
#include "backend/backend.h"
#include "cuda/driver/device.h"
#include "cuda/profile_device.h"
#include "inspect/inspect.h"

typedef struct visitor {
    tess_ctx *ctx;
    void (*visit)(void *user, const tess_device_entry *entry);
    void *user;
} visitor;

static bool opens(tess_ctx *ctx, const char *name)
{
    tess_device *device = NULL;
    bool opened = tess_device_open(ctx, name, &device) == TESS_OK;
    tess_device_close(device);
    return opened;
}

static void visit_one(const visitor *v, const char *name)
{
    tess_device *device = NULL;
    bool opened = tess_device_open(v->ctx, name, &device) == TESS_OK;
    v->visit(v->user, &(tess_device_entry){.name = name,
                                           .available = opened,
                                           .text = opened ? tess_device_description(device)
                                                          : tess_ctx_error(v->ctx)});
    tess_device_close(device);
}

tess_status tess_device_list(tess_ctx *ctx,
                             void (*visit)(void *user, const tess_device_entry *entry), void *user)
{
    TESS_NEED(ctx, ctx && visit);
    const visitor v = {ctx, visit, user};
    char name[32];
    visit_one(&v, "cpu");
    visit_one(&v, opens(ctx, "cuda:0") ? "cuda:0" : "cuda");
    for (int i = 1; i < 64; i++) {
        snprintf(name, sizeof name, "cuda:%d", i);
        if (!opens(ctx, name))
            break;
        visit_one(&v, name);
    }
    visit_one(&v, "ref");
    for (int i = 0; tess_profile_name(i); i++) {
        snprintf(name, sizeof name, "profile:%s", tess_profile_name(i));
        visit_one(&v, name);
    }
    return TESS_OK;
}

tess_status tess_device_get_info(const tess_device *device, size_t size, tess_device_info *out)
{
    TESS_NEED(device ? device->ctx : NULL, device && out);
    const tess_device_info info = {.backend = device->backend->name,
                                   .description = device->description,
                                   .model = device->model,
                                   .threads = device->threads,
                                   .cache_bytes = device->cache_bytes};
    return tess_fill(out, size, &info, sizeof info);
}

tess_status tess_device_read_speed(tess_device *device, double bytes, double *bytes_per_second)
{
    if (!device || !bytes_per_second || !(bytes >= 0))
        return tess_fail(device ? device->ctx : NULL, TESS_ERR_ARGUMENT,
                         "tess_device_read_speed: an argument is NULL, or bytes < 0");
    double speed = 0;
    if (device->backend->read_ceiling)
        TESS_TRY(device->backend->read_ceiling(device, bytes, &speed));
    *bytes_per_second = speed;
    return TESS_OK;
}
