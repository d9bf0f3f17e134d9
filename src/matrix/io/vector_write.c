/* Dense vectors to Matrix Market arrays or plain text, one number a line. */
#include "matrix/matrix.h"
#include "matrix/io/output.h"

enum { LINE_BYTES = TESS_DECIMAL_TEXT + 1 };

typedef struct vector_lines {
    const tess_decimal *decimal;
    tess_type type;
    const void *values;
} vector_lines;

static char *make_lines(const void *user, int64_t first, int64_t last, char *to, int64_t *bad)
{
    const vector_lines *lines = user;
    for (int64_t i = first; i < last; i++) {
        double value = tess_get(lines->values, lines->type, i);
        if (!isfinite(value)) {
            *bad = i;
            return NULL;
        }
        to = tess_decimal_format(lines->decimal, value, to);
        *to++ = '\n';
    }
    return to;
}

tess_status tess_vector_write(tess_ctx *ctx, const char *path, tess_type type, int64_t count,
                              const void *values)
{
    if (!ctx || !path || count < 0 || (count > 0 && !values) ||
        (type != TESS_F64 && type != TESS_F32))
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_vector_write: an argument is NULL, negative or unknown");
    if (tess_path_ends(path, ".npy"))
        return tess_npy_write(ctx, path, type, count, values);
    bool gzip = tess_path_ends(path, ".mtx.gz"), market = gzip || tess_path_ends(path, ".mtx");
    tess_decimal *decimal;
    tess_output out;
    TESS_TRY(tess_decimal_create(ctx, &decimal));
    tess_status status = tess_output_open(ctx, path, &out);
    if (status == TESS_OK) {
        const vector_lines lines = {decimal, type, values};
        int64_t bad = -1;
        if (market)
            status = tess_mm_write_header(&out, gzip, "array real general", count, 1, -1);
        if (status == TESS_OK)
            status = tess_output_lines(&out, gzip, count, LINE_BYTES, make_lines, &lines, &bad);
        if (bad >= 0)
            status = tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                               "%s: element %lld: %g cannot be written, only finite numbers can",
                               path, (long long)bad, tess_get(values, type, bad));
        status = tess_output_close(&out, status);
    }
    tess_decimal_destroy(ctx, decimal);
    return status;
}
