/* Conjugate gradients with one reduction per iteration (Chronopoulos and Gear 1989). r.z and z.Az
 * are known at the same moment, so scalars are computed once. The price: one more vector (s = A p,
 * by recurrence) and a little accuracy.
 *
 *     p = z + beta p,  s = w + beta s,  x = x + alpha p,  r = r - alpha s,  z = M^-1 r,
 *     gamma' = r.z,  rr = r.r                                  one pass, if M is diagonal
 *     w = A z,  delta = z.w
 *     beta = gamma' / gamma,  alpha = gamma' / (delta - beta gamma' / alpha)
 */
#include "solve/methods/cg_single.h"

enum { R = TESS_V_OWN, Z, P, S, W, VECTORS };

void tess_cg_single_scalars(tess_steps *s)
{
    tess_step_scalar(s, TESS_OP_DIV, BETA, GAMMA_NEW, GAMMA);
    tess_step_scalar(s, TESS_OP_COPY, GAMMA, GAMMA_NEW, GAMMA_NEW);
    tess_step_scalar(s, TESS_OP_MUL, TURN, BETA, GAMMA);
    tess_step_scalar(s, TESS_OP_DIV, TURN, TURN, ALPHA);
    tess_step_scalar(s, TESS_OP_SUB, DELTA, DELTA, TURN); /* p.Ap of the next p */
    tess_step_scalar(s, TESS_OP_DIV_POSITIVE, ALPHA, GAMMA, DELTA);
}

static void build(tess_solver *solver)
{
    tess_steps *s = &solver->start;
    tess_step_residual(s, R);
    int z = tess_pc_append(&solver->pc, s, R, Z);
    tess_step_dot(s, GAMMA, R, z);
    tess_step_dot(s, TESS_S_RR, R, R);
    tess_step_sum(s, P, 0, TESS_ONE, R, 0, TESS_ONE, R);
    tess_step_sum(s, S, 0, TESS_ONE, R, 0, TESS_ONE, R);
    tess_step_apply_dot(s, z, W, z, DELTA);
    tess_step_scalar(s, TESS_OP_DIV_POSITIVE, ALPHA, GAMMA, DELTA);
    tess_step_scalar(s, TESS_OP_SUB, BETA, GAMMA, GAMMA);

    s = &solver->loop[0];
    tess_step_sum(s, P, 1, TESS_ONE, z, 1, BETA, P);
    tess_step_sum(s, S, 1, TESS_ONE, W, 1, BETA, S);
    tess_step_sum(s, TESS_V_X, 1, TESS_ONE, TESS_V_X, 1, ALPHA, P);
    tess_step_sum(s, R, 1, TESS_ONE, R, -1, ALPHA, S);
    z = tess_pc_append(&solver->pc, s, R, Z);
    tess_step_dot(s, GAMMA_NEW, R, z);
    tess_step_dot(s, TESS_S_RR, R, R);
    tess_step_apply_dot(s, z, W, z, DELTA);
    tess_cg_single_scalars(s);
}

void tess_cg_single_check(tess_solver *solver, tess_system *system, int64_t position)
{
    (void)position;
    tess_cg_check(system, solver->slots[DELTA], solver->slots[GAMMA]);
}

const tess_stop tess_cg_single_stops[TESS_CG_SINGLE_STOPS] = {{TESS_STOP_NOT_POSITIVE, DELTA, 0},
                                                              {TESS_STOP_NOT_POSITIVE, GAMMA, 0}};

const tess_method tess_method_cg_single = {
    .name = "cg_single",
    .summary = "cg with one reduction per iteration (Chronopoulos and Gear)",
    .symmetric = true,
    .positive_definite = true,
    .complex = true,
    .vectors = VECTORS,
    .slots = SLOTS,
    .build = build,
    .check = tess_cg_single_check,
    .stops = tess_cg_single_stops,
    .stop_count = TESS_CG_SINGLE_STOPS,
};
