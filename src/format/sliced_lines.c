/* The lines of sliced storage, panel after panel: rows are cut into lines, which are listed and
 * sorted. */
#include "format/sliced_lines.h"

/* The matrix cut into panels of columns. */
typedef struct cut_matrix {
    const tess_matrix *A;
    int32_t panels;
    int32_t *cuts; /* panels - 1 per row: blocks of the row before panel 1, 2, ... */
} cut_matrix;

/* The first block of a row in a panel. Row i of panel q ends where row i of panel q + 1 begins. */
static int64_t cut_begin(const cut_matrix *M, int64_t row, int32_t panel)
{
    if (panel == 0 || panel == M->panels)
        return M->A->row_offsets[row + (panel > 0)];
    return M->A->row_offsets[row] + M->cuts[row * (M->panels - 1) + panel - 1];
}

static int64_t cut_length(const cut_matrix *M, int64_t row, int32_t panel)
{
    return cut_begin(M, row, panel + 1) - cut_begin(M, row, panel);
}

struct cut_rows {
    const tess_matrix *A;
    int64_t inner, width;
    cut_matrix *M;
};

static void cut_rows(void *arg, tess_range range)
{
    const struct cut_rows *job = arg;
    const tess_matrix *A = job->A;
    for (int64_t row = range.first; row < range.last; row++) {
        int64_t first = A->row_offsets[row], end = A->row_offsets[row + 1], k = first;
        for (int64_t q = 0; q < job->inner; q++) {
            while (k < end && A->columns[k] < (q + 1) * job->width)
                k++;
            job->M->cuts[row * job->inner + q] = (int32_t)(k - first); /* <= block_cols */
        }
    }
}

static tess_status cut_columns(tess_ctx *ctx, const tess_matrix *A, int32_t panels, cut_matrix *M)
{
    *M = (cut_matrix){.A = A, .panels = panels};
    int64_t inner = panels - 1, width = tess_ceil_div(A->block_cols, panels), count;
    if (inner == 0)
        return TESS_OK;
    if (!tess_mul(A->block_rows, inner, &count))
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "sliced: %d panels of %lld block rows overflow",
                         (int)panels, (long long)A->block_rows);
    TESS_TRY(TESS_ALLOC(ctx, count, &M->cuts));
    tess_for(ctx, A->block_rows, cut_rows, &(struct cut_rows){A, inner, width, M});
    return TESS_OK;
}

/* The number of lines of a row in a panel. */
static int64_t segments_of(const cut_matrix *M, int64_t row, int32_t panel, int32_t split)
{
    int64_t length = cut_length(M, row, panel);
    if (length == 0)
        return panel == 0 || panel == M->panels - 1;
    return split > 0 && length > split ? tess_ceil_div(length, split) : 1;
}

static tess_status check_slices(tess_ctx *ctx, const tess_sliced *S)
{
    int64_t lanes = (int64_t)S->options.height * S->block_height;
    if (S->slices > (INT32_MAX - 4096) / lanes)
        return tess_fail(ctx, TESS_ERR_OVERFLOW,
                         "sliced: %lld slices of %lld scalar rows do not fit 31 bits",
                         (long long)S->slices, (long long)lanes);
    return TESS_OK;
}

void tess_cut_count(const tess_segments *segments, tess_sliced_panel *panel)
{
    panel->lines = panel->cut_rows = panel->cut_long = 0;
    for (int64_t row = 0; row < segments->rows; row++) {
        int64_t count = segments->of(segments->context, row);
        panel->lines += count;
        panel->cut_rows += count > 1;
        panel->cut_long += count > TESS_SLICED_LONG;
    }
}

void tess_cut_list(const tess_segments *segments, const tess_sliced_panel *panel, int32_t *cut_row,
                   int32_t *cut_slots)
{
    int64_t next_long = panel->first_cut, next_short = next_long + panel->cut_long;
    for (int64_t row = 0; panel->cut_rows > 0 && row < segments->rows; row++) {
        int64_t count = segments->of(segments->context, row);
        if (count <= 1)
            continue;
        int64_t at = count > TESS_SLICED_LONG ? next_long++ : next_short++;
        cut_row[at] = (int32_t)row;
        cut_slots[at + 1] = (int32_t)count;
    }
    if (panel->first_cut == 0)
        cut_slots[0] = 0;
    for (int64_t i = panel->first_cut; i < panel->first_cut + panel->cut_rows; i++)
        cut_slots[i + 1] += cut_slots[i];
}

/* A panel of the matrix: the context of tess_cut_count and tess_cut_list. */
typedef struct cut_panel {
    const cut_matrix *M;
    int32_t panel, split;
} cut_panel;

static int64_t segments_in(const void *context, int64_t row)
{
    const cut_panel *P = context;
    return segments_of(P->M, row, P->panel, P->split);
}

static tess_status count_lines(tess_ctx *ctx, const cut_matrix *M, tess_sliced *S)
{
    for (int32_t q = 0; q < M->panels; q++) {
        const cut_panel P = {M, q, S->options.split};
        tess_sliced_panel *panel = &S->panel[q];
        *panel = (tess_sliced_panel){.first_slice = S->slices, .first_cut = S->cut_rows};
        if (M->panels == 1 && P.split <= 0)
            panel->lines = S->block_rows;
        else
            tess_cut_count(&(tess_segments){segments_in, &P, S->block_rows}, panel);
        panel->slices = tess_ceil_div(panel->lines, S->options.height);
        S->slices += panel->slices;
        S->cut_rows += panel->cut_rows;
        TESS_TRY(check_slices(ctx, S));
    }
    return TESS_OK;
}

/* Fills cut_row and cut_slots, panel after panel. */
static tess_status list_cut_rows(tess_ctx *ctx, const cut_matrix *M, tess_sliced *S)
{
    TESS_TRY(TESS_ALLOC(ctx, S->cut_rows, &S->cut_row));
    TESS_TRY(TESS_ALLOC(ctx, S->cut_rows + 1, &S->cut_slots));
    for (int32_t q = 0; q < M->panels; q++) {
        const cut_panel P = {M, q, S->options.split};
        tess_cut_list(&(tess_segments){segments_in, &P, S->block_rows}, &S->panel[q], S->cut_row,
                      S->cut_slots);
    }
    return TESS_OK;
}

static tess_status allocate_lines(tess_ctx *ctx, tess_sliced *S, bool targets)
{
    int64_t places = S->slices * S->options.height;
    TESS_TRY(TESS_ALLOC(ctx, S->slices + 1, &S->offsets));
    TESS_TRY(TESS_CALLOC(ctx, places, &S->lengths));
    TESS_TRY(TESS_CALLOC(ctx, places, &S->starts));
    if (targets)
        TESS_TRY(TESS_CALLOC(ctx, places, &S->targets));
    return TESS_OK;
}

/* Whether row i is line i: rows are neither cut nor in panels. */
static bool rows_are_lines(const tess_sliced *S)
{
    return S->options.panels == 1 && S->cut_rows == 0;
}

static void list_rows(void *sliced, const void *matrix, int64_t row)
{
    tess_sliced *S = sliced;
    const int64_t *offsets = ((const tess_matrix *)matrix)->row_offsets;
    S->starts[row] = offsets[row];
    S->lengths[row] = (int32_t)(offsets[row + 1] - offsets[row]);
    if (S->targets)
        S->targets[row] = (int32_t)row;
}

/* Lists the lines of panel q in the order of the rows. */
static void list_lines(const cut_matrix *M, tess_sliced *S, int32_t q)
{
    const tess_sliced_panel *panel = &S->panel[q];
    int64_t line = panel->first_slice * S->options.height;
    /* The next slots of short and of long rows. */
    int32_t slot[2] = {S->cut_slots[panel->first_cut + panel->cut_long],
                       S->cut_slots[panel->first_cut]};
    for (int64_t row = 0; row < S->block_rows; row++) {
        int64_t first = cut_begin(M, row, q), end = cut_begin(M, row, q + 1);
        int64_t segments = segments_of(M, row, q, S->options.split);
        int32_t *next = &slot[segments > TESS_SLICED_LONG];
        for (int64_t i = 0; i < segments; i++, line++) {
            int64_t length = segments > 1 ? tess_min(S->options.split, end - first) : end - first;
            S->starts[line] = first;
            S->lengths[line] = (int32_t)length;
            if (S->targets)
                S->targets[line] = segments > 1 ? ~(*next)++ : (int32_t)row;
            first += length;
        }
    }
}

typedef struct line_range {
    int64_t first, count;
} line_range;

/* A stable counting sort of a range by falling length. `work` holds a copy of the range, `counters`
 * has longest+1 numbers. */
typedef struct line_copy {
    int64_t start;
    int32_t length, target;
} line_copy;

static void sort_range(tess_sliced *S, const line_range *range, line_copy *work, int64_t *counters)
{
    int64_t first = range->first, count = range->count;
    int32_t longest = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = first + i;
        work[i] = (line_copy){S->starts[at], S->lengths[at], S->targets[at]};
        longest = tess_max(work[i].length, longest);
    }
    memset(counters, 0, ((size_t)longest + 1) * sizeof *counters);
    for (int64_t i = 0; i < count; i++)
        counters[work[i].length]++;
    int64_t before = first;
    for (int32_t length = longest; length >= 0; length--) {
        int64_t here = counters[length];
        counters[length] = before;
        before += here;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t at = counters[work[i].length]++;
        S->starts[at] = work[i].start;
        S->lengths[at] = work[i].length;
        S->targets[at] = work[i].target;
    }
}

struct sort_share {
    int threads;
    int64_t count;
    tess_sliced *S;
    const line_range *ranges;
    line_copy *work;
    int64_t most, *counters;
    int32_t longest;
};

static void sort_share(void *arg, int thread)
{
    const struct sort_share *job = arg;
    for (int64_t r = thread; r < job->count; r += job->threads)
        sort_range(job->S, &job->ranges[r], job->work + thread * job->most,
                   job->counters + thread * ((int64_t)job->longest + 1));
}

static tess_status sort_ranges(tess_ctx *ctx, tess_sliced *S, const line_range *ranges,
                               int64_t count)
{
    int64_t most = 0;
    int32_t longest = 0;
    for (int64_t r = 0; r < count; r++)
        most = tess_max(ranges[r].count, most);
    for (int64_t i = 0; i < S->slices * S->options.height; i++)
        longest = tess_max(S->lengths[i], longest);
    int threads = (int)tess_min(count, ctx->threads);
    line_copy *work = NULL;
    int64_t *counters = NULL;
    tess_status status = TESS_OK;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, threads * most, &work));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, threads * ((int64_t)longest + 1), &counters));
    tess_parallel(ctx, threads, sort_share,
                  &(struct sort_share){threads, count, S, ranges, work, most, counters, longest});
cleanup:
    TESS_FREE(ctx, work, counters);
    return status;
}

/* Sorts the windows of every panel's lines. */
static tess_status sort_windows(tess_ctx *ctx, tess_sliced *S)
{
    int64_t window = S->options.window, count = 0;
    if (window <= 1)
        return TESS_OK;
    for (int32_t q = 0; q < S->options.panels; q++)
        count += tess_ceil_div(S->panel[q].lines, window);
    line_range *ranges;
    TESS_TRY(TESS_ALLOC(ctx, count, &ranges));
    count = 0;
    for (int32_t q = 0; q < S->options.panels; q++) {
        int64_t first = S->panel[q].first_slice * S->options.height;
        for (int64_t done = 0; done < S->panel[q].lines; done += window) {
            int64_t left = S->panel[q].lines - done;
            ranges[count++] = (line_range){first + done, tess_min(left, window)};
        }
    }
    tess_status status = sort_ranges(ctx, S, ranges, count);
    tess_free(ctx, ranges);
    return status;
}

tess_status tess_sliced_make_lines(tess_ctx *ctx, const tess_matrix *A, tess_sliced *S)
{
    cut_matrix M;
    tess_status status;
    TESS_TRY(cut_columns(ctx, A, S->options.panels, &M));
    TESS_TRY_CLEAN(count_lines(ctx, &M, S));
    TESS_TRY_CLEAN(list_cut_rows(ctx, &M, S));
    TESS_TRY_CLEAN(
        allocate_lines(ctx, S, S->options.window > 1 || S->cut_rows > 0 || M.panels > 1));
    if (rows_are_lines(S))
        tess_for_each(ctx, S->block_rows, 0, list_rows, S, A);
    for (int32_t q = 0; q < M.panels && !rows_are_lines(S); q++)
        list_lines(&M, S, q);
    TESS_TRY_CLEAN(sort_windows(ctx, S));
cleanup:
    tess_free(ctx, M.cuts);
    return status;
}
