/* FBCSR for a device whose warps have 32 lanes: slices of rows that a warp sums up step by step. In
 * a step every lane reads its values at an address that no descriptor is needed for, and columns
 * are not stored for every entry.
 *
 * Diagonals. A diagonal is a block one column wide, of at least TESS_FBCSR_DIAGONAL rows. It meets
 * a slice in adjacent rows. Blocks that continue each other there are one piece, of which these are
 * stored: the column at the slice's first row, the first row and number of rows (8 bits each) and
 * the shift. The values of all pieces follow each other without gaps. Rows are then in order, one
 * lane each. The first pieces lie beside the slice's head, so that a warp reads both at once. Where
 * a slice has few other entries, they are pieces of one row.
 *
 * Runs. Everything else is covered, row by row, by runs of adjacent columns, so that they take the
 * fewest bytes: a run of w columns takes w values, zero where the matrix has nothing, and one
 * column. The widths, CLASSES at most and 1 among them, come from the shapes. A row has G lanes. A
 * run of w columns is read by H of them, the largest power of two that divides w and is at most G,
 * W = w / H values each; a step is G / H runs of every row. Lane t of a slice belongs to row t / G;
 * the values of step k of a class lie at (k * W + i) * 32 + t, and belong to the column
 * columns[k * 32 / H + t / H] + i * H + t % H. All steps of the widest runs come first.
 *
 *     G = 2, w = 2:   H = 2, W = 1: lanes 0 and 1 read the two values of a run of row 0
 *     G = 2, w = 3:   H = 1, W = 3: lane 0 reads the runs 0, 2, 4 ... of row 0, lane 1 the others
 *
 * A slice has as many steps as its longest row needs. Without diagonals, rows are sorted in windows
 * by their numbers of runs, so that rows of a slice need about equally many (places.c).
 *
 * A row of more than CUT scalars a lane (CUT_BESIDE beside diagonals), or more runs than a word of
 * `lengths` can count, is cut: its runs go to segments, which fill slices of their own, the first
 * ones, with SEGMENT_LANES lanes each. Row cut_row[i] owns the segments cut_slots[i] ..
 * cut_slots[i+1]-1.
 *
 * A place is a row or a segment of a slice, 32 / G a slice; those of segments come first.
 */
#pragma once

#include "format/fbcsr/fbcsr.h"

enum {
    TESS_FBCSR_WARP = 32,
    TESS_FBCSR_CACHE_LINE = 128,  /* bytes of x that a cache reads at a time, at best */
    TESS_FBCSR_TURN_BYTES = 26,   /* read from memory in one such turn of all caches */
    TESS_FBCSR_DIAGONAL = 8,      /* least rows of a diagonal */
    TESS_FBCSR_WIDE = 8,          /* widest run */
    TESS_FBCSR_CLASSES = 4,       /* widths of runs */
    TESS_FBCSR_CUT = 128,         /* scalars a lane */
    TESS_FBCSR_CUT_BESIDE = 48,   /* scalars beside diagonals, where rows are not sorted */
    TESS_FBCSR_SEGMENT = 512,     /* scalars */
    TESS_FBCSR_SEGMENT_LANES = 8, /* a segment */
    TESS_FBCSR_LONE = 8,          /* entries in no diagonal that are pieces */
    TESS_FBCSR_PIECE = 2,         /* numbers of a piece */
    TESS_FBCSR_BESIDE = 12        /* pieces beside the head */
};

/* Of a slice in `heads`: values (in groups of 32), columns (of 4) and pieces before it that are
 * not beside a head, its pieces, and steps of each class; then, where there are diagonals, pieces.
 * The values of a slice begin at a full group, and so do those of its runs. */
enum {
    TESS_FBCSR_HEAD_VALUES,
    TESS_FBCSR_HEAD_COLUMNS,
    TESS_FBCSR_HEAD_PIECE,
    TESS_FBCSR_HEAD_PIECES,
    TESS_FBCSR_HEAD_STEPS,
    TESS_FBCSR_HEAD = TESS_FBCSR_HEAD_STEPS + TESS_FBCSR_CLASSES,
    TESS_FBCSR_HEAD_WITH_PIECES = TESS_FBCSR_HEAD + TESS_FBCSR_BESIDE * TESS_FBCSR_PIECE
};

typedef struct tess_fbcsr_slices {
    tess_ctx *ctx;
    tess_type type;
    int lanes; /* a row: 1, 2, 4 or 8; 1 where there are diagonals */
    int classes;
    int width[TESS_FBCSR_CLASSES]; /* falling, the last is 1 */
    int64_t slices;                /* all of them */
    int64_t segments;              /* the first slices: of segments */
    int head;                      /* numbers of a head: TESS_FBCSR_HEAD or _WITH_PIECES */
    int32_t *heads;                /* slices * head */
    uint32_t *lengths;             /* of places: runs of each class, 32 / classes bits each,
                                      the widest in the highest */
    int32_t *targets;              /* rows of the places that are no segments; NULL: in order */
    int32_t *pieces;               /* TESS_FBCSR_PIECE each: column; first row, rows << 8 and
                                      shift << 16 */
    int32_t *columns;
    void *values;
    int64_t *entries; /* of each value: its entry of the matrix, -1: none */
    int64_t places, piece_count, column_count, value_count;
    int64_t cut_rows;   /* those of more than TESS_SLICED_LONG segments first */
    int64_t cut_long;   /* as many */
    int32_t *cut_row;   /* cut_rows */
    int32_t *cut_slots; /* cut_rows + 1 */
} tess_fbcsr_slices;

/* The widths of runs for these shapes, falling; returns their number. */
int tess_fbcsr_widths(const tess_fbcsr_options *shapes, int width[TESS_FBCSR_CLASSES]);
/* Whether there may be diagonals. */
bool tess_fbcsr_has_diagonals(const tess_fbcsr_options *shapes);

/* F was made from A, which has 1 x 1 blocks, with these shapes; NULL where there are no diagonals.
 */
tess_status tess_fbcsr_slices_create(tess_ctx *ctx, const tess_matrix *A, const tess_fbcsr *F,
                                     const tess_fbcsr_options *shapes, int lanes,
                                     tess_fbcsr_slices **out);
void tess_fbcsr_slices_destroy(tess_fbcsr_slices *S);

/* The sizes of the slices, without making them. */
typedef struct tess_fbcsr_size {
    int64_t bytes;               /* of the arrays a product reads */
    int64_t slices;              /* without those of segments */
    int64_t with_runs;           /* slices with runs */
    int64_t pieces, most_pieces; /* of all slices, and of one */
    int64_t
        turns; /* in which a cache reads x for the runs: one word of each bank, 128 bytes, each */
    int classes;
} tess_fbcsr_size;

tess_status tess_fbcsr_slices_measure(tess_ctx *ctx, const tess_matrix *A, const tess_fbcsr *F,
                                      const tess_fbcsr_options *shapes, int lanes,
                                      tess_fbcsr_size *out);

/* Which entries are diagonals, runs of each width and single ones; returns the number of ways. */
int tess_fbcsr_slices_stored(const tess_fbcsr_slices *S, tess_fbcsr_stored out[TESS_FBCSR_STORED]);

/* Piece `number` of a slice. */
static inline int32_t *tess_fbcsr_piece_of(const tess_fbcsr_slices *S, int64_t slice,
                                           int64_t number)
{
    int32_t *head = S->heads + slice * S->head;
    if (number < TESS_FBCSR_BESIDE)
        return head + TESS_FBCSR_HEAD + number * TESS_FBCSR_PIECE;
    return S->pieces +
           (head[TESS_FBCSR_HEAD_PIECE] + number - TESS_FBCSR_BESIDE) * TESS_FBCSR_PIECE;
}

/* The bytes that take as long as reading so many bytes in so many turns. */
double tess_fbcsr_bytes_and_turns(double bytes, double turns);

/* New values in the same pattern. */
void tess_fbcsr_slices_update(tess_fbcsr_slices *S, const void *csr_values);

/* Lanes of a row where rows are about equally long. With more lanes x is read side by side, and few
 * rows make enough warps. H200: 1 lane for rows of 20 to 35 non-zeros (38.6 us, with 2 41.5), 2 for
 * 40 where rows differ (39.9, with 1 41.9) and for 60 (43.6, with 1 46.6), 4 for 80, 8 for 400 and
 * more. */
static inline int tess_fbcsr_lanes(int64_t rows, int64_t nonzeros)
{
    const int64_t mean = nonzeros / (rows > 0 ? rows : 1);
    return mean < 40 ? 1 : mean < 72 ? 2 : mean < 160 ? 4 : 8;
}

/* H: lanes that read a run of `width` columns, where a row has `lanes`. */
static inline int tess_fbcsr_share(int width, int lanes)
{
    int share = 1;
    while (2 * share <= lanes && width % (2 * share) == 0)
        share *= 2;
    return share;
}
