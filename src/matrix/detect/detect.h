/* Internals of block detection: patterns, counting blocks in them, and finding where blocks begin.
 *
 * A pattern is a matrix without values whose cells are height x width scalars of the original. So 6
 * x 4 blocks can be counted in the pattern of 3 x 2 blocks, as groups of 2 rows and 2 columns of
 * cells. A compressed pattern is never expanded again.
 */
#pragma once

#include "matrix/matrix.h"

enum { TESS_DETECT_MAX = 32 }; /* the largest block height and width looked at */

typedef struct tess_pattern {
    int32_t height, width; /* of a cell, in scalars */
    int64_t rows, cols;    /* in cells */
    int64_t entries;
    int64_t *row_offsets;
    int32_t *columns; /* unsorted in a row unless the cells are scalars */
    bool borrowed;    /* the arrays belong to a matrix */
} tess_pattern;

/* The pattern of A's stored scalars without padding; with `ignore_zeros` also without the scalars
 * that are zero. The caller clears patterns and marks, also after a failure. */
tess_status tess_pattern_of(tess_ctx *ctx, const tess_matrix *A, bool ignore_zeros,
                            tess_pattern *out);
void tess_pattern_clear(tess_ctx *ctx, tess_pattern *P);

/* One mark per column and thread. Marks are never cleared: every group of rows has its own
 * stamp. */
typedef struct tess_marks {
    tess_ctx *ctx;
    int64_t columns;
    int threads;
    uint32_t *mark;  /* threads x columns */
    uint32_t *stamp; /* the last one used, per thread */
} tess_marks;

tess_status tess_marks_create(tess_ctx *ctx, int64_t columns, tess_marks *out);
void tess_marks_clear(tess_ctx *ctx, tess_marks *marks);
/* A stamp that this thread has not used yet. After 2^32 stamps the marks are cleared. */
uint32_t tess_marks_next(const tess_marks *marks, int thread);

/* The number of blocks of height x width cells of P, where blocks begin at the rows and columns of
 * cells that are congruent to the offsets. group_counts is NULL or has one element more than there
 * are block rows; element i + 1 gets the number of blocks of block row i. */
int64_t tess_pattern_count(const tess_pattern *P, int32_t height, int32_t width, int32_t row_offset,
                           int32_t col_offset, tess_marks *marks, int64_t *group_counts);

/* The pattern of the blocks of height x width cells of P, with offsets 0. */
tess_status tess_pattern_compress(tess_ctx *ctx, const tess_pattern *P, int32_t height,
                                  int32_t width, tess_marks *marks, tess_pattern *out);

/* For every block height and width b in 2..TESS_DETECT_MAX: the best offset, and how full b x 1 and
 * 1 x b blocks are with it. Both are estimated from a sample of the rows of a scalar pattern with
 * sorted columns. */
typedef struct tess_best_offset {
    int32_t offset;
    double density;
} tess_best_offset;

typedef struct tess_best_offsets {
    tess_best_offset row[TESS_DETECT_MAX + 1], col[TESS_DETECT_MAX + 1];
} tess_best_offsets;

tess_status tess_find_offsets(tess_ctx *ctx, const tess_pattern *P, tess_best_offsets *out);
