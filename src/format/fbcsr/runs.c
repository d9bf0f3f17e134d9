/* Every row of what is in no line, covered by runs of given widths that take the fewest bytes. */
#include "format/fbcsr/runs.h"

#include <string.h>

bool tess_fbcsr_is_line(const tess_shape *shape)
{
    return shape->width == 1 && shape->height >= TESS_FBCSR_LINE;
}

bool tess_fbcsr_has_lines(const tess_fbcsr_options *shapes)
{
    for (int i = 0; i < shapes->count; i++)
        if (tess_fbcsr_is_line(&shapes->shape[i]))
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
    if (all > TESS_FBCSR_CLASSES) /* any length is a sum of these */
        set = 1u << 8 | 1u << 4 | 1u << 2 | 1u << 1;
    for (int w = TESS_FBCSR_WIDE; w > 0; w--)
        if (set >> w & 1)
            width[count++] = w;
    return count;
}

bool tess_fbcsr_in_line(const tess_fbcsr_builder *B, int64_t entry)
{
    if (!B->F)
        return false;
    int64_t scalar = B->F->map[entry];
    for (int s = 0; s < B->F->splits; s++) {
        const tess_fbcsr_split *split = &B->F->split[s];
        int64_t scalars = split->blocks * tess_shape_cells(&split->shape);
        if (scalar < scalars)
            return tess_fbcsr_is_line(&split->shape);
        scalar -= scalars;
    }
    return false;
}

/* One row's entries that are in no line, and how they are covered from each of them on. */
typedef struct cover {
    int64_t *entry;
    int64_t *bytes;
    uint8_t *choice; /* the class of the run that begins there */
} cover;

/* The first of the row's entries that a run of `width` columns from entry i on does not hold. */
static int64_t behind(const tess_fbcsr_builder *B, const cover *C, int64_t count, int64_t i,
                      int width)
{
    int64_t end = (int64_t)B->A->columns[C->entry[i]] + width;
    while (i < count && B->A->columns[C->entry[i]] < end)
        i++;
    return i;
}

/* From the last entry back: the run to begin with that leaves the fewest bytes in all. */
static int64_t cover_row(const tess_fbcsr_builder *B, int64_t row, const cover *C)
{
    const int64_t value = (int64_t)tess_type_size(B->A->type);
    int64_t count = 0;
    for (int64_t k = B->A->row_offsets[row]; k < B->A->row_offsets[row + 1]; k++)
        if (!tess_fbcsr_in_line(B, k))
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

/* Counts the runs of the row, or lists them. A run may not reach beyond the last column. */
static void put_runs(tess_fbcsr_builder *B, int64_t row, const cover *C, int64_t count)
{
    for (int64_t i = 0; i < count;) {
        tess_fbcsr_runs *list = &B->lists[C->choice[i]];
        if (list->runs) {
            int64_t column = B->A->columns[C->entry[i]], last = B->A->cols - list->width;
            list->runs[list->offsets[row]++] =
                (tess_fbcsr_run){C->entry[i], (int32_t)(column < last ? column : last)};
        } else {
            list->offsets[row + 1]++;
        }
        i = behind(B, C, count, i, list->width);
    }
}

static tess_status walk_rows(tess_fbcsr_builder *B)
{
    const tess_matrix *A = B->A;
    const int threads = B->ctx->threads;
    int64_t longest = 0;
    for (int64_t row = 0; row < A->rows; row++) {
        int64_t length = A->row_offsets[row + 1] - A->row_offsets[row];
        longest = length > longest ? length : longest;
    }
    int64_t *numbers = NULL;
    uint8_t *choices = NULL;
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(B->ctx, threads * (2 * longest + 1), &numbers));
    TESS_TRY_CLEAN(TESS_ALLOC(B->ctx, threads * longest + 1, &choices));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        int64_t *mine = numbers + t * (2 * longest + 1);
        const cover C = {mine, mine + longest, choices + t * longest};
        for (int64_t row = A->rows * t / threads; row < A->rows * (t + 1) / threads; row++)
            put_runs(B, row, &C, cover_row(B, row, &C));
    }
cleanup:
    tess_free(B->ctx, numbers);
    tess_free(B->ctx, choices);
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
