/* Our preconditioners alone: a space of two vectors in which the steps of z = M^-1 r run. */
#include "plan/tuner.h"
#include "solve/solve.h"

struct tess_preconditioner {
    tess_ctx *ctx;
    tess_plan *plan;
    tess_pc pc;
    tess_steps steps;
    tess_space space;
    int at; /* the vector that M^-1 r is in */
};

enum { V_R, V_Z, VECTORS, SLOTS = 1 };

void tess_pc_destroy(tess_preconditioner *pc)
{
    if (!pc)
        return;
    tess_space_close(&pc->space);
    tess_steps_free(&pc->steps);
    tess_pc_tear_down(&pc->pc);
    tess_free(pc->ctx, pc);
}

/* "NAME:keys" as the preconditioner of a solver, whose own keys must not be among them. */
static tess_status parse(tess_ctx *ctx, const char *spec, tess_pc_options *options)
{
    char text[512];
    tess_solve_options read, defaults;
    const size_t name = strcspn(spec, ":");
    const int length = snprintf(text, sizeof text, "gmres:pc=%.*s%s%s", (int)name, spec,
                                spec[name] ? "," : "", spec[name] ? spec + name + 1 : "");
    if (length >= (int)sizeof text)
        return tess_fail(ctx, TESS_ERR_OPTION, "a preconditioner of %zu characters: '%.40s...'",
                         strlen(spec), spec);
    TESS_TRY(tess_solve_options_parse(ctx, text, &read));
    TESS_TRY(tess_solve_options_parse(ctx, "gmres", &defaults));
    if (read.tol != defaults.tol || read.atol != defaults.atol || read.max != defaults.max ||
        read.restart != defaults.restart || read.stagnation != defaults.stagnation || read.left ||
        read.inner_single || read.scale != defaults.scale || read.order != defaults.order ||
        read.pc.pivot > 0)
        return tess_fail(ctx, TESS_ERR_OPTION,
                         "'%s': tol, atol, max, restart, stagnation, side, inner, scale, order and "
                         "pivot are a solver's keys, not a preconditioner's",
                         spec);
    *options = read.pc;
    return TESS_OK;
}

static tess_status prepare(tess_preconditioner *pc, const tess_pc_options *options)
{
    int vectors = VECTORS, slots = SLOTS;
    TESS_TRY(tess_pc_set_up(pc->plan, options, &pc->pc));
    tess_pc_place(&pc->pc, &vectors, &slots);
    pc->at = tess_pc_append(&pc->pc, &pc->steps, V_R, V_Z);
    TESS_TRY(tess_steps_finish(&pc->steps));
    TESS_TRY(tess_space_open(pc->plan, &pc->pc, vectors, slots, 1, &pc->space));
    const tess_steps *const once[] = {&pc->steps};
    const tess_stretch none = {.cycle = 0};
    const tess_space_ops *ops = pc->space.ops;
    return ops->prepare ? ops->prepare(&pc->space, once, 1, &none) : TESS_OK;
}

tess_status tess_pc_create(tess_plan *plan, const char *spec, tess_preconditioner **out)
{
    tess_preconditioner *pc;
    tess_pc_options options;
    if (!plan)
        return TESS_ERR_ARGUMENT;
    tess_ctx *ctx = plan->ctx;
    const tess_matrix *A = plan->matrix;
    if (!spec || !out)
        return tess_null_argument(ctx, __func__);
    if (A->rows != A->cols)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "a preconditioner needs a square matrix, not %lld x %lld",
                         (long long)A->rows, (long long)A->cols);
    TESS_TRY(parse(ctx, spec, &options));
    if (plan->device->backend->matrix_free && !options.ops->identity)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "pc=%s is made of entries, and the caller's operator has none",
                         options.ops->name);
    TESS_TRY(tess_plan_follow(plan));
    TESS_TRY(TESS_CALLOC(ctx, 1, &pc));
    *pc =
        (tess_preconditioner){.ctx = ctx, .plan = plan, .pc = {.ctx = ctx}, .steps = {.ctx = ctx}};
    const tess_status status = prepare(pc, &options);
    if (status != TESS_OK) {
        tess_pc_destroy(pc);
        return status;
    }
    *out = pc;
    return TESS_OK;
}

tess_status tess_pc_apply(tess_preconditioner *pc, const void *r, void *z)
{
    static const int first = 0;
    if (!pc)
        return TESS_ERR_ARGUMENT;
    if (pc->space.rows > 0 && (!r || !z))
        return tess_fail(pc->ctx, TESS_ERR_ARGUMENT, "tess_pc_apply: %s is NULL", r ? "z" : "r");
    tess_space *space = &pc->space;
    TESS_TRY(space->ops->upload(space, V_R, 0, r));
    TESS_TRY(space->ops->run(space, &pc->steps, &first, 1));
    return space->ops->download(space, pc->at, 0, z);
}

tess_status tess_pc_update(tess_preconditioner *pc, const void *values)
{
    if (!pc)
        return TESS_ERR_ARGUMENT;
    TESS_TRY(values ? tess_plan_update_values(pc->plan, values) : tess_plan_follow(pc->plan));
    TESS_TRY(tess_pc_update_values(pc->plan, &pc->pc));
    return pc->space.ops->update_values ? pc->space.ops->update_values(&pc->space) : TESS_OK;
}
