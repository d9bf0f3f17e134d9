/* The search over candidates, on a fake device whose kernels take given times. */

#include "unit/plan/tuner_fake.h"

static int count_progress(void *user, const char *what, double fraction)
{
    fake *f = user;
    (void)what, (void)fraction;
    return ++f->progress_calls == f->cancel_at;
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

static void what_fails_is_passed_over(void **state)
{
    fixture f = {.fake = {.kernels = {{"broken", 1, .unprepared = true},
                                      {"good", 3},
                                      {"crashes", 1, .unrunnable = true},
                                      {"better", 2}},
                          .count = 4}};
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

static void effort_decides_how_much_is_run(void **state)
{
    fixture f = {0};
    add_alike(&f.fake, KERNELS_MAX, 1);
    for (int i = 0; i < KERNELS_MAX; i++) /* every one better than those before */
        f.fake.kernels[i].seconds -= 0.015 * i;
    open_fixture(&f, state, large);

    assert_string_equal(choice(&f, &(tess_plan_options){.effort = TESS_EFFORT_ESTIMATE}), "k0");
    assert_string_equal(choice(&f, &(tess_plan_options){.reproducible = 1}), "k0");
    assert_int_equal(f.fake.batches, 0);

    tess_plan *plan;
    assert_int_equal(tess_plan_create(f.ctx, f.A, &f.device, NULL, &plan), TESS_OK);
    assert_int_equal(f.fake.listed_with, TESS_EFFORT_MEASURE);
    assert_in_range(plan->search->spmvs, 30, 60);
    assert_string_not_equal(plan->kernel, "k0");
    tess_plan_destroy(plan);

    assert_string_equal(choice(&f, &(tess_plan_options){.effort = TESS_EFFORT_EXHAUSTIVE}), "k63");
    assert_int_equal(f.fake.listed_with, TESS_EFFORT_EXHAUSTIVE);
    tess_matrix_destroy(f.A);
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
    /* With the host's clock the lead must be larger. */
    tess_backend beside = fake_backend;
    beside.asynchronous = false;
    f.device.backend = &beside;
    assert_string_equal(choice(&f, NULL), "d");
    f.fake.kernels[4].seconds = 0.8;
    assert_string_equal(choice(&f, NULL), "e");
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
    /* When the budget allows duels, a lead of a hundredth is enough. */
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

/* A trial has arrays of its own, which a CPU's cache does not hold at first. */
static void arrays_of_its_own_are_in_the_cache_before_times_count(void **state)
{
    tess_backend beside = fake_backend;
    fixture f = {0};
    add_alike(&f.fake, 2, 1);
    f.fake.kernels[1].seconds = 0.9;
    f.fake.kernels[1].memory = 1;
    f.fake.kernels[1].cold = 4;
    open_fixture(&f, state, large);
    beside.asynchronous = false;
    f.device.backend = &beside;
    f.device.cache_bytes = tess_matrix_spmv_bytes(f.A);
    assert_string_equal(choice_within_budget(&f), "k1");
    tess_matrix_destroy(f.A);
}

/* A CPU's search leaves a format whose kernels are all far behind. A GPU's search and an exhaustive
 * search do not. */
static void slow_formats_leave_products_for_fast_ones(void **state)
{
    tess_backend beside = fake_backend;
    const tess_plan_options all = {.effort = TESS_EFFORT_EXHAUSTIVE};
    fixture f = {0};
    add_alike(&f.fake, 20, 1);
    f.fake.kernels[1].format = f.fake.kernels[19].format = "half";
    f.fake.kernels[1].seconds = 0.7;
    f.fake.kernels[19].seconds = 0.5;
    open_fixture(&f, state, large);
    assert_string_equal(choice_within_budget(&f), "k1");
    beside.asynchronous = false;
    f.device.backend = &beside;
    assert_string_equal(choice(&f, NULL), "k19");
    f.fake.kernels[18].seconds = 0.4; /* after two slow ones of its format */
    assert_string_equal(choice(&f, NULL), "k19");
    assert_string_equal(choice(&f, &all), "k18");
    f.fake.kernels[2].seconds = 0.9; /* not far behind: the others of its format have their turn */
    assert_string_equal(choice(&f, NULL), "k1");
    tess_matrix_destroy(f.A);
}

static void a_glance_at_fourteen_is_within_the_budget(void **state)
{
    fixture f = {0};
    add_alike(&f.fake, 20, 1);
    f.fake.kernels[14].seconds = 0.9; /* 60 products of this kernel, none of the champion's */
    open_fixture(&f, state, large);
    assert_string_equal(choice_within_budget(&f), "k14");
    for (int i = 1; i < 14; i++) /* the first champion runs once more, later champions do not */
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
    /* A kernel asked for by name is an error. */
    tess_plan_options named = {.kernel = "b", .params = ""};
    assert_int_equal(tess_plan_create(f.ctx, f.A, &f.device, &named, &plan), TESS_OK);
    assert_int_equal(tess_plan_update_values(plan, f.A->values), TESS_ERR_MATRIX);
    tess_plan_destroy(plan);
    tess_matrix_destroy(f.A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_of_disturbed_times_wins),
        cmocka_unit_test(a_tie_goes_to_the_first),
        cmocka_unit_test(what_fails_is_passed_over),
        cmocka_unit_test(effort_decides_how_much_is_run),
        cmocka_unit_test(who_comes_when_the_budget_is_used_up_wins_only_clearly),
        cmocka_unit_test(slight_leads_leave_room_to_look_at_the_others),
        cmocka_unit_test(without_a_clock_of_its_own_a_slight_lead_has_its_duel),
        cmocka_unit_test(arrays_of_its_own_are_in_the_cache_before_times_count),
        cmocka_unit_test(slow_formats_leave_products_for_fast_ones),
        cmocka_unit_test(a_glance_at_fourteen_is_within_the_budget),
        cmocka_unit_test(noise_and_a_slow_start_cost_little),
        cmocka_unit_test(a_tiny_matrix_is_not_measured),
        cmocka_unit_test(names_in_the_options_restrict_the_search),
        cmocka_unit_test(a_stopped_search_keeps_the_best_so_far),
        cmocka_unit_test(no_allocation_failure_leaks_or_breaks_the_search),
        cmocka_unit_test(values_that_a_searched_format_refuses_change_the_kernel),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
