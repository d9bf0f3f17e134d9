/* Ranges of block rows, one a part, of a matrix that cannot be dealt out with its vectors: it is
 * not square, or its blocks are not. */
#include "dist/rows.h"

bool tess_rows_only(const tess_matrix *A)
{
    return A->rows != A->cols || A->block_height != A->block_width;
}

void tess_rows_cut(const tess_matrix *A, int parts, int64_t *firsts)
{
    const int64_t all = A->blocks + A->block_rows;
    int64_t row = 0;
    for (int r = 0; r <= parts; r++) {
        /* Blocks and rows of all parts before; without a product, which might overflow. */
        const int64_t before = all / parts * r + all % parts * r / parts;
        while (row < A->block_rows && A->row_offsets[row] + row < before)
            row++;
        firsts[r] = row;
    }
    firsts[parts] = A->block_rows;
}

tess_status tess_rows_take(tess_ctx *ctx, const tess_matrix *A, int64_t first, int64_t end,
                           tess_matrix **out)
{
    const int64_t at = A->row_offsets[first], height = A->block_height;
    const size_t scalar = tess_type_size(A->type);
    const int64_t size = height * A->block_width;
    int64_t *offsets;
    TESS_TRY(TESS_ALLOC(ctx, end - first + 1, &offsets));
    for (int64_t i = first; i <= end; i++)
        offsets[i - first] = A->row_offsets[i] - at;
    const tess_row_source source = {.row_offsets = offsets,
                                    .columns = A->columns + at,
                                    .values =
                                        (const char *)A->values + (size_t)(at * size) * scalar,
                                    .order = TESS_ORDER_COLUMN_MAJOR};
    const int64_t rows = tess_min(end * height, A->rows) - first * height;
    const tess_status status = tess_matrix_from_rows(ctx, A->type, tess_max(rows, 0), A->cols,
                                                     A->block_height, A->block_width, &source, out);
    tess_free(ctx, offsets);
    return status;
}
