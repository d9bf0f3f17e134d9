/* What the sliced kernels' descriptors share. */
#pragma once

#include "cuda/kernels/support.h"

/* Whether slices of C lines have few enough scalar rows, each and all together. Rows may become
 * more lines where they are cut: that is seen when the layout is made. */
static inline bool tess_sliced_takes_rows(const tess_cuda_problem *problem, int C)
{
    const int64_t slice = (int64_t)C * problem->block_height;
    return (C == 1 || slice <= 4096) &&
           tess_ceil_div(problem->block_rows, C) <= TESS_CUDA_MOST / slice;
}

/* The most scalars of a block's x that can be read at a time. */
int tess_sliced_widest_x(const tess_cuda_problem *problem);

/* Fills in the launch of sliced_sum.cuh for a panel with cut rows; returns the number of its thread
 * blocks. `cut`: the arrays cut_row and cut_slots. */
int64_t tess_sliced_launch_sum(const tess_cuda_problem *problem, const tess_sliced_panel *panel,
                               const tess_cuda_call *call, const uint64_t *cut, uint64_t dot_part,
                               tess_cuda_launch *run);
