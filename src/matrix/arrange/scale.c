/* Equilibration by Ruiz's iteration: in each round, every row and column is divided by the square
 * root of its largest entry. A round takes the square root of the ratio between the largest entries
 * and 1, so a few rounds are enough. A symmetric matrix keeps equal scales for rows and columns. */
#include "matrix/arrange/arrange.h"

enum { ROUNDS = 6 };

/* The largest magnitudes of all rows and columns under the scales so far. */
static void measure(const tess_matrix *A, const double *row_scale, const double *col_scale,
                    double *row_largest, double *col_largest)
{
    const int64_t b = A->block_height;
    for (int64_t i = 0; i < A->rows; i++)
        row_largest[i] = col_largest[i] = 0;
    for (int64_t block = 0; block < A->block_rows; block++)
        for (int64_t k = A->row_offsets[block]; k < A->row_offsets[block + 1]; k++)
            for (int64_t q = 0; q < b; q++)
                for (int64_t p = 0; p < b; p++) {
                    const int64_t row = block * b + p, col = A->columns[k] * b + q;
                    if (row >= A->rows || col >= A->cols)
                        continue;
                    const double size = fabs(tess_matrix_value(A, (k * b + q) * b + p)) *
                                        row_scale[row] * col_scale[col];
                    row_largest[row] = fmax(row_largest[row], size);
                    col_largest[col] = fmax(col_largest[col], size);
                }
}

/* The power of two nearest to 1 / sqrt(largest). */
static double correction(double largest)
{
    if (!(largest > 0) || !isfinite(largest))
        return 1;
    return exp2(round(-0.5 * log2(largest)));
}

tess_status tess_arrange_equilibrate(const tess_matrix *A, bool symmetric, tess_arrangement *a)
{
    tess_ctx *ctx = a->ctx;
    double *rows = NULL, *cols = NULL, *largest = NULL;
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->rows, &rows));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->rows, &cols));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, 2 * A->rows, &largest));
    for (int64_t i = 0; i < A->rows; i++) {
        rows[i] = a->row_scale ? a->row_scale[i] : 1;
        cols[i] = a->col_scale ? a->col_scale[i] : 1;
    }
    for (int round = 0; round < ROUNDS; round++) {
        measure(A, rows, cols, largest, largest + A->rows);
        for (int64_t i = 0; i < A->rows; i++) {
            const double row = largest[i], col = largest[A->rows + i];
            rows[i] *= correction(symmetric ? fmax(row, col) : row);
            cols[i] *= correction(symmetric ? fmax(row, col) : col);
        }
    }
    TESS_FREE(ctx, a->row_scale, a->col_scale);
    a->row_scale = rows;
    a->col_scale = cols;
    rows = cols = NULL;
cleanup:
    TESS_FREE(ctx, rows, cols, largest);
    return status;
}

tess_status tess_arrange_columns(const tess_matrix *A, tess_arrangement *a)
{
    const int64_t b = A->block_height;
    double *scale;
    TESS_TRY(TESS_CALLOC(a->ctx, A->rows, &scale));
    for (int64_t block = 0; block < A->block_rows; block++)
        for (int64_t at = A->row_offsets[block] * b * b; at < A->row_offsets[block + 1] * b * b;
             at++) {
            const int64_t row = block * b + at % b;
            const int64_t col = A->columns[at / (b * b)] * b + at / b % b;
            if (row < A->rows && col < A->cols)
                scale[col] += tess_matrix_value(A, at) * tess_matrix_value(A, at);
        }
    for (int64_t i = 0; i < A->rows; i++)
        scale[i] = correction(scale[i]);
    tess_free(a->ctx, a->col_scale);
    a->col_scale = scale;
    return TESS_OK;
}
