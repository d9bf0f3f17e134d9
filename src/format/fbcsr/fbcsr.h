/* FBCSR (paper 001): dense pieces of several shapes, wherever they lie, and a CSR remainder.
 *
 * A split is all blocks of one shape (matrix/shape.h). Its block b begins at (rows[b], cols[b]).
 * The block's values lie at b * height * width, column-major, with zeros where the matrix stores
 * nothing:
 *
 *     A(rows[b] + i, cols[b] + shift * i + k)  is  values[(b * width + k) * height + i]
 *
 * Every block lies inside the matrix. Every entry of the matrix is in one block of one split, or in
 * `rest`. A shape for which no block was found has no split.
 */
#pragma once

#include "matrix/matrix.h"
#include "matrix/shape.h"

enum { TESS_FBCSR_SPLITS = TESS_SHAPE_LIST }; /* the most */

typedef struct tess_fbcsr_split {
    tess_shape shape;
    int64_t blocks;
    int32_t *rows, *cols; /* of the first row of each block; sorted by (row, col) */
    void *values;         /* blocks * height * width */
    int64_t nonzeros;     /* entries of the matrix in its blocks */
} tess_fbcsr_split;

typedef struct tess_fbcsr {
    tess_ctx *ctx;
    tess_type type;
    int64_t rows, cols;
    int64_t nonzeros; /* entries of the matrix, explicit zeros included */
    int splits;
    tess_fbcsr_split *split;
    tess_matrix *rest; /* CSR */
    int64_t *map;      /* nonzeros: entry i, by rows and columns, is scalar map[i] of the values of
                        * all splits and then of the rest; NULL in a plan on the CPU */
} tess_fbcsr;

/* The entries that are stored in one way: in blocks of a shape, diagonals or runs of a width, or
 * alone. */
typedef struct tess_fbcsr_stored {
    char name[24];
    int64_t pieces;  /* blocks, diagonals, runs or entries */
    int64_t entries; /* of the matrix, without padding */
    int64_t cells;   /* scalars, padding included */
    bool single;     /* one column number per entry: not extracted */
} tess_fbcsr_stored;

enum { TESS_FBCSR_STORED = TESS_FBCSR_SPLITS + 1 }; /* the most ways */

/* The shapes to extract, in this order. With count = 0 they are chosen by priced bytes ("auto"). A
 * block of a shape without a threshold must take fewer bytes than its non-zeros take in CSR. */
typedef tess_shape_list tess_fbcsr_options;

/* A may have any block size: its stored scalars are the entries, without padding. With NULL options
 * the shapes are chosen. The result does not depend on the number of threads. */
tess_status tess_fbcsr_create(tess_ctx *ctx, const tess_matrix *A,
                              const tess_fbcsr_options *options, tess_fbcsr **out);
void tess_fbcsr_destroy(tess_fbcsr *F);

/* The bytes of all arrays that a product reads, including padding, without vectors. Row offsets
 * count 4 bytes each, as everywhere. */
int64_t tess_fbcsr_bytes(const tess_fbcsr *F);

/* The bytes of a split: its values, and the row and column of each block. */
static inline int64_t tess_fbcsr_split_bytes(const tess_fbcsr_split *split, tess_type type)
{
    return split->blocks * (8 + tess_shape_cells(&split->shape) * (int64_t)tess_type_size(type));
}

/* The fill above which a block of this shape takes fewer bytes than its non-zeros take in CSR. */
double tess_fbcsr_break_even(const tess_shape *shape, tess_type type);
