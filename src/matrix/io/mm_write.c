/* A matrix to a file, its kind chosen by the name: .mtx, .mtx.gz, .tess.
 *
 * Matrix Market coordinate, real, general: one line an entry, by rows, values in the fewest digits
 * that read back to the same bits.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "matrix/matrix.h"
#include "matrix/io/mm.h"
#include "matrix/io/output.h"
#include "matrix/io/tess_file.h"

/* Row and column of up to 19 digits, a value, two blanks, a newline. */
enum { LINE_BYTES = 2 * 20 + TESS_DECIMAL_TEXT + 3 };

typedef struct matrix_lines {
    const tess_decimal *decimal;
    const tess_matrix *A; /* 1 x 1 blocks */
} matrix_lines;

/* The last row that begins at or before entry k and is not empty. */
static int64_t row_of(const tess_matrix *A, int64_t k)
{
    int64_t low = 0, high = A->rows;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (A->row_offsets[middle] <= k)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static char *make_lines(const void *user, int64_t first, int64_t last, char *to, int64_t *bad)
{
    const matrix_lines *lines = user;
    const tess_matrix *A = lines->A;
    int64_t row = row_of(A, first);
    for (int64_t k = first; k < last; k++) {
        while (k >= A->row_offsets[row + 1])
            row++;
        double value = tess_matrix_value(A, k);
        if (!isfinite(value)) {
            *bad = k;
            return NULL;
        }
        to = tess_decimal_format_int(row + 1, to);
        *to++ = ' ';
        to = tess_decimal_format_int((int64_t)A->columns[k] + 1, to);
        *to++ = ' ';
        to = tess_decimal_format(lines->decimal, value, to);
        *to++ = '\n';
    }
    return to;
}

static char *make_text(const void *user, int64_t first, int64_t last, char *to, int64_t *bad)
{
    (void)first, (void)last, (void)bad;
    return stpcpy(to, (const char *)user);
}

tess_status tess_mm_write_header(tess_output *out, bool gzip, const char *layout, int64_t rows,
                                 int64_t cols, int64_t entries)
{
    char text[256];
    int used = snprintf(text, sizeof text,
                        "%%%%MatrixMarket matrix %s real general\n%% written by Tessera %s\n"
                        "%lld %lld",
                        layout, tess_version(), (long long)rows, (long long)cols);
    if (entries >= 0)
        used += snprintf(text + used, sizeof text - (size_t)used, " %lld", (long long)entries);
    snprintf(text + used, sizeof text - (size_t)used, "\n");
    int64_t bad;
    return tess_output_lines(out, gzip, 1, sizeof text, make_text, text, &bad);
}

static tess_status write_text(tess_ctx *ctx, const tess_matrix *A, const char *path, bool gzip)
{
    tess_decimal *decimal;
    tess_output out;
    TESS_TRY(tess_decimal_create(ctx, &decimal));
    tess_status status = tess_output_open(ctx, path, &out);
    if (status == TESS_OK) {
        const matrix_lines lines = {decimal, A};
        int64_t bad = -1;
        status = tess_mm_write_header(&out, gzip, "coordinate", A->rows, A->cols, A->blocks);
        if (status == TESS_OK)
            status = tess_output_lines(&out, gzip, A->blocks, LINE_BYTES, make_lines, &lines, &bad);
        if (bad >= 0)
            status = tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                               "%s: row %lld, column %d: %g cannot be written, Matrix Market has "
                               "only finite numbers",
                               path, (long long)row_of(A, bad), (int)A->columns[bad],
                               tess_matrix_value(A, bad));
        status = tess_output_close(&out, status);
    }
    tess_decimal_destroy(ctx, decimal);
    return status;
}

bool tess_path_ends(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);
    return n > m && strcmp(path + n - m, end) == 0;
}

tess_status tess_matrix_write(tess_ctx *ctx, const tess_matrix *A, const char *path)
{
    if (!ctx || !A || !path)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_matrix_write: an argument is NULL");
    if (tess_path_ends(path, ".tess"))
        return tess_file_write(ctx, A, path);
    bool gzip = tess_path_ends(path, ".mtx.gz");
    if (!gzip && !tess_path_ends(path, ".mtx"))
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "%s: the name must end with .mtx, .mtx.gz or .tess", path);
    if (A->block_height == 1 && A->block_width == 1)
        return write_text(ctx, A, path, gzip);
    tess_matrix *scalars;
    TESS_TRY(tess_matrix_to_csr(ctx, A, TESS_ZEROS_DROP, &scalars));
    tess_status status = write_text(ctx, scalars, path, gzip);
    tess_matrix_destroy(scalars);
    return status;
}
