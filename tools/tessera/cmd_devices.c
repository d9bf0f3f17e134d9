/* tessera devices: the devices that a plan can run on here, and why not on the others. */
#include <string.h>

#include "command.h"

typedef struct devices_args {
    common_args common;
} devices_args;

typedef struct listing {
    cli_app *app;
    json_t *list; /* NULL: text */
} listing;

/* Shows one device, or the reason why it is missing, as text or JSON. */
static void report(void *user, const tess_device_entry *entry)
{
    const listing *l = user;
    const char *text = entry->text;
    size_t length = strlen(entry->name); /* "cpu: 2 threads" begins with the device's name */
    if (entry->available && strncmp(text, entry->name, length) == 0 && text[length] == ':')
        text += length + 1 + strspn(text + length + 1, " ");
    if (l->list)
        json_array_append_new(l->list,
                              json_make("{s:s, s:b, s:s}", "name", entry->name, "available",
                                        entry->available,
                                        entry->available ? "description" : "reason", text));
    else if (entry->available)
        printf("%s%-13s%s %s\n", bold(l->app), entry->name, plain(l->app), text);
    else
        printf("%s%-13s not here: %s%s\n", dim(l->app), entry->name, text, plain(l->app));
}

static int run(cli_app *app, void *arguments)
{
    devices_args *args = arguments;
    listing l = {.app = app, .list = args->common.json ? json_array() : NULL};
    TRY_CALL(app, tess_device_list(app->ctx, report, &l));
    return l.list ? print_json(app, json_make("{s:o}", "devices", l.list)) : EXIT_DONE;
}

const cli_command command_devices = {
    .name = "devices",
    .operands = "",
    .summary = "what this machine can run on",
    .description =
        "Lists the devices that --device accepts here, and what is missing for the others. Numbers "
        "with commas make one device of several parts: cpu:4,4 has two parts of 4 threads each, "
        "cuda:0,1 a part on each of two GPUs.",
    .examples = "tessera devices\ntessera devices --json",
    .args_size = sizeof(devices_args),
    .run = run,
};
