/* tessera predict: what the model says of a matrix, on one device and on several. */
#include <string.h>

#include "command.h"
#include "plan/plan.h"

typedef struct predict_args {
    common_args common;
    int64_t devices;
    double link, sync;
} predict_args;

static void print_kernels(cli_app *app, const tess_prediction *p)
{
    char name[256], a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX];
    printf("\n%s  %-60s %10s %10s %8s %10s%s\n", bold(app), "kernel", "time", "at best", "GB/s",
           "memory", plain(app));
    for (int64_t i = 0; i < p->kernel_count; i++) {
        const tess_predicted_kernel *k = &p->kernels[i];
        snprintf(name, sizeof name, "%s %s%s%s", k->format, k->kernel, *k->params ? " " : "",
                 k->params);
        printf("%c %-60s ", i == 0 ? '*' : ' ', name);
        if (k->seconds > 0)
            printf("%10s %10s %8.1f %10s\n", text_seconds(k->seconds, a),
                   text_seconds(k->best_seconds, b), 1e-9 * k->bytes / k->seconds,
                   text_bytes(k->memory, c));
        else
            printf("%10s %10s %8s %10s\n", "-", "-", "-", text_bytes(k->memory, c));
    }
}

static void print_solves(cli_app *app, const tess_prediction *p)
{
    char t[6][TEXT_MAX];
    if (p->solve_count == 0)
        return;
    printf("\n%s%7s %10s %10s %10s %10s %10s %12s %10s %9s %8s%s\n", bold(app), "devices", "SpMV",
           "p.Ap", "r, z", "x, p", "talk", "CG iteration", "at best", "GFLOP/s", "speed-up",
           plain(app));
    for (int64_t i = 0; i < p->solve_count; i++) {
        const tess_predicted_solve *s = &p->solves[i];
        const double seconds[6] = {s->spmv,      s->dot,           s->residual,
                                   s->direction, s->communication, s->iteration};
        char best[TEXT_MAX];
        printf("%7d", s->devices);
        for (int k = 0; k < 6; k++)
            printf(" %*s", k == 5 ? 12 : 10, seconds[k] > 0 ? text_seconds(seconds[k], t[k]) : "-");
        printf(" %10s %9.2f %8.2f\n", text_seconds(s->best_iteration, best),
               1e-9 * s->flops / s->iteration, s->speedup);
    }
    if (p->solve_count > 1)
        printf("\n%d device%s worth it: each adds at least half of its share\n", p->worthwhile,
               p->worthwhile == 1 ? " is" : "s are");
}

static int print_text(cli_app *app, const tess_matrix *A, const tess_prediction *p)
{
    printf("matrix   ");
    print_matrix_line(A);
    printf("\nmodel    %s%s\n", p->model,
           p->stand_in ? " (stands in: `tessera calibrate` measures this device)" : "");
    print_kernels(app, p);
    print_solves(app, p);
    return finish_output(app, EXIT_DONE);
}

static json_t *kernels_json(const tess_prediction *p)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < p->kernel_count; i++) {
        const tess_predicted_kernel *k = &p->kernels[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f}", "format",
                                        k->format, "kernel", k->kernel, "params", k->params,
                                        "seconds", k->seconds, "best_seconds", k->best_seconds,
                                        "GBps", k->seconds > 0 ? 1e-9 * k->bytes / k->seconds : 0.0,
                                        "bytes", k->bytes, "memory_bytes", k->memory));
    }
    return list;
}

static json_t *solves_json(const tess_prediction *p)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < p->solve_count; i++) {
        const tess_predicted_solve *s = &p->solves[i];
        json_array_append_new(
            list, json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "devices",
                            s->devices, "spmv_seconds", s->spmv, "spmv_best_seconds", s->best_spmv,
                            "dot_seconds", s->dot, "residual_seconds", s->residual,
                            "direction_seconds", s->direction, "communication_seconds",
                            s->communication, "cg_seconds", s->iteration, "cg_best_seconds",
                            s->best_iteration, "flops", s->flops, "speedup", s->speedup));
    }
    return list;
}

static int print_document(cli_app *app, const tess_prediction *p)
{
    return print_json(app, json_pack("{s:s, s:b, s:o, s:o, s:i}", "model", p->model, "stand_in",
                                     p->stand_in, "kernels", kernels_json(p), "predictions",
                                     solves_json(p), "worthwhile", p->worthwhile));
}

static int run(cli_app *app, void *arguments)
{
    predict_args *args = arguments;
    int exit_status = EXIT_DONE;
    tess_device *device = NULL;
    tess_prediction *p = NULL;
    tess_predict_options options = {.devices = (int)args->devices,
                                    .link_bandwidth = 1e9 * args->link,
                                    .sync_seconds = 1e-6 * args->sync};
    tess_matrix *A = input_matrix(app, &args->common, args->common.operands[0], &exit_status);
    if (A)
        device = open_device(app, &args->common, &exit_status);
    if (device) {
        tess_status status = tess_predict(app->ctx, A, device, &options, &p);
        exit_status = status != TESS_OK   ? fail_status(app, status)
                      : args->common.json ? print_document(app, p)
                                          : print_text(app, A, p);
    }
    tess_prediction_destroy(app->ctx, p);
    tess_device_close(device);
    tess_matrix_destroy(A);
    return exit_status;
}

static const cli_option options[] = {
    {"devices", OPTION_INT, offsetof(predict_args, devices), "N", "up to N devices (default: 1)", 1,
     1024},
    {"link", OPTION_REAL, offsetof(predict_args, link), "GBPS",
     "throughput between two devices (default: copies by way of the host, or 50)", 0, 0},
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
        "Predicts, without running anything, the time of a product with every kernel and of an "
        "iteration of the conjugate gradient method, in the mean and at best, from what `tessera "
        "calibrate` has measured on this device or one like it; and with --devices, of several "
        "such devices that share the problem, and how many are worth it.",
    .examples = "tessera predict gen:stencil27:n=48,b=4\n"
                "tessera predict A.mtx.gz --block auto --device cuda --devices 8 --link 300",
    .uses = USES_DEVICE | USES_TYPE | USES_BLOCK,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .args_size = sizeof(predict_args),
    .run = run,
};
