/* tessera cache: the compiled CUDA kernels kept on disk. */
#include <string.h>

#include "command.h"

typedef struct cache_args {
    common_args common;
    int64_t arch;
} cache_args;

typedef struct listing {
    cli_app *app;
    json_t *list; /* NULL: text */
    int count;
    double bytes;
} listing;

static void show(void *user, const tess_cached_kernel *item)
{
    listing *l = user;
    const char *state = !item->sound ? "damaged" : item->verified ? "verified" : "unverified";
    l->count++;
    l->bytes += (double)item->bytes;
    if (l->list)
        json_array_append_new(l->list, json_make("{s:s, s:s, s:I, s:s}", "file", item->file,
                                                 "kernel", item->label, "bytes",
                                                 (json_int_t)item->bytes, "state", state));
    else
        printf("%8.1f kB  %-10s  %s\n", 1e-3 * (double)item->bytes, state,
               item->sound ? item->label : item->file);
}

static int list_cache(cli_app *app, const cache_args *args)
{
    char directory[4096] = "";
    TRY_CALL(app, tess_kernel_cache_directory(app->ctx, sizeof directory, directory));
    listing l = {.app = app, .list = args->common.json ? json_array() : NULL};
    TRY_CALL(app, tess_kernel_cache_list(app->ctx, show, &l));
    if (l.list)
        return print_json(app, json_make("{s:s, s:o}", "directory", directory, "kernels", l.list));
    printf("%d kernel%s, %.1f kB in %s\n", l.count, l.count == 1 ? "" : "s", 1e-3 * l.bytes,
           *directory ? directory : "no directory: neither TESSERA_CACHE nor HOME is set");
    return EXIT_DONE;
}

static int warm_cache(cli_app *app, const cache_args *args)
{
    enum { USUAL_ARCH = 90 };
    const int arch = args->arch ? (int)args->arch : USUAL_ARCH;
    int compiled;
    double start = seconds_now();
    TRY_CALL(app, tess_kernel_cache_warm(app->ctx, arch, &compiled));
    if (args->common.json)
        return print_json(app, json_make("{s:i}", "compiled", compiled));
    printf("%d kernels compiled for sm_%d in %.1f s\n", compiled, arch, seconds_now() - start);
    return EXIT_DONE;
}

static int clear_cache(cli_app *app, const cache_args *args)
{
    int64_t removed;
    TRY_CALL(app, tess_kernel_cache_clear(app->ctx, &removed));
    if (args->common.json)
        return print_json(app, json_make("{s:I}", "removed", (json_int_t)removed));
    printf("%lld kernel%s removed\n", (long long)removed, removed == 1 ? "" : "s");
    return EXIT_DONE;
}

static int run(cli_app *app, void *arguments)
{
    cache_args *args = arguments;
    const char *const actions[] = {"list", "clear", "warm"};
    const char *action = args->common.operand_count > 0 ? args->common.operands[0] : "list";
    const bool list = strcmp(action, "list") == 0, clear = strcmp(action, "clear") == 0;
    if (strcmp(action, "warm") == 0)
        return warm_cache(app, args);
    if ((list || clear) && args->arch != 0)
        return fail(app, EXIT_USAGE, "cache: --arch does nothing with %s: leave it out", action);
    if (list || clear)
        return list ? list_cache(app, args) : clear_cache(app, args);
    const char *nearest = tess_nearest(action, actions, 3);
    return nearest ? fail(app, EXIT_USAGE, "cache cannot '%s' (nearest: '%s')", action, nearest)
                   : fail(app, EXIT_USAGE, "cache cannot '%s' (one of: list, clear, warm)", action);
}

static const cli_option options[] = {
    {"arch", OPTION_INT, offsetof(cache_args, arch), "N", "warm: compile for sm_N (default: 90)",
     50, 999},
};

const cli_command command_cache = {
    .name = "cache",
    .operands = "[list|clear|warm]",
    .max_operands = 1,
    .summary = "the compiled CUDA kernels kept on disk",
    .description =
        "Kernels for NVIDIA GPUs are compiled at run time and kept in $TESSERA_CACHE, "
        "$XDG_CACHE_HOME/tessera or ~/.cache/tessera.\n\n"
        "list shows them, clear removes them, warm compiles the usual ones ahead of time (block "
        "sizes 1 to 8 in both precisions), which needs NVRTC but no GPU. A kernel is compared with "
        "the reference backend once, when a device first uses it: until then it is 'unverified'.",
    .examples = "tessera cache\ntessera cache warm --arch 90\ntessera cache clear",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .args_size = sizeof(cache_args),
    .run = run,
};
