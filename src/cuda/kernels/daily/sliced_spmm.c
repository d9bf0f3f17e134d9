/* The descriptor of SpMM on sliced storage; sliced_spmm.cu says what the macros mean. */
#include "cuda/kernels/daily/sliced.h"

enum { C, SIGMA, EACH, CHUNK, THREADS, COUNT };

static const tess_cuda_param params_of_spmm[COUNT] = {
    [C] = {"C", {1, 2, 4, 8, 16, 32, 64}, 7},   [SIGMA] = {"sigma", {1, 4096, 16777216}, 3},
    [EACH] = {"each", {1, 2, 4, 8, 16}, 5},     [CHUNK] = {"chunk", {1, 2, 3, 4, 5, 6, 7, 8}, 8},
    [THREADS] = {"threads", {64, 128, 256}, 3},
};

static bool fits(const tess_cuda_problem *problem, const int *p)
{
    int real = (int)tess_type_size(problem->type);
    return problem->vectors >= 1 && problem->vectors <= TESS_CUDA_VECTORS &&
           tess_sliced_takes_rows(problem, p[C]) && p[EACH] < 2 * problem->vectors &&
           p[CHUNK] <= problem->block_height && p[EACH] * p[CHUNK] * real <= 256;
}

static void guess(const tess_cuda_problem *problem, int *p)
{
    static const int start[COUNT] = {32, 1, 1, 1, 128};
    memcpy(p, start, sizeof start);
    int real = (int)tess_type_size(problem->type), bh = problem->block_height;
    while (p[C] > 1 && (int64_t)p[C] * bh > 768)
        p[C] /= 2;
    /* Equal chunks of at most eight rows. */
    int chunks = (int)tess_ceil_div(bh, 8);
    p[CHUNK] = (int)tess_ceil_div(bh, chunks);
    int most = problem->row_major ? 16 / real : 16;
    while (2 * p[EACH] <= most && 2 * p[EACH] <= problem->vectors &&
           2 * p[EACH] * p[CHUNK] * real <= 256)
        p[EACH] *= 2;
    if (problem->longest_row > 2 * (problem->blocks / (problem->block_rows + 1)) + 8)
        p[SIGMA] = 4096;
}

static void defines(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    tess_cuda_scalar_defines(problem->type, problem->conjugate, text, size);
    tess_append(text, size,
                " -DBH=%d -DBW=%d -DHEIGHT=%d -DVECTORS=%d -DEACH=%d -DCHUNK=%d -DTHREADS=%d "
                "-DROW_MAJOR=%d -DTARGETS=%d -DRAGGED=%d",
                (int)problem->block_height, (int)problem->block_width, p[C], problem->vectors,
                p[EACH], p[CHUNK], p[THREADS], problem->row_major, p[SIGMA] > 1,
                problem->cols % problem->block_width != 0);
}

static void layout_name(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    (void)problem;
    snprintf(text, size, "sliced:C=%d,sigma=%d,lambda=0,V=1,panels=1", p[C], p[SIGMA]);
}

static int launches(const tess_cuda_problem *problem, const int *p, const tess_cuda_layout *layout,
                    const tess_cuda_call *call, tess_cuda_launch *out)
{
    int64_t chunks = tess_ceil_div(problem->block_height, p[CHUNK]);
    int64_t groups = tess_ceil_div(problem->vectors, p[EACH]);
    const tess_sliced *S = layout->format;
    int64_t lines = S->panel[0].lines, threads = lines * chunks * groups;
    if (threads == 0)
        return 0;
    uint64_t row_bytes = (uint64_t)call->ldx * tess_type_size(problem->type);
    tess_cuda_launch *run = tess_cuda_launch_start(&out[0], "sliced_spmm",
                                                   tess_ceil_div(threads, p[THREADS]), p[THREADS]);
    tess_cuda_add_args(run, call->arrays, SLICED_VALUES + 1);
    TESS_CUDA_POINTERS(run, call->x, call->y);
    TESS_CUDA_INTEGERS(run, lines, problem->rows, problem->cols, call->ldx, call->ldy);
    tess_cuda_add_factors(run, problem, call);
    TESS_CUDA_INTEGERS(run, call->x % 16 == 0 && row_bytes % 16 == 0);
    return 1;
}

const tess_cuda_kernel tess_cuda_kernel_sliced_spmm = {
    .name = "sliced_spmm",
    .source = "sliced_spmm.cu",
    .format = "sliced",
    .op = TESS_CUDA_SPMM,
    .preferred = true,
    .complex = true,
    .params = params_of_spmm,
    .param_count = COUNT,
    .fits = fits,
    .guess = guess,
    .defines = defines,
    .layout_name = layout_name,
    .launches = launches,
};
