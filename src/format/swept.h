/* Swept storage: for scattered columns, where x is larger than the GPU's caches.
 *
 *   lines    A line is a block row, or a segment of a row longer than lambda. Lines
 *            0 .. block_rows-1 are the rows (cut rows have no blocks there); the segments follow.
 *   chunks   Consecutive lines with about equal work. One warp keeps the sums of a chunk's lines.
 *   steps    The blocks of a chunk by rising column, 32 per step. The blocks of a step belong to
 *            different lines, so that the lanes of a warp never add to the same sum. Warps that run
 *            at the same time are at about the same columns: together they need a window of x that
 *            moves over x once.
 *   panels   Ranges of 2^22 block columns, the most that the column bits of a word can hold. All
 *            blocks of a step are in one panel.
 *   words    One for each lane of a step. The low TESS_SWEPT_BITS bits are the line in the chunk,
 *            the bits above are the column in the panel. TESS_SWEPT_NONE: the lane has no block,
 *            its values are 0.
 *   values   A step of blocks of N scalars takes 32 N scalars. Scalar e (in the block's order) of
 *            lane t lies at
 *              (e / V * 32 + t) * V + e % V            V scalars are 16 bytes
 *            in the step, and the scalars after the last whole V at e * 32 + t.
 *
 * The sums of a cut row are in slots of a scratch array, one per segment, as in sliced storage
 * (sliced.h): cut row i owns the slots cut_slots[i] .. cut_slots[i+1]-1.
 */
#pragma once

#include "matrix/matrix.h"

enum {
    TESS_SWEPT_BITS = 10,
    TESS_SWEPT_NONE = (1 << TESS_SWEPT_BITS) - 1,
    TESS_SWEPT_PANEL = 1 << (32 - TESS_SWEPT_BITS),
    TESS_SWEPT_LANES = 32
};

typedef struct tess_swept_options {
    int64_t chunks; /* wanted number, approximately */
    int32_t lines;  /* the most per chunk; <= TESS_SWEPT_NONE */
    int32_t split;  /* lambda: longest line in blocks */
} tess_swept_options;

typedef struct tess_swept {
    tess_ctx *ctx;
    tess_type type;
    int32_t block_height, block_width;
    int64_t block_rows, blocks;
    tess_swept_options options;
    int64_t chunks;
    int32_t panels;
    int32_t line_most;          /* the most lines of a chunk */
    int64_t lines;              /* rows and segments */
    int64_t *starts;            /* lines: the line's first block in the BSR arrays */
    int32_t *lengths;           /* lines: the line's number of blocks */
    int32_t *chunk_line;        /* chunks + 1: first lines */
    int64_t *first_step;        /* chunks * panels + 1: for each panel of each chunk */
    int32_t *places;            /* blocks: 32 * step + lane, from the chunk's first step on */
    uint32_t *words;            /* steps * 32 */
    void *values;               /* steps * 32 * bh * bw */
    int64_t cut_rows, cut_long; /* cut_long: with over TESS_SLICED_LONG segments, first */
    int32_t *cut_row, *cut_slots;
} tess_swept;

tess_status tess_swept_create(tess_ctx *ctx, const tess_matrix *A,
                              const tess_swept_options *options, tess_swept **out);
void tess_swept_destroy(tess_swept *S);

/* New values in the same pattern, in the order of the BSR matrix. */
void tess_swept_update(tess_swept *S, const void *values);

static inline int64_t tess_swept_steps(const tess_swept *S)
{
    return S->first_step[S->chunks * S->panels];
}

/* The number of scalars of the value array, padding included. */
static inline int64_t tess_swept_stored(const tess_swept *S)
{
    return tess_swept_steps(S) * TESS_SWEPT_LANES * S->block_height * S->block_width;
}
