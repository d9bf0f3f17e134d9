/* The pattern of C = A B; the whole product; and for scalars, pattern and values in one walk.
 *
 * A row of C is the union of the rows of B that a row of A names. Each thread keeps one mark per
 * block column: the last row that had it. The columns of a row are then sorted by way of bits, one
 * per column:
 *
 *     words     bit c % 64 of words[c / 64]: block column c is in the row
 *     summary   bit w % 64 of summary[w / 64]: words[w] is not 0
 *
 * A first walk counts the columns of each row. It also lists those of the first rows, until a
 * buffer is full. A second walk lists the columns of the other rows. With values (of f64 scalars)
 * the walk that lists a row also sums it, with one sum per column.
 */
#include "core/instructions.h"
#include "matrix/multiply/multiply.h"

enum { BITS = 64, FEW = 12 };

/* The memory that a share works with. */
typedef struct scratch {
    int32_t *mark;
    uint64_t *words, *summary; /* all 0 between rows */
    double *sums;              /* all 0 between rows; NULL: the pattern alone */
} scratch;

/* Counts the columns of a row, and lists them unless `columns` is NULL. */
static int64_t list_row(const tess_matrix *A, const tess_matrix *B, int64_t row, int32_t *mark,
                        int32_t *columns)
{
    int64_t count = 0;
    for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++) {
        const int64_t j = A->columns[k];
        for (int64_t l = B->row_offsets[j]; l < B->row_offsets[j + 1]; l++) {
            const int32_t column = B->columns[l];
            if (mark[column] == row)
                continue;
            mark[column] = (int32_t)row;
            if (columns)
                columns[count] = column;
            count++;
        }
    }
    return count;
}

/* The same without a data-dependent branch, which would be mispredicted. It may write one column
 * too many. */
static int64_t list_fast(const tess_matrix *A, const tess_matrix *B, int64_t row, int32_t *mark,
                         int32_t *columns)
{
    int64_t count = 0;
    for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++) {
        const int64_t j = A->columns[k], last = B->row_offsets[j + 1];
        for (int64_t l = B->row_offsets[j]; l < last; l++) {
            const int32_t column = B->columns[l];
            columns[count] = column;
            count += mark[column] != row;
            mark[column] = (int32_t)row;
        }
    }
    return count;
}

/* The same with the sums of the row. With `exact` it writes no column too many. */
static inline __attribute__((always_inline)) int64_t sum_row(const tess_matrix *A,
                                                             const tess_matrix *B, int64_t row,
                                                             const scratch *s, int32_t *columns,
                                                             const bool exact)
{
    const double *a = A->values, *b = B->values;
    int64_t count = 0;
    for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++) {
        const int64_t j = A->columns[k], last = B->row_offsets[j + 1];
        for (int64_t l = B->row_offsets[j]; l < last; l++) {
            const int32_t column = B->columns[l];
            const bool known = s->mark[column] == row;
            if (!exact || !known)
                columns[count] = column;
            count += !known;
            s->mark[column] = (int32_t)row;
            s->sums[column] += a[k] * b[l];
        }
    }
    return count;
}

/* An upper bound of the number of columns of a row. */
static int64_t most_columns(const tess_matrix *A, const tess_matrix *B, int64_t row)
{
    int64_t most = 0;
    for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++)
        most += B->row_offsets[A->columns[k] + 1] - B->row_offsets[A->columns[k]];
    return most;
}

static void sort_few(int32_t *columns, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        const int32_t column = columns[i];
        int64_t at = i;
        for (; at > 0 && columns[at - 1] > column; at--)
            columns[at] = columns[at - 1];
        columns[at] = column;
    }
}

static void sort_columns(const scratch *s, int32_t *columns, int64_t count)
{
    int32_t first = INT32_MAX, last = 0;
    int64_t at = 0;
    if (count <= FEW) {
        sort_few(columns, count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const int32_t word = columns[i] / BITS;
        s->words[word] |= (uint64_t)1 << columns[i] % BITS;
        s->summary[word / BITS] |= (uint64_t)1 << word % BITS;
        first = tess_min(columns[i], first);
        last = tess_max(columns[i], last);
    }
    for (int64_t i = first / (BITS * BITS); i <= last / (BITS * BITS); i++) {
        for (uint64_t some = s->summary[i]; some != 0; some &= some - 1) {
            const int64_t word = i * BITS + __builtin_ctzll(some);
            for (uint64_t bits = s->words[word]; bits != 0; bits &= bits - 1)
                columns[at++] = (int32_t)(word * BITS + __builtin_ctzll(bits));
            s->words[word] = 0;
        }
        s->summary[i] = 0;
    }
}

typedef struct walk {
    const tess_matrix *A, *B;
    tess_matrix *C;
    int32_t *marks;    /* of every share */
    uint64_t *bits;    /* per share: words, then summaries */
    int32_t *listed;   /* `room` per share: the columns of its first rows */
    int64_t *unlisted; /* per share: its first row that is not listed */
    int64_t words, summaries, room;
    double *sums, *summed; /* per share: one per block column, `room`; or NULL */
    bool unsorted;         /* rows of C may be in any order */
} walk;

static scratch scratch_of(const walk *w, int share)
{
    const int64_t columns = w->C->block_cols;
    uint64_t *words = w->bits + share * (w->words + w->summaries);
    scratch s = {w->marks + share * columns, words, words + w->words,
                 w->sums ? w->sums + share * columns : NULL};
    memset(words, 0, (size_t)(w->words + w->summaries) * sizeof *words);
    if (s.sums)
        memset(s.sums, 0, (size_t)columns * sizeof *s.sums);
    for (int64_t j = 0; j < columns; j++)
        s.mark[j] = -1;
    return s;
}

/* Lists the columns of a row of C and, where there are sums, its values. Returns the number of
 * columns. */
static inline __attribute__((always_inline)) int64_t make_row(const walk *w, const scratch *s,
                                                              int64_t row, int32_t *columns,
                                                              double *values, const bool exact)
{
    const int64_t count = s->sums ? sum_row(w->A, w->B, row, s, columns, exact)
                          : exact ? list_row(w->A, w->B, row, s->mark, columns)
                                  : list_fast(w->A, w->B, row, s->mark, columns);
    if (!w->unsorted)
        sort_columns(s, columns, count);
    for (int64_t i = 0; s->sums && i < count; i++) {
        values[i] = s->sums[columns[i]];
        s->sums[columns[i]] = 0;
    }
    return count;
}

TESS_WIDE static void count_rows(void *arg, tess_range rows)
{
    const walk *w = arg;
    const scratch s = scratch_of(w, rows.share);
    int32_t *to = w->listed + rows.share * w->room;
    double *values = w->summed ? w->summed + rows.share * w->room : NULL;
    int64_t used = 0, row = rows.first;
    for (; row < rows.last && most_columns(w->A, w->B, row) < w->room - used; row++) {
        const int64_t count = make_row(w, &s, row, to + used, values ? values + used : NULL, false);
        w->C->row_offsets[row + 1] = count;
        used += count;
    }
    w->unlisted[rows.share] = row;
    for (; row < rows.last; row++)
        w->C->row_offsets[row + 1] = list_row(w->A, w->B, row, s.mark, NULL);
}

TESS_WIDE static void list_rows(void *arg, tess_range rows)
{
    const walk *w = arg;
    const tess_matrix *C = w->C;
    const int64_t unlisted = w->unlisted[rows.share], first = C->row_offsets[rows.first];
    if (unlisted > rows.first)
        memcpy(C->columns + first, w->listed + rows.share * w->room,
               (size_t)(C->row_offsets[unlisted] - first) * sizeof *C->columns);
    if (unlisted > rows.first && w->summed)
        memcpy((double *)C->values + first, w->summed + rows.share * w->room,
               (size_t)(C->row_offsets[unlisted] - first) * sizeof(double));
    if (unlisted >= rows.last)
        return;
    const scratch s = scratch_of(w, rows.share);
    for (int64_t row = unlisted; row < rows.last; row++) {
        const int64_t at = C->row_offsets[row];
        make_row(w, &s, row, C->columns + at, w->sums ? (double *)C->values + at : NULL, true);
    }
}

static tess_status check(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B)
{
    if (A->cols != B->rows || A->block_width != B->block_height)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "A B: A has %lld columns in blocks of %d, B %lld rows in blocks of %d",
                         (long long)A->cols, (int)A->block_width, (long long)B->rows,
                         (int)B->block_height);
    if (A->type != B->type)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "A B: A is %s, B is %s", tess_type_name(A->type),
                         tess_type_name(B->type));
    TESS_TRY(tess_refuse_complex(ctx, "A B", A->type));
    if (A->block_rows > INT32_MAX)
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "A B: %lld block rows are more than 2^31-1",
                         (long long)A->block_rows);
    return TESS_OK;
}

static tess_status multiply(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B, bool values,
                            bool unsorted, tess_matrix **out)
{
    tess_matrix *C = NULL;
    walk w = {.A = A, .B = B, .unsorted = unsorted};
    tess_status status;
    TESS_TRY(check(ctx, A, B));
    TESS_TRY(
        tess_matrix_head(ctx, A->type, A->rows, B->cols, A->block_height, B->block_width, 0, &C));
    w.C = C;
    w.words = tess_ceil_div(C->block_cols, BITS);
    w.summaries = tess_ceil_div(w.words, BITS);
    w.room = 2 * (A->blocks + B->blocks) / ctx->threads;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, C->block_rows + 1, &C->row_offsets));
    C->row_offsets[0] = 0;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, C->block_cols * ctx->threads, &w.marks));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, (w.words + w.summaries) * ctx->threads, &w.bits));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, w.room * ctx->threads, &w.listed));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, ctx->threads, &w.unlisted));
    if (values) {
        TESS_TRY_CLEAN(TESS_ALLOC(ctx, C->block_cols * ctx->threads, &w.sums));
        TESS_TRY_CLEAN(TESS_ALLOC(ctx, w.room * ctx->threads, &w.summed));
    }
    tess_for_rows(ctx, A->row_offsets, A->block_rows, count_rows, &w);
    tess_counts_to_offsets(C->row_offsets, C->block_rows);
    TESS_TRY_CLEAN(tess_matrix_allocate_blocks(C, C->row_offsets[C->block_rows]));
    tess_for_rows(ctx, A->row_offsets, A->block_rows, list_rows, &w);
    *out = C;
    C = NULL;
cleanup:
    TESS_FREE(ctx, w.marks, w.bits, w.listed, w.unlisted, w.sums, w.summed);
    tess_matrix_destroy(C);
    return status;
}

tess_status tess_multiply_pattern(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B,
                                  tess_matrix **out)
{
    return multiply(ctx, A, B, false, false, out);
}

bool tess_multiplies_scalars(const tess_matrix *A, const tess_matrix *B)
{
    return A->type == TESS_F64 && A->block_height == 1 && A->block_width == 1 &&
           B->block_width == 1;
}

tess_status tess_multiply_scalars(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B,
                                  bool unsorted, tess_matrix **out)
{
    return multiply(ctx, A, B, true, unsorted, out);
}

tess_status tess_matrix_multiply(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B,
                                 tess_matrix **out)
{
    tess_matrix *C;
    if (!ctx || !A || !B || !out)
        return tess_null_argument(ctx, __func__);
    if (tess_multiplies_scalars(A, B))
        return tess_multiply_scalars(ctx, A, B, false, out);
    TESS_TRY(tess_multiply_pattern(ctx, A, B, &C));
    const tess_status status = tess_multiply_values(ctx, A, B, C);
    if (status != TESS_OK) {
        tess_matrix_destroy(C);
        return status;
    }
    *out = C;
    return TESS_OK;
}
