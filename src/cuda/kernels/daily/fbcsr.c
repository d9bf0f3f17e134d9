/* The descriptor of fbcsr.cu. The shapes are the problem's: they come with the plan's parameters,
 * or are chosen for the matrix. They decide the layout, and the widths of runs that the code
 * knows. */
#include "cuda/kernels/daily/sliced.h"
#include "format/fbcsr/slices.h"

enum { LANES, DEPTH, FLIGHT, THREADS, AHEAD, HINT, COUNT };

static const tess_cuda_param params_of_fbcsr[COUNT] = {
    [LANES] = {"lanes", {1, 2, 4, 8}, 4}, [DEPTH] = {"depth", {2, 4}, 2},
    [FLIGHT] = {"flight", {2, 4, 8}, 3},  [THREADS] = {"threads", {64, 128, 256}, 3},
    [AHEAD] = {"ahead", {0, 1}, 2},       [HINT] = {"hint", {0, 1, 2, 3}, 4},
};

/* Returns the scalars of runs in flight beside diagonals: as many as fit the few registers of a
 * thread. */
static int flight_with_diagonals(const tess_fbcsr_options *shapes)
{
    int width[TESS_FBCSR_CLASSES];
    return tess_fbcsr_widths(shapes, width) == 1 ? 4 : 2;
}

static bool fits(const tess_cuda_problem *problem, const int *p)
{
    const int64_t most = INT32_MAX - TESS_SHAPE_SHIFT * TESS_FBCSR_WARP;
    if (problem->block_height != 1 || problem->block_width != 1 || !problem->shapes[0] ||
        problem->rows > most || problem->cols > most)
        return false;
    tess_fbcsr_options shapes = tess_cuda_shapes_of(problem);
    if (!tess_fbcsr_has_diagonals(&shapes)) /* DEPTH and AHEAD are for diagonals */
        return shapes.count > 0 && p[DEPTH] == 4 && p[AHEAD] == 1;
    return p[LANES] == 1 && p[FLIGHT] == flight_with_diagonals(&shapes);
}

/* Returns the scalars of runs in flight. With one lane per row these are 8 in rows of 13 non-zeros
 * and more with runs of up to 4 columns, and 4 in others (docs/performance/choices.md). */
static int flight_of_runs(const tess_fbcsr_options *shapes, int lanes, int64_t mean)
{
    int width[TESS_FBCSR_CLASSES];
    (void)tess_fbcsr_widths(shapes, width);
    if (lanes == 1)
        return width[0] <= 4 && mean >= 13 ? 8 : 4;
    return lanes == 4 ? 4 : 8;
}

/* Pieces of diagonals in flight: 2 for rows of 3 and 5 non-zeros, 4 for 7 and more. A matrix that
 * fits L2 has no hint, as in sliced_guess.c. */
static void guess(const tess_cuda_problem *problem, int *p)
{
    tess_fbcsr_options shapes = tess_cuda_shapes_of(problem);
    int64_t mean = problem->blocks / (problem->rows > 0 ? problem->rows : 1);
    bool diagonals = tess_fbcsr_has_diagonals(&shapes);
    p[LANES] = diagonals ? 1 : tess_fbcsr_lanes(problem->rows, problem->blocks);
    p[DEPTH] = diagonals && mean < 7 ? 2 : 4;
    p[FLIGHT] =
        diagonals ? flight_with_diagonals(&shapes) : flight_of_runs(&shapes, p[LANES], mean);
    p[THREADS] = 128;
    p[AHEAD] = 1;
    p[HINT] = tess_cuda_fits_cache(problem, 1) ? 0 : 1;
}

static void defines(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    tess_fbcsr_options shapes = tess_cuda_shapes_of(problem);
    int width[TESS_FBCSR_CLASSES] = {0}, classes = tess_fbcsr_widths(&shapes, width);
    snprintf(text, size,
             "-DREAL=%d -DARCH=%d -DLANES=%d -DDEPTH=%d -DFLIGHT=%d -DTHREADS=%d -DAHEAD=%d "
             "-DHINT=%d -DWIDTH0=%d -DWIDTH1=%d -DWIDTH2=%d -DWIDTH3=%d -DBITS=%d -DDIAGONALS=%d",
             (int)tess_type_size(problem->type), problem->arch, p[LANES], p[DEPTH], p[FLIGHT],
             p[THREADS], p[AHEAD], p[HINT], width[0], width[1], width[2], width[3], 32 / classes,
             tess_fbcsr_has_diagonals(&shapes));
}

static void layout_name(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    snprintf(text, size, "fbcsr:%d/%s", p[LANES], problem->shapes);
}

static int launches(const tess_cuda_problem *problem, const int *p, const tess_cuda_layout *layout,
                    const tess_cuda_call *call, tess_cuda_launch *out)
{
    const tess_fbcsr_slices *S = layout->format;
    if (problem->rows == 0)
        return 0;
    int64_t grid = tess_ceil_div(S->slices * TESS_FBCSR_WARP, p[THREADS]);
    tess_cuda_launch *run = tess_cuda_launch_start(out, "fbcsr", grid, p[THREADS]);
    TESS_CUDA_POINTERS(run, call->arrays[FBCSR_HEADS], call->arrays[FBCSR_LENGTHS],
                       S->targets ? call->arrays[FBCSR_TARGETS] : 0, call->arrays[FBCSR_PIECES],
                       call->arrays[FBCSR_COLUMNS], call->arrays[FBCSR_VALUES], call->x, call->y,
                       call->workspace);
    TESS_CUDA_INTEGERS(run, problem->rows, S->slices, S->segments);
    TESS_CUDA_NUMBERS(run, call->alpha, call->beta);
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
    .takes_shapes = true,
    .params = params_of_fbcsr,
    .param_count = COUNT,
    .fits = fits,
    .guess = guess,
    .defines = defines,
    .layout_name = layout_name,
    .launches = launches,
};
