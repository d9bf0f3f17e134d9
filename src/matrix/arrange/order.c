/* Reverse Cuthill-McKee: nodes are numbered breadth first from a node at the rim of the graph,
 * neighbours by rising degree, and the order is reversed at the end. Every connected part begins at
 * a node of its own. */
#include "matrix/arrange/graph.h"
#include "matrix/sort.h"

typedef struct walk {
    int64_t *order; /* nodes in the order in which they were reached */
    int32_t *mark;  /* 0: not numbered; 1: numbered; n > 1: reached by trial walk n */
    tess_sort_key *keys, *scratch;
} walk;

/* The result of a walk: nodes order[first .. end-1], the farthest of them from last_level on. */
typedef struct reach {
    int64_t end, last_level, levels;
} reach;

/* Lists the nodes that can be reached from `start` in order[first..], neighbours by rising
 * degree. */
static reach breadth_first(const tess_graph *g, walk *w, int64_t start, int64_t first, int32_t mark)
{
    int64_t end = first, level = first, last_level = first, levels = 0;
    w->order[end++] = start;
    w->mark[start] = mark;
    for (; level < end; levels++) {
        const int64_t level_end = end;
        last_level = level;
        for (; level < level_end; level++) {
            const int64_t node = w->order[level];
            int64_t count = 0;
            for (int64_t k = g->offsets[node]; k < g->offsets[node + 1]; k++) {
                const int32_t other = g->neighbours[k];
                if (w->mark[other] == 1 || w->mark[other] == mark)
                    continue;
                w->mark[other] = mark;
                w->keys[count++] = (tess_sort_key){(int32_t)tess_graph_degree(g, other), other};
            }
            const tess_sort_key *sorted = tess_sort_keys(w->keys, w->scratch, count);
            for (int64_t i = 0; i < count; i++)
                w->order[end++] = sorted[i].position;
        }
    }
    return (reach){end, last_level, levels};
}

/* A node at the rim of the connected part that holds `node`. A few walks find it, each from a node
 * farthest from the start of the walk before. */
static int64_t find_rim(const tess_graph *g, walk *w, int64_t node, int64_t first, int32_t *mark)
{
    enum { TRIES = 4 };
    int64_t depth = 0;
    for (int i = 0; i < TRIES; i++) {
        const reach seen = breadth_first(g, w, node, first, ++*mark);
        if (seen.levels <= depth)
            break;
        depth = seen.levels;
        for (int64_t k = seen.last_level; k < seen.end; k++)
            if (k == seen.last_level ||
                tess_graph_degree(g, w->order[k]) < tess_graph_degree(g, node))
                node = w->order[k];
    }
    return node;
}

static void number_all(const tess_graph *g, walk *w)
{
    int32_t mark = 1;
    int64_t done = 0;
    for (int64_t i = 0; i < g->n; i++) {
        if (w->mark[i] == 1)
            continue;
        const int64_t start = find_rim(g, w, i, done, &mark);
        done = breadth_first(g, w, start, done, 1).end;
    }
}

tess_status tess_arrange_bandwidth(const tess_matrix *A, tess_arrangement *a)
{
    tess_ctx *ctx = a->ctx;
    const int64_t n = A->block_rows;
    int64_t most = 0;
    tess_graph g = {0};
    walk w = {0};
    tess_status status;
    TESS_TRY_CLEAN(tess_graph_make(A, a, &g));
    for (int64_t i = 0; i < n; i++)
        most = tess_max(most, tess_graph_degree(&g, i));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, n, &w.order));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, n, &w.mark));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, most, &w.keys));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, most, &w.scratch));
    number_all(&g, &w);
    for (int64_t i = 0; i < n / 2; i++) {
        const int64_t node = w.order[i];
        w.order[i] = w.order[n - 1 - i];
        w.order[n - 1 - i] = node;
    }
    TESS_TRY_CLEAN(tess_arrange_take_order(a, n, w.order));
cleanup:
    tess_graph_free(ctx, &g);
    TESS_FREE(ctx, w.order, w.mark, w.keys, w.scratch);
    return status;
}
