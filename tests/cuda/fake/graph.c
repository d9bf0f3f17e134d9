/* Graphs: the launches, memsets and copies of the streams that are captured together, with copies
 * of their arguments. A node waits for the one before it in its stream, and for those that the
 * stream was told to wait for. A graph runs its nodes in a random order that this allows: one that
 * was forgotten shows in the results. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

typedef enum node_kind { LAUNCH, MEMSET, COPY } node_kind;

typedef struct node {
    node_kind kind;
    fake_launch launch;
    cu_pointer to;
    const void *from;
    unsigned char value;
    size_t bytes;
    unsigned char *args;
    fake_nodes after;
} node;

typedef struct fake_graph {
    int count, capacity;
    node *nodes;
} fake_graph;

static fake_graph *recording;
static cu_stream origin;
static int captures; /* so far */

bool fake_captured(cu_stream stream)
{
    return stream && stream->captured;
}

int fake_capture_number(void)
{
    return fake_state.capturing ? captures : 0;
}

/* The last node of the graph, with its own copy of the arguments. */
static void add(fake_graph *graph, node added, const void *args, size_t bytes,
                const fake_nodes *after)
{
    if (graph->count == graph->capacity) {
        graph->capacity = graph->capacity ? 2 * graph->capacity : 64;
        graph->nodes = realloc(graph->nodes, (size_t)graph->capacity * sizeof *graph->nodes);
    }
    added.args = malloc(bytes + 1);
    memcpy(added.args, args, bytes);
    added.launch.args = added.args;
    added.after = (fake_nodes){0};
    fake_nodes_add(&added.after, after);
    graph->nodes[graph->count++] = added;
}

/* The stream's last node from now on. */
static cu_result capture(node added, const void *args, size_t bytes, cu_stream stream)
{
    int number = recording->count;
    add(recording, added, args, bytes, &stream->last);
    fake_nodes_clear(&stream->last);
    fake_nodes_add(&stream->last, &(fake_nodes){1, 1, &number});
    return CU_SUCCESS;
}

cu_result fake_capture_launch(const fake_launch *launch)
{
    return capture((node){.kind = LAUNCH, .launch = *launch}, launch->args,
                   launch->function->entry->args_bytes, launch->stream);
}

cu_result fake_capture_memset(cu_pointer to, unsigned char value, size_t bytes, cu_stream stream)
{
    return capture((node){.kind = MEMSET, .to = to, .value = value, .bytes = bytes}, "", 0, stream);
}

cu_result fake_capture_copy(void *to, const void *from, size_t bytes, cu_stream stream)
{
    return capture(
        (node){.kind = COPY, .to = (cu_pointer)(uintptr_t)to, .from = from, .bytes = bytes}, "", 0,
        stream);
}

static void destroy(fake_graph *graph)
{
    for (int i = 0; graph && i < graph->count; i++) {
        free(graph->nodes[i].args);
        fake_nodes_clear(&graph->nodes[i].after);
    }
    free(graph ? graph->nodes : NULL);
    free(graph);
    fake_state.alive--;
}

CALL cuStreamBeginCapture_v2(cu_stream stream, int mode)
{
    (void)mode;
    ENTER();
    REFUSE_IF(!stream || !fake_stream_known(stream), FAKE_INVALID_HANDLE);
    NOT_CAPTURED();
    recording = calloc(1, sizeof *recording);
    origin = stream;
    captures++;
    stream->captured = true;
    fake_state.alive++;
    fake_state.capturing = 1;
    return CU_SUCCESS;
}

/* Nodes that these wait for, and they themselves. */
static void mark(const fake_nodes *nodes, bool *reached)
{
    for (int i = 0; i < nodes->count; i++)
        if (!reached[nodes->at[i]]) {
            reached[nodes->at[i]] = true;
            mark(&recording->nodes[nodes->at[i]].after, reached);
        }
}

CALL cuStreamEndCapture(cu_stream stream, cu_graph *graph)
{
    LOCKED();
    REFUSE_IF(!fake_state.capturing || stream != origin, FAKE_CAPTURE_UNSUPPORTED);
    bool *reached = calloc((size_t)recording->count + 1, sizeof *reached);
    mark(&origin->last, reached);
    const bool joined = fake_streams_release(reached);
    free(reached);
    fake_state.capturing = 0;
    *graph = (cu_graph)recording;
    if (joined)
        return CU_SUCCESS;
    destroy(recording);
    *graph = NULL;
    return FAKE_CAPTURE_UNJOINED;
}

CALL cuStreamIsCapturing(cu_stream stream, int *capturing)
{
    ENTER();
    REFUSE_IF(!fake_stream_known(stream), FAKE_INVALID_HANDLE);
    *capturing = fake_captured(stream);
    return CU_SUCCESS;
}

CALL cuGraphInstantiateWithFlags(cu_graph_exec *exec, cu_graph graph, unsigned long long flags)
{
    (void)flags;
    ENTER();
    const fake_graph *from = (const fake_graph *)graph;
    fake_graph *made = calloc(1, sizeof *made);
    for (int i = 0; i < from->count; i++) {
        const node *n = &from->nodes[i];
        add(made, *n, n->args, n->kind == LAUNCH ? n->launch.function->entry->args_bytes : 0,
            &n->after);
    }
    fake_state.alive++;
    *exec = (cu_graph_exec)made;
    return CU_SUCCESS;
}

static cu_result run(const node *n)
{
    if (n->kind == LAUNCH)
        return fake_run(&n->launch);
    if (n->kind == MEMSET)
        return fake_memset(n->to, n->value, n->bytes);
    fake_state.copies++;
    memmove((void *)(uintptr_t)n->to, n->from, n->bytes);
    return CU_SUCCESS;
}

/* A node that is not done and waits for none, the first from a random place on; -1: all are done.
 */
static int next_node(const fake_graph *graph, const bool *done)
{
    static uint64_t random = 1;
    random = random * 6364136223846793005 + 1442695040888963407;
    const int from = (int)((random >> 33) % (uint64_t)graph->count);
    for (int k = 0; k < graph->count; k++) {
        const int i = (from + k) % graph->count;
        bool waits = done[i];
        for (int d = 0; d < graph->nodes[i].after.count && !waits; d++)
            waits = !done[graph->nodes[i].after.at[d]];
        if (!waits)
            return i;
    }
    return -1;
}

CALL cuGraphLaunch(cu_graph_exec exec, cu_stream stream)
{
    ENTER();
    REFUSE_IF(!fake_stream_known(stream), FAKE_INVALID_HANDLE);
    const fake_graph *graph = (const fake_graph *)exec;
    cu_result result = CU_SUCCESS;
    fake_state.graphs++;
    if (graph->count == 0)
        return CU_SUCCESS;
    bool *done = calloc((size_t)graph->count, sizeof *done);
    for (int i; result == CU_SUCCESS && (i = next_node(graph, done)) >= 0; done[i] = true)
        result = run(&graph->nodes[i]);
    free(done);
    return result;
}

CALL cuGraphExecDestroy(cu_graph_exec exec)
{
    LOCKED();
    destroy((fake_graph *)exec);
    return CU_SUCCESS;
}

CALL cuGraphDestroy(cu_graph graph)
{
    LOCKED();
    destroy((fake_graph *)graph);
    return CU_SUCCESS;
}
