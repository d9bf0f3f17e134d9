/* tessera tune: searches the best format and kernel for a matrix, says why, and remembers it. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "plan/tuner.h"
#include "plan/wisdom.h"

typedef struct tune_args {
    common_args common;
    const char *effort;
    bool show;
    const char *forget;
} tune_args;

/* ---- Ctrl-C: the search stops at the next progress call and keeps its best ---- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static int progress(void *user, const char *what, double fraction)
{
    const cli_app *app = user;
    if (app->live)
        (void)terminal_progress(user, what, fraction);
    return interrupted;
}

/* A second Ctrl-C ends the program as usual. */
static void catch_interrupts(cli_app *app)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    app->ctx->progress = progress;
    app->ctx->progress_user = app;
}

/* ---- Blocking: one search for each of the few cheapest, when --block auto leaves the choice ----
 */

enum { BLOCKINGS = 4 };

typedef struct blocking_trial {
    tess_block_candidate blocking;
    char kernel[64];
    double seconds;
} blocking_trial;

typedef struct tuning {
    cli_app *app;
    tess_device *device;
    tess_plan_options options;
    tess_matrix *A;
    tess_plan *plan;
    blocking_trial blockings[BLOCKINGS];
    int blocking_count;
    double ceiling; /* bytes a second, 0: unknown */
} tuning;

/* Those at offset 0 that move the fewest bytes, and 1 x 1. */
static int pick_blockings(const tess_detection *detection, tess_block_candidate *picked)
{
    int count = 0;
    for (int64_t i = 0; i < detection->count; i++) {
        const tess_block_candidate *c = &detection->candidates[i];
        if (c->row_offset != 0 || c->col_offset != 0)
            continue;
        int at = count < BLOCKINGS ? count++ : BLOCKINGS;
        for (; at > 0 && c->bytes < picked[at - 1].bytes; at--)
            if (at < BLOCKINGS)
                picked[at] = picked[at - 1];
        if (at < BLOCKINGS)
            picked[at] = *c;
    }
    bool plain = false;
    for (int i = 0; i < count; i++)
        plain |= picked[i].rows == 1 && picked[i].cols == 1;
    if (!plain && count > 0 && detection->candidates[0].rows == 1)
        picked[count - 1] = detection->candidates[0];
    return count;
}

static double plan_seconds(const tess_plan *plan)
{
    const tess_search *search = plan->search;
    if (!search)
        return 0;
    return search->remembered || search->count == 0 ? 0 : search->trials[search->chosen].seconds;
}

/* Searches one blocking; the better of it and what is held stays in t. */
static tess_status try_blocking(tuning *t, const tess_matrix *source,
                                const tess_block_candidate *blocking)
{
    tess_ctx *ctx = t->app->ctx;
    tess_matrix *A;
    tess_plan *plan;
    tess_blocking shape = {blocking->rows, blocking->cols};
    TESS_TRY(tess_matrix_to_blocks(ctx, source, &shape, &A));
    tess_status status = tess_plan_search(ctx, A, t->device, &t->options, true, &plan);
    if (status != TESS_OK) {
        tess_matrix_destroy(A);
        return status;
    }
    blocking_trial *trial = &t->blockings[t->blocking_count++];
    *trial = (blocking_trial){.blocking = *blocking, .seconds = plan_seconds(plan)};
    memcpy(trial->kernel, plan->kernel, sizeof trial->kernel);
    bool better = !t->plan || (trial->seconds > 0 && trial->seconds < plan_seconds(t->plan));
    if (better) {
        tess_plan *loser = t->plan;
        tess_matrix *other = t->A;
        t->plan = plan;
        t->A = A;
        plan = loser;
        A = other;
    }
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    return TESS_OK;
}

static tess_status try_blockings(tuning *t, const tess_matrix *source)
{
    tess_ctx *ctx = t->app->ctx;
    tess_detection *detection;
    tess_block_candidate picked[BLOCKINGS];
    TESS_TRY(tess_detect(ctx, source, NULL, &detection));
    int count = pick_blockings(detection, picked);
    tess_status status = TESS_OK;
    for (int i = 0; i < count && status == TESS_OK && !interrupted; i++)
        status = try_blocking(t, source, &picked[i]);
    tess_detection_destroy(ctx, detection);
    return status;
}

/* ---- Output ---- */

static double bandwidth(double bytes, double seconds)
{
    return seconds > 0 ? bytes / seconds : 0;
}

static void print_trial(const tuning *t, const tess_search *search, int64_t i)
{
    const tess_trial *trial = &search->trials[i];
    const tess_candidate *c = &trial->candidate;
    char name[256], a[TEXT_MAX], b[TEXT_MAX], share[16] = "-";
    double speed = bandwidth(tess_matrix_spmv_bytes(t->A), trial->seconds);
    snprintf(name, sizeof name, "%s %s%s%s", c->format, c->kernel, *c->params ? " " : "",
             c->params);
    if (t->ceiling > 0)
        snprintf(share, sizeof share, "%.1f %%", 100 * speed / t->ceiling);
    printf("%c %-52s ", i == search->chosen ? '*' : ' ', name);
    if (trial->state == TESS_TRIAL_REFUSED)
        printf("refused: %s\n", trial->note);
    else if (trial->state == TESS_TRIAL_UNTRIED)
        printf("%10s\n", "not tried");
    else
        printf("%10s %8.1f %8s %10s%s\n", text_seconds(trial->seconds, a), 1e-9 * speed, share,
               text_seconds(trial->prepare_seconds, b),
               trial->state == TESS_TRIAL_GLANCED ? "  at a glance" : "");
}

static void print_blockings(const tuning *t)
{
    char a[TEXT_MAX], b[TEXT_MAX], shape[24];
    if (t->blocking_count == 0)
        return;
    printf("\n  %-8s %7s %10s %10s  %s\n", "blocks", "fill", "moves", "time", "kernel");
    for (int i = 0; i < t->blocking_count; i++) {
        const blocking_trial *trial = &t->blockings[i];
        bool best =
            trial->blocking.rows == t->A->block_height && trial->blocking.cols == t->A->block_width;
        snprintf(shape, sizeof shape, "%dx%d", (int)trial->blocking.rows,
                 (int)trial->blocking.cols);
        printf("%c %-8s %7.2f %10s %10s  %s\n", best ? '*' : ' ', shape, trial->blocking.fill,
               text_bytes(trial->blocking.bytes, a), text_seconds(trial->seconds, b),
               trial->kernel);
    }
}

static void print_verdict(const tuning *t, const tess_search *search)
{
    char a[TEXT_MAX], path[4096];
    const tess_trial *winner = &search->trials[search->chosen], *first = &search->trials[0];
    int64_t payback = tess_search_payback(search);
    if (search->cancelled)
        printf("stopped  the best so far is kept\n");
    printf("chosen   %s: ", t->plan->kernel);
    if (payback > 0)
        printf("%.1f %% faster than %s, which a plan takes unasked; the search pays after %s "
               "products\n",
               100 * (first->seconds / winner->seconds - 1), first->candidate.kernel,
               text_count(payback, a));
    else
        printf("%s\n", search->count > 1 ? "what a plan takes unasked is the best"
                                         : "nothing else applies");
    printf("search   %d products in %s\n", search->spmvs, text_seconds(search->seconds, a));
    if (search->count > 1 && tess_wisdom_enabled() && tess_wisdom_path(path, sizeof path))
        printf("wisdom   %s\n", path);
}

static int print_text(const tuning *t)
{
    const tess_matrix *A = t->A;
    const tess_search *search = t->plan->search;
    char key[TESS_WISDOM_KEY], a[TEXT_MAX];
    printf("matrix   ");
    print_matrix_line(A);
    tess_wisdom_key(t->device, A, "spmv", key);
    printf("\ndevice   %s\nclass    %s\n", tess_device_description(t->device), key);
    printf("product  spmv moves %s", text_bytes(tess_matrix_spmv_bytes(A), a));
    if (t->ceiling > 0)
        printf("; this device reads as much at %.1f GB/s", 1e-9 * t->ceiling);
    printf("\n");
    print_blockings(t);
    if (!search || search->count == 0) {
        printf("\n%s\n", tess_plan_explain(t->plan));
        return EXIT_DONE;
    }
    printf("\n%s  %-52s %10s %8s %8s %10s%s\n", bold(t->app), "kernel", "time", "GB/s", "of read",
           "prepared", plain(t->app));
    for (int64_t i = 0; i < search->count; i++)
        print_trial(t, search, i);
    printf("\n");
    print_verdict(t, search);
    return EXIT_DONE;
}

static json_t *trials_json(const tuning *t, const tess_search *search)
{
    json_t *list = json_array();
    double bytes = tess_matrix_spmv_bytes(t->A);
    for (int64_t i = 0; search && i < search->count; i++) {
        const tess_trial *trial = &search->trials[i];
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:s, s:b}", "format",
                      trial->candidate.format, "kernel", trial->candidate.kernel, "params",
                      trial->candidate.params, "state", tess_trial_state_name(trial->state),
                      "seconds", trial->seconds, "GBps", 1e-9 * bandwidth(bytes, trial->seconds),
                      "prepare_seconds", trial->prepare_seconds, "note", trial->note, "chosen",
                      i == search->chosen));
    }
    return list;
}

static json_t *blockings_json(const tuning *t)
{
    json_t *list = json_array();
    for (int i = 0; i < t->blocking_count; i++) {
        const blocking_trial *b = &t->blockings[i];
        json_array_append_new(list, json_pack("{s:i, s:i, s:f, s:f, s:f, s:s}", "rows",
                                              (int)b->blocking.rows, "cols", (int)b->blocking.cols,
                                              "fill", b->blocking.fill, "bytes", b->blocking.bytes,
                                              "seconds", b->seconds, "kernel", b->kernel));
    }
    return list;
}

static int print_document(const tuning *t, const char *input)
{
    static const tess_search none = {0};
    const tess_plan *plan = t->plan;
    const tess_search *search = plan->search ? plan->search : &none;
    char key[TESS_WISDOM_KEY];
    tess_wisdom_key(t->device, t->A, "spmv", key);
    return print_json(
        t->app,
        json_pack(
            "{s:s, s:s, s:s, s:i, s:i, s:f, s:f, s:s, s:s, s:s, s:i, s:f, s:I, s:b, s:o, s:o}",
            "input", input, "device", tess_device_description(t->device), "class", key,
            "block_height", (int)t->A->block_height, "block_width", (int)t->A->block_width, "bytes",
            tess_matrix_spmv_bytes(t->A), "read_GBps", 1e-9 * t->ceiling, "format", plan->format,
            "kernel", plan->kernel, "params", plan->params, "spmvs", search->spmvs,
            "search_seconds", search->seconds, "pays_after",
            (json_int_t)tess_search_payback(search), "stopped", search->cancelled, "candidates",
            trials_json(t, search), "blockings", blockings_json(t)));
}

/* ---- --show and --forget ---- */

static int show(cli_app *app, bool json)
{
    char path[4096] = "", a[TEXT_MAX];
    (void)tess_wisdom_path(path, sizeof path);
    const struct tess_wisdom *wisdom = tess_wisdom_of(app->ctx);
    int64_t count = wisdom ? wisdom->count : 0;
    json_t *list = json ? json_array() : NULL;
    for (int64_t i = 0; i < count; i++) {
        const tess_wisdom_entry *e = &wisdom->entries[i];
        double speed = 1e-9 * bandwidth(e->bytes, e->seconds);
        if (json)
            json_array_append_new(
                list, json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:s}", "class", e->key, "format",
                                e->candidate.format, "kernel", e->candidate.kernel, "params",
                                e->candidate.params, "seconds", e->seconds, "GBps", speed, "effort",
                                tess_effort_name(e->effort)));
        else
            printf("%s\n    %s %s%s%s  %s, %.1f GB/s, %s\n", e->key, e->candidate.format,
                   e->candidate.kernel, *e->candidate.params ? " " : "", e->candidate.params,
                   text_seconds(e->seconds, a), speed, tess_effort_name(e->effort));
    }
    if (json)
        return print_json(app, json_pack("{s:s, s:o}", "file", path, "wisdom", list));
    printf("%lld class%s known%s%s\n", (long long)count, count == 1 ? "" : "es",
           wisdom ? ", kept in " : "; wisdom is off", wisdom ? path : "");
    return EXIT_DONE;
}

static int forget(cli_app *app, const char *part)
{
    int64_t forgotten;
    tess_status status =
        tess_wisdom_forget(app->ctx, strcmp(part, "all") == 0 ? "" : part, &forgotten);
    if (status != TESS_OK)
        return fail_status(app, status);
    printf("%lld class%s forgotten\n", (long long)forgotten, forgotten == 1 ? "" : "es");
    return EXIT_DONE;
}

/* ---- The run ---- */

static bool parse_effort(const char *text, tess_effort *effort)
{
    static const tess_effort efforts[] = {TESS_MEASURE, TESS_ESTIMATE, TESS_EXHAUSTIVE};
    *effort = TESS_MEASURE;
    for (size_t i = 0; text && i < 3; i++) {
        *effort = efforts[i];
        if (strcmp(text, tess_effort_name(efforts[i])) == 0)
            return true;
    }
    return !text;
}

static tess_status search(tuning *t, tess_matrix *input, bool choose_blocks)
{
    tess_ctx *ctx = t->app->ctx;
    catch_interrupts(t->app);
    if (choose_blocks && input->blocks > 0) {
        TESS_TRY(try_blockings(t, input));
    } else {
        TESS_TRY(tess_plan_search(ctx, input, t->device, &t->options, true, &t->plan));
        t->A = input;
    }
    const tess_backend *backend = t->device->backend;
    if (backend->read_ceiling && t->options.effort != TESS_ESTIMATE)
        TESS_TRY(backend->read_ceiling(t->device, tess_matrix_spmv_bytes(t->A), &t->ceiling));
    return TESS_OK;
}

static int tune(cli_app *app, tune_args *args, const char *input)
{
    tuning t = {.app = app};
    int exit_status = EXIT_DONE;
    if (!parse_effort(args->effort, &t.options.effort))
        return fail(app, EXIT_USAGE, "--effort '%s' is none of estimate, measure, exhaustive",
                    args->effort);
    bool choose_blocks = args->common.block.given && args->common.block.rows == 0;
    if (choose_blocks)
        args->common.block.given = false;
    tess_matrix *A = input_matrix(app, &args->common, input, &exit_status);
    if (A)
        t.device = open_device(app, &args->common, &exit_status);
    if (t.device) {
        tess_status status = search(&t, A, choose_blocks);
        terminal_clear_progress(app);
        exit_status = status != TESS_OK   ? fail_status(app, status)
                      : args->common.json ? print_document(&t, input)
                                          : print_text(&t);
    }
    tess_plan_destroy(t.plan);
    if (t.A != A)
        tess_matrix_destroy(t.A);
    tess_device_close(t.device);
    tess_matrix_destroy(A);
    return exit_status;
}

static int run(cli_app *app, void *arguments)
{
    tune_args *args = arguments;
    if (args->forget)
        return forget(app, args->forget);
    if (args->show)
        return show(app, args->common.json);
    if (args->common.operand_count == 0)
        return fail(app, EXIT_USAGE, "tune: INPUT is missing (or --show, or --forget)");
    return tune(app, args, args->common.operands[0]);
}

static const cli_option options[] = {
    {"effort", OPTION_TEXT, offsetof(tune_args, effort), "EFFORT",
     "estimate, measure (default) or exhaustive", 0, 0},
    {"show", OPTION_FLAG, offsetof(tune_args, show), NULL, "list what is known, search nothing", 0,
     0},
    {"forget", OPTION_TEXT, offsetof(tune_args, forget), "PART",
     "forget classes whose name contains PART; all: everything", 0, 0},
};

const cli_command command_tune = {
    .name = "tune",
    .operands = "[INPUT]",
    .min_operands = 0,
    .max_operands = 1,
    .summary = "search the best format and kernel, and remember it",
    .description =
        "Times the kernels that apply to the matrix against each other, says what each took and "
        "why one was chosen, and remembers the choice: later plans for matrices of the same class "
        "take it without a search. Ctrl-C stops the search and keeps the best so far.\n\n"
        "With --block auto the block size is chosen too: the few cheapest of `tessera info` and "
        "plain 1 x 1 are each searched.\n\n"
        "What is known is kept in TESSERA_WISDOM, or tessera/wisdom.json in the user's cache "
        "directory; TESSERA_WISDOM=off keeps and uses nothing. It decides which kernel runs, never "
        "what a kernel computes.",
    .examples = "tessera tune gen:stencil27:n=48,b=3\n"
                "tessera tune A.mtx.gz --block auto --effort exhaustive\n"
                "tessera tune --show",
    .uses = USES_DEVICE | USES_TYPE | USES_BLOCK,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .args_size = sizeof(tune_args),
    .run = run,
};
