/* Iterations without the host, in chunks (chunk.c). The device decides when a system stops; the
 * host reads the decision a chunk later.
 *
 *     stream   | chunk 1 | chunk 2 | chunk 3 | ...
 *     aside              | copy    | copy    | ...
 *     host       put 1, 2   see 1, put 3   see 2 ...      until a chunk says "stopped"
 *
 * A chunk that is put into the stream before the host sees the stop runs in vain. So no chunk is
 * put ahead once |r| falls so fast that the chunk under way may be the last.
 *
 * Stream `aside` copies the decision: a copy between two chunks would cost more than ten
 * microseconds. It may copy the decision of a later chunk than it waited for, which is as good.
 * After the stop, a chunk's passes return at once. Its products and triangular solves still run,
 * and their results are not used.
 */
#include "cuda/driver/gate.h"
#include "cuda/solve/space.h"

/* The time of a chunk: several times what the host needs to put the next one into the stream. */
static const double chunk_seconds = 500e-6;
enum { CHUNK_LEAST = 2, CHUNK_MOST = 16, CYCLE_CHUNK = 4 };

/* Iterations that are timed before others are captured.
 *
 *     first   loads code too, so its times do not count
 *     second  has a clock between the units
 *     third   with levels only: has a clock at its ends alone
 *
 * A clock keeps a launch from starting early, which matters where launches are many and short, as
 * with levels. */
enum { TIMED = 2, TIMED_WITH_LEVELS = 3 };

static int timed_most(const tess_space *space)
{
    const bool levels = space->pc->own.levels > 0 && !tess_cuda_space_of(space)->halo;
    return levels ? TIMED_WITH_LEVELS : TIMED;
}

void tess_cuda_account(tess_space *space, const tess_steps *steps, int count, double seconds)
{
    double bytes = 0;
    for (int64_t i = 0; i < steps->count; i++)
        bytes += tess_space_step_bytes(space, &steps->step[i], count);
    for (int64_t i = 0; i < steps->count; i++) {
        const tess_step *step = &steps->step[i];
        const double share = bytes > 0 ? tess_space_step_bytes(space, step, count) / bytes
                                       : 1.0 / (double)steps->count;
        tess_space_account(space, step, count, seconds * share);
    }
}

/* ---- The first iterations: outside a graph, with a clock between the units ---- */

/* The time of the units by kind of step. Units in one launch share its time in proportion to their
 * bytes. */
static tess_status read_shares(tess_space *space, const tess_unit_list *list, int count,
                               const cu_event *events)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    double seconds[TESS_TIMES] = {0}, all = 0;
    memset(state->launches, 0, sizeof state->launches);
    for (int64_t i = 0, together; i < list->count; i += together, events++) {
        float milliseconds = 0;
        double bytes = 0;
        together = tess_cuda_units_together(list, i, count);
        for (int64_t k = i; k < i + together; k++)
            bytes += tess_space_step_bytes(space, list->units[k].step, count);
        TESS_TRY(TESS_CU(state->cuda, cuEventElapsedTime(&milliseconds, events[0], events[1])));
        const double time = 1e-3 * (double)milliseconds;
        all += time;
        for (int64_t k = i; k < i + together; k++) {
            const tess_step *step = list->units[k].step;
            const double share = bytes > 0 ? tess_space_step_bytes(space, step, count) / bytes
                                           : 1.0 / (double)together;
            tess_step_divide(space, step, share * time, seconds);
            tess_step_divide(space, step, share, state->launches);
        }
    }
    for (int i = 0; i < TESS_TIMES; i++)
        state->share[i] = all > 0 ? seconds[i] / all : 1.0 / TESS_TIME_LEVEL;
    state->iteration_seconds = all;
    state->timed++;
    return TESS_OK;
}

/* Corrects for what the clocks between the units added, the same for every launch. Without them the
 * iteration took `whole` seconds. No share becomes negative, and the preconditioner's is the sum of
 * its levels'. */
static void correct_shares(tess_cuda_space *state, double whole)
{
    double launches = 0;
    for (int i = 0; i < TESS_TIME_LEVEL; i++)
        launches += state->launches[i];
    if (!(whole > 0 && whole < state->iteration_seconds && launches > 0))
        return;
    const double added = (state->iteration_seconds - whole) / launches;
    for (int i = 0; i < TESS_TIMES; i++)
        state->share[i] =
            fmax(0, state->share[i] * state->iteration_seconds - added * state->launches[i]) /
            whole;
    state->share[TESS_TIME_PC] = 0;
    for (int i = TESS_TIME_LEVEL; i < TESS_TIMES; i++)
        state->share[TESS_TIME_PC] += state->share[i];
    state->iteration_seconds = whole;
}

/* The launches of several parts take longer than a small iteration. So the iteration that counts
 * waits at a gate until all parts have put it into their streams. */
static tess_status shut_gate(const tess_cuda_space *state)
{
    const bool counts = state->timed + 1 == TIMED && !state->calls;
    return state->halo && counts ? tess_cuda_shut_gate(state->cuda, state->plan->stream) : TESS_OK;
}

static tess_status open_gate(const tess_cuda_space *state)
{
    const tess_status status = state->halo ? tess_cuda_halo_meet(state->halo) : TESS_OK;
    tess_cuda_open_gate(state->cuda);
    return status;
}

/* The time between the clocks at the iteration's ends. */
static tess_status read_whole(tess_cuda_space *state, const cu_event *events)
{
    float milliseconds = 0;
    TESS_TRY(TESS_CU(state->cuda, cuEventElapsedTime(&milliseconds, events[0], events[1])));
    correct_shares(state, 1e-3 * (double)milliseconds);
    state->timed++;
    return TESS_OK;
}

/* Runs an iteration with a clock before it, one behind it and, of the first ones, between its
 * units. */
static tess_status time_one(tess_space *space, const tess_stretch *stretch)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    tess_cuda *cuda = state->cuda;
    const bool between = state->timed < TIMED;
    const tess_unit_list *list;
    cu_event *events;
    int64_t clocks = 0;
    tess_status status;
    TESS_TRY(tess_cuda_need_list(space, stretch->lists, stretch, &list));
    TESS_TRY(tess_cuda_events_create(cuda, list->count + 1, &events));
    TESS_TRY_CLEAN(shut_gate(state));
    for (int64_t i = 0; i < list->count; i += tess_cuda_units_together(list, i, stretch->count)) {
        if (between || i == 0)
            TESS_TRY_CLEAN(TESS_CU(cuda, cuEventRecord(events[clocks++], state->plan->stream)));
        TESS_TRY_CLEAN(tess_cuda_run_units(space, list, i, stretch->systems, stretch->count));
    }
    TESS_TRY_CLEAN(TESS_CU(cuda, cuEventRecord(events[clocks], state->plan->stream)));
    TESS_TRY_CLEAN(open_gate(state));
    TESS_TRY_CLEAN(TESS_CU(cuda, cuEventSynchronize(events[clocks])));
    TESS_TRY_CLEAN(between ? read_shares(space, list, stretch->count, events)
                           : read_whole(state, events));
cleanup:
    tess_cuda_open_gate(cuda);
    tess_cuda_events_destroy(cuda, events, list->count + 1);
    return status;
}

/* ---- A stretch ---- */

/* How many iterations a stretch may have. A loop is one launch, which cannot be ended from outside,
 * so it gets only as many iterations as fit the time. */
static int64_t most_in_time(const tess_space *space, const tess_stretch *stretch)
{
    const tess_cuda_space *state = tess_cuda_space_of(space);
    if (!state->loop.fits || stretch->count != 1 || isinf(stretch->seconds))
        return stretch->most;
    if (state->timed < timed_most(space)) /* one iteration, which is timed */
        return 1;
    const double fits = stretch->seconds / state->iteration_seconds;
    return fits < 1 ? 1 : fits < (double)stretch->most ? (int64_t)fits : stretch->most;
}

/* The iterations of the next chunk. Chunks have one iteration where the host calls the caller's
 * operator, which is not called after the stop, and where the preconditioner is costly, so that no
 * iteration runs in vain. */
static int64_t chunk_of(const tess_space *space, const tess_stretch *stretch, int64_t at)
{
    const tess_cuda_space *state = tess_cuda_space_of(space);
    const int64_t left = stretch->most - at;
    const double fits = state->iteration_seconds > 0 ? chunk_seconds / state->iteration_seconds : 1;
    if (state->calls || space->pc->ops->costly)
        return 1;
    int64_t chunk = (int64_t)tess_clamp(fits, CHUNK_LEAST, CHUNK_MOST);
    /* Cycles are cut at the same places each time, so that their graphs can be replayed. */
    if (stretch->cycle > 1)
        chunk = CYCLE_CHUNK - (stretch->position + at) % CYCLE_CHUNK;
    return tess_min(chunk, left);
}

/* Runs the whole rest of the stretch in one launch, where that is possible. The device stops by
 * itself. */
static tess_status try_loop(tess_space *space, const tess_stretch *stretch, bool *done)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    const tess_unit_list *list;
    *done = false;
    if (stretch->count != 1 || stretch->cycle != 1 || !state->loop.fits)
        return TESS_OK;
    TESS_TRY(tess_cuda_need_list(space, stretch->lists, stretch, &list));
    bool stopped, near;
    *done = true;
    TESS_TRY(tess_cuda_run_loop(space, list, stretch->systems[0]));
    TESS_TRY(tess_cuda_ask(space, 0));
    return tess_cuda_answer(space, stretch, 0, stretch->most, &stopped, &near);
}

static tess_status run_stretch(tess_space *space, const tess_stretch *stretch)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    const double started = tess_seconds();
    int64_t put = 0, first = 0, next = 0; /* iterations put; flights under way: first..next-1 */
    const int flights = state->calls ? 1 : TESS_FLIGHTS;
    bool stopped = false, near = false;
    if (state->halo)
        state->halo->must_join = true;
    TESS_TRY(tess_cuda_put_controls(space, stretch, most_in_time(space, stretch)));
    /* Iterations of methods with cycles differ, so none of them is timed. */
    const int timed = stretch->cycle == 1 ? timed_most(space) : 0;
    for (; state->timed < timed && put < stretch->most && !stopped; put++) {
        TESS_TRY(time_one(space, stretch));
        TESS_TRY(tess_cuda_ask(space, 0));
        TESS_TRY(tess_cuda_answer(space, stretch, 0, put + 1, &stopped, &near));
        TESS_TRY(tess_cuda_halo_mean(state->halo, &state->iteration_seconds));
    }
    if (!stopped)
        TESS_TRY(try_loop(space, stretch, &stopped));
    while (true) {
        bool late = tess_seconds() - started > stretch->seconds && put > 0;
        TESS_TRY(tess_cuda_halo_any(state->halo, &late));
        while (!stopped && !late && next - first < (near ? 1 : flights) && put < stretch->most) {
            const int64_t chunk = chunk_of(space, stretch, put);
            TESS_TRY(tess_cuda_put_chunk(space, stretch, put, chunk));
            TESS_TRY(tess_cuda_ask(space, (int)(next++ % TESS_FLIGHTS)));
            put += chunk;
        }
        if (first == next)
            return TESS_OK;
        const int flight = (int)(first++ % TESS_FLIGHTS);
        TESS_TRY(tess_cuda_answer(space, stretch, flight, put, &stopped, &near));
    }
}

/* ---- A stretch with parts of other processes ---- */

/* Makes the lists of iterations at .. at + count - 1 where they do not exist yet. */
static tess_status need_lists(tess_space *space, const tess_stretch *stretch, int64_t at,
                              int64_t count)
{
    const tess_unit_list *list;
    for (int64_t i = at; i < at + count; i++)
        TESS_TRY(tess_cuda_need_list(
            space, &stretch->lists[(stretch->position + i) % stretch->cycle], stretch, &list));
    return TESS_OK;
}

/* The host takes part in every sum, so nothing is put ahead. Once per chunk the parts tell each
 * other whether one has failed, is late or goes on. Iterations of a chunk after the stop run in
 * vain. With a costly preconditioner that costs more than the parts' message, so chunks have one
 * iteration. */
static tess_status run_with_ranks(tess_space *space, const tess_stretch *stretch)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    tess_part *part = ((tess_part_plan *)space->plan->state)->part;
    const double started = tess_seconds();
    const int64_t each = space->pc->ops->costly ? 1 : CYCLE_CHUNK;
    bool stopped = false;
    tess_status status = tess_cuda_put_controls(space, stretch, most_in_time(space, stretch));
    for (int64_t put = 0;; put += each) {
        const int64_t chunk = tess_min(each, stretch->most - put);
        if (status == TESS_OK && !stopped)
            status = need_lists(space, stretch, put, chunk);
        status = tess_cuda_ranks_keep(state->halo, status);
        double said[3] = {state->halo->ranks->failed != TESS_OK,
                          put > 0 && tess_seconds() - started > stretch->seconds, !stopped};
        TESS_TRY(tess_part_sum(part, said, 3));
        if (said[0] > 0)
            return tess_cuda_ranks_agree(state->halo, TESS_OK);
        if (chunk <= 0 || said[1] > 0 || said[2] == 0)
            return TESS_OK;
        TESS_TRY(tess_cuda_put_iterations(space, stretch, stretch->position + put, chunk));
        status = tess_cuda_ask(space, 0);
        if (status == TESS_OK)
            status = tess_cuda_hear(space, stretch, 0, &stopped);
    }
}

/* Copies the slots of all iterations of the stretch to the host. */
static tess_status fetch_rings(tess_space *space, const tess_stretch *stretch)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    for (int i = 0; i < stretch->count; i++) {
        const int64_t slots = tess_space_slot_reals(space);
        const int64_t at = stretch->systems[i] * state->ring_length * slots;
        const size_t bytes = (size_t)(stretch->done[i] * slots) * sizeof(double);
        if (bytes > 0)
            TESS_TRY(
                TESS_CU(state->cuda, cuMemcpyDtoHAsync(state->host_ring + at,
                                                       state->ring + (uint64_t)at * sizeof(double),
                                                       bytes, state->plan->stream)));
    }
    return TESS_CU(state->cuda, cuStreamSynchronize(state->plan->stream));
}

static int64_t longest_of(const tess_stretch *stretch)
{
    int64_t longest = 0;
    for (int i = 0; i < stretch->count; i++)
        longest = tess_max(stretch->done[i], longest);
    return longest;
}

/* Counts the bytes of every iteration and divides the time of the stretch: like that of the timed
 * iteration, or for methods with cycles, whose iterations differ, in proportion to the bytes. */
static void account(tess_space *space, const tess_stretch *stretch, double seconds)
{
    const tess_cuda_space *state = tess_cuda_space_of(space);
    const int64_t longest = longest_of(stretch);
    double before[TESS_TIMES];
    memcpy(before, space->seconds, sizeof before);
    for (int64_t k = 0; k < longest; k++) {
        int running = 0;
        for (int i = 0; i < stretch->count; i++)
            running += stretch->done[i] > k;
        tess_cuda_account(space, &stretch->lists[(stretch->position + k) % stretch->cycle], running,
                          seconds / (double)longest);
    }
    for (int i = 0; state->timed > 0 && longest > 0 && i < TESS_TIMES; i++)
        space->seconds[i] = before[i] + seconds * state->share[i];
}

/* Chunks become longer where iterations take less than half of the measured time, as when another
 * process used the device meanwhile. A smaller difference is not worth another capture. */
static void correct_time(tess_cuda_space *state, const tess_stretch *stretch, double seconds)
{
    const int64_t longest = longest_of(stretch);
    if (longest > TIMED && seconds < 0.5 * (double)longest * state->iteration_seconds)
        state->iteration_seconds = seconds / (double)longest;
}

tess_status tess_cuda_advance(tess_space *space, const tess_stretch *stretch)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    const double started = tess_seconds();
    bool entered;
    TESS_TRY(tess_cuda_space_enter(state, &entered));
    const bool ranks = state->halo && state->halo->ranks;
    tess_part_times *times = ranks ? &state->halo->plan->times : NULL;
    const double exchanged = ranks ? times->halo + times->sums : 0;
    tess_status status = ranks ? run_with_ranks(space, stretch) : run_stretch(space, stretch);
    if (status == TESS_OK)
        status = fetch_rings(space, stretch);
    TESS_TRY(tess_cuda_space_leave(state, entered, status));
    double seconds = tess_seconds() - started;
    if (ranks)
        times->product += seconds - (times->halo + times->sums - exchanged);
    TESS_TRY(tess_cuda_halo_mean(state->halo, &seconds)); /* chunks are as long on all parts */
    account(space, stretch, seconds);
    correct_time(state, stretch, seconds);
    return TESS_OK;
}

tess_status tess_cuda_recall(tess_space *space, int system, int64_t i, double *to)
{
    const tess_cuda_space *state = tess_cuda_space_of(space);
    const int64_t slots = tess_space_slot_reals(space);
    const int64_t at = (system * state->ring_length + i) * slots;
    memcpy(to, state->host_ring + at, (size_t)slots * sizeof *to);
    return TESS_OK;
}
