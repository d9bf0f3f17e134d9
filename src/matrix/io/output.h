/* What the writers of matrices and vectors share. */
#pragma once

#include "core/decimal.h"
#include "core/output.h"

/* ---- output_lines.c ---- */

/* Writes lines first..last-1 of a text at `to` and returns their end. NULL: line *bad cannot be
 * written. Called from several threads at once. */
typedef char *(*tess_lines_fn)(const void *user, int64_t first, int64_t last, char *to,
                               int64_t *bad);

/* Writes `count` lines of at most `line_bytes` each. They are formatted in parallel, and with
 * `gzip` compressed in parallel: each piece is a gzip member of its own. If a line cannot be
 * written, *bad is the first such line, the status is TESS_ERR_UNSUPPORTED, and the caller words
 * the error. */
tess_status tess_output_lines(tess_output *out, bool gzip, int64_t count, size_t line_bytes,
                              tess_lines_fn make, const void *user, int64_t *bad);

/* ---- mm_write.c ---- */

/* Writes the banner, comment and sizes of a Matrix Market file. `kind` is the text of
 * the banner, "coordinate real general"; entries < 0: an array. */
tess_status tess_mm_write_header(tess_output *out, bool gzip, const char *kind, int64_t rows,
                                 int64_t cols, int64_t entries);
bool tess_path_ends(const char *path, const char *end);

/* ---- vector_read.c ---- */

/* Fails if complex numbers would be read as real ones. */
tess_status tess_vector_check_type(tess_ctx *ctx, const char *path, tess_type stored,
                                   tess_type type);
/* x[i] = value. Fails if the value is beyond the range of the type. */
tess_status tess_vector_put(tess_ctx *ctx, const char *path, tess_complex value, tess_type type,
                            int64_t i, void *x);

/* ---- npy.c: NumPy's files of one vector ---- */

/* Whether the file begins as a .npy file; false also when it cannot be read. */
bool tess_npy_recognise(const char *path);
tess_status tess_npy_read(tess_ctx *ctx, const char *path, tess_type type, int64_t *count,
                          void **values);
tess_status tess_npy_write(tess_ctx *ctx, const char *path, tess_type type, int64_t count,
                           const void *values);
