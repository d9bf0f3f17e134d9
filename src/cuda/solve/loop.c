/* Whole iterations in one launch, for small systems: the matrix lies in the shared memory of one
 * cluster. */
#include "cuda/solve/space.h"

/* Threads of a thread block. Complex rows take twice the registers: with c64 a thread takes 80 to
 * 115, and of 1024 threads each would have 64. */
static int threads_of(const tess_space *space)
{
    return tess_is_complex(space->type) ? 512 : 1024;
}

/* Bytes of shared memory that are left for the layout beside the kernel's other arrays. */
static int64_t shared_for_rows(const tess_cuda *cuda, const tess_loop_code *code)
{
    const int64_t dots = code->numbers.dots;
    const int64_t doubles =
        5 * TESS_LOOP_SLOTS + 8 + dots * code->threads / 32 + 2 * dots * code->team;
    return (int64_t)cuda->shared_bytes - doubles * (int64_t)sizeof(double) - 64;
}

/* Allocates device memory and copies `count` elements into it. */
static tess_status place(tess_cuda_space *state, const void *from, int64_t count, size_t size,
                         cu_pointer *to)
{
    const size_t bytes = (size_t)count * size;
    TESS_TRY(tess_cuda_alloc(state->cuda, bytes, "a solver's rows", to));
    return tess_cuda_upload(state->cuda, *to, from, bytes, state->plan->stream);
}

static tess_status place_layout(tess_space *space, tess_loop *loop)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    const tess_loop_layout *layout = &loop->layout;
    const int64_t grid = layout->grid, size = sizeof(int32_t);
    TESS_TRY(place(state, layout->first, grid + 1, size, &loop->first));
    TESS_TRY(place(state, layout->source_first, grid + 1, size, &loop->source_first));
    TESS_TRY(place(state, layout->sources, layout->source_first[grid], size, &loop->sources));
    return place(state, layout->places, space->plan->matrix->blocks, sizeof(uint16_t),
                 &loop->places);
}

static void drop_plan(tess_space *space, tess_loop *loop)
{
    tess_loop_layout_free(space->ctx, &loop->layout);
    loop->layout = (tess_loop_layout){0};
    loop->planned = false;
}

/* Whether many iterations in one launch take less time than iterations of two launches each. A
 * complex scalar counts as two, which nothing has measured. Time of an iteration (H200; 7 and 27
 * points, b = 1, 3, 4, 7):
 *
 *     one launch    on a cluster of 16 multiprocessors: 4.8 us, 16 ns per block row and
 *                   0.13 ns per scalar of the matrix that a multiprocessor has; 6.0 us with
 *                   1 536 unknowns (27 points, b = 3), 20.8 us with 15 625 (7 points, b = 1)
 *     two launches  7.0 to 7.9 us at such sizes
 */
static bool is_small(const tess_matrix *A)
{
    const int64_t reals = tess_reals(A->type, tess_matrix_stored(A));
    return (double)A->block_rows / 2600 + (double)reals / 320e3 < 1;
}

bool tess_cuda_solves_at_once(tess_device *device, const tess_matrix *A)
{
    return tess_cuda_of(device)->sm >= 90 && A->block_height == A->block_width && is_small(A);
}

tess_status tess_cuda_plan_loop(tess_space *space, const tess_stretch *stretch)
{
    tess_loop *loop = &tess_cuda_space_of(space)->loop;
    const tess_cuda *cuda = tess_cuda_space_of(space)->cuda;
    const tess_matrix *A = space->plan->matrix;
    /* loop.cu has a product of its own, so a plan whose kernel the caller named does not use it. */
    if (space->plan->local || space->plan->named || stretch->cycle != 1 ||
        tess_space_slot_reals(space) > TESS_LOOP_SLOTS ||
        space->plan->device->backend->matrix_free || tess_pc_given_operator(space->pc) ||
        !tess_cuda_solves_at_once(space->plan->device, A))
        return TESS_OK;
    tess_unit_list list = {
        .ctx = space->ctx, .steps = stretch->lists, .imaginary = tess_cuda_imaginary(space)};
    tess_status status =
        tess_units_build(&list, TESS_FUSED_NONE, true, stretch->stops, stretch->stop_count);
    if (status == TESS_OK && tess_loop_write(&list, space->type, A->block_height, threads_of(space),
                                             TESS_LOOP_TEAM, &loop->code))
        status =
            tess_loop_lay_out(space->ctx, A, &loop->code, TESS_LOOP_TEAM,
                              shared_for_rows(cuda, &loop->code), &loop->layout, &loop->planned);
    tess_units_free(&list);
    if (status != TESS_OK || !loop->planned)
        drop_plan(space, loop);
    return status;
}

tess_status tess_cuda_need_loop(tess_space *space)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    tess_loop *loop = &state->loop;
    tess_cuda *cuda = state->cuda;
    if (!loop->planned)
        return TESS_OK;
    TESS_TRY(tess_cuda_load_function(cuda, "loop.cu", loop->code.defines, "loop", &loop->module,
                                     &loop->function));
    TESS_TRY(tess_cuda_allow_shared(cuda, loop->function, (size_t)loop->layout.shared));
    const tess_cuda_launch launch = {.grid = {(unsigned)loop->layout.grid, 1, 1},
                                     .block = {(unsigned)loop->code.threads, 1, 1},
                                     .shared = (unsigned)loop->layout.shared};
    if (!tess_cuda_cluster_fits(cuda, loop->function, &launch))
        return TESS_OK;
    TESS_TRY(tess_cuda_hold_resident(state->plan, "bsr", &loop->resident));
    TESS_TRY(place_layout(space, loop));
    TESS_TRY(TESS_CU(cuda, cuStreamSynchronize(state->plan->stream)));
    loop->fits = true;
    return TESS_OK;
}

void tess_cuda_loop_free(tess_space *space)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    tess_loop *loop = &state->loop;
    tess_cuda_unload(state->cuda, loop->module);
    if (loop->resident)
        tess_cuda_let_resident_go(state->plan, loop->resident);
    drop_plan(space, loop);
    tess_cuda_free(state->cuda, loop->first);
    tess_cuda_free(state->cuda, loop->sources);
    tess_cuda_free(state->cuda, loop->source_first);
    tess_cuda_free(state->cuda, loop->places);
}

tess_status tess_cuda_run_loop(tess_space *space, const tess_unit_list *list, int system)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    const tess_loop *loop = &state->loop;
    tess_loop_call call = {
        .common = tess_cuda_rows_call(space, &loop->code.numbers, TESS_GUARD_NONE, system),
        .offsets = loop->resident->arrays[0],
        .values = loop->resident->arrays[2],
        .span = loop->layout.span,
        .first = loop->first,
        .sources = loop->sources,
        .source_first = loop->source_first,
        .places = loop->places,
        .grid = loop->layout.grid,
        .shared = loop->layout.shared,
    };
    call.common.finish.programme = list->device_programmes;
    call.common.finish.ints = list->programme_count;
    tess_cuda_launch launch;
    tess_loop_launch(&loop->code, &call, &launch);
    return tess_cuda_launch_one(state->cuda, loop->function, &launch, state->plan->stream);
}
