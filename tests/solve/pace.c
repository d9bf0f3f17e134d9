/* How long auto lets a method go on: synthetic residuals, one after the other. */
#include <math.h>
#include <stdlib.h>

#include "solve/outer/auto.h"
#include "support/support.h"

enum { MOST = 500, FIRST = 70 };

/* |r|/|b| of iteration k, for a tolerance of 1e-8. */
static double steady(int64_t k)
{
    return pow(10, -(double)k / 200); /* converges after 1600 */
}

static double waves(int64_t k) /* as CG's: up and down by a factor of ten */
{
    return steady(k) * pow(10, sin((double)k / 7));
}

static double still(int64_t k)
{
    return k < 100 ? pow(10, -(double)k / 200) : 0.3;
}

static double tired(int64_t k) /* ever slower: never converges */
{
    return pow(1 + (double)k, -1.5);
}

static double slow(int64_t k)
{
    return 1 - 1e-7 * (double)k;
}

static double random_walk(int64_t k)
{
    return 0.5 + 0.5 * fabs(tess_random_unit(11, (uint64_t)k));
}

/* The iteration at which the method has to stop; -1: it converges. The next attempt's set-up takes
 * `setup` seconds, and the attempt is worth a number of iterations besides. The method has a number
 * of seconds. */
static int64_t stopped_within(tess_ctx *ctx, double (*residual)(int64_t), double setup,
                              double worth, double seconds)
{
    tess_solver *solver = calloc(1, sizeof *solver);
    static tess_auto_watch watch;
    int64_t at = 0;
    solver->ctx = ctx;
    tess_auto_watch_begin(solver, &watch);
    watch.deadline = tess_seconds() + seconds;
    watch.late = false;
    tess_auto_watch_attempt(&watch, FIRST, MOST, 1e-8, setup, worth);
    while (residual(at) > 1e-8) {
        at++;
        assert_true(at < 1000000);
        if (solver->callback(solver->callback_user, FIRST + at, residual(at)) != 0)
            break;
    }
    const bool arrived = residual(at) <= 1e-8;
    assert_int_equal(watch.enough, !arrived);
    tess_auto_watch_end(solver, &watch);
    assert_null(solver->callback);
    free(solver);
    return arrived ? -1 : at;
}

static int64_t stopped_beside(tess_ctx *ctx, double (*residual)(int64_t), double setup,
                              double worth)
{
    return stopped_within(ctx, residual, setup, worth, HUGE_VAL);
}

static int64_t stopped_at(tess_ctx *ctx, double (*residual)(int64_t), double setup)
{
    return stopped_beside(ctx, residual, setup, 0);
}

static void a_method_that_is_about_to_arrive_goes_on(void **state)
{
    assert_int_equal(stopped_at(test_ctx(state), steady, 10), -1);
    assert_int_equal(stopped_at(test_ctx(state), waves, 10), -1);
}

/* Iterations here take less than a microsecond, and 1100 of them more than a nanosecond. */
static void a_method_that_takes_longer_than_the_next_set_up_does_not(void **state)
{
    assert_int_equal(stopped_at(test_ctx(state), steady, 0), MOST);
    assert_int_equal(stopped_at(test_ctx(state), steady, 1e-9), MOST);
}

static void a_method_that_stays_where_it_is_ends_with_its_iterations(void **state)
{
    assert_int_equal(stopped_at(test_ctx(state), still, 10), MOST);
    const int64_t walk = stopped_at(test_ctx(state), random_walk, 1e-7);
    assert_in_range(walk, MOST, 4 * MOST);
}

/* At its rate it needs 10^8 iterations: far longer than either allowance. */
static void a_slow_method_may_take_as_long_as_the_next_set_up(void **state)
{
    assert_int_equal(stopped_at(test_ctx(state), slow, 0), MOST);
    assert_true(stopped_at(test_ctx(state), slow, 1e-2) > 2 * MOST);
}

/* After 500 iterations it needs 1100 more: 880 by the marks, which lie apart. */
static void what_the_next_attempt_is_worth_counts_in_iterations(void **state)
{
    assert_int_equal(stopped_beside(test_ctx(state), steady, 0, 1200), -1);
    assert_int_equal(stopped_beside(test_ctx(state), steady, 0, 800), MOST);
    assert_int_equal(stopped_beside(test_ctx(state), still, 0, 1e6), MOST);
    assert_int_equal(stopped_beside(test_ctx(state), slow, 0, 1e6), MOST);
}

/* As after the last rung. Iterations here take more than a nanosecond. */
static void without_a_next_attempt_the_time_that_is_left_counts(void **state)
{
    assert_int_equal(stopped_within(test_ctx(state), steady, HUGE_VAL, 0, 60), -1);
    assert_int_equal(stopped_within(test_ctx(state), still, HUGE_VAL, 0, 60), MOST);
    assert_int_equal(stopped_within(test_ctx(state), slow, HUGE_VAL, 0, 0.05), MOST);
}

static void a_method_that_slows_down_ends_in_time(void **state)
{
    const int64_t at = stopped_at(test_ctx(state), tired, 10);
    assert_in_range(at, MOST, TESS_MARKS * (MOST / 8 + 1) * 5 / 4 + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_method_that_is_about_to_arrive_goes_on),
        cmocka_unit_test(a_method_that_takes_longer_than_the_next_set_up_does_not),
        cmocka_unit_test(a_method_that_stays_where_it_is_ends_with_its_iterations),
        cmocka_unit_test(a_slow_method_may_take_as_long_as_the_next_set_up),
        cmocka_unit_test(what_the_next_attempt_is_worth_counts_in_iterations),
        cmocka_unit_test(without_a_next_attempt_the_time_that_is_left_counts),
        cmocka_unit_test(a_method_that_slows_down_ends_in_time),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
