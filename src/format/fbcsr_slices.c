#include "format/fbcsr_slices.h"

#include <stdlib.h>
#include <string.h>

#include "format/sliced.h"

enum {
    SLICE = TESS_FBCSR_SLICE,
    WIDE = TESS_FBCSR_WIDE,
    WINDOW = 512, /* rows sorted together */
    HEAD = TESS_FBCSR_HEAD,
    VALUE = TESS_FBCSR_HEAD_VALUE,
    COLUMN = TESS_FBCSR_HEAD_COLUMN,
    PIECE = TESS_FBCSR_HEAD_PIECE
};

/* Scalars are counted as in tess_fbcsr.map: the splits' values one after the other, then rest's. */
typedef struct run {
    int64_t scalar; /* the first one */
    int32_t step;   /* to the next one */
    int32_t column;
} run;

/* Runs of one width. */
typedef struct run_list {
    int width;
    int64_t *offsets; /* rows + 1 */
    run *runs;
} run_list;

typedef struct segment {
    int list;
    int64_t first, count; /* runs */
} segment;

/* The part of a line that lies in one slice. */
typedef struct line_part {
    int64_t line; /* column - shift * row */
    int64_t row, rows;
    int64_t scalar; /* the first one; the next follow */
    int64_t shift;
} line_part;

typedef struct builder {
    tess_ctx *ctx;
    const tess_fbcsr *F;
    tess_fbcsr_slices *S;
    run_list lists[WIDE]; /* width_count of them */
    segment *segment;
    int64_t segments;
    line_part *parts;
    int64_t *part_offsets; /* slices that are not of segments + 1 */
    int64_t *entry_of;     /* scalar: entry of the matrix, or -1 */
} builder;

static bool is_line(const tess_fbcsr_shape *shape)
{
    return shape->width == 1 && shape->height >= TESS_FBCSR_LINE;
}

unsigned tess_fbcsr_widths(const tess_fbcsr_options *shapes)
{
    unsigned widths = 1u << 1;
    for (int i = 0; i < shapes->count; i++) {
        const tess_fbcsr_shape *shape = &shapes->shape[i];
        if (is_line(shape))
            continue;
        if (shape->width >= WIDE)
            widths |= 1u << WIDE;
        if (shape->width % WIDE)
            widths |= 1u << shape->width % WIDE;
    }
    return widths;
}

/* Parts that `runs` runs of a row are cut into, about equally long; lengths are bytes. */
static int64_t parts_of(const run_list *list, int64_t row)
{
    int64_t runs = list->offsets[row + 1] - list->offsets[row];
    int64_t most = list->width == 1 ? UINT8_MAX : TESS_FBCSR_CUT / list->width;
    return runs <= most ? 1 : tess_ceil_div(runs, most);
}

/* The first run of part `part`. */
static int64_t part_begin(const run_list *list, int64_t row, int64_t part)
{
    int64_t first = list->offsets[row], runs = list->offsets[row + 1] - first;
    return first + runs * part / parts_of(list, row);
}

/* ---- Runs ---- */

static run_list *list_of(builder *B, int width)
{
    run_list *list = B->lists;
    while (list->width != width)
        list++;
    return list;
}

/* Counts the run, or puts it in its list when there are runs. */
static void put_run(run_list *list, int64_t row, run r)
{
    if (list->runs)
        list->runs[list->offsets[row]++] = r;
    else
        list->offsets[row + 1]++;
}

static void walk_split(builder *B, const tess_fbcsr_split *split, int64_t scalar)
{
    const tess_fbcsr_shape *shape = &split->shape;
    const int32_t height = shape->height;
    for (int32_t k = 0; k < shape->width; k += WIDE) {
        run_list *list = list_of(B, shape->width - k < WIDE ? shape->width - k : WIDE);
        for (int64_t b = 0; b < split->blocks; b++)
            for (int32_t i = 0; i < height; i++)
                put_run(list, split->rows[b] + i,
                        (run){scalar + (b * shape->width + k) * height + i, height,
                              split->cols[b] + shape->shift * i + k});
    }
}

static void walk_all(builder *B)
{
    const tess_fbcsr *F = B->F;
    int64_t scalar = 0;
    for (int s = 0; s < F->splits; s++) {
        if (!is_line(&F->split[s].shape))
            walk_split(B, &F->split[s], scalar);
        scalar += F->split[s].blocks * tess_fbcsr_cells(&F->split[s].shape);
    }
    run_list *single = list_of(B, 1);
    for (int64_t row = 0; row < F->rows; row++)
        for (int64_t k = F->rest->row_offsets[row]; k < F->rest->row_offsets[row + 1]; k++)
            put_run(single, row, (run){scalar + k, 0, F->rest->columns[k]});
}

static tess_status list_runs(builder *B)
{
    const int64_t rows = B->F->rows;
    int count = 0;
    for (int width = WIDE; width > 0; width--)
        if (B->S->widths >> width & 1)
            B->lists[count++].width = width;
    B->S->width_count = count;
    for (int i = 0; i < count; i++)
        TESS_TRY(TESS_CALLOC(B->ctx, rows + 1, &B->lists[i].offsets));
    walk_all(B);
    for (int i = 0; i < count; i++) {
        run_list *list = &B->lists[i];
        tess_counts_to_offsets(list->offsets, rows);
        TESS_TRY(TESS_ALLOC(B->ctx, list->offsets[rows] + 1, &list->runs));
    }
    walk_all(B);
    for (int i = 0; i < count; i++) { /* filling moved every offset to the next row's */
        int64_t *offsets = B->lists[i].offsets;
        memmove(offsets + 1, offsets, (size_t)rows * sizeof *offsets);
        offsets[0] = 0;
    }
    return TESS_OK;
}

/* ---- Rows that are cut ---- */

static int64_t segments_of_row(const builder *B, int64_t row)
{
    int64_t segments = 0;
    for (int i = 0; i < B->S->width_count; i++)
        segments += parts_of(&B->lists[i], row) - 1;
    return segments;
}

/* The first part of each width stays in the row's slice. */
static void cut_row(builder *B, int64_t row)
{
    for (int i = 0; i < B->S->width_count; i++) {
        const run_list *list = &B->lists[i];
        for (int64_t part = 1; part < parts_of(list, row); part++) {
            int64_t first = part_begin(list, row, part);
            B->segment[B->segments++] =
                (segment){i, first, part_begin(list, row, part + 1) - first};
        }
    }
}

static tess_status cut_rows(builder *B)
{
    tess_fbcsr_slices *S = B->S;
    int64_t total = 0;
    for (int64_t row = 0; row < B->F->rows; row++) {
        int64_t segments = segments_of_row(B, row);
        total += segments;
        S->cut_rows += segments > 0;
        S->cut_long += segments > TESS_SLICED_LONG;
    }
    S->segments = tess_ceil_div(total, SLICE);
    TESS_TRY(TESS_ALLOC(B->ctx, total + 1, &B->segment));
    TESS_TRY(TESS_ALLOC(B->ctx, S->cut_rows + 1, &S->cut_row));
    TESS_TRY(TESS_ALLOC(B->ctx, S->cut_rows + 1, &S->cut_slots));
    int64_t cut = 0;
    for (int many = 1; many >= 0 && S->cut_rows > 0; many--) {
        for (int64_t row = 0; row < B->F->rows; row++) {
            int64_t segments = segments_of_row(B, row);
            if (segments == 0 || (segments > TESS_SLICED_LONG) != many)
                continue;
            S->cut_row[cut] = (int32_t)row;
            S->cut_slots[cut++] = (int32_t)B->segments;
            cut_row(B, row);
        }
    }
    S->cut_slots[S->cut_rows] = (int32_t)B->segments;
    return TESS_OK;
}

/* The row in place `lane` of a slice that is not one of segments; beyond the last: none. */
static int64_t row_of(const tess_fbcsr_slices *S, int64_t slice, int lane)
{
    int64_t place = (slice - S->segments) * SLICE + lane;
    return S->targets ? S->targets[place] : place;
}

/* Runs of a list in place `lane` of a slice: how many, and the first of them. */
static int64_t runs_of(const builder *B, int list, int64_t slice, int lane, int64_t *first)
{
    const run_list *L = &B->lists[list];
    int64_t place = slice * SLICE + lane;
    if (slice >= B->S->segments) {
        int64_t row = row_of(B->S, slice, lane);
        if (row >= B->F->rows)
            return 0;
        *first = L->offsets[row];
        return part_begin(L, row, 1) - *first;
    }
    if (place >= B->segments || B->segment[place].list != list)
        return 0;
    *first = B->segment[place].first;
    return B->segment[place].count;
}

/* ---- The order of the rows ---- */

typedef struct sized_row {
    int64_t scalars;
    int32_t row;
} sized_row;

static int by_size(const void *a, const void *b)
{
    const sized_row *x = a, *y = b;
    if (x->scalars != y->scalars)
        return x->scalars > y->scalars ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

static int64_t scalars_of_row(const builder *B, int64_t row)
{
    int64_t scalars = 0;
    for (int i = 0; i < B->S->width_count && row < B->F->rows; i++)
        scalars +=
            (part_begin(&B->lists[i], row, 1) - B->lists[i].offsets[row]) * B->lists[i].width;
    return scalars;
}

/* Without lines nothing asks for adjacent rows in a slice: rows are sorted by falling length in
 * windows, so that all lanes of a slice have about as much to do. */
static tess_status sort_rows(builder *B)
{
    tess_fbcsr_slices *S = B->S;
    const int64_t places = tess_ceil_div(B->F->rows, SLICE) * SLICE;
    for (int s = 0; s < B->F->splits; s++)
        if (is_line(&B->F->split[s].shape))
            return TESS_OK;
    TESS_TRY(TESS_ALLOC(B->ctx, places, &S->targets));
#pragma omp parallel for num_threads(B->ctx->threads) schedule(static)
    for (int64_t first = 0; first < places; first += WINDOW) {
        sized_row window[WINDOW];
        int64_t count = places - first < WINDOW ? places - first : WINDOW;
        for (int64_t i = 0; i < count; i++)
            window[i] = (sized_row){scalars_of_row(B, first + i), (int32_t)(first + i)};
        qsort(window, (size_t)count, sizeof *window, by_size);
        for (int64_t i = 0; i < count; i++)
            S->targets[first + i] = window[i].row;
    }
    return TESS_OK;
}

/* ---- Pieces ---- */

/* Counts the parts of lines by slices, or lists them when there is room. */
static void walk_lines(builder *B)
{
    const tess_fbcsr *F = B->F;
    int64_t scalar = 0;
    for (int s = 0; s < F->splits; s++) {
        const tess_fbcsr_split *split = &F->split[s];
        const tess_fbcsr_shape *shape = &split->shape;
        for (int64_t b = 0; is_line(shape) && b < split->blocks; b++) {
            int64_t top = split->rows[b], end = top + shape->height, to;
            for (int64_t row = top; row < end; row = to) {
                int64_t slice = row / SLICE;
                to = (slice + 1) * SLICE < end ? (slice + 1) * SLICE : end;
                if (B->parts)
                    B->parts[B->part_offsets[slice]++] =
                        (line_part){split->cols[b] - shape->shift * top, row, to - row,
                                    scalar + b * shape->height + (row - top), shape->shift};
                else
                    B->part_offsets[slice + 1]++;
            }
        }
        scalar += split->blocks * tess_fbcsr_cells(shape);
    }
}

static int by_line(const void *a, const void *b)
{
    const line_part *x = a, *y = b;
    if (x->shift != y->shift)
        return x->shift < y->shift ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Whether the part goes on where the one before it in the same slice ends. */
static bool continues(const line_part *before, const line_part *part)
{
    return before->shift == part->shift && before->line == part->line &&
           before->row + before->rows == part->row;
}

static tess_status list_lines(builder *B)
{
    tess_fbcsr_slices *S = B->S;
    const int64_t slices = tess_ceil_div(B->F->rows, SLICE);
    TESS_TRY(TESS_CALLOC(B->ctx, slices + 1, &B->part_offsets));
    walk_lines(B);
    tess_counts_to_offsets(B->part_offsets, slices);
    TESS_TRY(TESS_ALLOC(B->ctx, B->part_offsets[slices] + 1, &B->parts));
    walk_lines(B);
    memmove(B->part_offsets + 1, B->part_offsets, (size_t)slices * sizeof *B->part_offsets);
    B->part_offsets[0] = 0;
#pragma omp parallel for num_threads(B->ctx->threads) schedule(static)
    for (int64_t slice = 0; slice < slices; slice++) {
        int64_t first = B->part_offsets[slice], end = B->part_offsets[slice + 1];
        int64_t *head = S->heads + (slice + S->segments + 1) * HEAD;
        qsort(B->parts + first, (size_t)(end - first), sizeof *B->parts, by_line);
        for (int64_t p = first; p < end; p++) {
            head[VALUE] += B->parts[p].rows;
            head[PIECE] += p == first || !continues(&B->parts[p - 1], &B->parts[p]);
        }
    }
    return TESS_OK;
}

/* The pieces of a slice and their values; *value moves on. */
static void fill_pieces(const builder *B, int64_t slice, int64_t *value)
{
    const tess_fbcsr_slices *S = B->S;
    int64_t piece = S->heads[slice * HEAD + PIECE] - 1, natural = slice - S->segments;
    if (natural < 0)
        return;
    int64_t first = B->part_offsets[natural], end = B->part_offsets[natural + 1];
    for (int64_t p = first; p < end; p++) {
        const line_part *part = &B->parts[p];
        if (p == first || !continues(part - 1, part))
            S->pieces[++piece] = part->line + part->shift * part->row +
                                 ((part->row % SLICE) << 32) + part->shift * ((int64_t)1 << 48);
        S->pieces[piece] += part->rows << 40;
        for (int64_t i = 0; i < part->rows; i++)
            S->entries[(*value)++] = B->entry_of[part->scalar + i];
    }
}

/* ---- Slices ---- */

static void add_runs_to_head(const builder *B, int64_t slice)
{
    tess_fbcsr_slices *S = B->S;
    for (int i = 0; i < S->width_count; i++) {
        for (int lane = 0; lane < SLICE; lane++) {
            int64_t first, count = runs_of(B, i, slice, lane, &first);
            S->lengths[(slice * S->width_count + i) * SLICE + lane] = (uint8_t)count;
            S->heads[(slice + 1) * HEAD + COLUMN] += count;
            S->heads[(slice + 1) * HEAD + VALUE] += count * B->lists[i].width;
        }
    }
}

static tess_status make_heads(builder *B)
{
    tess_fbcsr_slices *S = B->S;
    S->slices = S->segments + tess_ceil_div(B->F->rows, SLICE);
    TESS_TRY(TESS_CALLOC(B->ctx, (S->slices + 1) * HEAD, &S->heads));
    TESS_TRY(TESS_ALLOC(B->ctx, S->slices * S->width_count * SLICE, &S->lengths));
    TESS_TRY(list_lines(B));
#pragma omp parallel for num_threads(B->ctx->threads) schedule(static)
    for (int64_t slice = 0; slice < S->slices; slice++)
        add_runs_to_head(B, slice);
    for (int64_t i = 0; i < S->slices * HEAD; i++)
        S->heads[i + HEAD] += S->heads[i];
    return TESS_OK;
}

/* The steps of one width; *value and *column move on. */
static void fill_steps(const builder *B, int list, int64_t slice, int64_t *value, int64_t *column)
{
    const tess_fbcsr_slices *S = B->S;
    const int width = B->lists[list].width;
    int64_t first[SLICE], count[SLICE], active;
    for (int lane = 0; lane < SLICE; lane++)
        count[lane] = runs_of(B, list, slice, lane, &first[lane]);
    for (int64_t k = 0;; k++) {
        active = 0;
        for (int lane = 0; lane < SLICE; lane++)
            active += k < count[lane];
        if (active == 0)
            return;
        for (int lane = 0, rank = 0; lane < SLICE; lane++) {
            if (k >= count[lane])
                continue;
            const run *r = &B->lists[list].runs[first[lane] + k];
            S->columns[*column + rank] = r->column;
            for (int j = 0; j < width; j++)
                S->entries[*value + j * active + rank] =
                    B->entry_of[r->scalar + (int64_t)j * r->step];
            rank++;
        }
        *column += active;
        *value += active * width;
    }
}

static void fill_slice(const builder *B, int64_t slice)
{
    const tess_fbcsr_slices *S = B->S;
    int64_t value = S->heads[slice * HEAD + VALUE], column = S->heads[slice * HEAD + COLUMN];
    fill_pieces(B, slice, &value);
    for (int i = 0; i < S->width_count; i++)
        fill_steps(B, i, slice, &value, &column);
}

static tess_status find_entries(builder *B)
{
    const tess_fbcsr *F = B->F;
    int64_t scalars = F->rest->blocks;
    for (int s = 0; s < F->splits; s++)
        scalars += F->split[s].blocks * tess_fbcsr_cells(&F->split[s].shape);
    TESS_TRY(TESS_ALLOC(B->ctx, scalars + 1, &B->entry_of));
    memset(B->entry_of, 0xff, (size_t)scalars * sizeof *B->entry_of);
    for (int64_t i = 0; i < F->nonzeros; i++)
        B->entry_of[F->map[i]] = i;
    return TESS_OK;
}

static tess_status build(builder *B)
{
    tess_fbcsr_slices *S = B->S;
    TESS_TRY(list_runs(B));
    TESS_TRY(cut_rows(B));
    TESS_TRY(sort_rows(B));
    TESS_TRY(make_heads(B));
    TESS_TRY(find_entries(B));
    int64_t values = tess_fbcsr_slices_count(S, VALUE);
    TESS_TRY(TESS_ALLOC(B->ctx, tess_fbcsr_slices_count(S, PIECE) + 1, &S->pieces));
    TESS_TRY(TESS_ALLOC(B->ctx, tess_fbcsr_slices_count(S, COLUMN) + 1, &S->columns));
    TESS_TRY(TESS_ALLOC(B->ctx, values + 1, &S->entries));
    TESS_TRY(tess_alloc_bytes(B->ctx, values, tess_type_size(S->type), &S->values));
#pragma omp parallel for num_threads(B->ctx->threads) schedule(dynamic, 64)
    for (int64_t slice = 0; slice < S->slices; slice++)
        fill_slice(B, slice);
    return TESS_OK;
}

tess_status tess_fbcsr_slices_create(tess_ctx *ctx, const tess_fbcsr *F,
                                     const tess_fbcsr_options *shapes, const void *csr_values,
                                     tess_fbcsr_slices **out)
{
    tess_fbcsr_slices *S;
    TESS_TRY(TESS_CALLOC(ctx, 1, &S));
    S->ctx = ctx;
    S->type = F->type;
    S->widths = tess_fbcsr_widths(shapes);
    builder B = {.ctx = ctx, .F = F, .S = S};
    tess_status status = build(&B);
    for (int i = 0; i < WIDE; i++) {
        tess_free(ctx, B.lists[i].offsets);
        tess_free(ctx, B.lists[i].runs);
    }
    tess_free(ctx, B.segment);
    tess_free(ctx, B.parts);
    tess_free(ctx, B.part_offsets);
    tess_free(ctx, B.entry_of);
    if (status != TESS_OK) {
        tess_fbcsr_slices_destroy(S);
        return status;
    }
    tess_fbcsr_slices_refresh(S, csr_values);
    *out = S;
    return TESS_OK;
}

void tess_fbcsr_slices_destroy(tess_fbcsr_slices *S)
{
    if (!S)
        return;
    tess_free(S->ctx, S->heads);
    tess_free(S->ctx, S->pieces);
    tess_free(S->ctx, S->targets);
    tess_free(S->ctx, S->lengths);
    tess_free(S->ctx, S->columns);
    tess_free(S->ctx, S->values);
    tess_free(S->ctx, S->entries);
    tess_free(S->ctx, S->cut_row);
    tess_free(S->ctx, S->cut_slots);
    tess_free(S->ctx, S);
}

void tess_fbcsr_slices_refresh(tess_fbcsr_slices *S, const void *csr_values)
{
    const int64_t values = tess_fbcsr_slices_count(S, VALUE);
#pragma omp parallel for num_threads(S->ctx->threads) schedule(static)
    for (int64_t i = 0; i < values; i++) {
        int64_t entry = S->entries[i];
        if (S->type == TESS_F64)
            ((double *)S->values)[i] = entry < 0 ? 0 : ((const double *)csr_values)[entry];
        else
            ((float *)S->values)[i] = entry < 0 ? 0 : ((const float *)csr_values)[entry];
    }
}
