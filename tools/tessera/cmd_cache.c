/* tessera cache: the compiled CUDA kernels kept on disk. */
#include <string.h>

#include "command.h"
#include "cuda/driver/cache.h"
#include "cuda/driver/jit.h"
#include "cuda/kernels/table.h"

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

static void show(void *user, const tess_cache_item *item)
{
    listing *l = user;
    const char *state = !item->sound ? "damaged" : item->verified ? "verified" : "unverified";
    l->count++;
    l->bytes += (double)item->bytes;
    if (l->list)
        json_array_append_new(l->list, json_pack("{s:s, s:s, s:I, s:s}", "file", item->file,
                                                 "kernel", item->label, "bytes",
                                                 (json_int_t)item->bytes, "state", state));
    else
        printf("%8.1f kB  %-10s  %s\n", 1e-3 * (double)item->bytes, state,
               item->sound ? item->label : item->file);
}

static int list_cache(cli_app *app, const cache_args *args)
{
    char directory[4096] = "";
    (void)tess_cache_directory(directory, sizeof directory);
    listing l = {.app = app, .list = args->common.json ? json_array() : NULL};
    tess_cache_list(app->ctx, show, &l);
    if (l.list)
        return print_json(app, json_pack("{s:s, s:o}", "directory", directory, "kernels", l.list));
    printf("%d kernel%s, %.1f kB in %s\n", l.count, l.count == 1 ? "" : "s", 1e-3 * l.bytes,
           *directory ? directory : "no directory: neither TESSERA_CACHE nor HOME is set");
    return EXIT_DONE;
}

/* One kernel's guess for one block size into the cache; not verified: that takes a device. */
static tess_status warm_one(cli_app *app, tess_jit *jit, const tess_cuda_kernel *kernel,
                            const tess_cuda_problem *problem, int *compiled)
{
    int params[TESS_CUDA_PARAMS];
    char defines[TESS_CUDA_DEFINES];
    kernel->guess(problem, params);
    if (!kernel->fits(problem, params))
        return TESS_OK;
    kernel->defines(problem, params, defines, sizeof defines);
    tess_jit_cubin cubin;
    TESS_TRY(tess_jit_get(app->ctx, jit,
                          &(tess_jit_request){kernel->source, defines, problem->arch}, &cubin));
    if (cubin.fresh && tess_cache_store(app->ctx, &cubin.key, &cubin.entry))
        ++*compiled;
    tess_free(app->ctx, cubin.entry.code);
    return TESS_OK;
}

/* A large regular matrix of the H100's and H200's proportions: what a plan guesses depends on it
 * only through few threads and long rows. */
static tess_cuda_problem large_problem(int arch, tess_type type, int32_t b)
{
    return (tess_cuda_problem){.type = type,
                               .block_height = b,
                               .block_width = b,
                               .rows = 1000000 * (int64_t)b,
                               .cols = 1000000 * (int64_t)b,
                               .block_rows = 1000000,
                               .block_cols = 1000000,
                               .blocks = 27000000,
                               .longest_row = 27,
                               .arch = arch,
                               .multiprocessors = 132,
                               .shared_limit = 232448,
                               .vectors = 1};
}

static int warm_cache(cli_app *app, const cache_args *args)
{
    tess_jit jit = {0};
    int compiled = 0;
    double start = tess_seconds();
    for (int32_t b = 1; b <= 8; b++) {
        for (int t = 0; t < 2; t++) {
            tess_cuda_problem problem = large_problem((int)args->arch, t ? TESS_F32 : TESS_F64, b);
            const tess_cuda_kernel *kernel = tess_cuda_kernel_find("sliced");
            tess_status status =
                kernel ? warm_one(app, &jit, kernel, &problem, &compiled) : TESS_OK;
            if (status != TESS_OK)
                return fail_status(app, status);
        }
    }
    if (args->common.json)
        return print_json(app, json_pack("{s:i}", "compiled", compiled));
    printf("%d kernels compiled for sm_%d in %.1f s\n", compiled, (int)args->arch,
           tess_seconds() - start);
    return EXIT_DONE;
}

static int clear_cache(cli_app *app, const cache_args *args)
{
    long long removed = (long long)tess_cache_clear();
    if (args->common.json)
        return print_json(app, json_pack("{s:I}", "removed", (json_int_t)removed));
    printf("%lld kernel%s removed\n", removed, removed == 1 ? "" : "s");
    return EXIT_DONE;
}

static int run(cli_app *app, void *arguments)
{
    cache_args *args = arguments;
    const char *const actions[] = {"list", "clear", "warm"};
    const char *action = args->common.operand_count > 0 ? args->common.operands[0] : "list";
    if (args->arch == 0)
        args->arch = 90;
    if (strcmp(action, "list") == 0)
        return list_cache(app, args);
    if (strcmp(action, "clear") == 0)
        return clear_cache(app, args);
    if (strcmp(action, "warm") == 0)
        return warm_cache(app, args);
    return fail(app, EXIT_USAGE, "cache cannot '%s' (%s)", action,
                tess_suggest(&(tess_suggestion){""}, action, actions, 3));
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
