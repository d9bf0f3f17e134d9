/* From entries in file order to CSR, with at most 24 bytes per entry allocated at a time.
 *
 * Rows are counted, then columns and values are moved in one pass each. For general matrices the
 * columns of the file are freed before the new array of values is allocated. The entries are
 * divided into slices, one per thread. A slice has a cursor (4 B) for every row, which says where
 * its next entry of the row goes. If that many cursors would take too much memory there is one
 * slice, and every thread scans all entries for those of its own rows. In both cases entries keep
 * their file order within a row, for any number of threads. If the file is already in CSR order,
 * its arrays become those of the matrix.
 */
#include "matrix/io/mm.h"
#include "matrix/sort.h"

/* The most entries of a row that is sorted by insertion, and of one that is sorted on the stack. */
enum { TINY_ROW = 32, SHORT_ROW = 256 };

typedef enum pass { COUNT, COLUMNS, VALUES } pass;

typedef struct scatter {
    const tess_mm_entries *entries;
    tess_mm_symmetry symmetry;
    const int64_t *row_offsets;
    const int64_t *base; /* cursors count from base[row]; NULL: from 0 */
    int32_t *columns;
    double *values;
    int64_t rows;
    int slices;
    int parts; /* the slices; if there is one, the threads that divide its rows */
    pass step;
    uint32_t *cursors; /* slices x rows: where the slice's next entry of the row goes */
} scatter;

/* The work of one thread in a pass: a range of entries to scan, and a range of rows to take. */
typedef struct work_range {
    int64_t begin, end, first_row, last_row;
    uint32_t *cursor;
} work_range;

static inline void put(const scatter *s, const work_range *range, pass step, int64_t row,
                       int64_t col, int64_t k, bool negate)
{
    if (row < range->first_row || row >= range->last_row)
        return;
    int64_t base = step != COUNT && s->base ? s->base[row] : 0;
    if (step == COUNT) {
        range->cursor[row]++;
    } else if (step == COLUMNS) {
        s->columns[base + range->cursor[row]++] = (int32_t)col;
    } else {
        double value = s->entries->values ? s->entries->values[k] : 1.0;
        s->values[base + --range->cursor[row]] = negate ? -value : value;
    }
}

/* Walks all entries of the full matrix, with mirrors. The pass over values goes backwards, because
 * the pass over columns has left the cursors at the ends. Inlined, so that `step` is a constant of
 * the loop. */
__attribute__((always_inline)) static inline void walk(const scatter *s, const work_range *range,
                                                       pass step)
{
    const tess_mm_entries *e = s->entries;
    bool mirrored = s->symmetry != TESS_MM_GENERAL, skew = s->symmetry == TESS_MM_SKEW;
    for (int64_t i = range->begin; i < range->end; i++) {
        int64_t k = step == VALUES ? range->end - 1 - (i - range->begin) : i;
        int64_t row = e->rows[k], col = step == COLUMNS || mirrored ? e->cols[k] : 0;
        put(s, range, step, row, col, k, false);
        if (mirrored && col != row)
            put(s, range, step, col, row, k, skew);
    }
}

static void pass_over_part(void *arg, int i)
{
    const scatter *s = arg;
    const int parts = s->parts;
    const pass step = s->step;
    int64_t count = s->entries->count, share = tess_ceil_div(count, parts);
    work_range range = {0, count, 0, s->rows, s->cursors};
    if (s->slices > 1) {
        range.begin = tess_min(share * i, count);
        range.end = tess_min(range.begin + share, count);
        range.cursor = s->cursors + i * s->rows;
    } else if (step == COUNT) { /* nothing is known about the rows yet */
        range.first_row = tess_ceil_div(s->rows, parts) * i;
        range.last_row = range.first_row + tess_ceil_div(s->rows, parts);
    } else {
        range.first_row = tess_share_row(s->row_offsets, s->rows, i, parts);
        range.last_row = tess_share_row(s->row_offsets, s->rows, i + 1, parts);
    }
    if (step == COUNT)
        walk(s, &range, COUNT);
    else if (step == COLUMNS)
        walk(s, &range, COLUMNS);
    else
        walk(s, &range, VALUES);
}

static void run_pass(tess_ctx *ctx, scatter *s, pass step)
{
    s->step = step;
    tess_parallel(ctx, s->parts, pass_over_part, s);
}

/* Turns a row's counts of all slices into starts within the row; row_offsets[row + 1] becomes the
 * length of the row. */
static void start_row(void *row_offsets, const void *scattering, int64_t row)
{
    const scatter *s = scattering;
    uint32_t sum = 0;
    for (int i = 0; i < s->slices; i++) {
        uint32_t *cursor = &s->cursors[i * s->rows + row], count = *cursor;
        *cursor = sum;
        sum += count;
    }
    ((int64_t *)row_offsets)[row + 1] = sum;
}

/* The first entry that does not come after its predecessor in CSR order; INT64_MAX: there is
 * none. */
static int64_t find_unordered(const void *entries, tess_range range)
{
    const tess_mm_entries *e = entries;
    for (int64_t k = 1 + range.first; k < 1 + range.last; k++)
        if (e->rows[k] < e->rows[k - 1] ||
            (e->rows[k] == e->rows[k - 1] && e->cols[k] <= e->cols[k - 1]))
            return k;
    return INT64_MAX;
}

/* Whether entries are already sorted by rows, then by strictly increasing columns. */
static bool in_csr_order(tess_ctx *ctx, const tess_mm_entries *e)
{
    return tess_reduce(ctx, e->count - 1, TESS_LEAST, find_unordered, e) == INT64_MAX;
}

static void fill_ones(void *arg, tess_range range)
{
    tess_mm_entries *e = arg;
    for (int64_t k = range.first; k < range.last; k++)
        e->values[k] = 1;
}

struct open_rows {
    const tess_mm_entries *e;
    tess_matrix *A;
};

/* Sets the offsets of all rows after the row of entry k-1, up to that of entry k, to k. */
static void open_rows(void *arg, tess_range range)
{
    const struct open_rows *job = arg;
    for (int64_t k = range.first; k < range.last; k++) {
        int64_t from = k > 0 ? (int64_t)job->e->rows[k - 1] + 1 : 0;
        int64_t to = k < job->e->count ? (int64_t)job->e->rows[k] : job->A->rows;
        for (int64_t row = from; row <= to; row++)
            job->A->row_offsets[row] = k;
    }
}

/* Makes the arrays of the file the arrays of the matrix. */
static tess_status keep_arrays(tess_ctx *ctx, tess_mm_entries *e, tess_matrix *A)
{
    int64_t count = e->count;
    if (!e->values) {
        TESS_TRY(TESS_ALLOC(ctx, count, &e->values));
        tess_for(ctx, count, fill_ones, e);
    }
    tess_for(ctx, count + 1, open_rows, &(struct open_rows){e, A});
    A->columns = e->cols;
    A->values = e->values;
    A->blocks = count;
    e->cols = NULL;
    e->values = NULL;
    return TESS_OK;
}

static int64_t count_mirrored(const void *entries, tess_range range)
{
    const tess_mm_entries *e = entries;
    int64_t mirrored = 0;
    for (int64_t k = range.first; k < range.last; k++)
        mirrored += (int64_t)e->rows[k] != e->cols[k];
    return mirrored;
}

/* The number of entries of the full matrix. */
static int64_t count_full(tess_ctx *ctx, tess_mm_symmetry symmetry, const tess_mm_entries *e)
{
    return e->count + (symmetry == TESS_MM_GENERAL
                           ? 0
                           : tess_reduce(ctx, e->count, TESS_SUM, count_mirrored, e));
}

/* Turns starts within a row into places among all entries, which saves one look-up per entry. */
static void shift_rows(void *arg, tess_range range)
{
    const scatter *s = arg;
    for (int64_t row = range.first; row < range.last; row++)
        for (int i = 0; i < s->slices; i++)
            s->cursors[i * s->rows + row] += (uint32_t)s->row_offsets[row];
}

static tess_status move_entries(tess_ctx *ctx, scatter *s, tess_mm_entries *e, tess_matrix *A)
{
    run_pass(ctx, s, COUNT);
    tess_for_each(ctx, s->rows, 0, start_row, A->row_offsets, s);
    tess_counts_to_offsets(A->row_offsets, A->rows);
    A->blocks = count_full(ctx, s->symmetry, e);
    if (A->row_offsets[A->rows] != A->blocks)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "a row has more than 4294967295 entries, repeated ones included");
    if (A->blocks <= UINT32_MAX)
        tess_for(ctx, s->rows, shift_rows, s);
    else
        s->base = A->row_offsets;
    TESS_TRY(TESS_ALLOC(ctx, A->blocks, &A->columns));
    s->columns = A->columns;
    run_pass(ctx, s, COLUMNS);
    if (s->symmetry == TESS_MM_GENERAL) {
        tess_free(ctx, e->cols);
        e->cols = NULL;
    }
    TESS_TRY(tess_alloc_bytes(ctx, A->blocks, sizeof(double), &A->values));
    s->values = A->values;
    run_pass(ctx, s, VALUES);
    return TESS_OK;
}

static tess_status scatter_arrays(tess_ctx *ctx, tess_mm_symmetry symmetry, tess_mm_entries *e,
                                  tess_matrix *A)
{
    /* Slices are used if their cursors take at most as much memory as the row offsets, or as one
     * byte per entry. */
    bool slices = ctx->threads <= 2 || e->count / 4 / ctx->threads >= A->rows;
    scatter s = {.entries = e,
                 .symmetry = symmetry,
                 .row_offsets = A->row_offsets,
                 .rows = A->rows,
                 .slices = slices ? ctx->threads : 1,
                 .parts = ctx->threads};
    TESS_TRY(TESS_CALLOC(ctx, A->rows * s.slices, &s.cursors));
    tess_status status = move_entries(ctx, &s, e, A);
    tess_free(ctx, s.cursors);
    return status;
}

/* Sorts a row that fits the stack, in place; equal columns keep their order. */
static void sort_short_row(int32_t *columns, double *values, int64_t count)
{
    if (count <= TINY_ROW) {
        for (int64_t i = 1; i < count; i++) {
            int32_t column = columns[i];
            double value = values[i];
            int64_t at = i;
            for (; at > 0 && columns[at - 1] > column; at--) {
                columns[at] = columns[at - 1];
                values[at] = values[at - 1];
            }
            columns[at] = column;
            values[at] = value;
        }
        return;
    }
    tess_sort_key keys[SHORT_ROW], scratch[SHORT_ROW];
    double moved[SHORT_ROW];
    for (int64_t i = 0; i < count; i++)
        keys[i] = (tess_sort_key){columns[i], i};
    const tess_sort_key *sorted = tess_sort_keys(keys, scratch, count);
    memcpy(moved, values, (size_t)count * sizeof *moved);
    for (int64_t i = 0; i < count; i++) {
        columns[i] = sorted[i].column;
        values[i] = moved[sorted[i].position];
    }
}

struct sort_some {
    const tess_matrix *A;
    bool done;
};

static void sort_some(void *arg, tess_range range)
{
    struct sort_some *job = arg;
    const tess_matrix *A = job->A;
    double *values = A->values;
    bool done = true;
    for (int64_t row = range.first; row < range.last; row++) {
        int64_t first = A->row_offsets[row], count = A->row_offsets[row + 1] - first;
        if (tess_columns_rise(A->columns + first, count))
            continue;
        if (count <= SHORT_ROW)
            sort_short_row(A->columns + first, values + first, count);
        done = done && count <= SHORT_ROW && tess_columns_rise(A->columns + first, count);
    }
    if (!done)
        tess_set_flag(&job->done, false);
}

/* Sorts rows in place. Returns false when work remains: repeated columns, or an unsorted row that
 * is too long for the stack. */
static bool sort_rows(tess_ctx *ctx, const tess_matrix *A)
{
    struct sort_some job = {A, true};
    tess_for_dynamic(ctx, ctx->threads, A->rows, 1024, sort_some, &job);
    return job.done;
}

tess_status tess_mm_to_csr(tess_ctx *ctx, const tess_mm_header *header, tess_mm_entries *e,
                           tess_matrix **out)
{
    if (header->field == TESS_MM_COMPLEX)
        return tess_mm_complex_to_csr(ctx, header, e, out);
    if (header->layout == TESS_MM_ARRAY)
        return tess_mm_dense_to_csr(ctx, header, e, out);
    tess_matrix *A;
    tess_status status;
    TESS_TRY(tess_matrix_head(ctx, TESS_F64, header->rows, header->cols, 1, 1, 0, &A));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, A->rows + 1, &A->row_offsets));
    if (header->symmetry == TESS_MM_GENERAL && in_csr_order(ctx, e)) {
        TESS_TRY_CLEAN(keep_arrays(ctx, e, A));
    } else {
        TESS_TRY_CLEAN(scatter_arrays(ctx, header->symmetry, e, A));
        tess_mm_free(ctx, e);
        if (!sort_rows(ctx, A)) {
            const tess_row_source source = {A->row_offsets, A->columns, NULL, A->values,
                                            TESS_ORDER_COLUMN_MAJOR};
            tess_matrix *sorted;
            TESS_TRY_CLEAN(
                tess_matrix_from_rows(ctx, TESS_F64, A->rows, A->cols, 1, 1, &source, &sorted));
            tess_matrix_destroy(A);
            A = sorted;
        }
    }
cleanup:
    return TESS_DELIVER(status, A, tess_matrix_destroy, out);
}
