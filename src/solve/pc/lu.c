/* Complete factors by SuiteSparse (direct.h), on the host: M = A but for rounding.
 *
 * A symmetric matrix with a positive diagonal is tried as a positive definite one first.
 */
#include "solve/direct/direct.h"
#include "solve/pc/pc.h"

typedef struct complete {
    tess_direct *direct;
    bool positive; /* the factors are those of a positive definite matrix, of which one half is read
                    */
    double *work;  /* a vector in f64, where the solver's are f32 */
} complete;

static bool looks_positive(tess_ctx *ctx, const tess_matrix *A)
{
    tess_symmetry symmetry;
    return tess_matrix_symmetry(ctx, A, &symmetry) == TESS_OK && symmetry.symmetric &&
           A->block_height == A->block_width && tess_matrix_positive_diagonal(A);
}

/* Factors A: as a positive definite matrix where it looks like one, and as any matrix where it does
 * not or is none. A failure leaves the factors that there are. */
static tess_status factor(tess_pc *pc, const tess_matrix *A)
{
    const tess_direct_limits limits = {pc->options.most_bytes, pc->options.most_seconds};
    const tess_kept_error kept = tess_error_keep(pc->ctx);
    complete *state = pc->state;
    tess_direct *direct;
    bool positive = looks_positive(pc->ctx, A);
    tess_status status = TESS_ERR_UNSUPPORTED;
    if (positive)
        status = tess_direct_create(pc->ctx, A, true, &limits, &direct);
    if (status == TESS_ERR_MATRIX || status == TESS_ERR_UNSUPPORTED) {
        tess_error_restore(pc->ctx, &kept);
        positive = false;
        status = tess_direct_create(pc->ctx, A, false, &limits, &direct);
    }
    TESS_TRY(status);
    tess_direct_destroy(state->direct);
    state->direct = direct;
    state->positive = positive;
    return TESS_OK;
}

static tess_status set_up(tess_plan *plan, tess_pc *pc)
{
    const tess_matrix A = tess_plan_present(plan);
    complete *state;
    if (plan->device->threads < 1)
        return tess_fail(pc->ctx, TESS_ERR_UNSUPPORTED,
                         "pc=lu: complete factors are for processors: take --device cpu");
    TESS_TRY(TESS_CALLOC(pc->ctx, 1, &state));
    pc->state = state;
    if (pc->vector_type != TESS_F64)
        TESS_TRY(TESS_ALLOC(pc->ctx, A.rows, &state->work));
    return factor(pc, &A);
}

static void destroy(tess_pc *pc)
{
    complete *state = pc->state;
    tess_direct_destroy(state->direct);
    TESS_FREE(pc->ctx, state->work, state);
}

/* New values keep the order of elimination, unless they are no longer those of a positive definite
 * matrix. */
static tess_status update(tess_plan *plan, tess_pc *pc)
{
    const complete *state = pc->state;
    const tess_matrix A = tess_plan_present(plan);
    if (!state->positive)
        return tess_direct_update(state->direct, &A);
    if (looks_positive(pc->ctx, &A)) {
        const tess_kept_error kept = tess_error_keep(pc->ctx);
        const tess_status status = tess_direct_update(state->direct, &A);
        if (status != TESS_ERR_MATRIX)
            return status;
        tess_error_restore(pc->ctx, &kept);
    }
    return factor(pc, &A);
}

/* A solve that fails leaves numbers that are not finite, which every method notices. */
static void apply(const tess_pc *pc, bool transpose, const void *r, void *z)
{
    const complete *state = pc->state;
    const int64_t n = tess_direct_rows(state->direct);
    if (pc->vector_type == TESS_F64) {
        if (tess_direct_solve(state->direct, transpose, r, z) != TESS_OK)
            tess_put(z, TESS_F64, 0, NAN);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        state->work[i] = tess_get(r, pc->vector_type, i);
    if (tess_direct_solve(state->direct, transpose, state->work, state->work) != TESS_OK)
        state->work[0] = NAN;
    for (int64_t i = 0; i < n; i++)
        tess_put(z, pc->vector_type, i, state->work[i]);
}

static double bytes(const tess_pc *pc)
{
    return tess_direct_bytes(((const complete *)pc->state)->direct);
}

const tess_pc_ops tess_pc_lu = {
    .name = "lu",
    .summary = "complete factors by SuiteSparse, on processors",
    .complete = true,
    .costly = true,
    .set_up = set_up,
    .update = update,
    .append = tess_pc_append_step,
    .apply = apply,
    .bytes = bytes,
    .free = destroy,
};
