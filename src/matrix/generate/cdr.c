/* cdr: convection, diffusion and reaction of b coupled components u in the unit cube,
 *
 *     - D lap(u) + C (w . grad) u + R u = s,    u = 0 on the surface,
 *
 * on nx x ny x nz interior points with first-order upwind differences, every equation multiplied by
 * h^2, h = 1/(nx+1). w = convection * (2y-1, 1-2x, 1/2) turns around the z axis and rises. D, C and
 * R are dense b x b matrices: the identity (R: `reaction` times the identity) plus random coupling
 * whose absolute row sums stay below 1/2. So all blocks are dense, diagonal blocks are diagonally
 * dominant, and the matrix is not symmetric, neither by blocks nor by scalars.
 */
#include "matrix/generate/generate.h"

typedef struct problem {
    tess_grid grid;
    int64_t b, seed;
    double convection, reaction;
    double h;
    double *D, *C, *R; /* column-major */
} problem;

static int64_t count(const void *context, int64_t row)
{
    return tess_grid_count(&((const problem *)context)->grid, row);
}

static void velocity(const problem *P, const int64_t at[3], double w[3])
{
    double x = (double)(at[0] + 1) / (double)(P->grid.nx + 1);
    double y = (double)(at[1] + 1) / (double)(P->grid.ny + 1);
    w[0] = P->convection * (2 * y - 1);
    w[1] = P->convection * (1 - 2 * x);
    w[2] = P->convection * 0.5;
}

/* block = diffusion*D + convection*C + reaction*R */
static void combine(const problem *P, double diffusion, double convection, double reaction,
                    double *block)
{
    for (int64_t k = 0; k < P->b * P->b; k++)
        block[k] = diffusion * P->D[k] + convection * P->C[k] + reaction * P->R[k];
}

static void fill(const void *context, int64_t row, int32_t *columns, double *values)
{
    const problem *P = context;
    const int64_t size[3] = {P->grid.nx, P->grid.ny, P->grid.nz};
    const int64_t stride[3] = {1, size[0], size[0] * size[1]};
    int64_t at[3], found = 0, block = P->b * P->b;
    double w[3], speed = 0;
    tess_grid_point(&P->grid, row, at);
    velocity(P, at, w);
    for (int d = 0; d < 3; d++)
        speed += fabs(w[d]) * P->h;

    /* Upwind differences: only neighbours from which w flows in have a convection term. */
    for (int d = 2; d >= 0; d--) {
        if (at[d] > 0) {
            columns[found] = (int32_t)(row - stride[d]);
            combine(P, -1, w[d] > 0 ? -w[d] * P->h : 0, 0, values + block * found++);
        }
    }
    columns[found] = (int32_t)row;
    combine(P, 6, speed, P->h * P->h, values + block * found++);
    for (int d = 0; d < 3; d++) {
        if (at[d] < size[d] - 1) {
            columns[found] = (int32_t)(row + stride[d]);
            combine(P, -1, w[d] < 0 ? w[d] * P->h : 0, 0, values + block * found++);
        }
    }
}

/* h^2 s: a smooth source that vanishes on the surface, weaker in the first components. */
static double source(const void *context, int64_t i)
{
    const problem *P = context;
    const int64_t size[3] = {P->grid.nx, P->grid.ny, P->grid.nz};
    int64_t at[3];
    tess_grid_point(&P->grid, i / P->b, at);
    double s = P->h * P->h * (double)(i % P->b + 1) / (double)P->b;
    for (int d = 0; d < 3; d++) {
        double x = (double)(at[d] + 1) / (double)(size[d] + 1);
        s *= 4 * x * (1 - x);
    }
    return s;
}

static void couple(double *matrix, int64_t b, double diagonal, uint64_t seed)
{
    for (int64_t k = 0; k < b * b; k++)
        matrix[k] =
            k % (b + 1) == 0 ? diagonal : 0.5 / (double)b * tess_random_unit(seed, (uint64_t)k);
}

tess_status tess_generate_cdr(tess_ctx *ctx, const char *what, const char *keys, tess_matrix **out,
                              void **rhs)
{
    problem P = {.grid = {.n = 32}, .b = 4, .seed = 1, .convection = 40, .reaction = 10};
    int type = TESS_F64;
    const tess_option table[] = {
        TESS_OPTIONS_GRID(&P.grid),
        TESS_OPTION_COUNT("b", &P.b, 1, TESS_BLOCK_MAX),
        TESS_OPTION_COUNT("seed", &P.seed, 0, TESS_SEED_MAX),
        {"convection", TESS_OPTION_DOUBLE, &P.convection, 0, 1e9, NULL, 0},
        {"reaction", TESS_OPTION_DOUBLE, &P.reaction, 1, 1e9, NULL, 0},
        TESS_OPTION_TYPE(&type),
    };
    TESS_TRY(tess_options_parse(ctx, what, keys, table, sizeof table / sizeof table[0]));
    TESS_TRY(tess_grid_check(ctx, what, &P.grid, P.b));
    P.h = 1 / (double)(P.grid.nx + 1);
    double *coupling;
    TESS_TRY(TESS_ALLOC(ctx, 3 * P.b * P.b, &coupling));
    P.D = coupling;
    P.C = coupling + P.b * P.b;
    P.R = coupling + 2 * P.b * P.b;
    couple(P.D, P.b, 1, (uint64_t)P.seed);
    couple(P.C, P.b, 1, ~(uint64_t)P.seed);
    couple(P.R, P.b, P.reaction, (uint64_t)P.seed << 1 ^ 0x5555);
    int64_t points = P.grid.nx * P.grid.ny * P.grid.nz;
    const tess_row_rule rule = tess_rule(type, points, points, P.b, P.b, &P, count, fill);
    tess_status status = tess_generate_with_rhs(ctx, &rule, source, out, rhs);
    tess_free(ctx, coupling);
    return status;
}
