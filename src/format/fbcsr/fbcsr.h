/* FBCSR (paper 001): dense pieces of several shapes, wherever they lie, and a CSR remainder.
 *
 * A shape is data: `height` rows of `width` adjacent columns, row i beginning `shift * i` columns
 * to the right of row 0.
 *
 *     row 1 x 4    column 4 x 1   diagonal      anti-diagonal   rectangle   parallelogram
 *     shift 0      shift 0        4 x 1, 1      4 x 1, -1       2 x 3       3 x 3, shift 1
 *     x x x x      x              x                   x         x x x       x x x
 *                  x                x               x           x x x         x x x
 *                  x                  x           x                             x x x
 *                  x                    x       x
 *
 * A split is all blocks of one shape. Block b of it begins at (rows[b], cols[b]); its values, zero
 * where the matrix stores nothing, lie at b * height * width, column-major:
 *
 *     A(rows[b] + i, cols[b] + shift * i + k)  is  values[(b * width + k) * height + i]
 *
 * Every block lies inside the matrix. Every entry of the matrix is in one block of one split, or in
 * `rest`. Splits that found nothing are not listed.
 */
#ifndef TESS_FORMAT_FBCSR_H
#define TESS_FORMAT_FBCSR_H

#include "matrix/matrix.h"

enum {
    TESS_FBCSR_SPLITS = 16, /* at most */
    TESS_FBCSR_SIDE = 256,  /* largest height and width of a shape */
    TESS_FBCSR_SHIFT = 256  /* largest |shift| */
};

/* A threshold that asks for the fill from which a block takes fewer bytes than its non-zeros take
 * in CSR. */
#define TESS_FBCSR_PRICED (-1.0)

typedef struct tess_fbcsr_shape {
    char name[24]; /* as the parser reads it: "row:32", "4x4", "8x4+1" */
    int32_t height, width, shift;
} tess_fbcsr_shape;

typedef struct tess_fbcsr_split {
    tess_fbcsr_shape shape;
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

/* What to extract, in this order. count = 0: chosen by priced bytes ("auto"). */
typedef struct tess_fbcsr_options {
    int count;
    tess_fbcsr_shape shape[TESS_FBCSR_SPLITS];
    double threshold[TESS_FBCSR_SPLITS]; /* least fill of a block, 0..1, or TESS_FBCSR_PRICED */
    double saved; /* of CSR's bytes, 0..1, where the list was chosen, on a sample of the rows */
} tess_fbcsr_options;

/* "auto", or shapes separated by commas: FAMILY, FAMILY:LENGTH, HxW, HxW+SHIFT or HxW-SHIFT, each
 * with an optional @THRESHOLD: "diagonal:32@0.8,row:32,4x4,square". Lengths are 32 by default. */
tess_status tess_fbcsr_options_parse(tess_ctx *ctx, const char *text, tess_fbcsr_options *out);

/* A may have any block size: its stored scalars count, padding does not. NULL options: auto. The
 * result does not depend on the number of threads. */
tess_status tess_fbcsr_create(tess_ctx *ctx, const tess_matrix *A,
                              const tess_fbcsr_options *options, tess_fbcsr **out);
void tess_fbcsr_destroy(tess_fbcsr *F);

/* The inverse: the matrix it was made from, as CSR. */
tess_status tess_fbcsr_to_csr(tess_ctx *ctx, const tess_fbcsr *F, tess_matrix **out);

/* Bytes of all arrays a product touches, padding included, vectors not; row offsets count 4 each,
 * as everywhere. */
int64_t tess_fbcsr_bytes(const tess_fbcsr *F);

/* Scalars of one block. */
static inline int64_t tess_fbcsr_cells(const tess_fbcsr_shape *shape)
{
    return (int64_t)shape->height * shape->width;
}

/* Bytes of a split: values and where its blocks begin. */
static inline int64_t tess_fbcsr_split_bytes(const tess_fbcsr_split *split, tess_type type)
{
    return split->blocks * (8 + tess_fbcsr_cells(&split->shape) * (int64_t)tess_type_size(type));
}

/* The fill from which a block of this shape takes fewer bytes than its non-zeros take in CSR. */
double tess_fbcsr_break_even(const tess_fbcsr_shape *shape, tess_type type);

#endif
