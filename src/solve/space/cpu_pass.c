/* Passes over the vectors of the host's space: their updates bound to addresses, chunks dealt out
 * to threads, dot products summed. */
#include "solve/space/cpu.h"

/* A share of fewer bytes is done before another thread has woken up. */
enum { LEAST_SHARE_BYTES = 64 * 1024 };

tess_status tess_cpu_receive(const tess_space *space)
{
    tess_cpu_state *state = space->state;
    const int count = state->waiting_count;
    double sums[TESS_CPU_WAITING];
    if (count == 0)
        return TESS_OK;
    state->waiting_count = 0;
    TESS_TRY(space->plan->device->backend->sum_wait(space->plan, sums));
    for (int i = 0; i < count; i++)
        *state->waiting[i] = sums[i];
    return TESS_OK;
}

static tess_status reserve(tess_ctx *ctx, int64_t count, size_t size, void **items,
                           int64_t *capacity)
{
    if (count <= *capacity)
        return TESS_OK;
    void *more;
    TESS_TRY(tess_alloc_bytes(ctx, count, size, &more));
    tess_free(ctx, *items);
    *items = more;
    *capacity = count;
    return TESS_OK;
}

/* Binds an update: numbers of vectors and slots become addresses and coefficients. */
static void bind_update(const tess_space *space, const tess_update *update, int system,
                        tess_cpu_update *bound)
{
    const double *slots = tess_cpu_slots(space, system);
    *bound = (tess_cpu_update){.kind = update->kind,
                               .terms = update->terms,
                               .diagonal = update->diagonal,
                               .x_factor = update->factor,
                               .transpose = update->transpose,
                               .dot = update->dot};
    for (int i = 0; i < update->terms; i++) {
        const tess_term *term = &update->term[i];
        bound->in[i] = tess_cpu_vector(space, term->vector, system);
        bound->factor[i] = term->slot == TESS_ONE ? term->factor : term->factor * slots[term->slot];
        if (term->slot != TESS_ONE && tess_is_complex(space->type))
            bound->imaginary[i] = term->factor * slots[space->slots + term->slot];
    }
    if (update->kind != TESS_UPDATE_DOT)
        bound->out = tess_cpu_vector(space, update->out, system);
    if (update->kind != TESS_UPDATE_COMBINE)
        bound->x = tess_cpu_vector(space, update->x, system);
    if (update->kind == TESS_UPDATE_DOT)
        bound->y = tess_cpu_vector(space, update->y, system);
}

/* Makes room for the updates of a pass and the sums of its dot products. */
static tess_status reserve_pass(const tess_space *space, int level, int64_t updates, int64_t dots)
{
    tess_cpu_state *state = space->state;
    const int64_t chunks = tess_max(state->chunks[level].count, 1);
    TESS_TRY(reserve(space->ctx, updates, sizeof *state->updates, (void **)&state->updates,
                     &state->update_capacity));
    return reserve(space->ctx, tess_reals(space->type, dots * chunks), sizeof *state->sums,
                   (void **)&state->sums, &state->sum_capacity);
}

static int64_t count_dots(const tess_steps *steps, const tess_step *pass)
{
    int64_t dots = 0;
    for (int64_t i = 0; i < pass->updates; i++)
        dots += steps->update[pass->first_update + i].kind == TESS_UPDATE_DOT;
    return dots;
}

tess_status tess_cpu_reserve(tess_space *space, const tess_steps *steps)
{
    TESS_TRY(reserve_pass(space, 0, 1, 1)); /* of a product's dot product */
    for (int64_t i = 0; i < steps->count; i++) {
        const tess_step *step = &steps->step[i];
        if (step->kind == TESS_STEP_PASS)
            TESS_TRY(reserve_pass(space, step->level, step->updates, count_dots(steps, step)));
    }
    return TESS_OK;
}

static tess_status bind_pass(const tess_space *space, const tess_steps *steps,
                             const tess_step *pass, int system)
{
    tess_cpu_state *state = space->state;
    const int64_t dots = count_dots(steps, pass), chunks = state->chunks[pass->level].count;
    TESS_TRY(reserve_pass(space, pass->level, pass->updates, dots));
    double *sum = state->sums, *imaginary_sum = state->sums + chunks * dots;
    for (int64_t i = 0; i < pass->updates; i++) {
        tess_cpu_update *bound = &state->updates[i];
        bind_update(space, &steps->update[pass->first_update + i], system, bound);
        if (bound->kind != TESS_UPDATE_DOT)
            continue;
        bound->sum = sum;
        bound->imaginary_sum = imaginary_sum;
        sum += chunks;
        imaginary_sum += chunks;
    }
    return TESS_OK;
}

static double add_imaginary(const tess_cpu_update *dot, int64_t chunks)
{
    double sum = 0;
    for (int64_t j = 0; j < chunks; j++)
        sum += dot->imaginary_sum[j];
    return dot->dot == TESS_DOT_REVERSED ? -sum : sum;
}

/* Adds up the dot products of a pass: the chunks' sums in order, then the parts'. The sums over the
 * parts travel together, and overlap with the steps that follow as far as those read no slot.
 * Levels of a preconditioner are the part's own, and so are their dot products. Parts have real
 * matrices only (tess_part_create). */
static tess_status add_dots(const tess_space *space, const tess_steps *steps, const tess_step *pass,
                            int system)
{
    tess_cpu_state *state = space->state;
    tess_plan *plan = space->plan;
    double *slots = tess_cpu_slots(space, system);
    const int64_t chunks = state->chunks[pass->level].count;
    int dots = 0;
    for (int64_t i = 0; i < pass->updates; i++) {
        if (state->updates[i].kind != TESS_UPDATE_DOT)
            continue;
        double sum = 0, *slot = &slots[steps->update[pass->first_update + i].slot];
        for (int64_t j = 0; j < chunks; j++)
            sum += state->updates[i].sum[j];
        *slot = sum;
        if (tess_is_complex(space->type))
            slot[space->slots] = add_imaginary(&state->updates[i], chunks);
        if (dots < TESS_CPU_WAITING)
            state->waiting[dots] = slot;
        state->sums[dots++] = sum; /* in place of a chunk's sum that is added already */
    }
    const tess_backend *backend = plan->device->backend;
    if (!backend->sum || dots == 0 || pass->level > 0)
        return TESS_OK;
    if (dots <= TESS_CPU_WAITING && dots <= backend->sum_most) {
        state->waiting_count = dots;
        return backend->sum_start(plan, state->sums, dots);
    }
    TESS_TRY(backend->sum(plan, state->sums, dots));
    dots = 0;
    for (int64_t i = 0; i < pass->updates; i++)
        if (state->updates[i].kind == TESS_UPDATE_DOT)
            slots[steps->update[pass->first_update + i].slot] = state->sums[dots++];
    return TESS_OK;
}

struct pass_over_chunks {
    tess_cpu_state *state;
    tess_space *space;
    tess_pass_fn run;
    const tess_step *pass;
};

static void pass_over_chunks(void *arg, tess_range range)
{
    const struct pass_over_chunks *job = arg;
    tess_cpu_state *state = job->state;
    const int64_t size = state->chunks[job->pass->level].size;
    const int64_t rows = job->space->level[job->pass->level].rows;
    for (int64_t i = range.first; i < range.last; i++)
        job->run(state->updates, job->pass->updates, i, i * size, tess_min(size, rows - i * size));
}

int tess_cpu_threads(const tess_space *space, double bytes)
{
    const double shares = bytes / LEAST_SHARE_BYTES;
    const int most = space->plan->device->threads;
    return shares < 2 ? 1 : (int)tess_min(shares, most);
}

static tess_pass_fn pass_of(tess_type type)
{
    static const tess_pass_fn passes[] = {[TESS_F64] = tess_pass_f64,
                                          [TESS_F32] = tess_pass_f32,
                                          [TESS_C64] = tess_pass_c64,
                                          [TESS_C32] = tess_pass_c32};
    return passes[type];
}

tess_status tess_cpu_pass(tess_space *space, const tess_steps *steps, const tess_step *pass,
                          int system)
{
    tess_cpu_state *state = space->state;
    TESS_TRY(tess_cpu_receive(space));
    TESS_TRY(bind_pass(space, steps, pass, system));
    const tess_space_level *level = &space->level[pass->level];
    const tess_pass_fn run = pass_of(level->type);
    const double bytes = pass->vectors * (double)level->rows * (double)tess_type_size(level->type);
    tess_for_shares(space->ctx, tess_cpu_threads(space, bytes), state->chunks[pass->level].count,
                    pass_over_chunks, &(struct pass_over_chunks){state, space, run, pass});
    return add_dots(space, steps, pass, system);
}
