/* Where incomplete factors may have blocks that A has not: fill.
 *
 * A fill is a matrix F with A's blocks and blocks of zeros where fill is allowed. ILU(0) of F is
 * ILU(k) of A when F was made by levels, and ILU with a threshold when F was made by sizes; IC(0)
 * of F likewise. Schedules, devices, refreshes and shifts of the pivots are then those of ILU(0).
 */
#ifndef TESS_FILL_H
#define TESS_FILL_H

#include "matrix/matrix.h"

typedef struct tess_fill {
    tess_ctx *ctx;
    tess_matrix *matrix; /* F */
    int64_t *source;     /* of each block of F: its number in A; -1: fill */
} tess_fill;

/* Blocks of level at most `levels`: a block of A has level 0, and eliminating with blocks of levels
 * p and q makes one of level p + q + 1. Fails with TESS_ERR_MEMORY when F would have more than
 * `most` times the blocks of A. */
tess_status tess_fill_levels(tess_ctx *ctx, const tess_matrix *A, int64_t levels, double most,
                             tess_fill *out);

/* Blocks that matter: A is factored row by row (Saad's ILUT), blocks smaller than `drop` times the
 * mean of their row in A are dropped, and each half of a row keeps its largest, at most `most`
 * times as many as half a row of A has. Diagonal blocks always stay. */
tess_status tess_fill_threshold(tess_ctx *ctx, const tess_matrix *A, double drop, double most,
                                tess_fill *out);

/* Takes A's present values, in the pattern that the fill was made for. */
void tess_fill_take_values(const tess_fill *fill, const tess_matrix *A);
void tess_fill_free(tess_fill *fill);

/* For both: F from rows of columns, sorted, of which A's are a part or not. */
tess_status tess_fill_from_rows(tess_ctx *ctx, const tess_matrix *A, const int64_t *offsets,
                                const int32_t *columns, tess_fill *out);

#endif
