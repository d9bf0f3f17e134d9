/* Stationary iterations with a preconditioner that is almost the inverse of A:
 *
 *     x = x + M^-1 r,  r = b - A x
 *
 * direct: the complete factors of pc=lu. amg: one multigrid cycle.
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

/* Refinement that has gained nothing in two steps gains nothing at all. */
static void check_refinement(tess_solver *solver, tess_system *system, int64_t position)
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
    .pc = &tess_pc_lu,
    .vectors = VECTORS,
    .slots = TESS_S_OWN,
    .build = build,
    .check = check_refinement,
};

const tess_method tess_method_amg = {
    .name = "amg",
    .summary = "multigrid cycles alone, which pc=amg makes",
    .flexible = true,
    .pc = &tess_pc_amg,
    .vectors = VECTORS,
    .slots = TESS_S_OWN,
    .build = build,
};
