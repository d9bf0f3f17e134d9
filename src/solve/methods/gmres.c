/* GMRES(m) and flexible GMRES, preconditioned from the right; GMRES also from the left.
 *
 *     z = M^-1 v_j,  w = A z                          (left: w = M^-1 A v_j)
 *     h_i = w.v_i,  i = 0..j,  ww = w.w               one pass
 *     h_n = sqrt(ww - sum h_i^2)
 *     v_{j+1} = (w - sum h_i v_i) / h_n               one pass
 *
 * This is classical Gram-Schmidt, which reads the basis twice; |v_{j+1}| comes with the second
 * pass. What is left of w along the basis grows by ww^(1/2) / h_n in every step. Before that
 * matters two vectors in a row are orthogonalised a second time (`mend`; two, since the next w lies
 * mostly along both: Simon 1984, Math. Comp. 42). The basis stays orthogonal to half the digits or
 * better, so that the small problem's residual is the true one's.
 *
 * The small least-squares problem min |beta e_1 - H y| is kept triangular by Givens rotations; the
 * last entry of its right-hand side is |r|, or |M^-1 r| from the left. The rotations and that entry
 * are among the slots, so that a device knows when to stop; the triangle is the host's. x changes
 * at the end of a cycle only: x = x + M^-1 V y, or x + Z y when the z are kept (fgmres), or x + V y
 * (left).
 *
 * Vectors of the space: W, then V_0 .. V_m, then Z (one, or Z_0 .. Z_{m-1} for fgmres).
 */
#include <math.h>
#include <string.h>

#include "solve/methods/method.h"

enum { W = TESS_V_OWN, V };
/* Slots: WW and NN are |w|^2 and |v_{j+1}|^2; LEFT bounds what is left of v_{j+1} along the basis
 * in roundings, of which LIMIT are too many; MARGIN and NN_MARGIN are positive while LEFT and NN
 * are good enough. BEFORE and AFTER are the squared residual before and after this iteration; HIGH,
 * TURN and LENGTH belong to its rotation. From FIRST on are m + 1 coefficients h of w, or y at the
 * end of a cycle; after these a second set, h / h_n or those of the second orthogonalisation; then
 * m cosines and m sines. */
enum {
    NORM = TESS_S_OWN,
    INVERSE,
    UNIT,
    WW,
    NN,
    LEFT,
    LIMIT,
    MARGIN,
    NN_MARGIN,
    BEFORE,
    AFTER,
    HIGH,
    TURN,
    LENGTH,
    FIRST
};

typedef struct gmres_state {
    tess_steps *finish; /* m lists: x from j + 1 vectors */
    tess_steps *mend;   /* m lists: v_{j+1} from w once more */
    double *R;          /* column j at R + j (m + 1): H after rotations, upper triangular */
    double *cosine, *sine;
    double *g;   /* the rotated right-hand side, m + 1 */
    int to_mend; /* vectors from this on to be mended in any case */
} gmres_state;

static void size(const tess_solve_options *options, int *vectors, int *slots, int64_t *cycle)
{
    const int m = (int)options->restart;
    *cycle = m;
    *vectors = V + m + 1 + (options->method->flexible ? m : 1);
    *slots = FIRST + 2 * (m + 1) + 2 * m;
}

/* out = slot[scale] from - sum of slot[first + i] v_i, i = 0..count-1, a few vectors at a time. */
static void project(tess_steps *s, int out, int scale, int from, int first, int count)
{
    for (int i = 0; i < count; i += TESS_TERMS_MAX - 1) {
        tess_term term[TESS_TERMS_MAX] = {{1, i ? TESS_ONE : scale, i ? out : from}};
        int terms = 1;
        for (int j = i; j < count && terms < TESS_TERMS_MAX; j++)
            term[terms++] = tess_term_of(-1, first + j, V + j);
        tess_step_combine(s, out, terms, term);
    }
}

/* w from v_j. */
static void build_product(const tess_solver *solver, tess_steps *s, int j)
{
    const tess_solve_options *options = &solver->options;
    const int m = (int)options->restart, z = V + m + 1 + (options->method->flexible ? j : 0);
    if (tess_applies_left(options)) {
        tess_step_apply(s, V + j, z);
        tess_pc_append(&solver->pc, s, z, W);
    } else {
        tess_step_apply(s, tess_pc_append(&solver->pc, s, V + j, z), W);
    }
}

/* The rotation that makes h_n zero, after those of the columns before, and |r|^2 after it. */
static void build_rotation(tess_steps *s, int m, int j)
{
    const int h = FIRST, cosine = FIRST + 2 * (m + 1), sine = cosine + m;
    tess_step_scalar(s, TESS_OP_COPY, HIGH, h, h);
    for (int i = 0; i < j; i++) {
        tess_step_scalar(s, TESS_OP_MUL, TURN, cosine + i, h + i + 1);
        tess_step_scalar(s, TESS_OP_MUL, HIGH, sine + i, HIGH);
        tess_step_scalar(s, TESS_OP_SUB, HIGH, TURN, HIGH);
    }
    tess_step_scalar(s, TESS_OP_MUL, LENGTH, HIGH, HIGH);
    tess_step_scalar(s, TESS_OP_MUL, TURN, NORM, NORM);
    tess_step_scalar(s, TESS_OP_ADD, LENGTH, LENGTH, TURN);
    tess_step_scalar(s, TESS_OP_SQRT, LENGTH, LENGTH, LENGTH);
    tess_step_scalar(s, TESS_OP_DIV, cosine + j, HIGH, LENGTH);
    tess_step_scalar(s, TESS_OP_DIV, sine + j, NORM, LENGTH);
    tess_step_scalar(s, TESS_OP_MUL, TURN, sine + j, sine + j);
    tess_step_scalar(s, TESS_OP_MUL, AFTER, TURN, BEFORE);
    tess_step_scalar(s, TESS_OP_COPY, TESS_S_RR, AFTER, AFTER);
}

/* What must be positive for v_{j+1} to be orthogonal enough. */
static void build_margins(tess_steps *s)
{
    tess_step_scalar(s, TESS_OP_ADD, LEFT, LEFT, UNIT);
    tess_step_scalar(s, TESS_OP_SQRT, TURN, WW, WW);
    tess_step_scalar(s, TESS_OP_MUL, TURN, TURN, INVERSE);
    tess_step_scalar(s, TESS_OP_MUL, LEFT, LEFT, TURN);
    tess_step_scalar(s, TESS_OP_SUB, MARGIN, LIMIT, LEFT);
    tess_step_scalar(s, TESS_OP_SUB, TURN, NN, UNIT);
    tess_step_scalar(s, TESS_OP_MUL, TURN, TURN, LIMIT);
    tess_step_scalar(s, TESS_OP_MUL, TURN, TURN, TURN);
    tess_step_scalar(s, TESS_OP_SUB, NN_MARGIN, UNIT, TURN);
}

static void build_iteration(const tess_solver *solver, tess_steps *s, int j)
{
    const int m = (int)solver->options.restart, h = FIRST, scaled = FIRST + m + 1;
    build_product(solver, s, j);
    for (int i = 0; i <= j; i++)
        tess_step_dot(s, h + i, W, V + i);
    tess_step_dot(s, WW, W, W);
    tess_step_scalar(s, TESS_OP_COPY, NORM, WW, WW);
    for (int i = 0; i <= j; i++) {
        tess_step_scalar(s, TESS_OP_MUL, scaled + i, h + i, h + i);
        tess_step_scalar(s, TESS_OP_SUB, NORM, NORM, scaled + i);
    }
    tess_step_scalar(s, TESS_OP_SQRT, NORM, NORM, NORM);
    tess_step_scalar(s, TESS_OP_DIV, INVERSE, UNIT, NORM);
    for (int i = 0; i <= j; i++)
        tess_step_scalar(s, TESS_OP_MUL, scaled + i, h + i, INVERSE);
    tess_step_scalar(s, TESS_OP_COPY, BEFORE, AFTER, AFTER);
    build_rotation(s, m, j);
    project(s, V + j + 1, INVERSE, W, scaled, j + 1);
    tess_step_dot(s, NN, V + j + 1, V + j + 1);
    build_margins(s);
}

/* v_{j+1} again, orthogonalised twice and with its measured norm. w is still there, unless a device
 * has begun the next iteration before it was told (`anew`). */
static void build_mend(const tess_solver *solver, tess_steps *s, int j, bool anew)
{
    const int m = (int)solver->options.restart, h = FIRST, g = FIRST + m + 1, next = V + j + 1;
    if (anew)
        build_product(solver, s, j);
    project(s, next, TESS_ONE, W, h, j + 1);
    for (int i = 0; i <= j; i++)
        tess_step_dot(s, g + i, next, V + i);
    project(s, next, TESS_ONE, next, g, j + 1);
    tess_step_dot(s, NN, next, next);
    for (int i = 0; i <= j; i++)
        tess_step_scalar(s, TESS_OP_ADD, h + i, h + i, g + i);
    tess_step_scalar(s, TESS_OP_SQRT, NORM, NN, NN);
    tess_step_scalar(s, TESS_OP_DIV, INVERSE, UNIT, NORM);
    tess_step_scalar(s, TESS_OP_COPY, LEFT, UNIT, UNIT);
    build_rotation(s, m, j);
    const tess_term unit = {1, INVERSE, next};
    tess_step_combine(s, next, 1, &unit);
}

/* x = x + sum y_i z_i, y in the slots from FIRST. */
static void build_finish(const tess_solver *solver, tess_steps *s, int count)
{
    const tess_solve_options *options = &solver->options;
    const int z = V + (int)options->restart + 1;
    const bool kept = options->method->flexible && !options->pc.ops->identity;
    const bool direct = kept || tess_applies_left(options);
    const int from = kept ? z : V, to = direct ? TESS_V_X : W;
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
                      tess_pc_append(&solver->pc, s, W, z));
}

/* A power of 2 not above the root of 1 / epsilon, from the number 1. */
static void build_limit(tess_steps *s, bool is_single)
{
    const int halvings = is_single ? 11 : 26;
    tess_step_scalar(s, TESS_OP_COPY, LIMIT, UNIT, UNIT);
    for (int i = 0; i < halvings; i++)
        tess_step_scalar(s, TESS_OP_ADD, LIMIT, LIMIT, LIMIT);
}

static void build(tess_solver *solver)
{
    const tess_solve_options *options = &solver->options;
    tess_steps *s = &solver->start;
    tess_step_apply(s, TESS_V_X, W);
    tess_step_sum(s, W, 1, TESS_ONE, TESS_V_B, -1, TESS_ONE, W);
    tess_step_dot(s, TESS_S_RR, W, W);
    int r = W, rr = TESS_S_RR;
    if (tess_applies_left(options)) {
        r = tess_pc_append(&solver->pc, s, W, V + (int)options->restart + 1);
        rr = WW;
        tess_step_dot(s, rr, r, r);
    }
    tess_step_scalar(s, TESS_OP_SQRT, NORM, rr, rr);
    tess_step_scalar(s, TESS_OP_DIV, UNIT, NORM, NORM); /* 1 */
    tess_step_scalar(s, TESS_OP_DIV, INVERSE, UNIT, NORM);
    tess_step_scalar(s, TESS_OP_COPY, AFTER, rr, rr);
    tess_step_scalar(s, TESS_OP_SUB, LEFT, UNIT, UNIT);
    build_limit(s, solver->plan->matrix->type == TESS_F32);
    const tess_term first = {1, INVERSE, r};
    tess_step_combine(s, V, 1, &first);
    for (int j = 0; j < (int)options->restart; j++)
        build_iteration(solver, &solver->loop[j], j);
}

static void close_state(tess_solver *solver)
{
    gmres_state *state = solver->state;
    if (!state)
        return;
    for (int64_t j = 0; state->finish && state->mend && j < solver->cycle; j++) {
        tess_steps_free(&state->finish[j]);
        tess_steps_free(&state->mend[j]);
    }
    tess_free(solver->ctx, state->finish);
    tess_free(solver->ctx, state->mend);
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
    TESS_TRY(TESS_CALLOC(solver->ctx, m, &state->mend));
    const bool anew = solver->plan->device->backend->space != NULL; /* several at a time */
    for (int j = 0; j < (int)m; j++) {
        state->finish[j] = state->mend[j] = (tess_steps){.ctx = solver->ctx};
        build_finish(solver, &state->finish[j], j + 1);
        build_mend(solver, &state->mend[j], j, anew);
        TESS_TRY(tess_steps_finish(&state->finish[j]));
        TESS_TRY(tess_steps_finish(&state->mend[j]));
    }
    return TESS_OK;
}

/* Orthogonalises v_{j+1} again where once was not, or may not have been, enough. */
static tess_status mend(tess_solver *solver, int system, int64_t position)
{
    gmres_state *state = solver->state;
    tess_space *space = &solver->space;
    const double *slots = solver->slots;
    if (!isfinite(slots[WW]))
        return TESS_OK; /* nothing to be mended: the driver will say so */
    if (!(slots[NORM] > 0) || !(slots[MARGIN] > 0) || !(slots[NN_MARGIN] > 0))
        state->to_mend = 2;
    solver->careful = state->to_mend > 1;
    if (state->to_mend == 0)
        return TESS_OK;
    state->to_mend--;
    TESS_TRY(space->ops->run(space, &state->mend[position], &system, 1));
    return space->ops->read_slots(space, system, solver->slots);
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
        state->to_mend = 0;
        solver->careful = false;
        state->g[0] = solver->slots[NORM];
        if (tess_applies_left(&solver->options))
            tess_system_scale(system, state->g[0]);
        return;
    }
    const double norm = solver->slots[NORM];
    rotate(state, solver->cycle, position, solver->slots + FIRST, norm);
    system->residual = system->scale * fabs(state->g[position + 1]);
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

/* Where `mend` has something to do. */
static const tess_stop stops[] = {{TESS_STOP_NOT_POSITIVE, NORM, 0},
                                  {TESS_STOP_NOT_POSITIVE, MARGIN, 0},
                                  {TESS_STOP_NOT_POSITIVE, NN_MARGIN, 0}};

const tess_method tess_method_gmres = {
    .name = "gmres",
    .summary = "any A; restart=30 vectors are kept",
    .sides = TESS_SIDES_BOTH,
    .size = size,
    .build = build,
    .open = open_state,
    .close = close_state,
    .mend = mend,
    .check = check,
    .stops = stops,
    .stop_count = sizeof stops / sizeof *stops,
    .finish = finish,
};

const tess_method tess_method_fgmres = {
    .name = "fgmres",
    .summary = "gmres that also keeps the preconditioned vectors",
    .flexible = true,
    .sides = TESS_SIDES_RIGHT,
    .size = size,
    .build = build,
    .open = open_state,
    .close = close_state,
    .mend = mend,
    .check = check,
    .stops = stops,
    .stop_count = sizeof stops / sizeof *stops,
    .finish = finish,
};
