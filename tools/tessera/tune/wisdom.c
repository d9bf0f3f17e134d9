/* `tessera tune --show` and --forget. */
#include <string.h>

#include "tune.h"

typedef struct listing {
    json_t *list; /* NULL: text */
    long long count;
} listing;

static void show(void *user, const tess_wisdom_item *item)
{
    listing *l = user;
    char a[TEXT_MAX];
    double speed = 1e-9 * (item->seconds > 0 ? item->bytes / item->seconds : 0);
    l->count++;
    if (l->list)
        json_array_append_new(l->list,
                              json_make("{s:s, s:s, s:s, s:s, s:f, s:f, s:s, s:b}", "class",
                                        item->name, "format", item->format, "kernel", item->kernel,
                                        "params", item->params, "seconds", item->seconds, "GBps",
                                        speed, "effort", item->effort, "current", item->current));
    else
        printf("%s\n    %s %s%s%s  %s, %.1f GB/s, %s%s\n", item->name, item->format, item->kernel,
               *item->params ? " " : "", item->params, text_seconds(item->seconds, a), speed,
               item->effort,
               item->current ? "" : "; measured with other kernels, searched again when needed");
}

int tune_show(cli_app *app, bool json)
{
    char path[4096];
    int enabled;
    listing l = {.list = json ? json_array() : NULL};
    TRY_CALL(app, tess_wisdom_file(app->ctx, sizeof path, path, &enabled));
    TRY_CALL(app, tess_wisdom_list(app->ctx, show, &l));
    if (json)
        return print_json(app, json_make("{s:s, s:o}", "file", path, "wisdom", l.list));
    if (l.count > 0)
        printf("%sGB/s: matrix and vectors over time%s\n\n", dim(app), plain(app));
    printf("%lld class%s known%s%s\n", l.count, l.count == 1 ? "" : "es",
           enabled ? ", kept in " : "; wisdom is off", enabled ? path : "");
    return EXIT_DONE;
}

int tune_forget(cli_app *app, const char *part, bool json)
{
    int64_t forgotten;
    TRY_CALL(app, tess_wisdom_forget(app->ctx, strcmp(part, "all") == 0 ? "" : part, &forgotten));
    if (json)
        return print_json(app, json_make("{s:I}", "forgotten", (json_int_t)forgotten));
    printf("%lld class%s forgotten\n", (long long)forgotten, forgotten == 1 ? "" : "es");
    return EXIT_DONE;
}
