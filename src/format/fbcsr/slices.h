/* FBCSR for a device whose warps have 32 lanes: a warp sums up the rows of a slice step by step.
 * The address of a lane's values in a step needs no descriptor, and not every entry has a stored
 * column.
 *
 * Diagonals. A diagonal is a block one column wide, of at least TESS_FBCSR_DIAGONAL rows. Its part
 * in a slice has adjacent rows. Blocks that continue each other in a slice are one piece. A piece
 * stores the column at the slice's first row, the first row and the number of rows (8 bits each),
 * and the shift. The values of all pieces follow each other without gaps. With diagonals, rows are
 * in order, one lane each. The first pieces lie beside the slice's head, so that a warp reads both
 * at once. If a slice has few other entries, each is a piece of one row.
 *
 * Runs. The other entries are covered, row by row, by the runs of adjacent columns that take the
 * fewest bytes. A run of w columns takes one column and w values, with zeros where the matrix has
 * no entry. The widths come from the shapes: at most CLASSES, 1 among them.
 *
 *   G   lanes per row. Lane t of a slice belongs to row t / G.
 *   H   lanes that read a run of w columns: the largest power of two that divides w and is at
 *       most G
 *   W   values that each of these lanes reads of the run: w / H
 *
 * A step is G / H runs of every row. The values of step k of a class lie at (k * W + i) * 32 + t,
 * and belong to the column columns[k * 32 / H + t / H] + i * H + t % H. The steps of the widest
 * runs come first.
 *
 *     G = 2, w = 2:   H = 2, W = 1: lanes 0 and 1 read the two values of a run of row 0
 *     G = 2, w = 3:   H = 1, W = 3: lane 0 reads the runs 0, 2, 4 ... of row 0, lane 1 the others
 *
 * A slice has as many steps as its longest row needs. Without diagonals, rows are sorted in windows
 * by their numbers of runs, so that the rows of a slice need about as many steps (places.c).
 *
 * A row is cut if it has more than CUT scalars per lane (CUT_BESIDE beside diagonals), or more runs
 * than a word of `lengths` can count. Its runs go to segments of SEGMENT_LANES lanes each. Segments
 * fill slices of their own, which come first. Row cut_row[i] owns the segments cut_slots[i] ..
 * cut_slots[i+1]-1.
 *
 * A place is a row or a segment of a slice. A slice has 32 / G places; those of segments come
 * first.
 */
#pragma once

#include "format/fbcsr/fbcsr.h"

enum {
    TESS_FBCSR_WARP = 32,
    TESS_FBCSR_CACHE_LINE = 128,  /* the most bytes of x that a cache reads in a turn */
    TESS_FBCSR_TURN_BYTES = 26,   /* read from memory during one turn of all caches */
    TESS_FBCSR_DIAGONAL = 8,      /* least rows of a diagonal */
    TESS_FBCSR_WIDE = 8,          /* widest run */
    TESS_FBCSR_CLASSES = 4,       /* widths of runs */
    TESS_FBCSR_CUT = 128,         /* scalars per lane */
    TESS_FBCSR_CUT_BESIDE = 48,   /* scalars beside diagonals, where rows are not sorted */
    TESS_FBCSR_SEGMENT = 512,     /* scalars */
    TESS_FBCSR_SEGMENT_LANES = 8, /* per segment */
    TESS_FBCSR_LONE = 8,          /* the most entries in no diagonal that are pieces */
    TESS_FBCSR_PIECE = 2,         /* numbers of a piece */
    TESS_FBCSR_BESIDE = 12        /* pieces beside the head */
};

/* The head of a slice in `heads`:
 *   VALUES   groups of 32 values before the slice
 *   COLUMNS  groups of 4 columns before the slice
 *   PIECE    pieces before the slice that are not beside a head
 *   PIECES   pieces of the slice
 *   STEPS    steps of each class
 *   then     with diagonals, the slice's first pieces
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
    int lanes; /* per row: 1, 2, 4 or 8; 1 where there are diagonals */
    int classes;
    int width[TESS_FBCSR_CLASSES]; /* falling, the last is 1 */
    int64_t slices;                /* including segments */
    int64_t segments;              /* the first slices hold segments */
    int head;                      /* numbers of a head: TESS_FBCSR_HEAD or _WITH_PIECES */
    int32_t *heads;                /* slices * head */
    uint32_t *lengths;             /* per place: runs of each class, 32 / classes bits each, the
                                    * widest class in the highest bits */
    int32_t *targets;              /* rows of the places after segments; NULL: in order */
    int32_t *pieces;               /* column; first row | rows << 8 | shift << 16; and so on */
    int32_t *columns;
    void *values;
    int64_t *entries; /* per value: its entry of the matrix, -1: none */
    int64_t places, piece_count, column_count, value_count;
    int64_t cut_rows;   /* cut_long come first */
    int64_t cut_long;   /* with more than TESS_SLICED_LONG segments */
    int32_t *cut_row;   /* cut_rows */
    int32_t *cut_slots; /* cut_rows + 1 */
} tess_fbcsr_slices;

/* Fills in the widths of runs for these shapes, falling. Returns their number. */
int tess_fbcsr_widths(const tess_fbcsr_options *shapes, int width[TESS_FBCSR_CLASSES]);
/* Whether the shapes include diagonals. */
bool tess_fbcsr_has_diagonals(const tess_fbcsr_options *shapes);

/* A has 1 x 1 blocks. F was made from A with these shapes; NULL where there are no diagonals.
 */
tess_status tess_fbcsr_slices_create(tess_ctx *ctx, const tess_matrix *A, const tess_fbcsr *F,
                                     const tess_fbcsr_options *shapes, int lanes,
                                     tess_fbcsr_slices **out);
void tess_fbcsr_slices_destroy(tess_fbcsr_slices *S);

/* The sizes of the slices, without making them. */
typedef struct tess_fbcsr_size {
    int64_t bytes;       /* of the arrays a product reads */
    int64_t with_runs;   /* slices with runs, without those of segments */
    int64_t most_pieces; /* of one slice */
    int64_t turns;       /* that read x for the runs, 128 bytes each: one word of each bank */
    int classes;
} tess_fbcsr_size;

tess_status tess_fbcsr_slices_measure(tess_ctx *ctx, const tess_matrix *A, const tess_fbcsr *F,
                                      const tess_fbcsr_options *shapes, int lanes,
                                      tess_fbcsr_size *out);

/* Lists how many entries are in diagonals, in runs of each width, and single. Returns the number of
 * ways. */
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

/* The bytes whose reading takes as long as reading `bytes` bytes and making `turns` turns. */
double tess_fbcsr_bytes_and_turns(double bytes, double turns);

/* New values in the same pattern. */
void tess_fbcsr_slices_update(tess_fbcsr_slices *S, const void *csr_values);

/* The lanes per row for rows of about equal length. With more lanes, adjacent scalars of x are read
 * together, and fewer rows make enough warps. Best on an H200, by non-zeros per row:
 *   20 to 35        1 lane
 *   40, rows differ 2 lanes
 *   60              2 lanes
 *   80              4 lanes
 *   400 and more    8 lanes */
static inline int tess_fbcsr_lanes(int64_t rows, int64_t nonzeros)
{
    const int64_t mean = nonzeros / (rows > 0 ? rows : 1);
    return mean < 40 ? 1 : mean < 72 ? 2 : mean < 160 ? 4 : 8;
}

/* H: the lanes that read a run of `width` columns, where a row has `lanes` lanes. */
static inline int tess_fbcsr_share(int width, int lanes)
{
    int share = 1;
    while (2 * share <= lanes && width % (2 * share) == 0)
        share *= 2;
    return share;
}
