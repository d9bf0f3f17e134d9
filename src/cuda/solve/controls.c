/* What the host and the device tell each other about a stretch: limits to the device, iterations
 * done and stops to the host. */
#include "cuda/solve/space.h"

/* A chunk counts as the last where |r|^2 times this would be small enough at its end: |r| may
 * become ten times smaller than its fall so far suggests. Waiting for the host in vain costs a
 * tenth of a chunk, a chunk in vain all of it. */
static const double caution = 0.01;

static double *controls_of(const tess_space *space, int which)
{
    return tess_cuda_space_of(space)->host_control + (int64_t)which * space->systems * TESS_CONTROL;
}

tess_status tess_cuda_put_controls(tess_space *space, const tess_stretch *stretch, int64_t most)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    double *from = controls_of(space, TESS_FLIGHTS);
    memset(controls_of(space, TESS_FLIGHTS + 1), 0,
           (size_t)space->systems * TESS_CONTROL * sizeof *from);
    for (int i = 0; i < stretch->count; i++, from += TESS_CONTROL) {
        memset(from, 0, TESS_CONTROL * sizeof *from);
        from[TESS_CONTROL_LIMIT] = (double)most;
        from[TESS_CONTROL_ENOUGH] = stretch->enough[i];
        from[TESS_CONTROL_TOO_MUCH] = stretch->too_much[i];
        /* The last two doubles, PEAK and SQUARE, keep what the device has written. */
        TESS_TRY(TESS_CU(state->cuda, cuMemcpyHtoDAsync(
                                          tess_cuda_control(space, stretch->systems[i]), from,
                                          (TESS_CONTROL - 2) * sizeof *from, state->plan->stream)));
    }
    return TESS_OK;
}

tess_status tess_cuda_ask(tess_space *space, int flight)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    tess_cuda *cuda = state->cuda;
    const size_t bytes = (size_t)space->systems * TESS_CONTROL * sizeof(double);
    TESS_TRY(TESS_CU(cuda, cuEventRecord(state->chunk_end, state->plan->stream)));
    TESS_TRY(TESS_CU(cuda, cuStreamWaitEvent(state->aside, state->chunk_end, 0)));
    TESS_TRY(TESS_CU(
        cuda, cuMemcpyDtoHAsync(controls_of(space, flight), state->control, bytes, state->aside)));
    return TESS_CU(cuda, cuEventRecord(state->flight[flight], state->aside));
}

tess_status tess_cuda_hear(tess_space *space, const tess_stretch *stretch, int flight,
                           bool *stopped)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    TESS_TRY(TESS_CU(state->cuda, cuEventSynchronize(state->flight[flight])));
    const double *controls = controls_of(space, flight);
    *stopped = true;
    for (int i = 0; i < stretch->count; i++) {
        const double *control = controls + (int64_t)stretch->systems[i] * TESS_CONTROL;
        stretch->done[i] = (int64_t)control[TESS_CONTROL_COUNT];
        *stopped = *stopped && control[TESS_GUARD_STOPPED] != 0;
    }
    return TESS_OK;
}

/* Whether a system may stop before iteration `put` ends, if |r| goes on to fall as it did between
 * the controls `seen` and `now`. */
static bool may_stop(const double *seen, const double *now, double enough, int64_t put)
{
    const double since = now[TESS_CONTROL_COUNT] - seen[TESS_CONTROL_COUNT];
    const double fall = now[TESS_CONTROL_SQUARE] / seen[TESS_CONTROL_SQUARE];
    if (now[TESS_GUARD_STOPPED] != 0)
        return true;
    if (!(seen[TESS_CONTROL_COUNT] > 0) || !(since > 0) || !(fall > 0 && fall < 1))
        return false;
    const double ahead = ((double)put - now[TESS_CONTROL_COUNT]) / since;
    return caution * now[TESS_CONTROL_SQUARE] * pow(fall, ahead) <= enough;
}

/* Whether the chunks under way, up to iteration `put`, may be the last, by what a flight has said.
 */
static bool near_end(const tess_space *space, const tess_stretch *stretch, int flight, int64_t put)
{
    const double *now = controls_of(space, flight);
    double *seen = controls_of(space, TESS_FLIGHTS + 1);
    bool near = true;
    for (int i = 0; i < stretch->count; i++) {
        const int64_t at = (int64_t)stretch->systems[i] * TESS_CONTROL;
        near &= may_stop(seen + at, now + at, stretch->enough[i], put);
        if (now[at + TESS_CONTROL_COUNT] > seen[at + TESS_CONTROL_COUNT])
            memcpy(seen + at, now + at, TESS_CONTROL * sizeof *seen);
    }
    return near;
}

tess_status tess_cuda_answer(tess_space *space, const tess_stretch *stretch, int flight,
                             int64_t put, bool *stopped, bool *near)
{
    tess_cuda_halo *halo = tess_cuda_space_of(space)->halo;
    TESS_TRY(tess_cuda_hear(space, stretch, flight, stopped));
    double go_on[2] = {!*stopped, !near_end(space, stretch, flight, put)};
    if (halo)
        TESS_TRY(tess_part_sum(halo->plan->part, go_on, 2));
    *stopped = go_on[0] == 0;
    *near = go_on[1] == 0;
    return TESS_OK;
}
