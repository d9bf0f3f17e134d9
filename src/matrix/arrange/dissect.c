/* Nested dissection (George 1973): a set of nodes that separates the others into two sides is
 * numbered last, and both sides are dissected in the same way. Complete factors of a mesh then have
 * far fewer entries than in an order by bandwidth.
 *
 * A separator is a level of a breadth-first walk from a node at the rim: the level at which half of
 * the nodes are reached, without its nodes that have no neighbour in the next level.
 *
 *     nodes   [ ... | one side | other side | separator | ... ]     a part after its dissection
 */
#include "matrix/arrange/graph.h"

/* Parts of at most this many nodes are not dissected. */
enum { LEAF = 40 };

typedef struct part {
    int64_t first, end; /* of the nodes */
} part;

typedef struct dissection {
    const tess_graph *graph;
    int64_t *nodes, *queue;
    int32_t *owner; /* number of the part that a node is in */
    int32_t *level; /* in the last walk; -1: not reached */
    part *parts;    /* to be dissected */
    int64_t count, capacity;
} dissection;

/* Walks from `start` within a part. Returns the number of nodes reached; `queue` has them in the
 * order of the walk. */
static int64_t walk(dissection *d, int64_t start, const part *p)
{
    const int32_t owner = d->owner[start];
    int64_t end = 0;
    for (int64_t i = p->first; i < p->end; i++)
        d->level[d->nodes[i]] = -1;
    d->queue[end++] = start;
    d->level[start] = 0;
    for (int64_t at = 0; at < end; at++) {
        const int64_t node = d->queue[at];
        for (int64_t k = d->graph->offsets[node]; k < d->graph->offsets[node + 1]; k++) {
            const int32_t other = d->graph->neighbours[k];
            if (d->owner[other] != owner || d->level[other] >= 0)
                continue;
            d->level[other] = d->level[node] + 1;
            d->queue[end++] = other;
        }
    }
    return end;
}

/* Makes a few walks, each from the farthest node of the walk before. The last one remains in d;
 * returns the number of nodes it reached. */
static int64_t walk_from_rim(dissection *d, const part *p)
{
    int64_t start = d->nodes[p->first], reached = 0;
    int32_t depth = -1;
    for (int i = 0; i < 4; i++) {
        reached = walk(d, start, p);
        const int64_t last = d->queue[reached - 1];
        if (d->level[last] <= depth)
            break;
        depth = d->level[last];
        start = last;
    }
    return reached;
}

/* Returns 0 for one side, 1 for the other, 2 for the separator, which is a part of level
 * `middle`. */
static int side_of(const dissection *d, int64_t node, int32_t middle)
{
    if (d->level[node] != middle)
        return d->level[node] > middle || d->level[node] < 0;
    for (int64_t k = d->graph->offsets[node]; k < d->graph->offsets[node + 1]; k++) {
        const int32_t other = d->graph->neighbours[k];
        if (d->owner[other] == d->owner[node] && d->level[other] > middle)
            return 2;
    }
    return 0;
}

static tess_status push(tess_ctx *ctx, dissection *d, int64_t first, int64_t end)
{
    if (end - first <= LEAF)
        return TESS_OK;
    TESS_TRY(TESS_GROW(ctx, &d->parts, d->count, &d->capacity));
    d->parts[d->count++] = (part){first, end};
    return TESS_OK;
}

/* Sorts the nodes of a part by their side, and gives each of the two sides a new owner number. */
static void split(dissection *d, const part *p, int32_t middle, int32_t *owners, int64_t ends[3])
{
    int64_t end = p->first;
    const int64_t count = p->end - p->first;
    for (int64_t i = 0; i < count; i++)
        d->queue[i] = d->nodes[p->first + i];
    for (int side = 0; side < 3; side++) {
        for (int64_t i = 0; i < count; i++)
            if (side_of(d, d->queue[i], middle) == side)
                d->nodes[end++] = d->queue[i];
        ends[side] = end;
    }
    for (int64_t i = p->first; i < ends[2]; i++)
        d->owner[d->nodes[i]] = *owners + (i >= ends[0]) + (i >= ends[1]);
    *owners += 3;
}

static tess_status dissect_all(tess_ctx *ctx, dissection *d)
{
    int32_t owners = 1;
    TESS_TRY(push(ctx, d, 0, d->graph->n));
    while (d->count > 0) {
        const part p = d->parts[--d->count];
        const int64_t count = p.end - p.first, reached = walk_from_rim(d, &p);
        /* If the walk does not reach all nodes, the part is cut between those reached and the
         * others: no node has a level beyond the last. */
        const int32_t last = d->level[d->queue[reached - 1]];
        const int32_t middle = reached < count ? last + 1 : d->level[d->queue[count / 2]];
        int64_t ends[3];
        if (reached == count && (middle == 0 || middle == last))
            continue; /* too dense to be cut */
        split(d, &p, middle, &owners, ends);
        TESS_TRY(push(ctx, d, p.first, ends[0]));
        TESS_TRY(push(ctx, d, ends[0], ends[1]));
        TESS_TRY(
            tess_progress(ctx, "ordering", (double)(d->graph->n - p.end), (double)d->graph->n));
    }
    return TESS_OK;
}

tess_status tess_arrange_dissect(const tess_matrix *A, tess_arrangement *a)
{
    tess_ctx *ctx = a->ctx;
    const int64_t n = A->block_rows;
    tess_graph graph = {0};
    dissection d = {.graph = &graph};
    tess_status status;
    TESS_TRY_CLEAN(tess_graph_make(A, a, &graph));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, n, &d.nodes));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, n, &d.queue));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, n, &d.owner));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, n, &d.level));
    for (int64_t i = 0; i < n; i++)
        d.nodes[i] = i;
    TESS_TRY_CLEAN(dissect_all(ctx, &d));
    TESS_TRY_CLEAN(tess_arrange_take_order(a, n, d.nodes));
cleanup:
    tess_graph_free(ctx, &graph);
    TESS_FREE(ctx, d.nodes, d.queue, d.owner, d.level, d.parts);
    return status;
}
