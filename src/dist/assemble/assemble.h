/* Assembly of a part: blocks are kept in the order in which they are added, and sent to the owners
 * of their rows.
 *
 * Added blocks lie in three arrays, with one element per block: its block row and its block column
 * in the whole matrix, and its block * block values, column by column. Before they are sent, blocks
 * are sorted by owner, so that those for one part are contiguous in each array. Those that arrive
 * lie in the order of the parts:
 *
 *     arriving   part 0's | part 1's | ..        this part's own at its own place
 *
 * Blocks of one place are summed in that order, so the sum does not depend on which message came
 * first.
 */
#pragma once

#include "dist/part.h"

/* Blocks with their places. */
typedef struct tess_block_list {
    int64_t count;
    int64_t *rows, *columns;
    char *values;
} tess_block_list;

struct tess_part_builder {
    tess_ctx *ctx;
    tess_comm comm;
    tess_type type;
    int32_t block;
    size_t block_bytes;
    int64_t rows;     /* of this part, in scalars */
    int64_t all_rows; /* of the whole matrix */
    int64_t *firsts;  /* the parts' first block rows */
    tess_block_list added;
    int64_t row_capacity, column_capacity, value_capacity;
    tess_status failed; /* the first failure of an add since the last finish */
    char reason[sizeof(((tess_ctx *)0)->error)]; /* the sentence of that failure */
    /* The pattern of the last finish: columns of a row are sorted, each block stands once. */
    int64_t *row_offsets, *columns;
};

/* ---- assemble_send.c ---- */

/* All blocks that any part has added to this part's rows. The builder is empty afterwards.
 * Collective: a failed add on one part fails all. */
tess_status tess_part_builder_collect(tess_part_builder *builder, tess_block_list *out);
void tess_block_list_free(tess_ctx *ctx, tess_block_list *list);
