/* FBCSR (paper 001): dense pieces of several shapes, wherever they lie, and a CSR remainder.
 *
 * A split is all blocks of one shape (matrix/shape.h). Block b of it begins at (rows[b], cols[b]);
 * its values, zero where the matrix stores nothing, lie at b * height * width, column-major:
 *
 *     A(rows[b] + i, cols[b] + shift * i + k)  is  values[(b * width + k) * height + i]
 *
 * Every block lies inside the matrix. Every entry of the matrix is in one block of one split, or in
 * `rest`. Splits that found nothing are not listed.
 */
#pragma once

#include "matrix/matrix.h"
#include "matrix/shape.h"

enum { TESS_FBCSR_SPLITS = TESS_SHAPE_LIST }; /* at most */

typedef struct tess_fbcsr_split {
    tess_shape shape;
    int64_t blocks;
    int32_t *rows, *cols; /* of the first row of each block; sorted by (row, col) */
    void *values;         /* blocks * height * width */
    int64_t nonzeros;     /* entries of the matrix that lie in it */
} tess_fbcsr_split;

typedef struct tess_fbcsr {
    tess_ctx *ctx;
    tess_type type;
    int64_t rows, cols;
    int64_t nonzeros; /* entries of the matrix, explicit zeros included */
    int splits;
    tess_fbcsr_split *split;
    tess_matrix *rest; /* CSR */
    int64_t *map;      /* nonzeros: entry i, by rows and columns, is scalar map[i] of the splits'
                          values one after the other, then rest's; NULL in a plan on the CPU */
} tess_fbcsr;

/* Entries that are stored in one way: blocks of a shape, diagonals, runs of a width. */
typedef struct tess_fbcsr_stored {
    char name[24];
    int64_t pieces;  /* blocks, diagonals, runs or entries */
    int64_t entries; /* of the matrix */
    int64_t cells;   /* scalars, padding included */
    bool single;     /* one column number an entry: not extracted */
} tess_fbcsr_stored;

enum { TESS_FBCSR_STORED = TESS_FBCSR_SPLITS + 1 }; /* ways, at most */

/* What to extract, in this order; count = 0: chosen by priced bytes ("auto"). Without a threshold,
 * blocks must take fewer bytes than their non-zeros take in CSR. */
typedef tess_shape_list tess_fbcsr_options;

/* A may have any block size: its stored scalars count, padding does not. NULL options: auto. The
 * result does not depend on the number of threads. */
tess_status tess_fbcsr_create(tess_ctx *ctx, const tess_matrix *A,
                              const tess_fbcsr_options *options, tess_fbcsr **out);
void tess_fbcsr_destroy(tess_fbcsr *F);

/* Bytes of all arrays a product touches, padding included, vectors not; row offsets count 4 each,
 * as everywhere. */
int64_t tess_fbcsr_bytes(const tess_fbcsr *F);

/* Bytes of a split: values and where its blocks begin. */
static inline int64_t tess_fbcsr_split_bytes(const tess_fbcsr_split *split, tess_type type)
{
    return split->blocks * (8 + tess_shape_cells(&split->shape) * (int64_t)tess_type_size(type));
}

/* The fill from which a block of this shape takes fewer bytes than its non-zeros take in CSR. */
double tess_fbcsr_break_even(const tess_shape *shape, tess_type type);
