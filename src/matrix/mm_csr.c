/* From entries in file order to CSR, with at most 24 bytes an entry alive.
 *
 * Rows are counted; then columns and values are moved in one pass each, and for general matrices
 * the columns read are freed before the values' new array is allocated. In every pass a thread owns
 * a range of rows and looks at all entries, so entries keep their file order within a row for any
 * number of threads. A file that is in CSR order already keeps its arrays as they are.
 */
#include <omp.h>
#include <string.h>

#include "matrix/mm.h"

typedef enum pass { COUNT, COLUMNS, VALUES } pass;

typedef struct scatter {
    const tess_mm_entries *entries;
    tess_mm_symmetry symmetry;
    int64_t *next; /* COUNT: entries of row i; otherwise where its next entry goes */
    int32_t *columns;
    double *values;
} scatter;

static inline void put(const scatter *s, pass step, int64_t row, int64_t col, int64_t k,
                       bool negate)
{
    int64_t to = s->next[row]++;
    if (step == COLUMNS)
        s->columns[to] = (int32_t)col;
    else if (step == VALUES)
        s->values[to] = !s->entries->values ? (negate ? -1.0 : 1.0)
                        : negate            ? -s->entries->values[k]
                                            : s->entries->values[k];
}

/* All entries of the full matrix, mirrored ones included, in rows first..last-1. Inlined, so that
 * `step` is a constant of the loop. */
__attribute__((always_inline)) static inline void walk(const scatter *s, pass step, int64_t first,
                                                       int64_t last)
{
    const tess_mm_entries *e = s->entries;
    bool mirrored = s->symmetry != TESS_MM_GENERAL, skew = s->symmetry == TESS_MM_SKEW;
    for (int64_t k = 0; k < e->count; k++) {
        int64_t row = e->rows[k];
        if (row >= first && row < last)
            put(s, step, row, step == COLUMNS || mirrored ? e->cols[k] : 0, k, false);
        if (mirrored) {
            int64_t col = e->cols[k];
            if (col != row && col >= first && col < last)
                put(s, step, col, row, k, skew);
        }
    }
}

/* Moves columns or values: next[] starts at the row offsets again. */
static void move(tess_ctx *ctx, const scatter *s, pass step, const int64_t *row_offsets,
                 int64_t rows)
{
#pragma omp parallel num_threads(ctx->threads)
    {
        int t = omp_get_thread_num(), n = omp_get_num_threads();
        int64_t first = tess_share_row(row_offsets, rows, t, n);
        int64_t last = tess_share_row(row_offsets, rows, t + 1, n);
        memcpy(s->next + first, row_offsets + first, (size_t)(last - first) * sizeof *s->next);
        if (step == COLUMNS)
            walk(s, COLUMNS, first, last);
        else
            walk(s, VALUES, first, last);
    }
}

static void count_rows(tess_ctx *ctx, const scatter *s, int64_t rows)
{
#pragma omp parallel num_threads(ctx->threads)
    {
        int t = omp_get_thread_num(), n = omp_get_num_threads();
        int64_t share = tess_ceil_div(rows, n);
        walk(s, COUNT, t * share, (t + 1) * share);
    }
}

/* Whether entries already come by rows, then strictly increasing columns. */
static bool in_csr_order(tess_ctx *ctx, const tess_mm_entries *e)
{
    bool ordered = true;
#pragma omp parallel for reduction(&& : ordered) num_threads(ctx->threads)
    for (int64_t k = 1; k < e->count; k++)
        ordered = ordered && (e->rows[k] > e->rows[k - 1] ||
                              (e->rows[k] == e->rows[k - 1] && e->cols[k] > e->cols[k - 1]));
    return ordered;
}

/* Arrays of the file become arrays of the matrix. */
static tess_status keep_arrays(tess_ctx *ctx, tess_mm_entries *e, tess_matrix *A)
{
    int64_t count = e->count;
    if (!e->values) {
        TESS_TRY(TESS_ALLOC(ctx, count, &e->values));
#pragma omp parallel for num_threads(ctx->threads)
        for (int64_t k = 0; k < count; k++)
            e->values[k] = 1;
    }
    /* Entry k opens all rows after the row of entry k-1, up to its own. */
#pragma omp parallel for num_threads(ctx->threads)
    for (int64_t k = 0; k <= count; k++) {
        int64_t from = k > 0 ? (int64_t)e->rows[k - 1] + 1 : 0;
        int64_t to = k < count ? (int64_t)e->rows[k] : A->rows;
        for (int64_t row = from; row <= to; row++)
            A->row_offsets[row] = k;
    }
    A->columns = e->cols;
    A->values = e->values;
    A->blocks = count;
    e->cols = NULL;
    e->values = NULL;
    return TESS_OK;
}

static tess_status scatter_arrays(tess_ctx *ctx, tess_mm_symmetry symmetry, tess_mm_entries *e,
                                  tess_matrix *A)
{
    scatter s = {.entries = e, .symmetry = symmetry, .next = A->row_offsets + 1};
    count_rows(ctx, &s, A->rows);
    tess_counts_to_offsets(A->row_offsets, A->rows);
    A->blocks = A->row_offsets[A->rows];
    TESS_TRY(TESS_ALLOC(ctx, A->blocks, &A->columns));
    s.columns = A->columns;
    TESS_TRY(TESS_ALLOC(ctx, A->rows, &s.next));
    move(ctx, &s, COLUMNS, A->row_offsets, A->rows);
    if (symmetry == TESS_MM_GENERAL) {
        tess_free(ctx, e->cols);
        e->cols = NULL;
    }
    tess_status status = tess_alloc_bytes(ctx, A->blocks, sizeof(double), &A->values);
    if (status == TESS_OK) {
        s.values = A->values;
        move(ctx, &s, VALUES, A->row_offsets, A->rows);
    }
    tess_free(ctx, s.next);
    return status;
}

static bool rows_sorted(tess_ctx *ctx, const tess_matrix *A)
{
    bool sorted = true;
#pragma omp parallel for reduction(&& : sorted) num_threads(ctx->threads)
    for (int64_t row = 0; row < A->rows; row++)
        for (int64_t k = A->row_offsets[row] + 1; k < A->row_offsets[row + 1] && sorted; k++)
            sorted = A->columns[k] > A->columns[k - 1];
    return sorted;
}

/* The place of (i, j), i >= j, in a lower triangle stored by columns. */
static int64_t triangle_place(int64_t n, int64_t i, int64_t j, bool diagonal)
{
    return diagonal ? j * n - j * (j - 1) / 2 + i - j : j * (n - 1) - j * (j - 1) / 2 + i - j - 1;
}

/* An array file holds columns one after the other; the matrix gets every entry. */
static tess_status dense_to_csr(tess_ctx *ctx, const tess_mm_header *header,
                                const tess_mm_entries *e, tess_matrix **out)
{
    int64_t rows = header->rows, cols = header->cols, count;
    if (!tess_mul(rows, cols, &count))
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "an array of %lld x %lld overflows",
                         (long long)rows, (long long)cols);
    tess_matrix *A;
    TESS_TRY(tess_matrix_allocate(ctx, TESS_F64, rows, cols, 1, 1, count, &A));
    double *values = A->values;
    bool general = header->symmetry == TESS_MM_GENERAL, skew = header->symmetry == TESS_MM_SKEW;
#pragma omp parallel for num_threads(ctx->threads)
    for (int64_t i = 0; i < rows; i++) {
        A->row_offsets[i + 1] = (i + 1) * cols;
        for (int64_t j = 0; j < cols; j++) {
            double value;
            if (general)
                value = e->values[j * rows + i];
            else if (skew && i == j)
                value = 0;
            else
                value = e->values[triangle_place(rows, i > j ? i : j, i > j ? j : i, !skew)];
            A->columns[i * cols + j] = (int32_t)j;
            values[i * cols + j] = skew && i < j ? -value : value;
        }
    }
    *out = A;
    return TESS_OK;
}

tess_status tess_mm_to_csr(tess_ctx *ctx, const tess_mm_header *header, tess_mm_entries *e,
                           tess_matrix **out)
{
    if (header->layout == TESS_MM_ARRAY)
        return dense_to_csr(ctx, header, e, out);
    tess_matrix *A;
    tess_status status;
    TESS_TRY(tess_matrix_head(ctx, TESS_F64, header->rows, header->cols, 1, 1, 0, &A));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, A->rows + 1, &A->row_offsets));
    if (header->symmetry == TESS_MM_GENERAL && in_csr_order(ctx, e)) {
        TESS_TRY_CLEAN(keep_arrays(ctx, e, A));
    } else {
        TESS_TRY_CLEAN(scatter_arrays(ctx, header->symmetry, e, A));
        tess_mm_free(ctx, e);
        if (!rows_sorted(ctx, A)) {
            const tess_row_source source = {A->row_offsets, A->columns, NULL, A->values,
                                            TESS_COLUMN_MAJOR};
            tess_matrix *sorted;
            TESS_TRY_CLEAN(
                tess_matrix_from_rows(ctx, TESS_F64, A->rows, A->cols, 1, 1, &source, &sorted));
            tess_matrix_destroy(A);
            A = sorted;
        }
    }
    *out = A;
    return TESS_OK;
cleanup:
    tess_matrix_destroy(A);
    return status;
}
