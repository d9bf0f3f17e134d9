/* The first half of making sliced storage. */
#pragma once

#include "format/sliced.h"

/* Lines, slices and cut rows of all panels. */
tess_status tess_sliced_make_lines(tess_ctx *ctx, const tess_matrix *A, tess_sliced *S);

/* Rows that are cut into segments, for storages with lines: how many a row has. */
typedef struct tess_segments {
    int64_t (*of)(const void *context, int64_t row);
    const void *context;
    int64_t rows;
} tess_segments;

/* panel->lines, cut_rows and cut_long. */
void tess_cut_count(const tess_segments *segments, tess_sliced_panel *panel);

/* The panel's part of cut_row and cut_slots: rows of many segments first, each kind in the order of
 * the rows. What panels before it have is there already. */
void tess_cut_list(const tess_segments *segments, const tess_sliced_panel *panel, int32_t *cut_row,
                   int32_t *cut_slots);
