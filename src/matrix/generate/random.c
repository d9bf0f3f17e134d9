/* powerlaw, random: columns without structure.
 *
 * A row of k blocks draws one column in each of k equal ranges of the columns. The columns are then
 * sorted, have no duplicates and need no memory, and their cache misses are those of independent
 * draws.
 */
#include "matrix/generate/generate.h"

/* The random sequence of one row. */
static uint64_t row_stream(int64_t seed, int64_t row)
{
    return tess_random_u64((uint64_t)seed, (uint64_t)row);
}

/* Draws one column in each of `count` ranges. With with_diagonal the range that holds `row` takes
 * the diagonal. Returns the diagonal's place, or -1. */
static int64_t draw_columns(uint64_t stream, int64_t count, int64_t columns, int64_t row,
                            bool with_diagonal, int32_t *out)
{
    int64_t diagonal = -1;
    for (int64_t k = 0; k < count; k++) {
        int64_t low = k * columns / count, high = (k + 1) * columns / count;
        int64_t column = low + tess_random_below(stream, (uint64_t)k, high - low);
        if (with_diagonal && row >= low && row < high) {
            column = row;
            diagonal = k;
        }
        out[k] = (int32_t)column;
    }
    return diagonal;
}

typedef struct powerlaw {
    int64_t rows, avg, b, seed, long_rows, length;
} powerlaw;

static int64_t powerlaw_count(const void *context, int64_t row)
{
    const powerlaw *P = context;
    uint64_t stream = ~row_stream(P->seed, row);
    int64_t share = P->long_rows > 0 ? row * P->long_rows / P->rows : 0;
    int64_t count = 1 + tess_random_below(stream, 0, 2 * P->avg - 1);
    /* Each long row lies in the middle of its share of the rows. */
    if (P->long_rows > 0 && row == (2 * share + 1) * P->rows / (2 * P->long_rows))
        count = P->length - P->length / 10 + tess_random_below(stream, 1, P->length / 5 + 1);
    return tess_min(count, P->rows);
}

static void powerlaw_fill(const void *context, int64_t row, int32_t *columns, double *values)
{
    const powerlaw *P = context;
    int64_t count = powerlaw_count(context, row);
    int64_t diagonal = draw_columns(row_stream(P->seed, row), count, P->rows, row, true, columns);
    tess_generate_dominant((uint64_t)P->seed, P->rows * P->b, (int32_t)P->b, row, count, diagonal,
                           columns, values);
}

tess_status tess_generate_powerlaw(tess_ctx *ctx, const char *what, const char *keys,
                                   tess_matrix **out, void **rhs)
{
    powerlaw P = {.rows = 100000, .avg = 6, .b = 3, .seed = 1, .long_rows = 16, .length = 12000};
    int type = TESS_F64;
    const tess_option table[] = {
        TESS_OPTION_COUNT("rows", &P.rows, 1, INT32_MAX),
        TESS_OPTION_COUNT("avg", &P.avg, 1, INT32_MAX),
        TESS_OPTION_COUNT("b", &P.b, 1, TESS_BLOCK_MAX),
        TESS_OPTION_COUNT("seed", &P.seed, 0, TESS_SEED_MAX),
        TESS_OPTION_COUNT("long", &P.long_rows, 0, INT32_MAX),
        TESS_OPTION_COUNT("length", &P.length, 1, INT32_MAX),
        TESS_OPTION_TYPE(&type),
    };
    TESS_TRY(tess_options_parse(ctx, what, keys, table, sizeof table / sizeof table[0]));
    P.long_rows = tess_min(P.long_rows, P.rows);
    const tess_row_rule rule =
        tess_rule(type, P.rows, P.rows, P.b, P.b, &P, powerlaw_count, powerlaw_fill);
    return tess_generate_with_rhs(ctx, &rule, NULL, out, rhs);
}

typedef struct random_problem {
    int64_t rows, cols, avg, exact, r, c, seed;
} random_problem;

static int64_t random_count(const void *context, int64_t row)
{
    const random_problem *P = context;
    int64_t count =
        P->exact ? P->exact : tess_random_below(~row_stream(P->seed, row), 0, 2 * P->avg + 1);
    return tess_min(count, P->cols);
}

static void random_fill(const void *context, int64_t row, int32_t *columns, double *values)
{
    const random_problem *P = context;
    int64_t count = random_count(context, row);
    uint64_t stream = row_stream(P->seed, row), numbers = tess_random_u64(stream, 0);
    draw_columns(stream, count, P->cols, row, false, columns);
    for (int64_t k = 0; k < count * P->r * P->c; k++)
        values[k] = tess_random_unit(numbers, (uint64_t)k);
}

tess_status tess_generate_random(tess_ctx *ctx, const char *what, const char *keys,
                                 tess_matrix **out, void **rhs)
{
    random_problem P = {.rows = 10000, .avg = 8, .r = 1, .c = 1, .seed = 1};
    int type = TESS_F64;
    const tess_option table[] = {
        TESS_OPTION_COUNT("rows", &P.rows, 1, INT32_MAX),
        TESS_OPTION_COUNT("cols", &P.cols, 1, INT32_MAX),
        TESS_OPTION_COUNT("avg", &P.avg, 0, INT32_MAX),
        TESS_OPTION_COUNT("count", &P.exact, 1, INT32_MAX),
        TESS_OPTION_COUNT("r", &P.r, 1, TESS_BLOCK_MAX),
        TESS_OPTION_COUNT("c", &P.c, 1, TESS_BLOCK_MAX),
        TESS_OPTION_COUNT("seed", &P.seed, 0, TESS_SEED_MAX),
        TESS_OPTION_TYPE(&type),
    };
    TESS_TRY(tess_options_parse(ctx, what, keys, table, sizeof table / sizeof table[0]));
    P.cols = P.cols ? P.cols : P.rows;
    const tess_row_rule rule =
        tess_rule(type, P.rows, P.cols, P.r, P.c, &P, random_count, random_fill);
    return tess_generate_with_rhs(ctx, &rule, NULL, out, rhs);
}
