/* tessera devices: what a plan can run on here, and why not on the rest. */
#include <string.h>

#include "command.h"
#include "cuda/profile_device.h"

typedef struct devices_args {
    common_args common;
} devices_args;

/* One device, or the reason why there is none; takes part in both forms of output. */
static void report(cli_app *app, const char *name, json_t *list)
{
    tess_device *device = NULL;
    tess_status status = tess_device_open(app->ctx, name, &device);
    const char *text =
        status == TESS_OK ? tess_device_description(device) : tess_ctx_error(app->ctx);
    size_t length = strlen(name); /* "cpu: 2 threads" begins with the device's name */
    if (status == TESS_OK && strncmp(text, name, length) == 0 && text[length] == ':')
        text += length + 1 + strspn(text + length + 1, " ");
    if (list)
        json_array_append_new(list, json_pack("{s:s, s:b, s:s}", "name", name, "available",
                                              status == TESS_OK,
                                              status == TESS_OK ? "description" : "reason", text));
    else if (status == TESS_OK)
        printf("%s%-13s%s %s\n", bold(app), name, plain(app), text);
    else
        printf("%s%-13s not here: %s%s\n", dim(app), name, text, plain(app));
    tess_device_close(device);
}

static bool exists(cli_app *app, const char *name)
{
    tess_device *device = NULL;
    bool opened = tess_device_open(app->ctx, name, &device) == TESS_OK;
    tess_device_close(device);
    return opened;
}

static int run(cli_app *app, void *arguments)
{
    devices_args *args = arguments;
    json_t *list = args->common.json ? json_array() : NULL;
    report(app, "cpu", list);
    report(app, exists(app, "cuda:0") ? "cuda:0" : "cuda", list);
    char name[32];
    for (int i = 1; i < 64; i++) {
        snprintf(name, sizeof name, "cuda:%d", i);
        if (!exists(app, name))
            break;
        report(app, name, list);
    }
    report(app, "ref", list);
    for (int i = 0; tess_profile_name(i); i++) {
        snprintf(name, sizeof name, "profile:%s", tess_profile_name(i));
        report(app, name, list);
    }
    return args->common.json ? print_json(app, json_pack("{s:o}", "devices", list)) : EXIT_DONE;
}

const cli_command command_devices = {
    .name = "devices",
    .operands = "",
    .summary = "what this machine can run on",
    .description =
        "Lists the devices that --device accepts here, and what is missing for the others.",
    .examples = "tessera devices\ntessera devices --json",
    .args_size = sizeof(devices_args),
    .run = run,
};
