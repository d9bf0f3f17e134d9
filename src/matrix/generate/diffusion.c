/* diffusion: -div(k grad u) by finite volumes in a unit cube of n x n x n cells, b = 1.
 *
 * The cube is cut into 4 x 4 x 4 boxes. Every other one, as on a chessboard, has k = `jump` instead
 * of 1. Along x, k is `aniso` times larger. The flux between two cells is proportional to the
 * harmonic mean of their k. u = 0 on the face x = 0. With free=1 u is fixed on no face, and known
 * only up to a constant. The right-hand side is A times a smooth u, so that rounding does not
 * dominate the solution at any jump.
 */
#include "matrix/generate/generate.h"

typedef struct problem {
    tess_grid grid;
    double jump, aniso;
    int free;
} problem;

static double coefficient(const problem *P, const int64_t at[3])
{
    const int64_t n = P->grid.n;
    int64_t boxes = 0;
    for (int d = 0; d < 3; d++)
        boxes += 4 * at[d] / n;
    return boxes % 2 == 1 ? P->jump : 1;
}

static int64_t count(const void *context, int64_t row)
{
    return tess_grid_count(&((const problem *)context)->grid, row);
}

/* Neighbours by rising column: those below along z, y, x, the cell itself, those above along x, y,
 * z. */
static void fill(const void *context, int64_t row, int32_t *columns, double *values)
{
    static const int order[7][2] = {{2, -1}, {1, -1}, {0, -1}, {0, 0}, {0, 1}, {1, 1}, {2, 1}};
    const problem *P = context;
    const tess_grid *g = &P->grid;
    const int64_t step[3] = {1, g->nx, g->nx * g->ny};
    int64_t at[3], found = 0, diagonal = 0;
    double sum = 0;
    tess_grid_point(g, row, at);
    const double h = 1 / (double)g->n, k = coefficient(P, at);
    for (int i = 0; i < 7; i++) {
        const int axis = order[i][0], side = order[i][1];
        const double along = axis == 0 ? P->aniso : 1;
        int64_t to[3] = {at[0], at[1], at[2]};
        to[axis] += side;
        if (to[axis] < 0 || to[axis] >= g->n) {
            if (to[0] < 0 && !P->free)
                sum += 2 * k * along * h; /* half a cell to the face */
            continue;
        }
        columns[found] = (int32_t)(row + side * step[axis]);
        if (side == 0) {
            diagonal = found++;
            continue;
        }
        const double other = coefficient(P, to), flux = 2 * k * other / (k + other) * along * h;
        values[found++] = -flux;
        sum += flux;
    }
    values[diagonal] = sum > 0 ? sum : P->free ? 0 : 1;
}

static double smooth(const problem *P, int64_t cell)
{
    double x[3];
    int64_t at[3];
    tess_grid_point(&P->grid, cell, at);
    for (int d = 0; d < 3; d++)
        x[d] = ((double)at[d] + 0.5) / (double)P->grid.n;
    return x[0] * (2 - x[0]) + x[1] * (1 - x[1]) * (x[2] - 0.5);
}

static double source(const void *context, int64_t i)
{
    int32_t columns[7];
    double values[7], sum = 0;
    fill(context, i, columns, values);
    for (int64_t k = 0; k < count(context, i); k++)
        sum += values[k] * smooth(context, columns[k]);
    return sum;
}

tess_status tess_generate_diffusion(tess_ctx *ctx, const char *what, const char *keys,
                                    tess_matrix **out, void **rhs)
{
    problem P = {.grid = {.n = 32}, .jump = 1, .aniso = 1};
    int type = TESS_F64;
    const tess_option table[] = {
        TESS_OPTION_COUNT("n", &P.grid.n, 1, INT32_MAX),
        {"jump", TESS_OPTION_DOUBLE, &P.jump, 1e-12, 1e12, NULL, 0},
        {"aniso", TESS_OPTION_DOUBLE, &P.aniso, 1e-12, 1e12, NULL, 0},
        {"free", TESS_OPTION_BOOL, &P.free, 0, 0, NULL, 0},
        TESS_OPTION_TYPE(&type),
    };
    TESS_TRY(tess_options_parse(ctx, what, keys, table, sizeof table / sizeof table[0]));
    TESS_TRY(tess_grid_check(ctx, what, &P.grid, 1));
    const int64_t cells = P.grid.n * P.grid.n * P.grid.n;
    const tess_row_rule rule = tess_rule(type, cells, cells, 1, 1, &P, count, fill);
    return tess_generate_with_rhs(ctx, &rule, source, out, rhs);
}
