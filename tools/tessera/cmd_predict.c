/* tessera predict: what the model says of a matrix, on one device and on several. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "predict.h"

typedef struct predict_args {
    common_args common;
    int64_t devices;
    double link, sync, latency;
    bool check, shared;
    const char *map, *partition;
} predict_args;

/* What was measured beside a prediction; 0: not measured. */
typedef struct measured {
    double *kernels; /* seconds, one per predicted kernel */
    double iteration;
} measured;

/* "1.23 ms  -4.5 %": measured, and how far off the prediction was. */
static void print_measured(double seconds, double predicted)
{
    char a[TEXT_MAX];
    if (seconds > 0)
        printf(" %10s %+6.1f %%", text_seconds(seconds, a), 100 * (predicted / seconds - 1));
}

/* ---- Text ---- */

/* The number of entries after the i-th that have the same kernel with other parameters and the same
 * prediction. */
static int64_t count_alike(const tess_prediction *p, int64_t i)
{
    const tess_predicted_kernel *k = &p->kernels[i];
    int64_t next = i + 1;
    while (next < p->kernel_count && strcmp(p->kernels[next].format, k->format) == 0 &&
           strcmp(p->kernels[next].kernel, k->kernel) == 0 &&
           p->kernels[next].seconds == k->seconds && p->kernels[next].memory == k->memory)
        next++;
    return next - i - 1;
}

static const char *name_of(const tess_predicted_kernel *k, char *name)
{
    return text_kernel(k->format, k->kernel, k->params, name);
}

static void print_kernels(cli_app *app, const tess_prediction *p, double bytes, const measured *m)
{
    char name[NAME_MAX_LENGTH], a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX];
    int width = 0;
    for (int64_t i = 0; i < p->kernel_count; i++)
        width = name_column(width, name_of(&p->kernels[i], name));
    printf("\n%s  %-*s %10s %10s %8s %10s%s%s\n", bold(app), width, "kernel", "time", "at best",
           "GB/s", "memory", m->kernels ? "   measured    error" : "", plain(app));
    for (int64_t i = 0; i < p->kernel_count; i++) {
        const tess_predicted_kernel *k = &p->kernels[i];
        print_name(i == 0 ? '*' : ' ', width, name_of(k, name));
        if (k->seconds > 0)
            printf("%10s %10s %8.1f %10s", text_seconds(k->seconds, a),
                   text_seconds(k->best_seconds, b), 1e-9 * bytes / k->seconds,
                   text_bytes(k->memory, c));
        else
            printf("%10s %10s %8s %10s", "-", "-", "-", text_bytes(k->memory, c));
        if (m->kernels && k->seconds > 0)
            print_measured(m->kernels[i], k->seconds);
        printf("\n");
        int64_t alike = m->kernels ? 0 : count_alike(p, i);
        if (alike > 0)
            printf("  %s... and %lld more set%s of parameters, predicted alike%s\n", dim(app),
                   (long long)alike, alike == 1 ? "" : "s", plain(app));
        i += alike;
    }
    printf("%sGB/s: matrix and vectors over time%s\n", dim(app), plain(app));
}

static void print_solve(const tess_predicted_solve *s)
{
    char t[7][TEXT_MAX];
    const double seconds[] = {s->spmv, s->dot,  s->residual, s->direction,
                              s->halo, s->sums, s->iteration};
    printf("%7d", s->devices);
    for (int k = 0; k < 7; k++)
        printf(" %*s", k == 6 ? 12 : 10, seconds[k] > 0 ? text_seconds(seconds[k], t[k]) : "-");
    char best[TEXT_MAX];
    printf(" %10s %9.2f %9.2f %8.2f\n", text_seconds(s->best_iteration, best),
           1e-9 * s->flops / s->iteration, 1e-9 * s->useful_flops / s->iteration, s->speedup);
}

static void print_table(cli_app *app, const tess_predicted_solve *solves, int64_t count,
                        const char *last)
{
    printf("%s%7s %10s %10s %10s %10s %10s %10s %12s %10s %9s %9s %8s%s\n", bold(app), "devices",
           "SpMV", "p.Ap", "r, z", "x, p", "halo", "sums", "CG iteration", "at best", "GFLOP/s",
           "useful", last, plain(app));
    for (int64_t i = 0; i < count; i++)
        print_solve(&solves[i]);
}

/* Prints what travels, and the communication by eq. 11. */
static void print_traffic(cli_app *app, const tess_prediction *p)
{
    char t[4][TEXT_MAX];
    printf("\n%s%7s %13s %10s %9s %13s %14s %12s%s\n", bold(app), "devices", "largest part", "halo",
           "messages", "communication", "eq. 11 direct", "by the host", plain(app));
    for (int64_t i = 1; i < p->solve_count; i++) {
        const tess_predicted_solve *s = &p->solves[i];
        printf("%7d %13.3f %10s %9.0f %13s %14s %12s\n", s->devices, s->largest,
               text_bytes(s->halo_bytes, t[0]), s->messages, text_seconds(s->communication, t[1]),
               text_seconds(s->direct, t[2]), text_seconds(s->through_host, t[3]));
    }
    printf(
        "%slargest part: bytes of its product over the mean; halo: bytes of p for the device that "
        "receives\nmost. Eq. 11 (paper 004) sends all of p to every device: x scalars "
        "directly between devices,\nx n scalars by way of the host's memory%s\n",
        dim(app), plain(app));
}

static void print_solves(cli_app *app, const tess_prediction *p, const measured *m)
{
    if (p->solve_count == 0)
        return;
    printf("\n");
    if (p->solve_count > 1 && p->partition[0])
        printf("predicted, strong scaling: this matrix dealt out, %s partition\n", p->partition);
    else if (p->solve_count > 1)
        printf("predicted, strong scaling: even shares and direct copies, as blocks that are not "
               "square\nare not dealt out\n");
    print_table(app, p->solves, p->solve_count, "speed-up");
    printf("%sGFLOP/s count the zeros inside blocks, useful ones do not: %.1f %% of what is stored "
           "is not 0%s\n",
           dim(app), 100 * p->density, plain(app));
    if (m->iteration > 0) {
        printf("\nCG iteration measured:");
        print_measured(m->iteration, p->solves[0].iteration);
        printf("\n");
    }
    if (p->solve_count == 1)
        return;
    printf("\n%d device%s worth it: each adds at least half of its share\n", p->worthwhile,
           p->worthwhile == 1 ? " is" : "s are");
    print_traffic(app, p);
    if (p->weak_count > 1) {
        printf("\npredicted, weak scaling: a matrix of this size on every device\n");
        print_table(app, p->weak, p->weak_count, "of one");
    }
}

static int print_text(cli_app *app, const tess_matrix *A, const tess_prediction *p,
                      const measured *m)
{
    printf("matrix   ");
    print_matrix_line(A);
    printf("\nmodel    %s%s\n", p->model,
           p->stand_in ? " (stands in: `tessera calibrate` measures this device)" : "");
    const tess_matrix_view view = view_of(A);
    print_kernels(app, p, product_bytes(&view), m);
    print_solves(app, p, m);
    return finish_output(app, EXIT_DONE);
}

/* ---- JSON ---- */

static json_t *kernels_json(const tess_prediction *p, double bytes, const measured *m)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < p->kernel_count; i++) {
        const tess_predicted_kernel *k = &p->kernels[i];
        json_array_append_new(list,
                              json_make("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f}", "format",
                                        k->format, "kernel", k->kernel, "params", k->params,
                                        "seconds", k->seconds, "best_seconds", k->best_seconds,
                                        "GBps", k->seconds > 0 ? 1e-9 * bytes / k->seconds : 0.0,
                                        "bytes", k->bytes, "memory_bytes", k->memory,
                                        "measured_seconds", m->kernels ? m->kernels[i] : 0.0));
    }
    return list;
}

static json_t *solve_json(const tess_predicted_solve *s)
{
    json_t *object =
        json_make("{s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "devices", s->devices,
                  "spmv_seconds", s->spmv, "spmv_best_seconds", s->best_spmv, "dot_seconds", s->dot,
                  "residual_seconds", s->residual, "direction_seconds", s->direction,
                  "communication_seconds", s->communication, "cg_seconds", s->iteration,
                  "cg_best_seconds", s->best_iteration, "flops", s->flops, "speedup", s->speedup);
    json_object_update_new(
        object, json_make("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "halo_seconds", s->halo,
                          "sum_seconds", s->sums, "halo_bytes", s->halo_bytes, "messages",
                          s->messages, "direct_seconds", s->direct, "through_host_seconds",
                          s->through_host, "largest", s->largest, "useful_flops", s->useful_flops));
    return object;
}

static json_t *solves_json(const tess_predicted_solve *solves, int64_t count)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(list, solve_json(&solves[i]));
    return list;
}

static int print_document(cli_app *app, const tess_matrix *matrix, const tess_prediction *p,
                          const measured *m)
{
    const tess_matrix_view A = view_of(matrix);
    return print_json(app, json_make("{s:s, s:b, s:i, s:f, s:f, s:s, s:o, s:o, s:o, s:i, s:f}",
                                     "model", p->model, "stand_in", p->stand_in, "block_height",
                                     (int)A.block_height, "bytes", product_bytes(&A), "density",
                                     p->density, "partition", p->partition, "kernels",
                                     kernels_json(p, product_bytes(&A), m), "predictions",
                                     solves_json(p->solves, p->solve_count), "weak",
                                     solves_json(p->weak, p->weak_count), "worthwhile",
                                     p->worthwhile, "measured_cg_seconds", m->iteration));
}

static int predict(cli_app *app, const predict_args *args, const tess_matrix *A,
                   tess_device *device, tess_prediction **p, measured *m)
{
    const tess_predict_options options = {.devices = (int)args->devices,
                                          .link_bandwidth = 1e9 * args->link,
                                          .sync_seconds = 1e-6 * args->sync,
                                          .latency_seconds = 1e-6 * args->latency,
                                          .partition = args->partition,
                                          .shared = args->shared};
    TRY_CALL(app, tess_predict(app->ctx, A, device, &options, p));
    if (args->check) {
        m->kernels = calloc((size_t)(*p)->kernel_count + 1, sizeof *m->kernels);
        if (!m->kernels)
            return fail_memory(app);
        TRY_CALL(app, tess_predict_check(app->ctx, A, device, *p, m->kernels, &m->iteration));
    }
    return args->map ? predict_map(app, args->map, A, device, (*p)->model, &options) : EXIT_DONE;
}

/* Draws the map alone, for a block size instead of a matrix: that of --block, or 1. */
static int draw_map(cli_app *app, predict_args *args)
{
    enum { BLOCK_MAX = 1024, BYTES_MAX = 200000000 };
    char input[80];
    const block_choice *block = &args->common.block;
    int points = 16; /* along an edge; fewer where blocks are large: the map is of all sizes */
    int exit_status = EXIT_DONE;
    if (block->given && (block->rows == 0 || block->rows != block->cols))
        return fail(app, EXIT_USAGE, "predict: --map without INPUT takes square blocks: --block 3");
    if (block->given && block->rows > BLOCK_MAX)
        return fail(app, EXIT_USAGE, "predict: --map without INPUT: --block must be in 1..%d",
                    BLOCK_MAX);
    const int b = block->given ? (int)block->rows : 1;
    while (points > 1 && 27.0 * sizeof(double) * points * points * points * b * b > BYTES_MAX)
        points--;
    snprintf(input, sizeof input, "gen:stencil27:n=%d,b=%d", points, b);
    args->common.block.given = false;
    tess_matrix *A = input_matrix(app, &args->common, input, &exit_status);
    tess_device *device = A ? open_device_for(app, &args->common, A, &exit_status) : NULL;
    tess_prediction *p = NULL;
    measured none = {0};
    if (device)
        exit_status = predict(app, args, A, device, &p, &none);
    const long long devices = args->devices > 1 ? args->devices : 2;
    if (p && exit_status == EXIT_DONE && args->common.json)
        exit_status = print_json(app, json_make("{s:s, s:i, s:I, s:s, s:b}", "map", args->map,
                                                "block_height", b, "devices", (json_int_t)devices,
                                                "model", p->model, "stand_in", p->stand_in));
    else if (p && exit_status == EXIT_DONE)
        printf("%s: CG with %d x %d blocks on one device and on %lld, by the model of %s\n",
               args->map, b, b, devices, p->model);
    tess_prediction_destroy(p);
    tess_device_close(device);
    tess_matrix_destroy(A);
    return exit_status;
}

/* An option about several devices, which --devices 1 leaves nothing to do; NULL: none was given. */
static const char *idle_with_one_device(const predict_args *args)
{
    if (args->devices != 1 || args->map)
        return NULL;
    return args->link > 0      ? "link"
           : args->sync > 0    ? "sync"
           : args->latency > 0 ? "latency"
           : args->partition   ? "partition"
           : args->shared      ? "shared"
                               : NULL;
}

static int run(cli_app *app, void *arguments)
{
    predict_args *args = arguments;
    const char *idle = idle_with_one_device(args);
    if (idle)
        return fail(app, EXIT_USAGE, "predict: --%s does nothing with --devices 1: leave one out",
                    idle);
    int exit_status = EXIT_DONE;
    tess_device *device = NULL;
    tess_prediction *p = NULL;
    measured m = {0};
    terminal_show_notes(app);
    if (args->common.operand_count == 0 && args->check)
        return fail(app, EXIT_USAGE,
                    "predict: --check runs the products of INPUT: name one, or leave --check out");
    if (args->common.operand_count == 0)
        return args->map
                   ? draw_map(app, args)
                   : fail(app, EXIT_USAGE, "predict: INPUT is missing (or --map FILE without it)");
    tess_matrix *A = input_matrix(app, &args->common, args->common.operands[0], &exit_status);
    if (A)
        device = open_device_for(app, &args->common, A, &exit_status);
    if (device)
        exit_status = predict(app, args, A, device, &p, &m);
    if (device && exit_status == EXIT_DONE)
        exit_status = args->common.json ? print_document(app, A, p, &m) : print_text(app, A, p, &m);
    free(m.kernels);
    tess_prediction_destroy(p);
    tess_device_close(device);
    tess_matrix_destroy(A);
    return exit_status;
}

static const cli_option options[] = {
    {"devices", OPTION_INT, offsetof(predict_args, devices), "N", "up to N devices (default: 1)", 1,
     1024},
    {"link", OPTION_REAL, offsetof(predict_args, link), "GBPS",
     "throughput between two devices (default: copies by way of the host, or 50)", 0, 1000000},
    {"sync", OPTION_REAL, offsetof(predict_args, sync), "US",
     "microseconds per synchronisation of devices in eq. 11 (default: 10)", 0, 1000000},
    {"latency", OPTION_REAL, offsetof(predict_args, latency), "US",
     "microseconds per message between two devices (default: 2)", 0, 1000000},
    {"partition", OPTION_TEXT, offsetof(predict_args, partition), "NAME",
     "which device has which rows (default: contiguous)", 0, 0},
    {"shared", OPTION_FLAG, offsetof(predict_args, shared), NULL,
     "the devices are parts of one and share its memory, as cuda:0,0 does", 0, 0},
    {"check", OPTION_FLAG, offsetof(predict_args, check), NULL,
     "also run the kernels, and say how far off the predictions are", 0, 0},
    {"map", OPTION_OUTPUT, offsetof(predict_args, map), "FILE",
     "draw CG's GFLOP/s and speed-up for blocks like these (svg)", 0, 0},
};

static const cli_rule rules[] = {
    {"link,sync,latency,partition,shared", WITHOUT, "devices,map"},
    {0},
};

static const char *choices(const char *option, int i, const char **summary)
{
    if (strcmp(option, "partition") != 0)
        return NULL;
    *summary = tess_partition_summary(i);
    return tess_partition_name(i);
}

const cli_command command_predict = {
    .name = "predict",
    .operands = "[INPUT]",
    .min_operands = 0,
    .max_operands = 1,
    .summary = "what the model says: SpMV, CG iteration, several devices",
    .description =
        "Predicts, without running anything, the time of a product with every kernel and of an "
        "iteration of the conjugate gradient method, in the mean and at best, from what `tessera "
        "calibrate` has measured on this device or one like it. With --devices, the same for "
        "several such devices that share the problem, and how many are worth it: each has the "
        "part of the matrix that --partition gives it, and receives that part's real halo. A "
        "second table has weak scaling: a matrix of this size on every device. --device "
        "profile:NAME predicts for a machine that is not here; `tessera devices` lists the "
        "names.\n\n"
        "--map draws two rows of three panels over unknowns and stored elements: GFLOP/s of CG on "
        "one device and on N (default: 2), and the speed-up with the line beyond which it is more "
        "than 1. The upper row is at best, the lower one on average. Without INPUT it draws them "
        "for blocks of --block B (default: 1) and prints no tables.\n\n"
        "A Matrix Market file is taken with the blocks that `tessera info` recommends; --block 1 "
        "is plain CSR.",
    .examples = "tessera predict gen:stencil27:n=48,b=4\n"
                "tessera predict A.mtx.gz --block auto --device cuda --devices 8 --link 300\n"
                "tessera predict A.mtx.gz --device profile:h200\n"
                "tessera predict A.mtx.gz --device profile:h200 --devices 1024 --partition metis\n"
                "tessera predict gen:stencil27:n=48,b=4 --devices 4 --map map.svg\n"
                "tessera predict --map map.svg --block 3 --device profile:h200 --devices 8",
    .uses = USES_DEVICE | USES_TYPE | USES_BLOCK,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .rules = rules,
    .choices = choices,
    .args_size = sizeof(predict_args),
    .run = run,
};
