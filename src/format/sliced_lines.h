/* The first half of making sliced storage. */
#ifndef TESS_FORMAT_SLICED_LINES_H
#define TESS_FORMAT_SLICED_LINES_H

#include "format/sliced.h"

/* Lines, slices and cut rows of all panels. */
tess_status tess_sliced_make_lines(tess_ctx *ctx, const tess_matrix *A, tess_sliced *S);

#endif
