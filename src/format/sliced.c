/* BSR to sliced storage and back; sliced.h has the picture. */
#include "format/sliced.h"

#include <string.h>

/* Where scalar (i, j) of block k of line `lane` of slice s lies in the value array. */
static int64_t value_index(const tess_sliced *S, int64_t s, int32_t lane, int32_t k, int32_t i,
                           int32_t j)
{
    int32_t V = S->options.vector;
    int64_t lanes = (int64_t)S->options.height * S->block_height;
    int64_t first = S->offsets[s] * (S->group * S->block_width / V); /* vectors before the slice */
    int64_t e = (int64_t)k * S->block_width + j;                     /* the row's e-th scalar */
    return ((first + e / V) * lanes + (int64_t)lane * S->block_height + i) * V + e % V;
}

static int64_t column_index(const tess_sliced *S, int64_t s, int32_t lane, int32_t k)
{
    int64_t group = S->offsets[s] + k / S->group;
    return (group * S->options.height + lane) * S->group + k % S->group;
}

/* The matrix cut into panels: row i of panel q is blocks begin(i, q) .. begin(i, q + 1) - 1. */
typedef struct cut_matrix {
    const tess_matrix *A;
    int32_t panels;
    int32_t *cuts; /* (panels - 1) a row: blocks of the row before panel 1, 2, ... */
} cut_matrix;

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
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t row = 0; row < A->block_rows; row++) {
        int64_t first = A->row_offsets[row], end = A->row_offsets[row + 1], k = first;
        for (int64_t q = 0; q < inner; q++) {
            while (k < end && A->columns[k] < (q + 1) * width)
                k++;
            M->cuts[row * inner + q] = (int32_t)(k - first); /* <= block_cols */
        }
    }
    return TESS_OK;
}

static int64_t begin(const cut_matrix *M, int64_t row, int32_t panel)
{
    if (panel == 0 || panel == M->panels)
        return M->A->row_offsets[row + (panel > 0)];
    return M->A->row_offsets[row] + M->cuts[row * (M->panels - 1) + panel - 1];
}

/* Lines of a row in a panel. */
static int64_t segments_of(const cut_matrix *M, int64_t row, int32_t panel, int32_t split)
{
    int64_t length = begin(M, row, panel + 1) - begin(M, row, panel);
    if (length == 0)
        return panel == 0 || panel == M->panels - 1;
    return split > 0 && length > split ? tess_ceil_div(length, split) : 1;
}

static tess_status count_lines(tess_ctx *ctx, const cut_matrix *M, tess_sliced *S)
{
    int64_t lanes = (int64_t)S->options.height * S->block_height;
    for (int32_t q = 0; q < M->panels; q++) {
        tess_sliced_panel *panel = &S->panel[q];
        *panel = (tess_sliced_panel){.first_slice = S->slices, .first_cut = S->cut_rows};
        for (int64_t row = 0; row < S->block_rows; row++) {
            int64_t segments = segments_of(M, row, q, S->options.split);
            panel->lines += segments;
            panel->cut_rows += segments > 1;
            panel->cut_long += segments > TESS_SLICED_LONG;
        }
        panel->slices = tess_ceil_div(panel->lines, S->options.height);
        S->slices += panel->slices;
        S->cut_rows += panel->cut_rows;
        if (S->slices > (INT32_MAX - 4096) / lanes)
            return tess_fail(ctx, TESS_ERR_OVERFLOW,
                             "sliced: %lld slices of %lld scalar rows do not fit 31 bits",
                             (long long)S->slices, (long long)lanes);
    }
    return TESS_OK;
}

/* cut_row and cut_slots: in every panel the rows of many segments first. */
static tess_status list_cut_rows(tess_ctx *ctx, const cut_matrix *M, tess_sliced *S)
{
    TESS_TRY(TESS_ALLOC(ctx, S->cut_rows, &S->cut_row));
    TESS_TRY(TESS_ALLOC(ctx, S->cut_rows + 1, &S->cut_slots));
    for (int32_t q = 0; q < M->panels; q++) {
        const tess_sliced_panel *panel = &S->panel[q];
        int64_t next_long = panel->first_cut, next_short = next_long + panel->cut_long;
        for (int64_t row = 0; panel->cut_rows > 0 && row < S->block_rows; row++) {
            int64_t segments = segments_of(M, row, q, S->options.split);
            if (segments <= 1)
                continue;
            int64_t at = segments > TESS_SLICED_LONG ? next_long++ : next_short++;
            S->cut_row[at] = (int32_t)row;
            S->cut_slots[at + 1] = (int32_t)segments;
        }
    }
    S->cut_slots[0] = 0;
    for (int64_t i = 0; i < S->cut_rows; i++)
        S->cut_slots[i + 1] += S->cut_slots[i];
    return TESS_OK;
}

/* The lines of panel q in the order of the rows. */
static void list_lines(const cut_matrix *M, tess_sliced *S, int32_t q)
{
    const tess_sliced_panel *panel = &S->panel[q];
    int64_t line = panel->first_slice * S->options.height,
            places_end = line + panel->slices * S->options.height;
    /* The next slots of short and of long rows. */
    int32_t slot[2] = {S->cut_slots[panel->first_cut + panel->cut_long],
                       S->cut_slots[panel->first_cut]};
    for (int64_t row = 0; row < S->block_rows; row++) {
        int64_t first = begin(M, row, q), end = begin(M, row, q + 1);
        int64_t segments = segments_of(M, row, q, S->options.split);
        int32_t *next = &slot[segments > TESS_SLICED_LONG];
        for (int64_t i = 0; i < segments; i++, line++) {
            int64_t length =
                segments > 1 && end - first > S->options.split ? S->options.split : end - first;
            S->starts[line] = first;
            S->lengths[line] = (int32_t)length;
            if (S->targets)
                S->targets[line] = segments > 1 ? ~(*next)++ : (int32_t)row;
            first += length;
        }
    }
    for (; line < places_end; line++) {
        S->starts[line] = 0;
        S->lengths[line] = 0;
        if (S->targets)
            S->targets[line] = 0;
    }
}

/* Stable counting sort of lines first .. first+count-1 by falling length. `work` holds a copy of
 * the window, `counters` longest+1 numbers. */
typedef struct line_copy {
    int64_t start;
    int32_t length, target;
} line_copy;

static void sort_window(tess_sliced *S, int64_t first, int64_t count, line_copy *work,
                        int64_t *counters)
{
    int32_t longest = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = first + i;
        work[i] = (line_copy){S->starts[at], S->lengths[at], S->targets[at]};
        longest = work[i].length > longest ? work[i].length : longest;
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

static tess_status sort_lines(tess_ctx *ctx, tess_sliced *S, const tess_sliced_panel *panel)
{
    int64_t window = S->options.window < panel->lines ? S->options.window : panel->lines;
    if (window <= 1)
        return TESS_OK;
    int64_t first = panel->first_slice * S->options.height;
    int32_t longest = 0;
    for (int64_t i = 0; i < panel->lines; i++)
        longest = S->lengths[first + i] > longest ? S->lengths[first + i] : longest;
    int64_t windows = tess_ceil_div(panel->lines, window);
    int threads = windows < ctx->threads ? (int)windows : ctx->threads;
    line_copy *work = NULL;
    int64_t *counters = NULL;
    tess_status status = TESS_OK;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, threads * window, &work));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, threads * ((int64_t)longest + 1), &counters));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int thread = 0; thread < threads; thread++) {
        for (int64_t w = thread; w < windows; w += threads) {
            int64_t left = panel->lines - w * window;
            sort_window(S, first + w * window, left < window ? left : window,
                        work + thread * window, counters + thread * ((int64_t)longest + 1));
        }
    }
cleanup:
    tess_free(ctx, work);
    tess_free(ctx, counters);
    return status;
}

static void place_slices(tess_sliced *S)
{
    int32_t height = S->options.height;
    S->offsets[0] = 0;
    for (int64_t s = 0; s < S->slices; s++) {
        int32_t longest = 0;
        for (int32_t lane = 0; lane < height; lane++) {
            int32_t length = S->lengths[s * height + lane];
            longest = length > longest ? length : longest;
        }
        S->offsets[s + 1] = S->offsets[s] + tess_ceil_div(longest, S->group);
    }
}

static void fill_columns(const tess_matrix *A, tess_sliced *S, int64_t s)
{
    int32_t height = S->options.height;
    int64_t per_group = (int64_t)S->group * height;
    memset(S->columns + S->offsets[s] * per_group, 0,
           (size_t)((S->offsets[s + 1] - S->offsets[s]) * per_group) * sizeof *S->columns);
    for (int32_t lane = 0; lane < height; lane++) {
        int64_t line = s * height + lane;
        for (int32_t k = 0; k < S->lengths[line]; k++)
            S->columns[column_index(S, s, lane, k)] = A->columns[S->starts[line] + k];
    }
}

/* Copies between the slice's part of S->values and the BSR order; padding is left alone. */
static void move_values(const tess_sliced *S, int64_t s, void *sliced, void *bsr, bool to_sliced)
{
    int32_t height = S->options.height, bh = S->block_height, bw = S->block_width;
    for (int32_t lane = 0; lane < height; lane++) {
        int64_t line = s * height + lane;
        for (int32_t k = 0; k < S->lengths[line]; k++) {
            int64_t from = (S->starts[line] + k) * bh * bw;
            for (int32_t j = 0; j < bw; j++) {
                int64_t at = value_index(S, s, lane, k, 0, j);
                for (int32_t i = 0; i < bh; i++, from++, at += S->options.vector) {
                    if (S->type == TESS_F64 && to_sliced)
                        ((double *)sliced)[at] = ((const double *)bsr)[from];
                    else if (S->type == TESS_F64)
                        ((double *)bsr)[from] = ((const double *)sliced)[at];
                    else if (to_sliced)
                        ((float *)sliced)[at] = ((const float *)bsr)[from];
                    else
                        ((float *)bsr)[from] = ((const float *)sliced)[at];
                }
            }
        }
    }
}

void tess_sliced_refresh(tess_sliced *S, const void *values)
{
    int threads = S->ctx->threads;
    void *source = (void *)(uintptr_t)values; /* only read when filling */
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
    for (int64_t s = 0; s < S->slices; s++)
        move_values(S, s, S->values, source, true);
}

/* Everything after the lines are in their final order. */
static tess_status fill(tess_ctx *ctx, const tess_matrix *A, tess_sliced *S)
{
    place_slices(S);
    int64_t groups = S->offsets[S->slices];
    int64_t per_group = (int64_t)S->group * S->options.height, blocks, scalars;
    if (!tess_mul(groups, per_group, &blocks) ||
        !tess_mul(blocks, (int64_t)S->block_height * S->block_width, &scalars))
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "sliced: %lld groups of %lld blocks overflow",
                         (long long)groups, (long long)per_group);
    TESS_TRY(TESS_ALLOC(ctx, blocks, &S->columns));
    TESS_TRY(tess_alloc_bytes(ctx, scalars, tess_type_size(S->type), &S->values));
    size_t group_bytes =
        (size_t)(per_group * S->block_height * S->block_width) * tess_type_size(S->type);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64)
    for (int64_t s = 0; s < S->slices; s++) {
        fill_columns(A, S, s);
        memset((char *)S->values + (size_t)S->offsets[s] * group_bytes, 0,
               (size_t)(S->offsets[s + 1] - S->offsets[s]) * group_bytes);
        move_values(S, s, S->values, A->values, true);
    }
    return TESS_OK;
}

/* Lines, slices and cut rows of every panel. */
static tess_status make_lines(tess_ctx *ctx, const tess_matrix *A, tess_sliced *S)
{
    cut_matrix M;
    tess_status status;
    TESS_TRY(cut_columns(ctx, A, S->options.panels, &M));
    TESS_TRY_CLEAN(count_lines(ctx, &M, S));
    TESS_TRY_CLEAN(list_cut_rows(ctx, &M, S));
    int64_t places = S->slices * S->options.height;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, S->slices + 1, &S->offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, places, &S->lengths));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, places, &S->starts));
    if (S->options.window > 1 || S->cut_rows > 0 || M.panels > 1)
        TESS_TRY_CLEAN(TESS_ALLOC(ctx, places, &S->targets));
    for (int32_t q = 0; q < M.panels; q++) {
        list_lines(&M, S, q);
        TESS_TRY_CLEAN(sort_lines(ctx, S, &S->panel[q]));
    }
cleanup:
    tess_free(ctx, M.cuts);
    return status;
}

tess_status tess_sliced_create(tess_ctx *ctx, const tess_matrix *A,
                               const tess_sliced_options *options, tess_sliced **out)
{
    int32_t V = options->vector;
    if (options->height < 1 || options->height > 1024 || options->window < 0 ||
        options->split < 0 || (V != 1 && V != 2 && V != 4) || options->panels < 0 ||
        options->panels > TESS_SLICED_PANELS)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "sliced: height %d (1..1024), window %d and split %d (>= 0), vector %d "
                         "(1, 2 or 4), panels %d (0..%d)",
                         (int)options->height, (int)options->window, (int)options->split, (int)V,
                         (int)options->panels, TESS_SLICED_PANELS);
    tess_sliced *S;
    TESS_TRY(TESS_ALLOC(ctx, 1, &S));
    *S = (tess_sliced){.ctx = ctx,
                       .type = A->type,
                       .rows = A->rows,
                       .cols = A->cols,
                       .block_height = A->block_height,
                       .block_width = A->block_width,
                       .block_rows = A->block_rows,
                       .blocks = A->blocks,
                       .options = *options};
    S->options.panels = options->panels > 1 ? options->panels : 1;
    S->group = 1;
    while (S->group * A->block_width % V != 0)
        S->group *= 2;
    tess_status status = make_lines(ctx, A, S);
    if (status == TESS_OK)
        status = fill(ctx, A, S);
    if (status != TESS_OK) {
        tess_sliced_destroy(S);
        return status;
    }
    *out = S;
    return TESS_OK;
}

void tess_sliced_destroy(tess_sliced *S)
{
    if (!S)
        return;
    void *arrays[] = {S->offsets, S->lengths, S->targets, S->starts,
                      S->columns, S->values,  S->cut_row, S->cut_slots};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        tess_free(S->ctx, arrays[i]);
    tess_free(S->ctx, S);
}

/* The block row of a line: of a segment, the cut row that owns its slot. */
static int64_t row_of(const tess_sliced *S, int64_t line)
{
    int64_t target = S->targets ? S->targets[line] : line;
    if (target >= 0)
        return target;
    int64_t low = 0, high = S->cut_rows; /* cut_slots[low] <= slot < cut_slots[high] */
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (S->cut_slots[middle] <= ~target)
            low = middle;
        else
            high = middle;
    }
    return S->cut_row[low];
}

tess_status tess_sliced_to_bsr(tess_ctx *ctx, const tess_sliced *S, tess_matrix **out)
{
    tess_matrix *A;
    TESS_TRY(tess_matrix_allocate(ctx, S->type, S->rows, S->cols, S->block_height, S->block_width,
                                  S->blocks, &A));
    int32_t height = S->options.height;
    for (int64_t line = 0; line < S->slices * height; line++)
        if (S->lengths[line] > 0)
            A->row_offsets[row_of(S, line) + 1] += S->lengths[line];
    for (int64_t row = 0; row < S->block_rows; row++)
        A->row_offsets[row + 1] += A->row_offsets[row];
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64)
    for (int64_t s = 0; s < S->slices; s++) {
        for (int32_t lane = 0; lane < height; lane++)
            for (int32_t k = 0; k < S->lengths[s * height + lane]; k++)
                A->columns[S->starts[s * height + lane] + k] =
                    S->columns[column_index(S, s, lane, k)];
        move_values(S, s, S->values, A->values, false);
    }
    *out = A;
    return TESS_OK;
}

int64_t tess_sliced_bytes(const tess_sliced *S)
{
    int64_t places = S->slices * S->options.height;
    int64_t blocks = S->offsets[S->slices] * S->group * S->options.height;
    return (S->slices + 1) * 8 + places * (S->targets ? 8 : 4) + blocks * 4 +
           tess_sliced_stored(S) * (int64_t)tess_type_size(S->type) +
           (S->cut_rows > 0 ? S->cut_rows * 8 + 4 : 0);
}
