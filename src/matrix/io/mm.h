/* Matrix Market files: header, entries, and the CSR matrix made of the entries.
 *
 * Entries are kept in file order in three arrays (row 4 B, column 4 B, value 8 B; 0-based). Then
 * they are moved into CSR in two steps, columns and values. So at most 24 bytes per entry are
 * allocated at a time: twice the resulting matrix.
 */
#pragma once

#include "core/decimal.h"
#include "matrix/matrix.h"
#include "matrix/io/text.h"

typedef enum tess_mm_layout {
    TESS_MM_COORDINATE,
    TESS_MM_ARRAY,
    TESS_MM_LIST /* no header: one number per line */
} tess_mm_layout;

typedef enum tess_mm_field {
    TESS_MM_REAL,
    TESS_MM_INTEGER,
    TESS_MM_PATTERN,
    TESS_MM_COMPLEX
} tess_mm_field;

typedef enum tess_mm_symmetry {
    TESS_MM_GENERAL,
    TESS_MM_SYMMETRIC,
    TESS_MM_SKEW,
    TESS_MM_HERMITIAN
} tess_mm_symmetry;

typedef struct tess_mm_header {
    tess_mm_layout layout;
    tess_mm_field field;
    tess_mm_symmetry symmetry;
    int64_t rows, cols;
    int64_t entries;   /* lines of data the file must have; -1: as many as there are (LIST) */
    int64_t size_line; /* line of the sizes, 1-based */
} tess_mm_header;

/* The entries in the order of the file. rows and cols are NULL for arrays and lists. values is NULL
 * for patterns, and has two numbers per entry for complex files. */
typedef struct tess_mm_entries {
    uint32_t *rows;
    int32_t *cols;
    double *values;
    int64_t count, capacity;
} tess_mm_entries;

/* Reads banner, comments and sizes. A file without a banner is an error. */
tess_status tess_mm_read_header(tess_text *text, tess_mm_header *header);

/* Reads all entries, in parallel. The caller frees them, also after a failure. */
tess_status tess_mm_read_body(tess_text *text, const tess_mm_header *header,
                              tess_mm_entries *entries);
void tess_mm_free(tess_ctx *ctx, tess_mm_entries *entries);

/* Writes to `reason` the sentence for a bad line of data, without "path:line: ". */
void tess_mm_explain(const tess_mm_header *header, const tess_decimal *decimal, const char *line,
                     char *reason, size_t size);

/* Makes the CSR matrix. It takes over arrays of `entries`, or frees them, and sets them to NULL. */
tess_status tess_mm_to_csr(tess_ctx *ctx, const tess_mm_header *header, tess_mm_entries *entries,
                           tess_matrix **out);
/* The same for a complex file, of either layout. */
tess_status tess_mm_complex_to_csr(tess_ctx *ctx, const tess_mm_header *header,
                                   tess_mm_entries *entries, tess_matrix **out);
/* The same for an array file of reals. */
tess_status tess_mm_dense_to_csr(tess_ctx *ctx, const tess_mm_header *header,
                                 const tess_mm_entries *entries, tess_matrix **out);

/* tess_matrix_read with buffers of `chunk` bytes. */
tess_status tess_mm_read(tess_ctx *ctx, const char *path, size_t chunk, tess_matrix **out);

/* tess_vector_read with buffers of `chunk` bytes. vector_read.c */
tess_status tess_vector_read_chunked(tess_ctx *ctx, const char *path, size_t chunk, tess_type type,
                                     int64_t *count, void **values);

static inline bool tess_mm_blank(char c)
{
    return c == ' ' || c == '\t';
}

static inline const char *tess_mm_skip(const char *p)
{
    while (tess_mm_blank(*p))
        p++;
    return p;
}

/* Whether a line whose first character other than a blank is c has no data. */
static inline bool tess_mm_no_data(char c)
{
    return c == '\n' || c == '\r' || c == '%';
}
