/* AMD (SuiteSparse): an order by approximate minimum degree, for factors with few entries. */
#include "matrix/arrange/graph.h"
#include "solve/direct/direct.h"

typedef struct amd_api {
    int64_t (*order)(int64_t, const int64_t *, const int64_t *, int64_t *, double *, double *);
} amd_api;

static const char *const names[] = {"libamd.so.3", "libamd.so.2", "libamd.so", NULL};
static const tess_library_function functions[] = {{"amd_l_order", offsetof(amd_api, order)},
                                                  {NULL, 0}};
static const tess_library file = TESS_SUITESPARSE("AMD", "libamd2", names, functions);

tess_status tess_direct_order(const tess_matrix *A, tess_arrangement *a)
{
    tess_ctx *ctx = a->ctx;
    amd_api api;
    tess_graph graph = {0};
    int64_t *neighbours = NULL, *nodes = NULL;
    tess_status status;
    TESS_TRY(tess_library_find(ctx, &file, &api));
    TESS_TRY_CLEAN(tess_graph_make(A, a, &graph));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, graph.offsets[graph.n], &neighbours));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, graph.n, &nodes));
    for (int64_t i = 0; i < graph.offsets[graph.n]; i++)
        neighbours[i] = graph.neighbours[i];
    /* 0 and 1 mean success; 1 where the graph's neighbours are not sorted. */
    const int64_t done = api.order(graph.n, graph.offsets, neighbours, nodes, NULL, NULL);
    if (done < 0 || done > 1)
        TESS_TRY_CLEAN(tess_fail(ctx, TESS_ERR_MEMORY, "AMD could not order the matrix"));
    TESS_TRY_CLEAN(tess_arrange_take_order(a, graph.n, nodes));
cleanup:
    tess_graph_free(ctx, &graph);
    TESS_FREE(ctx, neighbours, nodes);
    return status;
}
