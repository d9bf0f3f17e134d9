/* tessera predict: what the model says of a matrix, on one device and on several. */
#include <math.h>
#include <string.h>

#include "command.h"
#include "plan/model.h"

typedef struct predict_args {
    common_args common;
    int64_t devices;
    double link, sync;
} predict_args;

enum { DEVICES_MAX = 64 };

typedef struct forecast {
    int devices;
    tess_prediction average, best;
} forecast;

/* 1, 2, 4 ... and the number asked for. */
static int forecasts(const tess_model *model, const tess_model_problem *problem,
                     const tess_link *link, int most, forecast *list)
{
    int count = 0;
    for (int n = 1; n <= most; n = n < most && 2 * n > most ? most : 2 * n) {
        forecast f = {.devices = n};
        if (tess_model_predict(model, problem, n, link, false, &f.average) &&
            tess_model_predict(model, problem, n, link, true, &f.best))
            list[count++] = f;
    }
    return count;
}

/* The most devices of which each still adds at least half of its share. */
static int worthwhile(const forecast *list, int count)
{
    int worth = 1;
    for (int i = 1; i < count; i++) {
        double speedup = list[0].average.iteration / list[i].average.iteration;
        if (speedup >= 0.5 * list[i].devices)
            worth = list[i].devices;
    }
    return worth;
}

static int print_text(const tess_matrix *A, const tess_model *model, const forecast *list,
                      int count)
{
    char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], d[TEXT_MAX];
    printf("matrix   ");
    print_matrix_line(A);
    printf("\nmodel    %s\n\n", model->device);
    printf("%7s %10s %10s %12s %10s %9s %8s\n", "devices", "SpMV", "at best", "CG iteration",
           "at best", "GFLOP/s", "speed-up");
    for (int i = 0; i < count; i++) {
        const forecast *f = &list[i];
        printf("%7d %10s %10s %12s %10s %9.2f %8.2f\n", f->devices,
               text_seconds(f->average.spmv, a), text_seconds(f->best.spmv, b),
               text_seconds(f->average.iteration, c), text_seconds(f->best.iteration, d),
               1e-9 * f->average.flops / f->average.iteration,
               list[0].average.iteration / f->average.iteration);
    }
    if (count > 1)
        printf("\n%d device%s worth it: each adds at least half of its share\n",
               worthwhile(list, count), worthwhile(list, count) == 1 ? " is" : "s are");
    return EXIT_DONE;
}

static int print_document(cli_app *app, const tess_model *model, const forecast *list, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; i++) {
        const tess_prediction *p = &list[i].average, *q = &list[i].best;
        json_array_append_new(
            array,
            json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "devices",
                      list[i].devices, "spmv_seconds", p->spmv, "spmv_best_seconds", q->spmv,
                      "cg_seconds", p->iteration, "cg_best_seconds", q->iteration, "vector_seconds",
                      p->cg2 + p->cg3 + p->cg4 + p->cg5, "reduction_seconds", 3 * p->reduction,
                      "communication_seconds", p->communication, "flops", p->flops, "speedup",
                      list[0].average.iteration / p->iteration));
    }
    return print_json(app, json_pack("{s:s, s:o, s:i}", "model", model->device, "predictions",
                                     array, "worthwhile", worthwhile(list, count)));
}

static int predict(cli_app *app, const predict_args *args, const tess_matrix *A,
                   const tess_device *device)
{
    char path[4096];
    tess_model model;
    forecast list[DEVICES_MAX];
    if (!tess_model_path(path, sizeof path))
        return fail(app, EXIT_FAILED, "no place for models: TESSERA_WISDOM is off or HOME not set");
    tess_status status = tess_model_read(app->ctx, path, device->model, &model);
    if (status != TESS_OK)
        return fail_status(app, status);
    tess_link link = {.transfer = {.mu = 19, .sigma = 1.4, .nu = 1e9 * args->link},
                      .sync_seconds = 1e-6 * args->sync};
    if (!(args->link > 0))
        link.transfer.nu = 50e9;
    if (!(args->sync > 0))
        link.sync_seconds = 10e-6;
    tess_model_problem problem = tess_model_problem_of(A);
    int most = args->devices > 0 ? (int)args->devices : 1;
    int count = forecasts(&model, &problem, &link, most, list);
    if (count == 0)
        return fail(app, EXIT_FAILED, "the model of '%s' has no curve for this matrix",
                    model.device);
    return args->common.json ? print_document(app, &model, list, count)
                             : print_text(A, &model, list, count);
}

static int run(cli_app *app, void *arguments)
{
    predict_args *args = arguments;
    int exit_status = EXIT_DONE;
    tess_device *device = NULL;
    tess_matrix *A = input_matrix(app, &args->common, args->common.operands[0], &exit_status);
    if (A)
        device = open_device(app, &args->common, &exit_status);
    if (device)
        exit_status = predict(app, args, A, device);
    tess_device_close(device);
    tess_matrix_destroy(A);
    return exit_status;
}

static const cli_option options[] = {
    {"devices", OPTION_INT, offsetof(predict_args, devices), "N", "up to N devices (default: 1)", 1,
     1024},
    {"link", OPTION_REAL, offsetof(predict_args, link), "GBPS",
     "throughput between two devices (default: 50)", 0, 0},
    {"sync", OPTION_REAL, offsetof(predict_args, sync), "US",
     "microseconds a synchronisation of devices costs (default: 10)", 0, 0},
};

const cli_command command_predict = {
    .name = "predict",
    .operands = "INPUT",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "what the model says: SpMV, CG iteration, several devices",
    .description =
        "Predicts, without running anything, the time of a product and of an iteration of the "
        "conjugate gradient method, in the mean and at best, from what `tessera calibrate` has "
        "measured on this device; and with --devices, of several such devices that share the "
        "problem, and how many are worth it.",
    .examples = "tessera predict gen:stencil27:n=48,b=4\n"
                "tessera predict A.mtx.gz --block auto --device cuda --devices 8 --link 300",
    .uses = USES_DEVICE | USES_TYPE | USES_BLOCK,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .args_size = sizeof(predict_args),
    .run = run,
};
