/* The caller's preconditioner, z = M^-1 r by a call. A failure is kept until the solve asks for
 * it. */
#include "solve/pc/pc.h"

typedef struct given_state {
    tess_operator operator;
    tess_status status; /* of the last call that failed */
} given_state;

static tess_status set_up(tess_plan *plan, tess_pc *pc)
{
    given_state *state;
    TESS_TRY(TESS_CALLOC(plan->ctx, 1, &state));
    state->operator= * pc->options.caller;
    pc->state = state;
    return TESS_OK;
}

/* The caller's operator learns of new values by itself. */
static tess_status update(tess_plan *plan, tess_pc *pc)
{
    (void)plan, (void)pc;
    return TESS_OK;
}

/* A failed call leaves a NaN, with which every method ends. */
static void apply(const tess_pc *pc, bool transpose, const void *r, void *z)
{
    given_state *state = pc->state;
    const tess_status status = state->operator.apply(state->operator.user, transpose, r, z, NULL);
    if (status == TESS_OK)
        return;
    state->status = status;
    for (int64_t i = 0; i < state->operator.rows; i++)
        tess_put(z, state->operator.type, i, NAN);
}

static double bytes(const tess_pc *pc)
{
    return ((const given_state *)pc->state)->operator.bytes;
}

static void destroy(tess_pc *pc)
{
    tess_free(pc->ctx, pc->state);
}

const tess_operator *tess_pc_given_operator(const tess_pc *pc)
{
    return pc->ops == &tess_pc_given ? &((const given_state *)pc->state)->operator: NULL;
}

tess_status tess_pc_given_status(const tess_pc *pc)
{
    if (pc->ops != &tess_pc_given || !pc->state)
        return TESS_OK;
    given_state *state = pc->state;
    const tess_status status = state->status;
    state->status = TESS_OK;
    return status == TESS_OK ? TESS_OK
                             : tess_fail(pc->ctx, status, "the caller's preconditioner failed: %s",
                                         tess_status_text(status));
}

const tess_pc_ops tess_pc_given = {
    .name = "given",
    .summary = "the caller's",
    .set_up = set_up,
    .update = update,
    .append = tess_pc_append_step,
    .apply = apply,
    .bytes = bytes,
    .free = destroy,
};
