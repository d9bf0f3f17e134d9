/* The context's threads: every share is done once, whichever thread calls; forks; simultaneous
 * products. */
#include "support/support.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/backend.h"
#include "core/threads.h"

static void shares_cover_the_range_and_the_first_are_longer(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < test_draws(2000); seed++) {
        const int64_t count = tess_random_below(1, seed, ((int64_t)1 << seed % 40) + 1);
        const int shares = 1 + (int)tess_random_below(2, seed, 1024);
        int64_t next = 0, length = INT64_MAX;
        for (int share = 0; share < shares; share++) {
            const tess_range range = tess_share(count, share, shares);
            const int64_t here = range.last - range.first;
            if (range.first != next || here > length || here < count / shares ||
                here > count / shares + 1 || range.share != share)
                fail_msg("seed %d: share %d of %d, %lld", (int)seed, share, shares,
                         (long long)count);
            next = range.last;
            length = here;
        }
        assert_int_equal(next, count);
    }
}

typedef struct marks {
    tess_ctx *ctx;
    int64_t *seen;
    int inner; /* shares of a call from inside a share; 0: none */
} marks;

static void mark_share(void *arg, int share)
{
    tess_take(&((const marks *)arg)->seen[share], 1);
}

static void mark_range(void *arg, tess_range range)
{
    for (int64_t i = range.first; i < range.last; i++)
        tess_take(&((const marks *)arg)->seen[i], 1);
}

static void check_seen(const char *what, uint64_t seed, int64_t *seen, int64_t count, int64_t times)
{
    for (int64_t i = 0; i < count; i++) {
        if (seen[i] != times)
            fail_msg("%s, seed %d: %lld of %lld was done %lld times, not %lld", what, (int)seed,
                     (long long)i, (long long)count, (long long)seen[i], (long long)times);
        seen[i] = 0;
    }
}

static void every_share_and_index_is_done_once(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    int64_t *seen = calloc(5000, sizeof *seen);
    marks job = {.seen = seen};
    for (uint64_t seed = 0; seed < test_draws(300); seed++) {
        const int shares = (int)tess_random_below(3, seed, seed % 10 ? 5 : 70);
        const int64_t count = tess_random_below(4, seed, 5000);
        tess_parallel(ctx, shares, mark_share, &job);
        check_seen("parallel", seed, seen, shares, 1);
        tess_for_shares(ctx, shares + 1, count, mark_range, &job);
        check_seen("for", seed, seen, count, 1);
        tess_for_dynamic(ctx, shares + 1, count, 1 + tess_random_below(5, seed, 300), mark_range,
                         &job);
        check_seen("dynamic", seed, seen, count, 1);
    }
    free(seen);
}

static void call_again(void *arg, int share)
{
    const marks *job = arg;
    (void)share;
    tess_parallel(job->ctx, job->inner, mark_share, (void *)job);
}

static void a_call_from_inside_a_share_does_all_of_its_shares(void **state)
{
    int64_t seen[7] = {0};
    marks job = {test_ctx(state), seen, 7};
    tess_parallel(job.ctx, 3, call_again, &job);
    check_seen("nested", 0, seen, 7, 3);
}

enum { CALLS = 300 };

static void *call_often(void *arg)
{
    for (int i = 0; i < CALLS; i++)
        tess_parallel(((marks *)arg)->ctx, 4, mark_share, arg);
    return NULL;
}

static void two_threads_may_call_with_one_context(void **state)
{
    int64_t seen[2][4] = {{0}};
    marks jobs[2] = {{test_ctx(state), seen[0], 0}, {test_ctx(state), seen[1], 0}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &jobs[i]), 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        check_seen("two callers", (uint64_t)i, seen[i], 4, CALLS);
    }
}

/* Counts the threads that do the shares. Each share waits a while for the others. */
typedef struct meeting {
    int64_t here;
} meeting;

static void meet(void *arg, int share)
{
    meeting *m = arg;
    (void)share;
    tess_take(&m->here, 1);
    for (double end = tess_seconds() + 20; tess_take(&m->here, 0) < 3 && tess_seconds() < end;)
        usleep(100);
}

static bool three_meet(tess_ctx *ctx)
{
    /* When a thread is late, the caller does its share, but that does not happen every time. */
    const double start = tess_seconds();
    meeting m = {0};
    tess_parallel(ctx, 3, meet, &m);
    return tess_seconds() - start < 19 && m.here == 3;
}

static void shares_run_at_the_same_time(void **state)
{
    assert_true(three_meet(test_ctx(state)));
}

/* In a child process: all that the parent can do, with threads of its own. */
static int work_in_child(tess_ctx *ctx, tess_plan *plan, const void *x, const void *expected)
{
    const int64_t rows = plan->matrix->rows;
    double *y = malloc((size_t)rows * sizeof *y);
    tess_ctx *other;
    if (!three_meet(ctx))
        return 1;
    if (tess_spmv(plan, 1, x, 0, y) != TESS_OK || memcmp(y, expected, (size_t)rows * sizeof *y))
        return 2;
    if (tess_ctx_create(&(tess_ctx_options){.threads = 3}, &other) != TESS_OK || !three_meet(other))
        return 3;
    tess_ctx_destroy(other);
    free(y);
    return 0;
}

/* Forks, and fails unless the work of the child, and of the child's child, gives 0. */
static void check_child(tess_ctx *ctx, tess_plan *plan, const void *x, const void *expected,
                        int generations)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(100);
        const int result = work_in_child(ctx, plan, x, expected);
        if (result == 0 && generations > 1)
            check_child(ctx, plan, x, expected, generations - 1);
        _exit(result);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with %s %d", WIFEXITED(status) ? "status" : "signal",
                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static void a_forked_child_computes_with_threads_of_its_own(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_BANDED, 3000, 3, 3, TESS_F64, 5);
    tess_device *device = test_threads(ctx, 3);
    tess_plan *plan = NULL;
    double *x = test_vector(A->cols, TESS_F64, 6), *y = test_vector(A->rows, TESS_F64, 7);
    assert_int_equal(tess_plan_create(ctx, A, device,
                                      &(tess_plan_options){.effort = TESS_EFFORT_ESTIMATE}, &plan),
                     TESS_OK);
    assert_int_equal(tess_spmv(plan, 1, x, 0, y), TESS_OK);
    assert_true(three_meet(ctx));
    check_child(ctx, plan, x, y, 2);
    assert_true(three_meet(ctx)); /* the parent has kept its own */
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    free(x);
    free(y);
}

static double processor_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void threads_without_work_sleep(void **state)
{
    int64_t seen[8] = {0};
    marks job = {.seen = seen};
    tess_parallel(test_ctx(state), 8, mark_share, &job);
    usleep(20000);
    const double before = processor_seconds();
    usleep(300000);
    const double used = processor_seconds() - before;
    if (used > 0.02)
        fail_msg("%g s of processors in 0.3 s of rest", used);
}

static void the_default_is_what_the_environment_says(void **state)
{
    (void)state;
    const char *said = getenv("OMP_NUM_THREADS");
    char *kept = said ? strdup(said) : NULL;
    unsetenv("OMP_NUM_THREADS");
    const int all = tess_default_threads();
    assert_in_range(all, 1, TESS_THREADS_MAX);
    const struct {
        const char *text;
        int threads;
    } cases[] = {{"5", 5},   {"4,2", 4},  {"100000", TESS_THREADS_MAX},
                 {"0", all}, {"-3", all}, {"many", all}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("OMP_NUM_THREADS", cases[i].text, 1);
        if (tess_default_threads() != cases[i].threads)
            fail_msg("OMP_NUM_THREADS=%s: %d threads, not %d", cases[i].text,
                     tess_default_threads(), cases[i].threads);
    }
    if (kept)
        setenv("OMP_NUM_THREADS", kept, 1);
    else
        unsetenv("OMP_NUM_THREADS");
    free(kept);
}

/* ---- Simultaneous products ---- */

enum { VECTORS = 2, PRODUCTS = 40 };

/* One caller: its products with x must give the same results as without other callers. */
typedef struct caller {
    tess_plan *plan;
    const double *x;
    double *y;
    const double *expected[3]; /* spmv, transpose, two vectors */
    int64_t n;
    int products, wrong;
} caller;

static void product(tess_plan *plan, int kind, int64_t n, const double *x, double *y)
{
    tess_status status = kind == 0 ? tess_spmv(plan, 1, x, 0, y)
                         : kind == 1
                             ? tess_spmv_transpose(plan, 1, x, 0, y)
                             : tess_spmm(plan, VECTORS, TESS_ORDER_COLUMN_MAJOR, 1, x, n, 0, y, n);
    if (status != TESS_OK)
        abort();
}

static void *multiply_often(void *arg)
{
    caller *c = arg;
    for (int i = 0; i < c->products; i++) {
        const int kind = i % 3;
        const size_t bytes = (size_t)(c->n * (kind == 2 ? VECTORS : 1)) * sizeof(double);
        product(c->plan, kind, c->n, c->x, c->y);
        c->wrong += memcmp(c->y, c->expected[kind], bytes) != 0;
    }
    return NULL;
}

/* Two threads, each with its vectors; plans[i] is thread i's. */
static void check_callers(const char *what, tess_plan *const plans[2], int64_t n)
{
    caller callers[2];
    double *expected[2][3];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        callers[i] = (caller){.plan = plans[i],
                              .x = test_vector(VECTORS * n, TESS_F64, 20 + (uint64_t)i),
                              .y = test_vector(VECTORS * n, TESS_F64, 30),
                              .n = n,
                              .products = test_slowed() ? 6 : PRODUCTS};
        for (int kind = 0; kind < 3; kind++) {
            expected[i][kind] = test_vector(VECTORS * n, TESS_F64, 40);
            product(plans[i], kind, n, callers[i].x, expected[i][kind]);
            callers[i].expected[kind] = expected[i][kind];
        }
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, multiply_often, &callers[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        free((void *)callers[i].x);
        free(callers[i].y);
        for (int kind = 0; kind < 3; kind++)
            free(expected[i][kind]);
    }
    if (callers[0].wrong + callers[1].wrong > 0)
        fail_msg("%s: %d and %d of %d products wrong", what, callers[0].wrong, callers[1].wrong,
                 callers[0].products);
}

/* A symmetric matrix whose last block is ragged, so that every plan has scratch vectors. */
static tess_matrix *symmetric_matrix(tess_ctx *ctx)
{
    tess_matrix *A = NULL, *B = NULL;
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=31", &A, NULL), TESS_OK);
    assert_int_equal(tess_matrix_to_blocks(ctx, A, &(tess_blocking){2, 2}, &B), TESS_OK);
    tess_matrix_destroy(A);
    return B;
}

static tess_plan *plan_of(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                          const char *format)
{
    tess_plan *plan = NULL;
    const tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE, .format = format};
    if (tess_plan_create(ctx, A, device, &options, &plan) != TESS_OK)
        fail_msg("%s: %s", format, tess_ctx_error(ctx));
    return plan;
}

static const char *const formats[] = {"bsr", "symmetric"};

static void products_of_one_plan_by_two_threads_are_correct(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = symmetric_matrix(ctx);
    for (int threads = 1; threads <= 3; threads++) {
        tess_device *device = test_threads(ctx, threads);
        for (int f = 0; f < 2; f++) {
            tess_plan *plan = plan_of(ctx, A, device, formats[f]);
            check_callers(formats[f], (tess_plan *const[2]){plan, plan}, A->rows);
            tess_plan_destroy(plan);
        }
        tess_device_close(device);
    }
    tess_matrix_destroy(A);
}

static void plans_of_one_matrix_in_two_threads_are_correct(void **state)
{
    tess_ctx *ctx = test_ctx(state), *other;
    assert_int_equal(tess_ctx_create(&(tess_ctx_options){.threads = 2}, &other), TESS_OK);
    tess_matrix *A = symmetric_matrix(ctx);
    tess_device *device = test_threads(ctx, 3), *others = test_threads(other, 2);
    for (int f = 0; f < 2; f++) {
        tess_plan *plans[3] = {plan_of(ctx, A, device, formats[f]),
                               plan_of(ctx, A, device, formats[1 - f]),
                               plan_of(other, A, others, formats[f])};
        check_callers("one context", (tess_plan *const[2]){plans[0], plans[1]}, A->rows);
        check_callers("a context each", (tess_plan *const[2]){plans[0], plans[2]}, A->rows);
        for (int i = 0; i < 3; i++)
            tess_plan_destroy(plans[i]);
    }
    tess_device_close(device);
    tess_device_close(others);
    tess_matrix_destroy(A);
    tess_ctx_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_cover_the_range_and_the_first_are_longer),
        cmocka_unit_test(every_share_and_index_is_done_once),
        cmocka_unit_test(a_call_from_inside_a_share_does_all_of_its_shares),
        cmocka_unit_test(two_threads_may_call_with_one_context),
        cmocka_unit_test(shares_run_at_the_same_time),
        cmocka_unit_test(a_forked_child_computes_with_threads_of_its_own),
        cmocka_unit_test(threads_without_work_sleep),
        cmocka_unit_test(the_default_is_what_the_environment_says),
        cmocka_unit_test(products_of_one_plan_by_two_threads_are_correct),
        cmocka_unit_test(plans_of_one_matrix_in_two_threads_are_correct),
    };
    return cmocka_run_group_tests_name("threads", tests, test_setup, test_teardown);
}
