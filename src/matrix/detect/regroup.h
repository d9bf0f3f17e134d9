/* Inside the search for blocks that the numbering hides (regroup.c).
 *
 *     order   which unknown comes next in the new numbering
 *     group   b unknowns that follow each other there; the last one may have fewer
 *
 *     fields, 3 of them:      u0 u1 u2 .. v0 v1 v2 .. w0 w1 w2 ..   ->   u0 v0 w0 | u1 v1 w1 | ...
 *     similar rows:           7 2 9 ..                              ->   2 7 9 | ...
 */
#pragma once

#include "matrix/detect/detect.h"

enum { TESS_REGROUP_MAX = 8 }; /* the largest group looked for */

/* For every row the rows most like it, best first; -1 fills up. */
enum { TESS_SIMILAR = TESS_REGROUP_MAX - 1 };
typedef struct tess_similar {
    int32_t row[TESS_SIMILAR];
    uint8_t alike[TESS_SIMILAR]; /* columns in common over columns of either, 255 for all; the mean
                                    of that and the same of the columns' rows */
} tess_similar;

/* similar[P->rows]: P is square and has sorted columns. Nearly equal rows are looked for among a
 * row's columns: where diagonals are stored, each of such rows has the other's column. */
tess_status tess_find_similar(tess_ctx *ctx, const tess_pattern *P, tess_similar *similar);

/* All pairs of such lists, the most alike ones first. */
typedef struct tess_similar_pairs {
    int64_t *pair; /* row * TESS_SIMILAR + place in its list */
    int64_t count;
} tess_similar_pairs;
tess_status tess_sort_similar(tess_ctx *ctx, const tess_similar *similar, int64_t rows,
                              tess_similar_pairs *out);

/* Groups of b: `order` gets the new numbering, *grouped the number of rows in whole groups. Those
 * in smaller groups come last. */
tess_status tess_group_similar(tess_ctx *ctx, const tess_similar *similar, int64_t rows,
                               const tess_similar_pairs *pairs, int32_t b, int64_t *order,
                               int64_t *grouped);
