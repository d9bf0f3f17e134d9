/* Writes dense vectors as Matrix Market arrays or plain text, one number per line. Complex vectors
 * are always arrays, with two numbers per line. */
#include "matrix/matrix.h"
#include "matrix/io/output.h"

enum { LINE_BYTES = 2 * (TESS_DECIMAL_TEXT + 1) };

typedef struct vector_lines {
    const tess_decimal *decimal;
    tess_type type;
    const void *values;
} vector_lines;

static char *make_lines(const void *user, int64_t first, int64_t last, char *to, int64_t *bad)
{
    const vector_lines *lines = user;
    const bool complex = tess_is_complex(lines->type);
    for (int64_t i = first; i < last; i++) {
        const tess_complex value = tess_get_complex(lines->values, lines->type, i);
        if (!isfinite(value.re) || !isfinite(value.im)) {
            *bad = i;
            return NULL;
        }
        to = tess_decimal_format(lines->decimal, value.re, to);
        if (complex) {
            *to++ = ' ';
            to = tess_decimal_format(lines->decimal, value.im, to);
        }
        *to++ = '\n';
    }
    return to;
}

tess_status tess_vector_write(tess_ctx *ctx, const char *path, tess_type type, int64_t count,
                              const void *values)
{
    if (!ctx || !path || count < 0 || (count > 0 && !values) || !tess_type_exists(type))
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_vector_write: an argument is NULL, negative or unknown");
    if (tess_path_ends(path, ".npy"))
        return tess_npy_write(ctx, path, type, count, values);
    bool gzip = tess_path_ends(path, ".mtx.gz"), market = gzip || tess_path_ends(path, ".mtx");
    const bool complex = tess_is_complex(type);
    if (complex && !market)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "%s: text of one number per line cannot hold %s: name a file with .mtx, "
                         ".mtx.gz or .npy",
                         path, tess_type_name(type));
    tess_decimal *decimal;
    tess_output out;
    TESS_TRY(tess_decimal_create(ctx, &decimal));
    tess_status status = tess_output_open(ctx, path, &out);
    if (status == TESS_OK) {
        const vector_lines lines = {decimal, type, values};
        int64_t bad = -1;
        if (market)
            status = tess_mm_write_header(
                &out, gzip, complex ? "array complex general" : "array real general", count, 1, -1);
        TESS_THEN(tess_output_lines(&out, gzip, count, LINE_BYTES, make_lines, &lines, &bad));
        if (bad >= 0) {
            const tess_complex value = tess_get_complex(values, type, bad);
            status =
                tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                          "%s: element %lld (counted from 1): %g cannot be written, only finite "
                          "numbers can",
                          path, (long long)bad + 1, isfinite(value.re) ? value.im : value.re);
        }
        status = tess_output_close(&out, status);
    }
    tess_decimal_destroy(ctx, decimal);
    return status;
}
