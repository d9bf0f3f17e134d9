/* Copies in device memory of the block diagonals that the updates of a solver's lists apply. */
#include "cuda/solve/space.h"

struct tess_cuda_diagonal {
    tess_cuda_diagonal *next;
    const tess_diagonal *from;
    const void *blocks; /* the array when the copy was made; passes find the copy by it */
    cu_pointer copy;    /* the array itself where it is resident */
};

cu_pointer tess_cuda_diagonal_copy(const tess_cuda_space *state, const tess_diagonal *diagonal)
{
    for (const tess_cuda_diagonal *d = state->diagonals; d; d = d->next)
        if (d->blocks == diagonal->blocks)
            return d->copy;
    return 0;
}

/* Uploads a diagonal. A resident one was written in the library's stream, which is waited for. */
static tess_status upload(tess_cuda_space *state, const tess_cuda_diagonal *d)
{
    if (d->from->resident)
        return TESS_CU(state->cuda, cuStreamSynchronize(state->cuda->stream));
    return tess_cuda_upload(state->cuda, d->copy, d->from->blocks, d->from->bytes,
                            state->plan->stream);
}

static tess_status need(tess_cuda_space *state, const tess_diagonal *diagonal)
{
    tess_cuda_diagonal *d;
    if (tess_cuda_diagonal_copy(state, diagonal))
        return TESS_OK;
    TESS_TRY(TESS_CALLOC(state->cuda->ctx, 1, &d));
    *d = (tess_cuda_diagonal){
        .next = state->diagonals, .from = diagonal, .blocks = diagonal->blocks};
    state->diagonals = d;
    if (diagonal->resident)
        d->copy = tess_cuda_address(diagonal->blocks);
    else
        TESS_TRY(tess_cuda_alloc(state->cuda, diagonal->bytes, "the preconditioner", &d->copy));
    return upload(state, d);
}

tess_status tess_cuda_need_diagonals(tess_cuda_space *state, const tess_steps *steps)
{
    for (int64_t i = 0; i < steps->update_count; i++)
        if (steps->update[i].kind == TESS_UPDATE_DIAGONAL)
            TESS_TRY(need(state, steps->update[i].diagonal));
    return TESS_OK;
}

tess_status tess_cuda_update_diagonals(tess_cuda_space *state)
{
    for (const tess_cuda_diagonal *d = state->diagonals; d; d = d->next)
        TESS_TRY(upload(state, d));
    return TESS_CU(state->cuda, cuStreamSynchronize(state->plan->stream));
}

void tess_cuda_diagonals_free(tess_cuda_space *state)
{
    while (state->diagonals) {
        tess_cuda_diagonal *d = state->diagonals;
        state->diagonals = d->next;
        if (d->copy != tess_cuda_address(d->blocks))
            tess_cuda_free(state->cuda, d->copy);
        tess_free(state->cuda->ctx, d);
    }
}
