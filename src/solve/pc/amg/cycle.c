/* One cycle as steps.
 *
 * On every level the smoother computes x from 0, the residual is restricted, x gets the coarse
 * correction, and the same smoother runs again. Residuals are updated by r = r - A d, where d was
 * added to x, so that no step computes b - A x anew:
 *
 *     d = D^-1 r / theta                                one pass
 *     r = r - A d                                       product
 *     x = d,  d = f d + g D^-1 r,  x = x + d            one pass; x = d the first time alone
 *     r = r - A d,  coarse r = R r                      products
 *     ...                                               the coarse level
 *     d = P coarse x,  r = r - A d                      products
 *     x = x + d,  d = D^-1 r / theta,  x = x + d        one pass
 *     r = r - A d                                       product
 *     x = x + f d + g D^-1 r                            one pass
 *
 * That is Chebyshev's polynomial of degree 2; other smoothers have d = M^-1 r. The first and the
 * last smoother are the same, so that the cycle is symmetric where A is. A pass writes x and d only
 * where a later step reads them.
 *
 * A W-cycle visits a coarse level a second time, with the residual of the first visit. A K-cycle
 * (Notay and Vassilevski 2008) makes two iterations of conjugate gradients there, or of GCR where A
 * is not symmetric, whose preconditioner is the cycle of that level. Its coefficients are quotients
 * of dot products, so the cycle is not linear.
 */
#include "solve/pc/amg/amg.h"

/* The polynomial reduces error components with eigenvalues between 1 / spread and 1. D is scaled so
 * that the largest eigenvalue of D^-1 A is at most about 1 (plans.c). Eigenvalues below 1 / spread
 * are left to the coarse level. */
static const double spread = 8;

/* The most visits of a level in one cycle. Levels below it are then visited as often. */
enum { VISITS_MOST = 16 };

/* Slots of a K-cycle: two per level, which are kept while coarser levels are visited, then slots
 * that all levels share. */
enum { K_RHO, K_STEP, K_LEVEL_SLOTS };
enum { K_GAMMA, K_BETA, K_SHARE, K_SECOND, K_SLOTS };

typedef struct cycle {
    const tess_pc *pc;
    const tess_amg *amg;
    tess_steps *steps;
    int offset; /* level i of the hierarchy is level i + offset of vectors */
} cycle;

static int vectors_of(const tess_amg *amg, int level)
{
    return level == 0                   ? AMG_OF_V
           : amg->cycle == TESS_CYCLE_V ? AMG_OF_V
           : amg->cycle == TESS_CYCLE_W ? AMG_OF_W
                                        : AMG_LEVEL_VECTORS;
}

static int vector(const cycle *c, int level, int which)
{
    const int before = level == 0 ? 0 : AMG_OF_V + (level - 1) * vectors_of(c->amg, level);
    return c->pc->own.first_vector + before + which;
}

static int level_slot(const cycle *c, int level, int which)
{
    return c->pc->own.first_slot + c->offset + level * K_LEVEL_SLOTS + which;
}

static int slot(const cycle *c, int which)
{
    return level_slot(c, c->amg->levels, which);
}

/* By a pointer: where level[level] is inlined into the recursion, gcc 12 for aarch64 warns of
 * level[-1]. */
static const tess_amg_level *level_of(const cycle *c, int level)
{
    const tess_amg_level *finest = c->amg->level;
    return finest + level;
}

static bool is_bottom(const cycle *c, int level)
{
    return level + 1 == c->amg->levels && c->amg->bottom;
}

/* Makes one of the polynomial's corrections, f d + g D^-1 r, the new d, and adds it to x. Where no
 * later step reads d (`last`) the correction is only added to x. */
static void correct(const cycle *c, int level, double f, double g, int x, bool last)
{
    const int r = vector(c, level, AMG_R), d = vector(c, level, AMG_D);
    const tess_diagonal *D = &level_of(c, level)->diagonal;
    const tess_term term[2] = {{f, TESS_ONE, d}, {1, TESS_ONE, x}};
    const int first = f == 0;
    if (last) {
        tess_step_diagonal_sum(c->steps, D, g, r, x, false, 2 - first, term + first);
        return;
    }
    tess_step_diagonal_sum(c->steps, D, g, r, d, false, 1 - first, term);
    tess_step_sum(c->steps, x, 1, TESS_ONE, x, 1, TESS_ONE, d);
}

/* Adds the polynomial's corrections to x, or sets x to them (`start`): x is then written when the
 * second correction is made. d is the last correction, unless no later step reads it (`last`). */
static void polynomial(const cycle *c, int level, int x, bool start, bool last)
{
    const tess_amg_level *l = level_of(c, level);
    tess_steps *s = c->steps;
    const int64_t degree = c->amg->degree;
    const int r = vector(c, level, AMG_R), d = vector(c, level, AMG_D);
    const double theta = (1 + 1 / spread) / 2, delta = (1 - 1 / spread) / 2, sigma = theta / delta;
    double rho = 1 / sigma;
    if (start)
        tess_step_diagonal_sum(s, &l->diagonal, 1 / theta, r, d, false, 0, NULL);
    else
        correct(c, level, 0, 1 / theta, x, last && degree == 1);
    if (start && degree == 1)
        tess_step_copy(s, x, d);
    for (int64_t i = 1; i < degree; i++) {
        const double next = 1 / (2 * sigma - rho);
        tess_step_product(s, l->plan, -1, d, 1, r);
        if (start && i == 1)
            tess_step_copy(s, x, d);
        correct(c, level, rho * next, 2 * next / delta, x, last && i + 1 == degree);
        rho = next;
    }
}

/* The same with corrections d = M^-1 r. */
static void sweeps(const cycle *c, int level, int x, bool start)
{
    const tess_amg_level *l = level_of(c, level);
    const int r = vector(c, level, AMG_R), d = vector(c, level, AMG_D);
    for (int64_t i = 0; i < c->amg->degree; i++) {
        if (i > 0)
            tess_step_product(c->steps, l->plan, -1, d, 1, r);
        tess_step_precondition(c->steps, &l->smoother, r, d, false);
        if (start && i == 0)
            tess_step_copy(c->steps, x, d);
        else
            tess_step_sum(c->steps, x, 1, TESS_ONE, x, 1, TESS_ONE, d);
    }
}

/* Runs the smoother on x. `from`: the residual before, which is copied to r where it is another
 * vector. `start`: x is 0 before; otherwise d is added to x first. `last`: no later step reads
 * d. */
static void smooth(const cycle *c, int level, int from, int x, bool start, bool last)
{
    const int r = vector(c, level, AMG_R), d = vector(c, level, AMG_D);
    tess_steps_on_level(c->steps, level + c->offset);
    if (from != r)
        tess_step_copy(c->steps, r, from);
    if (!start)
        tess_step_sum(c->steps, x, 1, TESS_ONE, x, 1, TESS_ONE, d);
    if (c->amg->smoother == TESS_SMOOTHER_CHEBYSHEV)
        polynomial(c, level, x, start, last);
    else
        sweeps(c, level, x, start);
}

static void solve_below(const cycle *c, int level, int visits, int x);

/* x = one cycle of this level and the coarser ones, for the right-hand side `from`. `residual`: r
 * has to be the residual afterwards. `visits`: how often a cycle visits this level. */
static void descend(const cycle *c, int level, int visits, int from, int x, bool residual)
{
    const tess_amg_level *l = level_of(c, level);
    tess_steps *s = c->steps;
    const int r = vector(c, level, AMG_R), d = vector(c, level, AMG_D);
    if (is_bottom(c, level)) {
        tess_step_product(s, c->amg->bottom_plan, 1, from, 0, x);
        return;
    }
    const bool coarsest = level + 1 == c->amg->levels;
    smooth(c, level, from, x, true, coarsest && !residual);
    if (!coarsest) {
        tess_step_product(s, l->plan, -1, d, 1, r);
        solve_below(c, level, visits, d);
        tess_step_product(s, l->plan, -1, d, 1, r);
        smooth(c, level, r, x, false, !residual);
    }
    if (residual)
        tess_step_product(s, l->plan, -1, d, 1, r);
}

/* Two iterations of conjugate gradients or of GCR from x = 0, for the right-hand side in b. With
 * y(x) = x for conjugate gradients and y(x) = A x for GCR:
 *
 *     c = cycle(b),  rho = y(c).Ac,  step = y(c).b / rho,  b = b - step A c
 *     x = cycle(b),  share = y(x).Ac / rho,  second = y(x).b / (y(x).Ax - share y(x).Ac)
 *     x = (step - second share) c + second x
 */
static void iterate_twice(const cycle *c, int level, int visits, int x)
{
    tess_steps *s = c->steps;
    tess_plan *plan = level_of(c, level)->plan;
    const bool symmetric = c->amg->symmetric;
    const tess_scalar_op divide = symmetric ? TESS_OP_DIV_POSITIVE : TESS_OP_DIV;
    const int b = vector(c, level, AMG_B), first = vector(c, level, AMG_C);
    const int Ac = vector(c, level, AMG_AC), Ax = vector(c, level, AMG_AX);
    const int rho = level_slot(c, level, K_RHO), step = level_slot(c, level, K_STEP);
    const int gamma = slot(c, K_GAMMA), beta = slot(c, K_BETA), share = slot(c, K_SHARE),
              second = slot(c, K_SECOND);
    descend(c, level, visits, b, first, false);
    tess_step_product(s, plan, 1, first, 0, Ac);
    tess_steps_on_level(s, level + c->offset);
    tess_step_dot(s, rho, symmetric ? first : Ac, Ac);
    tess_step_dot(s, step, symmetric ? first : Ac, b);
    tess_step_scalar(s, divide, step, step, rho);
    tess_step_sum(s, b, 1, TESS_ONE, b, -1, step, Ac);
    descend(c, level, visits, b, x, false);
    tess_step_product(s, plan, 1, x, 0, Ax);
    tess_steps_on_level(s, level + c->offset);
    tess_step_dot(s, gamma, symmetric ? x : Ax, Ac);
    tess_step_dot(s, beta, symmetric ? x : Ax, Ax);
    tess_step_dot(s, second, symmetric ? x : Ax, b);
    tess_step_scalar(s, divide, share, gamma, rho);
    tess_step_scalar(s, TESS_OP_MUL, gamma, gamma, share);
    tess_step_scalar(s, TESS_OP_SUB, beta, beta, gamma);
    tess_step_scalar(s, divide, second, second, beta);
    tess_step_scalar(s, TESS_OP_MUL, share, share, second);
    tess_step_scalar(s, TESS_OP_SUB, step, step, share);
    tess_step_sum(s, x, 1, second, x, 1, step, first);
}

/* Sets x, a vector of `level`, to the correction by the coarser levels for the residual in r. */
static void solve_below(const cycle *c, int level, int visits, int x)
{
    const tess_amg_level *l = level_of(c, level);
    tess_steps *s = c->steps;
    const int below = level + 1, answer = vector(c, below, AMG_X);
    const bool once =
        c->amg->cycle == TESS_CYCLE_V || below + 1 == c->amg->levels || 2 * visits > VISITS_MOST;
    const bool krylov = !once && c->amg->cycle == TESS_CYCLE_K;
    const int from = vector(c, below, krylov ? AMG_B : AMG_R);
    tess_step_product(s, l->R_plan, 1, vector(c, level, AMG_R), 0, from);
    if (krylov) {
        iterate_twice(c, below, 2 * visits, answer);
    } else if (once) {
        descend(c, below, visits, from, answer, false);
    } else {
        const int more = vector(c, below, AMG_B);
        descend(c, below, 2 * visits, from, answer, true);
        descend(c, below, 2 * visits, from, more, false);
        tess_steps_on_level(s, below + c->offset);
        tess_step_sum(s, answer, 1, TESS_ONE, answer, 1, TESS_ONE, more);
    }
    tess_step_product(s, l->P_plan, 1, answer, 0, x);
}

void tess_amg_append(const tess_pc *pc, tess_steps *steps, int r, int z, bool transpose)
{
    const tess_amg *amg = pc->state;
    const bool single = pc->type != pc->vector_type;
    const cycle c = {.pc = pc, .amg = amg, .steps = steps, .offset = single};
    (void)transpose; /* amg.c refuses it unless the cycle is symmetric */
    if (!single) {
        descend(&c, 0, 1, r, z, false);
        tess_steps_on_level(steps, 0);
        return;
    }
    const int own_r = vector(&c, 0, AMG_R), x = vector(&c, 0, AMG_X), norm = pc->own.first_slot;
    /* Divided by its norm, a residual of any size fits the range of single precision. */
    tess_step_dot(steps, norm, r, r);
    tess_step_scalar(steps, TESS_OP_SQRT, norm, norm, norm);
    tess_step_convert(steps, 1, r, own_r, norm, true);
    descend(&c, 0, 1, own_r, x, false);
    tess_step_convert(steps, 0, x, z, norm, false);
    tess_steps_on_level(steps, 0);
}

void tess_amg_own(tess_amg *amg, tess_pc *pc)
{
    const bool single = pc->type != pc->vector_type;
    tess_pc_own *own = &pc->own;
    int levels = 0, vectors = 0;
    const int slots = amg->cycle == TESS_CYCLE_K ? amg->levels * K_LEVEL_SLOTS + K_SLOTS : 0;
    for (int i = 0; i < amg->levels; i++) {
        const tess_matrix *A = amg->level[i].A;
        if (i > 0 || single)
            amg->vector_level[levels++] =
                (tess_vector_level){A->block_rows * A->block_height, A->block_height, pc->type};
        for (int v = 0; v < vectors_of(amg, i); v++)
            amg->vectors_of[vectors++] = i + single;
    }
    if (single)
        amg->vector_level[0].rows = amg->level[0].A->rows;
    *own = (tess_pc_own){.level = amg->vector_level,
                         .vector_level = amg->vectors_of,
                         .levels = levels,
                         .vectors = vectors,
                         .slots = single + slots};
}
