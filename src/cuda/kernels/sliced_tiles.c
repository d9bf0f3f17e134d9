/* The descriptor of sliced_tiles.cu. */
#include <stdio.h>

#include "cuda/kernels/sliced.h"
#include "format/sliced.h"

enum { C, LAMBDA, PANELS, XV, DEPTH, AHEAD, THREADS, PER_SM, SUMS, HINT, COUNT };

static const tess_cuda_param params_of_tiles[COUNT] = {
    [C] = {"C", {16, 32, 64}, 3},
    [LAMBDA] = {"lambda", {16, 32, 128}, 3},
    [PANELS] = {"panels", {1, 2, 3, 4, 5, 6, 8}, 7},
    [XV] = {"xv", {1, 2, 4}, 3}, /* scalars of x a load */
    [DEPTH] = {"depth", {1, 2, 3}, 3},
    [AHEAD] = {"ahead", {1, 2}, 2},
    [THREADS] = {"threads", {256, 384, 512, 576, 640}, 5}, /* at most: whole slices */
    [PER_SM] = {"blocks", {1, 2, 3, 4}, 4},
    [SUMS] = {"sums", {8, 64, 132, 164, 180, 196}, 6}, /* KB an SM */
    [HINT] = {"hint", {0, 1, 2}, 3},
};

/* Slices at a time. */
static int teams_of(const tess_cuda_problem *problem, const int *p)
{
    return p[THREADS] / (p[C] * problem->block_height);
}

/* Bytes of a chunk's sums, at most. Of what an SM gives away, 1 KB a thread block is lost. What is
 * left is L1, and every load in flight has its place there: less for the sums, more loads. */
static int64_t sums_most(const tess_cuda_problem *problem, const int *p)
{
    int64_t an_sm = (int64_t)p[SUMS] * 1024;
    if (an_sm > problem->shared_limit + 1024)
        an_sm = problem->shared_limit + 1024;
    return an_sm / p[PER_SM] - 1024;
}

static int64_t sums_bytes(const tess_cuda_problem *problem, int64_t block_rows)
{
    return block_rows * problem->block_height * (int64_t)tess_type_size(problem->type);
}

/* Block rows of a chunk: as many rounds of thread blocks as the sums need, all rounds full. */
static int64_t chunk_of(const tess_cuda_problem *problem, const int *p)
{
    int64_t resident = (int64_t)problem->multiprocessors * p[PER_SM], rounds = 1, chunk;
    do {
        chunk = tess_ceil_div(problem->block_rows, resident * rounds++);
    } while (chunk > 1 && sums_bytes(problem, TESS_CHUNK_MOST(chunk)) > sums_most(problem, p));
    return chunk > 0 ? chunk : 1;
}

/* Panels of which one of x stays in L2, through which the matrix streams: 0.4 of it hold (H200: x
 * of 63 MB is the fastest in 3 panels, of 47 MB in 2). */
static int guess_panels(const tess_cuda_problem *problem)
{
    double x = (double)problem->cols * (double)tess_type_size(problem->type);
    double cache = 0.4 * (double)problem->l2_bytes;
    int at = 0;
    while (at + 1 < params_of_tiles[PANELS].count && params_of_tiles[PANELS].values[at] * cache < x)
        at++;
    return params_of_tiles[PANELS].values[at];
}

/* Columns scattered over an x that L2 does not hold, at the sizes where it was seen to pay: H200, 4
 * x 4 blocks took 378 us, 330 on `sliced`. */
static bool made_for(const tess_cuda_problem *problem)
{
    return problem->scattered > 0.25 && problem->l2_bytes > 0 && guess_panels(problem) > 1 &&
           problem->type == TESS_F64 && problem->block_width >= 2 && problem->block_width <= 3;
}

static bool fits(const tess_cuda_problem *problem, const int *p)
{
    int real = (int)tess_type_size(problem->type), bw = problem->block_width;
    int threads = teams_of(problem, p) * p[C] * problem->block_height;
    /* Registers of a thread: what is in flight, and 40 beside it. */
    int words = real / 4 * bw * p[DEPTH] * (1 + p[AHEAD]) + 40;
    return threads > 0 && threads % 32 == 0 && words * threads * p[PER_SM] <= 65536 &&
           (p[XV] == 1 || tess_sliced_x_by_vectors(problem, p[XV])) &&
           sums_bytes(problem, 1) <= sums_most(problem, p);
}

static void guess(const tess_cuda_problem *problem, int *p)
{
    static const int start[COUNT] = {32, 16, 3, 1, 2, 1, 512, 2, 180, 1};
    for (int i = 0; i < COUNT; i++)
        p[i] = start[i];
    p[XV] = tess_sliced_widest_x(problem);
    p[PANELS] = problem->l2_bytes > 0 ? guess_panels(problem) : p[PANELS];
    while (p[DEPTH] > 1 && !fits(problem, p))
        p[DEPTH]--;
    while (p[C] > 16 && !fits(problem, p))
        p[C] /= 2;
}

static void defines(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    snprintf(text, size,
             "-DREAL=%d -DBH=%d -DBW=%d -DHEIGHT=%d -DTEAMS=%d -DDEPTH=%d -DAHEAD=%d -DPER_SM=%d "
             "-DXVEC=%d -DRAGGED=%d -DHINT=%d",
             (int)tess_type_size(problem->type), (int)problem->block_height,
             (int)problem->block_width, p[C], teams_of(problem, p), p[DEPTH], p[AHEAD], p[PER_SM],
             p[XV], problem->cols % problem->block_width != 0, p[HINT]);
}

static void layout(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    snprintf(text, size, "sliced:C=%d,lambda=%d,panels=%d,chunk=%lld", p[C], p[LAMBDA], p[PANELS],
             (long long)chunk_of(problem, p));
}

static int launches(const tess_cuda_problem *problem, const int *p, const tess_cuda_image *image,
                    const tess_cuda_call *call, tess_cuda_launch *out)
{
    const tess_sliced *S = image->format;
    if (S->chunks == 0)
        return 0;
    tess_cuda_launch *run =
        tess_cuda_launch_start(out, "sliced_tiles", (unsigned)S->chunks,
                               (unsigned)(teams_of(problem, p) * p[C] * problem->block_height));
    run->shared = (unsigned)sums_bytes(problem, S->chunk_most);
    tess_cuda_arg_pointer(run, call->arrays[SLICED_LOCAL_OFFSETS]);
    tess_cuda_arg_pointer(run, call->arrays[SLICED_WORDS]);
    tess_cuda_arg_pointer(run, call->arrays[SLICED_SLOT_LIST]);
    tess_cuda_arg_pointer(run, call->arrays[SLICED_COLUMNS]);
    tess_cuda_arg_pointer(run, call->arrays[SLICED_VALUES]);
    tess_cuda_arg_pointer(run, call->x);
    tess_cuda_arg_pointer(run, call->y);
    tess_cuda_arg_pointer(run, call->workspace);
    tess_cuda_arg_pointer(run, call->arrays[SLICED_CHUNK_ROW]);
    tess_cuda_arg_pointer(run, call->arrays[SLICED_CHUNK_SLOT]);
    tess_cuda_arg_pointer(run, call->arrays[SLICED_TILE_SLICE]);
    tess_cuda_arg_pointer(run, call->arrays[SLICED_CHUNK_GROUP]);
    tess_cuda_arg_integer(run, S->options.panels);
    tess_cuda_arg_integer(run, problem->rows);
    tess_cuda_arg_integer(run, problem->cols);
    tess_cuda_arg_number(run, call->alpha);
    tess_cuda_arg_number(run, call->beta);
    if (S->cut_rows == 0)
        return 1;
    tess_cuda_call rest = *call;
    rest.beta = 1;
    tess_sliced_launch_sum(problem, &S->panel[0], &rest, 0, out + 1);
    return 2;
}

const tess_cuda_kernel tess_cuda_kernel_sliced_tiles = {
    .name = "sliced_tiles",
    .source = "sliced_tiles.cu",
    .format = "sliced",
    .op = TESS_CUDA_SPMV,
    .params = params_of_tiles,
    .param_count = COUNT,
    .fits = fits,
    .guess = guess,
    .made_for = made_for,
    .defines = defines,
    .layout = layout,
    .launches = launches,
};
