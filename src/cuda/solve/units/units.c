/* Turns a list of steps into units: launches, and the programmes of scalars between them. No device
 * is needed here. */
#include "cuda/solve/units/units.h"

static tess_status put_ints(tess_ctx *ctx, tess_unit_list *list, int count, const int *ints)
{
    for (int i = 0; i < count; i++) {
        TESS_TRY(
            TESS_GROW(ctx, &list->programmes, list->programme_count, &list->programme_capacity));
        list->programmes[list->programme_count++] = ints[i];
    }
    return TESS_OK;
}

static tess_status add_unit(tess_ctx *ctx, tess_unit_list *list, const tess_unit *unit)
{
    TESS_TRY(TESS_GROW(ctx, &list->units, list->count, &list->capacity));
    list->units[list->count++] = *unit;
    return TESS_OK;
}

/* Adds a unit that ends a dot product or computes scalars: it has a programme, empty at first. */
static tess_status add_ending(tess_ctx *ctx, tess_unit_list *list, tess_unit *unit)
{
    static const int empty[3] = {0};
    unit->programme = list->programme_count;
    TESS_TRY(put_ints(ctx, list, 3, empty));
    return add_unit(ctx, list, unit);
}

static tess_status add_pass(tess_ctx *ctx, tess_unit_list *list, const tess_steps *steps,
                            const tess_step *step)
{
    for (int64_t first = 0; first < step->updates;) {
        tess_unit unit = {.kind = TESS_UNIT_PASS, .step = step, .programme = -1};
        unit.first_update = step->first_update + first;
        TESS_TRY(TESS_ALLOC(ctx, 1, &unit.pass));
        unit.updates = tess_pass_take(steps, step, first, list->imaginary, unit.pass);
        first += unit.updates;
        tess_status status =
            unit.pass->dots > 0 ? add_ending(ctx, list, &unit) : add_unit(ctx, list, &unit);
        if (status != TESS_OK) {
            tess_free(ctx, unit.pass);
            return status;
        }
    }
    return TESS_OK;
}

bool tess_step_fuses(const tess_step *step, tess_fused fused)
{
    return fused != TESS_FUSED_NONE && step->kind == TESS_STEP_APPLY && step->slot >= 0 &&
           !step->transpose && !(fused == TESS_FUSED_HALO && step->w == step->y);
}

/* Adds a product, and a FINISH for its dot product. The FINISH has a pass for products without a
 * fused form, and for several systems that are multiplied together. */
static tess_status add_apply(tess_ctx *ctx, tess_unit_list *list, const tess_step *step,
                             tess_fused fused)
{
    tess_unit unit = {.kind = TESS_UNIT_APPLY, .step = step, .programme = -1};
    unit.sums = tess_step_fuses(step, fused);
    TESS_TRY(add_unit(ctx, list, &unit));
    if (step->slot < 0)
        return TESS_OK;
    tess_update update = {
        .kind = TESS_UPDATE_DOT, .slot = step->slot, .x = step->w, .y = step->y, .dot = step->dot};
    const tess_steps dot = {.ctx = ctx, .update = &update};
    const tess_step pass = {.kind = TESS_STEP_PASS, .updates = 1};
    unit.kind = TESS_UNIT_FINISH;
    TESS_TRY(TESS_ALLOC(ctx, 1, &unit.pass));
    (void)tess_pass_take(&dot, &pass, 0, list->imaginary, unit.pass);
    tess_status status = add_ending(ctx, list, &unit);
    if (status != TESS_OK)
        tess_free(ctx, unit.pass);
    return status;
}

static tess_status add_scalar(tess_ctx *ctx, tess_unit_list *list, const tess_step *step)
{
    if (list->count == 0 || list->units[list->count - 1].programme < 0) {
        tess_unit unit = {.kind = TESS_UNIT_FINISH, .step = step};
        TESS_TRY(add_ending(ctx, list, &unit));
    }
    const bool conjugate = list->imaginary > 0 && step->conjugate;
    const int op[4] = {(int)step->op + (conjugate ? TESS_OP_CONJUGATED : 0), step->out, step->a,
                       step->b};
    TESS_TRY(put_ints(ctx, list, 4, op));
    list->programmes[list->units[list->count - 1].programme]++;
    return TESS_OK;
}

static tess_status add_step(tess_ctx *ctx, tess_unit_list *list, const tess_steps *steps,
                            const tess_step *step, tess_fused fused)
{
    switch (step->kind) {
    case TESS_STEP_PASS:
        return add_pass(ctx, list, steps, step);
    case TESS_STEP_SCALAR:
        return add_scalar(ctx, list, step);
    case TESS_STEP_APPLY:
        return add_apply(ctx, list, step, fused);
    case TESS_STEP_CONVERT:
        return add_unit(ctx, list,
                        &(tess_unit){.kind = TESS_UNIT_RESCALE, .step = step, .programme = -1});
    case TESS_STEP_PRECONDITION:
        break;
    }
    return add_unit(ctx, list,
                    &(tess_unit){.kind = TESS_UNIT_PRECONDITION, .step = step, .programme = -1});
}

/* Makes the last programme judge the iteration. Units behind it still belong to the iteration. */
static tess_status add_end(tess_ctx *ctx, tess_unit_list *list, const tess_stop *stops, int count)
{
    int64_t last = list->count;
    while (last > 0 && list->units[last - 1].programme < 0)
        last--;
    if (last == 0)
        return tess_fail(ctx, TESS_ERR_INTERNAL, "an iteration without a dot product");
    int *header = list->programmes + list->units[last - 1].programme;
    header[1] = count;
    header[2] = 1;
    for (int i = 0; i < count; i++)
        TESS_TRY(put_ints(ctx, list, 3, (const int[]){(int)stops[i].kind, stops[i].a, stops[i].b}));
    for (int64_t i = 0; i < list->count; i++)
        list->units[i].guard = i < last ? TESS_GUARD_STOPPED : TESS_GUARD_PAST;
    return TESS_OK;
}

tess_status tess_units_build(tess_unit_list *list, tess_fused fused, bool iteration,
                             const tess_stop *stops, int stop_count)
{
    const tess_steps *steps = list->steps;
    list->ctx = steps->ctx;
    for (int64_t i = 0; i < steps->count; i++)
        TESS_TRY(add_step(steps->ctx, list, steps, &steps->step[i], fused));
    for (int64_t i = 0; i < list->count; i++)
        list->units[i].guard = TESS_GUARD_NONE;
    return iteration ? add_end(steps->ctx, list, stops, stop_count) : TESS_OK;
}

void tess_units_free(tess_unit_list *list)
{
    tess_ctx *ctx = list->ctx;
    for (int64_t i = 0; i < list->count; i++)
        tess_free(ctx, list->units[i].pass);
    TESS_FREE(ctx, list->units, list->programmes);
}
