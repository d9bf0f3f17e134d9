/* tessera calibrate: throughput against size for every kernel class, fitted and kept. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "plan/model.h"
#include "plan/tuner.h"

typedef struct calibrate_args {
    common_args common;
    double megabytes;
} calibrate_args;

enum { POINTS = 32, RUNS = 11 };

typedef struct points {
    double bytes[POINTS], speed[POINTS];
    int count;
} points;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median product of a plan as it is made without a search. */
static tess_status time_spmv(tess_device *device, const tess_matrix *A, double *seconds)
{
    static const tess_product product = {.kind = TESS_PRODUCT_SPMV};
    static const tess_plan_options options = {.effort = TESS_ESTIMATE};
    tess_ctx *ctx = device->ctx;
    double runs[RUNS], *x = NULL, *y = NULL;
    tess_plan *plan = NULL;
    tess_status status;
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, A->cols, &x)); /* large enough for either precision */
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, A->rows, &y));
    TESS_TRY_CLEAN(tess_plan_create(ctx, A, device, &options, &plan));
    TESS_TRY_CLEAN(tess_product_time(plan, &product, 1, x, 0, y, RUNS, runs));
    qsort(runs, RUNS, sizeof *runs, by_value);
    *seconds = runs[RUNS / 2];

cleanup:
    tess_plan_destroy(plan);
    tess_free(ctx, x);
    tess_free(ctx, y);
    return status;
}

/* Stencils of b x b blocks that move about `bytes`. */
static tess_status measure_spmv(tess_device *device, int b, tess_type type, double bytes, points *p)
{
    char spec[96];
    double stored = bytes / (double)tess_type_size(type) / (b * b);
    int n = (int)cbrt(stored / 20);
    snprintf(spec, sizeof spec, "stencil27:n=%d,b=%d,type=%s", n < 2 ? 2 : n, b,
             tess_type_name(type));
    tess_matrix *A;
    double seconds;
    TESS_TRY(tess_matrix_generate(device->ctx, spec, &A, NULL));
    tess_status status = time_spmv(device, A, &seconds);
    if (status == TESS_OK && seconds > 0) {
        p->bytes[p->count] = tess_matrix_spmv_bytes(A);
        p->speed[p->count] = p->bytes[p->count] / seconds;
        p->count++;
    }
    tess_matrix_destroy(A);
    return status;
}

/* Fits those points that are in cache, or those that are not. */
static void add_curve(tess_model *model, int32_t b, tess_type type, const points *all, bool cached)
{
    points p = {.count = 0};
    for (int i = 0; i < all->count; i++) {
        if ((all->bytes[i] <= model->cache_bytes) == cached) {
            p.bytes[p.count] = all->bytes[i];
            p.speed[p.count++] = all->speed[i];
        }
    }
    tess_model_curve c = {.block = b, .type = type, .cached = cached, .points = p.count};
    if (model->count == TESS_MODEL_CURVES ||
        !tess_sigmoid_fit(p.bytes, p.speed, p.count, &c.average))
        return;
    c.best = tess_sigmoid_envelope(&c.average, p.bytes, p.speed, p.count);
    for (int i = 0; i < p.count; i++)
        c.error += fabs(tess_sigmoid_value(&c.average, p.bytes[i]) / p.speed[i] - 1) / p.count;
    model->curves[model->count++] = c;
}

static tess_status calibrate_class(tess_device *device, int b, tess_type type, double most,
                                   tess_model *model)
{
    points p = {.count = 0};
    for (double bytes = 1e5; bytes <= most * 1.001 && p.count < POINTS; bytes *= 1.5) {
        if (b > 0) {
            TESS_TRY(measure_spmv(device, b, type, bytes, &p));
        } else {
            /* Fused vector operations run at the speed of reading. */
            TESS_TRY(device->backend->read_ceiling(device, bytes, &p.speed[p.count]));
            p.bytes[p.count++] = bytes;
        }
    }
    add_curve(model, b, type, &p, true);
    add_curve(model, b, type, &p, false);
    return TESS_OK;
}

static tess_status calibrate(cli_app *app, const calibrate_args *args, tess_device *device,
                             tess_model *model)
{
    static const int blocks[] = {0, 1, 2, 3, 4, 8};
    double most = args->megabytes > 0 ? 1e6 * args->megabytes : 12 * device->cache_bytes;
    most = most < 64e6 ? 64e6 : most > 2e9 ? 2e9 : most;
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        TESS_TRY(tess_progress(app->ctx, "calibrating", (double)i, 6));
        TESS_TRY(calibrate_class(device, blocks[i], args->common.type.type, most, model));
    }
    return TESS_OK;
}

static int print_model(cli_app *app, const tess_model *model, const char *path)
{
    printf("device  %s\n\n%-8s %-5s %-7s %6s %8s %8s %10s %10s %8s\n", model->device, "class",
           "type", "from", "points", "mu", "sigma", "nu GB/s", "best GB/s", "error");
    for (int i = 0; i < model->count; i++) {
        const tess_model_curve *c = &model->curves[i];
        char name[32] = "vectors";
        if (c->block > 0)
            snprintf(name, sizeof name, "%dx%d", (int)c->block, (int)c->block);
        printf("%-8s %-5s %-7s %6d %8.2f %8.2f %10.1f %10.1f %6.1f %%\n", name,
               tess_type_name(c->type), c->cached ? "cache" : "memory", c->points, c->average.mu,
               c->average.sigma, 1e-9 * c->average.nu, 1e-9 * c->best.nu, 100 * c->error);
    }
    if (*path)
        printf("\nkept in %s\n", path);
    return finish_output(app, EXIT_DONE);
}

static int run(cli_app *app, void *arguments)
{
    calibrate_args *args = arguments;
    char path[4096] = "";
    int exit_status = EXIT_DONE;
    tess_device *device = open_device(app, &args->common, &exit_status);
    if (!device)
        return exit_status;
    tess_model model = {.cache_bytes = device->cache_bytes};
    memcpy(model.device, device->model, sizeof model.device);
    tess_status status = device->backend->read_ceiling
                             ? calibrate(app, args, device, &model)
                             : tess_fail(app->ctx, TESS_ERR_UNSUPPORTED,
                                         "device '%s' cannot be calibrated: it has no read ceiling",
                                         device->backend->name);
    if (status == TESS_OK && tess_model_path(path, sizeof path))
        status = tess_model_write(app->ctx, path, &model);
    terminal_clear_progress(app);
    exit_status = status == TESS_OK ? print_model(app, &model, path) : fail_status(app, status);
    tess_device_close(device);
    return exit_status;
}

static const cli_option options[] = {
    {"megabytes", OPTION_REAL, offsetof(calibrate_args, megabytes), "N",
     "the largest product measured (default: twelve times the cache, 64 to 2000)", 0, 0},
};

const cli_command command_calibrate = {
    .name = "calibrate",
    .operands = "",
    .min_operands = 0,
    .max_operands = 0,
    .summary = "measure this device for the performance model",
    .description =
        "Times products with stencil matrices of growing size for blocks of 1, 2, 3, 4 and 8, and "
        "plain reading for the vector operations, fits the model's curves (throughput as a sigmoid "
        "in the logarithm of the bytes moved; in cache and from memory apart), and keeps them "
        "beside the wisdom. `tessera predict` uses them.",
    .examples = "tessera calibrate\n"
                "tessera calibrate --device cuda --type f32",
    .uses = USES_DEVICE | USES_TYPE,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .args_size = sizeof(calibrate_args),
    .run = run,
};
