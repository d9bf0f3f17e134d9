/* FBCSR for a device with a thread a row: slices of 32 rows whose columns are not stored for every
 * entry.
 *
 * Pieces. A line (a block one column wide, of at least LINE rows) meets a slice in adjacent rows,
 * and blocks that continue each other are one line there: a piece, of which only the first column
 * is stored. `pieces` holds its column in the low half, and above it the first row (8 bits), the
 * number of rows (8 bits) and the shift.
 *
 * Runs. All other blocks, and the remainder, are runs of up to WIDE adjacent columns in a row: one
 * column is stored for each. The k-th runs of one width of all rows that have so many are a step;
 * steps of the same width follow each other, widths from the largest down. `lengths` says how many
 * runs each row has, [slice][width][32].
 *
 * Values of a slice: its pieces, then its steps, nothing padded. Adjacent lanes, as many as hold a
 * run (tess_fbcsr_group), share the runs of their rows, so a run's values lie together; of a step,
 * the runs of all groups' first rows come first, then those of the second rows, ...
 *
 *     step of runs of 2, rows 3, 4, 9 have one:   columns  c3 c4 c9
 *                                                 values   a4 b4 a3 b3 a9 b9
 *
 * Where there are no lines, rows are sorted by length in windows before they are cut into slices;
 * `targets` says which they are.
 *
 * A row with more than CUT scalars in runs of one width (fewer if the matrix has few rows) is cut
 * into equal parts: all but the first go to segments, which fill slices of their own, the first
 * ones, as if each were a row. Row cut_row[i] owns the segments cut_slots[i] .. cut_slots[i+1]-1,
 * counted in places of 32 a slice.
 */
#ifndef TESS_FORMAT_FBCSR_SLICES_H
#define TESS_FORMAT_FBCSR_SLICES_H

#include "format/fbcsr.h"

enum { TESS_FBCSR_SLICE = 32, TESS_FBCSR_LINE = 8, TESS_FBCSR_WIDE = 8, TESS_FBCSR_CUT = 256 };
/* Of a slice in `heads`: what comes before it, and whether all its pieces have SLICE rows. */
enum {
    TESS_FBCSR_HEAD_VALUE,
    TESS_FBCSR_HEAD_COLUMN,
    TESS_FBCSR_HEAD_PIECE,
    TESS_FBCSR_HEAD_FULL,
    TESS_FBCSR_HEAD
};

typedef struct tess_fbcsr_slices {
    tess_ctx *ctx;
    tess_type type;
    unsigned widths;  /* bit w: there may be runs of w columns */
    int width_count;  /* its bits */
    int64_t slices;   /* all of them */
    int64_t segments; /* the first slices: of segments */
    int64_t *heads;   /* (slices + 1) * TESS_FBCSR_HEAD */
    int32_t *targets; /* rows of the other slices' places; NULL: in order */
    int64_t *pieces;
    uint8_t *lengths;
    int32_t *columns;
    void *values;
    int64_t *entries;   /* of each value: its entry of the matrix, -1: padding of a block */
    int64_t cut_rows;   /* those of many segments first, which are added by a thread block each */
    int64_t cut_long;   /* as many */
    int32_t *cut_row;   /* cut_rows */
    int32_t *cut_slots; /* cut_rows + 1 */
} tess_fbcsr_slices;

/* Lanes that share runs of this width: the power of two that holds it. */
static inline int tess_fbcsr_group(int width)
{
    return width > 4 ? 8 : width > 2 ? 4 : width;
}

/* Which widths of runs blocks of these shapes are made of; bit 1, the remainder's, is always set.
 */
unsigned tess_fbcsr_widths(const tess_fbcsr_options *shapes);

/* All splits of F are of these shapes. csr_values: of the matrix F was made from. */
tess_status tess_fbcsr_slices_create(tess_ctx *ctx, const tess_fbcsr *F,
                                     const tess_fbcsr_options *shapes, const void *csr_values,
                                     tess_fbcsr_slices **out);
void tess_fbcsr_slices_destroy(tess_fbcsr_slices *S);

/* New numbers in the same pattern. */
void tess_fbcsr_slices_refresh(tess_fbcsr_slices *S, const void *csr_values);

static inline int64_t tess_fbcsr_slices_count(const tess_fbcsr_slices *S, int what)
{
    return S->heads[S->slices * TESS_FBCSR_HEAD + what];
}

#endif
