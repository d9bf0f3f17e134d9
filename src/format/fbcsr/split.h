/* Internals of FBCSR: SplitOnce, on the pattern of the entries that the splits before have left.
 *
 * In skewed coordinates (row r, place d = column - shift * r) every shape is a rectangle of height
 * x width, so rows, columns, diagonals and parallelograms are found by the same code.
 */
#pragma once

#include "format/fbcsr/fbcsr.h"

/* The entries that are in no block yet, with increasing columns in each row. */
typedef struct tess_fbcsr_pattern {
    int64_t rows, cols;
    int64_t *row_offsets;
    int32_t *columns;
    int64_t *entry; /* numbers in the CSR matrix; NULL: entry[k] = k */
    bool borrowed;  /* row_offsets and columns belong to a matrix */
} tess_fbcsr_pattern;

/* The pattern of all entries of a CSR matrix. */
static inline tess_fbcsr_pattern tess_fbcsr_pattern_of(const tess_matrix *csr)
{
    return (tess_fbcsr_pattern){csr->rows, csr->cols, csr->row_offsets, csr->columns, NULL, true};
}

/* The first row and column of a block. */
typedef struct tess_fbcsr_place {
    int32_t row, col;
} tess_fbcsr_place;

/* The blocks that one split found. cell[e] is the cell (column k * height + row i) that entry e of
 * the pattern fills in its block, or -1. The cell and the place of the entry determine the
 * block. */
typedef struct tess_fbcsr_found {
    tess_fbcsr_place *places; /* sorted by (row, col) */
    int64_t blocks, nonzeros;
    int32_t *cell;
} tess_fbcsr_found;

void tess_fbcsr_pattern_clear(tess_ctx *ctx, tess_fbcsr_pattern *P);
/* Removes from P the entries of the blocks found. */
tess_status tess_fbcsr_pattern_remove(tess_ctx *ctx, tess_fbcsr_pattern *P,
                                      const tess_fbcsr_found *found);
/* The first position of a row whose column is at least `column`. */
int64_t tess_fbcsr_lower_bound(const tess_fbcsr_pattern *P, int64_t row, int64_t column);

/* The least number of non-zeros of a block; at least 1. */
int64_t tess_fbcsr_least(const tess_shape *shape, tess_type type, double threshold);

/* Selects blocks of `shape` with at least `least` entries each. No entry is in two blocks. */
tess_status tess_fbcsr_split_once(tess_ctx *ctx, const tess_fbcsr_pattern *P,
                                  const tess_shape *shape, int64_t least, tess_fbcsr_found *out);
void tess_fbcsr_found_clear(tess_ctx *ctx, tess_fbcsr_found *found);

/* The same for shapes of width 1, where every diagonal (constant d) is a separate problem. `cell`
 * holds -1, and `places` is large enough. */
tess_status tess_fbcsr_split_diagonals(tess_ctx *ctx, const tess_fbcsr_pattern *P,
                                       const tess_shape *shape, int64_t least,
                                       tess_fbcsr_found *out);

/* ---- Prices: auto.c ---- */

/* A split of a chosen list is kept if it saves this share of CSR's bytes. */
#define TESS_FBCSR_WORTHWHILE 0.005

/* The entries of a row that go into a sample: one long row must not fill the sample. */
static inline int64_t tess_fbcsr_sampled(const tess_matrix *csr, int64_t row, int64_t most)
{
    return tess_min(csr->row_offsets[row + 1] - csr->row_offsets[row], most);
}

/* Takes a sample of about `wanted` entries, or all of a small matrix: pieces of adjacent rows from
 * all over it. Pieces at equal distances may all meet the same part of a repeating pattern.
 * `spread` pieces have unequal distances, and begin at even rows, so that pairs of rows stay
 * pairs. */
tess_status tess_fbcsr_sample(tess_ctx *ctx, const tess_matrix *csr, int64_t wanted, bool spread,
                              tess_fbcsr_pattern *P);

/* Chooses the list of shapes that saves most, by a sample of the rows. */
tess_status tess_fbcsr_choose(tess_ctx *ctx, const tess_matrix *csr, tess_fbcsr_options *out);
/* The same for slices (slices.h): auto_slices.c. */
tess_status tess_fbcsr_choose_slices(tess_ctx *ctx, const tess_matrix *csr,
                                     tess_fbcsr_options *out);

/* ---- Windows along a sequence of places: select.c ---- */

/* Increasing places with the number of entries at each (NULL: 1). Windows have `length` places and
 * begin at first .. last; entries before `first` are in no window. */
typedef struct tess_fbcsr_sequence {
    int64_t count;
    const int64_t *place;
    const int32_t *entries;
    int64_t length, first, last;
    int64_t least; /* least entries of a window */
} tess_fbcsr_sequence;

typedef struct tess_fbcsr_window {
    int64_t start;
    int64_t entries;
} tess_fbcsr_window;

/* Chooses by dynamic programming windows that do not overlap, each with at least `least` entries,
 * such that they hold the most entries in all. Of equal choices it takes the later windows.
 * `windows` has room for `count`. Returns the number of windows, which are in order. */
int64_t tess_fbcsr_windows(const tess_fbcsr_sequence *sequence, int64_t *scratch,
                           tess_fbcsr_window *windows);

/* The number of elements of `scratch` for sequences of up to `count` places. */
int64_t tess_fbcsr_windows_scratch(int64_t count);

/* ---- Selection over block rows: select.c ---- */

/* A block that a row chose: the rectangle of height x width at (row, d). */
typedef struct tess_fbcsr_candidate {
    int32_t row;
    int32_t entries;
    int64_t d;
} tess_fbcsr_candidate;

/* The candidates that begin in rows first_row .. first_row + rows - 1, sorted by (row, d). Those of
 * row i are offsets[i] .. offsets[i+1]-1; they do not overlap. */
typedef struct tess_fbcsr_candidates {
    int64_t first_row, rows;
    const int64_t *offsets;
    const tess_fbcsr_candidate *list;
} tess_fbcsr_candidates;

/* Chooses candidates that do not overlap: chosen[c] = 1. `scratch` has 2 * (rows + 1) + candidates
 * + cells + 2 elements. */
void tess_fbcsr_select(const tess_fbcsr_candidates *C, const tess_shape *shape, int64_t *scratch,
                       uint8_t *chosen);
