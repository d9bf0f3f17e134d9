/* Format fbcsr in plans: which shapes, and whether they are worth looking for.
 *
 * The parameters of an fbcsr kernel hold "shapes=diagonal:32/row:16@0.9/4x4". That is what
 * tess_shape_list_parse reads, with '/' in place of ',', because ',' separates parameters.
 */
#pragma once

#include "format/fbcsr/fbcsr.h"
#include "backend/backend.h"

enum { TESS_SHAPES_TEXT = 104 }; /* bytes of a list of shapes */

/* Whether a good part of the entries of A lies in pieces of rows, columns or diagonals, by a sample
 * of its rows. The sample takes little time beside a product. Where the answer is no, a search
 * would find nothing. */
bool tess_shapes_promising(const tess_matrix *A);
/* The list in `text` as shapes; none if it is empty. */
tess_status tess_shapes_read(tess_ctx *ctx, const char *text, tess_fbcsr_options *out);
/* The same; where `text` is empty or "auto", shapes are chosen for A by priced bytes, perhaps none:
 * the bytes of blocks or, `slices`, those of format/fbcsr/slices.h. */
tess_status tess_shapes_choose(tess_ctx *ctx, const tess_matrix *A, const char *text, bool slices,
                               tess_fbcsr_options *out);
/* The list as text; the least useful shapes are dropped where there is no room for all. */
void tess_shapes_write(tess_fbcsr_options *options, char *text, size_t size);

/* What a candidate would extract; none where nothing is promising. As tess_shapes_choose, but a
 * small matrix is judged by a small part of it: the look must not take as long as thousands of
 * products. */
tess_status tess_shapes_look(tess_ctx *ctx, const tess_matrix *A, bool slices,
                             tess_fbcsr_options *out);
/* The candidate's class and bytes, for the model. The class is "fbcsr blocks" where the first shape
 * has several columns (and, outside of slices, several rows), otherwise "fbcsr lines". */
void tess_shapes_price(const tess_fbcsr_options *shapes, const tess_matrix *A, bool slices,
                       tess_candidate *c);
