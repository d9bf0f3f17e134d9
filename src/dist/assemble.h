/* Assembly of a part: blocks are kept as they are added, and sent to the owners of their rows.
 *
 * What is added lies in three arrays of one element a block: its block row and column in the whole
 * matrix, and block * block values by columns. What goes to another part is sorted by owner, so
 * that it is one piece of each array. What arrives is in the order of the parts:
 *
 *     arriving   part 0's | part 1's | ..        this part's own at its own place
 *
 * Sums are taken in that order, whoever was faster.
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
    tess_status failed; /* the first failure of an add since the last finish; its sentence: */
    char reason[sizeof(((tess_ctx *)0)->error)];
    /* The pattern, once it is known: sorted, each block once. */
    int64_t *row_offsets, *columns;
};

/* ---- assemble_send.c ---- */

/* Everything that was added to this part's rows, wherever; the builder is empty afterwards.
 * Collective: a failed add on one part fails all. */
tess_status tess_part_builder_collect(tess_part_builder *builder, tess_block_list *out);
void tess_block_list_free(tess_ctx *ctx, tess_block_list *list);
