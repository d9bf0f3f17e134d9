/* A direct solve: complete factors (pc=lu), refined with the true residual.
 *
 *     x = x + M^-1 r,  r = b - A x
 */
#include "solve/methods/method.h"

enum { R = TESS_V_OWN, Z, VECTORS };

static void find_residual(tess_steps *s)
{
    tess_step_residual(s, R);
    tess_step_dot(s, TESS_S_RR, R, R);
}

static void build(tess_solver *solver)
{
    find_residual(&solver->start);
    tess_steps *s = &solver->loop[0];
    const int z = tess_pc_append(&solver->pc, s, R, Z);
    tess_step_sum(s, TESS_V_X, 1, TESS_ONE, TESS_V_X, 1, TESS_ONE, z);
    find_residual(s);
}

/* Refinement that gains nothing twice gains nothing at all. */
static void check(tess_solver *solver, tess_system *system, int64_t position)
{
    (void)solver;
    (void)position;
    if (system->residual > system->threshold && system->iteration >= system->best_at + 3)
        tess_system_end(system, TESS_REASON_STAGNATED,
                        "|r|/|b| = %.3g after %lld steps of refinement: rounding allows no better",
                        system->residual / system->rhs_norm, (long long)system->iteration);
}

const tess_method tess_method_direct = {
    .name = "direct",
    .summary = "any A: complete factors by SuiteSparse, with refinement",
    .direct = true,
    .vectors = VECTORS,
    .slots = TESS_S_OWN,
    .build = build,
    .check = check,
};
