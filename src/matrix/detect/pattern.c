/* Makes patterns and counts blocks in them (detect.h).
 *
 * Counting is one sweep over the entries of a pattern. The entries of a group of rows fall into
 * block columns, and an array of marks tells which block columns have been seen. The sweep has no
 * data-dependent branch, and it divides by a multiplication: about a nanosecond per entry.
 */
#include "matrix/detect/detect.h"

/* ---- The scalar pattern of a matrix ---- */

/* Writes the columns of scalar row i in order, or only counts them with columns = NULL. */
static int64_t scalar_row(const tess_matrix *A, int64_t i, bool ignore_zeros, int32_t *columns)
{
    int64_t r = A->block_height, c = A->block_width, row = i / r, found = 0;
    for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++) {
        int64_t first = A->columns[k] * c;
        int64_t width = tess_min(A->cols - first, c);
        for (int64_t q = 0; q < width; q++) {
            if (ignore_zeros && tess_matrix_is_zero(A, (k * c + q) * r + i % r))
                continue;
            if (columns)
                columns[found] = (int32_t)(first + q);
            found++;
        }
    }
    return found;
}

typedef struct scalar_rows {
    const tess_matrix *A;
    bool ignore_zeros;
    tess_pattern *P;
} scalar_rows;

static void count_rows(void *arg, tess_range range)
{
    const scalar_rows *job = arg;
    for (int64_t i = range.first; i < range.last; i++)
        job->P->row_offsets[i + 1] = scalar_row(job->A, i, job->ignore_zeros, NULL);
}

static void fill_rows(void *arg, tess_range range)
{
    const scalar_rows *job = arg;
    for (int64_t i = range.first; i < range.last; i++)
        scalar_row(job->A, i, job->ignore_zeros, job->P->columns + job->P->row_offsets[i]);
}

tess_status tess_pattern_of(tess_ctx *ctx, const tess_matrix *A, bool ignore_zeros,
                            tess_pattern *out)
{
    tess_pattern *P = out;
    *P = (tess_pattern){.height = 1, .width = 1, .rows = A->rows, .cols = A->cols};
    if (A->block_height == 1 && A->block_width == 1 && !ignore_zeros) {
        P->entries = A->blocks;
        P->row_offsets = A->row_offsets;
        P->columns = A->columns;
        P->borrowed = true;
        return TESS_OK;
    }
    if (A->cols > INT32_MAX)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "blocks are detected among scalars, and %lld columns are more than 2^31-1",
                         (long long)A->cols);
    TESS_TRY(TESS_CALLOC(ctx, A->rows + 1, &P->row_offsets));
    scalar_rows job = {A, ignore_zeros, P};
    tess_for(ctx, A->rows, count_rows, &job);
    tess_counts_to_offsets(P->row_offsets, A->rows);
    P->entries = P->row_offsets[A->rows];
    TESS_TRY(TESS_ALLOC(ctx, P->entries, &P->columns));
    tess_for(ctx, A->rows, fill_rows, &job);
    return TESS_OK;
}

void tess_pattern_clear(tess_ctx *ctx, tess_pattern *P)
{
    if (!P->borrowed)
        TESS_FREE(ctx, P->row_offsets, P->columns);
    *P = (tess_pattern){0};
}

/* ---- Marks ---- */

tess_status tess_marks_create(tess_ctx *ctx, int64_t columns, tess_marks *out)
{
    *out = (tess_marks){.ctx = ctx, .columns = columns, .threads = ctx->threads};
    TESS_TRY(TESS_CALLOC(ctx, columns * ctx->threads, &out->mark));
    return TESS_CALLOC(ctx, ctx->threads, &out->stamp);
}

void tess_marks_clear(tess_ctx *ctx, tess_marks *marks)
{
    TESS_FREE(ctx, marks->mark, marks->stamp);
    *marks = (tess_marks){0};
}

uint32_t tess_marks_next(const tess_marks *marks, int thread)
{
    uint32_t *stamp = &marks->stamp[thread];
    if (++*stamp == 0) {
        memset(marks->mark + thread * marks->columns, 0,
               (size_t)marks->columns * sizeof *marks->mark);
        *stamp = 1;
    }
    return *stamp;
}

/* ---- Counting ---- */

/* Exact division of 0 <= n < 2^32 by a small d: n * multiplier >> shift, the multiplier being
 * 2^shift / d rounded up with shift = 32 + ceil(log2 d), so that the error stays below 1/d. */
typedef struct divisor {
    uint64_t multiplier;
    int shift;
} divisor;

static divisor divisor_of(int32_t d)
{
    int shift = 32;
    while ((INT64_C(1) << (shift - 32)) < d)
        shift++;
    return (divisor){((UINT64_C(1) << shift) - 1) / (uint64_t)d + 1, shift};
}

/* Lists the block columns of one group of rows, each once, in `out` unless it is NULL. Returns
 * their number. */
static int64_t sweep(const tess_pattern *P, int64_t first, int64_t last, divisor width,
                     uint32_t column_shift, uint32_t *mark, uint32_t stamp, int32_t *out)
{
    int64_t found = 0, end = P->row_offsets[last];
    for (int64_t k = P->row_offsets[first]; k < end; k++) {
        uint64_t column = (uint32_t)P->columns[k] + column_shift;
        uint32_t *seen = mark + (column * width.multiplier >> width.shift);
        if (out && *seen != stamp)
            out[found] = (int32_t)(seen - mark);
        found += *seen != stamp;
        *seen = stamp;
    }
    return found;
}

/* Groups of rows: group g holds `height` rows from g*height - shift on, as far as they exist. */
typedef struct grouping {
    int64_t rows, groups, height, shift;
} grouping;

static grouping group_rows(int64_t rows, int32_t height, int32_t offset)
{
    int64_t shift = (height - offset) % height;
    return (grouping){rows, tess_ceil_div(rows + shift, height), height, shift};
}

static int64_t group_begin(const grouping *G, int64_t g)
{
    int64_t row = g * G->height - G->shift;
    return tess_clamp(row, 0, G->rows);
}

/* The first group of a thread's share of the entries. */
static int64_t share_begin(const tess_pattern *P, const grouping *G, int thread, int threads)
{
    if (thread == threads)
        return G->groups;
    int64_t row = tess_share_row(P->row_offsets, P->rows, thread, threads);
    return row == 0 ? 0 : tess_ceil_div(row + G->shift, G->height);
}

/* The number of threads: 1 for small patterns, since waking threads costs more than a short
 * sweep. */
static int team(const tess_pattern *P, const tess_marks *marks)
{
    return P->entries < 50000 ? 1 : marks->threads;
}

/* A sweep over all groups. It counts block columns and, if Q is not NULL, lists them there. */
typedef struct group_sweep {
    tess_marks *marks;
    const tess_pattern *P;
    grouping G;
    divisor by_width;
    uint32_t column_shift;
    int64_t *group_counts; /* NULL: not wanted */
    const tess_pattern *Q;
    int64_t total;
} group_sweep;

static void sweep_share(void *arg, int thread)
{
    group_sweep *job = arg;
    tess_marks *marks = job->marks;
    const tess_pattern *P = job->P, *Q = job->Q;
    const grouping G = job->G;
    const int threads = team(P, marks);
    int64_t total = 0, end = share_begin(P, &G, thread + 1, threads);
    uint32_t *mark = marks->mark + thread * marks->columns;
    for (int64_t g = share_begin(P, &G, thread, threads); g < end; g++) {
        int64_t found =
            sweep(P, group_begin(&G, g), group_begin(&G, g + 1), job->by_width, job->column_shift,
                  mark, tess_marks_next(marks, thread), Q ? Q->columns + Q->row_offsets[g] : NULL);
        if (job->group_counts)
            job->group_counts[g + 1] = found;
        total += found;
    }
    tess_take(&job->total, total);
}

int64_t tess_pattern_count(const tess_pattern *P, int32_t height, int32_t width, int32_t row_offset,
                           int32_t col_offset, tess_marks *marks, int64_t *group_counts)
{
    group_sweep job = {.marks = marks,
                       .P = P,
                       .G = group_rows(P->rows, height, row_offset),
                       .by_width = divisor_of(width),
                       .column_shift = (uint32_t)((width - col_offset) % width),
                       .group_counts = group_counts};
    tess_parallel(marks->ctx, team(P, marks), sweep_share, &job);
    return job.total;
}

tess_status tess_pattern_compress(tess_ctx *ctx, const tess_pattern *P, int32_t height,
                                  int32_t width, tess_marks *marks, tess_pattern *out)
{
    const grouping G = group_rows(P->rows, height, 0);
    tess_pattern *Q = out;
    *Q = (tess_pattern){.height = P->height * height,
                        .width = P->width * width,
                        .rows = G.groups,
                        .cols = tess_ceil_div(P->cols, width)};
    TESS_TRY(TESS_CALLOC(ctx, Q->rows + 1, &Q->row_offsets));
    tess_pattern_count(P, height, width, 0, 0, marks, Q->row_offsets);
    tess_counts_to_offsets(Q->row_offsets, Q->rows);
    Q->entries = Q->row_offsets[Q->rows];
    TESS_TRY(TESS_ALLOC(ctx, Q->entries, &Q->columns));
    group_sweep job = {.marks = marks, .P = P, .G = G, .by_width = divisor_of(width), .Q = Q};
    tess_parallel(marks->ctx, team(P, marks), sweep_share, &job);
    return TESS_OK;
}
