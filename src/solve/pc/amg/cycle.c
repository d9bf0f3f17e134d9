/* One cycle as steps.
 *
 * On every level: x from 0 by Chebyshev's polynomial of the smoother, the residual restricted, the
 * coarse correction, the same polynomial again. Residuals are kept up to date by products
 * r = r - A d with what was added to x, so that no step computes b - A x from the beginning:
 *
 *     d = D^-1 r / theta,  x = d                        one pass
 *     r = r - A d                                       product
 *     d = f d + g D^-1 r,  x = x + d                    one pass; repeated by the degree
 *     r = r - A d,  coarse r = R r                      products
 *     ...                                               the coarse level
 *     d = P coarse x,  r = r - A d                      products
 *     x = x + d,  d = D^-1 r / theta,  x = x + d        one pass; and so on
 *
 * The first and the last polynomial are the same, so that the cycle is symmetric where A is.
 */
#include "solve/pc/amg/amg.h"

/* The polynomial is small from 1 / spread to 1, where eigenvalues of D^-1 A end: D has a factor for
 * that (hierarchy.c). */
static const double spread = 30;

typedef struct cycle {
    const tess_pc *pc;
    const tess_amg *amg;
    tess_steps *steps;
    int offset; /* level i of the hierarchy is level i + offset of vectors */
} cycle;

static int vector(const cycle *c, int level, int which)
{
    return c->pc->own.first_vector + level * AMG_LEVEL_VECTORS + which;
}

static bool is_bottom(const cycle *c, int level)
{
    return level + 1 == c->amg->levels && c->amg->bottom;
}

/* The polynomial's next corrections. `from`: the right-hand side of the first, which is copied to r
 * where it is another vector. `start`: x is 0 before; else d holds what must be added to it. */
static void smooth(const cycle *c, int level, int from, int x, bool start)
{
    const tess_amg_level *l = &c->amg->level[level];
    tess_steps *s = c->steps;
    const int r = vector(c, level, AMG_R), d = vector(c, level, AMG_D), t = vector(c, level, AMG_T);
    const double theta = (1 + 1 / spread) / 2, delta = (1 - 1 / spread) / 2, sigma = theta / delta;
    double rho = 1 / sigma;
    tess_steps_on_level(s, level + c->offset);
    if (from != r)
        tess_step_copy(s, r, from);
    if (!start)
        tess_step_sum(s, x, 1, TESS_ONE, x, 1, TESS_ONE, d);
    tess_step_diagonal(s, &l->diagonal, r, t, false);
    tess_step_combine(s, d, 1, &(tess_term){1 / theta, TESS_ONE, t});
    if (start)
        tess_step_copy(s, x, d);
    else
        tess_step_sum(s, x, 1, TESS_ONE, x, 1, TESS_ONE, d);
    for (int64_t i = 1; i < c->pc->options.amg.degree; i++) {
        const double next = 1 / (2 * sigma - rho);
        tess_step_product(s, l->plan, -1, d, 1, r);
        tess_step_diagonal(s, &l->diagonal, r, t, false);
        tess_step_sum(s, d, rho * next, TESS_ONE, d, 2 * next / delta, TESS_ONE, t);
        tess_step_sum(s, x, 1, TESS_ONE, x, 1, TESS_ONE, d);
        rho = next;
    }
}

/* x = one cycle of the levels from this one on, for the right-hand side `from`. Afterwards r is the
 * residual if `residual`. */
static void descend(const cycle *c, int level, int from, int x, bool residual)
{
    const tess_amg_level *l = &c->amg->level[level];
    tess_steps *s = c->steps;
    const int r = vector(c, level, AMG_R), d = vector(c, level, AMG_D);
    if (is_bottom(c, level)) {
        tess_step_product(s, c->amg->bottom_plan, 1, from, 0, x);
        return;
    }
    smooth(c, level, from, x, true);
    if (level + 1 < c->amg->levels) {
        const int below = vector(c, level + 1, AMG_R), answer = vector(c, level + 1, AMG_X);
        tess_step_product(s, l->plan, -1, d, 1, r);
        tess_step_product(s, l->R_plan, 1, r, 0, below);
        descend(c, level + 1, below, answer, false);
        tess_step_product(s, l->P_plan, 1, answer, 0, d);
        tess_step_product(s, l->plan, -1, d, 1, r);
        smooth(c, level, r, x, false);
    }
    if (residual)
        tess_step_product(s, l->plan, -1, d, 1, r);
}

void tess_amg_append(const tess_pc *pc, tess_steps *steps, int r, int z, bool transpose)
{
    const tess_amg *amg = pc->state;
    const bool single = pc->type != pc->vector_type;
    const cycle c = {.pc = pc, .amg = amg, .steps = steps, .offset = single};
    (void)transpose; /* the cycle is symmetric */
    if (!single) {
        descend(&c, 0, r, z, false);
        tess_steps_on_level(steps, 0);
        return;
    }
    const int own_r = vector(&c, 0, AMG_R), x = vector(&c, 0, AMG_X), norm = pc->own.first_slot;
    /* A residual of any size fits single precision when it is divided by its norm. */
    tess_step_dot(steps, norm, r, r);
    tess_step_scalar(steps, TESS_OP_SQRT, norm, norm, norm);
    tess_step_convert(steps, 1, r, own_r, norm, true);
    descend(&c, 0, own_r, x, false);
    tess_step_convert(steps, 0, x, z, norm, false);
    tess_steps_on_level(steps, 0);
}

void tess_amg_own(tess_amg *amg, tess_pc *pc)
{
    const bool single = pc->type != pc->vector_type;
    tess_pc_own *own = &pc->own;
    int levels = 0, vectors = 0;
    for (int i = 0; i < amg->levels; i++) {
        const tess_matrix *A = amg->level[i].A;
        if (i > 0 || single)
            amg->vector_level[levels++] =
                (tess_vector_level){A->block_rows * A->block_height, A->block_height, pc->type};
        for (int v = 0; v < AMG_LEVEL_VECTORS; v++)
            amg->vectors_of[vectors++] = i + single;
    }
    if (single)
        amg->vector_level[0].rows = amg->level[0].A->rows;
    *own = (tess_pc_own){.level = amg->vector_level,
                         .vector_level = amg->vectors_of,
                         .levels = levels,
                         .vectors = vectors,
                         .slots = single};
}
