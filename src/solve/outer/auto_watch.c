/* When an attempt has to end: the caller says stop, its time is over, or its iterations are over
 * and going on does not pay.
 *
 * A method that has done its iterations and still makes progress may go on until it has taken as
 * long as the set-up of the next attempt would. Whichever of the two attempts would have solved the
 * system, at most twice its time is spent. After that the method goes on only where it is about to
 * converge. Its rate is that of the smallest |r| over the second half of its iterations:
 *
 *     log |r|   \__                   rate  = log(|r| at k/2 over |r| at k) / (k/2)
 *               |  \___               needs = log(|r| at k over tol) / rate
 *               |   |  \___ . . . tol
 *               0  k/2  k        k + needs
 *
 * The next attempt is worth the time of its set-up and of some iterations (`worth`). Where the
 * needed iterations take longer than that, this attempt ends. The rate changes, so it is computed
 * again after a quarter more iterations. In all, the attempt adds at most twice that time.
 *
 * The last attempt goes on where the needed iterations take no longer than the time that is left.
 */
#include <math.h>

#include "solve/outer/auto.h"

static bool is_late(tess_auto_watch *w)
{
    w->late |= tess_seconds() > w->deadline;
    return w->late;
}

/* Returns whether going on after iteration k costs no more than the next attempt. */
static bool pays(const tess_auto_watch *w, int64_t k, double now)
{
    const double half = w->mark[k / 2 / w->step], rate = log(half / w->best) / (double)(k - k / 2);
    const double needs = log(w->best / w->tol) / rate;
    const double took = now - w->began, added = now - w->over_at, pace = took / (double)k;
    const bool last = w->setup == HUGE_VAL;
    const double allowance = last ? w->deadline - now : w->setup + w->worth * pace;
    const bool arrives = pace * needs <= allowance && (last || added <= 2 * allowance);
    return rate > 0 && isfinite(needs) && ((!last && took < w->setup) || arrives);
}

/* Returns whether the attempt ends after its iteration k. */
static bool is_enough(tess_auto_watch *w, int64_t k, double residual)
{
    const int64_t last = w->step * TESS_MARKS;
    w->best = fmin(w->best, residual);
    for (; w->marks < TESS_MARKS && w->marks * w->step <= k; w->marks++)
        w->mark[w->marks] = w->best;
    if (k < w->next)
        return false;
    const double now = tess_seconds();
    if (w->next == w->most)
        w->over_at = now;
    w->next = k + k / 4 + 1;
    w->enough = w->best > w->tol && (k >= last || !pays(w, k, now));
    return w->enough;
}

static int watch_iterations(void *user, int64_t iteration, double residual)
{
    tess_auto_watch *w = user;
    w->cancelled |= w->callback && w->callback(w->callback_user, iteration, residual) != 0;
    return w->cancelled || is_late(w) || is_enough(w, iteration - w->first, residual);
}

static int watch_progress(void *user, const char *what, double fraction)
{
    tess_auto_watch *w = user;
    w->cancelled |= w->progress && w->progress(w->progress_user, what, fraction) != 0;
    return is_late(w) || w->cancelled;
}

void tess_auto_watch_begin(tess_solver *solver, tess_auto_watch *w)
{
    w->callback = solver->callback;
    w->callback_user = solver->callback_user;
    w->progress = solver->ctx->progress;
    w->progress_user = solver->ctx->progress_user;
    tess_solver_set_callback(solver, watch_iterations, w);
    solver->ctx->progress = watch_progress;
    solver->ctx->progress_user = w;
    w->cancelled = false;
}

void tess_auto_watch_end(tess_solver *solver, const tess_auto_watch *w)
{
    tess_solver_set_callback(solver, w->callback, w->callback_user);
    solver->ctx->progress = w->progress;
    solver->ctx->progress_user = w->progress_user;
}

void tess_auto_watch_attempt(tess_auto_watch *w, int64_t first, int64_t most, double tol,
                             double setup, double worth)
{
    w->first = first;
    w->most = w->next = most;
    w->step = most / 8 + 1;
    w->marks = 0;
    w->best = HUGE_VAL;
    w->tol = tol;
    w->setup = setup;
    w->worth = worth;
    w->began = tess_seconds();
    w->enough = false;
}
