/* The sliced kernels' descriptors; sliced.cu says what the macros mean. */
#include <stdio.h>

#include "cuda/kernels/support.h"

enum { C, SIGMA, LAMBDA, V, DEPTH, TPR, SHARE, THREADS, HINT, COUNT };

static const tess_cuda_param params_of_sliced[COUNT] = {
    [C] = {"C", {1, 2, 4, 8, 16, 32, 64}, 7},
    [SIGMA] = {"sigma", {1, 4096, 16777216}, 3},
    [LAMBDA] = {"lambda", {0, 8, 16, 32, 64, 128}, 6},
    [V] = {"V", {1, 2, 4}, 3},
    [DEPTH] = {"depth", {1, 2, 4, 8}, 4},
    [TPR] = {"tpr", {1, 2, 4, 8, 16}, 5},
    [SHARE] = {"share", {0, 1}, 2}, /* lanes of a block gather x together */
    [THREADS] = {"threads", {64, 128, 256, 512}, 4},
    [HINT] = {"hint", {0, 1, 2, 3}, 4},
};

/* Wider blocks are read in pieces, so that their registers do not grow with the block. */
static bool is_wide(const tess_cuda_problem *problem)
{
    return problem->block_width > 16;
}

/* P: blocks a group. */
static int group_of(const tess_cuda_problem *problem, const int *p)
{
    int group = 1;
    while (group * problem->block_width % p[V] != 0)
        group *= 2;
    return group;
}

static bool fits(const tess_cuda_problem *problem, const int *p)
{
    int real = (int)tess_type_size(problem->type), group = group_of(problem, p);
    if (p[V] * real > 16 || p[THREADS] % (32 * p[TPR]) != 0)
        return false;
    if (p[C] > 1 && (int64_t)p[C] * problem->block_height > 4096)
        return false;
    if (p[LAMBDA] > 0 && (p[SIGMA] == 1 || p[LAMBDA] >= problem->longest_row))
        return false;
    if (p[SHARE] && (is_wide(problem) || problem->block_height < 2 || problem->block_height > 16))
        return false;
    if (is_wide(problem))
        return group == 1 && p[TPR] <= problem->block_width / p[V] && p[DEPTH] <= 4;
    return (p[DEPTH] == 1 || group * problem->block_width * p[DEPTH] * real <= 256) &&
           (p[TPR] == 1 || (int64_t)p[TPR] * group <= problem->longest_row);
}

static void guess(const tess_cuda_problem *problem, int *p)
{
    static const int start[COUNT] = {32, 1, 0, 1, 1, 1, 0, 128, 1};
    for (int i = 0; i < COUNT; i++)
        p[i] = start[i];
    bool wide = is_wide(problem);
    int32_t bh = problem->block_height, bw = problem->block_width;
    if (problem->type == TESS_F32)
        p[V] = wide && bw % 2 != 0 ? 1 : 2;
    /* About a hundred bytes of values in flight a thread. */
    int in_flight = wide ? 4 * p[V] : group_of(problem, p) * bw;
    while (p[DEPTH] < (wide ? 4 : 8) &&
           in_flight * 2 * p[DEPTH] * (int)tess_type_size(problem->type) <= 128)
        p[DEPTH] *= 2;
    while (p[C] > 1 && (int64_t)p[C] * bh > 768)
        p[C] /= 2;
    /* Rows of very different lengths: cut the long ones, sort the rest. */
    int64_t mean = problem->blocks / (problem->block_rows > 0 ? problem->block_rows : 1);
    if (problem->longest_row > 2 * mean + 8) {
        p[SIGMA] = bh <= 2 ? 4096 : 16777216;
        p[LAMBDA] = 16;
        while (p[LAMBDA] < 128 && p[LAMBDA] < 2 * mean)
            p[LAMBDA] *= 2;
        if (p[LAMBDA] >= problem->longest_row)
            p[LAMBDA] = 0;
        p[SHARE] = bh >= 2 && bh <= 4 && bw >= 2 && bw <= 4;
    }
    /* Enough threads for the device. */
    int64_t wanted = (int64_t)problem->multiprocessors * 1024;
    while (p[TPR] < 16 && problem->rows * p[TPR] < wanted) {
        p[TPR] *= 2;
        while (p[THREADS] < 32 * p[TPR])
            p[THREADS] *= 2;
        if (!fits(problem, p)) {
            p[TPR] /= 2;
            break;
        }
    }
}

/* Lines differ from block rows when they are sorted or cut. */
static bool has_targets(const int *p)
{
    return p[SIGMA] > 1 || p[LAMBDA] > 0;
}

/* Loads in flight of a wide block's row: an even share of the thread's columns. */
static int wide_loads(const tess_cuda_problem *problem, const int *p)
{
    if (!is_wide(problem))
        return 0;
    int share = (int)tess_ceil_div(problem->block_width / p[V], p[TPR]);
    int pieces = (int)tess_ceil_div(share, 4 * p[DEPTH]);
    return (int)tess_ceil_div(share, pieces);
}

static void defines_dot(const tess_cuda_problem *problem, const int *p, int dot, char *text,
                        size_t size)
{
    snprintf(text, size,
             "-DREAL=%d -DBH=%d -DBW=%d -DHEIGHT=%d -DVEC=%d -DGROUP=%d -DDEPTH=%d -DPER_ROW=%d "
             "-DTHREADS=%d -DSHARE=%d -DWIDE=%d -DTARGETS=%d -DRAGGED=%d -DHINT=%d -DDOT=%d",
             (int)tess_type_size(problem->type), (int)problem->block_height,
             (int)problem->block_width, p[C], p[V], group_of(problem, p), p[DEPTH], p[TPR],
             p[THREADS], p[SHARE], wide_loads(problem, p), has_targets(p),
             problem->cols % problem->block_width != 0, p[HINT], dot);
}

static void defines(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    defines_dot(problem, p, 0, text, size);
}

static void defines_with_dot(const tess_cuda_problem *problem, const int *p, char *text,
                             size_t size)
{
    defines_dot(problem, p, 1, text, size);
}

static void layout(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    (void)problem;
    snprintf(text, size, "sliced:C=%d,sigma=%d,lambda=%d,V=%d", p[C], p[SIGMA], p[LAMBDA], p[V]);
}

/* The product and the sum of cut rows. Parts of w*y follow each other: blocks of the first launch,
 * then of the second. */
static int products(const tess_cuda_problem *problem, const int *p, const tess_cuda_image *image,
                    const tess_cuda_call *call, uint64_t dot_part, unsigned *parts,
                    tess_cuda_launch *out)
{
    int64_t places = image->counts[SLICED_SLICES] * p[C] * problem->block_height;
    if (places == 0)
        return 0;
    int count = 0;
    unsigned grid = (unsigned)tess_ceil_div(places, p[THREADS] / p[TPR]);
    tess_cuda_launch *run =
        tess_cuda_launch_start(&out[count++], "sliced", grid, (unsigned)p[THREADS]);
    for (int i = SLICED_OFFSETS; i <= SLICED_VALUES; i++)
        tess_cuda_arg_pointer(run, call->arrays[i]);
    tess_cuda_arg_pointer(run, call->x);
    tess_cuda_arg_pointer(run, call->y);
    tess_cuda_arg_pointer(run, call->workspace);
    tess_cuda_arg_integer(run, image->counts[SLICED_LINES]);
    tess_cuda_arg_integer(run, problem->rows);
    tess_cuda_arg_integer(run, problem->cols);
    tess_cuda_arg_number(run, call->alpha);
    tess_cuda_arg_number(run, call->beta);
    tess_cuda_arg_pointer(run, call->w);
    tess_cuda_arg_pointer(run, dot_part);
    *parts = grid;
    int64_t cut = image->counts[SLICED_CUT_ROWS], cut_long = image->counts[SLICED_CUT_LONG];
    if (cut > 0) {
        int64_t pairs = (cut - cut_long) * problem->block_height;
        grid = (unsigned)(cut_long + tess_ceil_div(pairs, 128));
        run = tess_cuda_launch_start(&out[count++], "sliced_sum", grid, 128);
        tess_cuda_arg_pointer(run, call->arrays[SLICED_CUT_ROW]);
        tess_cuda_arg_pointer(run, call->arrays[SLICED_CUT_SLOTS]);
        tess_cuda_arg_integer(run, cut);
        tess_cuda_arg_integer(run, cut_long);
        tess_cuda_arg_pointer(run, call->workspace);
        tess_cuda_arg_pointer(run, call->y);
        tess_cuda_arg_integer(run, problem->rows);
        tess_cuda_arg_number(run, call->alpha);
        tess_cuda_arg_number(run, call->beta);
        tess_cuda_arg_pointer(run, call->w);
        tess_cuda_arg_pointer(run, dot_part + *parts * sizeof(double));
        *parts += grid;
    }
    return count;
}

static int launches(const tess_cuda_problem *problem, const int *p, const tess_cuda_image *image,
                    const tess_cuda_call *call, tess_cuda_launch *out)
{
    unsigned parts = 0;
    return products(problem, p, image, call, 0, &parts, out);
}

static int launches_dot(const tess_cuda_problem *problem, const int *p,
                        const tess_cuda_image *image, const tess_cuda_call *call,
                        tess_cuda_launch *out)
{
    unsigned parts = 0;
    uint64_t dot_part = call->workspace + (uint64_t)image->counts[SLICED_DOT_AT];
    int count = products(problem, p, image, call, dot_part, &parts, out);
    tess_cuda_launch *run = tess_cuda_launch_start(&out[count++], "sliced_dot", 1, 1024);
    tess_cuda_arg_pointer(run, dot_part);
    tess_cuda_arg_integer(run, parts);
    tess_cuda_arg_pointer(run, call->dot);
    return count;
}

const tess_cuda_kernel tess_cuda_kernel_sliced = {
    .name = "sliced",
    .source = "sliced.cu",
    .format = "sliced",
    .op = TESS_CUDA_SPMV,
    .params = params_of_sliced,
    .param_count = COUNT,
    .fits = fits,
    .guess = guess,
    .defines = defines,
    .layout = layout,
    .launches = launches,
};

const tess_cuda_kernel tess_cuda_kernel_sliced_dot = {
    .name = "sliced_dot",
    .source = "sliced.cu",
    .format = "sliced",
    .op = TESS_CUDA_SPMV_DOT,
    .params = params_of_sliced,
    .param_count = COUNT,
    .fits = fits,
    .guess = guess,
    .defines = defines_with_dot,
    .layout = layout,
    .launches = launches_dot,
};
