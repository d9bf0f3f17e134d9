/* The graph of an arranged matrix, which orders are found on (order.c, dissect.c). */
#pragma once

#include "matrix/arrange/arrange.h"

/* The pattern of B + B^T without its diagonal, B being A under an arrangement; neighbours of a node
 * may repeat. */
typedef struct tess_graph {
    int64_t n;
    int64_t *offsets;
    int32_t *neighbours;
} tess_graph;

/* After a failure, tess_graph_free frees what was made. */
tess_status tess_graph_of(const tess_matrix *A, const tess_arrangement *a, tess_graph *g);
/* The same for an order of A, which a matrix with a padded last block cannot have. */
tess_status tess_graph_make(const tess_matrix *A, const tess_arrangement *a, tess_graph *g);
void tess_graph_free(tess_ctx *ctx, tess_graph *g);

static inline int64_t tess_graph_degree(const tess_graph *g, int64_t node)
{
    return g->offsets[node + 1] - g->offsets[node];
}
