/* Opens and closes a space on a CUDA device, copies its vectors and scalars, runs single lists. */
#include "cuda/solve/space.h"

enum { RING_DOUBLES = 65536, RING_MOST = 1024 };

static void release(tess_space *space)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    tess_cuda *cuda = state->cuda;
    (void)cuda->driver.cuStreamSynchronize(state->plan->stream);
    if (state->aside)
        (void)cuda->driver.cuStreamSynchronize(state->aside);
    if (state->halo && !state->halo->ranks) /* with ranks the halo is the plan's */
        tess_cuda_halo_close(state->halo);
    tess_cuda_graphs_free(space);
    tess_cuda_loop_free(space);
    tess_cuda_lists_free(space);
    tess_cuda_applied_free(state);
    tess_cuda_diagonals_free(state);
    for (int i = 0; i < TESS_FLIGHTS; i++)
        if (state->flight[i])
            (void)cuda->driver.cuEventDestroy(state->flight[i]);
    if (state->chunk_end)
        (void)cuda->driver.cuEventDestroy(state->chunk_end);
    if (state->aside)
        (void)cuda->driver.cuStreamDestroy(state->aside);
    if (state->host_control)
        (void)cuda->driver.cuMemFreeHost(state->host_control);
    if (state->host_ring)
        (void)cuda->driver.cuMemFreeHost(state->host_ring);
    const cu_pointer memory[] = {state->data, state->slots,   state->control,
                                 state->ring, state->partial, state->tickets};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        tess_cuda_free(cuda, memory[i]);
}

static void space_close(tess_space *space)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    if (!state)
        return;
    const bool entered = tess_cuda_enter(state->cuda) == TESS_OK;
    release(space);
    if (entered)
        tess_cuda_leave(state->cuda);
    tess_free(space->ctx, state);
    space->state = NULL;
}

/* Device memory, all 0. */
static tess_status zeros(tess_cuda_space *state, int64_t count, size_t size, const char *what,
                         cu_pointer *out)
{
    int64_t bytes;
    if (!tess_mul(count, (int64_t)size, &bytes))
        return tess_fail(state->cuda->ctx, TESS_ERR_OVERFLOW, "%s do not fit any memory", what);
    TESS_TRY(tess_cuda_alloc(state->cuda, (size_t)bytes, what, out));
    return bytes > 0
               ? TESS_CU(state->cuda, cuMemsetD8Async(*out, 0, (size_t)bytes, state->plan->stream))
               : TESS_OK;
}

static tess_status allocate(tess_space *space)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    tess_cuda *cuda = state->cuda;
    tess_part_plan *part = space->plan->local ? space->plan->state : NULL;
    if (part && part->part->same_process)
        TESS_TRY(tess_cuda_halo_open(part, 1, &state->halo));
    else if (part)
        state->halo = part->exchange[0];
    TESS_TRY(zeros(state, space->data_bytes, 1, "a solver's vectors", &state->data));
    const int64_t slots = tess_space_slot_reals(space) * space->systems;
    TESS_TRY(zeros(state, slots, sizeof(double), "a solver's scalars", &state->slots));
    TESS_TRY(zeros(state, (int64_t)space->systems * TESS_CONTROL, sizeof(double),
                   "a solver's scalars", &state->control));
    TESS_TRY(zeros(state, slots * state->ring_length, sizeof(double), "a residual history",
                   &state->ring));
    TESS_TRY(zeros(state, tess_reals(space->type, TESS_PASS_DOTS) * state->part_blocks,
                   sizeof(double), "dot products", &state->partial));
    TESS_TRY(zeros(state, 1, sizeof(uint64_t), "dot products", &state->tickets));
    const size_t control = (size_t)space->systems * TESS_CONTROL * sizeof(double);
    TESS_TRY(
        TESS_CU(cuda, cuMemAllocHost((void **)&state->host_control, (TESS_FLIGHTS + 2) * control)));
    TESS_TRY(TESS_CU(cuda, cuMemAllocHost((void **)&state->host_ring,
                                          (size_t)(slots * state->ring_length) * sizeof(double))));
    for (int i = 0; i < TESS_FLIGHTS; i++)
        TESS_TRY(TESS_CU(cuda, cuEventCreate(&state->flight[i], CU_EVENT_NO_TIMING)));
    TESS_TRY(TESS_CU(cuda, cuEventCreate(&state->chunk_end, CU_EVENT_NO_TIMING)));
    return TESS_CU(cuda, cuStreamCreate(&state->aside, CU_STREAM_DEFAULT_FLAGS));
}

/* Whether the operator is the caller's, and a graph cannot replay it. */
static bool must_be_called(const tess_operator *operator)
{
    return operator&& operator->apply && !operator->capturable;
}

static tess_status space_open(tess_space *space)
{
    const tess_part_plan *part = space->plan->local ? space->plan->state : NULL;
    tess_cuda_plan *plan = tess_cuda_plan_of(part ? part->own : space->plan);
    tess_cuda_space *state;
    TESS_TRY(TESS_CALLOC(space->ctx, 1, &state));
    space->state = state;
    state->cuda = plan->cuda;
    state->plan = plan;
    state->ring_length =
        tess_max(1, tess_min(RING_DOUBLES / tess_space_slot_reals(space), RING_MOST));
    space->stretch = state->ring_length;
    state->calls =
        must_be_called(&plan->caller) || must_be_called(tess_pc_given_operator(space->pc));
    state->part_blocks = 32 * plan->cuda->multiprocessors;
    tess_status status = tess_cuda_enter(plan->cuda);
    if (status == TESS_OK) {
        status = tess_cuda_halo_agree(state->halo, allocate(space));
        tess_cuda_leave(plan->cuda);
    }
    if (status != TESS_OK)
        space_close(space);
    return status;
}

/* ---- Entering ---- */

tess_status tess_cuda_space_enter(tess_cuda_space *state, bool *entered)
{
    const tess_status status = tess_cuda_enter(state->cuda);
    *entered = status == TESS_OK;
    return tess_cuda_ranks_keep(state->halo, status);
}

tess_status tess_cuda_space_leave(const tess_cuda_space *state, bool entered, tess_status status)
{
    status = tess_cuda_ranks_agree(state->halo, status);
    return entered ? tess_cuda_leave_with(state->cuda, status) : status;
}

/* ---- Moving ---- */

enum { PAGE = 4096 };

struct find_pages {
    const char *from;
    size_t bytes;
    int found; /* a page that is not all 0 */
};

static void find_pages(void *arg, tess_range pages)
{
    static const char zeros[PAGE];
    struct find_pages *job = arg;
    for (int64_t i = pages.first; i < pages.last; i++) {
        const size_t first = (size_t)i * PAGE, left = job->bytes - first;
        if (__atomic_load_n(&job->found, __ATOMIC_RELAXED))
            return;
        if (memcmp(job->from + first, zeros, tess_min(left, PAGE)) != 0)
            __atomic_store_n(&job->found, 1, __ATOMIC_RELAXED);
    }
}

/* Whether an array of the host is all 0, as initial guesses mostly are: reading it takes less time
 * than copying it to the device. */
static bool all_zero(tess_ctx *ctx, const void *from, size_t bytes)
{
    struct find_pages job = {.from = from, .bytes = bytes};
    tess_for(ctx, tess_ceil_div((int64_t)bytes, PAGE), find_pages, &job);
    return !job.found;
}

static tess_status copy_in(tess_space *space, cu_pointer to, const void *from, size_t bytes)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    if (bytes > 0 && tess_cuda_on_device(state->cuda, from))
        return TESS_CU(state->cuda,
                       cuMemcpyDtoDAsync(to, tess_cuda_address(from), bytes, state->plan->stream));
    if (bytes > 0 && all_zero(space->ctx, from, bytes))
        return TESS_CU(state->cuda, cuMemsetD8Async(to, 0, bytes, state->plan->stream));
    return tess_cuda_upload(state->cuda, to, from, bytes, state->plan->stream);
}

static tess_status copy_out(tess_space *space, cu_pointer from, void *to, size_t bytes)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    tess_cuda *cuda = state->cuda;
    cu_stream stream = state->plan->stream;
    if (bytes == 0)
        return TESS_OK;
    if (!tess_cuda_on_device(cuda, to))
        return tess_cuda_download(cuda, to, from, bytes, stream);
    TESS_TRY(TESS_CU(cuda, cuMemcpyDtoDAsync(tess_cuda_address(to), from, bytes, stream)));
    return TESS_CU(cuda, cuStreamSynchronize(stream));
}

static tess_status upload(tess_space *space, int v, int system, const void *from)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    bool entered;
    TESS_TRY(tess_cuda_space_enter(state, &entered));
    tess_status status = copy_in(space, tess_cuda_vector(space, v, system), from,
                                 (size_t)space->rows * tess_type_size(space->type));
    /* A new b is a new system: its control begins anew. */
    if (status == TESS_OK && v == TESS_V_B)
        status = TESS_CU(state->cuda,
                         cuMemsetD8Async(tess_cuda_control(space, system), 0,
                                         TESS_CONTROL * sizeof(double), state->plan->stream));
    return tess_cuda_space_leave(state, entered, status);
}

static tess_status download(tess_space *space, int v, int system, void *to)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    bool entered;
    TESS_TRY(tess_cuda_space_enter(state, &entered));
    return tess_cuda_space_leave(state, entered,
                                 copy_out(space, tess_cuda_vector(space, v, system), to,
                                          (size_t)space->rows * tess_type_size(space->type)));
}

static tess_status read_slots(tess_space *space, int system, double *to)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    const size_t bytes = (size_t)tess_space_slot_reals(space) * sizeof *to;
    bool entered;
    TESS_TRY(tess_cuda_space_enter(state, &entered));
    return tess_cuda_space_leave(state, entered,
                                 copy_out(space, tess_cuda_slots(space, system), to, bytes));
}

static tess_status write_slots(tess_space *space, int system, const double *from)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    const size_t bytes = (size_t)tess_space_slot_reals(space) * sizeof *from;
    bool entered;
    TESS_TRY(tess_cuda_space_enter(state, &entered));
    tess_status status = copy_in(space, tess_cuda_slots(space, system), from, bytes);
    if (status == TESS_OK)
        status = TESS_CU(state->cuda, cuStreamSynchronize(state->plan->stream));
    return tess_cuda_space_leave(state, entered, status);
}

static tess_status update_values(tess_space *space)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    TESS_TRY(tess_cuda_enter(state->cuda));
    tess_status status = tess_cuda_update_diagonals(state);
    if (status == TESS_OK)
        status = tess_cuda_update_factors(state);
    return tess_cuda_leave_with(state->cuda, status);
}

/* ---- One list ---- */

static tess_status run_and_wait(tess_space *space, const tess_steps *steps, const int *systems,
                                int count)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    const tess_unit_list *list;
    const tess_status status = tess_cuda_need_list(space, steps, NULL, &list);
    TESS_TRY(tess_cuda_ranks_agree(state->halo, status));
    TESS_TRY(tess_cuda_run_list(space, list, systems, count));
    return TESS_CU(state->cuda, cuStreamSynchronize(state->plan->stream));
}

/* Runs a list once and waits for it. */
static tess_status run(tess_space *space, const tess_steps *steps, const int *systems, int count)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    const double started = tess_seconds();
    bool entered;
    TESS_TRY(tess_cuda_space_enter(state, &entered));
    const tess_status status =
        tess_cuda_space_leave(state, entered, run_and_wait(space, steps, systems, count));
    tess_cuda_account(space, steps, count, tess_seconds() - started);
    return status;
}

/* Compiles and loads what the lists launch. stretch->cycle 0: there are no iterations, since a
 * preconditioner alone runs lists once. */
static tess_status prepare(tess_space *space, const tess_steps *const *once, int count,
                           const tess_stretch *stretch)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    const bool iterates = stretch->cycle > 0;
    const tess_unit_list *list;
    tess_status status = tess_cuda_enter(state->cuda);
    const bool entered = status == TESS_OK;
    if (status == TESS_OK && iterates)
        status = tess_cuda_plan_loop(space, stretch);
    if (status == TESS_OK)
        tess_cuda_warm(space, once, count, stretch->lists, iterates ? 1 : 0);
    for (int i = 0; i < count && status == TESS_OK; i++)
        status = tess_cuda_need_list(space, once[i], NULL, &list);
    /* Of a cycle only the first list is made now: the method may stop before the others. */
    if (status == TESS_OK && iterates)
        status = tess_cuda_need_list(space, stretch->lists, stretch, &list);
    if (status == TESS_OK && iterates)
        status = tess_cuda_need_loop(space);
    if (entered)
        tess_cuda_leave(state->cuda);
    return tess_cuda_halo_agree(state->halo, status);
}

const tess_space_ops tess_cuda_space_ops = {
    .open = space_open,
    .close = space_close,
    .upload = upload,
    .download = download,
    .read_slots = read_slots,
    .write_slots = write_slots,
    .prepare = prepare,
    .run = run,
    .advance = tess_cuda_advance,
    .recall = tess_cuda_recall,
    .update_values = update_values,
};
