/* BiCGSTAB (van der Vorst 1992), preconditioned from the right or from the left.
 *
 *     y = M^-1 p,  v = A y,  hv = h.v          h: the first residual, kept as shadow
 *     alpha = rho / hv
 *     r = r - alpha v                          (called s in books)
 *     z = M^-1 r,  t = A z,  tr = t.r,  tt = t.t
 *     omega = tr / tt
 *     x = x + alpha y + omega z,  r = r - omega t,  rho' = h.r,  rr = r.r
 *     beta = (rho' / rho) (alpha / omega)
 *     p = r + beta (p - omega v)
 *
 * From the right, M may change from one application to the next: r stays b - A x. From the left, r,
 * v and t are those of M^-1 A x = M^-1 b, and y and z are p and r themselves.
 *
 * A divisor that becomes 0 after the first iteration makes the method begin again from x, with a
 * new h. A divisor that is 0 in the first iteration is a breakdown.
 */
#include "solve/methods/method.h"

enum { R = TESS_V_OWN, H, P, V, Y, Z, T, VECTORS };
enum { RHO = TESS_S_OWN, RHO_NEW, HV, ALPHA, TR, TT, OMEGA, BETA, RATIO, TURN, VV, YY, SLOTS };

/* Applies A and M^-1 in the order of the side: out = A M^-1 in, with M^-1 in kept in `between`, or
 * out = M^-1 A in. Where slot >= 0, also slot = h.out. Returns the vector that x moves along. */
static int operate(const tess_solver *solver, tess_steps *s, int in, int between, int out, int slot)
{
    if (tess_applies_left(&solver->options)) {
        tess_step_apply(s, in, between);
        tess_pc_append(&solver->pc, s, between, out);
        if (slot >= 0)
            tess_step_dot(s, slot, H, out);
        return in;
    }
    const int along = tess_pc_append(&solver->pc, s, in, between);
    if (slot >= 0)
        tess_step_apply_dot(s, along, out, H, slot);
    else
        tess_step_apply(s, along, out);
    return along;
}

static void build(tess_solver *solver)
{
    const bool left = tess_applies_left(&solver->options);
    const int first = left ? Y : R;
    tess_steps *s = &solver->start;
    tess_step_residual(s, first);
    tess_step_dot(s, TESS_S_RR, first, first);
    if (left)
        tess_pc_append(&solver->pc, s, first, R);
    tess_step_copy(s, H, R);
    tess_step_copy(s, P, R);
    tess_step_dot(s, RHO, R, R);

    s = &solver->loop[0];
    const int y = operate(solver, s, P, Y, V, HV);
    tess_step_scalar(s, TESS_OP_DIV, ALPHA, RHO, HV);
    tess_step_sum(s, R, 1, TESS_ONE, R, -1, ALPHA, V);
    tess_step_dot(s, VV, V, V);
    const int z = operate(solver, s, R, Z, T, -1);
    tess_step_dot(s, TR, T, R);
    tess_step_dot(s, TT, T, T);
    tess_step_scalar(s, TESS_OP_DIV, OMEGA, TR, TT);
    const tess_term update[3] = {{1, TESS_ONE, TESS_V_X}, {1, ALPHA, y}, {1, OMEGA, z}};
    tess_step_combine(s, TESS_V_X, 3, update);
    tess_step_dot(s, YY, y, y);
    tess_step_sum(s, R, 1, TESS_ONE, R, -1, OMEGA, T);
    tess_step_dot(s, RHO_NEW, H, R);
    tess_step_dot(s, TESS_S_RR, R, R);
    tess_step_scalar(s, TESS_OP_DIV, BETA, RHO_NEW, RHO);
    tess_step_scalar(s, TESS_OP_DIV, RATIO, ALPHA, OMEGA);
    tess_step_scalar(s, TESS_OP_MUL, BETA, BETA, RATIO);
    tess_step_scalar(s, TESS_OP_MUL, TURN, BETA, OMEGA);
    tess_step_scalar(s, TESS_OP_COPY, RHO, RHO_NEW, RHO_NEW);
    const tess_term direction[3] = {{1, TESS_ONE, R}, {1, BETA, P}, {-1, TURN, V}};
    tess_step_combine(s, P, 3, direction);
}

static void check(tess_solver *solver, tess_system *system, int64_t position)
{
    const double *slots = solver->slots;
    if (position >= 0)
        system->residual *= system->scale;
    else if (solver->options.left)
        tess_system_scale(system, sqrt(slots[RHO]));
    if (system->residual <= system->threshold || position < 0)
        return;
    static const struct {
        int slot;
        const char *name;
    } divisors[] = {{HV, "h.v"}, {OMEGA, "omega"}, {RHO, "rho"}};
    /* A y vanishes though y does not: a singular matrix, and x would grow along y for ever. */
    const double gain = sqrt(slots[VV] / slots[YY]);
    system->largest_gain = tess_max(gain, system->largest_gain);
    if (gain < 1e-15 * system->largest_gain)
        tess_system_end(system, TESS_REASON_BREAKDOWN,
                        "|Ay| = %.3g |y| at iteration %lld, |r|/|b| = %.3g: the matrix is singular",
                        gain, (long long)system->iteration, system->residual / system->rhs_norm);
    for (size_t i = 0; !system->done && i < sizeof divisors / sizeof divisors[0]; i++) {
        const double divisor = tess_solver_divisor(solver, divisors[i].slot);
        if (divisor != 0 && isfinite(divisor))
            continue;
        /* h has become orthogonal to the vector it is multiplied with. r itself is a better h. */
        system->restart = divisor == 0 && system->iteration > system->started + 1;
        if (system->restart)
            return;
        tess_system_end(system, TESS_REASON_BREAKDOWN,
                        "%s = %.3g at iteration %lld, |r|/|b| = %.3g", divisors[i].name, divisor,
                        (long long)system->iteration, system->residual / system->rhs_norm);
    }
}

static const tess_stop stops[] = {{TESS_STOP_SMALL, VV, YY},
                                  {TESS_STOP_ZERO, HV, 0},
                                  {TESS_STOP_ZERO, OMEGA, 0},
                                  {TESS_STOP_ZERO, RHO, 0}};

const tess_method tess_method_bicgstab = {
    .name = "bicgstab",
    .summary = "any A; two products per iteration",
    .sides = TESS_SIDES_BOTH,
    .flexible = true,
    .complex = true,
    .vectors = VECTORS,
    .slots = SLOTS,
    .build = build,
    .check = check,
    .stops = stops,
    .stop_count = sizeof stops / sizeof *stops,
};
