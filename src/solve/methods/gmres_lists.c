/* The lists of steps of GMRES: start, iterations, second orthogonalisation, x at the end of a
 * cycle.
 */
#include "solve/methods/gmres.h"

void tess_gmres_size(const tess_solve_options *options, int *vectors, int *slots, int64_t *cycle)
{
    const int m = (int)options->restart;
    *cycle = m;
    *vectors = V + m + 1 + (options->method->flexible ? m : 1);
    *slots = FIRST + 2 * (m + 1) + 2 * m;
    if (options->method->deflates) {
        *vectors += (int)options->deflate;
        *slots += m * (int)options->deflate;
    }
}

/* Appends out = slot[scale] from - sum of slot[first + i] v_i, i = 0..count-1, a few vectors at a
 * time. */
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

/* dgmres: z_j is M^-1 v_j or, in the last iterations of a cycle, a vector kept from the cycle
 * before. */
static void build_kept(const tess_solver *solver, tess_steps *s, int j, int z)
{
    const tess_solve_options *options = &solver->options;
    const int i = j - (int)(options->restart - options->deflate);
    if (i < 0) {
        const int made = tess_pc_append(&solver->pc, s, V + j, z);
        if (made != z)
            tess_step_copy(s, z, made);
        return;
    }
    const int made = tess_pc_append(&solver->pc, s, V + j, W);
    tess_step_sum(s, z, 1, FRESH, made, 1, KEEP, tess_gmres_kept(options) + i);
}

/* Appends w, made from v_j. */
static void build_product(const tess_solver *solver, tess_steps *s, int j)
{
    const tess_solve_options *options = &solver->options;
    const int m = (int)options->restart, z = V + m + 1 + (options->method->flexible ? j : 0);
    if (tess_applies_left(options)) {
        tess_step_apply(s, V + j, z);
        tess_pc_append(&solver->pc, s, z, W);
    } else if (options->method->deflates) {
        build_kept(solver, s, j, z);
        tess_step_apply(s, z, W);
    } else {
        tess_step_apply(s, tess_pc_append(&solver->pc, s, V + j, z), W);
    }
}

/* Appends the rotation that makes h_n zero, after those of the columns before, and |r|^2 after
 * it. */
static void build_rotation(tess_steps *s, int m, int j)
{
    const int h = FIRST, cosine = FIRST + 2 * (m + 1), sine = cosine + m;
    tess_step_scalar(s, TESS_OP_COPY, HIGH, h, h);
    for (int i = 0; i < j; i++) {
        tess_step_scalar(s, TESS_OP_MUL, TURN, cosine + i, h + i + 1);
        tess_step_scalar(s, TESS_OP_MUL, HIGH, sine + i, HIGH);
        tess_step_scalar(s, TESS_OP_SUB, HIGH, TURN, HIGH);
    }
    tess_step_scalar_conjugate(s, TESS_OP_MUL, LENGTH, HIGH, HIGH);
    tess_step_scalar(s, TESS_OP_MUL, TURN, NORM, NORM);
    tess_step_scalar(s, TESS_OP_ADD, LENGTH, LENGTH, TURN);
    tess_step_scalar(s, TESS_OP_SQRT, LENGTH, LENGTH, LENGTH);
    tess_step_scalar(s, TESS_OP_DIV, cosine + j, HIGH, LENGTH);
    tess_step_scalar(s, TESS_OP_DIV, sine + j, NORM, LENGTH);
    tess_step_scalar(s, TESS_OP_MUL, TURN, sine + j, sine + j);
    tess_step_scalar(s, TESS_OP_MUL, AFTER, TURN, BEFORE);
    tess_step_scalar(s, TESS_OP_COPY, TESS_S_RR, AFTER, AFTER);
}

/* Appends the margins, which must be positive for v_{j+1} to be orthogonal enough. */
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
        tess_step_project(s, h + i, W, V + i);
    tess_step_dot(s, WW, W, W);
    tess_step_scalar(s, TESS_OP_COPY, NORM, WW, WW);
    for (int i = 0; i <= j; i++) {
        tess_step_scalar_conjugate(s, TESS_OP_MUL, scaled + i, h + i, h + i);
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

void tess_gmres_build_mend(const tess_solver *solver, tess_steps *s, int j, bool anew)
{
    const int m = (int)solver->options.restart, h = FIRST, g = FIRST + m + 1, next = V + j + 1;
    if (anew)
        build_product(solver, s, j);
    project(s, next, TESS_ONE, W, h, j + 1);
    for (int i = 0; i <= j; i++)
        tess_step_project(s, g + i, next, V + i);
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

void tess_gmres_build_finish(const tess_solver *solver, tess_steps *s, int count)
{
    const tess_solve_options *options = &solver->options;
    const int z = V + (int)options->restart + 1;
    const bool kept =
        options->method->deflates || (options->method->flexible && !options->pc.ops->identity);
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

/* Sets LIMIT to a power of 2 not above the root of 1 / epsilon, by doubling the number 1. */
static void build_limit(tess_steps *s, bool is_single)
{
    const int halvings = is_single ? 11 : 26;
    tess_step_scalar(s, TESS_OP_COPY, LIMIT, UNIT, UNIT);
    for (int i = 0; i < halvings; i++)
        tess_step_scalar(s, TESS_OP_ADD, LIMIT, LIMIT, LIMIT);
}

void tess_gmres_build(tess_solver *solver)
{
    const tess_solve_options *options = &solver->options;
    tess_steps *s = &solver->start;
    tess_step_residual(s, W);
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
    build_limit(s, tess_real_type(solver->plan->matrix->type) == TESS_F32);
    if (options->method->deflates) { /* at the start of a solve, not of a cycle */
        tess_step_scalar(&solver->rhs, TESS_OP_SUB, KEEP, TESS_S_RR, TESS_S_RR);
        tess_step_scalar(&solver->rhs, TESS_OP_DIV, FRESH, TESS_S_RR, TESS_S_RR);
    }
    const tess_term first = {1, INVERSE, r};
    tess_step_combine(s, V, 1, &first);
    for (int j = 0; j < (int)options->restart; j++)
        build_iteration(solver, &solver->loop[j], j);
}
