/* Every rung of auto's ladder is cancelled, runs out of time, and runs out of memory. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "problems.h"
#include "solve/outer/auto.h"
#include "solve/direct/direct.h"

enum { N = 70 };

/* Kind 0 is symmetric positive definite, 1 symmetric and indefinite, 2 neither with a diagonal, 3
 * without one. */
static tess_matrix *make_matrix(tess_ctx *ctx, int kind)
{
    static const double below[] = {-1, 1, -1, 1}, middle[] = {2.01, 0.1, 3, 0},
                        above[] = {-1, 1, -1.5, 1.2};
    int64_t rows[3 * N], cols[3 * N], count = 0;
    double values[3 * N];
    for (int64_t i = 0; i < N; i++)
        for (int64_t k = -1; k <= 1; k++) {
            const double value = k < 0 ? below[kind] : k > 0 ? above[kind] : middle[kind];
            if (i + k < 0 || i + k >= N || value == 0)
                continue;
            rows[count] = i;
            cols[count] = i + k;
            values[count++] = value;
        }
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, N, N, count, rows, cols, values, &A),
                     TESS_OK);
    return A;
}

static int count_attempts(const tess_solver *solver)
{
    int count = 0;
    while (tess_solver_attempt(solver, count))
        count++;
    return count;
}

/* The event in the iterations of rung number `at`. */
typedef struct plan_of_events {
    tess_solver *solver;
    int at;
    double sleep; /* seconds; 0: the caller says stop */
    int happened;
} events;

static int happen(void *user, int64_t iteration, double residual)
{
    events *e = user;
    (void)iteration;
    (void)residual;
    if (count_attempts(e->solver) < e->at)
        return 0;
    e->happened++;
    if (e->sleep == 0)
        return 1;
    const struct timespec pause = {0, (long)(1e9 * e->sleep)};
    nanosleep(&pause, NULL);
    return 0;
}

/* No x is good enough for tol=0, so that all rungs are climbed. False: there is no such rung. */
static bool check_event(problem *p, int at, double sleep)
{
    events e = {.at = at, .sleep = sleep};
    tess_result result;
    assert_int_equal(
        tess_solver_create(p->plan, sleep > 0 ? "auto:tol=0,budget=0.2" : "auto:tol=0", &e.solver),
        TESS_OK);
    tess_solver_set_callback(e.solver, happen, &e);
    memset(p->x, 0, N * sizeof *p->x);
    assert_int_equal(tess_solver_solve(e.solver, p->b, p->x, &result), TESS_OK);
    const int attempts = count_attempts(e.solver);
    if (e.happened > 0) {
        const tess_reason expected =
            sleep > 0 ? TESS_REASON_ITERATION_LIMIT : TESS_REASON_CANCELLED;
        if (result.reason != expected || !(result.true_residual <= 1) || attempts < at + 1 ||
            (sleep > 0 && !strstr(result.text, "the time of auto is spent")))
            fail_msg("rung %d of %d: %s, %s", at, attempts, tess_reason_name(result.reason),
                     result.text);
    }
    for (int64_t i = 0; i < N; i++)
        assert_true(isfinite(p->x[i]));
    tess_solver_destroy(e.solver);
    return e.happened > 0;
}

static void cancelled_or_late_on_any_rung_the_best_x_is_returned(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int kind = 0; kind < 4; kind++) {
        problem p = problem_open(ctx, make_matrix(ctx, kind), "cpu");
        int rungs = 0;
        for (int at = 0; at < TESS_RUNGS_MAX; at++)
            rungs += check_event(&p, at, 0);
        if (rungs < 4)
            fail_msg("kind %d: only %d rungs", kind, rungs);
        for (int at = 0; at < rungs; at++)
            check_event(&p, at, 0.25);
        problem_close(&p);
    }
}

static int refuse(void *user, const char *what, double fraction)
{
    (void)what;
    (void)fraction;
    return --*(int *)user < 0;
}

/* The context's progress callback says stop at its first call, at its second, and so on: set-ups
 * stop too. */
static void set_ups_are_cancelled(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, make_matrix(ctx, 3), "cpu");
    int cancelled = 0;
    for (int calls = 0; calls < 12; calls++) {
        int left = calls;
        tess_result result;
        tess_ctx_set_progress(ctx, refuse, &left);
        memset(p.x, 0, N * sizeof *p.x);
        assert_int_equal(tess_solve(p.plan, "auto:tol=0", p.b, p.x, &result), TESS_OK);
        tess_ctx_set_progress(ctx, NULL, NULL);
        cancelled += result.reason == TESS_REASON_CANCELLED;
    }
    assert_true(cancelled > 0);
    problem_close(&p);
}

/* What the context's progress does while complete factors are made. */
static int disturb(void *user, const char *what, double fraction)
{
    const double *sleep = user;
    (void)fraction;
    if (strcmp(what, "factoring") != 0)
        return 0;
    const struct timespec pause = {(time_t)*sleep, 0};
    nanosleep(&pause, NULL);
    return *sleep == 0;
}

static void complete_factors_under_way_end_by_cancellation_and_by_the_budget(void **state)
{
    enum { ROWS = 1400 };
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, random_matrix(ctx, ROWS, 5, false), "cpu");
    static const char *const specs[] = {"auto:tol=0", "auto:tol=0,budget=7"};
    if (tess_direct_available(ctx, false) != TESS_OK) {
        problem_close(&p);
        skip();
    }
    for (int late = 0; late < 2; late++) {
        double sleep = late ? 4 : 0; /* seconds; half of the budget is the rung's */
        tess_solver *solver;
        tess_result result;
        assert_int_equal(tess_solver_create(p.plan, specs[late], &solver), TESS_OK);
        tess_ctx_set_progress(ctx, disturb, &sleep);
        memset(p.x, 0, ROWS * sizeof *p.x);
        assert_int_equal(tess_solver_solve(solver, p.b, p.x, &result), TESS_OK);
        tess_ctx_set_progress(ctx, NULL, NULL);
        const char *line = tess_solver_attempt(solver, 0);
        if (late ? !strstr(line, "direct (small): not set up in the time it has")
                 : result.reason != TESS_REASON_CANCELLED)
            fail_msg("%s: %s, %s; first: %s", specs[late], tess_reason_name(result.reason),
                     result.text, line);
        tess_solver_destroy(solver);
    }
    problem_close(&p);
}

/* The spec of each rung, one allocation after the other. */
static void on_any_rung_memory_may_end(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = problem_open(ctx, make_matrix(ctx, 0), "cpu");
    for (int kind = 0; kind < 8; kind++) {
        const tess_look_at look = {.square = kind != 7,
                                   .rows = kind < 4 ? 500 : 5000,
                                   .entries = 20000,
                                   .symmetric = kind % 2,
                                   .positive_diagonal = kind / 2 % 2,
                                   .strong_diagonal = kind / 2 % 2};
        tess_rung rungs[TESS_RUNGS_MAX];
        const int count = tess_make_ladder(&look, true, 0.01, rungs);
        for (int i = 0; i < count; i++) {
            const int64_t live = test_live(state);
            tess_status status = TESS_ERR_MEMORY;
            for (int64_t n = 0; n < 20000 && status == TESS_ERR_MEMORY; n = test_next_failure(n)) {
                tess_result result;
                memset(p.x, 0, N * sizeof *p.x);
                test_fail_allocation(state, n);
                status = tess_solve(p.plan, rungs[i].spec, p.b, p.x, &result);
                test_fail_allocation(state, -1);
                if (status != TESS_ERR_MEMORY && status != TESS_OK)
                    fail_msg("%s, allocation %d: %s", rungs[i].spec, (int)n, tess_ctx_error(ctx));
                assert_int_equal(test_live(state), live);
            }
            if (status != TESS_OK)
                fail_msg("%s: never enough", rungs[i].spec);
        }
    }
    problem_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancelled_or_late_on_any_rung_the_best_x_is_returned),
        cmocka_unit_test(set_ups_are_cancelled),
        cmocka_unit_test(complete_factors_under_way_end_by_cancellation_and_by_the_budget),
        cmocka_unit_test(on_any_rung_memory_may_end),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
