/* SCOTCH: parts of equal weight with few edges between them, as from METIS.
 *
 * SCOTCH is loaded when the first such partition is made (core/library.h). Its structs are opaque;
 * functions return their sizes. It takes integers by value, so only a library of 32-bit integers is
 * used, as Debian builds it.
 */
#include "core/library.h"
#include "matrix/partition/partition.h"

typedef struct scotch_api {
    int (*number_size)(void), (*graph_size)(void), (*strategy_size)(void);
    int (*graph_init)(void *), (*strategy_init)(void *);
    void (*graph_exit)(void *), (*strategy_exit)(void *);
    int (*build)(void *graph, int32_t base, int32_t nodes, const int32_t *offsets,
                 const int32_t *ends, const int32_t *weights, const int32_t *labels, int32_t edges,
                 const int32_t *neighbours, const int32_t *edge_weights);
    int (*strategy)(void *strategy, int32_t flags, int32_t parts, double imbalance);
    int (*part)(void *graph, int32_t parts, void *strategy, int32_t *owner);
    void (*reset)(void);
} scotch_api;

static const char *const names[] = {"libscotch-7.0.so", "libscotch.so.7.0", "libscotch.so.7",
                                    "libscotch.so", NULL};
static const tess_library_function functions[] = {
    {"SCOTCH_numSizeof", offsetof(scotch_api, number_size)},
    {"SCOTCH_graphSizeof", offsetof(scotch_api, graph_size)},
    {"SCOTCH_stratSizeof", offsetof(scotch_api, strategy_size)},
    {"SCOTCH_graphInit", offsetof(scotch_api, graph_init)},
    {"SCOTCH_stratInit", offsetof(scotch_api, strategy_init)},
    {"SCOTCH_graphExit", offsetof(scotch_api, graph_exit)},
    {"SCOTCH_stratExit", offsetof(scotch_api, strategy_exit)},
    {"SCOTCH_graphBuild", offsetof(scotch_api, build)},
    {"SCOTCH_stratGraphMapBuild", offsetof(scotch_api, strategy)},
    {"SCOTCH_graphPart", offsetof(scotch_api, part)},
    {"SCOTCH_randomReset", offsetof(scotch_api, reset)},
    {NULL, 0},
};
static const tess_library library = {
    "SCOTCH",          NULL,  "libscotch-7.0", "take a contiguous partition",
    TESS_PARTITIONERS, names, functions};

/* The largest imbalance of the parts: 1 %. */
static const double imbalance = 0.01;

static bool run(const scotch_api *api, const tess_partition_graph *g, int parts, void *graph,
                void *strategy)
{
    if (api->graph_init(graph) != 0)
        return false;
    bool done = api->strategy_init(strategy) == 0;
    if (done) {
        api->reset(); /* the same parts in every run */
        done = api->build(graph, 0, (int32_t)g->nodes, g->offsets, NULL, g->weights, NULL,
                          (int32_t)g->edges, g->neighbours, NULL) == 0 &&
               api->strategy(strategy, 0, parts, imbalance) == 0 &&
               api->part(graph, parts, strategy, g->owner) == 0;
        api->strategy_exit(strategy);
    }
    api->graph_exit(graph);
    return done;
}

tess_status tess_partition_scotch(tess_ctx *ctx, const tess_matrix *A, int parts, int32_t *owner)
{
    scotch_api api;
    tess_partition_graph g = {0};
    void *graph = NULL, *strategy = NULL;
    tess_status status;
    TESS_TRY(tess_library_find(ctx, &library, &api));
    if (api.number_size() != sizeof(int32_t))
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "SCOTCH has numbers of %d bytes here, not 4: take the partition metis",
                         api.number_size());
    if (parts >= A->block_rows)
        return tess_partition_contiguous(ctx, A, parts, owner);
    TESS_TRY_CLEAN(tess_partition_graph_make(ctx, A, library.title, sizeof(int32_t), &g));
    TESS_TRY_CLEAN(tess_alloc_bytes(ctx, 1, (size_t)api.graph_size(), &graph));
    TESS_TRY_CLEAN(tess_alloc_bytes(ctx, 1, (size_t)api.strategy_size(), &strategy));
    if (!run(&api, &g, parts, graph, strategy))
        TESS_TRY_CLEAN(tess_fail(ctx, TESS_ERR_INTERNAL, "SCOTCH could not make %d parts", parts));
    TESS_TRY_CLEAN(tess_partition_graph_take(ctx, &g, library.title, parts, owner));
cleanup:
    tess_partition_graph_free(ctx, &g);
    TESS_FREE(ctx, graph, strategy);
    return status;
}
