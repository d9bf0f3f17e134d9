/* The parts of slices: the pieces of diagonals in each slice, and the runs that cover the other
 * entries. The runs of a row have given widths and take the fewest bytes; slices.h has the picture.
 */
#include "format/fbcsr/runs.h"

enum { WARP = TESS_FBCSR_WARP, SEGMENT_PLACES = WARP / TESS_FBCSR_SEGMENT_LANES };

typedef tess_fbcsr_builder builder;

/* ---- Shapes ---- */

static bool is_diagonal(const tess_shape *shape)
{
    return shape->width == 1 && shape->height >= TESS_FBCSR_DIAGONAL;
}

bool tess_fbcsr_has_diagonals(const tess_fbcsr_options *shapes)
{
    for (int i = 0; i < shapes->count; i++)
        if (is_diagonal(&shapes->shape[i]))
            return true;
    return false;
}

int tess_fbcsr_widths(const tess_fbcsr_options *shapes, int width[TESS_FBCSR_CLASSES])
{
    unsigned set = 1u << 1;
    int count = 0, all = 0;
    for (int i = 0; i < shapes->count; i++) {
        const tess_shape *shape = &shapes->shape[i];
        if (shape->width >= TESS_FBCSR_WIDE)
            set |= 1u << TESS_FBCSR_WIDE;
        if (shape->width % TESS_FBCSR_WIDE)
            set |= 1u << shape->width % TESS_FBCSR_WIDE;
    }
    for (int w = 1; w <= TESS_FBCSR_WIDE; w++)
        all += (int)(set >> w & 1);
    if (all > TESS_FBCSR_CLASSES) /* any length is a sum of these four */
        set = 1u << 8 | 1u << 4 | 1u << 2 | 1u << 1;
    for (int w = TESS_FBCSR_WIDE; w > 0; w--)
        if (set >> w & 1)
            width[count++] = w;
    return count;
}

/* ---- Runs ---- */

bool tess_fbcsr_in_diagonal(const tess_fbcsr_builder *B, int64_t entry)
{
    if (!B->F)
        return false;
    int64_t scalar = B->F->map[entry];
    for (int s = 0; s < B->F->splits; s++) {
        const tess_fbcsr_split *split = &B->F->split[s];
        int64_t scalars = split->blocks * tess_shape_cells(&split->shape);
        if (scalar < scalars)
            return is_diagonal(&split->shape);
        scalar -= scalars;
    }
    return false;
}

/* The entries of one row that are in no diagonal. For each of them: the bytes of the runs that
 * cover the row from that entry on, and the first of these runs. */
typedef struct cover {
    int64_t *entry;
    int64_t *bytes;
    uint8_t *choice; /* the class of the run that begins at the entry */
} cover;

/* The first of the row's entries after those in a run of `width` columns that begins at entry i. */
static int64_t behind(const tess_fbcsr_builder *B, const cover *C, int64_t count, int64_t i,
                      int width)
{
    int64_t end = (int64_t)B->A->columns[C->entry[i]] + width;
    while (i < count && B->A->columns[C->entry[i]] < end)
        i++;
    return i;
}

/* Chooses for each entry, from the last to the first, the run that begins there, such that the row
 * from the entry on takes the fewest bytes. */
static int64_t cover_row(const tess_fbcsr_builder *B, int64_t row, const cover *C)
{
    const int64_t value = (int64_t)tess_type_size(B->A->type);
    int64_t count = 0;
    for (int64_t k = B->A->row_offsets[row]; k < B->A->row_offsets[row + 1]; k++)
        if (!tess_fbcsr_in_diagonal(B, k))
            C->entry[count++] = k;
    C->bytes[count] = 0;
    for (int64_t i = count - 1; i >= 0; i--) {
        C->bytes[i] = INT64_MAX;
        for (int c = 0; c < B->S->classes; c++) {
            int width = B->S->width[c];
            if (width > B->A->cols)
                continue;
            int64_t bytes = value * width + 4 + C->bytes[behind(B, C, count, i, width)];
            if (bytes < C->bytes[i]) {
                C->bytes[i] = bytes;
                C->choice[i] = (uint8_t)c;
            }
        }
    }
    return count;
}

/* Counts the runs of the row, or lists them if there is a list. A run that would reach beyond the
 * last column is moved to the left. */
static void put_runs(tess_fbcsr_builder *B, int64_t row, const cover *C, int64_t count)
{
    for (int64_t i = 0; i < count;) {
        tess_fbcsr_runs *list = &B->lists[C->choice[i]];
        if (list->runs) {
            int64_t column = B->A->columns[C->entry[i]], last = B->A->cols - list->width;
            list->runs[list->offsets[row]++] =
                (tess_fbcsr_run){C->entry[i], (int32_t)tess_min(column, last)};
        } else {
            list->offsets[row + 1]++;
        }
        i = behind(B, C, count, i, list->width);
    }
}

struct walk_share {
    tess_fbcsr_builder *B;
    int64_t *numbers, longest;
    uint8_t *choices;
};

static void walk_share(void *arg, tess_range rows)
{
    const struct walk_share *job = arg;
    const int64_t longest = job->longest;
    int64_t *mine = job->numbers + rows.share * (2 * longest + 1);
    const cover C = {mine, mine + longest, job->choices + rows.share * longest};
    for (int64_t row = rows.first; row < rows.last; row++)
        put_runs(job->B, row, &C, cover_row(job->B, row, &C));
}

static tess_status walk_rows(tess_fbcsr_builder *B)
{
    const tess_matrix *A = B->A;
    const int threads = B->ctx->threads;
    const int64_t longest = tess_matrix_longest_row(A);
    int64_t *numbers = NULL;
    uint8_t *choices = NULL;
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(B->ctx, threads * (2 * longest + 1), &numbers));
    TESS_TRY_CLEAN(TESS_ALLOC(B->ctx, threads * longest + 1, &choices));
    tess_for(B->ctx, A->rows, walk_share, &(struct walk_share){B, numbers, longest, choices});
cleanup:
    TESS_FREE(B->ctx, numbers, choices);
    return status;
}

tess_status tess_fbcsr_cover_rows(tess_fbcsr_builder *B)
{
    const int64_t rows = B->A->rows;
    const int classes = B->S->classes;
    for (int c = 0; c < classes; c++) {
        B->lists[c].width = B->S->width[c];
        TESS_TRY(TESS_CALLOC(B->ctx, rows + 1, &B->lists[c].offsets));
    }
    TESS_TRY(walk_rows(B));
    for (int c = 0; c < classes; c++) {
        tess_counts_to_offsets(B->lists[c].offsets, rows);
        TESS_TRY(TESS_ALLOC(B->ctx, B->lists[c].offsets[rows] + 1, &B->lists[c].runs));
    }
    TESS_TRY(walk_rows(B));
    for (int c = 0; c < classes; c++) { /* listing moved every offset to the next row's */
        int64_t *offsets = B->lists[c].offsets;
        memmove(offsets + 1, offsets, (size_t)rows * sizeof *offsets);
        offsets[0] = 0;
    }
    return TESS_OK;
}

/* ---- Pieces of diagonals ---- */

typedef tess_fbcsr_diagonal_part part;

/* Counts the parts of diagonals in each slice, or lists them once there is memory for them. */
static void walk_diagonals(tess_fbcsr_builder *B)
{
    const tess_fbcsr *F = B->F;
    int64_t scalar = 0;
    for (int s = 0; s < F->splits; s++) {
        const tess_fbcsr_split *split = &F->split[s];
        const tess_shape *shape = &split->shape;
        for (int64_t b = 0; is_diagonal(shape) && b < split->blocks; b++) {
            int64_t top = split->rows[b], end = top + shape->height, to;
            for (int64_t row = top; row < end; row = to) {
                int64_t slice = row / WARP;
                to = tess_min((slice + 1) * WARP, end);
                if (B->parts)
                    B->parts[B->part_offsets[slice]++] =
                        (part){.diagonal = split->cols[b] - (int64_t)shape->shift * top,
                               .row = row,
                               .rows = to - row,
                               .scalar = scalar + b * shape->height + (row - top),
                               .shift = shape->shift};
                else
                    B->part_offsets[slice + 1]++;
            }
        }
        scalar += split->blocks * tess_shape_cells(shape);
    }
}

static int by_diagonal(const void *a, const void *b)
{
    const part *x = a, *y = b;
    if (x->shift != y->shift)
        return x->shift < y->shift ? -1 : 1;
    if (x->diagonal != y->diagonal)
        return x->diagonal < y->diagonal ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Whether `after` continues the diagonal where `before`, of the same slice, ends. */
static bool continues(const part *before, const part *after)
{
    return before->shift == after->shift && before->diagonal == after->diagonal &&
           before->row + before->rows == after->row;
}

/* Sets for each part its piece and where its values lie. Returns the numbers of pieces and
 * values. */
static tess_fbcsr_diagonal_count number_pieces(part *parts, int64_t count)
{
    tess_fbcsr_diagonal_count found = {0};
    for (int64_t p = 0; p < count; p++) {
        found.pieces += p == 0 || !continues(&parts[p - 1], &parts[p]);
        parts[p].piece = found.pieces - 1;
        parts[p].value = found.values;
        found.values += (int32_t)parts[p].rows;
    }
    return found;
}

static void sort_parts(void *arg, tess_range range)
{
    tess_fbcsr_builder *B = arg;
    for (int64_t s = range.first; s < range.last; s++) {
        part *parts = B->parts + B->part_offsets[s];
        int64_t count = B->part_offsets[s + 1] - B->part_offsets[s];
        qsort(parts, (size_t)count, sizeof *parts, by_diagonal);
        B->diagonal_counts[s] = number_pieces(parts, count);
    }
}

tess_status tess_fbcsr_list_diagonals(tess_fbcsr_builder *B)
{
    const int64_t slices = tess_ceil_div(B->A->rows, WARP);
    TESS_TRY(TESS_CALLOC(B->ctx, slices + 1, &B->part_offsets));
    TESS_TRY(TESS_CALLOC(B->ctx, slices, &B->diagonal_counts));
    walk_diagonals(B);
    tess_counts_to_offsets(B->part_offsets, slices);
    TESS_TRY(TESS_ALLOC(B->ctx, B->part_offsets[slices] + 1, &B->parts));
    walk_diagonals(B);
    memmove(B->part_offsets + 1, B->part_offsets, (size_t)slices * sizeof *B->part_offsets);
    B->part_offsets[0] = 0;
    tess_for(B->ctx, slices, sort_parts, B);
    return TESS_OK;
}

/* ---- Places ---- */

int tess_fbcsr_lanes_of(const tess_fbcsr_slices *S, int64_t slice)
{
    return slice < S->segments ? TESS_FBCSR_SEGMENT_LANES : S->lanes;
}

int64_t tess_fbcsr_first_place(const tess_fbcsr_slices *S, int64_t slice)
{
    if (slice < S->segments)
        return slice * SEGMENT_PLACES;
    return S->segments * SEGMENT_PLACES + (slice - S->segments) * (WARP / S->lanes);
}

static int64_t most_runs(const tess_fbcsr_slices *S)
{
    return ((int64_t)1 << 32 / S->classes) - 1;
}

bool tess_fbcsr_is_cut(const builder *B, int64_t row)
{
    int64_t scalars = 0;
    bool countable = true;
    for (int c = 0; c < B->S->classes; c++) {
        int64_t runs = tess_fbcsr_runs_in(B, c, row);
        scalars += runs * B->S->width[c];
        countable &= runs <= most_runs(B->S);
    }
    const bool diagonals = B->S->head == TESS_FBCSR_HEAD_WITH_PIECES;
    return !countable ||
           scalars > (diagonals ? TESS_FBCSR_CUT_BESIDE : TESS_FBCSR_CUT * B->S->lanes);
}

/* Whether the entries of the row that are in no diagonal are stored as pieces. */
static bool is_lone(const builder *B, int64_t row)
{
    return B->diagonal_counts && B->diagonal_counts[row / WARP].lone > 0;
}

tess_fbcsr_some_runs tess_fbcsr_runs_of(const builder *B, int64_t at, int list)
{
    const tess_fbcsr_slices *S = B->S;
    const int64_t segments = S->segments * SEGMENT_PLACES;
    if (at < segments) {
        if (at >= B->segments || B->segment[at].list != list)
            return (tess_fbcsr_some_runs){0};
        return (tess_fbcsr_some_runs){B->segment[at].row, B->segment[at].first,
                                      B->segment[at].count};
    }
    int64_t row = S->targets ? S->targets[at - segments] : at - segments;
    if (row >= B->A->rows || tess_fbcsr_is_cut(B, row) || is_lone(B, row))
        return (tess_fbcsr_some_runs){0};
    return (tess_fbcsr_some_runs){row, B->lists[list].offsets[row],
                                  tess_fbcsr_runs_in(B, list, row)};
}

int64_t tess_fbcsr_diagonal_groups(const builder *B, int64_t slice)
{
    if (!B->diagonal_counts || slice < B->S->segments)
        return 0;
    return tess_ceil_div(B->diagonal_counts[slice - B->S->segments].values, WARP);
}
