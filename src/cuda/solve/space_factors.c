/* Copies in device memory of the triangular factors that PRECONDITION steps of a solver's lists
 * apply: the preconditioner's own, or those of the smoothers of its levels. */
#include "cuda/solve/space.h"

struct tess_cuda_applied {
    tess_cuda_applied *next;
    const tess_pc *pc;
    tess_cuda_factors *factors;
};

tess_cuda_factors *tess_cuda_factors_of(const tess_cuda_space *state, const tess_pc *pc)
{
    for (const tess_cuda_applied *a = state->applied; a; a = a->next)
        if (a->pc == pc)
            return a->factors;
    return NULL;
}

static tess_status need(tess_cuda_space *state, const tess_pc *pc)
{
    tess_cuda_applied *a;
    if (tess_cuda_factors_of(state, pc))
        return TESS_OK;
    TESS_TRY(TESS_CALLOC(state->cuda->ctx, 1, &a));
    const tess_status status =
        tess_cuda_factors_create(state->cuda, pc, state->plan->stream, &a->factors);
    if (status != TESS_OK) {
        tess_free(state->cuda->ctx, a);
        return status;
    }
    a->pc = pc;
    a->next = state->applied;
    state->applied = a;
    return TESS_OK;
}

tess_status tess_cuda_need_factors(tess_cuda_space *state, const tess_steps *steps)
{
    for (int64_t i = 0; i < steps->count; i++) {
        const tess_step *step = &steps->step[i];
        if (step->kind == TESS_STEP_PRECONDITION && !tess_pc_given_operator(step->pc))
            TESS_TRY(need(state, step->pc));
    }
    return TESS_OK;
}

tess_status tess_cuda_update_factors(tess_cuda_space *state)
{
    for (const tess_cuda_applied *a = state->applied; a; a = a->next)
        TESS_TRY(tess_cuda_factors_update(a->factors, state->plan->stream));
    return TESS_OK;
}

void tess_cuda_applied_free(tess_cuda_space *state)
{
    while (state->applied) {
        tess_cuda_applied *a = state->applied;
        state->applied = a->next;
        tess_cuda_factors_destroy(a->factors);
        tess_free(state->cuda->ctx, a);
    }
}
