/* Writes a matrix to a file, whose kind follows from its name: .mtx, .mtx.gz, .tess.
 *
 * Matrix Market coordinate, real or complex, general: one line per entry, by rows, values with the
 * fewest digits that read back to the same bits.
 */
#include "matrix/matrix.h"
#include "matrix/io/mm.h"
#include "matrix/io/output.h"
#include "matrix/io/tess_file.h"

/* Row and column of up to 19 digits, a value of one or two numbers, separators, a newline. */
enum { LINE_BYTES = 2 * 20 + 2 * TESS_DECIMAL_TEXT + 4 };

typedef struct matrix_lines {
    const tess_decimal *decimal;
    const tess_matrix *A; /* 1 x 1 blocks */
} matrix_lines;

/* The last row that begins at or before entry k and is not empty. */
static int64_t row_of(const tess_matrix *A, int64_t k)
{
    return tess_lower_bound(A->row_offsets, 1, A->rows, k + 1) - 1;
}

static char *make_lines(const void *user, int64_t first, int64_t last, char *to, int64_t *bad)
{
    const matrix_lines *lines = user;
    const tess_matrix *A = lines->A;
    const bool complex = tess_is_complex(A->type);
    int64_t row = row_of(A, first);
    for (int64_t k = first; k < last; k++) {
        while (k >= A->row_offsets[row + 1])
            row++;
        const tess_complex value = tess_matrix_complex_value(A, k);
        if (!isfinite(value.re) || !isfinite(value.im)) {
            *bad = k;
            return NULL;
        }
        to = tess_decimal_format_int(row + 1, to);
        *to++ = ' ';
        to = tess_decimal_format_int((int64_t)A->columns[k] + 1, to);
        *to++ = ' ';
        to = tess_decimal_format(lines->decimal, value.re, to);
        if (complex) {
            *to++ = ' ';
            to = tess_decimal_format(lines->decimal, value.im, to);
        }
        *to++ = '\n';
    }
    return to;
}

static char *make_text(const void *user, int64_t first, int64_t last, char *to, int64_t *bad)
{
    (void)first, (void)last, (void)bad;
    return stpcpy(to, (const char *)user);
}

tess_status tess_mm_write_header(tess_output *out, bool gzip, const char *kind, int64_t rows,
                                 int64_t cols, int64_t entries)
{
    char text[256];
    snprintf(text, sizeof text, "%%%%MatrixMarket matrix %s\n%% written by Tessera %s\n%lld %lld",
             kind, tess_version(), (long long)rows, (long long)cols);
    if (entries >= 0)
        tess_append(text, sizeof text, " %lld", (long long)entries);
    tess_append(text, sizeof text, "\n");
    int64_t bad;
    return tess_output_lines(out, gzip, 1, sizeof text, make_text, text, &bad);
}

static tess_status write_text(tess_ctx *ctx, const tess_matrix *A, const char *symmetry,
                              const char *path)
{
    const bool gzip = tess_path_ends(path, ".mtx.gz");
    char kind[64];
    snprintf(kind, sizeof kind, "coordinate %s %s", tess_is_complex(A->type) ? "complex" : "real",
             symmetry);
    tess_decimal *decimal;
    tess_output out;
    TESS_TRY(tess_decimal_create(ctx, &decimal));
    tess_status status = tess_output_open(ctx, path, &out);
    if (status == TESS_OK) {
        const matrix_lines lines = {decimal, A};
        int64_t bad = -1;
        status = tess_mm_write_header(&out, gzip, kind, A->rows, A->cols, A->blocks);
        TESS_THEN(tess_output_lines(&out, gzip, A->blocks, LINE_BYTES, make_lines, &lines, &bad));
        if (bad >= 0) {
            const tess_complex value = tess_matrix_complex_value(A, bad);
            status = tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                               "%s: row %lld, column %lld (counted from 1): %g cannot be written, "
                               "Matrix Market has only finite numbers",
                               path, (long long)row_of(A, bad) + 1, (long long)A->columns[bad] + 1,
                               isfinite(value.re) ? value.im : value.re);
        }
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

/* Whether a path is written as Matrix Market; standard output ("-") is. */
static bool is_text(const char *path)
{
    return tess_path_ends(path, ".mtx") || tess_path_ends(path, ".mtx.gz") ||
           strcmp(path, "-") == 0;
}

/* Sets *scalars to A with 1 x 1 blocks: A itself, or the new matrix *made. */
static tess_status take_scalars(tess_ctx *ctx, const tess_matrix *A, tess_matrix **made,
                                const tess_matrix **scalars)
{
    *scalars = A;
    if (A->block_height == 1 && A->block_width == 1)
        return TESS_OK;
    TESS_TRY(tess_matrix_to_csr(ctx, A, TESS_ZEROS_DROP, made));
    *scalars = *made;
    return TESS_OK;
}

tess_status tess_matrix_write(tess_ctx *ctx, const tess_matrix *A, const char *path)
{
    tess_matrix *made = NULL;
    const tess_matrix *scalars;
    TESS_NEED(ctx, ctx && A && path);
    if (tess_path_ends(path, ".tess"))
        return tess_file_write(ctx, A, path);
    if (!is_text(path))
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "%s: the name must end with .mtx, .mtx.gz or .tess", path);
    TESS_TRY(take_scalars(ctx, A, &made, &scalars));
    tess_status status = write_text(ctx, scalars, "general", path);
    tess_matrix_destroy(made);
    return status;
}

/* ---- Symmetric, hermitian ---- */

static tess_complex mirror_value(const tess_matrix *A, int64_t row, int64_t column)
{
    const int64_t k = tess_matrix_find(A, row, column);
    return k >= 0 ? tess_matrix_complex_value(A, k) : (tess_complex){0, 0};
}

/* The error that shows an entry and its mirror. */
static tess_status not_mirrored(tess_ctx *ctx, const tess_matrix *A, const char *symmetry,
                                int64_t i, int64_t j, tess_complex value, tess_complex mirror)
{
    char first[64], second[64];
    const bool complex = tess_is_complex(A->type);
    snprintf(first, sizeof first, complex ? "%.9g%+.9gi" : "%.9g", value.re, value.im);
    snprintf(second, sizeof second, complex ? "%.9g%+.9gi" : "%.9g", mirror.re, mirror.im);
    return tess_fail(ctx, TESS_ERR_MATRIX,
                     "the matrix is not %s: a(%lld, %lld) = %s, but a(%lld, %lld) = %s (counted "
                     "from 1); write it as a general one",
                     symmetry, (long long)i + 1, (long long)j + 1, first, (long long)j + 1,
                     (long long)i + 1, second);
}

/* Fails at the first entry that differs from its mirror, or with `hermitian` from its mirror's
 * conjugate. *lower is the number of entries on and below the diagonal. */
static tess_status check_mirrors(tess_ctx *ctx, const tess_matrix *A, bool hermitian,
                                 int64_t *lower)
{
    *lower = 0;
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++) {
            const int64_t j = A->columns[k];
            const tess_complex value = tess_matrix_complex_value(A, k);
            const tess_complex mirror = mirror_value(A, j, i);
            const bool mirrored =
                value.re == mirror.re && value.im == (hermitian ? -mirror.im : mirror.im);
            if (!mirrored && (i != j || hermitian))
                return not_mirrored(ctx, A, hermitian ? "hermitian" : "symmetric", i, j, value,
                                    mirror);
            *lower += j <= i;
        }
    return TESS_OK;
}

/* Copies the lower triangle of a CSR matrix to `lower`, whose arrays the caller frees. */
static tess_status take_lower(tess_ctx *ctx, const tess_matrix *A, int64_t entries,
                              tess_matrix *lower)
{
    int64_t at = 0;
    *lower = (tess_matrix){.ctx = ctx, .type = A->type, .rows = A->rows, .cols = A->cols};
    lower->blocks = entries;
    TESS_TRY(TESS_ALLOC(ctx, A->rows + 1, &lower->row_offsets));
    TESS_TRY(TESS_ALLOC(ctx, entries, &lower->columns));
    TESS_TRY(tess_alloc_bytes(ctx, entries, tess_type_size(A->type), &lower->values));
    for (int64_t i = 0; i < A->rows; i++) {
        lower->row_offsets[i] = at;
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1] && A->columns[k] <= i; k++) {
            lower->columns[at] = A->columns[k];
            tess_put_complex(lower->values, A->type, at++, tess_matrix_complex_value(A, k));
        }
    }
    lower->row_offsets[A->rows] = at;
    return TESS_OK;
}

static tess_status write_lower(tess_ctx *ctx, const tess_matrix *A, bool hermitian,
                               const char *path)
{
    tess_matrix *made = NULL, lower = {0};
    const tess_matrix *scalars;
    int64_t entries;
    tess_status status;
    if (!is_text(path))
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "%s: only Matrix Market files say that they are symmetric: a name with "
                         ".mtx or .mtx.gz",
                         path);
    if (A->rows != A->cols)
        return tess_fail(ctx, TESS_ERR_MATRIX,
                         "a matrix of %lld x %lld is not symmetric: write it as a general one",
                         (long long)A->rows, (long long)A->cols);
    TESS_TRY(take_scalars(ctx, A, &made, &scalars));
    TESS_TRY_CLEAN(check_mirrors(ctx, scalars, hermitian, &entries));
    TESS_TRY_CLEAN(take_lower(ctx, scalars, entries, &lower));
    TESS_TRY_CLEAN(write_text(ctx, &lower, hermitian ? "hermitian" : "symmetric", path));
cleanup:
    TESS_FREE(ctx, lower.row_offsets, lower.columns, lower.values);
    tess_matrix_destroy(made);
    return status;
}

tess_status tess_matrix_write_symmetric(tess_ctx *ctx, const tess_matrix *A, const char *path)
{
    TESS_NEED(ctx, ctx && A && path);
    return write_lower(ctx, A, false, path);
}

tess_status tess_matrix_write_hermitian(tess_ctx *ctx, const tess_matrix *A, const char *path)
{
    TESS_NEED(ctx, ctx && A && path);
    return write_lower(ctx, A, tess_is_complex(A->type), path);
}
