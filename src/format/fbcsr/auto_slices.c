/* Chooses the shapes to extract for a device, by the bytes of the slices that they would make.
 *
 * Slices store diagonals, and all other entries in runs of up to four widths; the height of a block
 * does not matter (slices.h). So a list has diagonals, if any, and rows of some lengths. Its price
 * is the bytes of the slices of a sample of the rows, padding included, times a factor: the time
 * per byte over that of CSR. The factor was fitted to 310 times on an H200:
 *
 *   1       runs of one width and single entries
 *   1.045   with a second width, and 0.045 more for each further width
 *   1.08    the same in rows of several lanes, and 0.08 more
 *   x 1.05  in rows of few entries
 *   1.12    with diagonals, whatever the widths
 *
 * Three more times enter the price. In a slice with diagonals and runs, the runs wait for the
 * diagonals. A slice is summed by one warp, so the slice with the most pieces must not take longer
 * than all others together. And reading x may take longer than reading the slices (places.c), in
 * CSR too.
 *
 * Three lists are tried: one without diagonals, and two with the diagonals found at two thresholds.
 * An entry beside diagonals costs much, so half-empty diagonals may be better. Lengths of rows are
 * added one at a time, the best first, as long as one saves a percent.
 */
#include "format/fbcsr/slices.h"
#include "format/fbcsr/split.h"

static const char *const diagonals[] = {"column:32", "diagonal:32", "antidiagonal:32",
                                        "column:16", "diagonal:16", "antidiagonal:16"};
enum {
    LINES = sizeof diagonals / sizeof *diagonals,
    LENGTHS = 3,
    MANY_PIECES = 32,
    SHORT_ROWS = 10, /* entries */
    SAMPLE_ENTRIES = 200000
};
#define WAIT_BYTES 240    /* read from memory while a slice waits for its runs */
#define PIECE_BYTES 0.8e6 /* read from memory while a warp sums up one piece */

static const double thresholds[] = {TESS_SHAPE_NO_THRESHOLD, 0.5};
static const double least_share = 0.05;  /* of the entries, for each kind of diagonals */
static const double least_gain = 0.01;   /* of the price, by one more length */
static const double least_saved = 0.035; /* of CSR's price, by the whole list */

typedef struct search {
    tess_ctx *ctx;
    const tess_matrix *sample;
    int lanes;
    double share; /* share of the matrix's entries in the sample */
} search;

static double vectors_of(const tess_matrix *A)
{
    return 2 * (double)(A->rows * (int64_t)tess_type_size(A->type));
}

static double csr_bytes(const tess_matrix *A)
{
    return (double)(A->blocks * (4 + (int64_t)tess_type_size(A->type)) + 4 * A->rows);
}

/* Sets *out to the bytes of CSR that take as long as the list's slices, and list->saved to the
 * share of CSR's bytes that the slices save. */
static tess_status price(const search *S, tess_fbcsr_options *list, double *out)
{
    const tess_matrix *A = S->sample;
    const bool with_diagonals = tess_fbcsr_has_diagonals(list);
    tess_fbcsr *F = NULL;
    tess_fbcsr_size size = {0};
    if (with_diagonals)
        TESS_TRY(tess_fbcsr_create(S->ctx, A, list, &F));
    tess_status status = tess_fbcsr_slices_measure(S->ctx, A, F, list, S->lanes, &size);
    tess_fbcsr_destroy(F);
    TESS_TRY(status);
    double each = 1 + (S->lanes > 1 ? 0.08 : 0.045) * (size.classes - 2);
    if (with_diagonals)
        each = 1.12;
    else if (A->blocks < SHORT_ROWS * A->rows)
        each *= 1.05;
    *out = each * (double)size.bytes + vectors_of(A) +
           (with_diagonals ? WAIT_BYTES * (double)size.with_runs : 0);
    *out = tess_fbcsr_bytes_and_turns(*out, (double)size.turns);
    if (size.most_pieces > MANY_PIECES && PIECE_BYTES * S->share * (double)size.most_pieces > *out)
        *out = PIECE_BYTES * S->share * (double)size.most_pieces;
    list->saved = 1 - (double)size.bytes / csr_bytes(A);
    return TESS_OK;
}

static tess_status add_shape(tess_ctx *ctx, const char *name, double threshold,
                             tess_fbcsr_options *list)
{
    tess_fbcsr_options one;
    TESS_TRY(tess_shape_list_parse(ctx, name, &one));
    list->shape[list->count] = one.shape[0];
    list->threshold[list->count++] = threshold;
    return TESS_OK;
}

/* Lists the kinds of diagonals that hold enough of the entries. *share: the share of all of
 * them. */
static tess_status find_diagonals(const search *S, double threshold, tess_fbcsr_options *list,
                                  double *share)
{
    tess_fbcsr_options all = {0};
    tess_fbcsr *F;
    for (int i = 0; i < LINES; i++)
        TESS_TRY(add_shape(S->ctx, diagonals[i], threshold, &all));
    TESS_TRY(tess_fbcsr_create(S->ctx, S->sample, &all, &F));
    tess_status status = TESS_OK;
    *share = 0;
    for (int i = 0; i < F->splits && status == TESS_OK; i++) {
        double mine = (double)F->split[i].nonzeros / (double)F->nonzeros;
        if (mine < least_share)
            continue;
        status = add_shape(S->ctx, F->split[i].shape.name, threshold, list);
        *share += mine;
    }
    tess_fbcsr_destroy(F);
    return status;
}

/* Adds lengths of rows to the list while they pay. *least is the list's price. */
static tess_status add_rows(const search *S, tess_fbcsr_options *list, double *least)
{
    for (int step = 0; step < LENGTHS; step++) {
        tess_fbcsr_options best = {0};
        double before = *least;
        for (int length = 2; length <= TESS_FBCSR_WIDE; length++) {
            tess_fbcsr_options trial = *list;
            char name[16];
            double one;
            snprintf(name, sizeof name, "row:%d", length);
            TESS_TRY(add_shape(S->ctx, name, TESS_SHAPE_NO_THRESHOLD, &trial));
            TESS_TRY(price(S, &trial, &one));
            if (one < (best.count ? *least : (1 - least_gain) * before)) {
                *least = one;
                best = trial;
            }
        }
        if (best.count == 0)
            return TESS_OK;
        *list = best;
    }
    return TESS_OK;
}

/* The price of CSR: its bytes, and the turns of single entries. */
static tess_status price_csr(const search *S, double *out)
{
    const tess_fbcsr_options none = {0};
    tess_fbcsr_size size;
    TESS_TRY(tess_fbcsr_slices_measure(S->ctx, S->sample, NULL, &none, S->lanes, &size));
    *out = tess_fbcsr_bytes_and_turns(csr_bytes(S->sample) + vectors_of(S->sample),
                                      (double)size.turns);
    return TESS_OK;
}

static tess_status choose(const search *S, tess_fbcsr_options *out)
{
    double most;
    TESS_TRY(price_csr(S, &most));
    most *= 1 - least_saved;
    for (int start = 0; start < 3; start++) {
        tess_fbcsr_options list = {0};
        double one = 2 * most, share = 0;
        if (start > 0) {
            TESS_TRY(find_diagonals(S, thresholds[start - 1], &list, &share));
            if (list.count == 0)
                continue;
            TESS_TRY(price(S, &list, &one));
        }
        TESS_TRY(tess_progress(S->ctx, "choosing shapes", start, 3));
        if (share < 1 - least_share)
            TESS_TRY(add_rows(S, &list, &one));
        if (one < most) {
            most = one;
            *out = list;
        }
    }
    return TESS_OK;
}

tess_status tess_fbcsr_choose_slices(tess_ctx *ctx, const tess_matrix *csr, tess_fbcsr_options *out)
{
    search S = {.ctx = ctx, .sample = csr, .lanes = tess_fbcsr_lanes(csr->rows, csr->blocks)};
    tess_fbcsr_pattern P;
    tess_matrix *sample = NULL;
    tess_status status;
    *out = (tess_fbcsr_options){0};
    TESS_TRY(tess_fbcsr_sample(ctx, csr, SAMPLE_ENTRIES, true, &P));
    if (!P.borrowed) {
        const int64_t entries = P.row_offsets[P.rows];
        TESS_TRY_CLEAN(
            tess_matrix_allocate(ctx, csr->type, P.rows, P.cols, 1, 1, entries, &sample));
        memcpy(sample->row_offsets, P.row_offsets, (size_t)(P.rows + 1) * sizeof *P.row_offsets);
        memcpy(sample->columns, P.columns, (size_t)entries * sizeof *P.columns);
        memset(sample->values, 0, (size_t)entries * tess_type_size(csr->type));
        S.sample = sample;
    }
    S.share = (double)S.sample->blocks / (double)(csr->blocks > 0 ? csr->blocks : 1);
    status = csr->blocks > 0 ? choose(&S, out) : TESS_OK;
cleanup:
    tess_matrix_destroy(sample);
    tess_fbcsr_pattern_clear(ctx, &P);
    return status;
}
