/* GMRES(m) and flexible GMRES, preconditioned from the right; GMRES also from the left.
 *
 *     z = M^-1 v_j,  w = A z                          (left: w = M^-1 A v_j)
 *     h_i = w.v_i,  i = 0..j,  ww = w.w               one pass
 *     h_n = sqrt(ww - sum h_i^2)
 *     v_{j+1} = (w - sum h_i v_i) / h_n               one pass
 *
 * This is classical Gram-Schmidt, which reads the basis twice; |v_{j+1}| comes with the second
 * pass. What is left of w along the basis grows by ww^(1/2) / h_n in every step. Before that
 * matters, two vectors in a row are orthogonalised a second time (`mend`). One would not do, since
 * the next w lies mostly along both (Simon 1984, Math. Comp. 42). The basis stays orthogonal to
 * half the digits or better, so that the small problem's residual is the true one's.
 *
 * The small least-squares problem min |beta e_1 - H y| is kept triangular by Givens rotations. The
 * last entry of its right-hand side is |r|, or |M^-1 r| from the left. The rotations and that entry
 * are among the slots, so that a device knows when to stop. The triangle is kept by the host. x
 * changes at the end of a cycle only:
 *
 *     x = x + M^-1 V y
 *     x = x + Z y          where the z are kept (fgmres)
 *     x = x + V y          left
 *
 * In complex systems h_i is v_i^H w. A rotation has a complex cosine and, as h_n is real, a real
 * sine.
 *
 * dgmres restarts with the vectors along which A M^-1 is smallest (deflate.c). In the last
 * iterations of a cycle they take the place of M^-1 v_j.
 */
#include "solve/methods/gmres.h"

static void close_state(tess_solver *solver)
{
    gmres_state *state = solver->state;
    if (!state)
        return;
    for (int64_t j = 0; state->finish && state->mend && j < solver->cycle; j++) {
        tess_steps_free(&state->finish[j]);
        tess_steps_free(&state->mend[j]);
    }
    TESS_FREE(solver->ctx, state->finish, state->mend);
    tess_steps_free(&state->deflate);
    TESS_FREE(solver->ctx, state->small, state->R, state->complex_R, state);
    solver->state = NULL;
}

static tess_status open_state(tess_solver *solver)
{
    const int64_t m = solver->cycle;
    gmres_state *state;
    TESS_TRY(TESS_CALLOC(solver->ctx, 1, &state));
    solver->state = state;
    TESS_TRY(TESS_CALLOC(solver->ctx, m * (m + 1) + 3 * (m + 1), &state->R));
    state->cosine = state->R + m * (m + 1);
    state->sine = state->cosine + m + 1;
    state->g = state->sine + m + 1;
    if (tess_solver_is_complex(solver)) {
        TESS_TRY(TESS_CALLOC(solver->ctx, m * (m + 2), &state->complex_R));
        state->complex_cosine = state->complex_R + m * (m + 1);
    }
    TESS_TRY(TESS_CALLOC(solver->ctx, m, &state->finish));
    TESS_TRY(TESS_CALLOC(solver->ctx, m, &state->mend));
    const bool anew = solver->plan->device->backend->space != NULL; /* it iterates ahead */
    for (int j = 0; j < (int)m; j++) {
        state->finish[j] = state->mend[j] = (tess_steps){.ctx = solver->ctx};
        tess_gmres_build_finish(solver, &state->finish[j], j + 1);
        tess_gmres_build_mend(solver, &state->mend[j], j, anew);
        TESS_TRY(tess_steps_finish(&state->finish[j]));
        TESS_TRY(tess_steps_finish(&state->mend[j]));
    }
    state->deflate = (tess_steps){.ctx = solver->ctx};
    if (!solver->options.method->deflates)
        return TESS_OK;
    TESS_TRY(TESS_ALLOC(solver->ctx, 2 * m * m, &state->small));
    tess_gmres_build_deflate(solver, &state->deflate);
    return tess_steps_finish(&state->deflate);
}

/* Orthogonalises v_{j+1} again where one pass was not enough, or may not have been. */
static tess_status mend(tess_solver *solver, int system, int64_t position)
{
    gmres_state *state = solver->state;
    tess_space *space = &solver->space;
    const double *slots = solver->slots;
    if (!isfinite(slots[WW]))
        return TESS_OK; /* nothing to mend: the driver ends the system */
    if (!(slots[NORM] > 0) || !(slots[MARGIN] > 0) || !(slots[NN_MARGIN] > 0))
        state->to_mend = 2;
    solver->careful = state->to_mend > 1;
    if (state->to_mend == 0)
        return TESS_OK;
    state->to_mend--;
    TESS_TRY(space->ops->run(space, &state->mend[position], &system, 1));
    return space->ops->read_slots(space, system, solver->slots);
}

/* Rotates column j of H into the triangle: by the old rotations, then by a new one that makes h_n
 * zero. A column of zeros leaves |r| as it is. */
static void rotate(gmres_state *state, int64_t m, int64_t j, const double *h, double norm)
{
    double *column = state->R + j * (m + 1);
    memcpy(column, h, (size_t)(j + 1) * sizeof *column);
    for (int64_t i = 0; i < j; i++) {
        const double low = column[i], high = column[i + 1];
        column[i] = state->cosine[i] * low + state->sine[i] * high;
        column[i + 1] = state->cosine[i] * high - state->sine[i] * low;
    }
    const double length = hypot(column[j], norm);
    state->cosine[j] = length > 0 ? column[j] / length : 0;
    state->sine[j] = length > 0 ? norm / length : 1;
    column[j] = length;
    state->g[j + 1] = -state->sine[j] * state->g[j];
    state->g[j] *= state->cosine[j];
}

static void check(tess_solver *solver, tess_system *system, int64_t position)
{
    gmres_state *state = solver->state;
    if (position < 0) {
        state->to_mend = 0;
        solver->careful = false;
        state->g[0] = solver->slots[NORM];
        if (tess_applies_left(&solver->options))
            tess_system_scale(system, state->g[0]);
        return;
    }
    const double norm = solver->slots[NORM];
    if (tess_solver_is_complex(solver))
        tess_gmres_rotate_complex(state, solver->cycle, position, solver->slots,
                                  solver->space.slots);
    else
        rotate(state, solver->cycle, position, solver->slots + FIRST, norm);
    system->residual = system->scale * fabs(state->g[position + 1]);
    if (!isfinite(norm))
        system->residual = norm;
    /* The space is invariant: either it holds the solution, or A M^-1 is singular in it. */
    if (norm == 0 && system->residual > system->threshold)
        tess_system_end(system, TESS_REASON_BREAKDOWN,
                        "the Krylov space ends at iteration %lld, |r|/|b| = %.3g: the matrix%s is "
                        "singular",
                        (long long)system->iteration, system->residual / system->rhs_norm,
                        solver->options.pc.ops->identity ? "" : " or the preconditioner");
}

/* Solves R y = g for the first `positions` columns. */
static void solve_small(const gmres_state *state, int64_t m, int64_t positions, double *y)
{
    for (int64_t i = positions; i-- > 0;) {
        double sum = state->g[i];
        for (int64_t k = i + 1; k < positions; k++)
            sum -= state->R[k * (m + 1) + i] * y[k];
        const double pivot = state->R[i * (m + 1) + i];
        y[i] = pivot != 0 && isfinite(sum / pivot) ? sum / pivot : 0;
    }
}

static tess_status finish(tess_solver *solver, int system, int64_t positions)
{
    gmres_state *state = solver->state;
    tess_space *space = &solver->space;
    const int64_t m = solver->cycle;
    TESS_TRY(space->ops->read_slots(space, system, solver->slots));
    if (tess_solver_is_complex(solver))
        tess_gmres_solve_complex(state, m, positions, solver->slots, space->slots);
    else
        solve_small(state, m, positions, solver->slots + FIRST);
    TESS_TRY(space->ops->write_slots(space, system, solver->slots));
    TESS_TRY(space->ops->run(space, &state->finish[positions - 1], &system, 1));
    return solver->options.method->deflates && positions == m ? tess_gmres_deflate(solver, system)
                                                              : TESS_OK;
}

/* A device stops where `mend` has something to do. */
static const tess_stop stops[] = {{TESS_STOP_NOT_POSITIVE, NORM, 0},
                                  {TESS_STOP_NOT_POSITIVE, MARGIN, 0},
                                  {TESS_STOP_NOT_POSITIVE, NN_MARGIN, 0}};

/* What the three methods have in common. */
#define GMRES_FUNCTIONS                                                                           \
    .size = tess_gmres_size, .build = tess_gmres_build, .open = open_state, .close = close_state, \
    .mend = mend, .check = check, .stops = stops, .stop_count = sizeof stops / sizeof *stops,     \
    .finish = finish

const tess_method tess_method_gmres = {
    .name = "gmres",
    .summary = "any A; restart=30 vectors are kept",
    .keys = "restart",
    .complex = true,
    .sides = TESS_SIDES_BOTH,
    GMRES_FUNCTIONS,
};

const tess_method tess_method_fgmres = {
    .name = "fgmres",
    .summary = "gmres that also keeps the preconditioned vectors",
    .keys = "restart",
    .complex = true,
    .flexible = true,
    .sides = TESS_SIDES_RIGHT,
    GMRES_FUNCTIONS,
};

const tess_method tess_method_dgmres = {
    .name = "dgmres",
    .summary = "gmres that keeps deflate=4 vectors over a restart",
    .keys = "restart,deflate",
    .flexible = true,
    .deflates = true,
    .sides = TESS_SIDES_RIGHT,
    GMRES_FUNCTIONS,
};
