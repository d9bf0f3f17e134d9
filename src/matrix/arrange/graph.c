/* The graph of an arranged matrix, and taking over the orders that are found on it. */
#include "matrix/arrange/graph.h"

/* The nodes are numbered as in B, where row i is A's row row_order[i] and column j is A's column
 * col_order[j]. */
tess_status tess_graph_of(const tess_matrix *A, const tess_arrangement *a, tess_graph *g)
{
    tess_ctx *ctx = a->ctx;
    const int64_t n = A->block_rows;
    int64_t *column_number = NULL, *next = NULL;
    tess_status status;
    *g = (tess_graph){.n = n};
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, n, &column_number));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, n + 1, &g->offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, 2 * A->blocks, &g->neighbours));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, n, &next));
    for (int64_t j = 0; j < n; j++)
        column_number[a->col_order ? a->col_order[j] : j] = j;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t from = a->row_order ? a->row_order[i] : i;
            for (int64_t k = A->row_offsets[from]; k < A->row_offsets[from + 1]; k++) {
                const int64_t j = column_number[A->columns[k]];
                if (i == j)
                    continue;
                if (pass == 0) {
                    g->offsets[i + 1]++;
                    g->offsets[j + 1]++;
                } else {
                    g->neighbours[next[i]++] = (int32_t)j;
                    g->neighbours[next[j]++] = (int32_t)i;
                }
            }
        }
        if (pass == 0) {
            tess_counts_to_offsets(g->offsets, n);
            memcpy(next, g->offsets, (size_t)n * sizeof *next);
        }
    }
cleanup:
    TESS_FREE(ctx, column_number, next);
    return status;
}

tess_status tess_graph_make(const tess_matrix *A, const tess_arrangement *a, tess_graph *g)
{
    *g = (tess_graph){0};
    if (A->rows % A->block_height != 0)
        return tess_fail(a->ctx, TESS_ERR_UNSUPPORTED,
                         "a matrix whose last block is padded is not reordered: store it with "
                         "blocks that divide its size");
    return tess_graph_of(A, a, g);
}

void tess_graph_free(tess_ctx *ctx, tess_graph *g)
{
    TESS_FREE(ctx, g->offsets, g->neighbours);
}

/* Changes the order of A's rows or columns so that number i of the new B is number nodes[i] of the
 * old B. */
static tess_status reorder(tess_ctx *ctx, int64_t n, const int64_t *nodes, int64_t **order)
{
    int64_t *fresh;
    TESS_TRY(TESS_ALLOC(ctx, n, &fresh));
    for (int64_t i = 0; i < n; i++)
        fresh[i] = *order ? (*order)[nodes[i]] : nodes[i];
    tess_free(ctx, *order);
    *order = fresh;
    return TESS_OK;
}

tess_status tess_arrange_take_order(tess_arrangement *a, int64_t n, const int64_t *nodes)
{
    TESS_TRY(reorder(a->ctx, n, nodes, &a->row_order));
    return reorder(a->ctx, n, nodes, &a->col_order);
}
