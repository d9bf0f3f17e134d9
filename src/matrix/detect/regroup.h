/* Internals of the search for blocks that the numbering hides (regroup.c).
 *
 *     order   order[i] is the unknown that comes i-th in the new numbering
 *     group   b consecutive unknowns of the new numbering; the last group may have fewer
 *
 *     fields, 3 of them:      u0 u1 u2 .. v0 v1 v2 .. w0 w1 w2 ..   ->   u0 v0 w0 | u1 v1 w1 | ...
 *     similar rows:           7 2 9 ..                              ->   2 7 9 | ...
 */
#pragma once

#include "matrix/detect/detect.h"

enum { TESS_REGROUP_MAX = 16 }; /* the largest group looked for */

/* The rows most like a row, best first; free places at the end are -1. */
enum { TESS_SIMILAR = TESS_REGROUP_MAX - 1 };
typedef struct tess_similar {
    int32_t row[TESS_SIMILAR];
    uint8_t alike[TESS_SIMILAR]; /* common columns over all columns of both rows, in 255ths; the
                                  * mean with the same ratio of the transpose where the pattern is
                                  * not symmetric */
} tess_similar;

/* Fills similar[P->rows]. P is square and has sorted columns. Nearly equal rows are sought among a
 * row's columns: if diagonals are stored, each of two such rows has the other's column. Rows are
 * compared by the groups of their columns: columns j with the same group_of[j] are one. NULL: each
 * column is one. T is that of tess_transpose_of. */
tess_status tess_find_similar(tess_ctx *ctx, const tess_pattern *P, const tess_pattern *T,
                              const int32_t *group_of, tess_similar *similar);

/* *T = P transposed, with sorted rows; empty where P is symmetric. P is square. The caller clears
 * T, also after a failure. */
tess_status tess_transpose_of(tess_ctx *ctx, const tess_pattern *P, tess_pattern *T);

/* All pairs of a row and a row of its list, the most alike pairs first. */
typedef struct tess_similar_pairs {
    int64_t *pair; /* row * TESS_SIMILAR + place in its list */
    int64_t count;
} tess_similar_pairs;
tess_status tess_sort_similar(tess_ctx *ctx, const tess_similar *similar, int64_t rows,
                              tess_similar_pairs *out);

/* Forms groups of b rows: `order` gets the new numbering, *grouped the number of rows in whole
 * groups. Rows in smaller groups come last. */
tess_status tess_group_similar(tess_ctx *ctx, const tess_similar *similar, int64_t rows,
                               const tess_similar_pairs *pairs, int32_t b, int64_t *order,
                               int64_t *grouped);

/* Guesses density[b], how full b x b blocks would be if every row were grouped with the b - 1 rows
 * most like it, for b up to TESS_REGROUP_MAX. It is the mean share of a row in the columns of its
 * group, squared because columns are grouped too. Returns the natural size of the groups: the row
 * that comes next in the lists is much less alike. */
int tess_guess_densities(const tess_similar *similar, int64_t rows, double *density);

/* The number of common columns over that of all columns of both rows, in 255ths; 0 for two empty
 * rows. */
int tess_rows_alike(const tess_pattern *P, int64_t i, int64_t j);

/* Sets *promising: whether a glance at a few hundred rows finds fields or similar rows. It takes
 * milliseconds. */
tess_status tess_glance_regrouping(tess_ctx *ctx, const tess_matrix *A, bool *promising);

/* The bytes of an SpMV with `blocks` blocks of b x b. By fields kernels read x and write y
 * themselves. If the order is a `list` of rows, two passes over the vectors are included. */
double tess_regrouped_price(const tess_matrix *A, int32_t b, double blocks, bool list);

/* Estimates the number of f x f blocks when f fields are interleaved, from a sample of groups.
 * `marks` has P->cols columns. */
double tess_sample_fields(const tess_pattern *P, int32_t f, tess_marks *marks);
