/* Internals of the generators: a problem is two functions of a block row, "how many blocks" and
 * "which".
 *
 * tess_generate_with_rhs calls the first for all rows, turns the counts into row offsets, and calls
 * the second for all rows, both in parallel. A row does not depend on other rows, and random
 * numbers are functions of the place (tess_random_*). So the matrix does not depend on the number
 * of threads.
 */
#pragma once

#include "matrix/matrix.h"

typedef struct tess_row_rule {
    tess_type type;
    int64_t block_rows, block_cols;
    int32_t block_height, block_width;
    const void *problem; /* passed to both functions */
    int64_t (*count)(const void *problem, int64_t row);
    /* Writes count(row) strictly increasing block columns and their column-major blocks; cannot
     * fail. Values of types other than f64 are rounded afterwards; those of complex types are also
     * multiplied by their phases. */
    void (*fill)(const void *problem, int64_t row, int32_t *columns, double *values);
} tess_row_rule;

/* A rule; `type` and the sizes of blocks have the types in which options are parsed. */
tess_row_rule
tess_rule(int type, int64_t block_rows, int64_t block_cols, int64_t height, int64_t width,
          const void *problem, int64_t (*count)(const void *problem, int64_t row),
          void (*fill)(const void *problem, int64_t row, int32_t *columns, double *values));

/* A generator parses `keys` (its errors begin with `what`) and fills *A. With rhs != NULL it also
 * fills *rhs, an array of the matrix's type allocated with tess_alloc_bytes. A failure changes
 * neither.
 */
typedef tess_status tess_generator(tess_ctx *ctx, const char *what, const char *keys,
                                   tess_matrix **A, void **rhs);

tess_generator tess_generate_stencil7, tess_generate_stencil27, tess_generate_elasticity,
    tess_generate_diffusion, tess_generate_cdr, tess_generate_powerlaw, tess_generate_random,
    tess_generate_trefethen, tess_generate_promote, tess_generate_tile, tess_generate_planted;

/* For generators that work on another input, "b=3,seed=7:INPUT": copies the keys to `keys`, and
 * *input becomes the begin of INPUT. Without a '=' before the first ':' the whole text is INPUT. If
 * INPUT is missing the error shows `example`. */
tess_status tess_generate_split_input(tess_ctx *ctx, const char *what, const char *example,
                                      const char *text, char *keys, size_t size,
                                      const char **input);
/* The generator that makes this input from another one, "tile:copies=8:FILE", with or without
 * "gen:" before it; NULL: the input is no such matrix. */
tess_generator *tess_generator_taking_input(const char *input);

/* The stiffness matrix of an 8-node element of sides h, h and h / thin, E = 1, nu = 0.3:
 * K[a][b][p][q] couples direction p of corner a with direction q of corner b; bits 0, 1, 2 of a
 * corner say "far side" in x, y, z. */
void tess_hexahedron_stiffness(double h, double thin, double K[8][8][3][3]);

/* The matrix of `rule` and, if rhs != NULL, the right-hand side: value(rule->problem, i) for every
 * scalar row i. With value = NULL, for problems without a right-hand side of their own, *rhs = A*1:
 * the solution of a square system is then all ones. */
tess_status tess_generate_with_rhs(tess_ctx *ctx, const tess_row_rule *rule,
                                   double (*value)(const void *problem, int64_t i), tess_matrix **A,
                                   void **rhs);

/* A box of nx x ny x nz points, x fastest: point (x, y, z) is (z*ny + y)*nx + x. */
typedef struct tess_grid {
    int64_t n; /* the default of nx, ny and nz while parsing */
    int64_t nx, ny, nz;
} tess_grid;

/* Fills in the defaults. Checks that the points can be block columns of b scalars each. */
tess_status tess_grid_check(tess_ctx *ctx, const char *what, tess_grid *grid, int64_t b);

static inline void tess_grid_point(const tess_grid *g, int64_t i, int64_t p[3])
{
    p[0] = i % g->nx;
    p[1] = i / g->nx % g->ny;
    p[2] = i / g->nx / g->ny;
}

/* The number of neighbours of a coordinate in 0..n-1 along one axis, itself included: 1, 2 or 3. */
static inline int64_t tess_grid_span(int64_t x, int64_t n)
{
    return 1 + (x > 0) + (x < n - 1);
}

/* The number of neighbours of a point along the three axes, itself included: 7, less those outside
 * the box. */
static inline int64_t tess_grid_count(const tess_grid *g, int64_t i)
{
    int64_t p[3];
    tess_grid_point(g, i, p);
    return tess_grid_span(p[0], g->nx) + tess_grid_span(p[1], g->ny) + tess_grid_span(p[2], g->nz) -
           2;
}

/* Fills in values for a pattern that has none of its own: symmetric positive definite if the
 * pattern is symmetric. The off-diagonal scalar (i, j) is minus a random number in (0, 1) that
 * depends on the seed and on the pair {i, j}, not on its order. The diagonal is 1.01 times the sum
 * of |a_ij| over its row. So the matrix is a strictly dominant M-matrix with a condition number up
 * to about 200 after diagonal scaling: Krylov methods converge, but not at once. `row` is a block
 * row, `diagonal` the position of its diagonal block among its `count` blocks (-1: it has none). */
void tess_generate_dominant(uint64_t seed, int64_t order, int32_t b, int64_t row, int64_t count,
                            int64_t diagonal, const int32_t *columns, double *values);

/* The options that all generators share. */
#define TESS_SEED_MAX 9007199254740992.0 /* 2^53: exact as a double */
#define TESS_OPTION_TYPE(target_)                                                                  \
    {                                                                                              \
        .key = "type", .kind = TESS_OPTION_CHOICE, .target = (target_), .choices = tess_type_names \
    }
#define TESS_OPTIONS_GRID(grid_)                             \
    TESS_OPTION_COUNT("n", &(grid_)->n, 1, INT32_MAX),       \
        TESS_OPTION_COUNT("nx", &(grid_)->nx, 1, INT32_MAX), \
        TESS_OPTION_COUNT("ny", &(grid_)->ny, 1, INT32_MAX), \
        TESS_OPTION_COUNT("nz", &(grid_)->nz, 1, INT32_MAX)
#define TESS_OPTION_COUNT(key_, target_, min_, max_)                                              \
    {                                                                                             \
        .key = (key_), .kind = TESS_OPTION_INT, .target = (target_), .min = (min_), .max = (max_) \
    }
