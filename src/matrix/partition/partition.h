/* Partitions: which of several parts has which block row of a square matrix.
 *
 * A kind of partition fills owner[], one part per block row. A part's rows keep their order in the
 * matrix, so a partition is also an order of the block rows, part after part:
 *
 *     owner   0 1 0 2 1 0        order   0 2 5 | 1 4 | 3        firsts   0 3 5 6
 *
 * A padded last block row must be the last of the whole order, so the last part has it.
 */
#pragma once

#include "matrix/matrix.h"

/* The bytes that a product moves per block (value, column), and per block row (offset, x, y). */
double tess_partition_block_bytes(const tess_matrix *A);
double tess_partition_row_bytes(const tess_matrix *A);

/* The offset of a row. The array of offsets need not be in memory. */
typedef int64_t (*tess_offset_fn)(void *user, int64_t row);

/* The first block row of part `part` of a partition into contiguous ranges of nearly equal bytes.
 * A's own row offsets are not read. */
int64_t tess_partition_first(tess_offset_fn offset, void *user, const tess_matrix *A, int part,
                             int parts);
/* The same with A's row offsets. */
int64_t tess_partition_first_of(const tess_matrix *A, int part, int parts);

/* Whether rows and columns can have the same partition: A is square with square blocks. */
bool tess_partition_fits(const tess_matrix *A);
/* Fails: `what`, a plural, need a square matrix with square blocks. */
tess_status tess_partition_refuse(tess_ctx *ctx, const tess_matrix *A, const char *what);
/* Fails unless tess_partition_fits(A). */
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

/* ---- The graph for METIS and SCOTCH: graph.c ---- */

#define TESS_PARTITIONERS "TESSERA_PARTITIONERS"

/* Nodes are block rows, and each edge is stored in both directions. The weight of a node is the
 * bytes that its row's product moves. The arrays hold integers of `width` bytes, 4 or 8. */
typedef struct tess_partition_graph {
    int width;
    int64_t nodes, edges;
    void *offsets, *neighbours, *weights;
    void *owner; /* for the partitioner's result */
} tess_partition_graph;

/* Fails if integers of `width` bytes are too small for the graph; `title` names the library in the
 * error. Also after a failure the caller calls tess_partition_graph_free. */
tess_status tess_partition_graph_make(tess_ctx *ctx, const tess_matrix *A, const char *title,
                                      int width, tess_partition_graph *graph);
/* Copies the library's result to `owner`, and checks that each node has a part of 0..parts-1. */
tess_status tess_partition_graph_take(tess_ctx *ctx, const tess_partition_graph *graph,
                                      const char *title, int parts, int32_t *owner);
void tess_partition_graph_free(tess_ctx *ctx, tess_partition_graph *graph);
