/* Matrices of long rows: a band with all blocks near the diagonal, or with a share of them; and a
 * matrix whose first row and first column are full. */
#include "calibrate/samples.h"

/* Values that depend only on the distance from the diagonal, so the matrix is symmetric. They are
 * random and not zero; `heavy` is added on the diagonal. */
static void fill_block(const tess_matrix *A, int64_t at, int64_t row, int64_t col, double heavy)
{
    int64_t b = A->block_height;
    for (int64_t i = 0; i < b; i++)
        for (int64_t j = 0; j < b; j++) {
            int64_t distance = row * b + i - (col * b + j);
            double value =
                0.5 + tess_random_unit(3, (uint64_t)(distance < 0 ? -distance : distance));
            value += distance == 0 ? heavy : 0;
            tess_put(A->values, A->type, (at * b + i) * b + j, value);
        }
}

/* Whether the block is stored: all on the diagonal, and a share of the others, the same in both
 * halves.
 */
static bool is_kept(const tess_calibration_shape *s, int64_t row, int64_t col)
{
    int64_t low = tess_min(row, col), high = tess_max(col, row);
    /* tess_random_unit is in -1..1 */
    double reach = 0.5 * (1 + tess_random_unit(5, (uint64_t)low)) * (double)(s->length / 2 + 1);
    if (s->ragged && (double)(high - low) >= reach)
        return row == col;
    return row == col || tess_random_unit((uint64_t)low, (uint64_t)high) < 2 * s->share - 1;
}

/* Returns the number of blocks of a row; writes their columns unless `columns` is NULL. */
static int64_t list_row(const tess_calibration_shape *s, int64_t row, int64_t rows,
                        int32_t *columns)
{
    int64_t reach = tess_min(s->length / 2, rows - 1), count = 0;
    bool all = s->crossed && row == 0;
    int64_t first = all || row < reach ? 0 : row - reach, last = all ? rows - 1 : row + reach;
    if (s->crossed && first > 0) {
        if (columns)
            columns[count] = 0;
        count++;
    }
    for (int64_t col = first; col <= last && col < rows; col++) {
        if (!is_kept(s, row, col))
            continue;
        if (columns)
            columns[count] = (int32_t)col;
        count++;
    }
    return count;
}

static void fill_row(void *matrix, const void *shape, int64_t i)
{
    const tess_matrix *A = matrix;
    const tess_calibration_shape *s = shape;
    double length = (double)(A->row_offsets[i + 1] - A->row_offsets[i]);
    double heavy = s->crossed ? 1.1 * A->block_height * length : 0; /* positive definite */
    for (int64_t at = A->row_offsets[i]; at < A->row_offsets[i + 1]; at++)
        fill_block(A, at, i, A->columns[at], heavy);
}

tess_status tess_calibration_band(tess_ctx *ctx, tess_type type, int32_t block, int64_t rows,
                                  const tess_calibration_shape *shape, tess_matrix **out)
{
    int64_t blocks = 0;
    tess_matrix *A;
    for (int64_t i = 0; i < rows; i++)
        blocks += list_row(shape, i, rows, NULL);
    TESS_TRY(tess_matrix_allocate(ctx, type, rows * block, rows * block, block, block, blocks, &A));
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = A->row_offsets[i];
        A->row_offsets[i + 1] = at + list_row(shape, i, rows, A->columns + at);
    }
    tess_for_each(ctx, rows, 0, fill_row, A, shape);
    *out = A;
    return TESS_OK;
}
