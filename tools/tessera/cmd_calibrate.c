/* tessera calibrate: throughput against size for every kernel class, fitted and kept. */
#include <string.h>

#include "command.h"

typedef struct calibrate_args {
    common_args common;
    double megabytes;
    bool quick;
    const char *out, *blocks, *classes;
} calibrate_args;

static void print_curves(const tess_model_part *part)
{
    tess_model_curve_info c;
    printf("%-24s %3s %-5s %-7s %6s %8s %8s %8s %8s %10s %10s %8s\n", "class", "b", "type", "from",
           "points", "B/row", "step, ns", "mu", "sigma", "nu GB/s", "best GB/s", "error");
    for (int64_t i = 0; i < tess_model_part_curves(part); i++)
        if (tess_model_part_get_curve(part, i, sizeof c, &c) == TESS_OK)
            printf("%-24s %3d %-5s %-7s %6d %8.0f %8.1f %8.2f %8.2f %10.1f %10.1f %6.1f %%\n",
                   c.name, (int)c.block, type_name(c.type), c.cached ? "cache" : "memory", c.points,
                   c.row_bytes, 1e9 * c.step_seconds, c.mu, c.sigma, 1e-9 * c.throughput,
                   1e-9 * c.best_throughput, 100 * c.error);
}

static void print_extras(const tess_model_part *part)
{
    char a[TEXT_MAX];
    tess_model_extra_info e;
    if (tess_model_part_extras(part) == 0)
        return;
    printf("\n%-24s %3s %-5s %-8s %10s %10s\n", "class", "b", "type", "extra", "x", "ns");
    for (int64_t i = 0; i < tess_model_part_extras(part); i++)
        if (tess_model_part_get_extra(part, i, sizeof e, &e) == TESS_OK)
            printf("%-24s %3d %-5s %-8s %10s %10.3f%s\n", e.name, (int)e.block, type_name(e.type),
                   e.kind, e.x_bytes > 0 ? text_bytes(e.x_bytes, a) : "-",
                   (e.share ? 100 : 1e9) * e.value, e.share ? " %" : "");
}

static void add_curves(json_t *curves, const tess_model_part *part)
{
    tess_model_curve_info c;
    for (int64_t i = 0; i < tess_model_part_curves(part); i++)
        if (tess_model_part_get_curve(part, i, sizeof c, &c) == TESS_OK)
            json_array_append_new(
                curves,
                json_make("{s:s, s:i, s:s, s:b, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "class",
                          c.name, "block", (int)c.block, "type", type_name(c.type), "cached",
                          c.cached, "points", c.points, "row_bytes", c.row_bytes, "step_seconds",
                          c.step_seconds, "mu", c.mu, "sigma", c.sigma, "GBps", 1e-9 * c.throughput,
                          "best_GBps", 1e-9 * c.best_throughput, "error", c.error));
}

/* ---- Parts ---- */

#define BLOCKS "0-12,14,16,20,24,32,48,64" /* tess_calibrate_blocks */

/* "4" or "9-16", up to the next comma. */
static bool parse_range(const char *text, size_t length, int64_t *first, int64_t *last)
{
    char copy[16], *dash;
    if (length >= sizeof copy)
        return false;
    snprintf(copy, sizeof copy, "%.*s", (int)length, text);
    dash = strchr(copy, '-');
    if (dash)
        *dash = '\0';
    return parse_int(copy, first) && parse_int(dash ? dash + 1 : copy, last) && *first >= 0 &&
           *first <= *last && *last <= TESS_CALIBRATE_BLOCK_MAX;
}

typedef struct block_list {
    bool has[TESS_CALIBRATE_BLOCK_MAX + 1];
} block_list;

/* The block sizes of "0,4,9-16". Without a list, those of a whole model. */
static bool parse_blocks(cli_app *app, const char *list, block_list *wanted)
{
    const int32_t *blocks;
    const int count = tess_calibrate_blocks(&blocks);
    for (int i = 0; !list && i < count; i++)
        wanted->has[blocks[i]] = true;
    while (list) {
        int64_t first, last;
        const size_t length = strcspn(list, ",");
        if (!parse_range(list, length, &first, &last)) {
            fail(app, EXIT_USAGE, "--blocks: '%.*s' is no block size in 0..%d, nor a range of them",
                 (int)length, list, TESS_CALIBRATE_BLOCK_MAX);
            return false;
        }
        for (int64_t block = first; block <= last; block++)
            wanted->has[block] = true;
        list = list[length] ? list + length + 1 : NULL;
    }
    return true;
}

/* Shows one part: in the table, and in the document. */
static void show_part(const calibrate_args *args, const tess_device *device,
                      const tess_model_part *part, json_t *curves)
{
    if (!args->common.json) {
        if (json_array_size(curves) == 0)
            printf("device  %s\n\n", device_info(device).model);
        print_curves(part);
        print_extras(part);
        printf("\n");
    }
    add_curves(curves, part);
}

/* One block size after the other. Each is kept when it is done, so a stopped calibration can go on
 * with the rest. */
static int calibrate(cli_app *app, const calibrate_args *args, const block_list *wanted,
                     tess_device *device, const char *path, json_t *curves)
{
    bool found = !args->classes, told = *path;
    int count = 0, done = 0;
    for (int32_t block = 0; block <= TESS_CALIBRATE_BLOCK_MAX; block++)
        count += wanted->has[block];
    for (int32_t block = 0; block <= TESS_CALIBRATE_BLOCK_MAX; block++) {
        tess_model_part *part;
        if (!wanted->has[block])
            continue;
        if (app->live)
            (void)terminal_progress(app, "calibrating", (double)done++ / count);
        TRY_CALL(app, tess_calibrate(device, args->common.type.type, block, 1e6 * args->megabytes,
                                     args->classes, *path ? path : NULL, &part));
        terminal_clear_progress(app);
        if (!told) /* early: the rest takes minutes */
            terminal_log(app, "model: nothing is kept, as wisdom is off and there is no --out");
        told = true;
        show_part(args, device, part, curves);
        found =
            found || (block > 0 && tess_model_part_curves(part) + tess_model_part_extras(part) > 0);
        tess_model_part_destroy(part);
    }
    return found ? EXIT_DONE
                 : fail(app, EXIT_USAGE,
                        "--classes: nothing was measured of '%s' on this device; without --classes "
                        "all are measured, and named",
                        args->classes);
}

/* --quick: only the factors between the device and the model that stands in for it. */
static int scale(cli_app *app, const calibrate_args *args, tess_device *device, const char *path)
{
    double memory, cache;
    TRY_CALL(app, tess_calibrate_quick(device, *path ? path : NULL, &memory, &cache));
    if (args->common.json)
        return print_json(app,
                          json_make("{s:s, s:s, s:f, s:f}", "device", device_info(device).model,
                                    "file", path, "memory", memory, "cache", cache));
    printf("device  %s\n\nThe model that stands in for it, scaled: %.2f times its throughput from "
           "memory, %.2f times\nin the cache.\n",
           device_info(device).model, memory, cache);
    if (*path)
        printf("kept in %s\n", path);
    return finish_output(app, EXIT_DONE);
}

static int run(cli_app *app, void *arguments)
{
    calibrate_args *args = arguments;
    char path[4096] = "";
    int exit_status = EXIT_DONE;
    block_list wanted = {{false}};
    if (!parse_blocks(app, args->blocks, &wanted))
        return EXIT_USAGE;
    tess_device *device = open_device(app, &args->common, &exit_status);
    if (!device)
        return exit_status;
    if (args->out)
        snprintf(path, sizeof path, "%s", args->out);
    else
        (void)tess_model_file(app->ctx, sizeof path, path);
    if (args->quick) {
        exit_status = scale(app, args, device, path);
        tess_device_close(device);
        return exit_status;
    }
    json_t *curves = json_array();
    exit_status = calibrate(app, args, &wanted, device, path, curves);
    terminal_clear_progress(app);
    if (exit_status == EXIT_DONE && args->common.json) {
        exit_status =
            print_json(app, json_make("{s:s, s:s, s:o}", "device", device_info(device).model,
                                      "file", path, "curves", json_incref(curves)));
    } else if (exit_status == EXIT_DONE) {
        if (*path)
            printf("kept in %s\n", path);
        exit_status = finish_output(app, EXIT_DONE);
    }
    json_decref(curves);
    tess_device_close(device);
    return exit_status;
}

static const cli_option options[] = {
    {"blocks", OPTION_TEXT, offsetof(calibrate_args, blocks), "LIST",
     "these sizes, as in 3,9-16; 0: vectors (default: " BLOCKS ")", 0, 0},
    {"classes", OPTION_TEXT, offsetof(calibrate_args, classes), "LIST",
     "only these kernel classes, as in sliced,stream; others stay as they are", 0, 0},
    {"megabytes", OPTION_REAL, offsetof(calibrate_args, megabytes), "N",
     "the largest product measured (default: ten times the cache, at least 64)", 1, 1000000},
    {"quick", OPTION_FLAG, offsetof(calibrate_args, quick), NULL,
     "only scale the model that stands in for this device (a second or two)", 0, 0},
    {"out", OPTION_TEXT, offsetof(calibrate_args, out), "FILE",
     "keep it in FILE instead of beside the wisdom", 0, 0},
};

static const cli_rule rules[] = {
    {"blocks,classes,megabytes,type", WITH, "quick"},
    {0},
};

const cli_command command_calibrate = {
    .name = "calibrate",
    .operands = "",
    .min_operands = 0,
    .max_operands = 0,
    .summary = "measure this device for the performance model",
    .description =
        "Times every kernel class with stencil matrices of growing size for blocks of 1 to 64, "
        "with random columns and with one very long row, and the vector passes of a CG iteration; "
        "fits the model's curves (throughput as a sigmoid in the logarithm of the bytes moved; "
        "one curve for the cache and one for memory), and keeps them beside the wisdom, in "
        "model.json. Plans that are made without measuring and `tessera predict` use them. Takes "
        "some minutes; the machine should be idle. Each block size is kept when it is done; the "
        "file's other block sizes stay.\n\n"
        "A few machines' models are built in (profiles/); the most similar one stands in for a "
        "device that was never calibrated. Its order of kernels is good, its times may be off by "
        "a factor of 2 or 3: --quick times a few products and keeps that factor.",
    .examples = "tessera calibrate\n"
                "tessera calibrate --quick\n"
                "tessera calibrate --device cuda --type f32",
    .uses = USES_DEVICE | USES_TYPE,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .rules = rules,
    .args_size = sizeof(calibrate_args),
    .run = run,
};
