/* METIS: parts of equal weight with few edges between them.
 *
 * METIS is loaded when the first such partition is made (core/library.h). Its integers have 32 or
 * 64 bits, depending on how it was built; the array of options that it fills with -1 shows which.
 */
#include "core/library.h"
#include "matrix/partition/partition.h"

/* All integers are passed by address, so the type serves for both widths. */
typedef int metis_partition_fn(void *nodes, void *constraints, void *offsets, void *neighbours,
                               void *weights, void *sizes, void *edge_weights, void *parts,
                               void *targets, void *tolerances, void *options, void *cut,
                               void *owner);

typedef struct metis_api {
    int (*defaults)(void *options);
    metis_partition_fn *recursive, *k_way;
} metis_api;

enum { OPTIONS = 40, OPTION_SEED = 8, DONE = 1, NO_MEMORY = -3 };

static const char *const names[] = {"libmetis.so.5", "libmetis.so", NULL};
static const tess_library_function functions[] = {
    {"METIS_SetDefaultOptions", offsetof(metis_api, defaults)},
    {"METIS_PartGraphRecursive", offsetof(metis_api, recursive)},
    {"METIS_PartGraphKway", offsetof(metis_api, k_way)},
    {NULL, 0},
};
static const tess_library library = {
    "METIS", NULL, "libmetis5", "take a contiguous partition", TESS_PARTITIONERS, names, functions};

/* One integer of the library's width. */
typedef union metis_number {
    int32_t narrow;
    int64_t wide;
} metis_number;

static metis_number number_of(int width, int64_t value)
{
    return width == 4 ? (metis_number){.narrow = (int32_t)value} : (metis_number){.wide = value};
}

/* Recursive bisection balances better and suits few parts, says METIS's manual. */
static int run(const metis_api *api, const tess_partition_graph *g, int parts, void *options)
{
    metis_number nodes = number_of(g->width, g->nodes), one = number_of(g->width, 1);
    metis_number count = number_of(g->width, parts), cut = number_of(g->width, 0);
    return (parts <= 8 ? api->recursive : api->k_way)(&nodes, &one, g->offsets, g->neighbours,
                                                      g->weights, NULL, NULL, &count, NULL, NULL,
                                                      options, &cut, g->owner);
}

tess_status tess_partition_metis(tess_ctx *ctx, const tess_matrix *A, int parts, int32_t *owner)
{
    metis_api api;
    union {
        int32_t narrow[OPTIONS];
        int64_t wide[OPTIONS];
    } options = {.wide = {0}};
    tess_partition_graph g = {0};
    tess_status status;
    TESS_TRY(tess_library_find(ctx, &library, &api));
    if (parts >= A->block_rows)
        return tess_partition_contiguous(ctx, A, parts, owner);
    api.defaults(&options);
    const int width = options.wide[OPTIONS - 1] != 0 ? 8 : 4;
    if (width == 4)
        options.narrow[OPTION_SEED] = 1;
    else
        options.wide[OPTION_SEED] = 1;
    TESS_TRY_CLEAN(tess_partition_graph_make(ctx, A, library.title, width, &g));
    if (g.edges == 0) { /* nothing to cut */
        status = tess_partition_contiguous(ctx, A, parts, owner);
        goto cleanup;
    }
    const int done = run(&api, &g, parts, &options);
    if (done != DONE)
        TESS_TRY_CLEAN(tess_fail(ctx, done == NO_MEMORY ? TESS_ERR_MEMORY : TESS_ERR_INTERNAL,
                                 "METIS could not make %d parts (status %d)", parts, done));
    TESS_TRY_CLEAN(tess_partition_graph_take(ctx, &g, library.title, parts, owner));
cleanup:
    tess_partition_graph_free(ctx, &g);
    return status;
}
