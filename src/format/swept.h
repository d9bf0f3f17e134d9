/* Swept storage: for columns scattered over an x that no cache of a GPU can hold.
 *
 *   lines    A line is a block row, or a segment of one longer than lambda: lines 0 .. block_rows-1
 *            are the rows (those that were cut have no blocks), then come the segments.
 *   chunks   Consecutive lines with about equal work. One warp keeps the sums of a chunk's lines.
 *   steps    The blocks of a chunk by rising column, 32 a step, each of another line, so that the
 *            lanes of a warp never add to the same sum. Warps that work at the same time are at
 *            about the same columns: what they need of x is a window that moves over it once.
 *   panels   Ranges of 2^22 block columns, as many as a word can tell apart. All blocks of a step
 *            are in one panel.
 *   words    One for each lane of a step: the column in the panel, above TESS_SWEPT_BITS bits with
 *            the line in the chunk. TESS_SWEPT_NONE: the lane has no block, its values are 0.
 *   values   A step of blocks of N scalars takes 32 N scalars. In it scalar e (in the block's
 *            order) of lane t lies at
 *              (e / V * 32 + t) * V + e % V            V scalars are 16 bytes
 *            and the scalars behind the last whole V at e * 32 + t.
 *
 * The sums of a row that was cut are in the slots of a scratch array, one a segment, as in sliced
 * storage (sliced.h): cut row i owns the slots cut_slots[i] .. cut_slots[i+1]-1.
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
    int64_t chunks; /* about how many */
    int32_t lines;  /* of a chunk, at most; <= TESS_SWEPT_NONE */
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
    int32_t line_most;          /* lines of the chunk with the most */
    int64_t lines;              /* rows and segments */
    int64_t *starts;            /* lines: the line's first block in the BSR arrays */
    int32_t *lengths;           /* lines: its blocks */
    int32_t *chunk_line;        /* chunks + 1: first lines */
    int64_t *first_step;        /* chunks * panels + 1: of each chunk's panels */
    int32_t *places;            /* blocks: 32 * step + lane, from the chunk's first step on */
    uint32_t *words;            /* steps * 32 */
    void *values;               /* steps * 32 * bh * bw */
    int64_t cut_rows, cut_long; /* those of more than TESS_SLICED_LONG segments come first */
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

/* Scalars of the value array, padding included. */
static inline int64_t tess_swept_stored(const tess_swept *S)
{
    return tess_swept_steps(S) * TESS_SWEPT_LANES * S->block_height * S->block_width;
}
