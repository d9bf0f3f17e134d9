/* Reads dense vectors from Matrix Market files, or from plain text with one number per line. */
#include <float.h>
#include <strings.h>

#include "matrix/io/mm.h"
#include "matrix/io/output.h"

/* The numbers of a vector as the file stores them. Number k is element at[k]; at = NULL: element
 * k. */
typedef struct elements {
    tess_type type; /* f64 or c64 */
    const void *values;
    const int32_t *at;
    int64_t stored, count;
} elements;

tess_status tess_vector_check_type(tess_ctx *ctx, const char *path, tess_type stored,
                                   tess_type type)
{
    if (!tess_is_complex(stored) || tess_is_complex(type))
        return TESS_OK;
    return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                     "%s: complex numbers cannot be read as %s: read it as c64 or c32", path,
                     tess_type_name(type));
}

tess_status tess_vector_put(tess_ctx *ctx, const char *path, tess_complex value, tess_type type,
                            int64_t i, void *x)
{
    tess_put_complex(x, type, i, value);
    const tess_complex taken = tess_get_complex(x, type, i);
    const bool real = isfinite(value.re) && isinf(taken.re);
    if (!real && !(isfinite(value.im) && isinf(taken.im)))
        return TESS_OK;
    return tess_fail(ctx, TESS_ERR_FORMAT,
                     "%s: element %lld (counted from 1): %g is beyond the range of f32 (%g)", path,
                     (long long)i + 1, real ? value.re : value.im, (double)FLT_MAX);
}

/* Scatters the numbers into a vector of zeros, converted to `type`. */
static tess_status take(tess_ctx *ctx, const char *path, const elements *from, tess_type type,
                        int64_t *count, void **values)
{
    void *x;
    tess_status status = TESS_OK;
    TESS_TRY(tess_vector_check_type(ctx, path, from->type, type));
    TESS_TRY(tess_calloc_bytes(ctx, from->count, tess_type_size(type), &x));
    for (int64_t k = 0; k < from->stored; k++)
        TESS_TRY_CLEAN(tess_vector_put(ctx, path, tess_get_complex(from->values, from->type, k),
                                       type, from->at ? from->at[k] : k, x));
    *count = from->count;
    *values = x;
    return TESS_OK;
cleanup:
    tess_free(ctx, x);
    return status;
}

/* Takes the vector from a matrix of one column or one row. */
static tess_status take_matrix(tess_ctx *ctx, const char *path, const tess_mm_header *header,
                               tess_mm_entries *entries, tess_type type, int64_t *count,
                               void **values)
{
    if (header->cols != 1 && header->rows != 1)
        return tess_fail(
            ctx, TESS_ERR_FORMAT, "%s:%lld: a vector must be n x 1 or 1 x n, not %lld x %lld", path,
            (long long)header->size_line, (long long)header->rows, (long long)header->cols);
    if (header->cols == 1 && header->rows > INT32_MAX)
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "%s:%lld: %lld elements are more than 2147483647",
                         path, (long long)header->size_line, (long long)header->rows);
    /* A column is made a row with the same entries, so that columns are the elements. */
    tess_mm_header row = *header;
    if (header->cols == 1) {
        row.rows = 1;
        row.cols = header->rows;
        for (int64_t k = 0; entries->rows && k < entries->count; k++) {
            entries->cols[k] = (int32_t)entries->rows[k];
            entries->rows[k] = 0;
        }
    }
    tess_matrix *A;
    TESS_TRY(tess_mm_to_csr(ctx, &row, entries, &A));
    const elements from = {A->type, A->values, A->columns, A->blocks, A->cols};
    tess_status status = take(ctx, path, &from, type, count, values);
    tess_matrix_destroy(A);
    return status;
}

static bool has_banner(const tess_text *text)
{
    static const char banner[] = "%%MatrixMarket";
    return text->length >= sizeof banner - 1 &&
           strncasecmp(text->text, banner, sizeof banner - 1) == 0;
}

tess_status tess_vector_read_chunked(tess_ctx *ctx, const char *path, size_t chunk, tess_type type,
                                     int64_t *count, void **values)
{
    tess_text text;
    tess_mm_header header = {.layout = TESS_MM_LIST, .entries = -1};
    tess_mm_entries entries = {0};
    TESS_TRY(tess_text_open(ctx, path, chunk, &text));
    tess_status status;
    tess_text_fill(&text);
    TESS_TRY_CLEAN(tess_text_swap(&text));
    if (text.length == 0) {
        status = tess_fail(ctx, TESS_ERR_FORMAT, "%s:1: the file is empty", path);
        goto cleanup;
    }
    if (has_banner(&text))
        TESS_TRY_CLEAN(tess_mm_read_header(&text, &header));
    TESS_TRY_CLEAN(tess_mm_read_body(&text, &header, &entries));
    if (header.layout == TESS_MM_LIST) {
        const elements from = {TESS_F64, entries.values, NULL, entries.count, entries.count};
        TESS_TRY_CLEAN(take(ctx, path, &from, type, count, values));
    } else {
        TESS_TRY_CLEAN(take_matrix(ctx, path, &header, &entries, type, count, values));
    }
cleanup:
    tess_mm_free(ctx, &entries);
    tess_text_close(&text);
    return status;
}

tess_status tess_vector_read(tess_ctx *ctx, const char *path, tess_type type, int64_t *count,
                             void **values)
{
    if (!ctx || !path || !count || !values || !tess_type_exists(type))
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_vector_read: an argument is NULL or the type unknown");
    if (tess_npy_recognise(path))
        return tess_npy_read(ctx, path, type, count, values);
    return tess_vector_read_chunked(ctx, path, TESS_TEXT_CHUNK, type, count, values);
}
