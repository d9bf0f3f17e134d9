/* Conjugate residuals (Stiefel 1955) for symmetric A and positive definite M: |r| in the norm of
 * M^-1 never grows.
 *
 *     g = M^-1 q,  qg = q.g                       q = A p
 *     alpha = za / qg                             za = z.A z
 *     x = x + alpha p,  r = r - alpha q,  z = z - alpha g
 *     a = A z,  za' = z.a,  rr = r.r
 *     beta = za' / za
 *     p = z + beta p,  q = a + beta q
 *
 * za may be 0 where A is indefinite, which is a breakdown: minres has none.
 */
#include "solve/methods/method.h"

enum { R = TESS_V_OWN, Z, P, Q, A_Z, G, VECTORS };
enum { ZA = TESS_S_OWN, ZA_NEW, QG, ALPHA, BETA, SLOTS };

static void build(tess_solver *solver)
{
    tess_steps *s = &solver->start;
    tess_step_residual(s, R);
    tess_step_dot(s, TESS_S_RR, R, R);
    tess_step_copy(s, Z, tess_pc_append(&solver->pc, s, R, G));
    tess_step_copy(s, P, Z);
    tess_step_apply_dot(s, Z, A_Z, Z, ZA);
    tess_step_copy(s, Q, A_Z);

    s = &solver->loop[0];
    const int g = tess_pc_append(&solver->pc, s, Q, G);
    tess_step_dot(s, QG, Q, g);
    tess_step_scalar(s, TESS_OP_DIV, ALPHA, ZA, QG);
    tess_step_sum(s, TESS_V_X, 1, TESS_ONE, TESS_V_X, 1, ALPHA, P);
    tess_step_sum(s, R, 1, TESS_ONE, R, -1, ALPHA, Q);
    tess_step_sum(s, Z, 1, TESS_ONE, Z, -1, ALPHA, g);
    tess_step_dot(s, TESS_S_RR, R, R);
    tess_step_apply_dot(s, Z, A_Z, Z, ZA_NEW);
    tess_step_scalar(s, TESS_OP_DIV, BETA, ZA_NEW, ZA);
    tess_step_scalar(s, TESS_OP_COPY, ZA, ZA_NEW, ZA_NEW);
    tess_step_sum(s, P, 1, TESS_ONE, Z, 1, BETA, P);
    tess_step_sum(s, Q, 1, TESS_ONE, A_Z, 1, BETA, Q);
}

static void check(tess_solver *solver, tess_system *system, int64_t position)
{
    const double qg = position < 0 ? 1 : solver->slots[QG], za = solver->slots[ZA];
    if (system->residual <= system->threshold)
        return;
    if (!(qg > 0))
        tess_system_end(system, qg < 0 ? TESS_REASON_INDEFINITE : TESS_REASON_BREAKDOWN,
                        "q.M^-1 q = %.3g at iteration %lld: the preconditioner is not positive "
                        "definite, or the matrix is singular",
                        qg, (long long)system->iteration);
    else if (za == 0 || !isfinite(za))
        tess_system_end(system, TESS_REASON_BREAKDOWN, "z.Az = %.3g at iteration %lld: try minres",
                        za, (long long)system->iteration);
}

static const tess_stop stops[] = {{TESS_STOP_NOT_POSITIVE, QG, 0}, {TESS_STOP_ZERO, ZA, 0}};

const tess_method tess_method_cr = {
    .name = "cr",
    .summary = "conjugate residuals: as minres, with less work, where no breakdown happens",
    .symmetric = true,
    .complex = true,
    .vectors = VECTORS,
    .slots = SLOTS,
    .build = build,
    .check = check,
    .stops = stops,
    .stop_count = sizeof stops / sizeof *stops,
};
