/* Array files: a CSR matrix that stores every entry, from an array stored column by column. */
#include "matrix/io/mm.h"

/* The place of (i, j), i >= j, in a lower triangle stored by columns. */
static int64_t triangle_place(int64_t n, int64_t i, int64_t j, bool diagonal)
{
    return diagonal ? j * n - j * (j - 1) / 2 + i - j : j * (n - 1) - j * (j - 1) / 2 + i - j - 1;
}

struct fill_dense_rows {
    const tess_mm_header *header;
    const tess_mm_entries *e;
    tess_matrix *A;
};

static void fill_dense_rows(void *arg, tess_range range)
{
    const struct fill_dense_rows *job = arg;
    const tess_mm_symmetry symmetry = job->header->symmetry;
    const int64_t rows = job->A->rows, cols = job->A->cols;
    const bool general = symmetry == TESS_MM_GENERAL, skew = symmetry == TESS_MM_SKEW;
    double *values = job->A->values;
    for (int64_t i = range.first; i < range.last; i++) {
        job->A->row_offsets[i + 1] = (i + 1) * cols;
        for (int64_t j = 0; j < cols; j++) {
            double value;
            if (general)
                value = job->e->values[j * rows + i];
            else if (skew && i == j)
                value = 0;
            else
                value = job->e->values[triangle_place(rows, tess_max(i, j), tess_min(j, i), !skew)];
            job->A->columns[i * cols + j] = (int32_t)j;
            values[i * cols + j] = skew && i < j ? -value : value;
        }
    }
}

tess_status tess_mm_dense_to_csr(tess_ctx *ctx, const tess_mm_header *header,
                                 const tess_mm_entries *e, tess_matrix **out)
{
    int64_t rows = header->rows, cols = header->cols, count;
    if (!tess_mul(rows, cols, &count))
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "an array of %lld x %lld overflows",
                         (long long)rows, (long long)cols);
    tess_matrix *A;
    TESS_TRY(tess_matrix_allocate(ctx, TESS_F64, rows, cols, 1, 1, count, &A));
    tess_for(ctx, rows, fill_dense_rows, &(struct fill_dense_rows){header, e, A});
    *out = A;
    return TESS_OK;
}
