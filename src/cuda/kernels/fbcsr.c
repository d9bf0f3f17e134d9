/* The descriptor of fbcsr.cu. The shapes are the problem's: they come with the plan's parameters,
 * or are chosen for the matrix, and decide both the layout and the code. */
#include <stdio.h>

#include "cuda/kernels/support.h"
#include "plan/shapes.h"

enum { DEPTH, THREADS, HINT, COUNT };

static const tess_cuda_param params_of_fbcsr[COUNT] = {
    [DEPTH] = {"depth", {2, 4, 8, 16}, 4},
    [THREADS] = {"threads", {64, 128, 256}, 3},
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
    for (int i = 0; i < shapes.count; i++)
        if (tess_fbcsr_cells(&shapes.shape[i]) < 2)
            return false;
    return shapes.count > 0 && shapes.count <= FBCSR_SPLITS_MAX;
}

static void guess(const tess_cuda_problem *problem, int *p)
{
    (void)problem;
    p[DEPTH] = 8;
    p[THREADS] = 128;
    p[HINT] = 1;
}

static void defines(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    tess_fbcsr_options shapes;
    (void)tess_shapes_read(NULL, problem->shapes, &shapes);
    int used =
        snprintf(text, size, "-DREAL=%d -DDEPTH=%d -DTHREADS=%d -DHINT=%d -DSPLITS=%d",
                 (int)tess_type_size(problem->type), p[DEPTH], p[THREADS], p[HINT], shapes.count);
    for (int i = 0; i < shapes.count; i++) {
        const tess_fbcsr_shape *shape = &shapes.shape[i];
        used += snprintf(text + used, size - (size_t)used, " -DHIGH%d=%d -DWIDE%d=%d -DSHIFT%d=%d",
                         i, (int)shape->height, i, (int)shape->width, i, (int)shape->shift);
    }
}

static void layout(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    (void)p;
    snprintf(text, size, "fbcsr:%s", problem->shapes);
}

static int launches(const tess_cuda_problem *problem, const int *p, const tess_cuda_image *image,
                    const tess_cuda_call *call, tess_cuda_launch *out)
{
    const tess_cuda_fbcsr *f = image->format;
    if (problem->rows == 0)
        return 0;
    unsigned grid = (unsigned)tess_ceil_div(problem->rows, p[THREADS]);
    tess_cuda_launch *run = tess_cuda_launch_start(out, "fbcsr", grid, (unsigned)p[THREADS]);
    tess_cuda_arg_pointer(run, call->arrays[FBCSR_RANGES]);
    tess_cuda_arg_pointer(run, call->arrays[FBCSR_PLACES]);
    tess_cuda_arg_pointer(run, call->arrays[FBCSR_VALUES]);
    tess_cuda_arg_pointer(run, call->arrays[FBCSR_REST_OFFSETS]);
    tess_cuda_arg_pointer(run, f->rest_stored > 0 ? call->arrays[FBCSR_REST_LENGTHS] : 0);
    tess_cuda_arg_pointer(run, call->arrays[FBCSR_REST_COLUMNS]);
    tess_cuda_arg_pointer(run, call->arrays[FBCSR_VALUES] +
                                   (uint64_t)f->rest_value * tess_type_size(problem->type));
    tess_cuda_arg_pointer(run, call->x);
    tess_cuda_arg_pointer(run, call->y);
    tess_cuda_arg_integer(run, problem->rows);
    tess_cuda_arg_number(run, call->alpha);
    tess_cuda_arg_number(run, call->beta);
    for (int i = 0; i < FBCSR_SPLITS_MAX; i++)
        tess_cuda_arg_integer(run, f->first_range[i]);
    for (int i = 0; i < FBCSR_SPLITS_MAX; i++)
        tess_cuda_arg_integer(run, f->first_value[i]);
    return 1;
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
