/* The stream kernel's descriptor; stream.cu says what the macros mean. */
#include "cuda/kernels/support.h"

enum { TILE, STAGES, LANES, THREADS, PER_SM, HINT, COUNT };

static const tess_cuda_param params_of_stream[COUNT] = {
    [TILE] = {"tile", {4, 8, 16, 32, 64, 128, 256, 512}, 8}, /* blocks */
    [STAGES] = {"stages", {3, 4, 6}, 3},
    [LANES] = {"lanes", {1, 4, 8, 16, 32}, 5},
    [THREADS] = {"threads", {128, 256, 512}, 3},
    [PER_SM] = {"per_sm", {1, 2, 3, 4, 6}, 5}, /* thread blocks */
    [HINT] = {"hint", {1, 2}, 2},
};

/* Bytes of stream.cu's dynamic shared memory, in the order in which they lie. */
static int64_t shared_bytes(const tess_cuda_problem *problem, const int *p)
{
    int64_t real = (int64_t)tess_type_size(problem->type);
    int64_t bh = problem->block_height, bw = problem->block_width;
    return p[STAGES] * p[TILE] * (bh * bw * real + 4) + 2 * p[TILE] * (bw + bh) * real +
           (2 * bh * real + 15) / 16 * 16 + p[STAGES] * 8;
}

/* Copies into shared memory that go on behind the threads are those of sm_80 and newer. */
static bool fits(const tess_cuda_problem *problem, const int *p)
{
    int64_t shared = shared_bytes(problem, p);
    int64_t an_sm = problem->shared_limit + 1024; /* a thread block may have all but 1 KB */
    return problem->arch >= 80 && shared <= problem->shared_limit &&
           p[PER_SM] * (shared + 1024) <= an_sm && p[PER_SM] * p[THREADS] <= 2048 &&
           (int64_t)p[TILE] * problem->block_width <= 16 * (int64_t)p[THREADS];
}

static void guess(const tess_cuda_problem *problem, int *p)
{
    static const int start[COUNT] = {4, 4, 4, 128, 4, 1};
    memcpy(p, start, sizeof start);
    /* Tiles of about 8 KB, then as many thread blocks and stages as fit. */
    int64_t block = (int64_t)problem->block_height * problem->block_width *
                    (int64_t)tess_type_size(problem->type);
    while (p[TILE] < 256 && 2 * p[TILE] * block <= 10240)
        p[TILE] *= 2;
    while (p[PER_SM] > 1 && !fits(problem, p))
        p[PER_SM]--;
    if (!fits(problem, p))
        p[STAGES] = 3;
}

static void defines(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    snprintf(text, size,
             "-DREAL=%d -DBH=%d -DBW=%d -DTILE=%d -DSTAGES=%d -DLANES=%d -DTHREADS=%d -DRAGGED=%d "
             "-DHINT=%d -DARCH=%d -DPER_SM=%d",
             (int)tess_type_size(problem->type), (int)problem->block_height,
             (int)problem->block_width, p[TILE], p[STAGES], p[LANES], p[THREADS],
             problem->cols % problem->block_width != 0, p[HINT], problem->arch >= 90 ? 90 : 80,
             p[PER_SM]);
}

static void layout_name(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    (void)problem;
    snprintf(text, size, "stream:tile=%d", p[TILE]);
}

static int launches(const tess_cuda_problem *problem, const int *p, const tess_cuda_layout *layout,
                    const tess_cuda_call *call, tess_cuda_launch *out)
{
    if (problem->rows == 0)
        return 0;
    int64_t tiles = layout->counts[STREAM_TILES];
    int64_t shares = (int64_t)problem->multiprocessors * p[PER_SM];
    shares = tess_min(shares, tiles);
    shares = tess_min(shares, STREAM_SHARES_MAX);
    uint64_t head = call->workspace;
    uint64_t tail =
        head + (uint64_t)shares * (uint64_t)problem->block_height * tess_type_size(problem->type);
    tess_cuda_launch *run = tess_cuda_launch_start(&out[0], "stream", shares, p[THREADS]);
    run->shared = (unsigned)shared_bytes(problem, p);
    tess_cuda_add_args(run, call->arrays, STREAM_TILE_ROWS + 1);
    TESS_CUDA_POINTERS(run, call->x, call->y, head, tail);
    TESS_CUDA_INTEGERS(run, tiles, problem->blocks, problem->rows, problem->cols);
    TESS_CUDA_NUMBERS(run, call->alpha, call->beta);
    if (shares == 1)
        return 1;
    run = tess_cuda_launch_start(&out[1], "stream_join",
                                 tess_ceil_div(shares * problem->block_height, 128), 128);
    TESS_CUDA_POINTERS(run, call->arrays[BSR_OFFSETS], call->arrays[STREAM_TILE_ROWS], head, tail,
                       call->y);
    TESS_CUDA_INTEGERS(run, shares, tiles, problem->rows);
    TESS_CUDA_NUMBERS(run, call->alpha, call->beta);
    return 2;
}

const tess_cuda_kernel tess_cuda_kernel_stream = {
    .name = "stream",
    .source = "stream.cu",
    .format = "bsr",
    .op = TESS_CUDA_SPMV,
    .params = params_of_stream,
    .param_count = COUNT,
    .fits = fits,
    .guess = guess,
    .defines = defines,
    .layout_name = layout_name,
    .launches = launches,
};
