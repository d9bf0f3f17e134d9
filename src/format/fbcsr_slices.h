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
 * Values of a slice: its pieces, then its steps, nothing padded. A piece's rows lie together, and
 * so do the rows of a step, column by column.
 *
 *     step of runs of 2, rows 3, 4, 9 have one:   columns  c3 c4 c9
 *                                                 values   a3 a4 a9 b3 b4 b9
 *
 * Where there are no lines, rows are sorted by length in windows before they are cut into slices;
 * `targets` says which they are.
 *
 * A row with more than CUT scalars in runs of one width is cut into equal parts: all but the first
 * go to segments, which fill slices of their own, the first ones, as if each were a row. Row
 * cut_row[i] owns the segments cut_slots[i] .. cut_slots[i+1]-1, counted in places of 32 a slice.
 */
#ifndef TESS_FORMAT_FBCSR_SLICES_H
#define TESS_FORMAT_FBCSR_SLICES_H

#include "format/fbcsr.h"

enum { TESS_FBCSR_SLICE = 32, TESS_FBCSR_LINE = 8, TESS_FBCSR_WIDE = 8, TESS_FBCSR_CUT = 256 };
/* Of a slice in `heads`: what comes before it. */
enum { TESS_FBCSR_HEAD_VALUE, TESS_FBCSR_HEAD_COLUMN, TESS_FBCSR_HEAD_PIECE, TESS_FBCSR_HEAD };

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
    int64_t cut_rows;   /* those of more than TESS_SLICED_LONG segments first */
    int64_t cut_long;   /* as many */
    int32_t *cut_row;   /* cut_rows */
    int32_t *cut_slots; /* cut_rows + 1 */
} tess_fbcsr_slices;

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
