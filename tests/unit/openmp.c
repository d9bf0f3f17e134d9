/* A caller who uses OpenMP loses nothing: its number of threads is ours, and inside its parallel
 * regions a call keeps to the thread that makes it. */
#include "support/support.h"

#include <omp.h>
#include <pthread.h>

#include "core/threads.h"

static void the_default_is_the_callers_number_of_threads(void **state)
{
    (void)state;
    const int before = omp_get_max_threads();
    assert_int_equal(tess_default_threads(), before);
    omp_set_num_threads(7);
    assert_int_equal(tess_default_threads(), 7);
    omp_set_num_threads(before);
}

struct look {
    pthread_t caller;
    int64_t same, other;
};

static void look(void *arg, int share)
{
    struct look *job = arg;
    (void)share;
    tess_take(pthread_equal(pthread_self(), job->caller) ? &job->same : &job->other, 1);
}

static void calls_inside_a_parallel_region_keep_to_their_thread(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    struct look jobs[2] = {{.same = 0}};
#pragma omp parallel num_threads(2)
    {
        struct look *mine = &jobs[omp_get_thread_num()];
        mine->caller = pthread_self();
        for (int i = 0; i < 100; i++)
            tess_parallel(ctx, 4, look, mine);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(jobs[i].same, 400);
        assert_int_equal(jobs[i].other, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_is_the_callers_number_of_threads),
        cmocka_unit_test(calls_inside_a_parallel_region_keep_to_their_thread),
    };
    return cmocka_run_group_tests_name("openmp", tests, test_setup, test_teardown);
}
