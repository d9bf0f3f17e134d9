/* Partitions: which of several parts has which block row of a square matrix.
 *
 * A kind of partition fills owner[], a part a block row. A part's rows keep the order they have in
 * the matrix, so a partition is also an order of the block rows, part after part:
 *
 *     owner   0 1 0 2 1 0        order   0 2 5 | 1 4 | 3        firsts   0 3 5 6
 *
 * A last block row that is padded must be the last of the whole order: the last part has it.
 */
#pragma once

#include "matrix/matrix.h"

/* What a product moves for a block, and for a block row: offsets, x and y. */
double tess_partition_block_bytes(const tess_matrix *A);
double tess_partition_row_bytes(const tess_matrix *A);

/* Row offsets that need not be in memory. */
typedef int64_t (*tess_offset_fn)(void *user, int64_t row);

/* The first block row of part `part`, where contiguous ranges have nearly equal bytes. A's own row
 * offsets are not read. */
int64_t tess_partition_first(tess_offset_fn offset, void *user, const tess_matrix *A, int part,
                             int parts);
/* The same by A's row offsets. */
int64_t tess_partition_first_of(const tess_matrix *A, int part, int parts);

/* Whether rows and columns can be dealt out alike: A is square with square blocks. */
bool tess_partition_fits(const tess_matrix *A);
/* Fails: `what` need such a matrix. */
tess_status tess_partition_refuse(tess_ctx *ctx, const tess_matrix *A, const char *what);
/* Fails unless A is one. */
tess_status tess_partition_check(tess_ctx *ctx, const tess_matrix *A);

/* Fills firsts (count + 1) and order (block_rows). */
void tess_partition_order(const tess_partition *partition, int64_t *firsts, int64_t *order);

/* ---- The kinds ---- */

typedef struct tess_partition_kind {
    const char *name, *summary;
    bool in_order; /* parts have contiguous ranges, one after the other */
    tess_status (*assign)(tess_ctx *ctx, const tess_matrix *A, int parts, int32_t *owner);
} tess_partition_kind;

tess_status tess_partition_contiguous(tess_ctx *ctx, const tess_matrix *A, int parts,
                                      int32_t *owner);
tess_status tess_partition_cyclic(tess_ctx *ctx, const tess_matrix *A, int parts, int32_t *owner);
tess_status tess_partition_metis(tess_ctx *ctx, const tess_matrix *A, int parts, int32_t *owner);
tess_status tess_partition_scotch(tess_ctx *ctx, const tess_matrix *A, int parts, int32_t *owner);

/* ---- The graph, as METIS and SCOTCH take it: graph.c ---- */

#define TESS_PARTITIONERS "TESSERA_PARTITIONERS"

/* Numbers of `width` bytes, 4 or 8: nodes are block rows, edges go both ways. A node weighs what
 * its row's product moves. */
typedef struct tess_partition_graph {
    int width;
    int64_t nodes, edges;
    void *offsets, *neighbours, *weights;
    void *owner; /* for the answer */
} tess_partition_graph;

/* `title` names the library where its numbers are too small for the graph. What a failure leaves is
 * freed by tess_partition_graph_free. */
tess_status tess_partition_graph_make(tess_ctx *ctx, const tess_matrix *A, const char *title,
                                      int width, tess_partition_graph *graph);
/* The library's answer, which is checked; a part of 0..parts-1 a node. */
tess_status tess_partition_graph_take(tess_ctx *ctx, const tess_partition_graph *graph,
                                      const char *title, int parts, int32_t *owner);
void tess_partition_graph_free(tess_ctx *ctx, tess_partition_graph *graph);
