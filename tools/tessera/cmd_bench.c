/* tessera bench: every kernel that applies to a matrix, timed against the read ceiling of the same
 * run and verified against the reference. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/json.h"
#include "command.h"

typedef struct bench_args {
    common_args common;
    const char *kernel, *format, *params, *op;
    int64_t reps, rounds;
    double seconds;
    bool peers, list, few, all, search, cg, update, regroup;
} bench_args;

/* ---- Options ---- */

/* "spmv", "spmv_transpose", "spmm:8". */
static bool parse_product(const char *text, tess_product *product)
{
    int64_t k;
    *product = (tess_product){.kind = TESS_PRODUCT_SPMV, .k = 1, .order = TESS_ORDER_ROW_MAJOR};
    if (!text || strcmp(text, "spmv") == 0)
        return true;
    if (strcmp(text, "spmv_transpose") == 0) {
        product->kind = TESS_PRODUCT_SPMV_TRANSPOSE;
        return true;
    }
    if (strncmp(text, "spmm:", 5) != 0 || !tess_parse_int64(text + 5, &k) || k < 1 || k > 1024)
        return false;
    product->kind = TESS_PRODUCT_SPMM;
    product->k = (int)k;
    return true;
}

/* TESSERA_PEERS, else the directory `peers` beside the one that holds this program. */
static const char *peers_directory(char *buffer, size_t size)
{
    const char *given = getenv("TESSERA_PEERS");
    if (given && *given)
        return given;
    ssize_t length = readlink("/proc/self/exe", buffer, size - 1);
    buffer[greater(length, 0)] = 0;
    for (int levels = 0; levels < 2; levels++) {
        char *slash = strrchr(buffer, '/');
        if (slash)
            *slash = 0;
    }
    size_t end = strlen(buffer);
    snprintf(buffer + end, size - end, "/peers");
    return buffer;
}

/* ---- Text ---- */

static int by_seconds(const void *a, const void *b)
{
    const bench_result *left = a, *right = b;
    double l = left->outcome == BENCH_GOOD ? left->seconds : 1e300;
    double r = right->outcome == BENCH_GOOD ? right->seconds : 1e300;
    return (l > r) - (l < r);
}

static const char *result_name(const bench_result *r, char *name)
{
    const tess_candidate *c = &r->candidate;
    char kernel[NAME_MAX_LENGTH];
    if (!r->peer[0] && r->regrouped)
        snprintf(name, NAME_MAX_LENGTH, "regrouped: %.*s", NAME_MAX_LENGTH - 12,
                 text_kernel(c->format, c->kernel, c->params, kernel));
    else if (!r->peer[0])
        (void)text_kernel(c->format, c->kernel, c->params, name);
    if (!r->peer[0])
        return name;
    snprintf(name, NAME_MAX_LENGTH, "%s%s%s%s%s", r->peer, *r->version ? " " : "", r->version,
             *c->kernel ? " " : "", c->kernel);
    return name;
}

static void print_result(const cli_app *app, const bench_report *report, const bench_result *r,
                         int width)
{
    char name[NAME_MAX_LENGTH], time[TEXT_MAX];
    print_name(r->first ? '*' : r->peer[0] ? '-' : ' ', width, result_name(r, name));
    if (r->outcome == BENCH_GOOD) {
        printf("%10s %8.2f ", text_seconds(r->seconds, time), 1e-9 * report->bytes / r->seconds);
        if (report->ceiling > 0)
            printf("%6.1f %%", 100 * report->bytes / r->seconds / report->ceiling);
        else
            printf("%8s", "");
        printf(" %9.2f %9.2g", 1e-9 * report->flops / r->seconds, r->error);
        if (r->update_seconds > 0)
            printf(" %8.2f", r->update_seconds / r->seconds);
        printf("%s%s\n", r->reason[0] ? "  " : "", r->reason);
    } else if (r->outcome == BENCH_SKIPPED) {
        printf("%sskipped: %s%s\n", dim(app), r->reason, plain(app));
    } else {
        printf("%s%s: %s%s\n", red(app), r->outcome == BENCH_WRONG ? "WRONG" : "FAILED", r->reason,
               plain(app));
    }
}

static int print_report(cli_app *app, const bench_args *args, const tess_device *device,
                        const tess_matrix *A, const bench_report *report,
                        const bench_search *search)
{
    char a[TEXT_MAX], name[NAME_MAX_LENGTH];
    terminal_clear_progress(app);
    if (args->common.json)
        return print_json(app, bench_json(device, A, args->common.operands[0],
                                          args->op ? args->op : "spmv", report,
                                          args->search ? search : NULL));
    printf("matrix   ");
    print_matrix_line(A);
    printf("\ndevice   %s\n", tess_device_description(device));
    printf("product  %s moves %s", args->op ? args->op : "spmv", text_bytes(report->bytes, a));
    if (report->ceiling > 0)
        printf("; this device reads as much at %s%.1f GB/s%s", bold(app), 1e-9 * report->ceiling,
               plain(app));
    int width = 0;
    for (int64_t i = 0; i < report->count; i++)
        width = name_column(width, result_name(&report->results[i], name));
    printf("\n\n%s  %-*s %10s %8s %8s %9s %9s%s%s\n", bold(app), width, "kernel", "time", "GB/s",
           "of read", "GFLOP/s", "error", args->update ? "   update" : "", plain(app));
    qsort(report->results, (size_t)report->count, sizeof *report->results, by_seconds);
    for (int64_t i = 0; i < report->count; i++)
        print_result(app, report, &report->results[i], width);
    printf("\n%s* what a plan takes without measuring%s; error in units of n eps |A||x|, at most "
           "%g%s\n",
           dim(app), args->peers ? ", - other libraries" : "", BENCH_ERROR_MAX, plain(app));
    if (args->update)
        printf("update: the time of new values in the plan, in units of its product\n");
    if (args->search)
        printf("a search takes %s %s%s%s after %d products\n", search->format, search->kernel,
               *search->params ? " " : "", search->params, search->spmvs);
    const bench_result *ours = bench_best(report, false), *peer = bench_best(report, true);
    if (ours && peer)
        printf("best of ours is %s%.2fx%s the speed of the best peer (%s %s)\n", bold(app),
               peer->seconds / ours->seconds, plain(app), peer->peer, peer->candidate.kernel);
    return EXIT_DONE;
}

static int print_list(cli_app *app, const bench_args *args, tess_device *device,
                      const tess_matrix *A, const bench_options *options)
{
    tess_candidates list = {0};
    tess_status status = bench_candidates(device, A, options, &list);
    if (status != TESS_OK)
        return fail_status(app, status);
    json_t *array = args->common.json ? json_array() : NULL;
    for (int64_t i = 0; i < list.count; i++) {
        const tess_candidate *c = &list.items[i];
        if (array)
            json_array_append_new(array, json_make("{s:s, s:s, s:s}", "format", c->format, "kernel",
                                                   c->kernel, "params", c->params));
        else
            printf("%s%s%s%s%s\n", *c->format || *c->kernel ? c->format : "(what a plan chooses)",
                   *c->format && *c->kernel ? " " : "", c->kernel, *c->params ? " " : "",
                   c->params);
    }
    tess_candidates_free(app->ctx, &list);
    return array ? print_json(app, json_make("{s:o}", "candidates", array)) : EXIT_DONE;
}

/* ---- The run ---- */

/* Faults of our own kernels decide. Faults of other libraries are only reported. */
static int exit_status_of(cli_app *app, const bench_report *report)
{
    char name[NAME_MAX_LENGTH];
    for (int64_t i = 0; i < report->count; i++) {
        const bench_result *r = &report->results[i];
        if (!r->peer[0] && (r->outcome == BENCH_WRONG || r->outcome == BENCH_FAILED))
            return fail(app, r->misnamed ? EXIT_USAGE : EXIT_FAILED, "%s: %s", result_name(r, name),
                        r->reason);
    }
    return EXIT_DONE;
}

static bool nothing_ran(const bench_report *report)
{
    for (int64_t i = 0; i < report->count; i++)
        if (report->results[i].outcome != BENCH_SKIPPED && !report->results[i].misnamed)
            return false;
    return true;
}

static int measure(cli_app *app, const bench_args *args, tess_device *device, const tess_matrix *A)
{
    char directory[PATH_MAX];
    bench_report report = {0};
    bench_search search = {0};
    bool on_host = device->threads > 0;
    bench_options options = {.format = args->format,
                             .kernel = args->kernel,
                             .params = args->params,
                             .reps = (int)args->reps,
                             .seconds = args->seconds,
                             .rounds = (int)args->rounds,
                             .peers = args->peers,
                             .update = args->update,
                             .regroup = args->regroup};
    if (!parse_product(args->op, &options.product))
        return fail(app, EXIT_USAGE,
                    "--op '%s' is none of spmv, spmv_transpose, spmm:K (K=1..1024)", args->op);
    if (args->peers && options.product.kind != TESS_PRODUCT_SPMV)
        return fail(app, EXIT_USAGE, "bench: --peers know no %s: leave out --peers, or --op",
                    args->op);
    options.product.effort = args->all   ? TESS_EFFORT_EXHAUSTIVE
                             : args->few ? TESS_EFFORT_ESTIMATE
                                         : TESS_EFFORT_MEASURE;
    if (args->list)
        return print_list(app, args, device, A, &options);
    if (args->peers && on_host)
        options.peers_directory = peers_directory(directory, sizeof directory);
    tess_status status = bench_measure(device, A, &options, &report);
    if (status == TESS_OK && args->search)
        status = bench_search_run(device, A, args->cg, &search);
    if (status != TESS_OK) {
        bench_report_free(app->ctx, &report);
        return fail_status(app, status);
    }
    int exit_status;
    if (nothing_ran(&report))
        exit_status = fail(app, EXIT_USAGE, "nothing to measure: %s",
                           report.count ? report.results[0].reason : "no kernel applies");
    else
        exit_status = print_report(app, args, device, A, &report, &search);
    if (exit_status == EXIT_DONE)
        exit_status = exit_status_of(app, &report);
    bench_report_free(app->ctx, &report);
    return exit_status;
}

static int run(cli_app *app, void *arguments)
{
    bench_args *args = arguments;
    tess_device *device = NULL;
    int exit_status = EXIT_DONE;
    tess_matrix *A = input_matrix(app, &args->common, args->common.operands[0], &exit_status);
    if (A)
        device = open_device_for(app, &args->common, A, &exit_status);
    if (device)
        exit_status = measure(app, args, device, A);
    tess_device_close(device);
    tess_matrix_destroy(A);
    return exit_status;
}

static const cli_option options[] = {
    {"kernel", OPTION_TEXT, offsetof(bench_args, kernel), "NAME", "only kernels of this name", 0,
     0},
    {"format", OPTION_TEXT, offsetof(bench_args, format), "NAME", "only kernels on this format", 0,
     0},
    {"params", OPTION_TEXT, offsetof(bench_args, params), "LIST",
     "the kernel's parameters, key=value,...; or several sets, A;B;C", 0, 0},
    {"op", OPTION_TEXT, offsetof(bench_args, op), "PRODUCT",
     "spmv (default), spmv_transpose or spmm:K", 0, 0},
    {"reps", OPTION_INT, offsetof(bench_args, reps), "N",
     "timed repetitions per kernel (default: as many as --seconds)", 1, 1000000},
    {"seconds", OPTION_REAL, offsetof(bench_args, seconds), "S",
     "of timed repetitions per kernel (default: 0.4; far slower ones less)", 0, 86400},
    {"rounds", OPTION_INT, offsetof(bench_args, rounds), "N",
     "in which all take turns (default: 7; more where it is noisy)", 1, 1000},
    {"peers", OPTION_FLAG, offsetof(bench_args, peers), NULL,
     "also other libraries, in the same rounds", 0, 0},
    {"few", OPTION_FLAG, offsetof(bench_args, few), NULL,
     "fewer parameters: those that need no other copy of the matrix", 0, 0},
    {"all", OPTION_FLAG, offsetof(bench_args, all), NULL,
     "every set of parameters of every kernel (may take hours)", 0, 0},
    {"search", OPTION_FLAG, offsetof(bench_args, search), NULL,
     "also say what a plan that measures takes", 0, 0},
    {"cg", OPTION_FLAG, offsetof(bench_args, cg), NULL,
     "with --search: also time an iteration of CG, beside its prediction", 0, 0},
    {"update", OPTION_FLAG, offsetof(bench_args, update), NULL,
     "also time new values in a plan, in units of its product", 0, 0},
    {"regroup", OPTION_FLAG, offsetof(bench_args, regroup), NULL,
     "also a plan that permutes inside, so that hidden blocks appear", 0, 0},
    {"list", OPTION_FLAG, offsetof(bench_args, list), NULL, "name the kernels that apply, run none",
     0, 0},
};

static const cli_rule rules[] = {
    {"few", WITH, "all"},
    {"cg", WITHOUT, "search"},
    {"params,reps,seconds,rounds,peers,search,update,regroup", WITH, "list"},
    {"seconds", WITH, "reps"},
    {0},
};

const cli_command command_bench = {
    .name = "bench",
    .operands = "INPUT",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "time and verify every kernel that applies",
    .description =
        "Runs every kernel that applies to the matrix, in turn and in several rounds, together "
        "with the fastest plain read of as many bytes on the device. Prints each kernel's median "
        "time, the bytes it must move over that time, their share of the reading speed, and its "
        "error against the reference backend. A wrong result, or one that changes from run to "
        "run, makes the command fail with exit status 1.\n\n"
        "With --peers, other libraries take part: on the CPU those whose adapters `./run bench` "
        "built (found beside the command or through TESSERA_PEERS), on the GPU cuSPARSE, where it "
        "is installed. Their results are verified and marked like our own, but do not change the "
        "exit status.\n\n"
        "A Matrix Market file is stored with the blocks that `tessera info` recommends; --block 1 "
        "stores plain CSR.",
    .examples = "tessera bench gen:stencil27:n=48,b=3\n"
                "tessera bench A.mtx.gz --device cpu:4 --type f32 --json\n"
                "tessera bench gen:stencil7:n=100,b=4 --peers",
    .uses = USES_DEVICE | USES_TYPE | USES_BLOCK,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .rules = rules,
    .args_size = sizeof(bench_args),
    .run = run,
};
