/* How the parts' streams wait for each other before and after a graph that holds the work of all
 * parts. */
#include "cuda/solve/parts/halo.h"

bool tess_cuda_halo_leads(const tess_cuda_halo *h)
{
    return !h || h->plan->part->comm.rank == 0;
}

/* Part 0 records `event` now, and the other parts' streams wait for it. */
static tess_status follow(const tess_cuda_halo *h, cu_event event)
{
    const bool leads = tess_cuda_halo_leads(h);
    if (leads)
        TESS_TRY(TESS_CU(h->mine.cuda, cuEventRecord(event, tess_cuda_halo_stream(h))));
    TESS_TRY(tess_cuda_halo_meet(h));
    return leads ? TESS_OK : tess_cuda_halo_wait(h, tess_cuda_halo_stream(h), event);
}

tess_status tess_cuda_halo_fork(const tess_cuda_halo *h)
{
    return follow(h, h->all[0]->forked);
}

tess_status tess_cuda_halo_join(const tess_cuda_halo *h)
{
    const bool leads = tess_cuda_halo_leads(h);
    if (!leads)
        TESS_TRY(TESS_CU(h->mine.cuda, cuEventRecord(h->mine.together, tess_cuda_halo_stream(h))));
    TESS_TRY(tess_cuda_halo_meet(h));
    for (int r = 1; leads && r < h->plan->part->comm.size; r++)
        TESS_TRY(tess_cuda_halo_wait(h, tess_cuda_halo_stream(h), h->all[r]->together));
    return TESS_OK;
}

tess_status tess_cuda_halo_launch(tess_cuda_halo *h, cu_graph_exec exec)
{
    /* Two graphs in a row need nothing in between: part 0's stream orders them. */
    if (h->must_join)
        TESS_TRY(tess_cuda_halo_join(h));
    if (tess_cuda_halo_leads(h))
        TESS_TRY(TESS_CU(h->mine.cuda, cuGraphLaunch(exec, tess_cuda_halo_stream(h))));
    h->must_join = false;
    /* The next capture must not record this event again: a part may be late to wait for it, and
     * would join the capture. */
    return follow(h, h->all[0]->launched);
}
