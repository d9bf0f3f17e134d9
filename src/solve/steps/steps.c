/* Building a list of steps. An update joins the pass under construction where it may; the traffic
 * of each pass is counted. */
#include "solve/steps/steps.h"

void tess_steps_free(tess_steps *steps)
{
    TESS_FREE(steps->ctx, steps->step, steps->update);
    steps->step = NULL;
    steps->update = NULL;
    steps->count = steps->capacity = steps->update_count = steps->update_capacity = 0;
}

static void add_step(tess_steps *steps, const tess_step *step)
{
    if (steps->status == TESS_OK)
        steps->status = TESS_GROW(steps->ctx, &steps->step, steps->count, &steps->capacity);
    if (steps->status == TESS_OK)
        steps->step[steps->count++] = *step;
}

/* Whether a pass has computed this slot, so that its updates cannot use it yet. */
static bool pending(const tess_steps *steps, const tess_step *pass, int slot)
{
    for (int64_t i = pass->first_update; i < pass->first_update + pass->updates; i++)
        if (steps->update[i].kind == TESS_UPDATE_DOT && steps->update[i].slot == slot)
            return true;
    return false;
}

static bool fits(const tess_steps *steps, const tess_update *update)
{
    if (steps->count == 0 || steps->step[steps->count - 1].kind != TESS_STEP_PASS)
        return false;
    const tess_step *pass = &steps->step[steps->count - 1];
    if (pass->level != steps->level)
        return false;
    for (int i = 0; i < update->terms; i++)
        if (pending(steps, pass, update->term[i].slot))
            return false;
    return true;
}

static void add_update(tess_steps *steps, const tess_update *update)
{
    if (!fits(steps, update))
        add_step(steps, &(tess_step){.kind = TESS_STEP_PASS,
                                     .first_update = steps->update_count,
                                     .level = steps->level});
    if (steps->status == TESS_OK)
        steps->status =
            TESS_GROW(steps->ctx, &steps->update, steps->update_count, &steps->update_capacity);
    if (steps->status != TESS_OK)
        return;
    steps->update[steps->update_count++] = *update;
    steps->step[steps->count - 1].updates++;
}

void tess_step_apply(tess_steps *steps, int x, int y)
{
    add_step(steps, &(tess_step){.kind = TESS_STEP_APPLY, .x = x, .y = y, .slot = -1});
}

void tess_step_apply_transpose(tess_steps *steps, int x, int y)
{
    add_step(steps,
             &(tess_step){.kind = TESS_STEP_APPLY, .x = x, .y = y, .slot = -1, .transpose = true});
}

/* A norm is real whatever the list. */
static tess_dot_kind dot_kind(const tess_steps *steps, int x, int y, tess_dot_kind kind)
{
    return steps->real_dots || x == y ? TESS_DOT_REAL : kind;
}

static void add_dot(tess_steps *steps, int slot, int x, int y, tess_dot_kind kind)
{
    add_update(steps, &(tess_update){.kind = TESS_UPDATE_DOT,
                                     .slot = slot,
                                     .x = x,
                                     .y = y,
                                     .dot = dot_kind(steps, x, y, kind)});
}

void tess_step_apply_dot(tess_steps *steps, int x, int y, int w, int slot)
{
    add_step(steps, &(tess_step){.kind = TESS_STEP_APPLY,
                                 .x = x,
                                 .y = y,
                                 .w = w,
                                 .slot = slot,
                                 .dot = dot_kind(steps, w, y, TESS_DOT_FORWARD)});
}

void tess_step_product(tess_steps *steps, struct tess_plan *plan, double alpha, int x, double beta,
                       int y)
{
    add_step(steps, &(tess_step){.kind = TESS_STEP_APPLY,
                                 .x = x,
                                 .y = y,
                                 .slot = -1,
                                 .plan = plan,
                                 .alpha = alpha,
                                 .beta = beta});
}

void tess_step_convert(tess_steps *steps, int level, int x, int y, int slot, bool divide)
{
    add_step(steps, &(tess_step){.kind = TESS_STEP_CONVERT,
                                 .x = x,
                                 .y = y,
                                 .slot = slot,
                                 .divide = divide,
                                 .level = level});
}

void tess_steps_on_level(tess_steps *steps, int level)
{
    steps->level = level;
}

void tess_step_precondition(tess_steps *steps, const struct tess_pc *pc, int x, int y,
                            bool transpose)
{
    add_step(steps, &(tess_step){.kind = TESS_STEP_PRECONDITION,
                                 .x = x,
                                 .y = y,
                                 .level = steps->level,
                                 .pc = pc,
                                 .transpose = transpose});
}

void tess_step_diagonal(tess_steps *steps, const tess_diagonal *diagonal, int x, int out,
                        bool transpose)
{
    add_update(steps, &(tess_update){.kind = TESS_UPDATE_DIAGONAL,
                                     .out = out,
                                     .x = x,
                                     .diagonal = diagonal,
                                     .transpose = transpose});
}

void tess_step_combine(tess_steps *steps, int out, int terms, const tess_term *term)
{
    tess_update update = {.kind = TESS_UPDATE_COMBINE, .out = out, .terms = terms};
    for (int i = 0; i < terms; i++)
        update.term[i] = term[i];
    add_update(steps, &update);
}

void tess_step_dot(tess_steps *steps, int slot, int x, int y)
{
    add_dot(steps, slot, x, y, TESS_DOT_FORWARD);
}

void tess_step_project(tess_steps *steps, int slot, int x, int v)
{
    add_dot(steps, slot, x, v, TESS_DOT_REVERSED);
}

static void add_scalar(tess_steps *steps, tess_scalar_op op, int out, int a, int b, bool conjugate)
{
    add_step(steps, &(tess_step){.kind = TESS_STEP_SCALAR,
                                 .op = op,
                                 .out = out,
                                 .a = a,
                                 .b = b,
                                 .conjugate = conjugate});
}

void tess_step_scalar(tess_steps *steps, tess_scalar_op op, int out, int a, int b)
{
    add_scalar(steps, op, out, a, b, false);
}

void tess_step_scalar_conjugate(tess_steps *steps, tess_scalar_op op, int out, int a, int b)
{
    add_scalar(steps, op, out, a, b, true);
}

/* Whether updates first .. last-1 write `vector`, or read or write it where `written` is false. */
static bool touched(const tess_steps *steps, int64_t first, int64_t last, int vector, bool written)
{
    for (int64_t i = first; i < last; i++) {
        const tess_update *update = &steps->update[i];
        if (update->kind != TESS_UPDATE_DOT && update->out == vector)
            return true;
        if (written)
            continue;
        if (update->kind == TESS_UPDATE_COMBINE) {
            for (int t = 0; t < update->terms; t++)
                if (update->term[t].vector == vector)
                    return true;
        } else if (update->x == vector ||
                   (update->kind == TESS_UPDATE_DOT && update->y == vector)) {
            return true;
        }
    }
    return false;
}

/* Vectors moved by one update that earlier updates of its pass, from `first` on, have not moved. */
static double new_traffic(const tess_steps *steps, int64_t first, int64_t at)
{
    const tess_update *update = &steps->update[at];
    double moved = 0;
    int in[TESS_TERMS_MAX], count = 0;
    if (update->kind == TESS_UPDATE_COMBINE) {
        for (int t = 0; t < update->terms; t++)
            in[count++] = update->term[t].vector;
    } else {
        in[count++] = update->x;
        if (update->kind == TESS_UPDATE_DOT && update->y != update->x)
            in[count++] = update->y;
    }
    for (int i = 0; i < count; i++)
        moved += !touched(steps, first, at, in[i], false);
    if (update->kind != TESS_UPDATE_DOT)
        moved += !touched(steps, first, at, update->out, true);
    return moved;
}

tess_status tess_steps_finish(tess_steps *steps)
{
    TESS_TRY(steps->status);
    for (int64_t s = 0; s < steps->count; s++) {
        tess_step *pass = &steps->step[s];
        if (pass->kind != TESS_STEP_PASS)
            continue;
        double moved[TESS_UPDATE_DOT + 1] = {0};
        for (int64_t i = pass->first_update; i < pass->first_update + pass->updates; i++) {
            const tess_update *update = &steps->update[i];
            moved[update->kind] +=
                new_traffic(steps, pass->first_update, i) +
                (update->kind == TESS_UPDATE_DIAGONAL ? (double)update->diagonal->block : 0);
        }
        pass->vectors =
            moved[TESS_UPDATE_COMBINE] + moved[TESS_UPDATE_DIAGONAL] + moved[TESS_UPDATE_DOT];
        pass->diagonal_share = pass->vectors > 0 ? moved[TESS_UPDATE_DIAGONAL] / pass->vectors : 0;
        pass->dot_share = pass->vectors > 0 ? moved[TESS_UPDATE_DOT] / pass->vectors : 0;
    }
    return TESS_OK;
}
