/* Shapes by name: dense pieces of a matrix that are not r x c blocks of a grid.
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
 */
#pragma once

#include "core/core.h"

enum {
    TESS_SHAPE_LIST = 16,  /* most shapes of a list */
    TESS_SHAPE_SIDE = 256, /* largest height and width */
    TESS_SHAPE_SHIFT = 256 /* largest |shift| */
};

typedef struct tess_shape {
    char name[24]; /* in the parser's grammar: "row:32", "4x4", "8x4+1" */
    int32_t height, width, shift;
} tess_shape;

/* Stands for no threshold: the list does not say how full (0..1) a piece has to be. */
#define TESS_SHAPE_NO_THRESHOLD (-1.0)

typedef struct tess_shape_list {
    int count;
    tess_shape shape[TESS_SHAPE_LIST];
    double threshold[TESS_SHAPE_LIST]; /* least fill, or TESS_SHAPE_NO_THRESHOLD */
    double saved; /* share of CSR's bytes, from a sample of the rows; set when the list is chosen */
} tess_shape_list;

/* Shapes separated by commas: FAMILY, FAMILY:LENGTH, HxW, HxW+SHIFT or HxW-SHIFT, each with an
 * optional @THRESHOLD: "diagonal:32@0.8,row:32,4x4,square". Lengths are 32 by default. NULL, ""
 * and "auto" are empty lists. */
tess_status tess_shape_list_parse(tess_ctx *ctx, const char *text, tess_shape_list *out);

/* The number of scalars of one piece. */
static inline int64_t tess_shape_cells(const tess_shape *shape)
{
    return (int64_t)shape->height * shape->width;
}
