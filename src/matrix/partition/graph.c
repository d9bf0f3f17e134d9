/* The graph of a matrix's block rows, in the integer type of a graph partitioner. */
#include "matrix/arrange/graph.h"
#include "matrix/partition/partition.h"

static void put(void *array, int width, int64_t i, int64_t value)
{
    if (width == 4)
        ((int32_t *)array)[i] = (int32_t)value;
    else
        ((int64_t *)array)[i] = value;
}

static int64_t get(const void *array, int width, int64_t i)
{
    return width == 4 ? ((const int32_t *)array)[i] : ((const int64_t *)array)[i];
}

void tess_partition_graph_free(tess_ctx *ctx, tess_partition_graph *g)
{
    TESS_FREE(ctx, g->offsets, g->neighbours, g->weights, g->owner);
}

/* Copies the edges, each neighbour of a node once: seen[j] is the last node that had neighbour j,
 * plus 1. */
static void copy_edges(const tess_graph *from, int64_t *seen, tess_partition_graph *g)
{
    for (int64_t i = 0; i < from->n; i++) {
        put(g->offsets, g->width, i, g->edges);
        for (int64_t k = from->offsets[i]; k < from->offsets[i + 1]; k++) {
            const int32_t j = from->neighbours[k];
            if (seen[j] == i + 1)
                continue;
            seen[j] = i + 1;
            put(g->neighbours, g->width, g->edges++, j);
        }
    }
    put(g->offsets, g->width, from->n, g->edges);
}

/* Sets the weight of each node to its bytes, in a unit of which all rows together have at most
 * 2^30: partitioners add the weights up. */
static void weigh(const tess_matrix *A, tess_partition_graph *g)
{
    const double block = tess_partition_block_bytes(A);
    const double row = tess_partition_row_bytes(A);
    const double all = (double)A->blocks * block + (double)A->block_rows * row;
    const double unit = all > 4.0 * (1 << 30) ? all / (1 << 30) : 4;
    for (int64_t i = 0; i < A->block_rows; i++) {
        const int64_t length = A->row_offsets[i + 1] - A->row_offsets[i];
        put(g->weights, g->width, i, tess_max(1, (int64_t)(((double)length * block + row) / unit)));
    }
}

tess_status tess_partition_graph_make(tess_ctx *ctx, const tess_matrix *A, const char *title,
                                      int width, tess_partition_graph *g)
{
    tess_arrangement as_it_is = {0};
    tess_graph graph = {0};
    int64_t *seen = NULL;
    const size_t number = (size_t)width;
    tess_status status;
    *g = (tess_partition_graph){.width = width, .nodes = A->block_rows};
    if (width == 4 && 2 * A->blocks > INT32_MAX)
        return tess_fail(ctx, TESS_ERR_OVERFLOW,
                         "%lld blocks are too many for %s, whose numbers have 32 bits here: take "
                         "a contiguous partition",
                         (long long)A->blocks, title);
    TESS_TRY(tess_arrangement_open(ctx, A, &as_it_is));
    TESS_TRY_CLEAN(tess_graph_of(A, &as_it_is, &graph));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, graph.n, &seen));
    TESS_TRY_CLEAN(tess_alloc_bytes(ctx, graph.n + 1, number, &g->offsets));
    TESS_TRY_CLEAN(tess_alloc_bytes(ctx, graph.offsets[graph.n], number, &g->neighbours));
    TESS_TRY_CLEAN(tess_alloc_bytes(ctx, graph.n, number, &g->weights));
    TESS_TRY_CLEAN(tess_calloc_bytes(ctx, graph.n, number, &g->owner));
    copy_edges(&graph, seen, g);
    weigh(A, g);
cleanup:
    tess_free(ctx, seen);
    tess_graph_free(ctx, &graph);
    tess_arrangement_close(&as_it_is);
    return status;
}

tess_status tess_partition_graph_take(tess_ctx *ctx, const tess_partition_graph *g,
                                      const char *title, int parts, int32_t *owner)
{
    for (int64_t i = 0; i < g->nodes; i++) {
        const int64_t part = get(g->owner, g->width, i);
        if (part < 0 || part >= parts)
            return tess_fail(ctx, TESS_ERR_INTERNAL, "%s put block row %lld into part %lld of %d",
                             title, (long long)i, (long long)part, parts);
        owner[i] = (int32_t)part;
    }
    return TESS_OK;
}
