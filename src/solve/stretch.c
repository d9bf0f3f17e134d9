/* Stretches of iterations: how many a device may run by itself. Afterwards the host looks at each
 * iteration in order, as if it had just been run. */
#include "solve/iterate.h"

/* Tells the callback the largest residual. Sets *go to false once a callback says stop, on any
 * part. */
static tess_status ask(const tess_solver *solver, const tess_system *systems, const int *active,
                       int count, bool *go)
{
    double largest = 0, stops = 0;
    for (int i = 0; i < count; i++)
        largest = fmax(largest, tess_relative(&systems[active[i]], systems[active[i]].residual));
    if (solver->callback)
        stops = solver->callback(solver->callback_user, systems[active[0]].iteration, largest) != 0;
    if (tess_plan_is_part(solver->plan) && solver->asks)
        TESS_TRY(solver->plan->device->backend->sum(solver->plan, &stops, 1));
    *go = stops == 0;
    return TESS_OK;
}

static int list_active(const tess_system *systems, int k, int *active)
{
    int count = 0;
    for (int j = 0; j < k; j++)
        if (!systems[j].done)
            active[count++] = j;
    return count;
}

/* Returns the next stretch. It ends at the latest when a system reaches a limit that only the host
 * knows. */
static tess_stretch next_stretch(const tess_solver *solver, tess_group *g, int64_t position)
{
    const tess_method *method = solver->options.method;
    int64_t most = solver->careful ? 1 : solver->space.stretch;
    if (solver->cycle > 1 && most > solver->cycle - position)
        most = solver->cycle - position;
    for (int i = 0; i < g->count; i++) {
        const tess_system *system = &g->systems[g->active[i]];
        const double bound = TESS_DIVERGENCE * fmax(system->start_residual, system->rhs_norm);
        const int64_t left = solver->options.max - system->iteration;
        const int64_t waits = system->best_at + tess_patience(solver) - system->iteration;
        most = tess_min(most, tess_min(left, waits));
        const double enough = system->threshold / system->scale, much = bound / system->scale;
        g->enough[i] = enough * enough * (1 + 1e-14);
        g->too_much[i] = much * much * (1 - 1e-14);
        g->left[i] = false;
    }
    return (tess_stretch){
        .lists = solver->loop,
        .cycle = solver->cycle,
        .position = position,
        .stops = method->stops,
        .stop_count = method->stop_count,
        .systems = g->active,
        .count = g->count,
        .most = tess_max(most, 1),
        .seconds = solver->callback ? 0.05 : HUGE_VAL,
        .enough = g->enough,
        .too_much = g->too_much,
        .done = g->done,
    };
}

/* Looks at system i of the group after iteration k of a stretch. */
static tess_status follow(tess_solver *solver, tess_group *g, int i, int64_t k, int64_t position,
                          bool *restarted)
{
    const int j = g->active[i];
    tess_system *system = &g->systems[j];
    bool again;
    system->iteration++;
    TESS_TRY(solver->space.ops->recall(&solver->space, j, k, solver->slots));
    TESS_TRY(tess_look(solver, system, j, position, &again));
    if (!again && !system->done && position + 1 == solver->cycle && solver->cycle > 1) {
        TESS_TRY(solver->options.method->finish(solver, j, solver->cycle));
        again = true;
    }
    if (again && !system->done) {
        TESS_TRY(tess_begin_again(solver, system, j));
        *restarted = true;
    }
    g->left[i] = again || system->done;
    return TESS_OK;
}

static tess_status cancel(tess_solver *solver, tess_group *g, int64_t position)
{
    for (int i = 0; i < g->count; i++) {
        tess_system *system = &g->systems[g->active[i]];
        /* A device may have gone on to the limit before it was told to stop. x is up to date where
         * a system has ended, and changes no more. */
        if (system->done && system->reason != TESS_REASON_ITERATION_LIMIT)
            continue;
        if (!system->done && solver->options.method->finish && position > 0)
            TESS_TRY(solver->options.method->finish(solver, g->active[i], position));
        tess_system_end(system, TESS_REASON_CANCELLED, "stopped at iteration %lld, |r|/|b| = %.3g",
                        (long long)system->iteration, tess_relative(system, system->residual));
    }
    return TESS_OK;
}

/* Looks at the iterations of a stretch one after the other, as if each had just been run. A
 * callback's stop takes effect after the last of them: x is that of the last iteration. */
static tess_status follow_all(tess_solver *solver, tess_group *g, int64_t *position, bool *go)
{
    int64_t longest = 0;
    bool restarted = false;
    *go = true;
    for (int i = 0; i < g->count; i++)
        longest = tess_max(g->done[i], longest);
    int64_t k = 0;
    for (bool any = true; any && k < longest; k++) {
        any = false;
        for (int i = 0; i < g->count; i++) {
            if (g->left[i] || k >= g->done[i])
                continue;
            TESS_TRY(follow(solver, g, i, k, *position, &restarted));
            any |= !g->left[i];
        }
        *position = restarted ? 0 : (*position + 1) % solver->cycle;
        if (*go)
            TESS_TRY(ask(solver, g->systems, g->active, g->count, go));
    }
    return TESS_OK;
}

tess_status tess_group_loop(tess_solver *solver, tess_group *g, int k)
{
    tess_space *space = &solver->space;
    int64_t position = 0;
    for (g->count = list_active(g->systems, k, g->active); g->count > 0;
         g->count = list_active(g->systems, k, g->active)) {
        const tess_stretch stretch = next_stretch(solver, g, position);
        bool go;
        TESS_TRY(space->ops->advance(space, &stretch));
        TESS_TRY(follow_all(solver, g, &position, &go));
        if (!go)
            TESS_TRY(cancel(solver, g, position));
    }
    return TESS_OK;
}

tess_status tess_group_open(tess_ctx *ctx, int k, tess_group *g)
{
    TESS_TRY(TESS_ALLOC(ctx, k, &g->systems));
    TESS_TRY(TESS_ALLOC(ctx, k, &g->active));
    TESS_TRY(TESS_ALLOC(ctx, k, &g->enough));
    TESS_TRY(TESS_ALLOC(ctx, k, &g->too_much));
    TESS_TRY(TESS_ALLOC(ctx, k, &g->done));
    return TESS_ALLOC(ctx, k, &g->left);
}

void tess_group_close(tess_ctx *ctx, tess_group *g)
{
    TESS_FREE(ctx, g->systems, g->active, g->enough, g->too_much, g->done, g->left);
}
