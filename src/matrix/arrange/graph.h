/* The graph of an arranged matrix, on which orders are found (order.c, dissect.c). */
#pragma once

#include "matrix/arrange/arrange.h"

/* The pattern of B + B^T without its diagonal, where B is A under an arrangement. Neighbours of a
 * node may be listed twice. */
typedef struct tess_graph {
    int64_t n;
    int64_t *offsets;
    int32_t *neighbours;
} tess_graph;

/* After a failure, tess_graph_free frees what was made. */
tess_status tess_graph_of(const tess_matrix *A, const tess_arrangement *a, tess_graph *g);
/* The same, for finding an order of A. Fails for a matrix with a padded last block, which cannot be
 * reordered. */
tess_status tess_graph_make(const tess_matrix *A, const tess_arrangement *a, tess_graph *g);
void tess_graph_free(tess_ctx *ctx, tess_graph *g);

static inline int64_t tess_graph_degree(const tess_graph *g, int64_t node)
{
    return g->offsets[node + 1] - g->offsets[node];
}
