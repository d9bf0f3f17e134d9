/* The launch of sliced_sum.cuh, which adds up the segments of cut rows. */
#include "cuda/kernels/daily/sliced.h"

enum { SUM_THREADS = 512 };

int64_t tess_sliced_launch_sum(const tess_cuda_problem *problem, const tess_sliced_panel *panel,
                               const tess_cuda_call *call, const uint64_t *cut, uint64_t dot_part,
                               tess_cuda_launch *run)
{
    uint64_t before = (uint64_t)panel->first_cut * sizeof(int32_t);
    int64_t pairs = (panel->cut_rows - panel->cut_long) * problem->block_height;
    int64_t grid = panel->cut_long + tess_ceil_div(pairs, SUM_THREADS);
    tess_cuda_launch_start(run, "sliced_sum", grid, SUM_THREADS)->overlaps = true;
    TESS_CUDA_POINTERS(run, cut[0] + before, cut[1] + before);
    TESS_CUDA_INTEGERS(run, panel->cut_rows, panel->cut_long);
    TESS_CUDA_POINTERS(run, call->workspace, call->y);
    TESS_CUDA_INTEGERS(run, problem->rows);
    tess_cuda_add_factors(run, problem, call);
    TESS_CUDA_POINTERS(run, call->w, dot_part);
    return grid;
}
