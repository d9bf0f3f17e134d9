/* Conjugate gradients (paper 004, Algorithm 1) for symmetric positive definite A and M.
 *
 *     q = A p,  pq = p.q
 *     alpha = rz / pq
 *     r = r - alpha q,  z = M^-1 r,  rz' = r.z,  rr = r.r      one pass, if M is diagonal
 *     beta = rz' / rz
 *     x = x + alpha p,  p = z + beta p                         one pass
 *
 * x is updated after r, when p is read anyway: beside the product an iteration moves 11 vectors and
 * M (Algorithm 1's five kernels move 20).
 *
 * Where an application of M^-1 costs more than a product, the iteration begins with it and ends
 * with |r|, so that the last iteration does not apply it in vain:
 *
 *     z = M^-1 r,  rz' = r.z
 *     beta = rz' / rz,  p = z + beta p                         p and rz are 0 at the start
 *     q = A p,  pq = p.q
 *     alpha = rz' / pq
 *     x = x + alpha p,  r = r - alpha q,  rr = r.r             one pass
 *
 * This form moves two vectors more.
 *
 * Where M changes from one application to the next, beta is z.(r' - r) / rz (Notay 2000), which
 * makes p conjugate to the direction before it. As r' - r = -alpha q, that is -alpha z.q / rz.
 */
#include "solve/methods/method.h"

enum { R = TESS_V_OWN, Z, P, Q, VECTORS };
enum { RZ = TESS_S_OWN, RZ_NEW, PQ, ALPHA, BETA, ZQ, SLOTS };

/* Appends q = A p and alpha. */
static void multiply(tess_steps *s)
{
    tess_step_apply_dot(s, P, Q, P, PQ);
    tess_step_scalar(s, TESS_OP_DIV_POSITIVE, ALPHA, RZ, PQ);
}

/* Appends beta, and makes rz' the new rz. */
static void turn(tess_steps *s, bool varies)
{
    tess_step_scalar(s, TESS_OP_DIV, BETA, varies ? ZQ : RZ_NEW, RZ);
    if (varies)
        tess_step_scalar(s, TESS_OP_MUL, BETA, BETA, ALPHA);
    tess_step_scalar(s, TESS_OP_COPY, RZ, RZ_NEW, RZ_NEW);
}

static void build_usual(tess_solver *solver)
{
    tess_steps *s = &solver->start;
    const bool varies = solver->pc.varies;
    tess_step_residual(s, R);
    int z = tess_pc_append(&solver->pc, s, R, Z);
    tess_step_copy(s, P, z);
    tess_step_dot(s, RZ, R, z);
    tess_step_dot(s, TESS_S_RR, R, R);

    s = &solver->loop[0];
    multiply(s);
    tess_step_sum(s, R, 1, TESS_ONE, R, -1, ALPHA, Q);
    z = tess_pc_append(&solver->pc, s, R, Z);
    tess_step_dot(s, RZ_NEW, R, z);
    tess_step_dot(s, TESS_S_RR, R, R);
    if (varies)
        tess_step_dot(s, ZQ, z, Q);
    turn(s, varies);
    tess_step_sum(s, TESS_V_X, 1, TESS_ONE, TESS_V_X, 1, ALPHA, P);
    tess_step_sum(s, P, 1, TESS_ONE, z, varies ? -1 : 1, BETA, P);
}

/* A quotient by rz = 0 is 0 (TESS_OP_DIV), and so is the first beta. */
static void build_costly(tess_solver *solver)
{
    tess_steps *s = &solver->start;
    const bool varies = solver->pc.varies;
    tess_step_residual(s, R);
    tess_step_combine(s, P, 1, &(tess_term){0, TESS_ONE, R});
    tess_step_dot(s, TESS_S_RR, R, R);
    tess_step_scalar(s, TESS_OP_SUB, RZ, TESS_S_RR, TESS_S_RR);

    s = &solver->loop[0];
    const int z = tess_pc_append(&solver->pc, s, R, Z);
    tess_step_dot(s, RZ_NEW, R, z);
    if (varies)
        tess_step_dot(s, ZQ, z, Q);
    turn(s, varies);
    tess_step_sum(s, P, 1, TESS_ONE, z, varies ? -1 : 1, BETA, P);
    multiply(s);
    tess_step_sum(s, TESS_V_X, 1, TESS_ONE, TESS_V_X, 1, ALPHA, P);
    tess_step_sum(s, R, 1, TESS_ONE, R, -1, ALPHA, Q);
    tess_step_dot(s, TESS_S_RR, R, R);
}

static void build(tess_solver *solver)
{
    if (solver->pc.ops->costly)
        build_costly(solver);
    else
        build_usual(solver);
}

/* Dot products of vectors smaller than this may underflow to 0. */
static const double no_square = 1e-140;

void tess_cg_check(tess_system *system, double pq, double rz)
{
    if (system->residual <= system->threshold)
        return;
    if (system->residual < no_square && (pq == 0 || rz == 0))
        tess_system_end(system, TESS_REASON_STAGNATED,
                        "|r| = %.3g at iteration %lld: products of such numbers are 0",
                        system->residual, (long long)system->iteration);
    else if (!(pq > 0))
        tess_system_end(system, pq < 0 ? TESS_REASON_INDEFINITE : TESS_REASON_BREAKDOWN,
                        "p.Ap = %.3g at iteration %lld: the matrix is %s", pq,
                        (long long)system->iteration,
                        pq < 0 ? "not positive definite" : "singular or not positive definite");
    else if (!(rz > 0))
        tess_system_end(system, rz < 0 ? TESS_REASON_INDEFINITE : TESS_REASON_BREAKDOWN,
                        "r.z = %.3g at iteration %lld: the preconditioner is not positive definite",
                        rz, (long long)system->iteration);
}

/* With a costly M there is no r.z yet at the start. Later p is made from the z of that r.z, so p.Ap
 * is judged only where r.z is positive. */
static void check(tess_solver *solver, tess_system *system, int64_t position)
{
    const bool costly = solver->pc.ops->costly;
    const double rz = position < 0 && costly ? 1 : solver->slots[RZ];
    const bool judged = position >= 0 && !(costly && !(rz > 0));
    tess_cg_check(system, judged ? solver->slots[PQ] : 1, rz);
}

static const tess_stop stops[] = {{TESS_STOP_NOT_POSITIVE, PQ, 0}, {TESS_STOP_NOT_POSITIVE, RZ, 0}};

const tess_method tess_method_cg = {
    .name = "cg",
    .summary = "conjugate gradients: symmetric positive definite A and preconditioner",
    .symmetric = true,
    .positive_definite = true,
    .flexible = true,
    .complex = true,
    .vectors = VECTORS,
    .slots = SLOTS,
    .build = build,
    .check = check,
    .stops = stops,
    .stop_count = sizeof stops / sizeof *stops,
};
