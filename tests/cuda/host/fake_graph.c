/* Graphs: the launches and memsets of a captured stream, in order, with copies of their arguments.
 * Captured is whatever is put on any stream between begin and end. */
#include <stdlib.h>
#include <string.h>

#include "fake_internal.h"

typedef struct node {
    fake_launch launch; /* function NULL: a memset */
    cu_pointer to;
    unsigned char value;
    size_t bytes;
    unsigned char *args;
} node;

typedef struct fake_graph {
    int count, capacity;
    node *nodes;
} fake_graph;

static fake_graph *recording;

/* The last node of the graph, with its own copy of the arguments. */
static cu_result add(fake_graph *graph, node added, const void *args, size_t bytes)
{
    if (graph->count == graph->capacity) {
        graph->capacity = graph->capacity ? 2 * graph->capacity : 64;
        graph->nodes = realloc(graph->nodes, (size_t)graph->capacity * sizeof *graph->nodes);
    }
    added.args = malloc(bytes + 1);
    memcpy(added.args, args, bytes);
    added.launch.args = added.args;
    graph->nodes[graph->count++] = added;
    return CU_SUCCESS;
}

cu_result fake_capture_launch(const fake_launch *launch)
{
    return add(recording, (node){.launch = *launch}, launch->args,
               launch->function->entry->args_bytes);
}

cu_result fake_capture_memset(cu_pointer to, unsigned char value, size_t bytes)
{
    return add(recording, (node){.to = to, .value = value, .bytes = bytes}, "", 0);
}

static void destroy(fake_graph *graph)
{
    for (int i = 0; graph && i < graph->count; i++)
        free(graph->nodes[i].args);
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
    fake_state.alive++;
    fake_state.capturing = 1;
    return CU_SUCCESS;
}

CALL cuStreamEndCapture(cu_stream stream, cu_graph *graph)
{
    LOCKED();
    (void)stream;
    fake_state.capturing = 0;
    *graph = (cu_graph)recording;
    return CU_SUCCESS;
}

CALL cuStreamIsCapturing(cu_stream stream, int *capturing)
{
    ENTER();
    REFUSE_IF(!fake_stream_known(stream), FAKE_INVALID_HANDLE);
    *capturing = fake_state.capturing;
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
        add(made, *n, n->args, n->launch.function ? n->launch.function->entry->args_bytes : 0);
    }
    fake_state.alive++;
    *exec = (cu_graph_exec)made;
    return CU_SUCCESS;
}

CALL cuGraphLaunch(cu_graph_exec exec, cu_stream stream)
{
    ENTER();
    REFUSE_IF(!fake_stream_known(stream), FAKE_INVALID_HANDLE);
    const fake_graph *graph = (const fake_graph *)exec;
    fake_state.graphs++;
    for (int i = 0; i < graph->count; i++) {
        const node *n = &graph->nodes[i];
        const cu_result result =
            n->launch.function ? fake_run(&n->launch) : fake_memset(n->to, n->value, n->bytes);
        REFUSE_IF(result != CU_SUCCESS, result);
    }
    return CU_SUCCESS;
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
