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
    int64_t *place; /* of each component of a part, the place of its next node */
    int32_t *owner; /* number of the part that a node is in */
    int32_t *level; /* in the last walk; -1: not reached */
    part *parts;    /* to be dissected */
    int64_t count, capacity;
} dissection;

/* Walks from `start` to the nodes of its part that have no level yet, which follow in `queue` from
 * place `end` on in the order of the walk. Returns their end. */
static int64_t reach(dissection *d, int64_t start, int64_t end)
{
    const int32_t owner = d->owner[start];
    int64_t at = end;
    d->queue[end++] = start;
    d->level[start] = 0;
    for (; at < end; at++) {
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

/* Walks from `start` within a part. Returns the number of nodes reached. */
static int64_t walk(dissection *d, int64_t start, const part *p)
{
    for (int64_t i = p->first; i < p->end; i++)
        d->level[d->nodes[i]] = -1;
    return reach(d, start, 0);
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
        return d->level[node] > middle;
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

/* Makes every connected component of a part a part of its own. The last walk has reached the first
 * one. Components come in the order of their first nodes, whose own order stays. All are found in
 * one sweep: a matrix may have as many components as rows. */
static tess_status separate(tess_ctx *ctx, dissection *d, const part *p, int64_t reached,
                            int32_t *owners)
{
    const int64_t count = p->end - p->first;
    const int32_t first = *owners;
    int64_t end = reached, next = p->first;
    for (int64_t begin = 0; begin < count; ++*owners) {
        d->place[*owners - first] = p->first + begin;
        for (; begin < end; begin++)
            d->owner[d->queue[begin]] = *owners;
        while (next < p->end && d->level[d->nodes[next]] >= 0)
            next++;
        if (next < p->end)
            end = reach(d, d->nodes[next], end);
    }
    for (int64_t i = p->first; i < p->end; i++)
        d->queue[d->place[d->owner[d->nodes[i]] - first]++ - p->first] = d->nodes[i];
    memcpy(d->nodes + p->first, d->queue, (size_t)count * sizeof *d->nodes);
    int64_t at = p->first;
    for (int32_t component = 0; component < *owners - first; at = d->place[component++])
        TESS_TRY(push(ctx, d, at, d->place[component]));
    return TESS_OK;
}

/* Cuts a connected part in two, unless it is too dense: all of its nodes are near each other. */
static tess_status cut(tess_ctx *ctx, dissection *d, const part *p, int32_t *owners)
{
    const int64_t count = p->end - p->first;
    const int32_t last = d->level[d->queue[count - 1]], middle = d->level[d->queue[count / 2]];
    int64_t ends[3];
    if (middle == 0 || middle == last)
        return TESS_OK;
    split(d, p, middle, owners, ends);
    TESS_TRY(push(ctx, d, p->first, ends[0]));
    return push(ctx, d, ends[0], ends[1]);
}

static tess_status dissect_all(tess_ctx *ctx, dissection *d)
{
    int32_t owners = 1;
    TESS_TRY(push(ctx, d, 0, d->graph->n));
    while (d->count > 0) {
        const part p = d->parts[--d->count];
        const int64_t reached = walk_from_rim(d, &p);
        if (reached < p.end - p.first)
            TESS_TRY(separate(ctx, d, &p, reached, &owners));
        else
            TESS_TRY(cut(ctx, d, &p, &owners));
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
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, n, &d.place));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, n, &d.owner));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, n, &d.level));
    for (int64_t i = 0; i < n; i++)
        d.nodes[i] = i;
    TESS_TRY_CLEAN(dissect_all(ctx, &d));
    TESS_TRY_CLEAN(tess_arrange_take_order(a, n, d.nodes));
cleanup:
    tess_graph_free(ctx, &graph);
    TESS_FREE(ctx, d.nodes, d.queue, d.place, d.owner, d.level, d.parts);
    return status;
}
