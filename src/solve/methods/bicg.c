/* Biconjugate gradients: the residuals of A x = b and of a shadow system with A^T.
 *
 *     q = A p,  q~ = A^T p~,  pq = p~.q
 *     alpha = rho / pq
 *     x = x + alpha p,  r = r - alpha q,  r~ = r~ - alpha q~
 *     z = M^-1 r,  z~ = M^-T r~,  rho' = z.r~,  rr = r.r
 *     beta = rho' / rho
 *     p = z + beta p,  p~ = z~ + beta p~
 *
 * In complex systems A^T and M^-T stand for A^H and M^-H. The shadow's alpha and beta are then the
 * conjugates, and dot products take the conjugates of the shadow's vectors.
 */
#include "solve/methods/method.h"

enum { R = TESS_V_OWN, Z, P, Q, R_SHADOW, Z_SHADOW, P_SHADOW, Q_SHADOW, VECTORS };
enum { RHO = TESS_S_OWN, RHO_NEW, PQ, ALPHA, BETA, ALPHA_SHADOW, BETA_SHADOW, SLOTS };

/* Returns the slot that holds the conjugate of slot a: `out`, or a itself in a real system. */
static int conjugate(const tess_solver *solver, tess_steps *s, int out, int a)
{
    if (!tess_solver_is_complex(solver))
        return a;
    tess_step_scalar_conjugate(s, TESS_OP_COPY, out, a, a);
    return out;
}

static void build(tess_solver *solver)
{
    tess_steps *s = &solver->start;
    tess_step_residual(s, R);
    tess_step_copy(s, R_SHADOW, R);
    int z = tess_pc_append(&solver->pc, s, R, Z);
    int z_shadow = tess_pc_append_transpose(&solver->pc, s, R_SHADOW, Z_SHADOW);
    tess_step_copy(s, P, z);
    tess_step_copy(s, P_SHADOW, z_shadow);
    tess_step_project(s, RHO, z, R_SHADOW);
    tess_step_dot(s, TESS_S_RR, R, R);

    s = &solver->loop[0];
    tess_step_apply_dot(s, P, Q, P_SHADOW, PQ);
    tess_step_apply_transpose(s, P_SHADOW, Q_SHADOW);
    tess_step_scalar(s, TESS_OP_DIV, ALPHA, RHO, PQ);
    const int alpha_shadow = conjugate(solver, s, ALPHA_SHADOW, ALPHA);
    tess_step_sum(s, R, 1, TESS_ONE, R, -1, ALPHA, Q);
    tess_step_sum(s, R_SHADOW, 1, TESS_ONE, R_SHADOW, -1, alpha_shadow, Q_SHADOW);
    z = tess_pc_append(&solver->pc, s, R, Z);
    z_shadow = tess_pc_append_transpose(&solver->pc, s, R_SHADOW, Z_SHADOW);
    tess_step_project(s, RHO_NEW, z, R_SHADOW);
    tess_step_dot(s, TESS_S_RR, R, R);
    tess_step_scalar(s, TESS_OP_DIV, BETA, RHO_NEW, RHO);
    const int beta_shadow = conjugate(solver, s, BETA_SHADOW, BETA);
    tess_step_scalar(s, TESS_OP_COPY, RHO, RHO_NEW, RHO_NEW);
    tess_step_sum(s, TESS_V_X, 1, TESS_ONE, TESS_V_X, 1, ALPHA, P);
    tess_step_sum(s, P, 1, TESS_ONE, z, 1, BETA, P);
    tess_step_sum(s, P_SHADOW, 1, TESS_ONE, z_shadow, 1, beta_shadow, P_SHADOW);
}

static void check(tess_solver *solver, tess_system *system, int64_t position)
{
    const double pq = tess_solver_divisor(solver, PQ), rho = tess_solver_divisor(solver, RHO);
    if (system->residual <= system->threshold)
        return;
    if (position >= 0 && (pq == 0 || !isfinite(pq)))
        tess_system_end(system, TESS_REASON_BREAKDOWN, "p~.Ap = %.3g at iteration %lld", pq,
                        (long long)system->iteration);
    else if (rho == 0 || !isfinite(rho))
        tess_system_end(system, TESS_REASON_BREAKDOWN, "z.r~ = %.3g at iteration %lld", rho,
                        (long long)system->iteration);
}

static const tess_stop stops[] = {{TESS_STOP_ZERO, PQ, 0}, {TESS_STOP_ZERO, RHO, 0}};

const tess_method tess_method_bicg = {
    .name = "bicg",
    .summary = "any A; two products per iteration, one with the transpose of A",
    .transpose = true,
    .complex = true,
    .vectors = VECTORS,
    .slots = SLOTS,
    .build = build,
    .check = check,
    .stops = stops,
    .stop_count = sizeof stops / sizeof *stops,
};
