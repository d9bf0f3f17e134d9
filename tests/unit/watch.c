/* Work on a thread of its own, watched by the caller's thread. */
#include "core/watch.h"

#include <stdatomic.h>

#include "support/support.h"

typedef struct job {
    atomic_bool stopped, ran;
    atomic_int looks;
    int allowed; /* looks before the caller says stop; negative: it never does */
    int needs;   /* looks after which the work ends by itself */
} job;

static void run(void *arg)
{
    job *j = arg;
    while (!atomic_load(&j->stopped) && atomic_load(&j->looks) < j->needs)
        ;
    atomic_store(&j->ran, true);
}

static tess_status look(void *arg)
{
    job *j = arg;
    return atomic_fetch_add(&j->looks, 1) == j->allowed ? TESS_ERR_CANCELLED : TESS_OK;
}

static void stop(void *arg)
{
    atomic_store(&((job *)arg)->stopped, true);
}

static const tess_watched watched = {run, look, stop};

static void work_that_ends_by_itself_is_never_stopped(void **state)
{
    (void)state;
    for (int needs = 0; needs < 4; needs++) {
        job j = {.allowed = -1, .needs = needs};
        assert_int_equal(tess_watch(&watched, &j), TESS_OK);
        assert_true(j.ran);
        assert_false(j.stopped);
    }
}

/* The work needs more looks than it can get: only stop() ends it. */
static void work_that_is_stopped_has_ended_when_the_call_returns(void **state)
{
    (void)state;
    for (int allowed = 0; allowed < 3; allowed++) {
        job j = {.allowed = allowed, .needs = 1000000};
        assert_int_equal(tess_watch(&watched, &j), TESS_ERR_CANCELLED);
        assert_true(j.ran);
        assert_true(j.stopped);
        assert_int_equal(j.looks, allowed + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_that_ends_by_itself_is_never_stopped),
        cmocka_unit_test(work_that_is_stopped_has_ended_when_the_call_returns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
