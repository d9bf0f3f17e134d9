/* LSQR (Paige and Saunders 1982): x with the smallest |b - A x|, for any A, square or not.
 *
 *     beta u = A p - alpha u                      p = M^-1 v: bidiagonalisation of A M^-1
 *     alpha v = M^-T A^T u - beta v
 *     rho = sqrt(rho-^2 + beta^2),  c = rho- / rho,  s = beta / rho
 *     theta = s alpha,  rho- = -c alpha,  phi = c phi-,  phi- = s phi-
 *     x = x + (phi / rho) w,  w = M^-1 v - (theta / rho) w
 *
 * phi- is |r|, phi- alpha c is |M^-T A^T r|. A system without a solution ends where A^T r is a
 * rounding error of A and b (TESS_REASON_LEAST_SQUARES). Before that a larger x might solve it:
 * with A = diag(1, 1e-9), b = (1, 1) and x = (1, 0), A^T r is 1e-9. The driver then computes A^T r
 * from x.
 */
#include "solve/methods/method.h"

enum { U = TESS_V_OWN, Q, V, Z, P, W, VECTORS };
enum {
    ALPHA = TESS_S_OWN,
    BETA,
    RHO,
    RHO_BAR,
    C,
    S,
    THETA,
    PHI,
    PHI_BAR,
    UNIT,
    INVERSE,
    TURN,
    STEP,
    NORMAL, /* |A^T r|^2 */
    SQUARE, /* the squares of all alpha and beta so far: |A|^2, nearly */
    RHS,    /* |b|^2 */
    LIMIT,  /* the largest power of 2 not above 1 / rounding^2 */
    MARGIN, /* positive while A^T r is not small */
    LENGTH, /* |A^T u|^2, where A has no entries */
    SLOTS
};

/* Appends q = A^T u. Where A has no entries its norm is not known, and |q| says how large it is at
 * least. */
static void build_transpose(const tess_solver *solver, tess_steps *s)
{
    tess_step_apply_transpose(s, U, Q);
    if (solver->plan->device->backend->matrix_free)
        tess_step_dot(s, LENGTH, Q, Q);
}

/* Appends a norm from its square, and the norm's inverse. */
static void build_norm(tess_steps *s, int norm)
{
    tess_step_scalar(s, TESS_OP_SQRT, norm, norm, norm);
    tess_step_scalar(s, TESS_OP_DIV, INVERSE, UNIT, norm);
}

static void build_unit(tess_steps *s, int vector)
{
    const tess_term unit = {1, INVERSE, vector};
    tess_step_combine(s, vector, 1, &unit);
}

static void build_start(tess_solver *solver)
{
    tess_steps *s = &solver->start;
    const double wanted = 1 / tess_least_rounding(solver->plan->matrix->type);
    tess_step_scalar(&solver->rhs, TESS_OP_COPY, RHS, TESS_S_RR, TESS_S_RR);
    tess_step_residual(s, U);
    tess_step_dot(s, TESS_S_RR, U, U);
    tess_step_scalar(s, TESS_OP_COPY, BETA, TESS_S_RR, TESS_S_RR);
    tess_step_scalar(s, TESS_OP_DIV, UNIT, BETA, BETA);
    build_norm(s, BETA);
    build_unit(s, U);
    build_transpose(solver, s);
    tess_step_copy(s, V, tess_pc_append_transpose(&solver->pc, s, Q, Z));
    tess_step_dot(s, ALPHA, V, V);
    build_norm(s, ALPHA);
    build_unit(s, V);
    tess_step_copy(s, W, tess_pc_append(&solver->pc, s, V, P));
    tess_step_scalar(s, TESS_OP_COPY, PHI_BAR, BETA, BETA);
    tess_step_scalar(s, TESS_OP_COPY, RHO_BAR, ALPHA, ALPHA);
    tess_step_scalar(s, TESS_OP_MUL, SQUARE, ALPHA, ALPHA);
    tess_step_scalar(s, TESS_OP_MUL, NORMAL, ALPHA, BETA);
    tess_step_scalar(s, TESS_OP_MUL, NORMAL, NORMAL, NORMAL);
    tess_step_scalar(s, TESS_OP_COPY, LIMIT, UNIT, UNIT);
    for (double limit = 2; limit <= wanted * wanted; limit *= 2)
        tess_step_scalar(s, TESS_OP_ADD, LIMIT, LIMIT, LIMIT);
}

static void build_rotation(tess_steps *s)
{
    tess_step_scalar(s, TESS_OP_MUL, RHO, RHO_BAR, RHO_BAR);
    tess_step_scalar(s, TESS_OP_MUL, TURN, BETA, BETA);
    tess_step_scalar(s, TESS_OP_ADD, RHO, RHO, TURN);
    tess_step_scalar(s, TESS_OP_ADD, SQUARE, SQUARE, TURN);
    tess_step_scalar(s, TESS_OP_MUL, TURN, ALPHA, ALPHA);
    tess_step_scalar(s, TESS_OP_ADD, SQUARE, SQUARE, TURN);
    tess_step_scalar(s, TESS_OP_SQRT, RHO, RHO, RHO);
    tess_step_scalar(s, TESS_OP_DIV, C, RHO_BAR, RHO);
    tess_step_scalar(s, TESS_OP_DIV, S, BETA, RHO);
    tess_step_scalar(s, TESS_OP_MUL, THETA, S, ALPHA);
    tess_step_scalar(s, TESS_OP_MUL, TURN, C, ALPHA);
    tess_step_scalar(s, TESS_OP_SUB, RHO_BAR, TURN, TURN);
    tess_step_scalar(s, TESS_OP_SUB, RHO_BAR, RHO_BAR, TURN);
    tess_step_scalar(s, TESS_OP_MUL, PHI, C, PHI_BAR);
    tess_step_scalar(s, TESS_OP_MUL, PHI_BAR, S, PHI_BAR);
    tess_step_scalar(s, TESS_OP_DIV, STEP, PHI, RHO);
    tess_step_scalar(s, TESS_OP_DIV, THETA, THETA, RHO);
    tess_step_scalar(s, TESS_OP_MUL, TESS_S_RR, PHI_BAR, PHI_BAR);
    tess_step_scalar(s, TESS_OP_MUL, NORMAL, PHI_BAR, TURN);
    tess_step_scalar(s, TESS_OP_MUL, NORMAL, NORMAL, NORMAL);
    tess_step_scalar(s, TESS_OP_MUL, MARGIN, NORMAL, LIMIT);
    tess_step_scalar(s, TESS_OP_MUL, TURN, SQUARE, RHS);
    tess_step_scalar(s, TESS_OP_SUB, MARGIN, MARGIN, TURN);
}

static void build(tess_solver *solver)
{
    build_start(solver);
    tess_steps *s = &solver->loop[0];
    const int p = solver->pc.ops->identity ? V : P;
    tess_step_apply(s, p, Q);
    tess_step_sum(s, U, 1, TESS_ONE, Q, -1, ALPHA, U);
    tess_step_dot(s, BETA, U, U);
    build_norm(s, BETA);
    build_unit(s, U);
    build_transpose(solver, s);
    const int z = tess_pc_append_transpose(&solver->pc, s, Q, Z);
    tess_step_sum(s, V, 1, TESS_ONE, z, -1, BETA, V);
    tess_step_dot(s, ALPHA, V, V);
    build_norm(s, ALPHA);
    build_rotation(s); /* all scalars first: a device stops before it goes on with vectors */
    build_unit(s, V);
    tess_pc_append(&solver->pc, s, V, P);
    tess_step_sum(s, TESS_V_X, 1, TESS_ONE, TESS_V_X, 1, STEP, W);
    tess_step_sum(s, W, 1, TESS_ONE, p, -1, THETA, W);
}

static void check(tess_solver *solver, tess_system *system, int64_t position)
{
    const double *slots = solver->slots;
    const double least = tess_least_rounding(solver->plan->matrix->type);
    if (solver->plan->device->backend->matrix_free)
        solver->norm = fmax(system->iteration > 0 ? solver->norm : 0, sqrt(slots[LENGTH]));
    if (system->residual <= system->threshold)
        return;
    /* |r| may be the smallest there is, but for its last digits, long before x is the best. */
    if (slots[NORMAL] < 0.998 * system->best_normal) {
        system->best_normal = slots[NORMAL];
        system->best_at = system->iteration;
    }
    if (position < 0)
        system->least = slots[ALPHA] == 0;
    else
        system->least = slots[NORMAL] <= least * least * slots[SQUARE] * slots[RHS];
}

static const tess_stop stops[] = {{TESS_STOP_NOT_POSITIVE, MARGIN, 0}};

const tess_method tess_method_lsqr = {
    .name = "lsqr",
    .summary = "any A, square or not: the x with the smallest |b - Ax|",
    .transpose = true,
    .least_squares = true,
    .complex = true,
    .vectors = VECTORS,
    .slots = SLOTS,
    .build = build,
    .check = check,
    .stops = stops,
    .stop_count = sizeof stops / sizeof *stops,
};
