/* A preconditioner without a method: a space of two vectors in which the steps of z = M^-1 r
 * run. */
#include "plan/regrouped.h"
#include "solve/solve.h"

/* Which steps run: those of M^-1 r, or those of M^-T r. */
enum { PLAIN, TRANSPOSED, WAYS };

/* What is made of the matrix and the options, and replaced as a whole. */
typedef struct made {
    tess_pc pc;
    tess_steps steps[WAYS];
    int at[WAYS]; /* the vector that the result is in */
    tess_space space;
} made;

struct tess_preconditioner {
    tess_ctx *ctx;
    tess_plan *plan;  /* the caller's, or its inner plan */
    tess_plan *outer; /* the caller's, where it permutes inside; else NULL */
    tess_pc_options options;
    double *modes; /* that options.amg reads */
    made *made;    /* NULL until first needed, where the preconditioner takes modes */
};

enum { V_R, V_Z, VECTORS, SLOTS = 1 };

static void unmake(tess_ctx *ctx, made *m)
{
    if (!m)
        return;
    tess_space_close(&m->space);
    for (int way = 0; way < WAYS; way++)
        tess_steps_free(&m->steps[way]);
    tess_pc_tear_down(&m->pc);
    tess_free(ctx, m);
}

void tess_pc_destroy(tess_preconditioner *pc)
{
    if (!pc)
        return;
    unmake(pc->ctx, pc->made);
    tess_free(pc->ctx, pc->modes);
    tess_free(pc->ctx, pc);
}

/* Parses "NAME:keys" as the preconditioner of a solver. Keys of the solver itself are refused. */
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

static tess_status prepare(tess_plan *plan, const tess_pc_options *options, made *m)
{
    int vectors = VECTORS, slots = SLOTS;
    const int ways = options->transpose ? WAYS : 1;
    TESS_TRY(tess_pc_agree(plan, tess_pc_set_up(plan, options, &m->pc)));
    tess_pc_place(&m->pc, &vectors, &slots);
    m->at[PLAIN] = tess_pc_append(&m->pc, &m->steps[PLAIN], V_R, V_Z);
    if (options->transpose)
        m->at[TRANSPOSED] = tess_pc_append_transpose(&m->pc, &m->steps[TRANSPOSED], V_R, V_Z);
    for (int way = 0; way < ways; way++)
        TESS_TRY(tess_steps_finish(&m->steps[way]));
    TESS_TRY(tess_space_open(plan, &m->pc, vectors, slots, 1, &m->space));
    const tess_steps *const lists[WAYS] = {&m->steps[PLAIN], &m->steps[TRANSPOSED]};
    const tess_stretch none = {.cycle = 0};
    const tess_space_ops *ops = m->space.ops;
    return ops->prepare ? ops->prepare(&m->space, lists, ways, &none) : TESS_OK;
}

/* Replaces pc->made by what is made from `options`, on all parts or on none. A failure changes
 * nothing. */
static tess_status make(tess_preconditioner *pc, const tess_pc_options *options)
{
    tess_ctx *ctx = pc->ctx;
    made *m = NULL;
    tess_status status = tess_plan_follow(pc->outer ? pc->outer : pc->plan);
    TESS_THEN(TESS_CALLOC(ctx, 1, &m));
    if (status == TESS_OK)
        *m = (made){.pc = {.ctx = ctx}, .steps = {{.ctx = ctx}, {.ctx = ctx}}};
    status = tess_pc_agree(pc->plan, status);
    TESS_THEN(tess_pc_agree(pc->plan, prepare(pc->plan, options, m)));
    if (status != TESS_OK) {
        unmake(ctx, m);
        return status;
    }
    unmake(ctx, pc->made);
    pc->made = m;
    pc->options = *options;
    return TESS_OK;
}

/* Reads what the caller asks for, and refuses what the plan does not take. */
static tess_status read_options(const tess_plan *plan, const char *spec, tess_pc_options *options)
{
    tess_ctx *ctx = plan->ctx;
    const tess_matrix *A = plan->matrix;
    if (A->rows != A->cols)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "a preconditioner needs a square matrix, not %lld x %lld",
                         (long long)A->rows, (long long)A->cols);
    TESS_TRY(parse(ctx, spec, options));
    if (tess_is_complex(A->type))
        TESS_TRY(tess_complex_check_pc(plan, options->ops));
    if (plan->device->backend->matrix_free && !options->ops->identity)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "pc=%s is made of entries, and the caller's operator has none",
                         options->ops->name);
    return TESS_OK;
}

tess_status tess_pc_create(tess_plan *plan, const char *spec, tess_preconditioner **out)
{
    tess_preconditioner *pc = NULL;
    tess_pc_options options;
    if (!plan)
        return TESS_ERR_ARGUMENT;
    tess_ctx *ctx = plan->ctx;
    tess_status status =
        spec && out ? read_options(plan, spec, &options) : tess_null_argument(ctx, __func__);
    TESS_THEN(TESS_CALLOC(ctx, 1, &pc));
    if (status == TESS_OK)
        *pc = (tess_preconditioner){.ctx = ctx,
                                    .plan = plan->inner ? plan->inner : plan,
                                    .outer = plan->inner ? plan : NULL,
                                    .options = options};
    status = tess_pc_agree(plan, status);
    if (status == TESS_OK && !options.ops->takes_modes)
        status = make(pc, &options);
    return TESS_DELIVER(status, pc, tess_pc_destroy, out);
}

tess_status tess_pc_set_modes(tess_preconditioner *pc, int k, const double *modes, int64_t ld)
{
    static const char call[] = "tess_pc_set_modes";
    double *copy = NULL;
    if (!pc)
        return TESS_ERR_ARGUMENT;
    if (!pc->options.ops->takes_modes)
        return tess_fail(pc->ctx, TESS_ERR_UNSUPPORTED, "%s: %s takes no modes: amg does", call,
                         pc->options.ops->name);
    tess_status status =
        tess_modes_copy(pc->outer ? pc->outer : pc->plan, call, k, modes, ld, &copy);
    status = tess_pc_agree(pc->plan, status);
    if (status != TESS_OK) {
        tess_free(pc->ctx, copy);
        return status;
    }
    unmake(pc->ctx, pc->made);
    pc->made = NULL;
    tess_free(pc->ctx, pc->modes);
    pc->modes = copy;
    pc->options.amg.modes = copy;
    pc->options.amg.mode_count = k;
    return TESS_OK;
}

static tess_status run(tess_preconditioner *pc, int way, const void *r, void *z)
{
    static const int first = 0;
    tess_space *space = &pc->made->space;
    TESS_TRY(space->ops->upload(space, V_R, 0, r));
    TESS_TRY(space->ops->run(space, &pc->made->steps[way], &first, 1));
    return space->ops->download(space, pc->made->at[way], 0, z);
}

/* The same for a plan that permutes inside. */
static tess_status run_permuted(tess_preconditioner *pc, int way, const void *r, void *z)
{
    void *taken = NULL, *result = NULL;
    tess_status status;
    TESS_TRY_CLEAN(tess_regrouped_alloc(pc->outer, r, 1, &taken));
    TESS_TRY_CLEAN(tess_regrouped_alloc(pc->outer, z, 1, &result));
    TESS_TRY_CLEAN(tess_regrouped_take(pc->outer, r, taken));
    TESS_TRY_CLEAN(run(pc, way, taken, result));
    TESS_TRY_CLEAN(tess_regrouped_give(pc->outer, result, z));
cleanup:
    tess_regrouped_release(pc->outer, taken);
    tess_regrouped_release(pc->outer, result);
    return status;
}

static tess_status apply(tess_preconditioner *pc, const char *call, int way, const void *r, void *z)
{
    if (!pc)
        return TESS_ERR_ARGUMENT;
    if (pc->plan->matrix->rows > 0 && (!r || !z))
        return tess_fail(pc->ctx, TESS_ERR_ARGUMENT, "%s: %s is NULL", call, r ? "z" : "r");
    tess_pc_options options = pc->options;
    options.transpose |= way == TRANSPOSED;
    if (!pc->made || options.transpose != pc->options.transpose)
        TESS_TRY(make(pc, &options));
    return pc->outer ? run_permuted(pc, way, r, z) : run(pc, way, r, z);
}

tess_status tess_pc_apply(tess_preconditioner *pc, const void *r, void *z)
{
    return apply(pc, "tess_pc_apply", PLAIN, r, z);
}

tess_status tess_pc_apply_transpose(tess_preconditioner *pc, const void *r, void *z)
{
    return apply(pc, "tess_pc_apply_transpose", TRANSPOSED, r, z);
}

tess_status tess_pc_update(tess_preconditioner *pc, const void *values)
{
    if (!pc)
        return TESS_ERR_ARGUMENT;
    tess_plan *plan = pc->outer ? pc->outer : pc->plan;
    TESS_TRY(values ? tess_plan_update_values(plan, values) : tess_plan_follow(plan));
    if (!pc->made)
        return TESS_OK;
    tess_space *space = &pc->made->space;
    TESS_TRY(tess_pc_agree(pc->plan, tess_pc_update_values(pc->plan, &pc->made->pc)));
    return space->ops->update_values ? tess_pc_agree(pc->plan, space->ops->update_values(space))
                                     : TESS_OK;
}

const char *tess_pc_describe(const tess_preconditioner *pc)
{
    const bool says = pc && pc->made && pc->options.ops->describe;
    return says ? pc->options.ops->describe(&pc->made->pc) : "";
}
