/* tessera tune: searches the best format and kernel for a matrix, says why, and remembers it. */
#include <string.h>

#include "tune/tune.h"

typedef struct tune_args {
    common_args common;
    const char *effort;
    bool show;
    const char *forget;
} tune_args;

/* ---- --block auto: one search for each of the few cheapest blockings ---- */

tess_search_info search_of(const tess_plan *plan)
{
    tess_search_info info = {0};
    (void)tess_plan_get_search(plan, sizeof info, &info);
    return info;
}

tess_trial_info trial_of(const tess_plan *plan, int64_t index)
{
    tess_trial_info info = {0};
    (void)tess_plan_get_trial(plan, index, sizeof info, &info);
    return info;
}

/* The trial that a search chose; all 0: no candidate was considered. */
static tess_trial_info choice_of(const tess_plan *plan)
{
    const tess_search_info search = search_of(plan);
    const tess_trial_info none = {0};
    return search.remembered || search.count == 0 ? none : trial_of(plan, search.chosen);
}

/* Measured, or with --effort estimate predicted; 0: not known. */
static double seconds_of(const tess_trial_info *trial)
{
    return trial->seconds > 0 ? trial->seconds : trial->predicted_seconds;
}

/* The same, to compare blockings by: a prediction is multiplied by its doubt. */
static double compared_seconds(const tess_trial_info *trial)
{
    return trial->seconds > 0 ? trial->seconds : trial->compared_seconds;
}

/* Searches one blocking. The better of this plan and the one in t stays in t. */
static tess_status try_blocking(tuning *t, const tess_matrix *source,
                                const tess_block_candidate *blocking)
{
    tess_ctx *ctx = t->app->ctx;
    tess_matrix *A;
    tess_plan *plan;
    tess_blocking shape = {blocking->rows, blocking->cols};
    tess_status status = tess_matrix_to_blocks(ctx, source, &shape, &A);
    if (status != TESS_OK)
        return status;
    status = tess_plan_create(ctx, A, t->device, &t->options, &plan);
    if (status != TESS_OK) {
        tess_matrix_destroy(A);
        return status;
    }
    const tess_trial_info choice = choice_of(plan);
    blocking_trial *trial = &t->blockings[t->blocking_count++];
    *trial = (blocking_trial){.blocking = *blocking, .seconds = seconds_of(&choice)};
    snprintf(trial->kernel, sizeof trial->kernel, "%s", plan_info(plan).kernel);
    bool better = !t->plan;
    if (t->plan && trial->seconds > 0) {
        const tess_trial_info held = choice_of(t->plan);
        better = compared_seconds(&choice) < compared_seconds(&held);
    }
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
    int count = 0;
    tess_status status = tess_detect(ctx, source, NULL, &detection);
    if (status != TESS_OK)
        return status;
    status = tess_detection_pick(ctx, detection, BLOCKINGS, picked, &count);
    for (int i = 0; i < count && status == TESS_OK && !terminal_interrupted(); i++)
        status = try_blocking(t, source, &picked[i]);
    tess_detection_destroy(detection);
    return status;
}

/* ---- The run ---- */

static bool parse_effort(const char *text, tess_effort *effort)
{
    static const struct {
        const char *name;
        tess_effort effort;
    } efforts[] = {{"measure", TESS_EFFORT_MEASURE},
                   {"estimate", TESS_EFFORT_ESTIMATE},
                   {"exhaustive", TESS_EFFORT_EXHAUSTIVE}};
    *effort = TESS_EFFORT_MEASURE;
    for (size_t i = 0; text && i < sizeof efforts / sizeof efforts[0]; i++) {
        *effort = efforts[i].effort;
        if (strcmp(text, efforts[i].name) == 0)
            return true;
    }
    return !text;
}

static tess_status search(tuning *t, tess_matrix *input, bool choose_blocks)
{
    tess_status status = tess_wisdom_save(t->app->ctx); /* says now if the choice cannot be kept */
    if (status != TESS_OK)
        return status;
    terminal_catch_interrupts(t->app); /* the search keeps its best */
    if (choose_blocks && view_of(input).blocks > 0)
        status = try_blockings(t, input);
    if (status == TESS_OK && !t->plan) { /* no blocking was asked for, or is worth a search */
        status = tess_plan_create(t->app->ctx, input, t->device, &t->options, &t->plan);
        t->A = input;
    }
    if (status != TESS_OK || t->options.effort == TESS_EFFORT_ESTIMATE)
        return status;
    const tess_matrix_view A = view_of(t->A);
    return tess_device_read_speed(t->device, product_bytes(&A), &t->ceiling);
}

static int tune(cli_app *app, tune_args *args, const char *input)
{
    tuning t = {.app = app, .options = {.fresh = 1, .regroup = TESS_REGROUP_OFF}};
    int exit_status = EXIT_DONE;
    if (!parse_effort(args->effort, &t.options.effort))
        return fail(app, EXIT_USAGE, "--effort '%s' is none of estimate, measure, exhaustive",
                    args->effort);
    bool choose_blocks = args->common.block.given && args->common.block.rows == 0;
    if (choose_blocks) {
        args->common.block.given = false;
        args->common.as_it_is = true;
    }
    tess_matrix *A = input_matrix(app, &args->common, input, &exit_status);
    if (A)
        t.device = open_device_for(app, &args->common, A, &exit_status);
    if (t.device) {
        tess_status status = search(&t, A, choose_blocks);
        if (status == TESS_OK)
            status = tess_wisdom_save(app->ctx);
        terminal_clear_progress(app);
        exit_status = status != TESS_OK   ? fail_status(app, status)
                      : args->common.json ? print_json(app, tune_json(&t, input))
                                          : tune_print_text(&t);
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
    terminal_show_notes(app);
    if (args->common.operand_count > 0 && (args->forget || args->show))
        return fail(app, EXIT_USAGE, "tune: --%s takes no INPUT: leave it out",
                    args->forget ? "forget" : "show");
    if (args->forget)
        return tune_forget(app, args->forget, args->common.json);
    if (args->show)
        return tune_show(app, args->common.json);
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

static const cli_rule rules[] = {
    {"show", WITH, "forget"},
    {"effort,block,type,device", WITH, "show,forget"},
    {0},
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
        "plain 1 x 1 are each searched. Without --block a Matrix Market file has the blocks that "
        "`tessera info` recommends.\n\n"
        "What is known is kept in TESSERA_WISDOM, or tessera/wisdom.json in the user's cache "
        "directory; TESSERA_WISDOM=off keeps and uses nothing. It decides which kernel runs, never "
        "what a kernel computes.",
    .examples = "tessera tune gen:stencil27:n=48,b=3\n"
                "tessera tune A.mtx.gz --block auto --effort exhaustive\n"
                "tessera tune --show",
    .uses = USES_DEVICE | USES_TYPE | USES_BLOCK,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .rules = rules,
    .args_size = sizeof(tune_args),
    .run = run,
};
