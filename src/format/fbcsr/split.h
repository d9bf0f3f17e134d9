/* Inside FBCSR: SplitOnce on the pattern of what the splits before have left.
 *
 * In skewed coordinates (row r, place d = column - shift * r) every shape is a rectangle of height
 * x width, so rows, columns, diagonals and parallelograms are found by the same code.
 */
#pragma once

#include "format/fbcsr/fbcsr.h"

/* Entries not yet in a block, columns increasing in each row. */
typedef struct tess_fbcsr_pattern {
    int64_t rows, cols;
    int64_t *row_offsets;
    int32_t *columns;
    int64_t *entry; /* their numbers in the CSR matrix; NULL: their own */
    bool borrowed;  /* row_offsets and columns are a matrix's */
} tess_fbcsr_pattern;

/* All entries of a CSR matrix. */
static inline tess_fbcsr_pattern tess_fbcsr_pattern_of(const tess_matrix *csr)
{
    return (tess_fbcsr_pattern){csr->rows, csr->cols, csr->row_offsets, csr->columns, NULL, true};
}

/* The first row and column of a block. */
typedef struct tess_fbcsr_place {
    int32_t row, col;
} tess_fbcsr_place;

/* What one split found. cell[k] is the cell (k * height + i) of its block that entry k of the
 * pattern fills, or -1: with its own place, that tells the block. */
typedef struct tess_fbcsr_found {
    tess_fbcsr_place *places; /* sorted by (row, col) */
    int64_t blocks, nonzeros;
    int32_t *cell;
} tess_fbcsr_found;

void tess_fbcsr_pattern_clear(tess_ctx *ctx, tess_fbcsr_pattern *P);
/* P becomes what `found` has left of it. */
tess_status tess_fbcsr_pattern_remove(tess_ctx *ctx, tess_fbcsr_pattern *P,
                                      const tess_fbcsr_found *found);
/* The first position of a row whose column is at least `column`. */
int64_t tess_fbcsr_lower_bound(const tess_fbcsr_pattern *P, int64_t row, int64_t column);

/* The least number of non-zeros of a block, 1 at least. */
int64_t tess_fbcsr_least(const tess_shape *shape, tess_type type, double threshold);

/* Selects blocks of `shape` with at least `least` entries each, no entry in two of them. */
tess_status tess_fbcsr_split_once(tess_ctx *ctx, const tess_fbcsr_pattern *P,
                                  const tess_shape *shape, int64_t least, tess_fbcsr_found *out);
void tess_fbcsr_found_clear(tess_ctx *ctx, tess_fbcsr_found *found);

/* The same for shapes of width 1: every diagonal, of constant d, is a problem of its own. `cell`
 * holds -1 and `places` is large enough. */
tess_status tess_fbcsr_split_diagonals(tess_ctx *ctx, const tess_fbcsr_pattern *P,
                                       const tess_shape *shape, int64_t least,
                                       tess_fbcsr_found *out);

/* ---- Prices: auto.c ---- */

/* A split of a chosen list is kept if it saves this share of CSR's bytes. */
#define TESS_FBCSR_WORTHWHILE 0.005

/* Pieces of adjacent rows from all over the matrix, about `wanted` entries, or all of a small
 * matrix. Pieces at equal distances may all see the same part of a repeating pattern; `spread`
 * pieces do not, and begin at even rows, so that pairs of rows stay pairs. */
tess_status tess_fbcsr_sample(tess_ctx *ctx, const tess_matrix *csr, int64_t wanted, bool spread,
                              tess_fbcsr_pattern *P);

/* The list of shapes that saves most, judged from a sample of the rows. */
tess_status tess_fbcsr_choose(tess_ctx *ctx, const tess_matrix *csr, tess_fbcsr_options *out);
/* The same for slices (slices.h): auto_slices.c. */
tess_status tess_fbcsr_choose_slices(tess_ctx *ctx, const tess_matrix *csr,
                                     tess_fbcsr_options *out);

/* ---- Windows along a sequence of places: select.c ---- */

/* Increasing places with the number of entries at each (NULL: 1), and windows of `length` places
 * that begin at first .. last. Entries before `first` are in none. */
typedef struct tess_fbcsr_sequence {
    int64_t count;
    const int64_t *place;
    const int32_t *entries;
    int64_t length, first, last;
    int64_t least; /* entries of a window */
} tess_fbcsr_sequence;

typedef struct tess_fbcsr_window {
    int64_t start;
    int64_t entries;
} tess_fbcsr_window;

/* Dynamic programming: the windows with at least `least` entries that do not overlap and hold the
 * most entries in all, in order; of equal choices the later windows. `windows` holds count. Returns
 * their number. */
int64_t tess_fbcsr_windows(const tess_fbcsr_sequence *sequence, int64_t *scratch,
                           tess_fbcsr_window *windows);

/* Elements of `scratch` for sequences of up to `count` places. */
int64_t tess_fbcsr_windows_scratch(int64_t count);

/* ---- Selection over block rows: select.c ---- */

/* A block row's choice: rectangles of height x width at (row, d). */
typedef struct tess_fbcsr_candidate {
    int32_t row;
    int32_t entries;
    int64_t d;
} tess_fbcsr_candidate;

/* Candidates of start rows first_row .. first_row + rows - 1, sorted by (row, d); those of row i
 * are offsets[i] .. offsets[i+1]-1. None of one row overlap. */
typedef struct tess_fbcsr_candidates {
    int64_t first_row, rows;
    const int64_t *offsets;
    const tess_fbcsr_candidate *list;
} tess_fbcsr_candidates;

/* Chooses those to take: chosen[c] = 1, no two overlapping. `scratch` holds 2 * (rows + 1) +
 * candidates + cells + 2. */
void tess_fbcsr_select(const tess_fbcsr_candidates *C, const tess_shape *shape, int64_t *scratch,
                       uint8_t *chosen);
