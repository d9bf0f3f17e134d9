#include "cuda/kernels/papers/rows.h"

bool tess_cuda_rows_fit(const tess_cuda_problem *problem, int lambda)
{
    if (lambda == 0)
        return problem->block_rows <= INT32_MAX;
    return lambda < problem->longest_row &&
           problem->block_rows + problem->blocks / lambda <= TESS_CUDA_MOST;
}

int64_t tess_cuda_rows_mean(const tess_cuda_problem *problem)
{
    return problem->block_rows > 0 ? problem->blocks / problem->block_rows : 0;
}

bool tess_cuda_rows_uneven(const tess_cuda_problem *problem)
{
    return problem->longest_row > 2 * tess_cuda_rows_mean(problem) + 8;
}

int tess_cuda_rows_lambda(const tess_cuda_problem *problem)
{
    int lambda = tess_cuda_rows_mean(problem) > 8 ? 32 : 16;
    while (lambda > 8 && lambda >= problem->longest_row)
        lambda /= 2;
    return lambda;
}

size_t tess_cuda_rows_defines(const tess_cuda_problem *problem, bool balanced, char *text,
                              size_t size)
{
    tess_cuda_scalar_defines(problem->type, problem->conjugate, text, size);
    tess_append(text, size, " -DBH=%d -DBW=%d -DRAGGED=%d -DBALANCED=%d -DHINT=1",
                (int)problem->block_height, (int)problem->block_width,
                problem->cols % problem->block_width != 0, balanced);
    return strlen(text);
}

void tess_cuda_rows_layout_name(int lambda, char *text, size_t size)
{
    if (lambda == 0)
        snprintf(text, size, "bsr");
    else
        snprintf(text, size, "balanced:lambda=%d", lambda);
}

int tess_cuda_rows_launches(const tess_cuda_problem *problem, const tess_cuda_layout *layout,
                            const tess_cuda_call *call, const char *entry, int64_t lines_each,
                            int64_t blocks_each, int threads, tess_cuda_launch *out)
{
    bool balanced = layout->count > BALANCED_SEGMENT_PTR;
    int64_t lines = balanced ? layout->counts[BALANCED_SEGMENTS] : problem->block_rows;
    if (problem->rows == 0)
        return 0;
    int64_t grid = tess_ceil_div(lines, lines_each) * blocks_each;
    tess_cuda_launch *run = tess_cuda_launch_start(&out[0], entry, grid, threads);
    tess_cuda_add_args(run, call->arrays, BSR_VALUES + 1);
    TESS_CUDA_POINTERS(run, call->x, balanced ? call->workspace : call->y);
    TESS_CUDA_INTEGERS(run, lines, problem->rows, problem->cols);
    tess_cuda_add_factors(run, problem, call);
    if (!balanced)
        return 1;
    tess_cuda_launch_balanced_sum(problem, layout, call, &out[1]);
    return 2;
}
