/* planted: random blocks of known shapes that fbcsr has to find. They do not overlap, lie at places
 * of no common grid, and have noise between them.
 *
 *     +-------+-------+-------+     Tiles of `side` x `side`, twice as large as the largest shape.
 *     |       |  xx   |       |     Each row of tiles has `blocks` tiles with a block, one in each
 *     |       |  xx . |  .    |     of as many equal ranges; the block lies anywhere in its tile.
 *     |   .   |       |   x   |     Noise (.) falls outside these tiles.
 *     +-------+-------+--- x -+
 *
 * Blocks and noise are functions of the place, so every row can be written by itself.
 */
#include "matrix/generate/generate.h"
#include "matrix/shape.h"

typedef struct problem {
    int64_t rows, cols, blocks, noise, seed;
    double fill;
    tess_shape_list shapes;
    int64_t side;                   /* of a tile */
    double chance[TESS_SHAPE_LIST]; /* of the shapes up to this one */
} problem;

/* The block of one tile. */
typedef struct planted {
    const tess_shape *shape;
    int64_t tile;     /* column of tiles */
    int64_t row, col; /* where the block begins */
    uint64_t stream;
} planted;

static double unit(uint64_t stream, uint64_t i)
{
    return (tess_random_unit(stream, i) + 1) / 2;
}

/* Block k of a row of tiles. */
static planted block_of(const problem *P, int64_t tile_row, int64_t k)
{
    uint64_t row_stream = tess_random_u64((uint64_t)P->seed, (uint64_t)tile_row);
    planted B = {.stream = tess_random_u64(row_stream, (uint64_t)k)};
    int64_t tiles = P->cols / P->side;
    int64_t low = k * tiles / P->blocks, high = (k + 1) * tiles / P->blocks;
    B.tile = low + tess_random_below(B.stream, 0, high - low);
    int s = 0;
    double draw = unit(B.stream, 1);
    while (s < P->shapes.count - 1 && draw >= P->chance[s])
        s++;
    B.shape = &P->shapes.shape[s];
    int64_t reach = (int64_t)B.shape->shift * (B.shape->height - 1);
    int64_t extent = B.shape->width + (reach < 0 ? -reach : reach);
    B.row = tile_row * P->side + tess_random_below(B.stream, 2, P->side - B.shape->height + 1);
    B.col = B.tile * P->side + tess_random_below(B.stream, 3, P->side - extent + 1) -
            tess_min(reach, 0);
    return B;
}

/* Lists the entries of the block in this row, from columns[n] on. Returns the new n. */
static int64_t walk_block(const problem *P, const planted *B, int64_t row, int64_t n,
                          int32_t *columns)
{
    int64_t i = row - B->row;
    if (i < 0 || i >= B->shape->height)
        return n;
    for (int64_t k = 0; k < B->shape->width; k++) {
        if (P->fill < 1 && unit(B->stream, (uint64_t)(4 + i * B->shape->width + k)) >= P->fill)
            continue;
        if (columns)
            columns[n] = (int32_t)(B->col + B->shape->shift * i + k);
        n++;
    }
    return n;
}

/* Lists the noise at the columns first .. last-1, from columns[n] on. Returns the new n. *next is
 * the number of the row's next draw. */
static int64_t walk_noise(const problem *P, uint64_t stream, int64_t first, int64_t last,
                          int64_t *next, int64_t n, int32_t *columns)
{
    for (; *next < P->noise; ++*next) {
        int64_t low = *next * P->cols / P->noise, high = (*next + 1) * P->cols / P->noise;
        int64_t column = low + tess_random_below(stream, (uint64_t)*next, high - low);
        if (column >= last)
            break;
        if (column < first)
            continue;
        if (columns)
            columns[n] = (int32_t)column;
        n++;
    }
    return n;
}

static int64_t walk_row(const problem *P, int64_t row, int32_t *columns)
{
    uint64_t stream = ~tess_random_u64((uint64_t)P->seed, (uint64_t)row);
    int64_t tile_row = row / P->side, n = 0, noise = 0, from = 0;
    int64_t blocks = tile_row < P->rows / P->side ? P->blocks : 0;
    for (int64_t k = 0; k < blocks; k++) {
        planted B = block_of(P, tile_row, k);
        n = walk_noise(P, stream, from, B.tile * P->side, &noise, n, columns);
        n = walk_block(P, &B, row, n, columns);
        from = (B.tile + 1) * P->side;
    }
    return walk_noise(P, stream, from, P->cols, &noise, n, columns);
}

static int64_t count(const void *context, int64_t row)
{
    return walk_row(context, row, NULL);
}

static void fill(const void *context, int64_t row, int32_t *columns, double *values)
{
    const problem *P = context;
    int64_t entries = walk_row(P, row, columns);
    for (int64_t k = 0; k < entries; k++)
        values[k] = tess_random_unit((uint64_t)P->seed, (uint64_t)(row * P->cols + columns[k]));
}

/* Shapes are separated by '/' here, since ',' separates keys. */
static tess_status prepare(tess_ctx *ctx, const char *what, char *shapes, problem *P)
{
    double sum = 0;
    for (char *c = shapes; *c; c++)
        *c = *c == '/' ? ',' : *c;
    TESS_TRY(tess_shape_list_parse(ctx, shapes, &P->shapes));
    if (P->shapes.count == 0)
        return tess_fail(ctx, TESS_ERR_OPTION, "%s: needs shapes, as shapes=4x4/row:32", what);
    for (int s = 0; s < P->shapes.count; s++) {
        const tess_shape *S = &P->shapes.shape[s];
        int64_t shift = S->shift < 0 ? -S->shift : S->shift;
        int64_t width = S->width + shift * (S->height - 1);
        int64_t extent = tess_max(width, S->height);
        P->side = tess_max(2 * extent, P->side);
        sum += 1 / (double)tess_shape_cells(S);
        P->chance[s] = sum;
    }
    for (int s = 0; s < P->shapes.count; s++)
        P->chance[s] /= sum;
    if (P->blocks > P->cols / P->side)
        return tess_fail(ctx, TESS_ERR_OPTION,
                         "%s: blocks=%lld are more than the %lld tiles of %lld columns", what,
                         (long long)P->blocks, (long long)(P->cols / P->side), (long long)P->side);
    if (P->noise > P->cols)
        return tess_fail(ctx, TESS_ERR_OPTION, "%s: noise=%lld is more than the %lld columns", what,
                         (long long)P->noise, (long long)P->cols);
    return TESS_OK;
}

tess_status tess_generate_planted(tess_ctx *ctx, const char *what, const char *keys,
                                  tess_matrix **out, void **rhs)
{
    problem P = {.rows = 10000, .blocks = 64, .noise = 1, .seed = 1, .fill = 1};
    char shapes[256] = "4x4/row:32/column:32/diagonal:32";
    int type = TESS_F64;
    const tess_option table[] = {
        TESS_OPTION_COUNT("rows", &P.rows, 1, INT32_MAX),
        TESS_OPTION_COUNT("cols", &P.cols, 1, INT32_MAX),
        {.key = "shapes", .kind = TESS_OPTION_TEXT, .target = shapes, .size = sizeof shapes},
        TESS_OPTION_COUNT("blocks", &P.blocks, 0, INT32_MAX),
        {.key = "fill", .kind = TESS_OPTION_DOUBLE, .target = &P.fill, .min = 0, .max = 1},
        TESS_OPTION_COUNT("noise", &P.noise, 0, INT32_MAX),
        TESS_OPTION_COUNT("seed", &P.seed, 0, TESS_SEED_MAX),
        TESS_OPTION_TYPE(&type),
    };
    TESS_TRY(tess_options_parse(ctx, what, keys, table, sizeof table / sizeof table[0]));
    P.cols = P.cols ? P.cols : P.rows;
    TESS_TRY(prepare(ctx, what, shapes, &P));
    const tess_row_rule rule = tess_rule(type, P.rows, P.cols, 1, 1, &P, count, fill);
    return tess_generate_with_rhs(ctx, &rule, NULL, out, rhs);
}
