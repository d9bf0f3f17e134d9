/* The search over candidates, on a device whose kernels take as long as they are told to. */
#include <string.h>
#include <unistd.h>

#include "plan/model/model.h"
#include "plan/tuner.h"
#include "support/support.h"

typedef struct fake_kernel {
    const char *name;
    double seconds;
    bool unprepared, unrunnable, peer, fixed;
} fake_kernel;

enum { KERNELS_MAX = 64 };

/* What the device offers, and what was asked of it. */
typedef struct fake {
    fake_kernel kernels[KERNELS_MAX];
    int count;
    int prepared, alive, most_alive, batches, products;
    double noise, idle; /* times are off by so much; the first batch takes longer by so much */
    uint64_t seed;
    tess_effort listed_with;
    int cancel_at; /* the progress call that says stop; 0: none */
    int progress_calls;
} fake;

static fake *fake_of(const tess_plan *plan)
{
    return plan->device->state;
}

static tess_status fake_open(tess_device *device, const char *rest)
{
    (void)device;
    (void)rest;
    return TESS_OK;
}

static void fake_close(tess_device *device)
{
    (void)device;
}

static tess_status fake_prepare(tess_plan *plan, const tess_plan_options *options)
{
    fake *f = fake_of(plan);
    for (int i = 0; i < f->count; i++) {
        fake_kernel *kernel = &f->kernels[i];
        if (options->kernel && strcmp(options->kernel, kernel->name) != 0)
            continue;
        if (kernel->unprepared)
            return tess_fail(plan->ctx, TESS_ERR_DEVICE, "%s cannot be prepared", kernel->name);
        f->prepared++;
        f->alive++;
        f->most_alive = f->alive > f->most_alive ? f->alive : f->most_alive;
        plan->state = kernel;
        snprintf(plan->kernel, sizeof plan->kernel, "%s", kernel->name);
        snprintf(plan->format, sizeof plan->format, "fake");
        return TESS_OK;
    }
    return tess_fail(plan->ctx, TESS_ERR_ARGUMENT, "no kernel '%s'", options->kernel);
}

static void fake_release(tess_plan *plan)
{
    fake_of(plan)->alive--;
}

static tess_status fake_spmv(tess_plan *plan, double alpha, const void *x, double beta, void *y)
{
    (void)plan, (void)alpha, (void)x, (void)beta, (void)y;
    return TESS_OK;
}

static tess_status fake_update(tess_plan *plan, const void *values)
{
    const fake_kernel *kernel = plan->state;
    (void)values;
    return kernel->fixed ? tess_fail(plan->ctx, TESS_ERR_MATRIX, "not these values") : TESS_OK;
}

static tess_status fake_candidates(tess_device *device, const tess_matrix *A,
                                   const tess_product *product, tess_candidates *list)
{
    fake *f = device->state;
    (void)A;
    f->listed_with = product->effort;
    for (int i = 0; i < f->count; i++) {
        tess_candidate candidate = {.format = "fake", .peer = f->kernels[i].peer};
        snprintf(candidate.kernel, sizeof candidate.kernel, "%s", f->kernels[i].name);
        TESS_TRY(tess_candidates_add(device->ctx, list, &candidate));
    }
    return TESS_OK;
}

static tess_status fake_time(tess_plan *plan, const tess_product *product, double alpha,
                             const void *x, double beta, void *y, int reps, double *seconds)
{
    const fake_kernel *kernel = plan->state;
    fake *f = fake_of(plan);
    (void)product, (void)alpha, (void)x, (void)beta, (void)y;
    if (kernel->unrunnable)
        return tess_fail(plan->ctx, TESS_ERR_DEVICE, "%s cannot run", kernel->name);
    double slower = f->batches++ == 0 ? 1 + f->idle : 1;
    f->products += reps + 1;         /* one is not timed */
    for (int i = 0; i < reps; i++) { /* one run in three is disturbed */
        double off = f->noise * tess_random_unit(f->seed, (uint64_t)(8 * f->batches + i));
        seconds[i] = kernel->seconds * slower * (1 + off) * (i % 3 == 0 ? 5 : 1);
    }
    return TESS_OK;
}

static const tess_backend fake_backend = {.name = "fake",
                                          .open = fake_open,
                                          .close = fake_close,
                                          .prepare = fake_prepare,
                                          .release = fake_release,
                                          .spmv = fake_spmv,
                                          .update_values = fake_update,
                                          .candidates = fake_candidates,
                                          .asynchronous = true,
                                          .time_product = fake_time};

static int count_progress(void *user, const char *what, double fraction)
{
    fake *f = user;
    (void)what, (void)fraction;
    return ++f->progress_calls == f->cancel_at;
}

typedef struct fixture {
    tess_ctx *ctx;
    tess_matrix *A;
    tess_device device;
    fake fake;
} fixture;

static void open_fixture(fixture *f, void **state, const char *input)
{
    f->ctx = test_ctx(state);
    assert_int_equal(tess_matrix_generate(f->ctx, input, &f->A, NULL), TESS_OK);
    f->device = (tess_device){.ctx = f->ctx, .backend = &fake_backend, .state = &f->fake};
}

static const char large[] = "random:rows=20000,avg=8,r=2,c=2";

/* The kernel's name of a plan with these options. */
static const char *choice(fixture *f, const tess_plan_options *options)
{
    static char name[64];
    tess_plan *plan = NULL;
    tess_status status = tess_plan_create(f->ctx, f->A, &f->device, options, &plan);
    if (status != TESS_OK)
        fail_msg("%s", tess_ctx_error(f->ctx));
    snprintf(name, sizeof name, "%s", plan->kernel);
    tess_plan_destroy(plan);
    assert_int_equal(f->fake.alive, 0);
    return name;
}

static void the_fastest_of_disturbed_times_wins(void **state)
{
    fixture f = {
        .fake = {.kernels = {{"a", 3}, {"b", 2.9}, {"c", 2}, {"d", 2.1}, {"e", 9}}, .count = 5}};
    open_fixture(&f, state, large);
    assert_string_equal(choice(&f, NULL), "c");
    assert_int_equal(f.fake.prepared, 5);
    assert_int_equal(f.fake.most_alive, 2); /* never more than two formats in memory */
    tess_matrix_destroy(f.A);
}

static void a_tie_goes_to_the_first(void **state)
{
    fixture f = {.fake = {.kernels = {{"a", 1}, {"b", 0.995}, {"c", 1}}, .count = 3}};
    open_fixture(&f, state, large);
    assert_string_equal(choice(&f, NULL), "a");
    tess_matrix_destroy(f.A);
}

static void what_fails_or_is_foreign_is_passed_over(void **state)
{
    fixture f = {.fake = {.kernels = {{"broken", 1, .unprepared = true},
                                      {"good", 3},
                                      {"crashes", 1, .unrunnable = true},
                                      {"peer", 1, .peer = true},
                                      {"better", 2}},
                          .count = 5}};
    open_fixture(&f, state, large);
    tess_fail(f.ctx, TESS_OK, "an older sentence");
    assert_string_equal(choice(&f, NULL), "better");
    assert_string_equal(tess_ctx_error(f.ctx), "an older sentence");
    f.fake.count = 1;
    tess_plan *plan = NULL;
    assert_int_equal(tess_plan_create(f.ctx, f.A, &f.device, NULL, &plan), TESS_ERR_DEVICE);
    assert_null(plan);
    assert_non_null(strstr(tess_ctx_error(f.ctx), "broken cannot be prepared"));
    tess_matrix_destroy(f.A);
}

/* `count` kernels k0, k1, ... that take `seconds`. */
static void add_alike(fake *f, int count, double seconds)
{
    static char names[KERNELS_MAX][8];
    for (int i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "k%d", i);
        f->kernels[i] = (fake_kernel){.name = names[i], .seconds = seconds};
    }
    f->count = count;
}

static void effort_decides_how_much_is_run(void **state)
{
    fixture f = {0};
    add_alike(&f.fake, KERNELS_MAX, 1);
    for (int i = 0; i < KERNELS_MAX; i++) /* every one better than those before */
        f.fake.kernels[i].seconds -= 0.015 * i;
    open_fixture(&f, state, large);

    assert_string_equal(choice(&f, &(tess_plan_options){.effort = TESS_ESTIMATE}), "k0");
    assert_string_equal(choice(&f, &(tess_plan_options){.reproducible = 1}), "k0");
    assert_int_equal(f.fake.batches, 0);

    tess_plan *plan;
    assert_int_equal(tess_plan_create(f.ctx, f.A, &f.device, NULL, &plan), TESS_OK);
    assert_int_equal(f.fake.listed_with, TESS_MEASURE);
    assert_in_range(plan->search->spmvs, 30, 60);
    assert_string_not_equal(plan->kernel, "k0");
    tess_plan_destroy(plan);

    assert_string_equal(choice(&f, &(tess_plan_options){.effort = TESS_EXHAUSTIVE}), "k63");
    assert_int_equal(f.fake.listed_with, TESS_EXHAUSTIVE);
    tess_matrix_destroy(f.A);
}

/* The choice of a search whose products are counted here. */
static const char *choice_within_budget(fixture *f)
{
    f->fake.batches = f->fake.products = 0;
    const char *name = choice(f, NULL);
    assert_in_range(f->fake.products, 1, 60);
    return name;
}

static void who_comes_when_the_budget_is_used_up_wins_only_clearly(void **state)
{
    fixture f = {
        .fake = {.kernels = {{"a", 1}, {"b", 0.985}, {"c", 0.97}, {"d", 0.955}, {"e", 0.943}},
                 .count = 5}};
    open_fixture(&f, state, large);
    assert_string_equal(choice(&f, NULL), "d"); /* three duels, and no room for a fourth */
    f.fake.kernels[4].seconds = 0.93;
    tess_plan *plan;
    f.fake.products = 0;
    assert_int_equal(tess_plan_create(f.ctx, f.A, &f.device, NULL, &plan), TESS_OK);
    assert_string_equal(plan->kernel, "e");
    assert_int_equal(plan->search->trials[3].state, TESS_TRIAL_TIMED);
    assert_int_equal(plan->search->trials[4].state, TESS_TRIAL_GLANCED);
    assert_int_equal(plan->search->spmvs, f.fake.products);
    assert_in_range(plan->search->spmvs, 50, 60);
    tess_plan_destroy(plan);
    /* Where the clock is the host's, not even so. */
    tess_backend beside = fake_backend;
    beside.asynchronous = false;
    f.device.backend = &beside;
    assert_string_equal(choice(&f, NULL), "d");
    tess_matrix_destroy(f.A);
}

static void slight_leads_leave_room_to_look_at_the_others(void **state)
{
    fixture f = {0};
    add_alike(&f.fake, 20, 1);
    for (int i = 1; i < 6; i++) /* each a hundredth or two ahead of the one before */
        f.fake.kernels[i].seconds = 1 - 0.014 * i;
    f.fake.kernels[6].seconds = 0.93 * 0.88;
    open_fixture(&f, state, large);
    assert_string_equal(choice_within_budget(&f), "k6");
    /* With room for duels a hundredth is enough. */
    f.fake.count = 4;
    assert_string_equal(choice_within_budget(&f), "k3");
    tess_matrix_destroy(f.A);
}

static void without_a_clock_of_its_own_a_slight_lead_has_its_duel(void **state)
{
    tess_backend beside = fake_backend;
    fixture f = {0};
    add_alike(&f.fake, 20, 1);
    f.fake.kernels[1].seconds = 0.987;
    open_fixture(&f, state, large);
    assert_string_equal(choice_within_budget(&f), "k0");
    beside.asynchronous = false;
    f.device.backend = &beside;
    assert_string_equal(choice(&f, NULL), "k1");
    tess_matrix_destroy(f.A);
}

static void a_glance_at_fourteen_is_within_the_budget(void **state)
{
    fixture f = {0};
    add_alike(&f.fake, 20, 1);
    f.fake.kernels[14].seconds = 0.9; /* 60 products with it, and none for the champion */
    open_fixture(&f, state, large);
    assert_string_equal(choice_within_budget(&f), "k14");
    for (int i = 1; i < 14; i++) /* the first champion runs once more, those after it do not */
        f.fake.kernels[i].seconds = 1 - 0.03 * i;
    f.fake.kernels[14].seconds = 0.1;
    assert_string_equal(choice_within_budget(&f), "k13");
    tess_matrix_destroy(f.A);
}

static void noise_and_a_slow_start_cost_little(void **state)
{
    fixture f = {.fake = {.noise = 0.01, .idle = 0.1}};
    add_alike(&f.fake, 20, 1.03);
    open_fixture(&f, state, large);
    for (f.fake.seed = 0; f.fake.seed < 100; f.fake.seed++) {
        f.fake.kernels[0].seconds = 1;
        assert_string_equal(choice_within_budget(&f), "k0");
        f.fake.kernels[0].seconds = 1.03;
        f.fake.kernels[9].seconds = 0.99;
        assert_string_equal(choice_within_budget(&f), "k9");
        f.fake.kernels[9].seconds = 1.03;
    }
    tess_matrix_destroy(f.A);
}

static void a_tiny_matrix_is_not_measured(void **state)
{
    fixture f = {.fake = {.kernels = {{"a", 2}, {"b", 1}}, .count = 2}};
    open_fixture(&f, state, "stencil7:n=4,b=3");
    assert_string_equal(choice(&f, NULL), "a");
    assert_int_equal(f.fake.batches, 0);
    tess_matrix_destroy(f.A);
}

static void names_in_the_options_restrict_the_search(void **state)
{
    fixture f = {.fake = {.kernels = {{"a", 2}, {"b", 1}, {"c", 3}}, .count = 3}};
    open_fixture(&f, state, large);
    assert_string_equal(choice(&f, &(tess_plan_options){.kernel = "c"}), "c");
    assert_string_equal(choice(&f, &(tess_plan_options){.format = "fake"}), "b");
    tess_plan *plan = NULL;
    tess_plan_options wrong = {.kernel = "z"};
    assert_int_equal(tess_plan_create(f.ctx, f.A, &f.device, &wrong, &plan), TESS_ERR_ARGUMENT);
    assert_null(plan);
    tess_matrix_destroy(f.A);
}

static void a_stopped_search_keeps_the_best_so_far(void **state)
{
    fixture f = {.fake = {.kernels = {{"a", 3}, {"b", 2}, {"c", 1}}, .count = 3, .cancel_at = 1}};
    tess_ctx *ctx;
    tess_ctx_options options = {.progress = count_progress, .progress_user = &f.fake};
    assert_int_equal(tess_ctx_create(&options, &ctx), TESS_OK);
    open_fixture(&f, state, large);
    f.ctx = f.device.ctx = ctx;
    tess_plan *plan;
    assert_int_equal(tess_plan_create(ctx, f.A, &f.device, NULL, &plan), TESS_OK);
    assert_true(plan->search->cancelled);
    assert_string_equal(plan->kernel, "a");
    assert_string_equal(tess_ctx_error(ctx), "");
    tess_plan_destroy(plan);
    tess_matrix_destroy(f.A);
    tess_ctx_destroy(ctx);
}

static void no_allocation_failure_leaks_or_breaks_the_search(void **state)
{
    fixture f = {.fake = {.kernels = {{"a", 3}, {"b", 2}, {"c", 1}}, .count = 3}};
    open_fixture(&f, state, large);
    int64_t live = test_live(state);
    for (int64_t n = 0; n < 12; n++) {
        tess_plan *plan = NULL;
        test_fail_allocation(state, n);
        tess_status status = tess_plan_create(f.ctx, f.A, &f.device, NULL, &plan);
        test_fail_allocation(state, -1);
        if (status != TESS_OK)
            assert_int_equal(status, TESS_ERR_MEMORY);
        tess_plan_destroy(plan);
        assert_int_equal(test_live(state), live);
        assert_int_equal(f.fake.alive, 0);
    }
    tess_matrix_destroy(f.A);
}

static void values_that_a_searched_format_refuses_change_the_kernel(void **state)
{
    fixture f = {.fake = {.kernels = {{"a", 3}, {"b", 1, .fixed = true}}, .count = 2}};
    open_fixture(&f, state, large);
    tess_plan *plan;
    assert_int_equal(tess_plan_create(f.ctx, f.A, &f.device, NULL, &plan), TESS_OK);
    assert_string_equal(plan->kernel, "b");
    assert_int_equal(tess_plan_update_values(plan, f.A->values), TESS_OK);
    assert_string_equal(plan->kernel, "a");
    tess_plan_destroy(plan);
    assert_int_equal(f.fake.alive, 0);
    /* Asked for by name, it is an error. */
    tess_plan_options named = {.kernel = "b", .params = ""};
    assert_int_equal(tess_plan_create(f.ctx, f.A, &f.device, &named, &plan), TESS_OK);
    assert_int_equal(tess_plan_update_values(plan, f.A->values), TESS_ERR_MATRIX);
    tess_plan_destroy(plan);
    tess_matrix_destroy(f.A);
}

/* ---- With a model: kernels are classes, "naive" is what one would take without thinking ---- */

static tess_status fake_costs(tess_device *device, const tess_matrix *A, tess_candidates *list)
{
    (void)device;
    for (int64_t i = 0; i < list->count; i++) {
        tess_candidate *c = &list->items[i];
        snprintf(c->class_name, sizeof c->class_name, "%.30s", c->kernel);
        c->bytes = tess_matrix_spmv_bytes(A);
        c->naive = strcmp(c->kernel, "naive") == 0;
    }
    return TESS_OK;
}

/* The model believes that a kernel takes so many times a millisecond. */
static void believe(fixture *f, const char *kernel, double milliseconds)
{
    tess_model_curve curve = {.block = 2};
    double speed = tess_matrix_spmv_bytes(f->A) / (1e-3 * milliseconds);
    snprintf(curve.name, sizeof curve.name, "%s", kernel);
    curve.average = curve.best = (tess_sigmoid){.mu = 1, .sigma = 1, .nu = speed};
    if (!f->device.performance)
        assert_int_equal(tess_model_create(f->ctx, "fake", &f->device.performance), TESS_OK);
    assert_int_equal(tess_model_add_curve(f->device.performance, &curve), TESS_OK);
}

static void the_model_orders_what_is_tried(void **state)
{
    tess_backend priced = fake_backend;
    priced.costs = fake_costs;
    fixture f = {
        .fake = {.kernels = {{"naive", 3}, {"slow", 9}, {"unknown", 4}, {"good", 2}, {"best", 1}},
                 .count = 5}};
    open_fixture(&f, state, large);
    f.device.backend = &priced;
    believe(&f, "naive", 3);
    believe(&f, "slow", 9);
    believe(&f, "good", 1.9);
    believe(&f, "best", 2); /* not quite right */

    /* An estimate takes what is predicted to be the fastest and runs nothing. */
    assert_string_equal(choice(&f, &(tess_plan_options){.effort = TESS_ESTIMATE}), "good");
    assert_int_equal(f.fake.batches, 0);
    /* Only asked otherwise does the model not matter. */
    assert_string_equal(choice(&f, &(tess_plan_options){.kernel = "slow", .params = ""}), "slow");

    tess_plan *plan;
    assert_int_equal(tess_plan_create(f.ctx, f.A, &f.device, NULL, &plan), TESS_OK);
    static const char *const order[] = {"good", "naive", "best", "slow", "unknown"};
    for (int i = 0; i < 5; i++)
        assert_string_equal(plan->search->trials[i].candidate.kernel, order[i]);
    assert_string_equal(plan->kernel, "best"); /* measurement decides */
    assert_true(plan->search->spmvs <= 60);
    assert_non_null(strstr(tess_plan_explain(plan), "predicted"));
    tess_plan_destroy(plan);
    tess_model_destroy(f.device.performance);
    tess_matrix_destroy(f.A);
}

static void a_search_never_ends_below_the_naive_choice(void **state)
{
    tess_backend priced = fake_backend;
    priced.costs = fake_costs;
    fixture f = {0};
    fake_kernel *naive = &f.fake.kernels[KERNELS_MAX - 1];
    add_alike(&f.fake, KERNELS_MAX, 5); /* all promising, all wrong, more than a budget */
    *naive = (fake_kernel){.name = "naive", .seconds = 4};
    open_fixture(&f, state, large);
    f.device.backend = &priced;
    for (int i = 0; i < KERNELS_MAX - 1; i++)
        believe(&f, f.fake.kernels[i].name, 1 + 0.001 * i);
    believe(&f, "naive", 100);
    assert_string_equal(choice_within_budget(&f), "naive");
    /* It has its duel whatever there is to look at besides, and a hundredth decides. */
    naive->seconds = 0.987 * 5;
    assert_string_equal(choice_within_budget(&f), "naive");
    tess_model_destroy(f.device.performance);
    tess_matrix_destroy(f.A);
}

/* A context of its own, whose wisdom is in `path`. */
static tess_ctx *wise_context(fixture *f, const char *path)
{
    tess_ctx *ctx;
    setenv("TESSERA_WISDOM", path, 1);
    assert_int_equal(tess_ctx_create(NULL, &ctx), TESS_OK);
    f->ctx = f->device.ctx = ctx;
    return ctx;
}

static void the_second_plan_of_a_class_costs_no_search(void **state)
{
    char path[] = "/tmp/tessera-tuner-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    fixture f = {.fake = {.kernels = {{"a", 3}, {"b", 2}, {"c", 1}}, .count = 3}};
    open_fixture(&f, state, large);
    tess_ctx *ctx = wise_context(&f, path);
    assert_string_equal(choice(&f, NULL), "c");
    tess_ctx_destroy(ctx);

    ctx = wise_context(&f, path);
    f.fake.batches = f.fake.prepared = 0;
    assert_string_equal(choice(&f, NULL), "c");
    assert_string_equal(choice(&f, &(tess_plan_options){.effort = TESS_ESTIMATE}), "c");
    assert_int_equal(f.fake.batches, 0);
    assert_int_equal(f.fake.prepared, 2);
    /* What was only measured does not stand for a search through everything. */
    assert_string_equal(choice(&f, &(tess_plan_options){.effort = TESS_EXHAUSTIVE}), "c");
    assert_true(f.fake.batches > 0);
    assert_string_equal(choice(&f, &(tess_plan_options){.reproducible = 1}), "a");

    /* The kernel does not apply any more: searched again, and remembered anew. */
    f.fake.kernels[2].unprepared = true;
    assert_string_equal(choice(&f, NULL), "b");
    assert_string_equal(tess_ctx_error(ctx), "");
    f.fake.batches = 0;
    assert_string_equal(choice(&f, NULL), "b");
    assert_int_equal(f.fake.batches, 0);

    /* What was found among other kernels is found again. */
    tess_backend renewed = fake_backend;
    renewed.kernels = "newer";
    f.device.backend = &renewed;
    f.fake.kernels[0].seconds = 0.5;
    assert_string_equal(choice(&f, NULL), "a");
    assert_true(f.fake.batches > 0);
    f.fake.batches = 0;
    assert_string_equal(choice(&f, NULL), "a");
    assert_int_equal(f.fake.batches, 0);
    tess_ctx_destroy(ctx);
    tess_matrix_destroy(f.A);
    unlink(path);
    setenv("TESSERA_WISDOM", "off", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_of_disturbed_times_wins),
        cmocka_unit_test(a_tie_goes_to_the_first),
        cmocka_unit_test(what_fails_or_is_foreign_is_passed_over),
        cmocka_unit_test(effort_decides_how_much_is_run),
        cmocka_unit_test(who_comes_when_the_budget_is_used_up_wins_only_clearly),
        cmocka_unit_test(slight_leads_leave_room_to_look_at_the_others),
        cmocka_unit_test(without_a_clock_of_its_own_a_slight_lead_has_its_duel),
        cmocka_unit_test(a_glance_at_fourteen_is_within_the_budget),
        cmocka_unit_test(noise_and_a_slow_start_cost_little),
        cmocka_unit_test(a_tiny_matrix_is_not_measured),
        cmocka_unit_test(names_in_the_options_restrict_the_search),
        cmocka_unit_test(a_stopped_search_keeps_the_best_so_far),
        cmocka_unit_test(no_allocation_failure_leaks_or_breaks_the_search),
        cmocka_unit_test(the_second_plan_of_a_class_costs_no_search),
        cmocka_unit_test(values_that_a_searched_format_refuses_change_the_kernel),
        cmocka_unit_test(the_model_orders_what_is_tried),
        cmocka_unit_test(a_search_never_ends_below_the_naive_choice),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
