/* elasticity: a unit cube of n x n x n trilinear 8-node hexahedra, E = 1, nu = 0.3, clamped at the
 * face x = 0, loaded by its own weight (1 per unit volume, along -z). With free=1 nothing is
 * clamped: the faces x = 0 and x = 1 are pulled apart, and the solution is known up to a rigid
 * motion. With `thin` the cube and its elements are `thin` times shorter along z.
 *
 * The clamped nodes are eliminated, so block row i is one of the n (n+1)^2 free nodes
 *
 *     node (x, y, z), x = 1..n, y, z = 0..n    at    i = (z (n+1) + y) n + x - 1
 *
 * and its b = 3 scalar rows are the displacements along x, y, z. Two nodes are coupled if they
 * share an element. These are all 26 neighbours, so the pattern is that of a 27-point stencil. A
 * block is the sum of the element matrix over the shared elements, always in the same order, so the
 * matrix is symmetric to the last bit.
 */
#include "matrix/generate/generate.h"

typedef double element_matrix[8][8][3][3]; /* node, node, direction, direction */

typedef struct problem {
    int64_t n;
    double thin;
    int free;
    int64_t first; /* x of the first free node: 0 or 1 */
    tess_grid free_nodes;
    element_matrix K;
} problem;

/* The gradient at xi of the shape function of corner a. Bits 0, 1, 2 of a: the far side along x, y,
 * z. */
static void shape_gradient(int a, const double xi[3], double gradient[3])
{
    double side[3], factor[3];
    for (int d = 0; d < 3; d++) {
        side[d] = (a >> d & 1) ? 1 : -1;
        factor[d] = 1 + side[d] * xi[d];
    }
    for (int d = 0; d < 3; d++)
        gradient[d] = side[d] * factor[(d + 1) % 3] * factor[(d + 2) % 3] / 8;
}

/* Integral of lambda div(u) div(v) + 2 mu e(u):e(v) over an element of sides h, h and h / thin, by
 * the 2x2x2 Gauss rule, which is exact here. The integral is computed on the reference cube
 * [-1,1]^3. The factor of gradients is 2/h, along z 2 thin/h, and that of the volume (h/2)^3 /
 * thin. The total is h/2 / thin, with `thin` left in the gradients along z. */
void tess_hexahedron_stiffness(double h, double thin, double K[8][8][3][3])
{
    const double E = 1, nu = 0.3, gauss = 1 / sqrt(3.0);
    const double lambda = E * nu / ((1 + nu) * (1 - 2 * nu)), mu = E / (2 * (1 + nu));
    for (int a = 0; a < 8; a++) {
        for (int b = a; b < 8; b++) {
            double sum[3][3] = {{0}};
            for (int point = 0; point < 8; point++) {
                double xi[3], ga[3], gb[3], dot = 0;
                for (int d = 0; d < 3; d++)
                    xi[d] = (point >> d & 1) ? gauss : -gauss;
                shape_gradient(a, xi, ga);
                shape_gradient(b, xi, gb);
                ga[2] *= thin;
                gb[2] *= thin;
                for (int d = 0; d < 3; d++)
                    dot += ga[d] * gb[d];
                for (int p = 0; p < 3; p++)
                    for (int q = 0; q < 3; q++)
                        sum[p][q] +=
                            lambda * ga[p] * gb[q] + mu * ga[q] * gb[p] + (p == q ? mu * dot : 0);
            }
            for (int p = 0; p < 3; p++)
                for (int q = 0; q < 3; q++)
                    if (a < b || p <= q)
                        K[a][b][p][q] = K[b][a][q][p] = h / 2 * sum[p][q] / thin;
        }
    }
}

static int64_t count(const void *context, int64_t row)
{
    const tess_grid *g = &((const problem *)context)->free_nodes;
    int64_t p[3];
    tess_grid_point(g, row, p);
    return tess_grid_span(p[0], g->nx) * tess_grid_span(p[1], g->ny) * tess_grid_span(p[2], g->nz);
}

/* The column-major block of nodes `at` and `to`: the sum over the elements that have both, in the
 * order of their lowest corners. An element is named by its lowest corner, 0..n-1 along each
 * axis. */
static void add_elements(const problem *P, const int64_t at[3], const int64_t to[3],
                         double block[9])
{
    for (int k = 0; k < 9; k++)
        block[k] = 0;
    for (int e = 0; e < 8; e++) {
        int a = 0, b = 0;
        bool shared = true;
        for (int d = 0; d < 3; d++) {
            int64_t corner = at[d] - 1 + (e >> d & 1);
            int64_t mine = at[d] - corner, other = to[d] - corner;
            shared = shared && corner >= 0 && corner < P->n && other >= 0 && other <= 1;
            a |= (int)mine << d;
            b |= (int)(other & 1) << d;
        }
        if (!shared)
            continue;
        for (int p = 0; p < 3; p++)
            for (int q = 0; q < 3; q++)
                block[q * 3 + p] += P->K[a][b][p][q];
    }
}

static void fill(const void *context, int64_t row, int32_t *columns, double *values)
{
    const problem *P = context;
    const tess_grid *g = &P->free_nodes;
    int64_t at[3], found = 0;
    tess_grid_point(g, row, at);
    at[0] += P->first; /* from the grid of free nodes to the mesh */
    for (int64_t z = at[2] - 1; z <= at[2] + 1; z++) {
        for (int64_t y = at[1] - 1; y <= at[1] + 1; y++) {
            for (int64_t x = at[0] - 1; x <= at[0] + 1; x++) {
                if (x < P->first || x > P->n || y < 0 || y > P->n || z < 0 || z > P->n)
                    continue;
                columns[found] = (int32_t)((z * g->ny + y) * g->nx + x - P->first);
                add_elements(P, at, (const int64_t[3]){x, y, z}, values + 9 * found++);
            }
        }
    }
}

/* A quarter of the pull on every element face around a node of the faces x = 0 and x = 1. */
static double pull(const problem *P, int64_t i)
{
    const double h = 1 / (double)P->n;
    int64_t at[3];
    tess_grid_point(&P->free_nodes, i / 3, at);
    if (i % 3 != 0 || (at[0] > 0 && at[0] < P->n))
        return 0;
    double faces = 1;
    for (int d = 1; d < 3; d++)
        faces *= at[d] > 0 && at[d] < P->n ? 2 : 1;
    return (at[0] == 0 ? -1 : 1) * faces * h * h / 4 / P->thin;
}

/* The load: an eighth of the weight of every element around the node; with `free` the pull. */
static double weight(const void *context, int64_t i)
{
    const problem *P = context;
    int64_t at[3];
    if (P->free)
        return pull(P, i);
    tess_grid_point(&P->free_nodes, i / 3, at);
    if (i % 3 != 2)
        return 0;
    double h = 1 / (double)P->n, elements = at[0] + 1 < P->n ? 2 : 1;
    for (int d = 1; d < 3; d++)
        elements *= at[d] > 0 && at[d] < P->n ? 2 : 1;
    return -elements * h * h * h / 8 / P->thin;
}

static void place_node(void *coordinates, const void *context, int64_t i)
{
    const problem *P = context;
    int64_t at[3];
    tess_grid_point(&P->free_nodes, i, at);
    at[0] += P->first;
    for (int d = 0; d < 3; d++)
        ((double *)coordinates)[3 * i + d] = (double)at[d] / (double)P->n / (d == 2 ? P->thin : 1);
}

static tess_status add_coordinates(tess_ctx *ctx, const problem *P, tess_matrix *A)
{
    TESS_TRY(TESS_ALLOC(ctx, 3 * A->block_rows, &A->coordinates));
    A->dimensions = 3;
    tess_for_each(ctx, A->block_rows, 0, place_node, A->coordinates, P);
    return TESS_OK;
}

tess_status tess_generate_elasticity(tess_ctx *ctx, const char *what, const char *keys,
                                     tess_matrix **out, void **rhs)
{
    problem P = {.n = 16, .thin = 1};
    int type = TESS_F64;
    const tess_option table[] = {
        TESS_OPTION_COUNT("n", &P.n, 1, INT32_MAX),
        {"thin", TESS_OPTION_DOUBLE, &P.thin, 1e-6, 1e6, NULL, 0},
        {"free", TESS_OPTION_BOOL, &P.free, 0, 0, NULL, 0},
        TESS_OPTION_TYPE(&type),
    };
    TESS_TRY(tess_options_parse(ctx, what, keys, table, sizeof table / sizeof table[0]));
    P.first = !P.free;
    P.free_nodes = (tess_grid){.nx = P.n + 1 - P.first, .ny = P.n + 1, .nz = P.n + 1};
    TESS_TRY(tess_grid_check(ctx, what, &P.free_nodes, 3));
    tess_hexahedron_stiffness(1 / (double)P.n, P.thin, P.K);
    int64_t nodes = P.free_nodes.nx * P.free_nodes.ny * P.free_nodes.nz;
    const tess_row_rule rule = tess_rule(type, nodes, nodes, 3, 3, &P, count, fill);
    tess_matrix *A;
    void *load = NULL;
    TESS_TRY(tess_generate_with_rhs(ctx, &rule, weight, &A, rhs ? &load : NULL));
    const tess_status status = add_coordinates(ctx, &P, A);
    if (status != TESS_OK)
        tess_free(ctx, load);
    else if (rhs)
        *rhs = load;
    return TESS_DELIVER(status, A, tess_matrix_destroy, out);
}
