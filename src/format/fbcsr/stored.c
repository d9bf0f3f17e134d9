/* Counts the contents of a matrix's slices: the entries in diagonals, in runs of each width and
 * alone, and the scalars that each kind takes with its padding. */
#include "format/fbcsr/runs.h"

enum { WARP = TESS_FBCSR_WARP };

static int64_t count_entries(const tess_fbcsr_slices *S, int64_t first, int64_t count)
{
    int64_t entries = 0;
    for (int64_t i = first; i < first + count; i++)
        entries += S->entries[i] >= 0;
    return entries;
}

/* Counts the pieces of a slice. A piece of one row is an entry in no diagonal. */
static void add_pieces(const tess_fbcsr_slices *S, int64_t slice, int64_t first, int64_t cells,
                       tess_fbcsr_stored *diagonals, tess_fbcsr_stored *single)
{
    const int32_t *head = S->heads + slice * S->head;
    int64_t alone = 0;
    for (int64_t k = 0; k < head[TESS_FBCSR_HEAD_PIECES]; k++)
        alone += (tess_fbcsr_piece_of(S, slice, k)[1] >> 8 & 255) == 1;
    diagonals->pieces += head[TESS_FBCSR_HEAD_PIECES] - alone;
    diagonals->entries += count_entries(S, first, cells) - alone;
    diagonals->cells += cells - alone;
    single->pieces += alone;
    single->entries += alone;
    single->cells += alone;
}

static int64_t runs_of_place(const tess_fbcsr_slices *S, int64_t place, int c)
{
    const int bits = 32 / S->classes;
    return S->lengths[place] << c * bits >> (32 - bits);
}

static void add_slice(const tess_fbcsr_slices *S, int64_t slice, tess_fbcsr_stored *diagonals,
                      tess_fbcsr_stored *runs)
{
    const int32_t *head = S->heads + slice * S->head;
    const int lanes = tess_fbcsr_lanes_of(S, slice);
    int64_t first = (int64_t)head[TESS_FBCSR_HEAD_VALUES] * WARP, cells[TESS_FBCSR_CLASSES];
    int64_t end = slice + 1 < S->slices ? (int64_t)head[S->head + TESS_FBCSR_HEAD_VALUES] * WARP
                                        : S->value_count;
    for (int c = 0; c < S->classes; c++) {
        const int each = S->width[c] / tess_fbcsr_share(S->width[c], lanes);
        cells[c] = (int64_t)head[TESS_FBCSR_HEAD_STEPS + c] * each * WARP;
        end -= cells[c];
    }
    add_pieces(S, slice, first, end - first, diagonals, &runs[S->classes - 1]);
    for (int c = 0; c < S->classes; c++) {
        runs[c].cells += cells[c];
        runs[c].entries += count_entries(S, end, cells[c]);
        end += cells[c];
    }
}

int tess_fbcsr_slices_stored(const tess_fbcsr_slices *S, tess_fbcsr_stored out[TESS_FBCSR_STORED])
{
    tess_fbcsr_stored *runs = out + 1;
    out[0] = (tess_fbcsr_stored){.name = "diagonals"};
    for (int c = 0; c < S->classes; c++) {
        runs[c] = (tess_fbcsr_stored){.name = "single entries", .single = S->width[c] == 1};
        if (!runs[c].single)
            snprintf(runs[c].name, sizeof runs[c].name, "runs of %d", S->width[c]);
        for (int64_t place = 0; place < S->places; place++)
            runs[c].pieces += runs_of_place(S, place, c);
    }
    for (int64_t slice = 0; slice < S->slices; slice++)
        add_slice(S, slice, &out[0], runs);
    return S->classes + 1;
}
