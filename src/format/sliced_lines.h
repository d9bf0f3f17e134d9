/* The lines of sliced storage, and cutting rows into segments. */
#pragma once

#include "format/sliced.h"

/* Makes the lines, slices and cut rows of all panels. */
tess_status tess_sliced_make_lines(tess_ctx *ctx, const tess_matrix *A, tess_sliced *S);

/* Rows that are cut into segments, for storages with lines: of(context, row) is a row's number of
 * segments. */
typedef struct tess_segments {
    int64_t (*of)(const void *context, int64_t row);
    const void *context;
    int64_t rows;
} tess_segments;

/* Sets the panel's lines, cut_rows and cut_long. */
void tess_cut_count(const tess_segments *segments, tess_sliced_panel *panel);

/* Fills the panel's part of cut_row and cut_slots: first the rows of more than TESS_SLICED_LONG
 * segments, then the others, each in the order of the rows. The parts of the panels before must be
 * filled already. */
void tess_cut_list(const tess_segments *segments, const tess_sliced_panel *panel, int32_t *cut_row,
                   int32_t *cut_slots);
