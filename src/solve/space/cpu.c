/* The space of devices that compute on the host ("cpu", "ref"): vectors and slots in plain memory.
 *
 * Threads share the chunks of a pass, which are cut at multiples of the block height. Chunks are
 * small enough that what one update writes is in cache for the next, large enough for long runs of
 * each vector, and as many as give every thread its share. A dot product is the sum of the chunks'
 * sums in order, whoever computed them. Chunks depend on the matrix alone.
 */
#include "solve/space/cpu.h"

enum { CHUNK_LEAST = 512, CHUNK_MOST = 8192, CHUNKS_WANTED = 64 };
static void space_close(tess_space *space)
{
    tess_cpu_state *state = space->state;
    if (!state)
        return;
    tess_cpu_receive(space); /* a failure no longer matters */
    TESS_FREE(space->ctx, state->data, state->slots, state->updates, state->sums, state->chunks,
              state);
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

/* First touch: the threads that will compute in the memory clear it. */
static void clear(const tess_space *space, char *data, int64_t bytes)
{
    tess_for_shares(space->ctx, space->plan->device->threads, tess_ceil_div(bytes, CLEAR_BYTES),
                    clear_pieces, &(struct clear_pieces){data, bytes});
}

static tess_cpu_chunks cut(const tess_space_level *level)
{
    int64_t size = CHUNK_LEAST;
    while (size < CHUNK_MOST && level->rows / (2 * size) >= CHUNKS_WANTED)
        size *= 2;
    size = level->block < size ? size / level->block * level->block : level->block;
    return (tess_cpu_chunks){size, tess_ceil_div(level->rows, size)};
}

static tess_status space_open(tess_space *space)
{
    tess_cpu_state *state;
    const int levels = space->pc->own.levels + 1;
    TESS_TRY(TESS_CALLOC(space->ctx, 1, &state));
    space->state = state;
    state->slot_reals = tess_space_slot_reals(space);
    tess_status status = tess_alloc_bytes(space->ctx, space->data_bytes, 1, (void **)&state->data);
    if (status == TESS_OK)
        status = TESS_ALLOC(space->ctx, levels, &state->chunks);
    for (int i = 0; status == TESS_OK && i < levels; i++)
        state->chunks[i] = cut(&space->level[i]);
    if (status == TESS_OK)
        status = TESS_CALLOC(space->ctx, state->slot_reals * space->systems, &state->slots);
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
        memcpy(tess_cpu_vector(space, v, system), from,
               (size_t)space->rows * tess_type_size(space->type));
    return TESS_OK;
}

static tess_status download(tess_space *space, int v, int system, void *to)
{
    if (space->rows > 0)
        memcpy(to, tess_cpu_vector(space, v, system),
               (size_t)space->rows * tess_type_size(space->type));
    return TESS_OK;
}

static tess_status read_slots(tess_space *space, int system, double *to)
{
    TESS_TRY(tess_cpu_receive(space));
    memcpy(to, tess_cpu_slots(space, system), (size_t)tess_space_slot_reals(space) * sizeof *to);
    return TESS_OK;
}

static tess_status write_slots(tess_space *space, int system, const double *from)
{
    TESS_TRY(tess_cpu_receive(space));
    memcpy(tess_cpu_slots(space, system), from,
           (size_t)tess_space_slot_reals(space) * sizeof *from);
    return TESS_OK;
}

/* ---- The other steps ---- */

static void run_scalar(const tess_space *space, const tess_step *step, int system)
{
    double *slots = tess_cpu_slots(space, system);
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

/* Returns a / b, or 0 where that is not finite, as for reals. */
static tess_complex divide(tess_scalar_op op, tess_complex a, tess_complex b)
{
    const tess_complex out = tess_complex_quotient(a, b);
    const bool good = isfinite(out.re) && isfinite(out.im);
    return good && (op == TESS_OP_DIV || b.re > 0) ? out : (tess_complex){0, 0};
}

static __attribute__((noinline)) void run_complex_scalar(const tess_space *space,
                                                         const tess_step *step, int system)
{
    double *re = tess_cpu_slots(space, system), *im = re + space->slots;
    const tess_complex a = {re[step->a], im[step->a]};
    tess_complex b = {re[step->b], im[step->b]}, out = {0, 0};
    if (step->conjugate)
        b = tess_conjugate(b);
    switch (step->op) {
    case TESS_OP_DIV:
    case TESS_OP_DIV_POSITIVE:
        out = divide(step->op, a, b);
        break;
    case TESS_OP_MUL:
        out = tess_complex_product(a, b);
        break;
    case TESS_OP_ADD:
        out = tess_complex_sum(a, b);
        break;
    case TESS_OP_SUB:
        out = (tess_complex){a.re - b.re, a.im - b.im};
        break;
    case TESS_OP_SQRT: /* of a norm's square */
        out.re = sqrt(a.re);
        break;
    case TESS_OP_COPY:
        out = step->conjugate ? tess_conjugate(a) : a;
        break;
    }
    re[step->out] = out.re;
    im[step->out] = out.im;
}

/* Computes the dot product of a step whose product does not compute it. */
static tess_status run_dot(tess_space *space, const tess_step *step, int system)
{
    tess_update update = {
        .kind = TESS_UPDATE_DOT, .slot = step->slot, .x = step->w, .y = step->y, .dot = step->dot};
    const tess_steps dot = {.ctx = space->ctx, .update = &update};
    const tess_step pass = {.kind = TESS_STEP_PASS, .updates = 1, .vectors = 2};
    return tess_cpu_pass(space, &dot, &pass, system);
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
    const double slot = tess_cpu_slots(space, system)[step->slot];
    const double factor = !step->divide ? slot : slot > 0 ? 1 / slot : 0;
    tess_for_shares(space->ctx, tess_cpu_threads(space, 12 * (double)to->rows), to->rows,
                    convert_rows,
                    &(struct convert_rows){from->type, to->type, factor,
                                           tess_cpu_vector(space, step->x, system),
                                           tess_cpu_vector(space, step->y, system)});
}

static tess_status apply_one(tess_space *space, const tess_step *step, int system)
{
    if (step->slot >= 0)
        TESS_TRY(tess_cpu_receive(space));
    tess_plan *plan = space->plan;
    const void *x = tess_cpu_vector(space, step->x, system);
    void *y = tess_cpu_vector(space, step->y, system);
    if (step->plan)
        return tess_spmv(step->plan, step->alpha, x, step->beta, y);
    const bool complex = tess_is_complex(space->type);
    if (step->transpose && complex)
        return tess_spmv_complex(plan, TESS_OPERATION_CONJUGATE_TRANSPOSE, (tess_complex){1, 0}, x,
                                 (tess_complex){0, 0}, y);
    if (step->transpose)
        return tess_spmv_transpose(plan, 1, x, 0, y);
    if (step->slot < 0 || complex || !plan->device->backend->spmv_dot) {
        TESS_TRY(tess_spmv(plan, 1, x, 0, y));
        return step->slot < 0 ? TESS_OK : run_dot(space, step, system);
    }
    return tess_spmv_dot(plan, 1, x, 0, y, tess_cpu_vector(space, step->w, system),
                         &tess_cpu_slots(space, system)[step->slot]);
}

/* y = A x for several systems: one SpMM where that saves reading the matrix, then the dots. */
static tess_status apply_many(tess_space *space, const tess_step *step, const int *systems,
                              int count)
{
    tess_plan *plan = step->plan ? step->plan : space->plan;
    if (step->transpose || !plan->device->backend->spmm || count == 1 ||
        (plan->named && plan->one_vector)) {
        for (int i = 0; i < count; i++)
            TESS_TRY(apply_one(space, step, systems[i]));
        return TESS_OK;
    }
    /* Systems that are done are multiplied too: their vectors no longer matter. */
    TESS_TRY(tess_spmm(plan, space->systems, TESS_ORDER_COLUMN_MAJOR, step->plan ? step->alpha : 1,
                       tess_cpu_vector(space, step->x, 0),
                       tess_space_level_of(space, step->x)->stride, step->plan ? step->beta : 0,
                       tess_cpu_vector(space, step->y, 0),
                       tess_space_level_of(space, step->y)->stride));
    if (step->slot < 0)
        return TESS_OK;
    for (int i = 0; i < count; i++)
        TESS_TRY(run_dot(space, step, systems[i]));
    return TESS_OK;
}

static tess_status run_step(tess_space *space, const tess_steps *steps, const tess_step *step,
                            bool complex, const int *systems, int count)
{
    if (step->kind == TESS_STEP_SCALAR)
        TESS_TRY(tess_cpu_receive(space));
    if (step->kind == TESS_STEP_APPLY)
        return apply_many(space, step, systems, count);
    for (int i = 0; i < count; i++) {
        if (step->kind == TESS_STEP_PASS)
            TESS_TRY(tess_cpu_pass(space, steps, step, systems[i]));
        else if (step->kind == TESS_STEP_SCALAR && complex)
            run_complex_scalar(space, step, systems[i]);
        else if (step->kind == TESS_STEP_SCALAR)
            run_scalar(space, step, systems[i]);
        else if (step->kind == TESS_STEP_CONVERT)
            run_convert(space, step, systems[i]);
        else
            step->pc->ops->apply(step->pc, step->transpose,
                                 tess_cpu_vector(space, step->x, systems[i]),
                                 tess_cpu_vector(space, step->y, systems[i]));
    }
    return TESS_OK;
}

static tess_status run(tess_space *space, const tess_steps *steps, const int *systems, int count)
{
    const bool complex = tess_is_complex(space->type);
    double then = tess_seconds();
    for (int64_t i = 0; i < steps->count; i++) {
        const tess_step *step = &steps->step[i];
        TESS_TRY(run_step(space, steps, step, complex, systems, count));
        /* Reading the clock takes longer than a scalar step, whose time counts with the next
         * step. */
        if (step->kind == TESS_STEP_SCALAR)
            continue;
        double now = tess_seconds();
        tess_space_account(space, step, count, now - then);
        then = now;
    }
    return TESS_OK;
}

/* Runs one iteration: the host is here anyway, and looks after each. */
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

static tess_status prepare(tess_space *space, const tess_steps *const *once, int count,
                           const tess_stretch *stretch)
{
    for (int i = 0; i < count; i++)
        TESS_TRY(tess_cpu_reserve(space, once[i]));
    for (int64_t i = 0; i < stretch->cycle; i++)
        TESS_TRY(tess_cpu_reserve(space, &stretch->lists[i]));
    return TESS_OK;
}

const tess_space_ops tess_space_cpu = {
    .open = space_open,
    .close = space_close,
    .prepare = prepare,
    .upload = upload,
    .download = download,
    .read_slots = read_slots,
    .write_slots = write_slots,
    .run = run,
    .advance = advance,
    .recall = recall,
};
