/* The descriptor of swept.cu. */
#include "cuda/kernels/daily/sliced.h"
#include "format/swept.h"

enum { LAMBDA, AHEAD, GATHER, ASYNC, WARPS, PER_SM, SHARED, HINT, COUNT };

static const tess_cuda_param params_of_swept[COUNT] = {
    [LAMBDA] = {"lambda", {16, 32, 128}, 3},
    [AHEAD] = {"ahead", {1, 2, 4}, 3},
    [GATHER] = {"gather", {1, 2, 3, 4}, 4},
    [ASYNC] = {"async", {0, 1}, 2},
    [WARPS] = {"warps", {4, 8, 16}, 3},
    [PER_SM] = {"blocks", {1, 2, 3, 4, 5, 6}, 6},
    [SHARED] = {"shared", {16, 100, 132, 164, 196, 228}, 6}, /* KB per SM */
    [HINT] = {"hint", {0, 1, 2}, 3},
};

static int64_t real_bytes(const tess_cuda_problem *problem)
{
    return (int64_t)tess_type_size(problem->type);
}

/* Shared memory for x of a thread block's blocks in flight. */
static int64_t copies_bytes(const tess_cuda_problem *problem, const int *p)
{
    int64_t pieces = (problem->block_width * real_bytes(problem) + 8) / 16;
    return p[ASYNC] ? (int64_t)p[WARPS] * p[GATHER] * TESS_SWEPT_LANES * 16 * pieces : 0;
}

/* Shared memory for a warp's sums, as swept.cu places them. */
static int64_t sums_bytes(const tess_cuda_problem *problem, int64_t lines)
{
    return tess_ceil_div(lines * problem->block_height * real_bytes(problem), 16) * 16;
}

/* The most lines of a chunk. Every thread block loses 1 KB of an SM's shared memory. */
static int64_t lines_most(const tess_cuda_problem *problem, const int *p)
{
    int64_t an_sm = tess_min((int64_t)p[SHARED] * 1024, problem->shared_limit + 1024);
    int64_t a_warp = (an_sm / p[PER_SM] - 1024 - copies_bytes(problem, p)) / p[WARPS];
    int64_t lines = a_warp / 16 * 16 / (problem->block_height * real_bytes(problem));
    return tess_min(lines, TESS_SWEPT_NONE);
}

/* Chunks for as many full rounds of thread blocks as the sums need. Chunks have equal work, so that
 * some have more lines than others: a sixteenth of the memory is left for them. */
static int64_t chunks_of(const tess_cuda_problem *problem, const int *p)
{
    int64_t resident = (int64_t)problem->multiprocessors * p[PER_SM] * p[WARPS], rounds = 1;
    while (problem->block_rows * 16 > resident * rounds * lines_most(problem, p) * 15)
        rounds++;
    return resident * rounds;
}

/* Whether columns are scattered over an x that L2 cannot hold while the matrix streams through it
 * (0.4 of L2), in f64, at the block sizes where the format was seen to pay. */
static bool made_for(const tess_cuda_problem *problem)
{
    double x = (double)problem->cols * (double)real_bytes(problem);
    return problem->scattered > 0.25 && problem->l2_bytes > 0 &&
           x > 0.4 * (double)problem->l2_bytes && problem->type == TESS_F64 &&
           problem->block_width >= 2 && problem->block_width <= 3;
}

static bool fits(const tess_cuda_problem *problem, const int *p)
{
    int64_t bw = problem->block_width, size = bw * problem->block_height;
    int64_t real = real_bytes(problem), known = 2 * tess_max(p[AHEAD], p[GATHER]);
    int64_t threads = (int64_t)p[WARPS] * TESS_SWEPT_LANES;
    /* Registers of a thread: what is in flight, and 38 others. */
    int64_t words = real / 4 * (size * p[AHEAD] + bw * p[GATHER]) + known + 38;
    /* The loop is unrolled over the steps whose words are known, so both numbers in flight divide
     * it. */
    return size <= 16 && known % p[AHEAD] == 0 && known % p[GATHER] == 0 &&
           words * threads * p[PER_SM] <= 65536 && words <= 255 &&
           (!p[ASYNC] || (problem->arch >= 80 && bw * real % 8 == 0 && problem->cols % bw == 0)) &&
           lines_most(problem, p) > 0;
}

/* Measured on an H200 (docs/performance/notes-h200.md). */
static void guess(const tess_cuda_problem *problem, int *p)
{
    static const int by_loads[COUNT] = {16, 1, 1, 0, 8, 3, 196, 1};
    static const int by_copies[COUNT] = {16, 2, 4, 1, 8, 2, 228, 1};
    memcpy(p, by_copies, sizeof by_copies);
    if (problem->block_width * real_bytes(problem) > 16)
        p[GATHER] = 2;
    if (!fits(problem, p))
        memcpy(p, by_loads, sizeof by_loads);
    while (p[AHEAD] > 1 && !fits(problem, p))
        p[AHEAD]--;
}

static void defines(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    snprintf(text, size,
             "-DREAL=%d -DBH=%d -DBW=%d -DAHEAD=%d -DGATHER=%d -DASYNC=%d -DWARPS=%d -DPER_SM=%d "
             "-DXVEC=%d -DRAGGED=%d -DHINT=%d",
             (int)real_bytes(problem), (int)problem->block_height, (int)problem->block_width,
             p[AHEAD], p[GATHER], p[ASYNC], p[WARPS], p[PER_SM], tess_sliced_widest_x(problem),
             problem->cols % problem->block_width != 0, p[HINT]);
}

static void layout_name(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    snprintf(text, size, "swept:chunks=%lld,lines=%lld,lambda=%d", (long long)chunks_of(problem, p),
             (long long)lines_most(problem, p), p[LAMBDA]);
}

static int launches(const tess_cuda_problem *problem, const int *p, const tess_cuda_layout *layout,
                    const tess_cuda_call *call, tess_cuda_launch *out)
{
    const tess_swept *S = layout->format;
    if (S->chunks == 0)
        return 0;
    tess_cuda_launch *run = tess_cuda_launch_start(out, "swept", tess_ceil_div(S->chunks, p[WARPS]),
                                                   p[WARPS] * TESS_SWEPT_LANES);
    run->shared =
        (unsigned)(p[WARPS] * sums_bytes(problem, S->line_most) + copies_bytes(problem, p));
    TESS_CUDA_POINTERS(run, call->arrays[SWEPT_CHUNK_LINE], call->arrays[SWEPT_FIRST_STEP],
                       call->arrays[SWEPT_WORDS], call->arrays[SWEPT_VALUES], call->x, call->y,
                       call->workspace);
    TESS_CUDA_INTEGERS(run, S->chunks, S->panels, S->line_most, S->block_rows, problem->rows,
                       problem->cols);
    TESS_CUDA_NUMBERS(run, call->alpha, call->beta);
    if (S->cut_rows == 0)
        return 1;
    tess_cuda_call rest = *call;
    rest.beta = 1;
    const tess_sliced_panel cut = {.cut_rows = S->cut_rows, .cut_long = S->cut_long};
    tess_sliced_launch_sum(problem, &cut, &rest, &call->arrays[SWEPT_CUT_ROW], 0, out + 1);
    return 2;
}

const tess_cuda_kernel tess_cuda_kernel_swept = {
    .name = "swept",
    .source = "swept.cu",
    .format = "swept",
    .op = TESS_CUDA_SPMV,
    .class_name = "sliced", /* the model's matrices are not what it was made for */
    .params = params_of_swept,
    .param_count = COUNT,
    .fits = fits,
    .guess = guess,
    .made_for = made_for,
    .defines = defines,
    .layout_name = layout_name,
    .launches = launches,
};
