/* MINRES (Paige and Saunders 1975) for symmetric A, definite or not, and positive definite M.
 *
 *     u = z / gamma,  q = A u,  delta = u.q             z = M^-1 v, gamma = sqrt(z.v)
 *     v' = q - (delta / gamma) v - (gamma / gamma-) v-  Lanczos
 *     z' = M^-1 v',  gamma' = sqrt(z'.v')
 *     a0 = c delta - c- s gamma,  a1 = sqrt(a0^2 + gamma'^2)
 *     a2 = s delta + c- c gamma,  a3 = s- gamma         c, s: the last rotation; c-, s-: before it
 *     c' = a0 / a1,  s' = gamma' / a1
 *     w' = (u - a2 w - a3 w-) / a1
 *     x = x + c' eta w',  eta' = -s' eta                |eta| = |r| in the norm of M^-1
 *     r = s'^2 r + (c' eta' / gamma') v'
 *
 * The last line keeps r itself, so that |r| is in the caller's norm.
 */
#include "solve/methods/method.h"

enum { R = TESS_V_OWN, V, V_OLD, Q, Z, Z_NEW, W, W_OLD, VECTORS };
enum {
    ZV = TESS_S_OWN, /* z.v, which has to be positive */
    RR_OLD,          /* |r|^2 before the iteration */
    GAMMA,
    GAMMA_NEW,
    DELTA,
    ETA,
    C,
    C_OLD,
    S,
    S_OLD,
    BY_V,     /* delta / gamma */
    BY_V_OLD, /* gamma / gamma- */
    UNIT,
    BY_U, /* 1 / gamma */
    A0,
    A1,
    A2,
    A3,
    TURN,
    STEP,
    SHRINK,
    GROW,
    SLOTS
};

static void build_start(tess_solver *solver)
{
    tess_steps *s = &solver->start;
    tess_step_residual(s, R);
    tess_step_dot(s, TESS_S_RR, R, R);
    const int z = tess_pc_append(&solver->pc, s, R, Z_NEW);
    tess_step_copy(s, V, R);
    tess_step_copy(s, Z, z);
    tess_step_dot(s, ZV, z, R);
    tess_step_scalar(s, TESS_OP_DIV_POSITIVE, GAMMA, ZV, ZV);
    tess_step_scalar(s, TESS_OP_MUL, GAMMA, GAMMA, ZV);
    tess_step_scalar(s, TESS_OP_SQRT, GAMMA, GAMMA, GAMMA);
    tess_step_scalar(s, TESS_OP_COPY, ETA, GAMMA, GAMMA);
    tess_step_scalar(s, TESS_OP_DIV, UNIT, GAMMA, GAMMA);
    tess_step_scalar(s, TESS_OP_DIV, BY_U, UNIT, GAMMA);
    tess_step_scalar(s, TESS_OP_COPY, C, UNIT, UNIT);
    tess_step_scalar(s, TESS_OP_COPY, C_OLD, UNIT, UNIT);
    tess_step_scalar(s, TESS_OP_SUB, S, UNIT, UNIT);
    tess_step_scalar(s, TESS_OP_COPY, S_OLD, S, S);
    tess_step_scalar(s, TESS_OP_COPY, BY_V_OLD, S, S);
    static const int cleared[] = {V_OLD, W, W_OLD};
    for (int i = 0; i < 3; i++) {
        const tess_term nothing = {1, S, V};
        tess_step_combine(s, cleared[i], 1, &nothing);
    }
}

/* The rotation that makes gamma' zero, after the two before it. */
static void build_rotation(tess_steps *s)
{
    tess_step_scalar(s, TESS_OP_MUL, A0, C, DELTA);
    tess_step_scalar(s, TESS_OP_MUL, TURN, C_OLD, S);
    tess_step_scalar(s, TESS_OP_MUL, TURN, TURN, GAMMA);
    tess_step_scalar(s, TESS_OP_SUB, A0, A0, TURN);
    tess_step_scalar(s, TESS_OP_MUL, A2, S, DELTA);
    tess_step_scalar(s, TESS_OP_MUL, TURN, C_OLD, C);
    tess_step_scalar(s, TESS_OP_MUL, TURN, TURN, GAMMA);
    tess_step_scalar(s, TESS_OP_ADD, A2, A2, TURN);
    tess_step_scalar(s, TESS_OP_MUL, A3, S_OLD, GAMMA);
    tess_step_scalar(s, TESS_OP_MUL, A1, A0, A0);
    tess_step_scalar(s, TESS_OP_MUL, TURN, GAMMA_NEW, GAMMA_NEW);
    tess_step_scalar(s, TESS_OP_ADD, A1, A1, TURN);
    tess_step_scalar(s, TESS_OP_SQRT, A1, A1, A1);
    tess_step_scalar(s, TESS_OP_COPY, C_OLD, C, C);
    tess_step_scalar(s, TESS_OP_COPY, S_OLD, S, S);
    tess_step_scalar(s, TESS_OP_DIV, C, A0, A1);
    tess_step_scalar(s, TESS_OP_DIV, S, GAMMA_NEW, A1);
    /* The coefficients of u = z / gamma, w and w- in w'; of w' in x; of r and v' in r. */
    tess_step_scalar(s, TESS_OP_DIV, A0, BY_U, A1);
    tess_step_scalar(s, TESS_OP_DIV, A2, A2, A1);
    tess_step_scalar(s, TESS_OP_DIV, A3, A3, A1);
    tess_step_scalar(s, TESS_OP_MUL, STEP, C, ETA);
    tess_step_scalar(s, TESS_OP_MUL, TURN, S, ETA);
    tess_step_scalar(s, TESS_OP_SUB, ETA, ETA, ETA);
    tess_step_scalar(s, TESS_OP_SUB, ETA, ETA, TURN);
    tess_step_scalar(s, TESS_OP_MUL, SHRINK, S, S);
    tess_step_scalar(s, TESS_OP_MUL, GROW, C, ETA);
    tess_step_scalar(s, TESS_OP_DIV, GROW, GROW, GAMMA_NEW);
}

static void build(tess_solver *solver)
{
    build_start(solver);
    tess_steps *s = &solver->loop[0];
    tess_step_scalar(s, TESS_OP_COPY, RR_OLD, TESS_S_RR, TESS_S_RR);
    tess_step_apply_dot(s, Z, Q, Z, DELTA); /* q gamma, delta gamma^2 */
    tess_step_scalar(s, TESS_OP_MUL, DELTA, DELTA, BY_U);
    tess_step_scalar(s, TESS_OP_MUL, DELTA, DELTA, BY_U);
    tess_step_scalar(s, TESS_OP_MUL, BY_V, DELTA, BY_U);
    const tess_term lanczos[3] = {{1, BY_U, Q}, {-1, BY_V, V}, {-1, BY_V_OLD, V_OLD}};
    tess_step_combine(s, Q, 3, lanczos);
    tess_step_copy(s, V_OLD, V);
    tess_step_copy(s, V, Q);
    const int z = tess_pc_append(&solver->pc, s, V, Z_NEW);
    tess_step_dot(s, ZV, z, V);
    tess_step_scalar(s, TESS_OP_DIV_POSITIVE, GAMMA_NEW, ZV, ZV); /* 1, or 0 for a bad z.v */
    tess_step_scalar(s, TESS_OP_MUL, GAMMA_NEW, GAMMA_NEW, ZV);
    tess_step_scalar(s, TESS_OP_SQRT, GAMMA_NEW, GAMMA_NEW, GAMMA_NEW);
    build_rotation(s);
    const tess_term along[3] = {{1, A0, Z}, {-1, A2, W}, {-1, A3, W_OLD}};
    tess_step_combine(s, Z, 3, along);
    tess_step_copy(s, W_OLD, W);
    tess_step_copy(s, W, Z);
    tess_step_sum(s, TESS_V_X, 1, TESS_ONE, TESS_V_X, 1, STEP, W);
    tess_step_sum(s, R, 1, SHRINK, R, 1, GROW, V);
    tess_step_dot(s, TESS_S_RR, R, R);
    tess_step_copy(s, Z, z);
    tess_step_scalar(s, TESS_OP_DIV, BY_V_OLD, GAMMA_NEW, GAMMA);
    tess_step_scalar(s, TESS_OP_COPY, GAMMA, GAMMA_NEW, GAMMA_NEW);
    tess_step_scalar(s, TESS_OP_DIV, BY_U, UNIT, GAMMA);
}

/* z.v is not positive where the preconditioner is not positive definite, or at the end of the
 * Krylov space, where z.v is 0 but for rounding. The iteration that meets such a z.v has set |r| to
 * 0, rightly or not. */
static void check(tess_solver *solver, tess_system *system, int64_t position)
{
    const double *slots = solver->slots, zv = slots[ZV];
    const double least = position < 0 ? 0 : 1e-12 * slots[A1] * slots[A1];
    if (position < 0 && system->residual <= system->threshold)
        return;
    /* A w' all but vanishes though w' does not, as with a singular matrix. x has grown along w',
     * and r differs from b - A x by more than rounding: the recurrence begins again from x. */
    if (position >= 0 && system->residual > system->threshold) {
        system->largest_gain = fmax(system->largest_gain, slots[A1]);
        system->restart = slots[A1] < 1.5e-8 * system->largest_gain;
    }
    const bool bad = zv < -least, ends = !bad && !(zv > 0) && (position < 0 || slots[A1] == 0);
    if (!bad && !ends)
        return;
    if (position >= 0)
        system->residual = sqrt(slots[RR_OLD]);
    if (bad)
        tess_system_end(system, TESS_REASON_INDEFINITE,
                        "v.z = %.3g at iteration %lld: the preconditioner is not positive definite",
                        zv, (long long)system->iteration);
    else
        tess_system_end(system, TESS_REASON_BREAKDOWN,
                        "the Krylov space ends at iteration %lld, |r|/|b| = %.3g: the matrix is "
                        "singular",
                        (long long)system->iteration, system->residual / system->rhs_norm);
}

static const tess_stop stops[] = {{TESS_STOP_NOT_POSITIVE, ZV, 0}};

const tess_method tess_method_minres = {
    .name = "minres",
    .summary = "symmetric A, definite or not, and a positive definite preconditioner",
    .symmetric = true,
    .complex = true,
    .vectors = VECTORS,
    .slots = SLOTS,
    .build = build,
    .check = check,
    .stops = stops,
    .stop_count = sizeof stops / sizeof *stops,
};
