/* How paper 003 deals out block rows: the segments of all rows, sorted by length, one by one.
 *
 *     rows     xxxxx  x  xxx        lambda = 2        segments, in the order of rows
 *                                                     0: xx   1: xx   2: x   3: x   4: xx   5: x
 *     sorted   0 1 4 2 3 5          two parts         part 0: 0 4 3      part 1: 1 2 5
 *
 * A row without blocks is one segment. Without lambda every row is one segment. All parts know the
 * list.
 */
#pragma once

#include "dist/form.h"

typedef struct tess_segments {
    int64_t lambda; /* the most blocks of a segment; 0: rows are not cut */
    int64_t rows;   /* block rows of all parts */
    int64_t count;
    int64_t *firsts;  /* rows + 1: the first segment of each row (paper 003's segPtr) */
    int64_t *lengths; /* blocks of each row */
    int64_t *sorted;  /* segments by length, the longest first; number n is part n % size's */
    int64_t *place;   /* of each segment in the results of all parts, part after part */
    int64_t *row_of;  /* the row of each segment */
} tess_segments;

/* Collective. */
tess_status tess_segments_make(const tess_part *part, const int64_t *row_offsets, int64_t lambda,
                               tess_segments *out);
void tess_segments_free(tess_ctx *ctx, tess_segments *s);

/* Segments of one part, and of all parts before it. */
int64_t tess_segments_on(const tess_segments *s, int size, int rank);
int64_t tess_segments_before(const tess_segments *s, int size, int rank);

/* Sends every segment's blocks from the owner of its row to the part that computes with it; `out`
 * has this part's segments as rows. Collective. */
tess_status tess_segments_deal(const tess_part *part, const tess_segments *s,
                               const tess_form_rows *mine, tess_form_rows *out);

/* ---- form_shuffle.c ---- */

/* Opens the channels of k vectors' results. `results`: this part's segments, on part 0 those of all
 * parts, part after part. `y`: this part's rows, on part 0 those of all. Both row-major.
 * Collective.
 */
tess_status tess_shuffle_channels(const tess_part *part, const tess_segments *s, int k,
                                  void *results, void *y, void **collect, void **back);
