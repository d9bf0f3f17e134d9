/* Internals of making slices: the rows covered by runs, and the diagonals of the slices. */
#pragma once

#include "format/fbcsr/slices.h"

typedef struct tess_fbcsr_run {
    int64_t entry; /* the first one */
    int32_t column;
} tess_fbcsr_run;

/* Runs of one width. */
typedef struct tess_fbcsr_runs {
    int width;
    int64_t *offsets; /* rows + 1 */
    tess_fbcsr_run *runs;
} tess_fbcsr_runs;

/* The part of a diagonal's block that lies in one slice. */
typedef struct tess_fbcsr_diagonal_part {
    int64_t diagonal; /* column - shift * row */
    int64_t row, rows;
    int64_t scalar; /* of the splits, the first; the others follow */
    int32_t shift;
    int32_t piece; /* its piece, numbered in the slice */
    int32_t value; /* the value of its first row, numbered in the slice */
} tess_fbcsr_diagonal_part;

/* The numbers of a slice's pieces and of their values. Both include the `lone` pieces, which are
 * entries in no diagonal.
 */
typedef struct tess_fbcsr_diagonal_count {
    int32_t pieces, values, lone;
} tess_fbcsr_diagonal_count;

/* A segment: some runs of a cut row, all of one class. */
typedef struct tess_fbcsr_segment {
    int list;
    int64_t row, first, count;
} tess_fbcsr_segment;

typedef struct tess_fbcsr_builder {
    tess_ctx *ctx;
    const tess_matrix *A;
    const tess_fbcsr *F;
    tess_fbcsr_slices *S;
    tess_fbcsr_runs lists[TESS_FBCSR_CLASSES];
    tess_fbcsr_diagonal_part *parts;
    int64_t *part_offsets; /* slices of rows + 1 */
    tess_fbcsr_diagonal_count *diagonal_counts;
    tess_fbcsr_segment *segment;
    int64_t segments;
} tess_fbcsr_builder;

/* Whether the entry is in a diagonal. */
bool tess_fbcsr_in_diagonal(const tess_fbcsr_builder *B, int64_t entry);

/* Fills `lists`. */
tess_status tess_fbcsr_cover_rows(tess_fbcsr_builder *B);

/* Fills `parts`, `part_offsets` and `diagonal_counts`. */
tess_status tess_fbcsr_list_diagonals(tess_fbcsr_builder *B);

/* ---- places.c ---- */

/* Fills the builder, and in S everything except the contents of the slices: values, columns,
 * pieces. */
tess_status tess_fbcsr_place_rows(tess_fbcsr_builder *B, bool diagonals);

/* The lanes of each row of the slice, and the slice's first place. */
int tess_fbcsr_lanes_of(const tess_fbcsr_slices *S, int64_t slice);
int64_t tess_fbcsr_first_place(const tess_fbcsr_slices *S, int64_t slice);
bool tess_fbcsr_is_cut(const tess_fbcsr_builder *B, int64_t row);

/* The number of runs of a row in a list. */
static inline int64_t tess_fbcsr_runs_in(const tess_fbcsr_builder *B, int list, int64_t row)
{
    return B->lists[list].offsets[row + 1] - B->lists[list].offsets[row];
}

/* Some consecutive runs of a row, all of one class. */
typedef struct tess_fbcsr_some_runs {
    int64_t row, first, count;
} tess_fbcsr_some_runs;

tess_fbcsr_some_runs tess_fbcsr_runs_of(const tess_fbcsr_builder *B, int64_t place, int list);
/* The number of groups of 32 that hold the values of a slice's diagonals; the last may be partly
 * filled. */
int64_t tess_fbcsr_diagonal_groups(const tess_fbcsr_builder *B, int64_t slice);

/* ---- places.c ---- */

/* The number of turns in which x is read for the runs of slices first .. first + count - 1. */
int64_t tess_fbcsr_turns(const tess_fbcsr_builder *B, int64_t first, int64_t count);
