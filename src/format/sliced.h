/* Sliced storage: block rows in slices of C, interleaved so that one thread per scalar row reads at
 * stride 1 (paper 004's reordering with one thread per row).
 *
 *   lines    A line is a block row, or a segment of a row longer than lambda. Lines are sorted by
 *            falling length inside windows of sigma lines, then cut into slices of C lines. The
 *            slice's C*bh scalar rows are its lanes.
 *   groups   P consecutive blocks of a line. A block's row is stored as W scalars: its bw scalars,
 *            and in wide blocks zeros up to a multiple of the vector length V. P is the smallest
 *            number for which P*W is a multiple of V. A slice has as many groups as its longest
 *            line; shorter lines have padding (zeros, column 0). Kernels know the lines' lengths
 *            and never read padding.
 *   values   vector j (V scalars along the row) of group g for lane t of slice s lies at vector
 *            (offsets[s] + g) * (P*W/V) * C*bh  +  j * C*bh  +  t
 *   columns  of group g of line l in the slice: P numbers at ((offsets[s] + g) * C + l) * P
 *
 *     V = 1:    v[0,t0] v[0,t1] ... | v[1,t0] v[1,t1] ...     lane t reads stride 1 over the slice
 *
 *   panels   The block columns may be cut into ranges of equal width, so that the part of x that a
 *            range needs stays in the cache. Each panel has its own lines, slices and cut rows.
 *            They follow those of the panel before in the same arrays; only `panel[]` says where
 *            they begin. The first and the last panel have lines for all block rows (the first
 *            scales y, the last finishes it), the others only for rows with blocks in them.
 *
 * Lines of a cut row write to slots of a scratch array. Cut row i owns the slots cut_slots[i] ..
 * cut_slots[i+1]-1, which are added in this order.
 */
#pragma once

#include "matrix/matrix.h"

/* Rows of more segments than this come first among the cut rows: a whole thread block adds the
 * slots of such a row. */
enum { TESS_SLICED_LONG = 8 };
enum { TESS_SLICED_PANELS = 8 }; /* at most */
enum { TESS_SLICED_WIDE = 16 };  /* wider blocks are wide */

typedef struct tess_sliced_options {
    int32_t height; /* C: lines per slice */
    int32_t window; /* sigma: lines sorted together; 0 or 1: order kept */
    int32_t split;  /* lambda: longest line in blocks; 0: no limit */
    int32_t vector; /* V: scalars along the row that lie together (1, 2 or 4) */
    int32_t panels; /* ranges of block columns; 0 or 1: no cut */
} tess_sliced_options;

typedef struct tess_sliced_panel {
    int64_t first_slice, slices;
    int64_t lines;               /* used of slices * C */
    int64_t first_cut, cut_rows; /* block rows with more than lambda blocks in the panel */
    int64_t cut_long;            /* the first ones, with more than TESS_SLICED_LONG segments */
} tess_sliced_panel;

typedef struct tess_sliced {
    tess_ctx *ctx;
    tess_type type;
    int32_t block_height, block_width;
    int64_t block_rows;
    tess_sliced_options options;
    int32_t width; /* W: scalars stored of a block's row */
    int32_t group; /* P: blocks per group */
    tess_sliced_panel panel[TESS_SLICED_PANELS];
    int64_t slices;     /* of all panels */
    int64_t *offsets;   /* slices + 1: groups before the slice */
    int32_t *lengths;   /* slices * C: blocks of the line, 0 beyond a panel's `lines` */
    int32_t *targets;   /* slices * C: block row, or ~slot of a segment; NULL when line = row */
    int64_t *starts;    /* slices * C: the line's first block in the BSR arrays (the value map) */
    int32_t *columns;   /* offsets[slices] * P * C */
    void *values;       /* offsets[slices] * P * W * C * bh */
    int64_t cut_rows;   /* of all panels */
    int32_t *cut_row;   /* cut_rows: block row */
    int32_t *cut_slots; /* cut_rows + 1 */
    bool bare;          /* made of a matrix without values: padding is not filled in yet either */
} tess_sliced;

tess_status tess_sliced_create(tess_ctx *ctx, const tess_matrix *A,
                               const tess_sliced_options *options, tess_sliced **out);
void tess_sliced_destroy(tess_sliced *S);

/* New values in the same pattern, in the order of the BSR matrix: one parallel pass. */
void tess_sliced_update(tess_sliced *S, const void *values);

/* W and P for blocks of width bw in vectors of V scalars. */
static inline int32_t tess_sliced_width(int32_t bw, int32_t V)
{
    return bw > TESS_SLICED_WIDE ? (int32_t)tess_ceil_div(bw, V) * V : bw;
}

static inline int32_t tess_sliced_group(int32_t bw, int32_t V)
{
    int32_t group = 1;
    while (group * tess_sliced_width(bw, V) % V != 0)
        group *= 2;
    return group;
}

/* The number of scalars of the value array, padding included. */
static inline int64_t tess_sliced_stored(const tess_sliced *S)
{
    return S->offsets[S->slices] * S->group * S->width * S->options.height * S->block_height;
}
