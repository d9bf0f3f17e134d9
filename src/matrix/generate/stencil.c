/* stencil7, stencil27: a box of points, each coupled with itself and its 6 or 26 neighbours by
 * dense b x b blocks. The values are those of tess_generate_dominant: symmetric positive definite.
 *
 * The 27-point matrix has (3nx-2)(3ny-2)(3nz-2) blocks. The 7-point matrix has 7 per point, less
 * one for every face of a point that lies on the surface.
 */
#include "matrix/generate/generate.h"

typedef struct problem {
    tess_grid grid;
    int64_t b, seed;
    bool corners; /* 27 points instead of 7 */
} problem;

static int64_t count(const void *context, int64_t row)
{
    const problem *P = context;
    int64_t p[3];
    tess_grid_point(&P->grid, row, p);
    int64_t x = tess_grid_span(p[0], P->grid.nx), y = tess_grid_span(p[1], P->grid.ny),
            z = tess_grid_span(p[2], P->grid.nz);
    return P->corners ? x * y * z : x + y + z - 2;
}

static void fill(const void *context, int64_t row, int32_t *columns, double *values)
{
    const problem *P = context;
    const tess_grid *g = &P->grid;
    int64_t p[3], found = 0, diagonal = -1;
    tess_grid_point(g, row, p);
    for (int64_t z = p[2] - 1; z <= p[2] + 1; z++) {
        for (int64_t y = p[1] - 1; y <= p[1] + 1; y++) {
            for (int64_t x = p[0] - 1; x <= p[0] + 1; x++) {
                bool inside = x >= 0 && x < g->nx && y >= 0 && y < g->ny && z >= 0 && z < g->nz;
                int axes = (x != p[0]) + (y != p[1]) + (z != p[2]);
                if (!inside || (axes > 1 && !P->corners))
                    continue;
                if (axes == 0)
                    diagonal = found;
                columns[found++] = (int32_t)((z * g->ny + y) * g->nx + x);
            }
        }
    }
    tess_generate_dominant((uint64_t)P->seed, g->nx * g->ny * g->nz * P->b, (int32_t)P->b, row,
                           found, diagonal, columns, values);
}

static tess_status generate(tess_ctx *ctx, const char *what, const char *keys, bool corners,
                            tess_matrix **out, void **rhs)
{
    problem P = {.grid = {.n = 32}, .b = 3, .seed = 1, .corners = corners};
    int type = TESS_F64;
    const tess_option table[] = {
        TESS_OPTIONS_GRID(&P.grid),
        TESS_OPTION_COUNT("b", &P.b, 1, TESS_BLOCK_MAX),
        TESS_OPTION_COUNT("seed", &P.seed, 0, TESS_SEED_MAX),
        TESS_OPTION_TYPE(&type),
    };
    TESS_TRY(tess_options_parse(ctx, what, keys, table, sizeof table / sizeof table[0]));
    TESS_TRY(tess_grid_check(ctx, what, &P.grid, P.b));
    int64_t points = P.grid.nx * P.grid.ny * P.grid.nz;
    const tess_row_rule rule = tess_rule(type, points, points, P.b, P.b, &P, count, fill);
    return tess_generate_with_rhs(ctx, &rule, NULL, out, rhs);
}

tess_status tess_generate_stencil7(tess_ctx *ctx, const char *what, const char *keys,
                                   tess_matrix **A, void **rhs)
{
    return generate(ctx, what, keys, false, A, rhs);
}

tess_status tess_generate_stencil27(tess_ctx *ctx, const char *what, const char *keys,
                                    tess_matrix **A, void **rhs)
{
    return generate(ctx, what, keys, true, A, rhs);
}
