/* The search with a model and with wisdom. Each kernel is a class of the model; "naive" is the
 * naive choice. */
#include <unistd.h>

#include "plan/model/model.h"
#include "unit/plan/tuner_fake.h"

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

/* Lets the model predict `milliseconds` for a kernel. */
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
    believe(&f, "best", 2); /* a wrong prediction */

    /* An estimate takes what is predicted to be the fastest and runs nothing. */
    assert_string_equal(choice(&f, &(tess_plan_options){.effort = TESS_EFFORT_ESTIMATE}), "good");
    assert_int_equal(f.fake.batches, 0);
    /* The model does not matter for a kernel that is asked for by name. */
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

static void every_format_is_tried_before_all_kernels_on_one(void **state)
{
    tess_backend priced = fake_backend;
    priced.costs = fake_costs;
    fixture f = {
        .fake = {.kernels = {{"a1", 3}, {"a2", 3}, {"a3", 3}, {"b1", 2}, {"b2", 1}, {"c1", 9}},
                 .count = 6}};
    open_fixture(&f, state, large);
    f.device.backend = &priced;
    for (int i = 0; i < f.fake.count; i++) {
        f.fake.kernels[i].format =
            (const char *const[]){"a", "b", "c"}[f.fake.kernels[i].name[0] - 'a'];
        believe(&f, f.fake.kernels[i].name, i < 5 ? 1 + 0.001 * i : 2);
    }
    tess_plan *plan;
    assert_int_equal(tess_plan_create(f.ctx, f.A, &f.device, NULL, &plan), TESS_OK);
    static const char *const order[] = {"a1", "b1", "a2", "a3", "b2", "c1"};
    for (int i = 0; i < f.fake.count; i++)
        assert_string_equal(plan->search->trials[i].candidate.kernel, order[i]);
    assert_string_equal(plan->kernel, "b2");
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
    /* The naive choice always has its duel, and a lead of a hundredth decides. */
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
    assert_string_equal(choice(&f, &(tess_plan_options){.effort = TESS_EFFORT_ESTIMATE}), "c");
    assert_int_equal(f.fake.batches, 0);
    assert_int_equal(f.fake.prepared, 2);
    /* The result of MEASURE does not stand for an exhaustive search. */
    assert_string_equal(choice(&f, &(tess_plan_options){.effort = TESS_EFFORT_EXHAUSTIVE}), "c");
    assert_true(f.fake.batches > 0);
    assert_string_equal(choice(&f, &(tess_plan_options){.reproducible = 1}), "a");

    /* When the kernel no longer applies, the search runs again and its choice is remembered. */
    f.fake.kernels[2].unprepared = true;
    assert_string_equal(choice(&f, NULL), "b");
    assert_string_equal(tess_ctx_error(ctx), "");
    f.fake.batches = 0;
    assert_string_equal(choice(&f, NULL), "b");
    assert_int_equal(f.fake.batches, 0);

    /* When the device has other kernels, the search runs again. */
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
        cmocka_unit_test(the_second_plan_of_a_class_costs_no_search),
        cmocka_unit_test(the_model_orders_what_is_tried),
        cmocka_unit_test(every_format_is_tried_before_all_kernels_on_one),
        cmocka_unit_test(a_search_never_ends_below_the_naive_choice),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
