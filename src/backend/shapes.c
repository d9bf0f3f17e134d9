#include "backend/shapes.h"

#include "format/fbcsr/split.h"

/* ---- The sample ---- */

/* The sample: PLACES places of ENTRIES entries each. An entry in a piece of at least LENGTH entries
 * has most of the LENGTH - 1 places that follow it in the piece's direction. */
enum { PLACES = 64, ENTRIES = 64, LENGTH = 4 };
/* The least share of the entries that must lie in one kind of piece. */
static const double least_share = 0.3;

/* The number of stored entries among the LENGTH - 1 places that follow (row, col) in steps of
 * `down` rows and `right` columns. */
static int followers(const tess_matrix *A, int64_t row, int64_t col, int down, int right)
{
    int count = 0;
    for (int i = 1; i < LENGTH; i++) {
        int64_t r = row + (int64_t)i * down, c = col + (int64_t)i * right;
        count += r < A->rows && c >= 0 && c < A->cols && tess_matrix_find(A, r, c) >= 0;
    }
    return count;
}

bool tess_shapes_promising(const tess_matrix *A)
{
    static const int directions[][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
    int64_t looked = 0, inside[4] = {0};
    if (A->block_height != 1 || A->block_width != 1)
        return false;
    for (int64_t p = 0; p < PLACES; p++) {
        int64_t row = A->rows * p / PLACES, k = 0;
        for (; row < A->rows && k < ENTRIES; row++) {
            for (int64_t at = A->row_offsets[row]; at < A->row_offsets[row + 1] && k < ENTRIES;
                 at++, k++) {
                looked++;
                for (int d = 0; d < 4; d++) {
                    int64_t col = A->columns[at];
                    int found = followers(A, row, col, directions[d][0], directions[d][1]);
                    inside[d] += found >= LENGTH - 2;
                }
            }
        }
    }
    for (int d = 0; d < 4; d++)
        if (looked > 0 && (double)inside[d] >= least_share * (double)looked)
            return true;
    return false;
}

/* ---- Lists ---- */

tess_status tess_shapes_read(tess_ctx *ctx, const char *text, tess_fbcsr_options *out)
{
    char list[TESS_SHAPES_TEXT];
    snprintf(list, sizeof list, "%s", text);
    for (char *slash = list; (slash = strchr(slash, '/'));)
        *slash = ',';
    return tess_shape_list_parse(ctx, list, out);
}

static tess_status choose(tess_ctx *ctx, const tess_matrix *A, bool slices, tess_fbcsr_options *out)
{
    return slices ? tess_fbcsr_choose_slices(ctx, A, out) : tess_fbcsr_choose(ctx, A, out);
}

tess_status tess_shapes_choose(tess_ctx *ctx, const tess_matrix *A, const char *text, bool slices,
                               tess_fbcsr_options *out)
{
    TESS_TRY(tess_shapes_read(ctx, text, out));
    return out->count > 0 ? TESS_OK : choose(ctx, A, slices, out);
}

void tess_shapes_write(tess_fbcsr_options *options, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < options->count; i++) {
        char one[64];
        int length = snprintf(one, sizeof one, "%s%s", i ? "/" : "", options->shape[i].name);
        if (options->threshold[i] != TESS_SHAPE_NO_THRESHOLD)
            length +=
                snprintf(one + length, sizeof one - (size_t)length, "@%g", options->threshold[i]);
        if (used + (size_t)length >= size) {
            options->count = i;
            return;
        }
        memcpy(text + used, one, (size_t)length + 1);
        used += (size_t)length;
    }
}

/* ---- A quick choice from a part of the matrix ---- */

enum { PIECES = 4, LEAST_ENTRIES = 24000, SHARE = 16, GAP = 64 };

/* A sample of about `entries` entries: rows of A from PIECES places, with empty rows between the
 * places. Only its pattern is set. */
static tess_status take_pieces(tess_ctx *ctx, const tess_matrix *A, int64_t entries,
                               tess_matrix **out)
{
    const int64_t most = entries / PIECES / 8; /* of one row */
    int64_t first[PIECES], last[PIECES], rows = 0, count = 0, to = 0;
    for (int p = 0; p < PIECES; p++) {
        int64_t before = count;
        first[p] = p > 0 ? tess_max(last[p - 1], A->rows * p / PIECES) : 0;
        for (last[p] = first[p]; last[p] < A->rows && count - before < entries / PIECES; last[p]++)
            count += tess_fbcsr_sampled(A, last[p], most);
        rows += last[p] - first[p] + GAP;
    }
    tess_matrix *S;
    TESS_TRY(tess_matrix_allocate(ctx, A->type, rows, A->cols, 1, 1, count, &S));
    for (int p = 0; p < PIECES; p++) {
        for (int64_t i = first[p]; i < last[p]; i++, to++) {
            int64_t length = tess_fbcsr_sampled(A, i, most);
            memcpy(S->columns + S->row_offsets[to], A->columns + A->row_offsets[i],
                   (size_t)length * sizeof *S->columns);
            S->row_offsets[to + 1] = S->row_offsets[to] + length;
        }
        for (int i = 0; i < GAP; i++, to++)
            S->row_offsets[to + 1] = S->row_offsets[to];
    }
    *out = S;
    return TESS_OK;
}

tess_status tess_shapes_look(tess_ctx *ctx, const tess_matrix *A, bool slices,
                             tess_fbcsr_options *out)
{
    *out = (tess_fbcsr_options){0};
    if (!tess_shapes_promising(A))
        return TESS_OK;
    int64_t entries = tess_max(A->blocks / SHARE, LEAST_ENTRIES);
    if (A->blocks < 2 * entries)
        return choose(ctx, A, slices, out);
    tess_matrix *pieces;
    TESS_TRY(take_pieces(ctx, A, entries, &pieces));
    tess_status status = choose(ctx, pieces, slices, out);
    tess_matrix_destroy(pieces);
    return status;
}

/* ---- What the model needs ---- */

/* The speed of fbcsr depends on its shapes, and making it takes as long as many products. So it is
 * chosen only where it is clearly ahead. */
static const double doubt = 1.1;

void tess_shapes_price(const tess_fbcsr_options *shapes, const tess_matrix *A, bool slices,
                       tess_candidate *c)
{
    double vectors = (double)(A->rows + A->cols) * (double)tess_type_size(A->type);
    const tess_shape *first = &shapes->shape[0];
    bool block = shapes->count > 0 && first->width > 1 && (slices || first->height > 1);
    c->memory = (1 - shapes->saved) * (tess_matrix_spmv_bytes(A) - vectors);
    c->bytes = c->memory + vectors;
    c->doubt = doubt;
    c->shaped = true;
    snprintf(c->class_name, sizeof c->class_name, "fbcsr %s", block ? "blocks" : "lines");
}
