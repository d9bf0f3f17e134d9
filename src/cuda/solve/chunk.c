/* Chunks of iterations. A chunk is captured as a graph when it comes a second time, and replayed.
 * With several parts in one process part 0 has the graph, which holds the iterations of all. */
#include "cuda/solve/space.h"

void tess_cuda_graphs_free(tess_space *space)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    while (state->graphs) {
        tess_cuda_graph *graph = state->graphs;
        state->graphs = graph->next;
        if (graph->exec)
            (void)state->cuda->driver.cuGraphExecDestroy(graph->exec);
        tess_free(space->ctx, graph);
    }
}

tess_status tess_cuda_put_iterations(tess_space *space, const tess_stretch *stretch,
                                     int64_t position, int64_t iterations)
{
    for (int64_t i = position; i < position + iterations; i++) {
        const tess_unit_list *list;
        TESS_TRY(tess_cuda_need_list(space, &stretch->lists[i % stretch->cycle], stretch, &list));
        TESS_TRY(tess_cuda_run_list(space, list, stretch->systems, stretch->count));
    }
    return TESS_OK;
}

/* The same while part 0's stream is captured: the other parts' streams join it. */
static tess_status put_captured(tess_space *space, const tess_stretch *stretch,
                                const tess_cuda_graph *graph)
{
    const tess_cuda_halo *halo = tess_cuda_space_of(space)->halo;
    if (halo)
        TESS_TRY(tess_cuda_halo_fork(halo));
    TESS_TRY(tess_cuda_put_iterations(space, stretch, graph->position, graph->iterations));
    return halo ? tess_cuda_halo_join(halo) : TESS_OK;
}

/* On the part that leads: ends the capture, whatever came of it, and makes the graph. */
static tess_status end_capture(tess_cuda_space *state, tess_status status, cu_graph_exec *exec)
{
    tess_cuda *cuda = state->cuda;
    cu_graph captured = NULL;
    const cu_result ended = cuda->driver.cuStreamEndCapture(state->plan->stream, &captured);
    if (status == TESS_OK)
        status = tess_cuda_check(cuda, ended, "cuStreamEndCapture");
    if (status == TESS_OK)
        status = TESS_CU(cuda, cuGraphInstantiate(exec, captured, 0));
    if (captured)
        (void)cuda->driver.cuGraphDestroy(captured);
    return status;
}

static tess_status capture(tess_space *space, const tess_stretch *stretch, tess_cuda_graph *graph)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    const bool leads = tess_cuda_halo_leads(state->halo);
    for (int64_t i = 0; i < graph->iterations; i++) { /* what allocates comes first */
        const tess_unit_list *list;
        TESS_TRY(tess_cuda_need_list(space, &stretch->lists[(graph->position + i) % stretch->cycle],
                                     stretch, &list));
    }
    if (leads)
        TESS_TRY(TESS_CU(state->cuda,
                         cuStreamBeginCapture(state->plan->stream, CU_CAPTURE_THREAD_LOCAL)));
    tess_status status = put_captured(space, stretch, graph);
    if (leads)
        status = end_capture(state, status, &graph->exec);
    TESS_TRY(status);
    graph->captured = true;
    /* No stream is used again before the capture has ended. */
    return state->halo ? tess_cuda_halo_meet(state->halo) : TESS_OK;
}

/* The chunk's entry, made now if this is the first time. */
static tess_status need_graph(tess_space *space, const tess_stretch *stretch, int64_t position,
                              int64_t iterations, tess_cuda_graph **out)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    uint64_t systems = 0;
    for (int i = 0; i < stretch->count; i++)
        systems |= (uint64_t)1 << stretch->systems[i];
    for (tess_cuda_graph *g = state->graphs; g; g = g->next) {
        if (g->systems == systems && g->position == position && g->iterations == iterations) {
            *out = g;
            return TESS_OK;
        }
    }
    TESS_TRY(TESS_CALLOC(space->ctx, 1, out));
    **out = (tess_cuda_graph){
        .next = state->graphs, .systems = systems, .position = position, .iterations = iterations};
    state->graphs = *out;
    return TESS_OK;
}

tess_status tess_cuda_put_chunk(tess_space *space, const tess_stretch *stretch, int64_t at,
                                int64_t iterations)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    tess_cuda_graph *graph = NULL;
    const int64_t position = (stretch->position + at) % stretch->cycle;
    if (!state->calls)
        TESS_TRY(need_graph(space, stretch, position, iterations, &graph));
    /* Capturing takes longer than launching, so a chunk is captured when it comes a second time. */
    if (!graph || !graph->seen) {
        if (graph)
            graph->seen = true;
        if (state->halo)
            state->halo->must_join = true;
        return tess_cuda_put_iterations(space, stretch, position, iterations);
    }
    if (!graph->captured)
        TESS_TRY(capture(space, stretch, graph));
    return state->halo ? tess_cuda_halo_launch(state->halo, graph->exec)
                       : TESS_CU(state->cuda, cuGraphLaunch(graph->exec, state->plan->stream));
}
