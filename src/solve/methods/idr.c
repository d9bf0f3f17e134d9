/* IDR(4) (van Gijzen and Sonneveld 2011, Algorithm 913), preconditioned from the right.
 *
 * Residuals lie in spaces that shrink by 4 dimensions in every iteration, orthogonal to four fixed
 * random vectors p_i. One iteration is five products:
 *
 *     f_i = p_i.r
 *     for k = 0..3:
 *         solve M c = f for c_k .. c_3               M lower triangular, m_ij = p_i.g_j
 *         v = r - sum c_i g_i
 *         u_k = omega M^-1 v + sum c_i u_i,  g_k = A u_k
 *         g_k, u_k made biorthogonal to p_0 .. p_{k-1}
 *         m_ik = p_i.g_k,  beta = f_k / m_kk
 *         r = r - beta g_k,  x = x + beta u_k,  f_i = f_i - beta m_ik
 *     v = M^-1 r,  t = A v,  omega = t.r / t.t
 *     x = x + omega v,  r = r - omega t
 */
#include "solve/methods/method.h"

enum { SHADOWS = 4 };
enum { R = TESS_V_OWN, V, T, Z, P, U = P + SHADOWS, G = U + SHADOWS, VECTORS = G + SHADOWS };
enum {
    OMEGA = TESS_S_OWN,
    TR,
    TT,
    GG,
    UU,
    BETA,
    TURN,
    ALPHA,
    PIVOT, /* 1, or 0 where one of m_kk is 0 or not finite */
    UNIT,
    F,
    C = F + SHADOWS,
    M = C + SHADOWS, /* m_ij at M + SHADOWS i + j */
    SLOTS = M + SHADOWS * SHADOWS
};

static int m_at(int i, int j)
{
    return M + SHADOWS * i + j;
}

static void build_start(tess_solver *solver)
{
    tess_steps *s = &solver->start;
    tess_step_residual(s, R);
    tess_step_dot(s, TESS_S_RR, R, R);
    tess_step_scalar(s, TESS_OP_DIV, UNIT, TESS_S_RR, TESS_S_RR);
    tess_step_scalar(s, TESS_OP_COPY, OMEGA, UNIT, UNIT);
    tess_step_scalar(s, TESS_OP_COPY, PIVOT, UNIT, UNIT);
    tess_step_scalar(s, TESS_OP_SUB, TURN, UNIT, UNIT);
    for (int i = 0; i < SHADOWS; i++)
        for (int j = 0; j < SHADOWS; j++)
            tess_step_scalar(s, TESS_OP_COPY, m_at(i, j), i == j ? UNIT : TURN, TURN);
    for (int i = 0; i < SHADOWS; i++) {
        const tess_term nothing = {1, TURN, R};
        tess_step_combine(s, U + i, 1, &nothing);
        tess_step_combine(s, G + i, 1, &nothing);
    }
}

/* c_k .. c_3 by forward substitution. */
static void build_coefficients(tess_steps *s, int k)
{
    for (int i = k; i < SHADOWS; i++) {
        tess_step_scalar(s, TESS_OP_COPY, C + i, F + i, F + i);
        for (int j = k; j < i; j++) {
            tess_step_scalar(s, TESS_OP_MUL, TURN, m_at(i, j), C + j);
            tess_step_scalar(s, TESS_OP_SUB, C + i, C + i, TURN);
        }
        tess_step_scalar(s, TESS_OP_DIV, C + i, C + i, m_at(i, i));
    }
}

/* Appends out = scale from + sign sum of c_i v_i, i = k..3; `from` may be v_k itself. */
static void build_sum(tess_steps *s, int out, int scale, int from, double sign, int first, int k)
{
    for (int i = k; i < SHADOWS; i += TESS_TERMS_MAX - 1) {
        tess_term term[TESS_TERMS_MAX] = {{1, i > k ? TESS_ONE : scale, i > k ? out : from}};
        int terms = 1;
        for (int j = i; j < SHADOWS && terms < TESS_TERMS_MAX; j++)
            term[terms++] = tess_term_of(sign, C + j, first + j);
        tess_step_combine(s, out, terms, term);
    }
}

/* Appends u_k and g_k, made biorthogonal to the shadows before k, and their column of M. */
static void build_direction(const tess_solver *solver, tess_steps *s, int k)
{
    build_coefficients(s, k);
    build_sum(s, V, TESS_ONE, R, -1, G, k);
    build_sum(s, T, OMEGA, tess_pc_append(&solver->pc, s, V, Z), 1, U, k);
    tess_step_copy(s, U + k, T);
    tess_step_apply(s, U + k, G + k);
    for (int i = 0; i < k; i++) {
        tess_step_dot(s, ALPHA, P + i, G + k);
        tess_step_scalar(s, TESS_OP_DIV, ALPHA, ALPHA, m_at(i, i));
        tess_step_sum(s, G + k, 1, TESS_ONE, G + k, -1, ALPHA, G + i);
        tess_step_sum(s, U + k, 1, TESS_ONE, U + k, -1, ALPHA, U + i);
    }
    for (int i = k; i < SHADOWS; i++)
        tess_step_dot(s, m_at(i, k), P + i, G + k);
}

static void build(tess_solver *solver)
{
    build_start(solver);
    tess_steps *s = &solver->loop[0];
    for (int i = 0; i < SHADOWS; i++)
        tess_step_dot(s, F + i, P + i, R);
    for (int k = 0; k < SHADOWS; k++) {
        build_direction(solver, s, k);
        /* 1 where the pivot can be divided by, 0 where it cannot. */
        tess_step_scalar(s, TESS_OP_DIV, TURN, m_at(k, k), m_at(k, k));
        tess_step_scalar(s, k ? TESS_OP_MUL : TESS_OP_COPY, PIVOT, k ? PIVOT : TURN, TURN);
        tess_step_scalar(s, TESS_OP_DIV, BETA, F + k, m_at(k, k));
        if (k == SHADOWS - 1) {
            tess_step_dot(s, GG, G + k, G + k);
            tess_step_dot(s, UU, U + k, U + k);
        }
        tess_step_sum(s, R, 1, TESS_ONE, R, -1, BETA, G + k);
        tess_step_sum(s, TESS_V_X, 1, TESS_ONE, TESS_V_X, 1, BETA, U + k);
        for (int i = k + 1; i < SHADOWS; i++) {
            tess_step_scalar(s, TESS_OP_MUL, TURN, BETA, m_at(i, k));
            tess_step_scalar(s, TESS_OP_SUB, F + i, F + i, TURN);
        }
    }
    const int v = tess_pc_append(&solver->pc, s, R, V);
    tess_step_apply_dot(s, v, T, R, TR);
    tess_step_dot(s, TT, T, T);
    if (tess_solver_is_complex(solver)) /* from r^H t to t^H r */
        tess_step_scalar_conjugate(s, TESS_OP_COPY, TR, TR, TR);
    tess_step_scalar(s, TESS_OP_DIV, OMEGA, TR, TT);
    tess_step_sum(s, TESS_V_X, 1, TESS_ONE, TESS_V_X, 1, OMEGA, v);
    tess_step_sum(s, R, 1, TESS_ONE, R, -1, OMEGA, T);
    tess_step_dot(s, TESS_S_RR, R, R);
}

/* Uploads the shadows, which are the same for every system and every start. */
static tess_status begin(tess_solver *solver, int system)
{
    tess_space *space = &solver->space;
    void *shadow;
    tess_status status = TESS_OK;
    TESS_TRY(tess_alloc_bytes(solver->ctx, space->rows, tess_type_size(space->type), &shadow));
    for (int i = 0; i < SHADOWS && status == TESS_OK; i++) {
        for (int64_t k = 0; k < space->rows; k++)
            tess_put_complex(
                shadow, space->type, k,
                (tess_complex){tess_plan_random(solver->plan, 17 + (uint64_t)i, k), 0});
        status = space->ops->upload(space, P + i, system, shadow);
    }
    tess_free(solver->ctx, shadow);
    return status;
}

static void check(tess_solver *solver, tess_system *system, int64_t position)
{
    const double *slots = solver->slots;
    if (system->residual <= system->threshold || position < 0)
        return;
    /* A u vanishes though u does not: a singular matrix, and x would grow along u for ever. */
    const double gain = sqrt(slots[GG] / slots[UU]);
    system->largest_gain = fmax(system->largest_gain, gain);
    if (gain < 1e-15 * system->largest_gain) {
        tess_system_end(system, TESS_REASON_BREAKDOWN,
                        "|Au| = %.3g |u| at iteration %lld, |r|/|b| = %.3g: the matrix is singular",
                        gain, (long long)system->iteration, system->residual / system->rhs_norm);
        return;
    }
    const double omega = tess_solver_divisor(solver, OMEGA);
    const bool lost = slots[PIVOT] == 0 || !isfinite(slots[PIVOT]);
    if (!lost && omega != 0 && isfinite(omega))
        return;
    system->restart = system->iteration > system->started + 1;
    if (!system->restart)
        tess_system_end(system, TESS_REASON_BREAKDOWN, "%s is 0 at iteration %lld, |r|/|b| = %.3g",
                        lost ? "p.g" : "omega", (long long)system->iteration,
                        system->residual / system->rhs_norm);
}

static const tess_stop stops[] = {
    {TESS_STOP_SMALL, GG, UU}, {TESS_STOP_ZERO, PIVOT, 0}, {TESS_STOP_ZERO, OMEGA, 0}};

const tess_method tess_method_idr = {
    .name = "idr",
    .summary = "any A: IDR(4), five products per iteration",
    .complex = true,
    .vectors = VECTORS,
    .slots = SLOTS,
    .build = build,
    .begin = begin,
    .check = check,
    .stops = stops,
    .stop_count = sizeof stops / sizeof *stops,
};
