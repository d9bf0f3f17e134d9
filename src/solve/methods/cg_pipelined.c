/* Pipelined conjugate gradients (Ghysels and Vanroose 2014): the sums of all three dot products
 * travel between parts while M^-1 and A are applied. The price: four more vectors, and a residual
 * that drifts from the true one earlier. Where it has drifted, the driver begins again from x.
 *
 *     z = n + beta z,   q = m + beta q,   s = w + beta s,   p = u + beta p
 *     x = x + alpha p,  r = r - alpha s,  u = u - alpha q,  w = w - alpha z
 *     gamma' = r.u,  delta = w.u,  rr = r.r                    one pass with the eight updates
 *     m = M^-1 w,  n = A m                                     no dot product is needed here
 *     beta = gamma' / gamma,  alpha = gamma' / (delta - beta gamma' / alpha)
 */
#include "solve/methods/cg_single.h"

enum { R = TESS_V_OWN, U, W, M, N, Z, Q, S, P, VECTORS };

static void append_zero(tess_steps *s, int vector)
{
    tess_step_sum(s, vector, 0, TESS_ONE, R, 0, TESS_ONE, R);
}

/* Without a preconditioner u is r, m is w and q is s. */
static void build(tess_solver *solver)
{
    tess_steps *s = &solver->start;
    tess_step_residual(s, R);
    const int u = tess_pc_append(&solver->pc, s, R, U);
    tess_step_apply(s, u, W);
    tess_step_dot(s, GAMMA, R, u);
    tess_step_dot(s, DELTA, W, u);
    tess_step_dot(s, TESS_S_RR, R, R);
    for (int v = Z; v <= P; v++)
        append_zero(s, v);
    int m = tess_pc_append(&solver->pc, s, W, M);
    tess_step_apply(s, m, N);
    tess_step_scalar(s, TESS_OP_DIV_POSITIVE, ALPHA, GAMMA, DELTA);
    tess_step_scalar(s, TESS_OP_SUB, BETA, GAMMA, GAMMA);

    s = &solver->loop[0];
    tess_step_sum(s, Z, 1, TESS_ONE, N, 1, BETA, Z);
    tess_step_sum(s, S, 1, TESS_ONE, W, 1, BETA, S);
    tess_step_sum(s, P, 1, TESS_ONE, u, 1, BETA, P);
    if (u != R) {
        tess_step_sum(s, Q, 1, TESS_ONE, m, 1, BETA, Q);
        tess_step_sum(s, u, 1, TESS_ONE, u, -1, ALPHA, Q);
    }
    tess_step_sum(s, TESS_V_X, 1, TESS_ONE, TESS_V_X, 1, ALPHA, P);
    tess_step_sum(s, R, 1, TESS_ONE, R, -1, ALPHA, S);
    tess_step_sum(s, W, 1, TESS_ONE, W, -1, ALPHA, Z);
    tess_step_dot(s, GAMMA_NEW, R, u);
    tess_step_dot(s, DELTA, W, u);
    tess_step_dot(s, TESS_S_RR, R, R);
    m = tess_pc_append(&solver->pc, s, W, M);
    tess_step_apply(s, m, N);
    tess_cg_single_scalars(s);
}

const tess_method tess_method_cg_pipelined = {
    .name = "cg_pipelined",
    .summary = "cg whose reduction overlaps with M and A (Ghysels and Vanroose)",
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
