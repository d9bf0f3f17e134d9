#include "entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seconds: a turn on a host, and how long threads that slept take to run as before. */
static const double TURN = 4e-3, WAKING = 40e-3;

const tess_product entries_spmv = {
    .kind = TESS_PRODUCT_SPMV, .k = 1, .effort = TESS_EFFORT_ESTIMATE};

static entry *add(trial *T, const char *name)
{
    if (T->count == ENTRIES)
        return NULL;
    entry *E = &T->entries[T->count++];
    *E = (entry){0};
    snprintf(E->name, sizeof E->name, "%s", name);
    return E;
}

/* A refusal is a result, unless memory ran out. */
static tess_status refused(trial *T, entry *E, tess_status status)
{
    if (status != TESS_OK)
        snprintf(E->refused, sizeof E->refused, "%s", tess_ctx_error(T->ctx));
    return status == TESS_ERR_MEMORY ? status : TESS_OK;
}

/* ---- Peers ---- */

static tess_status add_cusparse(trial *T, const char *prefix)
{
    const char *name;
    bool takes;
    char version[24];
    if (!T->cuda || !cusparse_version(version, sizeof version))
        return TESS_OK;
    for (int i = 0; (name = cusparse_path(i, T->A, &takes)) != NULL; i++) {
        entry *E = takes && strncmp(name, prefix, strlen(prefix)) == 0 ? add(T, name) : NULL;
        if (!E)
            continue;
        snprintf(E->version, sizeof E->version, "%s", version);
        TESS_TRY(tess_cuda_enter(T->cuda));
        tess_status status =
            cusparse_open(T->cuda, T->A, name, &T->shared, T->cuda->stream, &E->cusparse);
        tess_cuda_leave(T->cuda);
        TESS_TRY(refused(T, E, status));
    }
    return TESS_OK;
}

static tess_status not_here(trial *T, entry *E)
{
    return refused(T, E, tess_fail(T->ctx, TESS_ERR_UNSUPPORTED, "not on this device"));
}

static tess_status add_blas(trial *T, const char *name)
{
    entry *E = add(T, name);
    const bool of_gpu = strcmp(name, "cublas") == 0;
    if (!E)
        return TESS_OK;
    if (of_gpu != (T->cuda != NULL))
        return not_here(T, E);
    if (of_gpu)
        return refused(T, E, cublas_open(T->cuda, T->A, &E->cublas));
    TESS_TRY(refused(T, E, cblas_open(T->A, &E->cblas)));
    if (E->cblas)
        snprintf(E->version, sizeof E->version, "%s", cblas_version(E->cblas));
    return TESS_OK;
}

static tess_status add_adapters(trial *T, const char *directory)
{
    if (T->peers || T->device->threads == 0)
        return TESS_OK;
    const tess_status status = bench_peers_start(T->device, T->A, T->x, directory, &T->peers);
    if (status != TESS_OK) {
        entry *E = add(T, "peers");
        return E ? refused(T, E, status) : TESS_OK;
    }
    for (int i = 0; i < bench_peers_count(T->peers); i++) {
        bench_variant *variant = bench_peers_variant(T->peers, i);
        entry *E = add(T, "");
        if (!E)
            return TESS_OK;
        snprintf(E->name, sizeof E->name, "%s_%s", variant->library, variant->name);
        snprintf(E->version, sizeof E->version, "%s", variant->version);
        snprintf(E->refused, sizeof E->refused, "%s", variant->refused);
        E->variant = variant;
    }
    return TESS_OK;
}

/* ---- Plans ---- */

static tess_status make_scalar(trial *T)
{
    const tess_blocking one = {1, 1};
    const tess_matrix *from = T->input ? T->input : T->A;
    return T->scalar ? TESS_OK : tess_matrix_to_blocks(T->ctx, from, &one, &T->scalar);
}

static tess_status plan_csr(trial *T, entry *E)
{
    static const tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE, .format = "bsr"};
    TESS_TRY(make_scalar(T));
    return tess_plan_create(T->ctx, T->scalar, T->device, &options, &E->plan);
}

/* One stream, nothing prefetched, whole blocks: what the backend calls naive. */
static tess_status plan_naive(trial *T, entry *E)
{
    tess_candidates list = {0};
    tess_status status;
    TESS_TRY_CLEAN(tess_candidates_list(T->device, T->A, &entries_spmv, &list));
    for (int64_t i = 0; i < list.count && !E->plan; i++) {
        const tess_candidate *c = &list.items[i];
        const tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE,
                                           .format = c->format,
                                           .kernel = c->kernel,
                                           .params = c->params};
        if (c->naive)
            TESS_TRY_CLEAN(tess_plan_create_shared(T->ctx, T->A, T->device, &options, &E->plan));
    }
    if (!E->plan)
        status = tess_fail(T->ctx, TESS_ERR_UNSUPPORTED, "no plain kernel is made for %d x %d",
                           (int)T->A->block_height, (int)T->A->block_width);
cleanup:
    tess_candidates_free(T->ctx, &list);
    return status;
}

/* What of the matrix lies in blocks of the shapes asked for: of one copy, lest they are looked for
 * in all of them again. */
static tess_status describe_shapes(trial *T, entry *E, const char *format, const char *shapes)
{
    fbcsr_form form = {.format = format, .asked = shapes};
    const tess_matrix *A = T->copy ? T->copy : T->A;
    TESS_TRY(fbcsr_form_describe(A, T->cuda != NULL, &form));
    E->stored = fbcsr_form_json(&form, A, 0);
    return TESS_OK;
}

/* Takes "tune=SECONDS" from the end of the parameters; 0: there is none. */
static double take_tuning(char *params)
{
    char *at = params ? strstr(params, "tune=") : NULL;
    if (!at)
        return 0;
    const double seconds = atof(at + strlen("tune="));
    at[at > params && at[-1] == ',' ? -1 : 0] = '\0';
    return seconds;
}

/* "plan", "KERNEL" and "FORMAT/KERNEL", with parameters or without. */
static tess_status plan_named(trial *T, entry *E, char *name, char *params)
{
    const double seconds = take_tuning(params);
    char *kernel = strchr(name, '/');
    const char *format = kernel ? name : NULL;
    if (kernel)
        *kernel++ = '\0';
    else if (strcmp(name, "plan") != 0)
        kernel = name;
    if (seconds > 0) {
        snprintf(E->name, sizeof E->name, "%s%s%s", kernel, *params ? ":" : "", params);
        return entries_tune(T, E, kernel, params, seconds);
    }
    const tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE,
                                       .format = format,
                                       .kernel = kernel && *kernel ? kernel : NULL,
                                       .params = params};
    TESS_TRY(tess_plan_create_shared(T->ctx, T->A, T->device, &options, &E->plan));
    static const char shapes[] = "shapes=";
    if (params && strncmp(params, shapes, strlen(shapes)) == 0)
        TESS_TRY(describe_shapes(T, E, E->plan->format, params + strlen(shapes)));
    return TESS_OK;
}

tess_status entries_add(trial *T, char *text)
{
    if (strncmp(text, "cusparse", 8) == 0)
        return add_cusparse(T, text);
    if (strcmp(text, "cublas") == 0 || strcmp(text, "cblas") == 0)
        return add_blas(T, text);
    if (strncmp(text, "peers:", 6) == 0)
        return add_adapters(T, text + 6);
    entry *E = add(T, text);
    if (!E)
        return TESS_OK;
    if (strcmp(text, "csr") == 0)
        return refused(T, E, plan_csr(T, E));
    if (strcmp(text, "naive") == 0)
        return refused(T, E, plan_naive(T, E));
    char *params = strchr(text, ':');
    if (params)
        *params++ = '\0';
    return refused(T, E, plan_named(T, E, text, params));
}

/* ---- Timing ---- */

tess_status entries_time(trial *T, entry *E, double *seconds)
{
    double times[REPS];
    if (E->cusparse)
        TESS_TRY(cusparse_time(E->cusparse, T->x, T->y, REPS, times));
    else if (E->cublas)
        TESS_TRY(cublas_time(E->cublas, T->x, T->y, REPS, times));
    else if (E->cblas)
        TESS_TRY(cblas_time(E->cblas, T->x, T->y, REPS, times));
    else if (E->plan)
        TESS_TRY(tess_product_time(E->plan, &entries_spmv, 1, T->x, 0, T->y, REPS, times));
    else if (!bench_variant_time(T->peers, E->variant, REPS, times, T->y))
        return tess_fail(T->ctx, TESS_ERR_DEVICE, "%s", E->variant->refused);
    *seconds = tess_median(times, REPS);
    return TESS_OK;
}

/* The result of what was just timed, where it is not in y yet. */
static bool fetch(trial *T, const entry *E)
{
    return !E->variant || bench_variant_result(T->peers, E->variant, T->y, T->A->rows);
}

/* Whether other threads than ours run it: an adapter's, or a BLAS's. */
static bool has_threads(const entry *E)
{
    return E->cblas || (E->variant && E->variant->peer);
}

/* The median of the times within so many seconds, on a host, where short products vary from one to
 * the next. */
static tess_status take_turn(trial *T, entry *E, double within, double *seconds)
{
    enum { TURNS = 64 };
    const double start = tess_seconds();
    double times[TURNS];
    int turns = 0;
    do
        TESS_TRY(entries_time(T, E, &times[turns++ % TURNS]));
    while (!T->cuda && tess_seconds() - start < within);
    *seconds = tess_median(times, tess_min(turns, TURNS));
    return TESS_OK;
}

tess_status entries_measure(trial *T)
{
    bool spinning = false;
    for (int round = -1; round < ROUNDS; round++) {
        for (int i = 0; i < T->count; i++) {
            entry *E = &T->entries[(i + tess_max(round, 0)) % T->count]; /* another is first */
            double seconds = 0;
            if (E->refused[0])
                continue;
            const bool paused = spinning || has_threads(E);
            if (paused)
                bench_let_sleep();
            spinning = has_threads(E);
            bench_poison(T->ctx, T->y, (size_t)T->A->rows * tess_type_size(T->A->type));
            if (paused) /* until threads are awake, on processors of their own, and clocks high */
                TESS_TRY(refused(T, E, take_turn(T, E, WAKING, &seconds)));
            TESS_TRY(refused(T, E, take_turn(T, E, TURN, &seconds)));
            if (round < 0)
                E->error = fetch(T, E) ? bench_error(&T->truth, T->y) : 2 * BENCH_ERROR_MAX;
            else
                E->rounds[round] = seconds;
        }
    }
    return TESS_OK;
}

/* ---- What is said ---- */

static json_t *entry_json(const entry *E)
{
    double rounds[ROUNDS];
    if (E->refused[0])
        return json_pack("{s:s, s:s}", "name", E->name, "refused", E->refused);
    memcpy(rounds, E->rounds, sizeof rounds);
    json_t *run = json_pack(
        "{s:s, s:s, s:s, s:s, s:f, s:b}", "name", E->name, "format", E->plan ? E->plan->format : "",
        "kernel", E->plan ? E->plan->kernel : "", "params", E->plan ? E->plan->params : "",
        "seconds", tess_median(rounds, ROUNDS), "right", E->error <= BENCH_ERROR_MAX);
    if (E->version[0])
        json_object_set_new(run, "version", json_string(E->version));
    if (E->of > 0)
        json_object_update_new(run, json_pack("{s:i, s:i}", "sets", E->sets, "of", E->of));
    if (E->stored)
        json_object_set(run, "stored", E->stored);
    return run;
}

json_t *entries_json(const trial *T)
{
    json_t *runs = json_array();
    for (int i = 0; i < T->count; i++)
        json_array_append_new(runs, entry_json(&T->entries[i]));
    return runs;
}

void entries_close(trial *T)
{
    for (int i = 0; i < T->count; i++) {
        entry *E = &T->entries[i];
        tess_plan_destroy(E->plan);
        cublas_close(E->cublas);
        cblas_close(E->cblas);
        json_decref(E->stored);
        if (E->cusparse && tess_cuda_enter(T->cuda) == TESS_OK) {
            cusparse_close(E->cusparse);
            tess_cuda_leave(T->cuda);
        }
    }
    bench_peers_stop(T->peers);
}
