/* `tessera tune --show` and --forget. */
#include <string.h>

#include "plan/wisdom/wisdom.h"
#include "tune.h"

/* Whether a plan would still be made as the entry says. */
static bool is_current(const tess_wisdom_entry *e)
{
    const tess_backend *backend = tess_wisdom_backend(e);
    return backend && tess_wisdom_is_current(e, backend);
}

int tune_show(cli_app *app, bool json)
{
    char path[4096] = "", a[TEXT_MAX];
    (void)tess_wisdom_path(path, sizeof path);
    const struct tess_wisdom *wisdom = tess_wisdom_of(app->ctx);
    int64_t count = wisdom ? wisdom->count : 0;
    json_t *list = json ? json_array() : NULL;
    for (int64_t i = 0; i < count; i++) {
        const tess_wisdom_entry *e = &wisdom->entries[i];
        double speed = 1e-9 * (e->seconds > 0 ? e->bytes / e->seconds : 0);
        if (json)
            json_array_append_new(
                list,
                json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:s, s:b}", "class", e->key, "format",
                          e->candidate.format, "kernel", e->candidate.kernel, "params",
                          e->candidate.params, "seconds", e->seconds, "GBps", speed, "effort",
                          tess_effort_name(e->effort), "current", (int)is_current(e)));
        else
            printf("%s\n    %s %s%s%s  %s, %.1f GB/s, %s%s\n", e->key, e->candidate.format,
                   e->candidate.kernel, *e->candidate.params ? " " : "", e->candidate.params,
                   text_seconds(e->seconds, a), speed, tess_effort_name(e->effort),
                   is_current(e) ? "" : "; of other kernels, searched again when needed");
    }
    if (json)
        return print_json(app, json_pack("{s:s, s:o}", "file", path, "wisdom", list));
    printf("%lld class%s known%s%s\n", (long long)count, count == 1 ? "" : "es",
           wisdom ? ", kept in " : "; wisdom is off", wisdom ? path : "");
    return EXIT_DONE;
}

int tune_forget(cli_app *app, const char *part)
{
    int64_t forgotten;
    tess_status status =
        tess_wisdom_forget(app->ctx, strcmp(part, "all") == 0 ? "" : part, &forgotten);
    if (status != TESS_OK)
        return fail_status(app, status);
    printf("%lld class%s forgotten\n", (long long)forgotten, forgotten == 1 ? "" : "es");
    return EXIT_DONE;
}
