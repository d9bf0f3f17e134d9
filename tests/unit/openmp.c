/* A caller who uses OpenMP: the library uses OpenMP's number of threads, and a call inside a
 * parallel region runs on the calling thread alone. */
#include "support/support.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

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

static void note_place(void *arg, int share)
{
    cpu_set_t *places = arg;
    sched_getaffinity(0, sizeof *places, &places[share]);
    usleep(20000); /* so that the other share is left to the other thread */
}

/* A caller's thread that is bound to one processor would pass its binding on to the library's
 * threads. */
static void threads_of_a_bound_caller_have_places_of_their_own(void **state)
{
    cpu_set_t places[2];
    if (omp_get_proc_bind() == omp_proc_bind_false || omp_get_num_places() < 2)
        skip();
    for (int attempt = 0; attempt < 50; attempt++) {
        tess_parallel(test_ctx(state), 2, note_place, places);
        if (!CPU_EQUAL(&places[0], &places[1]))
            return;
    }
    fail_msg("both shares on one place");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_is_the_callers_number_of_threads),
        cmocka_unit_test(calls_inside_a_parallel_region_keep_to_their_thread),
        cmocka_unit_test(threads_of_a_bound_caller_have_places_of_their_own),
    };
    return cmocka_run_group_tests_name("openmp", tests, test_setup, test_teardown);
}
