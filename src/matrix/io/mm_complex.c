/* Complex files: entries of either layout become coordinates, each followed by its mirror, and then
 * CSR of c64.
 *
 * The mirror of (i, j) is at (j, i): a_ij in a symmetric file, -a_ij in a skew-symmetric file, the
 * conjugate in a hermitian file. The array of a skew-symmetric matrix has no diagonal: zeros are
 * stored there, as for real files.
 */
#include "matrix/io/mm.h"

typedef struct triples {
    int64_t *rows, *cols;
    tess_complex *values;
    int64_t count;
} triples;

static void put(triples *t, int64_t row, int64_t col, tess_complex value)
{
    t->rows[t->count] = row;
    t->cols[t->count] = col;
    t->values[t->count++] = value;
}

static tess_complex mirror_of(tess_mm_symmetry symmetry, tess_complex value)
{
    if (symmetry == TESS_MM_SKEW)
        return (tess_complex){-value.re, -value.im};
    return symmetry == TESS_MM_HERMITIAN ? tess_conjugate(value) : value;
}

/* Adds entry k at (row, col), and its mirror. */
static void take(triples *t, const tess_mm_header *header, const tess_mm_entries *e, int64_t k,
                 int64_t row, int64_t col)
{
    const tess_complex value = {e->values[2 * k], e->values[2 * k + 1]};
    put(t, row, col, value);
    if (header->symmetry != TESS_MM_GENERAL && row != col)
        put(t, col, row, mirror_of(header->symmetry, value));
}

/* Adds the entries of an array: columns one after the other. Files that are not general begin a
 * column at the diagonal (skew-symmetric: below it). */
static void take_array(triples *t, const tess_mm_header *header, const tess_mm_entries *e)
{
    const bool general = header->symmetry == TESS_MM_GENERAL;
    const bool skew = header->symmetry == TESS_MM_SKEW;
    int64_t k = 0;
    for (int64_t col = 0; col < header->cols; col++) {
        if (skew)
            put(t, col, col, (tess_complex){0, 0});
        for (int64_t row = general ? 0 : col + skew; row < header->rows; row++)
            take(t, header, e, k++, row, col);
    }
}

/* The diagonal of a hermitian array must be real; coordinates were checked when they were read. */
static tess_status check_diagonal(tess_ctx *ctx, const tess_mm_header *header, const triples *t)
{
    for (int64_t k = 0; header->symmetry == TESS_MM_HERMITIAN && k < t->count; k++)
        if (t->rows[k] == t->cols[k] && t->values[k].im != 0)
            return tess_fail(ctx, TESS_ERR_FORMAT,
                             "a hermitian matrix has a real diagonal, but row %lld, column %lld is "
                             "%g%+gi",
                             (long long)t->rows[k] + 1, (long long)t->cols[k] + 1, t->values[k].re,
                             t->values[k].im);
    return TESS_OK;
}

tess_status tess_mm_complex_to_csr(tess_ctx *ctx, const tess_mm_header *header, tess_mm_entries *e,
                                   tess_matrix **out)
{
    const bool array = header->layout == TESS_MM_ARRAY;
    triples t = {0};
    int64_t room = e->count;
    if (header->symmetry != TESS_MM_GENERAL &&
        (!tess_mul(2, e->count, &room) || __builtin_add_overflow(room, header->rows, &room)))
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "%lld entries overflow", (long long)e->count);
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, room, &t.rows));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, room, &t.cols));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, room, &t.values));
    if (array)
        take_array(&t, header, e);
    for (int64_t k = 0; !array && k < e->count; k++)
        take(&t, header, e, k, e->rows[k], e->cols[k]);
    tess_mm_free(ctx, e);
    TESS_TRY_CLEAN(check_diagonal(ctx, header, &t));
    status = tess_matrix_from_coo(ctx, TESS_C64, header->rows, header->cols, t.count, t.rows,
                                  t.cols, t.values, out);
cleanup:
    TESS_FREE(ctx, t.rows, t.cols, t.values);
    return status;
}
