/* Ranks on the fake driver, one of whose calls fails. */
#ifndef FAKE_FAILING_RANKS_H
#define FAKE_FAILING_RANKS_H

#include "dealt.h"
#include "session.h"

/* Parts on the fake driver's devices, in turn. */
static inline dealt open_ranks(const tess_matrix *A, int size, uint64_t seed)
{
    dealt d = dealt_open(A, size, seed);
    d.device = "cuda:";
    d.devices = fake->devices;
    return d;
}

static int64_t fails_in;

/* All devices are open before the first of the calls that may fail. */
static inline void begin_to_fail(dealt *d, int rank)
{
    const tess_comm comm = test_team_comm(d->team, rank);
    char mine = 0, all[DEALT_MOST];
    if (comm.gather(comm.user, &mine, 1, all) != TESS_OK)
        abort();
    if (rank == 0)
        fake->fail_at = fails_in;
    if (comm.gather(comm.user, &mine, 1, all) != TESS_OK)
        abort();
}

/* Runs the body of d, whose n-th call of the driver fails, on whichever rank, and ends its team:
 * all return the same, nothing hangs, nothing is left. Whether there was an n-th call; `*failures`
 * counts the runs that failed. */
static inline bool run_with_failing_call(dealt *d, const char *what, int64_t n, int *failures)
{
    const int64_t alive = fake->alive;
    d->opened = begin_to_fail;
    fake->fail_with = FAKE_LAUNCH_FAILED;
    fails_in = n;
    dealt_run(d);
    const bool reached = fake->fail_at < 0;
    fake->fail_at = -1;
    test_team_destroy(d->team);
    for (int r = 0; r < d->size; r++)
        if (d->status[r] != d->status[0] || (d->status[r] && strcmp(d->error[r], d->error[0])))
            fail_msg("%s, call %lld: part %d says '%s', part 0 '%s'", what, (long long)n, r,
                     d->error[r], d->error[0]);
    *failures += d->status[0] != TESS_OK;
    if (!reached)
        dealt_ok(d, (uint64_t)n);
    assert_int_equal(fake->alive, alive);
    return reached;
}

#endif
