/* How the lines of sliced storage are made: shared by the two orders, panel after panel
 * (sliced_lines.c) and tile after tile (sliced_tiles.c). */
#ifndef TESS_FORMAT_SLICED_LINES_H
#define TESS_FORMAT_SLICED_LINES_H

#include "format/sliced.h"

/* The matrix cut into panels of columns. */
typedef struct tess_cut_matrix {
    const tess_matrix *A;
    int32_t panels;
    int32_t *cuts; /* (panels - 1) a row: blocks of the row before panel 1, 2, ... */
} tess_cut_matrix;

tess_status tess_cut_columns(tess_ctx *ctx, const tess_matrix *A, int32_t panels,
                             tess_cut_matrix *M);

/* Row i of panel q is blocks tess_cut_begin(i, q) .. tess_cut_begin(i, q + 1) - 1. */
static inline int64_t tess_cut_begin(const tess_cut_matrix *M, int64_t row, int32_t panel)
{
    if (panel == 0 || panel == M->panels)
        return M->A->row_offsets[row + (panel > 0)];
    return M->A->row_offsets[row] + M->cuts[row * (M->panels - 1) + panel - 1];
}

static inline int64_t tess_cut_length(const tess_cut_matrix *M, int64_t row, int32_t panel)
{
    return tess_cut_begin(M, row, panel + 1) - tess_cut_begin(M, row, panel);
}

/* Sorts every range of lines by falling length, equal ones in their order. */
typedef struct tess_line_range {
    int64_t first, count;
} tess_line_range;

tess_status tess_sliced_sort(tess_ctx *ctx, tess_sliced *S, const tess_line_range *ranges,
                             int64_t count);

/* Fails when the slices are too many for a kernel's 31 bits. */
tess_status tess_sliced_check_slices(tess_ctx *ctx, const tess_sliced *S);

/* offsets, lengths, starts and, if asked, targets for all slices; starts and lengths are 0. */
tess_status tess_sliced_allocate_lines(tess_ctx *ctx, tess_sliced *S, bool targets);

/* Lines, slices and cut rows of all panels, or of all tiles. */
tess_status tess_sliced_make_lines(tess_ctx *ctx, const tess_matrix *A, tess_sliced *S);
tess_status tess_sliced_make_tiles(tess_ctx *ctx, const tess_matrix *A, tess_sliced *S);

/* Tiles, once the slices' offsets are known: chunk_group and local_offsets. */
void tess_sliced_place_tiles(tess_sliced *S);

#endif
