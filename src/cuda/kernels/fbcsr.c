/* The descriptor of fbcsr.cu. The shapes are the problem's: they come with the plan's parameters,
 * or are chosen for the matrix, and decide the layout, and which widths of runs the code knows. */
#include <stdio.h>

#include "cuda/kernels/sliced.h"
#include "format/fbcsr_slices.h"
#include "plan/shapes.h"

enum { DEPTH, FLIGHT, THREADS, AHEAD, HINT, COUNT };

static const tess_cuda_param params_of_fbcsr[COUNT] = {
    [DEPTH] = {"depth", {2, 4, 8}, 3},          [FLIGHT] = {"flight", {2, 4, 8}, 3},
    [THREADS] = {"threads", {64, 128, 256}, 3}, [AHEAD] = {"ahead", {0, 1}, 2},
    [HINT] = {"hint", {0, 1, 2, 3}, 4},
};

static bool fits(const tess_cuda_problem *problem, const int *p)
{
    tess_fbcsr_options shapes;
    (void)p;
    if (problem->block_height != 1 || problem->block_width != 1 || !problem->shapes[0] ||
        problem->rows > INT32_MAX || problem->cols > INT32_MAX ||
        tess_shapes_read(NULL, problem->shapes, &shapes) != TESS_OK)
        return false;
    return shapes.count > 0;
}

static void guess(const tess_cuda_problem *problem, int *p)
{
    tess_fbcsr_options shapes = {0};
    (void)tess_shapes_read(NULL, problem->shapes, &shapes);
    unsigned widths = tess_fbcsr_widths(&shapes);
    p[DEPTH] = 4;
    p[FLIGHT] = widths == 1u << 1 || widths >= 1u << 4 ? 2 : 8; /* narrow runs: more of them */
    p[THREADS] = 128;
    p[AHEAD] = 1;
    p[HINT] = widths == 1u << 1 ? 0 : 1;
}

static void defines(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    tess_fbcsr_options shapes;
    (void)tess_shapes_read(NULL, problem->shapes, &shapes);
    snprintf(text, size,
             "-DREAL=%d -DDEPTH=%d -DFLIGHT=%d -DTHREADS=%d -DAHEAD=%d -DHINT=%d "
             "-DWIDTHS=%u",
             (int)tess_type_size(problem->type), p[DEPTH], p[FLIGHT], p[THREADS], p[AHEAD], p[HINT],
             tess_fbcsr_widths(&shapes));
}

static void layout(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    (void)p;
    snprintf(text, size, "fbcsr:%s", problem->shapes);
}

static int launches(const tess_cuda_problem *problem, const int *p, const tess_cuda_image *image,
                    const tess_cuda_call *call, tess_cuda_launch *out)
{
    const tess_fbcsr_slices *S = image->format;
    if (problem->rows == 0)
        return 0;
    unsigned grid = (unsigned)tess_ceil_div(S->slices * TESS_FBCSR_SLICE, p[THREADS]);
    tess_cuda_launch *run = tess_cuda_launch_start(out, "fbcsr", grid, (unsigned)p[THREADS]);
    tess_cuda_arg_pointer(run, call->arrays[FBCSR_HEADS]);
    tess_cuda_arg_pointer(run, S->targets ? call->arrays[FBCSR_TARGETS] : 0);
    tess_cuda_arg_pointer(run, call->arrays[FBCSR_PIECES]);
    tess_cuda_arg_pointer(run, call->arrays[FBCSR_LENGTHS]);
    tess_cuda_arg_pointer(run, call->arrays[FBCSR_COLUMNS]);
    tess_cuda_arg_pointer(run, call->arrays[FBCSR_VALUES]);
    tess_cuda_arg_pointer(run, call->x);
    tess_cuda_arg_pointer(run, call->y);
    tess_cuda_arg_pointer(run, call->workspace);
    tess_cuda_arg_integer(run, problem->rows);
    tess_cuda_arg_integer(run, S->slices);
    tess_cuda_arg_integer(run, S->segments);
    tess_cuda_arg_number(run, call->alpha);
    tess_cuda_arg_number(run, call->beta);
    if (S->cut_rows == 0)
        return 1;
    const tess_sliced_panel cut = {.cut_rows = S->cut_rows, .cut_long = S->cut_long};
    tess_cuda_call add = *call;
    add.beta = 1;
    (void)tess_sliced_launch_sum(problem, &cut, &add, &call->arrays[FBCSR_CUT_ROW], 0, &out[1]);
    return 2;
}

const tess_cuda_kernel tess_cuda_kernel_fbcsr = {
    .name = "fbcsr",
    .source = "fbcsr.cu",
    .format = "fbcsr",
    .op = TESS_CUDA_SPMV,
    .params = params_of_fbcsr,
    .param_count = COUNT,
    .fits = fits,
    .guess = guess,
    .defines = defines,
    .layout = layout,
    .launches = launches,
};
