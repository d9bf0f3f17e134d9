/* The space of devices that compute on the host ("cpu", "ref"): vectors and slots in plain memory.
 *
 * A pass deals out chunks of scalars, cut at multiples of the block height: small enough that what
 * one update writes is in cache for the next, large enough for long runs of each vector, and as
 * many as give every thread its share. A dot product is the sum of the chunks' sums in order,
 * whoever computed them; chunks depend on the matrix alone.
 */
#include <math.h>
#include <string.h>

#include "core/threads.h"
#include "solve/space/pass.h"
#include "solve/space/space.h"

enum { CHUNK_LEAST = 512, CHUNK_MOST = 8192, CHUNKS_WANTED = 64 };
/* Below so many bytes a pass is done before other threads have woken up. */
enum { LEAST_SHARE_BYTES = 64 * 1024 };

/* Dot products of a pass that may be summed over the parts behind other steps. */
enum { WAITING_MAX = 16 };

/* How the vectors of a level are cut. */
typedef struct cpu_chunks {
    int64_t size, count;
} cpu_chunks;

typedef struct cpu_state {
    char *data;
    double *slots;
    tess_cpu_update *updates; /* of the longest pass so far */
    int64_t update_capacity;
    double *sums; /* chunks * dots of the longest pass so far */
    int64_t sum_capacity;
    /* Dot products whose sum over the parts is under way: the slots that wait for them. */
    double *waiting[WAITING_MAX];
    int waiting_count;
    cpu_chunks *chunks; /* one a level */
} cpu_state;

static void *vector(const tess_space *space, int v, int system)
{
    const cpu_state *state = space->state;
    return state->data + tess_space_offset(space, v, system);
}

static double *slots_of(const tess_space *space, int system)
{
    const cpu_state *state = space->state;
    return state->slots + (int64_t)system * space->slots;
}

/* Slots that steps are about to read get their sums. */
static tess_status receive_sums(const tess_space *space)
{
    cpu_state *state = space->state;
    const int count = state->waiting_count;
    double sums[WAITING_MAX];
    if (count == 0)
        return TESS_OK;
    state->waiting_count = 0;
    TESS_TRY(space->plan->device->backend->sum_wait(space->plan, sums));
    for (int i = 0; i < count; i++)
        *state->waiting[i] = sums[i];
    return TESS_OK;
}

static void space_close(tess_space *space)
{
    cpu_state *state = space->state;
    if (!state)
        return;
    receive_sums(space); /* a failure is nobody's any more */
    tess_free(space->ctx, state->data);
    tess_free(space->ctx, state->slots);
    tess_free(space->ctx, state->updates);
    tess_free(space->ctx, state->sums);
    tess_free(space->ctx, state->chunks);
    tess_free(space->ctx, state);
    space->state = NULL;
}

enum { CLEAR_BYTES = 65536 };

struct clear_pieces {
    char *data;
    int64_t bytes;
};

static void clear_pieces(void *arg, tess_range range)
{
    const struct clear_pieces *job = arg;
    const int64_t first = range.first * CLEAR_BYTES;
    memset(job->data + first, 0, (size_t)(tess_min(range.last * CLEAR_BYTES, job->bytes) - first));
}

/* First touch by the threads that will compute there. */
static void clear(const tess_space *space, char *data, int64_t bytes)
{
    tess_for(space->ctx, space->plan->device->threads, tess_ceil_div(bytes, CLEAR_BYTES),
             clear_pieces, &(struct clear_pieces){data, bytes});
}

static cpu_chunks cut(const tess_space_level *level)
{
    int64_t size = CHUNK_LEAST;
    while (size < CHUNK_MOST && level->rows / (2 * size) >= CHUNKS_WANTED)
        size *= 2;
    size = level->block < size ? size / level->block * level->block : level->block;
    return (cpu_chunks){size, tess_ceil_div(level->rows, size)};
}

static tess_status space_open(tess_space *space)
{
    cpu_state *state;
    const int levels = space->pc->own.levels + 1;
    TESS_TRY(TESS_CALLOC(space->ctx, 1, &state));
    space->state = state;
    tess_status status = tess_alloc_bytes(space->ctx, space->data_bytes, 1, (void **)&state->data);
    if (status == TESS_OK)
        status = TESS_ALLOC(space->ctx, levels, &state->chunks);
    for (int i = 0; status == TESS_OK && i < levels; i++)
        state->chunks[i] = cut(&space->level[i]);
    if (status == TESS_OK)
        status = TESS_CALLOC(space->ctx, (int64_t)space->slots * space->systems, &state->slots);
    if (status != TESS_OK) {
        space_close(space);
        return status;
    }
    clear(space, state->data, space->data_bytes);
    return TESS_OK;
}

static tess_status upload(tess_space *space, int v, int system, const void *from)
{
    if (space->rows > 0)
        memcpy(vector(space, v, system), from, (size_t)space->rows * tess_type_size(space->type));
    return TESS_OK;
}

static tess_status download(tess_space *space, int v, int system, void *to)
{
    if (space->rows > 0)
        memcpy(to, vector(space, v, system), (size_t)space->rows * tess_type_size(space->type));
    return TESS_OK;
}

static tess_status read_slots(tess_space *space, int system, double *to)
{
    TESS_TRY(receive_sums(space));
    memcpy(to, slots_of(space, system), (size_t)space->slots * sizeof *to);
    return TESS_OK;
}

static tess_status write_slots(tess_space *space, int system, const double *from)
{
    TESS_TRY(receive_sums(space));
    memcpy(slots_of(space, system), from, (size_t)space->slots * sizeof *from);
    return TESS_OK;
}

/* ---- Passes ---- */

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

/* Numbers become addresses and coefficients. */
static void bind_update(const tess_space *space, const tess_update *update, int system,
                        tess_cpu_update *bound)
{
    const double *slots = slots_of(space, system);
    *bound = (tess_cpu_update){.kind = update->kind,
                               .terms = update->terms,
                               .diagonal = update->diagonal,
                               .transpose = update->transpose};
    switch (update->kind) {
    case TESS_UPDATE_COMBINE:
        bound->out = vector(space, update->out, system);
        for (int i = 0; i < update->terms; i++) {
            const tess_term *term = &update->term[i];
            bound->in[i] = vector(space, term->vector, system);
            bound->factor[i] =
                term->slot == TESS_ONE ? term->factor : term->factor * slots[term->slot];
        }
        break;
    case TESS_UPDATE_DIAGONAL:
        bound->out = vector(space, update->out, system);
        bound->in[0] = vector(space, update->x, system);
        break;
    case TESS_UPDATE_DOT:
        bound->in[0] = vector(space, update->x, system);
        bound->in[1] = vector(space, update->y, system);
        break;
    }
}

static tess_status bind_pass(const tess_space *space, const tess_steps *steps,
                             const tess_step *pass, int system)
{
    cpu_state *state = space->state;
    TESS_TRY(reserve(space->ctx, pass->updates, sizeof *state->updates, (void **)&state->updates,
                     &state->update_capacity));
    int64_t dots = 0;
    for (int64_t i = 0; i < pass->updates; i++)
        dots += steps->update[pass->first_update + i].kind == TESS_UPDATE_DOT;
    const int64_t chunks = state->chunks[pass->level].count;
    TESS_TRY(reserve(space->ctx, dots * tess_max(chunks, 1), sizeof *state->sums,
                     (void **)&state->sums, &state->sum_capacity));
    dots = 0;
    for (int64_t i = 0; i < pass->updates; i++) {
        bind_update(space, &steps->update[pass->first_update + i], system, &state->updates[i]);
        if (state->updates[i].kind == TESS_UPDATE_DOT)
            state->updates[i].sum = state->sums + chunks * dots++;
    }
    return TESS_OK;
}

/* The dot products of a pass: its chunks' sums in order, then the parts'. The parts' numbers travel
 * together, behind the steps that follow, as far as these read no slot. */
static tess_status add_dots(const tess_space *space, const tess_steps *steps, const tess_step *pass,
                            int system)
{
    cpu_state *state = space->state;
    tess_plan *plan = space->plan;
    double *slots = slots_of(space, system);
    const int64_t chunks = state->chunks[pass->level].count;
    int dots = 0;
    for (int64_t i = 0; i < pass->updates; i++) {
        if (state->updates[i].kind != TESS_UPDATE_DOT)
            continue;
        double sum = 0, *slot = &slots[steps->update[pass->first_update + i].slot];
        for (int64_t j = 0; j < chunks; j++)
            sum += state->updates[i].sum[j];
        *slot = sum;
        if (dots < WAITING_MAX)
            state->waiting[dots] = slot;
        state->sums[dots++] = sum; /* the place of a chunk that is added already */
    }
    const tess_backend *backend = plan->device->backend;
    if (!backend->sum || dots == 0)
        return TESS_OK;
    if (dots <= WAITING_MAX && dots <= backend->sum_most) {
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
    cpu_state *state;
    tess_space *space;
    tess_pass_fn run;
    const tess_step *pass;
};

static void pass_over_chunks(void *arg, tess_range range)
{
    const struct pass_over_chunks *job = arg;
    cpu_state *state = job->state;
    const int64_t size = state->chunks[job->pass->level].size;
    const int64_t rows = job->space->level[job->pass->level].rows;
    for (int64_t i = range.first; i < range.last; i++)
        job->run(state->updates, job->pass->updates, i, i * size, tess_min(size, rows - i * size));
}

static int threads_for(const tess_space *space, double bytes)
{
    const double shares = bytes / LEAST_SHARE_BYTES;
    const int most = space->plan->device->threads;
    return shares < 2 ? 1 : shares < most ? (int)shares : most;
}

static tess_status run_pass(tess_space *space, const tess_steps *steps, const tess_step *pass,
                            int system)
{
    cpu_state *state = space->state;
    TESS_TRY(receive_sums(space));
    TESS_TRY(bind_pass(space, steps, pass, system));
    const tess_space_level *level = &space->level[pass->level];
    const tess_pass_fn run = level->type == TESS_F64 ? tess_pass_f64 : tess_pass_f32;
    const double bytes = pass->vectors * (double)level->rows * (double)tess_type_size(level->type);
    tess_for(space->ctx, threads_for(space, bytes), state->chunks[pass->level].count,
             pass_over_chunks, &(struct pass_over_chunks){state, space, run, pass});
    return add_dots(space, steps, pass, system);
}

/* ---- The other steps ---- */

static void run_scalar(const tess_space *space, const tess_step *step, int system)
{
    double *slots = slots_of(space, system);
    const double a = slots[step->a], b = slots[step->b];
    double out = 0;
    switch (step->op) {
    case TESS_OP_DIV:
    case TESS_OP_DIV_POSITIVE:
        out = a / b;
        if (!isfinite(out) || (step->op == TESS_OP_DIV_POSITIVE && !(b > 0)))
            out = 0;
        break;
    case TESS_OP_MUL:
        out = a * b;
        break;
    case TESS_OP_ADD:
        out = a + b;
        break;
    case TESS_OP_SUB:
        out = a - b;
        break;
    case TESS_OP_SQRT:
        out = sqrt(a);
        break;
    case TESS_OP_COPY:
        out = a;
        break;
    }
    slots[step->out] = out;
}

/* The dot product of a step whose product does not do it. */
static tess_status run_dot(tess_space *space, const tess_step *step, int system)
{
    tess_update update = {.kind = TESS_UPDATE_DOT, .slot = step->slot, .x = step->w, .y = step->y};
    const tess_steps dot = {.ctx = space->ctx, .update = &update};
    const tess_step pass = {.kind = TESS_STEP_PASS, .updates = 1, .vectors = 2};
    return run_pass(space, &dot, &pass, system);
}

struct convert_rows {
    tess_type from, to;
    double factor;
    const void *x;
    void *y;
};

static void convert_rows(void *arg, tess_range rows)
{
    const struct convert_rows *c = arg;
    if (c->from == TESS_F64 && c->to == TESS_F32)
        for (int64_t i = rows.first; i < rows.last; i++)
            ((float *)c->y)[i] = (float)(((const double *)c->x)[i] * c->factor);
    else if (c->from == TESS_F32 && c->to == TESS_F64)
        for (int64_t i = rows.first; i < rows.last; i++)
            ((double *)c->y)[i] = (double)((const float *)c->x)[i] * c->factor;
}

static void run_convert(const tess_space *space, const tess_step *step, int system)
{
    const tess_space_level *from = tess_space_level_of(space, step->x);
    const tess_space_level *to = tess_space_level_of(space, step->y);
    const double slot = slots_of(space, system)[step->slot];
    const double factor = !step->divide ? slot : slot > 0 ? 1 / slot : 0;
    tess_for(space->ctx, threads_for(space, 12 * (double)to->rows), to->rows, convert_rows,
             &(struct convert_rows){from->type, to->type, factor, vector(space, step->x, system),
                                    vector(space, step->y, system)});
}

static tess_status apply_one(tess_space *space, const tess_step *step, int system)
{
    if (step->slot >= 0)
        TESS_TRY(receive_sums(space));
    tess_plan *plan = space->plan;
    const void *x = vector(space, step->x, system);
    void *y = vector(space, step->y, system);
    if (step->plan)
        return tess_spmv(step->plan, step->alpha, x, step->beta, y);
    if (step->transpose)
        return tess_spmv_transpose(plan, 1, x, 0, y);
    if (step->slot < 0 || !plan->device->backend->spmv_dot) {
        TESS_TRY(tess_spmv(plan, 1, x, 0, y));
        return step->slot < 0 ? TESS_OK : run_dot(space, step, system);
    }
    return tess_spmv_dot(plan, 1, x, 0, y, vector(space, step->w, system),
                         &slots_of(space, system)[step->slot]);
}

/* y = A x for several systems: one SpMM where that saves reading the matrix, then the dots. */
static tess_status apply_many(tess_space *space, const tess_step *step, const int *systems,
                              int count)
{
    tess_plan *plan = step->plan ? step->plan : space->plan;
    if (step->transpose || !plan->device->backend->spmm || count == 1) {
        for (int i = 0; i < count; i++)
            TESS_TRY(apply_one(space, step, systems[i]));
        return TESS_OK;
    }
    /* Systems that are done are multiplied too: their vectors no longer matter. */
    TESS_TRY(tess_spmm(plan, space->systems, TESS_COLUMN_MAJOR, step->plan ? step->alpha : 1,
                       vector(space, step->x, 0), tess_space_level_of(space, step->x)->stride,
                       step->plan ? step->beta : 0, vector(space, step->y, 0),
                       tess_space_level_of(space, step->y)->stride));
    if (step->slot < 0)
        return TESS_OK;
    for (int i = 0; i < count; i++)
        TESS_TRY(run_dot(space, step, systems[i]));
    return TESS_OK;
}

static tess_status run_step(tess_space *space, const tess_steps *steps, const tess_step *step,
                            const int *systems, int count)
{
    if (step->kind == TESS_STEP_SCALAR)
        TESS_TRY(receive_sums(space));
    if (step->kind == TESS_STEP_APPLY)
        return apply_many(space, step, systems, count);
    for (int i = 0; i < count; i++) {
        if (step->kind == TESS_STEP_PASS)
            TESS_TRY(run_pass(space, steps, step, systems[i]));
        else if (step->kind == TESS_STEP_SCALAR)
            run_scalar(space, step, systems[i]);
        else if (step->kind == TESS_STEP_CONVERT)
            run_convert(space, step, systems[i]);
        else
            step->pc->ops->apply(step->pc, step->transpose, vector(space, step->x, systems[i]),
                                 vector(space, step->y, systems[i]));
    }
    return TESS_OK;
}

static tess_status run(tess_space *space, const tess_steps *steps, const int *systems, int count)
{
    double then = tess_seconds();
    for (int64_t i = 0; i < steps->count; i++) {
        const tess_step *step = &steps->step[i];
        TESS_TRY(run_step(space, steps, step, systems, count));
        /* Reading the clock takes longer than this: it is counted with the step that follows. */
        if (step->kind == TESS_STEP_SCALAR)
            continue;
        double now = tess_seconds();
        tess_space_account(space, step, count, now - then);
        then = now;
    }
    return TESS_OK;
}

/* The host is here anyway: one iteration at a time. */
static tess_status advance(tess_space *space, const tess_stretch *stretch)
{
    for (int i = 0; i < stretch->count; i++)
        stretch->done[i] = 1;
    return run(space, &stretch->lists[stretch->position], stretch->systems, stretch->count);
}

static tess_status recall(tess_space *space, int system, int64_t i, double *to)
{
    (void)i;
    return read_slots(space, system, to);
}

const tess_space_ops tess_space_cpu = {
    .open = space_open,
    .close = space_close,
    .upload = upload,
    .download = download,
    .read_slots = read_slots,
    .write_slots = write_slots,
    .run = run,
    .advance = advance,
    .recall = recall,
};
