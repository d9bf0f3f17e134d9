/* tile: copies of another matrix along the diagonal, which gives the pattern of a small file at
 * sizes beyond any cache. The values are repeated unchanged.
 */
#include "matrix/generate/generate.h"

typedef struct problem {
    int64_t copies;
    const tess_matrix *source; /* CSR */
} problem;

static int64_t count(const void *context, int64_t row)
{
    const tess_matrix *A = ((const problem *)context)->source;
    return A->row_offsets[row % A->rows + 1] - A->row_offsets[row % A->rows];
}

static void fill(const void *context, int64_t row, int32_t *columns, double *values)
{
    const tess_matrix *A = ((const problem *)context)->source;
    int64_t entries = count(context, row), first = A->row_offsets[row % A->rows];
    int64_t shift = row / A->rows * A->cols;
    for (int64_t k = 0; k < entries; k++) {
        columns[k] = (int32_t)(shift + A->columns[first + k]);
        values[k] = tess_matrix_value(A, first + k);
    }
}

tess_status tess_generate_tile(tess_ctx *ctx, const char *what, const char *text, tess_matrix **out,
                               void **rhs)
{
    problem P = {.copies = 8};
    int type = TESS_F64;
    char keys[256];
    const char *input = NULL;
    tess_matrix *source = NULL, *typed = NULL, *csr = NULL;
    tess_row_rule rule = {
        .block_height = 1, .block_width = 1, .problem = &P, .count = count, .fill = fill};
    tess_status status;
    const tess_option table[] = {
        TESS_OPTION_COUNT("copies", &P.copies, 1, INT32_MAX),
        TESS_OPTION_TYPE(&type),
    };
    TESS_TRY(tess_generate_split_input(ctx, what, "tile:copies=8:FILE", text, keys, sizeof keys,
                                       &input));
    TESS_TRY(tess_options_parse(ctx, what, keys, table, sizeof table / sizeof table[0]));
    if (tess_generator_taking_input(input) == tess_generate_tile)
        return tess_fail(ctx, TESS_ERR_OPTION, "%s: the input is tiled already", what);
    TESS_TRY_CLEAN(tess_matrix_input(ctx, input, &source));
    TESS_TRY_CLEAN(tess_refuse_complex(ctx, what, source->type));
    if (tess_real_type((tess_type)type) == TESS_F32) /* fails where a value does not fit */
        TESS_TRY_CLEAN(tess_matrix_to_type(ctx, source, TESS_F32, &typed));
    TESS_TRY_CLEAN(tess_matrix_to_csr(ctx, typed ? typed : source, TESS_ZEROS_KEEP, &csr));
    P.source = csr;
    rule.type = (tess_type)type;
    if (!tess_mul(csr->rows, P.copies, &rule.block_rows) ||
        !tess_mul(csr->cols, P.copies, &rule.block_cols)) {
        status = tess_fail(ctx, TESS_ERR_OVERFLOW, "%s: %lld copies of %lld x %lld overflow", what,
                           (long long)P.copies, (long long)csr->rows, (long long)csr->cols);
        goto cleanup;
    }
    TESS_TRY_CLEAN(tess_generate_with_rhs(ctx, &rule, NULL, out, rhs));
cleanup:
    tess_matrix_destroy(csr);
    tess_matrix_destroy(typed);
    tess_matrix_destroy(source);
    return status;
}
