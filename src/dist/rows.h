/* Rows of a matrix without its vectors (rows.c). */
#pragma once

#include "matrix/matrix.h"

/* Whether A's rows and columns cannot be dealt out alike. */
bool tess_rows_only(const tess_matrix *A);

/* firsts[r]: the first block row of part r, of ranges with about as many blocks and rows each;
 * parts + 1 numbers. */
void tess_rows_cut(const tess_matrix *A, int parts, int64_t *firsts);

/* Block rows first .. end - 1, with all columns. */
tess_status tess_rows_take(tess_ctx *ctx, const tess_matrix *A, int64_t first, int64_t end,
                           tess_matrix **out);
