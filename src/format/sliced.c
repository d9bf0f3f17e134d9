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

static int64_t segments_of(const tess_matrix *A, int64_t row, int32_t split)
{
    int64_t length = A->row_offsets[row + 1] - A->row_offsets[row];
    return split > 0 && length > split ? tess_ceil_div(length, split) : 1;
}

/* Sets lines, slices, cut_rows, cut_long and cut_row/cut_slots. */
static tess_status count_lines(tess_ctx *ctx, const tess_matrix *A, tess_sliced *S)
{
    int64_t lines = 0, cut = 0, cut_long = 0;
    for (int64_t row = 0; row < A->block_rows; row++) {
        int64_t segments = segments_of(A, row, S->options.split);
        lines += segments;
        cut += segments > 1;
        cut_long += segments > TESS_SLICED_LONG;
        if (segments == 1 && A->row_offsets[row + 1] - A->row_offsets[row] > INT32_MAX)
            return tess_fail(ctx, TESS_ERR_OVERFLOW,
                             "sliced: block row %lld has %lld blocks, at most %d fit",
                             (long long)row,
                             (long long)(A->row_offsets[row + 1] - A->row_offsets[row]), INT32_MAX);
    }
    S->lines = lines;
    S->slices = tess_ceil_div(lines, S->options.height);
    int64_t lanes = (int64_t)S->options.height * S->block_height;
    if (S->slices > (INT32_MAX - 4096) / lanes)
        return tess_fail(ctx, TESS_ERR_OVERFLOW,
                         "sliced: %lld slices of %lld scalar rows do not fit 31 bits",
                         (long long)S->slices, (long long)lanes);
    S->cut_rows = cut;
    S->cut_long = cut_long;
    TESS_TRY(TESS_ALLOC(ctx, cut, &S->cut_row));
    TESS_TRY(TESS_ALLOC(ctx, cut + 1, &S->cut_slots));
    int64_t next_long = 0, next_short = cut_long;
    for (int64_t row = 0; cut > 0 && row < A->block_rows; row++) {
        int64_t segments = segments_of(A, row, S->options.split);
        if (segments == 1)
            continue;
        int64_t at = segments > TESS_SLICED_LONG ? next_long++ : next_short++;
        S->cut_row[at] = (int32_t)row;
        S->cut_slots[at + 1] = (int32_t)segments;
    }
    S->cut_slots[0] = 0;
    for (int64_t i = 0; i < cut; i++)
        S->cut_slots[i + 1] += S->cut_slots[i];
    return TESS_OK;
}

/* Lines in the order of the rows. */
static void list_lines(const tess_matrix *A, tess_sliced *S)
{
    int64_t line = 0;
    int32_t slot[2] = {S->cut_slots[S->cut_long], 0}; /* the next of short and of long rows */
    for (int64_t row = 0; row < A->block_rows; row++) {
        int64_t first = A->row_offsets[row], end = A->row_offsets[row + 1];
        int64_t segments = segments_of(A, row, S->options.split);
        int32_t *next = &slot[segments > TESS_SLICED_LONG];
        do {
            int64_t length =
                segments > 1 && end - first > S->options.split ? S->options.split : end - first;
            S->starts[line] = first;
            S->lengths[line] = (int32_t)length;
            if (S->targets)
                S->targets[line] = segments > 1 ? ~(*next)++ : (int32_t)row;
            first += length;
            line++;
        } while (first < end);
    }
    for (; line < S->slices * S->options.height; line++) {
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

static tess_status sort_lines(tess_ctx *ctx, tess_sliced *S)
{
    int64_t window = S->options.window < S->lines ? S->options.window : S->lines;
    if (window <= 1)
        return TESS_OK;
    int32_t longest = 0;
    for (int64_t i = 0; i < S->lines; i++)
        longest = S->lengths[i] > longest ? S->lengths[i] : longest;
    int64_t windows = tess_ceil_div(S->lines, window);
    int threads = windows < ctx->threads ? (int)windows : ctx->threads;
    line_copy *work = NULL;
    int64_t *counters = NULL;
    tess_status status = TESS_OK;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, threads * window, &work));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, threads * ((int64_t)longest + 1), &counters));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int thread = 0; thread < threads; thread++) {
        for (int64_t w = thread; w < windows; w += threads) {
            int64_t left = S->lines - w * window;
            sort_window(S, w * window, left < window ? left : window, work + thread * window,
                        counters + thread * ((int64_t)longest + 1));
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

tess_status tess_sliced_create(tess_ctx *ctx, const tess_matrix *A,
                               const tess_sliced_options *options, tess_sliced **out)
{
    int32_t V = options->vector;
    if (options->height < 1 || options->height > 1024 || options->window < 0 ||
        options->split < 0 || (V != 1 && V != 2 && V != 4))
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "sliced: height %d (1..1024), window %d and split %d (>= 0), vector %d "
                         "(1, 2 or 4)",
                         (int)options->height, (int)options->window, (int)options->split, (int)V);
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
    S->group = 1;
    while (S->group * A->block_width % V != 0)
        S->group *= 2;
    tess_status status = TESS_OK;
    TESS_TRY_CLEAN(count_lines(ctx, A, S));
    int64_t places = S->slices * options->height;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, S->slices + 1, &S->offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, places, &S->lengths));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, places, &S->starts));
    if (options->window > 1 || S->cut_rows > 0)
        TESS_TRY_CLEAN(TESS_ALLOC(ctx, places, &S->targets));
    list_lines(A, S);
    TESS_TRY_CLEAN(sort_lines(ctx, S));
    TESS_TRY_CLEAN(fill(ctx, A, S));
    *out = S;
    return TESS_OK;
cleanup:
    tess_sliced_destroy(S);
    return status;
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
    for (int64_t line = 0; line < S->lines; line++)
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
