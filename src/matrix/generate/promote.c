/* promote: every entry of another matrix becomes a dense b x b block (paper 003 section 6.2), which
 * gives the pattern of a real problem at any block size. The values are those of
 * tess_generate_dominant: symmetric positive definite if the pattern is symmetric and has its
 * diagonal.
 */
#include "matrix/detect/detect.h"
#include "matrix/generate/generate.h"

typedef struct problem {
    int64_t b, seed;
    tess_pattern pattern;
} problem;

static int64_t count(const void *context, int64_t row)
{
    const tess_pattern *P = &((const problem *)context)->pattern;
    return P->row_offsets[row + 1] - P->row_offsets[row];
}

static void fill(const void *context, int64_t row, int32_t *columns, double *values)
{
    const problem *P = context;
    int64_t blocks = count(context, row), diagonal = -1;
    for (int64_t k = 0; k < blocks; k++) {
        columns[k] = P->pattern.columns[P->pattern.row_offsets[row] + k];
        if (columns[k] == row)
            diagonal = k;
    }
    tess_generate_dominant((uint64_t)P->seed, P->pattern.cols * P->b, (int32_t)P->b, row, blocks,
                           diagonal, columns, values);
}

tess_status tess_generate_promote(tess_ctx *ctx, const char *what, const char *text,
                                  tess_matrix **out, void **rhs)
{
    problem P = {.b = 3, .seed = 1};
    int type = TESS_F64;
    char keys[256];
    const char *input = NULL;
    tess_matrix *source = NULL;
    tess_status status;
    const tess_option table[] = {
        TESS_OPTION_COUNT("b", &P.b, 1, TESS_BLOCK_MAX),
        TESS_OPTION_COUNT("seed", &P.seed, 0, TESS_SEED_MAX),
        TESS_OPTION_TYPE(&type),
    };
    TESS_TRY(
        tess_generate_split_input(ctx, what, "promote:b=3:FILE", text, keys, sizeof keys, &input));
    tess_generator *const from = tess_generator_taking_input(input);
    if (from == tess_generate_promote)
        return tess_fail(ctx, TESS_ERR_OPTION, "%s: the input is promoted already", what);
    if (from == tess_generate_tile)
        return tess_fail(ctx, TESS_ERR_OPTION,
                         "%s: tile what is promoted, tile:copies=2:promote:...", what);
    TESS_TRY(tess_options_parse(ctx, what, keys, table, sizeof table / sizeof table[0]));
    TESS_TRY_CLEAN(tess_matrix_input(ctx, input, &source));
    TESS_TRY_CLEAN(tess_pattern_of(ctx, source, false, &P.pattern));
    const tess_row_rule rule =
        tess_rule(type, P.pattern.rows, P.pattern.cols, P.b, P.b, &P, count, fill);
    TESS_TRY_CLEAN(tess_generate_with_rhs(ctx, &rule, NULL, out, rhs));
cleanup:
    tess_pattern_clear(ctx, &P.pattern);
    tess_matrix_destroy(source);
    return status;
}
