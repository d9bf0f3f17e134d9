/* GMRES(m) and flexible GMRES, preconditioned from the right.
 *
 *     z = M^-1 v_j,  w = A z
 *     h_i = w.v_i,  i = 0..j                          one pass
 *     w = w - sum h_i v_i,  g_i = w.v_i               one pass: Gram-Schmidt, and once more,
 *     w = w - sum g_i v_i,  h_n = |w|                 one pass: which makes it as good as modified
 *     v_{j+1} = w / h_n
 *
 * The small least-squares problem min |beta e_1 - H y| is kept triangular by Givens rotations on
 * the host; its last entry is |r|. x changes at the end of a cycle only: x = x + M^-1 V y, or x + Z
 * y when the z are kept (fgmres).
 *
 * Vectors of the space: W, then V_0 .. V_m, then Z (one, or Z_0 .. Z_{m-1} for fgmres).
 */
#include <math.h>
#include <string.h>

#include "solve/solve.h"

enum { W = TESS_V_OWN, V };
/* Slots: the coefficients of w, those of the second pass, and y at the end of a cycle. */
enum { NORM = TESS_S_OWN, INVERSE, UNIT, FIRST };

typedef struct gmres_state {
    tess_steps *finish; /* m lists: x from j + 1 vectors */
    double *R;          /* column j at R + j (m + 1): H after rotations, upper triangular */
    double *cosine, *sine;
    double *g; /* the rotated right-hand side, m + 1 */
} gmres_state;

static bool keeps_z(const tess_solve_options *options)
{
    return options->method == &tess_method_fgmres;
}

static void size(const tess_solve_options *options, int *vectors, int *slots, int64_t *cycle)
{
    const int m = (int)options->restart;
    *cycle = m;
    *vectors = V + m + 1 + (keeps_z(options) ? m : 1);
    *slots = FIRST + 2 * (m + 1);
}

/* w = w - sum of slot[first + i] v_i, i = 0..count-1, a few vectors at a time. */
static void subtract(tess_steps *s, int first, int count)
{
    for (int i = 0; i < count; i += TESS_TERMS_MAX - 1) {
        tess_term term[TESS_TERMS_MAX] = {{1, TESS_ONE, W}};
        int terms = 1;
        for (int j = i; j < count && terms < TESS_TERMS_MAX; j++)
            term[terms++] = tess_term_of(-1, first + j, V + j);
        tess_step_combine(s, W, terms, term);
    }
}

static void build_iteration(tess_steps *s, int m, int j, int z)
{
    const int h = FIRST, g = FIRST + m + 1;
    z = tess_step_precondition(s, V + j, z);
    tess_step_apply(s, z, W);
    for (int i = 0; i <= j; i++)
        tess_step_dot(s, h + i, W, V + i);
    subtract(s, h, j + 1);
    for (int i = 0; i <= j; i++)
        tess_step_dot(s, g + i, W, V + i);
    subtract(s, g, j + 1);
    tess_step_dot(s, NORM, W, W);
    for (int i = 0; i <= j; i++)
        tess_step_scalar(s, TESS_OP_ADD, h + i, h + i, g + i);
    tess_step_scalar(s, TESS_OP_SQRT, NORM, NORM, NORM);
    tess_step_scalar(s, TESS_OP_DIV, INVERSE, UNIT, NORM);
    const tess_term next = {1, INVERSE, W};
    tess_step_combine(s, V + j + 1, 1, &next);
}

/* x = x + sum y_i z_i, y in the slots from FIRST. */
static void build_finish(tess_steps *s, int m, int count, bool flexible)
{
    const int z = V + m + 1;
    const bool direct = flexible && s->pc->options.kind != TESS_PC_NONE;
    const int from = direct ? z : V, to = direct ? TESS_V_X : W;
    for (int i = 0; i < count; i += TESS_TERMS_MAX - 1) {
        tess_term term[TESS_TERMS_MAX];
        int terms = 0;
        if (direct || i > 0)
            term[terms++] = tess_term_of(1, TESS_ONE, to);
        for (int j = i; j < count && j < i + TESS_TERMS_MAX - 1; j++)
            term[terms++] = tess_term_of(1, FIRST + j, from + j);
        tess_step_combine(s, to, terms, term);
    }
    if (!direct)
        tess_step_sum(s, TESS_V_X, 1, TESS_ONE, TESS_V_X, 1, TESS_ONE,
                      tess_step_precondition(s, W, z));
}

static void build(tess_solver *solver)
{
    const int m = (int)solver->options.restart;
    const bool flexible = keeps_z(&solver->options);
    tess_steps *s = &solver->start;
    tess_step_apply(s, TESS_V_X, W);
    tess_step_sum(s, W, 1, TESS_ONE, TESS_V_B, -1, TESS_ONE, W);
    tess_step_dot(s, TESS_S_RR, W, W);
    tess_step_scalar(s, TESS_OP_SQRT, NORM, TESS_S_RR, TESS_S_RR);
    tess_step_scalar(s, TESS_OP_DIV, UNIT, NORM, NORM); /* 1 */
    tess_step_scalar(s, TESS_OP_DIV, INVERSE, UNIT, NORM);
    const tess_term first = {1, INVERSE, W};
    tess_step_combine(s, V, 1, &first);
    for (int j = 0; j < m; j++)
        build_iteration(&solver->loop[j], m, j, V + m + 1 + (flexible ? j : 0));
}

static void close_state(tess_solver *solver)
{
    gmres_state *state = solver->state;
    if (!state)
        return;
    for (int64_t j = 0; state->finish && j < solver->cycle; j++)
        tess_steps_free(&state->finish[j]);
    tess_free(solver->ctx, state->finish);
    tess_free(solver->ctx, state->R);
    tess_free(solver->ctx, state);
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
    TESS_TRY(TESS_CALLOC(solver->ctx, m, &state->finish));
    for (int j = 0; j < (int)m; j++) {
        state->finish[j] = (tess_steps){.ctx = solver->ctx, .pc = &solver->pc};
        build_finish(&state->finish[j], (int)m, j + 1, keeps_z(&solver->options));
        TESS_TRY(tess_steps_finish(&state->finish[j]));
    }
    return TESS_OK;
}

/* Column j of H joins the triangle: the old rotations, then a new one that makes h_n zero. */
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
    state->cosine[j] = length > 0 ? column[j] / length : 1;
    state->sine[j] = length > 0 ? norm / length : 0;
    column[j] = length;
    state->g[j + 1] = -state->sine[j] * state->g[j];
    state->g[j] *= state->cosine[j];
}

static void check(tess_solver *solver, tess_system *system, int64_t position)
{
    gmres_state *state = solver->state;
    if (position < 0) {
        state->g[0] = system->residual;
        return;
    }
    const double norm = solver->slots[NORM];
    rotate(state, solver->cycle, position, solver->slots + FIRST, norm);
    system->residual = fabs(state->g[position + 1]);
    if (!isfinite(norm))
        system->residual = norm;
    /* The space is invariant: either it holds the solution, or the matrix is singular in it. */
    if (norm == 0 && system->residual > system->threshold)
        tess_system_end(system, TESS_BREAKDOWN,
                        "the Krylov space ends at iteration %lld, |r|/|b| = %.3g: the matrix is "
                        "singular",
                        (long long)system->iteration, system->residual / system->rhs_norm);
}

static tess_status finish(tess_solver *solver, int system, int64_t positions)
{
    gmres_state *state = solver->state;
    tess_space *space = &solver->space;
    const int64_t m = solver->cycle;
    TESS_TRY(space->ops->read_slots(space, system, solver->slots));
    double *y = solver->slots + FIRST;
    for (int64_t i = positions; i-- > 0;) {
        double sum = state->g[i];
        for (int64_t k = i + 1; k < positions; k++)
            sum -= state->R[k * (m + 1) + i] * y[k];
        const double pivot = state->R[i * (m + 1) + i];
        y[i] = pivot != 0 && isfinite(sum / pivot) ? sum / pivot : 0;
    }
    TESS_TRY(space->ops->write_slots(space, system, solver->slots));
    return space->ops->run(space, &state->finish[positions - 1], &system, 1);
}

const tess_method tess_method_gmres = {
    .name = "gmres",
    .size = size,
    .build = build,
    .open = open_state,
    .close = close_state,
    .check = check,
    .finish = finish,
};

const tess_method tess_method_fgmres = {
    .name = "fgmres",
    .size = size,
    .build = build,
    .open = open_state,
    .close = close_state,
    .check = check,
    .finish = finish,
};
