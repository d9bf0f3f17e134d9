/* Reverse Cuthill-McKee: breadth-first numbering from a node at the rim of the graph, neighbours by
 * rising degree, all of it reversed. Every connected part begins at a node of its own. */
#include <string.h>

#include "matrix/arrange/arrange.h"
#include "matrix/sort.h"

/* The pattern of B + B^T without its diagonal; columns of a node may repeat. */
typedef struct graph {
    int64_t n;
    int64_t *offsets;
    int32_t *neighbours;
} graph;

/* Numbers of B, of which row i is A's row row_order[i] and column j is A's column col_order[j]. */
static tess_status make_graph(const tess_matrix *A, const tess_arrangement *a, graph *g)
{
    tess_ctx *ctx = a->ctx;
    const int64_t n = A->block_rows;
    int64_t *column_number = NULL, *next = NULL;
    tess_status status;
    *g = (graph){.n = n};
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
    tess_free(ctx, column_number);
    tess_free(ctx, next);
    return status;
}

static int64_t degree(const graph *g, int64_t node)
{
    return g->offsets[node + 1] - g->offsets[node];
}

typedef struct walk {
    int64_t *order; /* nodes as they were reached */
    int32_t *mark;  /* 0: not numbered; 1: numbered; more: reached by a trial walk of that number */
    tess_sort_key *keys, *scratch;
} walk;

/* What a walk saw: nodes order[first .. end-1], the farthest of them from last_level on. */
typedef struct reach {
    int64_t end, last_level, levels;
} reach;

/* Numbers what is reached from `start` into order[first..], neighbours by rising degree. */
static reach breadth_first(const graph *g, walk *w, int64_t start, int64_t first, int32_t mark)
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
                w->keys[count++] = (tess_sort_key){(int32_t)degree(g, other), other};
            }
            const tess_sort_key *sorted = tess_sort_keys(w->keys, w->scratch, count);
            for (int64_t i = 0; i < count; i++)
                w->order[end++] = sorted[i].position;
        }
    }
    return (reach){end, last_level, levels};
}

/* A node at the rim of the part that `node` is in: the farthest of the farthest, a few times. */
static int64_t find_rim(const graph *g, walk *w, int64_t node, int64_t first, int32_t *mark)
{
    enum { TRIES = 4 };
    int64_t depth = 0;
    for (int i = 0; i < TRIES; i++) {
        const reach seen = breadth_first(g, w, node, first, ++*mark);
        if (seen.levels <= depth)
            break;
        depth = seen.levels;
        for (int64_t k = seen.last_level; k < seen.end; k++)
            if (k == seen.last_level || degree(g, w->order[k]) < degree(g, node))
                node = w->order[k];
    }
    return node;
}

static void number_all(const graph *g, walk *w)
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

/* The order of A's rows or columns, when B's are taken in the order `nodes`, reversed. */
static tess_status reorder(tess_ctx *ctx, int64_t n, const int64_t *nodes, int64_t **order)
{
    int64_t *fresh;
    TESS_TRY(TESS_ALLOC(ctx, n, &fresh));
    for (int64_t i = 0; i < n; i++)
        fresh[i] = *order ? (*order)[nodes[n - 1 - i]] : nodes[n - 1 - i];
    tess_free(ctx, *order);
    *order = fresh;
    return TESS_OK;
}

tess_status tess_arrange_bandwidth(const tess_matrix *A, tess_arrangement *a)
{
    tess_ctx *ctx = a->ctx;
    const int64_t n = A->block_rows;
    int64_t most = 0;
    graph g = {0};
    walk w = {0};
    tess_status status;
    if (A->rows % A->block_height != 0)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "a matrix whose last block is padded is not reordered: store it with "
                         "blocks that divide its size");
    TESS_TRY_CLEAN(make_graph(A, a, &g));
    for (int64_t i = 0; i < n; i++)
        most = tess_max(most, degree(&g, i));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, n, &w.order));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, n, &w.mark));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, most, &w.keys));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, most, &w.scratch));
    number_all(&g, &w);
    TESS_TRY_CLEAN(reorder(ctx, n, w.order, &a->row_order));
    TESS_TRY_CLEAN(reorder(ctx, n, w.order, &a->col_order));
cleanup:
    tess_free(ctx, g.offsets);
    tess_free(ctx, g.neighbours);
    tess_free(ctx, w.order);
    tess_free(ctx, w.mark);
    tess_free(ctx, w.keys);
    tess_free(ctx, w.scratch);
    return status;
}
