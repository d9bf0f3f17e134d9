/* The report of `tessera tune`: a table for people, JSON for programs. */
#include <string.h>

#include "plan/model/model.h"
#include "plan/wisdom/wisdom.h"
#include "tune.h"

static double bandwidth(double bytes, double seconds)
{
    return seconds > 0 ? bytes / seconds : 0;
}

/* What a product of this candidate moves; as little as possible where that is not known. */
static double bytes_of(const tuning *t, const tess_candidate *c)
{
    return c->bytes > 0 ? c->bytes : tess_matrix_spmv_bytes(t->A);
}

static const char *name_of(const tess_candidate *c, char *name)
{
    return text_kernel(c->format, c->kernel, c->params, name);
}

static void print_trial(const tuning *t, const tess_search *search, int64_t i, int width)
{
    const tess_trial *trial = &search->trials[i];
    const tess_candidate *c = &trial->candidate;
    char name[NAME_MAX_LENGTH], a[TEXT_MAX], b[TEXT_MAX], d[TEXT_MAX], e[TEXT_MAX];
    char share[16] = "-";
    double speed = bandwidth(bytes_of(t, c), trial->seconds);
    if (t->ceiling > 0 && trial->seconds > 0)
        snprintf(share, sizeof share, "%.1f %%", 100 * speed / t->ceiling);
    print_name(i == search->chosen ? '*' : ' ', width, name_of(c, name));
    if (trial->state == TESS_TRIAL_REFUSED) {
        printf("refused: %s\n", trial->note);
        return;
    }
    printf("%10s %10s", trial->seconds > 0 ? text_seconds(trial->seconds, a) : "not tried",
           c->predicted > 0 ? text_seconds(c->predicted, b) : "-");
    printf(" %10s %10s", text_bytes(bytes_of(t, c), d), text_bytes(c->memory, e));
    if (trial->seconds > 0)
        printf(" %8.1f %8s %10s%s", 1e-9 * speed, share, text_seconds(trial->prepare_seconds, a),
               trial->state == TESS_TRIAL_GLANCED ? "  at a glance" : "");
    printf("\n");
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
    if (search->effort == TESS_ESTIMATE)
        printf("by the model, nothing was run\n");
    else if (payback > 0)
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

int tune_print_text(const tuning *t)
{
    const tess_matrix *A = t->A;
    const tess_search *search = t->plan->search;
    char key[TESS_WISDOM_KEY], a[TEXT_MAX], name[NAME_MAX_LENGTH];
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
    int width = 0;
    for (int64_t i = 0; i < search->count; i++)
        width = name_column(width, name_of(&search->trials[i].candidate, name));
    printf("\n%s  %-*s %10s %10s %10s %10s %8s %8s %10s%s\n", bold(t->app), width, "kernel", "time",
           "predicted", "moves", "keeps", "GB/s", "of read", "prepared", plain(t->app));
    for (int64_t i = 0; i < search->count; i++)
        print_trial(t, search, i, width);
    printf("\n");
    print_verdict(t, search);
    return EXIT_DONE;
}

static json_t *trials_json(const tuning *t, const tess_search *search)
{
    json_t *list = json_array();
    for (int64_t i = 0; search && i < search->count; i++) {
        const tess_trial *trial = &search->trials[i];
        double bytes = bytes_of(t, &trial->candidate);
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:s, s:b}", "format",
                      trial->candidate.format, "kernel", trial->candidate.kernel, "params",
                      trial->candidate.params, "state", tess_trial_state_name(trial->state),
                      "seconds", trial->seconds, "predicted_seconds", trial->candidate.predicted,
                      "bytes", bytes, "memory_bytes", trial->candidate.memory, "GBps",
                      1e-9 * bandwidth(bytes, trial->seconds), "prepare_seconds",
                      trial->prepare_seconds, "note", trial->note, "chosen", i == search->chosen));
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

int tune_print_document(const tuning *t, const char *input)
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
