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

enum { TESS_REGROUP_MAX = 16 }; /* the largest group looked for */

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

/* How full blocks of b x b would be if every row were with the b - 1 most like it: the mean share
 * of a row in the columns of all, squared, as columns are grouped too. density[b], b up to
 * TESS_REGROUP_MAX. Returns the size of the groups that there seem to be: the next row is much less
 * alike. */
int tess_guess_densities(const tess_similar *similar, int64_t rows, double *density);

/* Columns in common over columns of either, in 255ths; 0 of two empty rows. */
int tess_rows_alike(const tess_pattern *P, int64_t i, int64_t j);

/* Whether a look at a few hundred rows finds fields or rows alike: it takes milliseconds. */
tess_status tess_glance_regrouping(tess_ctx *ctx, const tess_matrix *A, bool *promising);

/* What brings x into another order and y back. */
typedef enum tess_passes {
    TESS_PASSES_NONE,   /* the order is A's own */
    TESS_PASSES_FIELDS, /* computed */
    TESS_PASSES_LIST    /* by a list of rows */
} tess_passes;

/* Bytes of an SpMV with that many blocks of b x b and such passes. */
double tess_regrouped_price(const tess_matrix *A, int32_t b, double blocks, tess_passes passes);

/* About how many blocks of f x f there are when f fields are interleaved, from a sample of groups.
 * `marks` has P->cols columns. */
double tess_sample_fields(const tess_pattern *P, int32_t f, tess_marks *marks);
