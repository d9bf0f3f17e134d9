/* Launches units. Nothing here waits or allocates, so that a list can be captured. */
#include "cuda/kernels/support.h"
#include "cuda/solve/space.h"

cu_pointer tess_cuda_slots(const tess_space *space, int system)
{
    return tess_cuda_space_of(space)->slots +
           (uint64_t)(system * tess_space_slot_reals(space)) * sizeof(double);
}

cu_pointer tess_cuda_control(const tess_space *space, int system)
{
    return tess_cuda_space_of(space)->control + (uint64_t)system * TESS_CONTROL * sizeof(double);
}

/* The first arguments of a system's kernels, without a programme. */
static tess_finish_call finish_call(const tess_space *space, int64_t guard, int system)
{
    const tess_cuda_space *state = tess_cuda_space_of(space);
    const int64_t slots = tess_space_slot_reals(space), ring = system * state->ring_length * slots;
    return (tess_finish_call){
        .slots = tess_cuda_slots(space, system),
        .control = tess_cuda_control(space, system),
        .ring = state->ring + (uint64_t)ring * sizeof(double),
        .slot_count = slots,
        .guard = guard,
    };
}

tess_rows_call tess_cuda_rows_call(const tess_space *space, const tess_pass_kernel *kernel,
                                   int64_t guard, int system)
{
    tess_rows_call call = {
        .finish = finish_call(space, guard, system),
        .rows = tess_space_level_of(space, kernel->vector[0])->rows,
    };
    if (kernel->diagonal.block > 0)
        call.diagonal = tess_cuda_diagonal_copy(tess_cuda_space_of(space), &kernel->diagonal);
    for (int i = 0; i < kernel->vectors; i++)
        call.vector[i] = tess_cuda_vector(space, kernel->vector[i], system);
    return call;
}

static void add_programme(const tess_unit_list *list, const tess_unit *unit, tess_finish_call *call)
{
    if (unit->programme < 0)
        return;
    const int *programme = list->programmes + unit->programme;
    call->programme = list->device_programmes + (uint64_t)unit->programme * sizeof(int);
    call->ints = 3 + 4 * (int64_t)programme[0] + 3 * (int64_t)programme[1];
}

static tess_status run_pass(tess_space *space, const tess_unit_list *list, const tess_unit *unit,
                            int system)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    tess_pass_call call = {
        .common = tess_cuda_rows_call(space, unit->pass, unit->guard, system),
        .partial = state->partial,
        .ticket = state->tickets,
        .blocks = state->part_blocks,
    };
    tess_cuda_launch launch;
    add_programme(list, unit, &call.common.finish);
    /* Levels of a preconditioner are the part's own, and so are their dot products. */
    const bool of_parts = state->halo && unit->pass->dots > 0 && unit->step->level == 0;
    if (of_parts) /* the scalars wait for the other parts' sums */
        call.mail = tess_cuda_halo_mail(state->halo);
    tess_pass_launch(unit->pass, &call, &launch);
    const tess_status status =
        tess_cuda_launch_one(state->cuda, unit->function, &launch, state->plan->stream);
    TESS_TRY(tess_cuda_ranks_keep(state->halo, status)); /* others wait for the sum */
    return of_parts ? tess_cuda_halo_sum(state->halo, &call.common.finish, unit->pass->dots,
                                         unit->pass->dot_slot)
                    : TESS_OK;
}

/* `sum`: adds up the partial sums that the last product left. */
static tess_status run_finish(tess_space *space, const tess_unit_list *list, const tess_unit *unit,
                              int system, bool sum)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    tess_finish_call call = finish_call(space, unit->guard, system);
    tess_cuda_launch launch;
    add_programme(list, unit, &call);
    if (sum && state->halo)
        return tess_cuda_halo_sum(state->halo, &call, 1, &unit->step->slot);
    tess_cuda_launch_start(&launch, "finish", 1, TESS_FINISH_THREADS)->overlaps = true;
    tess_finish_arguments(&call, &launch);
    TESS_CUDA_POINTERS(&launch, sum ? state->product.sums : 0);
    TESS_CUDA_INTEGERS(&launch, sum ? state->product.count : 0, unit->step->slot);
    return tess_cuda_launch_one(state->cuda, state->finish, &launch, state->plan->stream);
}

/* Multiplies with A together with the other parts. */
static tess_status apply_part(tess_space *space, const tess_unit *unit, int system)
{
    const tess_step *step = unit->step;
    return tess_cuda_halo_multiply(
        tess_cuda_space_of(space)->halo,
        &(tess_cuda_halo_call){.transpose = step->transpose,
                               .vectors = 1,
                               .order = TESS_ORDER_COLUMN_MAJOR,
                               .alpha = 1,
                               .x = tess_cuda_vector(space, step->x, system),
                               .y = tess_cuda_vector(space, step->y, system),
                               .w = unit->sums ? tess_cuda_vector(space, step->w, system) : 0});
}

/* A product of a small matrix takes hardly longer than its launch, so it starts early (H200, cg
 * with a cycle on 201 720 unknowns: 5.2 -> 5.0 ms, with levels in f32 4.6 -> 4.2). A product of a
 * matrix that does not fit L2 gains nothing. */
static tess_status run_plain(const tess_cuda_space *state, const tess_cuda_variant *variant,
                             tess_cuda_call *call)
{
    const bool small = (int64_t)variant->resident->bytes < variant->problem.l2_bytes;
    return (small ? tess_cuda_run_early : tess_cuda_run)(state->cuda, variant, call,
                                                         state->plan->stream);
}

static tess_status apply_one(tess_space *space, const tess_unit *unit, int system)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    const tess_step *step = unit->step;
    const tess_cuda_variant *variant;
    if (state->halo && !step->plan)
        return apply_part(space, unit, system);
    if (tess_cuda_step_plan(space, step)->caller.apply)
        return tess_cuda_call_operator(state->plan, &state->plan->caller, "operator",
                                       step->transpose, tess_cuda_vector(space, step->x, system),
                                       tess_cuda_vector(space, step->y, system));
    tess_cuda_call call = {.alpha = step->plan ? step->alpha : 1,
                           .beta = step->plan ? step->beta : 0,
                           .x = tess_cuda_vector(space, step->x, system),
                           .y = tess_cuda_vector(space, step->y, system)};
    if (!unit->sums) {
        TESS_TRY(tess_cuda_need_variant(tess_cuda_step_plan(space, step), TESS_CUDA_SPMV,
                                        tess_cuda_step_operation(space, step), 1, 0, &variant));
        return run_plain(state, variant, &call);
    }
    TESS_TRY(tess_cuda_need_dot(state->plan, !space->plan->named, &variant));
    if (step->w != step->y)
        call.w = tess_cuda_vector(space, step->w, system);
    call.dot = tess_cuda_slots(space, system) + (uint64_t)step->slot * sizeof(double);
    return tess_cuda_run_partial_sums(state->cuda, variant, &call, state->plan->stream,
                                      &state->product);
}

/* Multiplies several systems by one product with the vectors of all, including systems that have
 * stopped. */
static tess_status apply_many(tess_space *space, const tess_unit *unit, const int *systems,
                              int count)
{
    const tess_step *step = unit->step;
    if (count == 1 || !tess_cuda_multiplies_together(space, step)) {
        tess_cuda_halo *halo = tess_cuda_space_of(space)->halo;
        for (int i = 0; i < count; i++)
            TESS_TRY(tess_cuda_ranks_keep(halo, apply_one(space, unit, systems[i])));
        return TESS_OK;
    }
    tess_plan *plan = step->plan ? step->plan : space->plan;
    tess_cuda_plan_of(plan)->stream = tess_cuda_space_of(space)->plan->stream;
    return tess_cuda_spmm(plan, space->systems, TESS_ORDER_COLUMN_MAJOR,
                          step->plan ? step->alpha : 1,
                          (void *)(uintptr_t)tess_cuda_vector(space, step->x, 0),
                          tess_space_level_of(space, step->x)->stride, step->plan ? step->beta : 0,
                          (void *)(uintptr_t)tess_cuda_vector(space, step->y, 0),
                          tess_space_level_of(space, step->y)->stride);
}

static tess_status rescale(tess_space *space, const tess_unit *unit, int system)
{
    const tess_cuda_space *state = tess_cuda_space_of(space);
    const tess_step *step = unit->step;
    const int64_t rows = space->level[step->level].rows;
    const int64_t grid = tess_ceil_div(rows, TESS_PASS_THREADS);
    const tess_finish_call call = finish_call(space, unit->guard, system);
    tess_cuda_launch launch;
    tess_cuda_launch_start(&launch, "rescale", tess_max(tess_min(state->part_blocks, grid), 1),
                           TESS_PASS_THREADS)
        ->overlaps = true;
    tess_finish_arguments(&call, &launch);
    TESS_CUDA_POINTERS(&launch, tess_cuda_vector(space, step->x, system),
                       tess_cuda_vector(space, step->y, system));
    TESS_CUDA_INTEGERS(&launch, rows, step->slot);
    return tess_cuda_launch_one(state->cuda, unit->function, &launch, state->plan->stream);
}

static tess_status finish(tess_space *space, const tess_unit_list *list, const tess_unit *unit,
                          const int *systems, int count)
{
    const bool fused = unit->sums && count == 1;
    for (int i = 0; i < count; i++) {
        if (unit->pass && !fused)
            TESS_TRY(run_pass(space, list, unit, systems[i]));
        else
            TESS_TRY(run_finish(space, list, unit, systems[i], fused));
    }
    return TESS_OK;
}

static tess_status precondition(tess_space *space, const tess_step *step, int system)
{
    const tess_cuda_space *state = tess_cuda_space_of(space);
    const tess_operator *M = tess_pc_given_operator(step->pc);
    const cu_pointer r = tess_cuda_vector(space, step->x, system);
    const cu_pointer z = tess_cuda_vector(space, step->y, system);
    return M ? tess_cuda_call_operator(state->plan, M, "preconditioner", step->transpose, r, z)
             : tess_cuda_factors_apply(tess_cuda_factors_of(state, step->pc), step->transpose, r, z,
                                       state->plan->stream);
}

static tess_status run_unit(tess_space *space, const tess_unit_list *list, const tess_unit *unit,
                            const int *systems, int count)
{
    switch (unit->kind) {
    case TESS_UNIT_APPLY:
        return apply_many(space, unit, systems, count);
    case TESS_UNIT_FINISH:
        return finish(space, list, unit, systems, count);
    case TESS_UNIT_PASS:
        for (int i = 0; i < count; i++)
            TESS_TRY(run_pass(space, list, unit, systems[i]));
        return TESS_OK;
    case TESS_UNIT_RESCALE:
        for (int i = 0; i < count; i++)
            TESS_TRY(rescale(space, unit, systems[i]));
        return TESS_OK;
    case TESS_UNIT_PRECONDITION:
        break;
    }
    for (int i = 0; i < count; i++)
        TESS_TRY(precondition(space, unit->step, systems[i]));
    return TESS_OK;
}

/* The launch of between.cu that begins with unit `at`; NULL: none, or several systems. */
static const tess_between *between_at(const tess_unit_list *list, int64_t at, int count)
{
    for (int i = 0; i < list->between_count && count == 1; i++)
        if (list->between[i].first == at)
            return &list->between[i];
    return NULL;
}

int64_t tess_cuda_units_together(const tess_unit_list *list, int64_t at, int count)
{
    const tess_between *between = between_at(list, at, count);
    return between ? between->count : 1;
}

tess_status tess_cuda_run_units(tess_space *space, const tess_unit_list *list, int64_t at,
                                const int *systems, int count)
{
    const tess_between *between = between_at(list, at, count);
    if (between)
        return tess_cuda_run_between(space, list, between, systems[0]);
    return tess_cuda_ranks_keep(tess_cuda_space_of(space)->halo,
                                run_unit(space, list, &list->units[at], systems, count));
}

tess_status tess_cuda_run_list(tess_space *space, const tess_unit_list *list, const int *systems,
                               int count)
{
    for (int64_t i = 0; i < list->count; i += tess_cuda_units_together(list, i, count))
        TESS_TRY(tess_cuda_run_units(space, list, i, systems, count));
    return TESS_OK;
}
