/* Statistics of a matrix: row lengths and their histogram, bandwidth, non-zeros, imbalance. */
#include "matrix/matrix.h"

/* The class of a row of `length` blocks: 0 for 0, otherwise 1 + floor(log2 length), at most the
 * last class. */
static int length_class(int64_t length)
{
    int class = length > 0 ? 64 - __builtin_clzll((unsigned long long)length) : 0;
    return tess_min(class, TESS_ROW_CLASSES - 1);
}

typedef struct counting {
    const tess_matrix *A;
    tess_statistics s;
} counting;

static void measure_rows(void *arg, tess_range range)
{
    counting *job = arg;
    const tess_matrix *A = job->A;
    tess_statistics *s = &job->s;
    int64_t row_min = INT64_MAX, row_max = 0, empty = 0, lower = 0, upper = 0;
    int64_t histogram[TESS_ROW_CLASSES] = {0};
    for (int64_t i = range.first; i < range.last; i++) {
        int64_t first = A->row_offsets[i], length = A->row_offsets[i + 1] - first;
        row_min = tess_min(length, row_min);
        row_max = tess_max(length, row_max);
        empty += length == 0;
        histogram[length_class(length)]++;
        if (length == 0)
            continue;
        int64_t left = i - A->columns[first], right = A->columns[first + length - 1] - i;
        lower = tess_max(left, lower);
        upper = tess_max(right, upper);
    }
    tess_lower(&s->row_min, row_min);
    tess_raise(&s->row_max, row_max);
    tess_take(&s->empty_rows, empty);
    tess_raise(&s->lower_bandwidth, lower);
    tess_raise(&s->upper_bandwidth, upper);
    for (int i = 0; i < TESS_ROW_CLASSES; i++)
        tess_take(&s->histogram[i], histogram[i]);
}

/* Computes the statistics that need no values. Columns are sorted, so the first and the last of a
 * row say how far it reaches from the diagonal. */
static void row_lengths(tess_ctx *ctx, counting *job)
{
    const tess_matrix *A = job->A;
    tess_statistics *s = &job->s;
    s->row_min = A->block_rows > 0 ? INT64_MAX : 0;
    tess_for(ctx, A->block_rows, measure_rows, job);
    s->row_avg = A->block_rows > 0 ? (double)A->blocks / (double)A->block_rows : 0;
    s->imbalance = s->row_avg > 0 ? (double)s->row_max / s->row_avg : 1;
}

static int64_t count_nonzeros(const void *matrix, tess_range range)
{
    int64_t nonzeros = 0;
    for (int64_t at = range.first; at < range.last; at++)
        nonzeros += !tess_matrix_is_zero(matrix, at);
    return nonzeros;
}

static int64_t count_padding(const void *matrix, tess_range range)
{
    const tess_matrix *A = matrix;
    int64_t r = A->block_height, c = A->block_width, padding = 0;
    for (int64_t i = range.first; i < range.last; i++) {
        int64_t first = A->row_offsets[i], last = A->row_offsets[i + 1];
        int64_t low = i == A->block_rows - 1 ? A->block_rows * r - A->rows : 0;
        bool ragged = last > first && A->columns[last - 1] == A->block_cols - 1;
        int64_t right = ragged ? A->block_cols * c - A->cols : 0;
        padding += (last - first) * low * c + right * r - right * low;
    }
    return padding;
}

/* Counts the entries inside the matrix, and those that are not zero. Padding is always zero, so the
 * non-zeros are counted over all stored values. */
static void count_values(tess_ctx *ctx, counting *job)
{
    const tess_matrix *A = job->A;
    const int64_t all = tess_matrix_stored(A);
    job->s.nonzeros = tess_reduce(ctx, all, TESS_SUM, count_nonzeros, A);
    job->s.stored = all - tess_reduce(ctx, A->block_rows, TESS_SUM, count_padding, A);
}

tess_status tess_matrix_statistics(tess_ctx *ctx, const tess_matrix *A, tess_statistics *out)
{
    TESS_NEED(ctx, ctx && A && out);
    counting job = {.A = A};
    row_lengths(ctx, &job);
    count_values(ctx, &job);
    *out = job.s;
    return TESS_OK;
}
