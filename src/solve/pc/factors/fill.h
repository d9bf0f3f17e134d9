/* Where incomplete factors may have blocks that A has not: fill.
 *
 * A fill is a matrix F with A's blocks and blocks of zeros where fill is allowed. Made by levels,
 * ILU(0) of F is ILU(k) of A, and IC(0) of F is IC(k). Made by a threshold, F is the pattern of
 * factors that are computed on the way. Schedules and devices are then those of ILU(0).
 */
#pragma once

#include "matrix/matrix.h"

typedef struct tess_fill {
    tess_ctx *ctx;
    tess_matrix *matrix; /* F */
    int64_t *source;     /* of each block of F: its number in A; -1: fill */
    double *factors;     /* by threshold: L below the diagonal, U above it, the inverses of U's
                            diagonal blocks on it, block by block of F; NULL by levels */
} tess_fill;

/* Makes a fill of the blocks of level at most `levels`. A block of A has level 0. Eliminating with
 * blocks of levels p and q makes one of level p + q + 1. Fails with TESS_ERR_MEMORY when F would
 * have more than `most` times the blocks of A. */
tess_status tess_fill_levels(tess_ctx *ctx, const tess_matrix *A, int64_t levels, double most,
                             tess_fill *out);

/* Which blocks a threshold keeps. */
typedef struct tess_fill_options {
    double drop;  /* blocks smaller than this times the mean of their row in A are dropped */
    double most;  /* half a row keeps at most this many times the blocks of half a row of A */
    double pivot; /* 1 x 1 blocks: columns are exchanged where the diagonal is smaller than this
                     times the largest of its row; 0: never */
} tess_fill_options;

/* Makes a fill of the blocks that matter: A is factored row by row (Saad's ILUT and, with exchanges
 * of columns, ILUTP). Diagonal blocks always stay. Column j of F is column order[j] of A; `order`
 * has block_cols elements, and may be NULL without exchanges. */
tess_status tess_fill_threshold(tess_ctx *ctx, const tess_matrix *A,
                                const tess_fill_options *options, int64_t *order, tess_fill *out);

/* Copies A's present values into F, in the pattern that the fill was made for. */
void tess_fill_take_values(const tess_fill *fill, const tess_matrix *A);
void tess_fill_free(tess_fill *fill);

/* For both: makes F from sorted rows of columns. Column j is A's column order[j], or j where order
 * is NULL. */
tess_status tess_fill_from_rows(tess_ctx *ctx, const tess_matrix *A, const int64_t *offsets,
                                const int32_t *columns, const int64_t *order, tess_fill *out);
