/* tessera calibrate: throughput against size for every kernel class, fitted and kept. */
#include <string.h>

#include "command.h"
#include "calibrate/calibrate.h"

typedef struct calibrate_args {
    common_args common;
    double megabytes;
    const char *out, *blocks, *classes;
} calibrate_args;

static void print_curves(const tess_model *model)
{
    printf("%-24s %3s %-5s %-7s %6s %8s %8s %8s %8s %10s %10s %8s\n", "class", "b", "type", "from",
           "points", "a row, B", "step, ns", "mu", "sigma", "nu GB/s", "best GB/s", "error");
    for (int64_t i = 0; i < model->curve_count; i++) {
        const tess_model_curve *c = &model->curves[i];
        printf("%-24s %3d %-5s %-7s %6d %8.0f %8.1f %8.2f %8.2f %10.1f %10.1f %6.1f %%\n", c->name,
               (int)c->block, tess_type_name(c->type), c->cached ? "cache" : "memory", c->points,
               c->row_bytes, 1e9 * c->step_seconds, c->average.mu, c->average.sigma,
               1e-9 * c->average.nu, 1e-9 * c->best.nu, 100 * c->error);
    }
}

static void print_extras(const tess_model *model)
{
    char a[TEXT_MAX];
    if (model->extra_count == 0)
        return;
    printf("\n%-24s %3s %-5s %-8s %10s %10s\n", "class", "b", "type", "extra", "x", "ns");
    for (int64_t i = 0; i < model->extra_count; i++) {
        const tess_model_extra *e = &model->extras[i];
        bool share = e->kind == TESS_EXTRA_RESIDENT;
        printf("%-24s %3d %-5s %-8s %10s %10.3f%s\n", e->name, (int)e->block,
               tess_type_name(e->type), tess_extra_names[e->kind],
               e->x_bytes > 0 ? text_bytes(e->x_bytes, a) : "-", (share ? 100 : 1e9) * e->seconds,
               share ? " %" : "");
    }
}

static void add_curves(json_t *curves, const tess_model *model)
{
    for (int64_t i = 0; i < model->curve_count; i++) {
        const tess_model_curve *c = &model->curves[i];
        json_array_append_new(
            curves,
            json_pack("{s:s, s:i, s:s, s:b, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "class",
                      c->name, "block", (int)c->block, "type", tess_type_name(c->type), "cached",
                      (int)c->cached, "points", c->points, "row_bytes", c->row_bytes,
                      "step_seconds", c->step_seconds, "mu", c->average.mu, "sigma",
                      c->average.sigma, "GBps", 1e-9 * c->average.nu, "best_GBps",
                      1e-9 * c->best.nu, "error", c->error));
    }
}

/* ---- Parts ---- */

#define BLOCKS "0,1,2,3,4,5,6,7,8,11,16,32" /* tess_model_blocks */

/* The place in tess_model_blocks of the size that a list begins with; their number: it is none. */
static int first_block(const char *list)
{
    char text[8];
    int64_t block;
    int place = 0;
    const int length = snprintf(text, sizeof text, "%.*s", (int)strcspn(list, ","), list);
    if (length >= (int)sizeof text || !tess_parse_int64(text, &block))
        return tess_model_block_count;
    while (place < tess_model_block_count && tess_model_blocks[place] != block)
        place++;
    return place;
}

/* `wanted` gets a bit for each block size of "0,1,4", all where there is no list. */
static bool parse_blocks(cli_app *app, const char *list, uint32_t *wanted)
{
    *wanted = list ? 0 : UINT32_MAX;
    while (list) {
        const int place = first_block(list);
        const char *comma = strchr(list, ',');
        if (place == tess_model_block_count) {
            fail(app, EXIT_USAGE, "--blocks: '%.*s' is none of " BLOCKS, (int)strcspn(list, ","),
                 list);
            return false;
        }
        *wanted |= 1u << place;
        list = comma ? comma + 1 : NULL;
    }
    return true;
}

/* One after the other, each kept when it is done: what was stopped goes on with the rest. */
static tess_status calibrate(cli_app *app, const calibrate_args *args, uint32_t wanted,
                             tess_device *device, const char *path, json_t *curves)
{
    bool found = !args->classes, told = *path;
    for (int i = 0; i < tess_model_block_count; i++) {
        int32_t block = tess_model_blocks[i];
        tess_model *model;
        if (!(wanted & 1u << i))
            continue;
        TESS_TRY(tess_progress(app->ctx, "calibrating", i, tess_model_block_count));
        TESS_TRY(tess_model_calibrate(device, args->common.type.type, block, 1e6 * args->megabytes,
                                      args->classes, &model));
        tess_status status = *path ? tess_model_write(app->ctx, path, model) : TESS_OK;
        terminal_clear_progress(app);
        if (!told) /* early: the rest takes minutes */
            terminal_log(app, "model: nothing is kept, as wisdom is off and there is no --out");
        told = true;
        if (!args->common.json) {
            if (json_array_size(curves) == 0)
                printf("device  %s\n\n", device->model);
            print_curves(model);
            print_extras(model);
            printf("\n");
        }
        add_curves(curves, model);
        found = found || (block > 0 && model->curve_count + model->extra_count > 0);
        tess_model_destroy(model);
        TESS_TRY(status);
    }
    return found
               ? TESS_OK
               : tess_fail(app->ctx, TESS_ERR_ARGUMENT,
                           "--classes: nothing was measured of '%s' on this device", args->classes);
}

static int run(cli_app *app, void *arguments)
{
    calibrate_args *args = arguments;
    char path[4096] = "";
    int exit_status = EXIT_DONE;
    uint32_t wanted;
    if (!parse_blocks(app, args->blocks, &wanted))
        return EXIT_USAGE;
    tess_device *device = open_device(app, &args->common, &exit_status);
    if (!device)
        return exit_status;
    if (args->out)
        snprintf(path, sizeof path, "%s", args->out);
    else if (!tess_model_path(path, sizeof path))
        *path = '\0';
    json_t *curves = json_array();
    tess_status status = calibrate(app, args, wanted, device, path, curves);
    terminal_clear_progress(app);
    if (status != TESS_OK) {
        exit_status = fail_status(app, status);
    } else if (args->common.json) {
        exit_status = print_json(app, json_pack("{s:s, s:s, s:O}", "device", device->model, "file",
                                                path, "curves", curves));
    } else {
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
     "only these block sizes, 0 for vectors (default: " BLOCKS ")", 0, 0},
    {"classes", OPTION_TEXT, offsetof(calibrate_args, classes), "LIST",
     "only these kernel classes, as in sliced,stream; others stay as they are", 0, 0},
    {"megabytes", OPTION_REAL, offsetof(calibrate_args, megabytes), "N",
     "the largest product measured (default: nine times the cache, 64 to 1000)", 1, 1000000},
    {"out", OPTION_TEXT, offsetof(calibrate_args, out), "FILE",
     "keep it in FILE instead of beside the wisdom", 0, 0},
};

const cli_command command_calibrate = {
    .name = "calibrate",
    .operands = "",
    .min_operands = 0,
    .max_operands = 0,
    .summary = "measure this device for the performance model",
    .description =
        "Times every kernel class with stencil matrices of growing size for blocks of 1 to 32, "
        "with random columns and with one very long row, and the vector passes of a CG iteration; "
        "fits the model's curves (throughput as a sigmoid in the logarithm of the bytes moved; in "
        "cache and from memory apart), and keeps them beside the wisdom, in model.json. Plans that "
        "are made without measuring and `tessera predict` use them. Takes some minutes; the "
        "machine "
        "should be idle. Each block size is kept when it is done, beside what the file has of "
        "others.\n\n"
        "A few machines' models are built in (profiles/); the most similar one stands in for a "
        "device that was never calibrated.",
    .examples = "tessera calibrate\n"
                "tessera calibrate --device cuda --type f32",
    .uses = USES_DEVICE | USES_TYPE,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .args_size = sizeof(calibrate_args),
    .run = run,
};
