/* The report of `tessera tune`: a table for people, JSON for programs. */
#include <string.h>

#include "tune.h"

static double bandwidth(double bytes, double seconds)
{
    return seconds > 0 ? bytes / seconds : 0;
}

/* The bytes that a product of this candidate moves; the fewest possible where that is not known. */
static double bytes_of(const tuning *t, const tess_trial_info *trial)
{
    return trial->bytes > 0 ? trial->bytes : plan_info(t->plan).bytes;
}

static const char *name_of(const tess_trial_info *trial, char *name)
{
    return text_kernel(trial->format, trial->kernel, trial->params, name);
}

static void print_trial(const tuning *t, int64_t i, int width)
{
    const tess_trial_info info = trial_of(t->plan, i), *trial = &info;
    char name[NAME_MAX_LENGTH], a[TEXT_MAX], b[TEXT_MAX], d[TEXT_MAX], e[TEXT_MAX];
    char share[16] = "-";
    /* GB/s count the bytes of matrix and vectors, so that formats can be compared. The share of the
     * read ceiling counts the bytes that the format moves. */
    double speed = bandwidth(plan_info(t->plan).bytes, trial->seconds);
    if (t->ceiling > 0 && trial->seconds > 0)
        snprintf(share, sizeof share, "%.1f %%",
                 100 * bandwidth(bytes_of(t, trial), trial->seconds) / t->ceiling);
    print_name(i == search_of(t->plan).chosen ? '*' : ' ', width, name_of(trial, name));
    if (strcmp(trial->state, "refused") == 0) {
        printf("refused: %s\n", trial->note);
        return;
    }
    printf("%10s %10s", trial->seconds > 0 ? text_seconds(trial->seconds, a) : "not tried",
           trial->predicted_seconds > 0 ? text_seconds(trial->predicted_seconds, b) : "-");
    printf(" %10s %10s", text_bytes(bytes_of(t, trial), d), text_bytes(trial->memory, e));
    if (trial->seconds > 0)
        printf(" %8.1f %8s %10s%s", 1e-9 * speed, share, text_seconds(trial->prepare_seconds, a),
               strcmp(trial->state, "glanced") == 0 ? "  at a glance" : "");
    printf("\n");
}

static void print_blockings(const tuning *t)
{
    char a[TEXT_MAX], b[TEXT_MAX], shape[24];
    const tess_matrix_view A = view_of(t->A);
    if (t->blocking_count == 0)
        return;
    printf("\n  %-8s %7s %10s %10s  %s\n", "blocks", "fill", "moves", "time", "kernel");
    for (int i = 0; i < t->blocking_count; i++) {
        const blocking_trial *trial = &t->blockings[i];
        bool best = trial->blocking.rows == A.block_height && trial->blocking.cols == A.block_width;
        snprintf(shape, sizeof shape, "%dx%d", (int)trial->blocking.rows,
                 (int)trial->blocking.cols);
        printf("%c %-8s %7.2f %10s %10s  %s\n", best ? '*' : ' ', shape, trial->blocking.fill,
               text_bytes(trial->blocking.bytes, a), text_seconds(trial->seconds, b),
               trial->kernel);
    }
}

static void print_verdict(const tuning *t, const tess_search_info *search)
{
    char a[TEXT_MAX], path[4096] = "";
    int enabled = 0;
    const tess_trial_info winner = trial_of(t->plan, search->chosen), first = trial_of(t->plan, 0);
    if (search->cancelled)
        printf("stopped  the best so far is kept\n");
    printf("chosen   %s: ", plan_info(t->plan).kernel);
    if (search->effort == TESS_EFFORT_ESTIMATE)
        printf("by the model, nothing was run\n");
    else if (search->pays_after > 0)
        printf(
            "%.1f %% faster than %s, which a plan takes without a search; the search pays after %s "
            "products\n",
            100 * (first.seconds / winner.seconds - 1), first.kernel,
            text_count(search->pays_after, a));
    else
        printf("%s\n", search->count > 1 ? "what a plan takes without a search is the best"
                                         : "nothing else applies");
    printf("search   %d products in %s\n", search->spmvs, text_seconds(search->seconds, a));
    (void)tess_wisdom_file(t->app->ctx, sizeof path, path, &enabled);
    if (search->count > 1 && enabled && *path)
        printf("wisdom   %s\n", path);
}

/* The class of matrices that the choice is remembered for. */
static const char *class_of(const tuning *t, size_t size, char *name)
{
    *name = '\0';
    (void)tess_wisdom_class(t->device, t->A, size, name);
    return name;
}

int tune_print_text(const tuning *t)
{
    const tess_search_info search = search_of(t->plan);
    char class[256], a[TEXT_MAX], name[NAME_MAX_LENGTH];
    printf("matrix   ");
    print_matrix_line(t->A);
    printf("\ndevice   %s\nclass    %s\n", tess_device_description(t->device),
           class_of(t, sizeof class, class));
    printf("product  spmv moves %s", text_bytes(plan_info(t->plan).bytes, a));
    if (t->ceiling > 0)
        printf("; this device reads as much at %.1f GB/s", 1e-9 * t->ceiling);
    printf("\n");
    print_blockings(t);
    if (search.count == 0) {
        printf("\n%s\n", tess_plan_explain(t->plan));
        return EXIT_DONE;
    }
    int width = 0;
    for (int64_t i = 0; i < search.count; i++) {
        const tess_trial_info trial = trial_of(t->plan, i);
        width = name_column(width, name_of(&trial, name));
    }
    printf("\n%s  %-*s %10s %10s %10s %10s %8s %8s %10s%s\n", bold(t->app), width, "kernel", "time",
           "predicted", "moves", "keeps", "GB/s", "of read", "prepared", plain(t->app));
    for (int64_t i = 0; i < search.count; i++)
        print_trial(t, i, width);
    printf(
        "%sGB/s: matrix and vectors over time; of read: what the format moves, of what the device "
        "can read%s\n\n",
        dim(t->app), plain(t->app));
    print_verdict(t, &search);
    return EXIT_DONE;
}

static json_t *trials_json(const tuning *t, const tess_search_info *search)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < search->count; i++) {
        const tess_trial_info trial = trial_of(t->plan, i);
        double bytes = bytes_of(t, &trial);
        json_array_append_new(
            list,
            json_make("{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:s, s:b}", "format",
                      trial.format, "kernel", trial.kernel, "params", trial.params, "state",
                      trial.state, "seconds", trial.seconds, "predicted_seconds",
                      trial.predicted_seconds, "bytes", bytes, "memory_bytes", trial.memory, "GBps",
                      1e-9 * bandwidth(plan_info(t->plan).bytes, trial.seconds), "prepare_seconds",
                      trial.prepare_seconds, "note", trial.note, "chosen", i == search->chosen));
    }
    return list;
}

static json_t *blockings_json(const tuning *t)
{
    json_t *list = json_array();
    for (int i = 0; i < t->blocking_count; i++) {
        const blocking_trial *b = &t->blockings[i];
        json_array_append_new(list, json_make("{s:i, s:i, s:f, s:f, s:f, s:s}", "rows",
                                              (int)b->blocking.rows, "cols", (int)b->blocking.cols,
                                              "fill", b->blocking.fill, "bytes", b->blocking.bytes,
                                              "seconds", b->seconds, "kernel", b->kernel));
    }
    return list;
}

json_t *tune_json(const tuning *t, const char *input)
{
    const tess_search_info search = search_of(t->plan);
    const tess_plan_info plan = plan_info(t->plan);
    const tess_matrix_view A = view_of(t->A);
    char class[256];
    return json_make(
        "{s:s, s:s, s:s, s:i, s:i, s:f, s:f, s:s, s:s, s:s, s:i, s:f, s:I, s:b, s:o, s:o}", "input",
        input, "device", tess_device_description(t->device), "class",
        class_of(t, sizeof class, class), "block_height", (int)A.block_height, "block_width",
        (int)A.block_width, "bytes", plan.bytes, "read_GBps", 1e-9 * t->ceiling, "format",
        plan.format, "kernel", plan.kernel, "params", plan.params, "spmvs", search.spmvs,
        "search_seconds", search.seconds, "pays_after", (json_int_t)search.pays_after, "stopped",
        search.cancelled, "candidates", trials_json(t, &search), "blockings", blockings_json(t));
}
