/* Format fbcsr in plans: its shapes, and whether a search for them pays.
 *
 * The parameters of an fbcsr kernel hold "shapes=diagonal:32/row:16@0.9/4x4". This is the text of
 * tess_shape_list_parse with '/' instead of ',', because ',' separates parameters.
 */
#pragma once

#include "format/fbcsr/fbcsr.h"
#include "backend/backend.h"

enum { TESS_SHAPES_TEXT = 104 }; /* bytes of the text of a list of shapes */

/* Whether a good part of A's entries lies in pieces of rows, columns or diagonals, by a sample of
 * its rows. The sample takes little time beside a product. If the answer is no, a search finds
 * nothing. */
bool tess_shapes_promising(const tess_matrix *A);
/* Reads the list in `text`; an empty text gives no shapes. */
tess_status tess_shapes_read(tess_ctx *ctx, const char *text, tess_fbcsr_options *out);
/* The same, but if `text` is empty or "auto", shapes are chosen for A, or none, by the priced bytes
 * of blocks or, with `slices`, of slices (format/fbcsr/slices.h). */
tess_status tess_shapes_choose(tess_ctx *ctx, const tess_matrix *A, const char *text, bool slices,
                               tess_fbcsr_options *out);
/* Writes the list as text. If not all shapes fit, the last ones, which save least, are dropped. */
void tess_shapes_write(tess_fbcsr_options *options, char *text, size_t size);

/* The shapes that a candidate would extract; none if A is not promising. Chosen as by
 * tess_shapes_choose, but from a part of the matrix unless it is very small: the look must not take
 * as long as thousands of products. */
tess_status tess_shapes_look(tess_ctx *ctx, const tess_matrix *A, bool slices,
                             tess_fbcsr_options *out);
/* Sets the candidate's class and bytes, for the model. The class is "fbcsr blocks" if the first
 * shape has several columns (and, without slices, several rows), otherwise "fbcsr lines". */
void tess_shapes_price(const tess_fbcsr_options *shapes, const tess_matrix *A, bool slices,
                       tess_candidate *c);
