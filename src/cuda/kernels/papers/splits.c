/* The descriptor of splits.cu. The shapes are the problem's, as fbcsr's are, but each is a kernel
 * of its own and is stored as the list says. */
#include "cuda/kernels/papers/splits.h"

enum { LANES, REST, PARTS, COUNT };

static const tess_cuda_param params[COUNT] = {
    [LANES] = {"lanes", {4, 8, 32}, 3},
    [REST] = {"rest", {2, 8, 32}, 3},
    [PARTS] = {"parts", {1, 4}, 2},
};

enum { THREADS = 128 };

/* x of a skewed block may lie shift * height columns from where the block begins. */
static bool fits(const tess_cuda_problem *problem, const int *p)
{
    const int64_t most = INT32_MAX - TESS_SHAPE_SHIFT * TESS_SHAPE_SIDE;
    (void)p;
    if (problem->block_height != 1 || problem->block_width != 1 || !problem->shapes[0] ||
        problem->rows > most || problem->cols > most)
        return false;
    const int count = tess_cuda_shapes_of(problem).count;
    return count > 0 && count <= TESS_SPLITS_MOST;
}

/* About four cells per lane of a mean row, for LANES as if all cells were in blocks of one row, for
 * REST as if a quarter were in the remainder. Several warps share 32 rows where there are too few
 * rows for the device. */
static void guess(const tess_cuda_problem *problem, int *p)
{
    const int64_t mean = problem->blocks / (problem->rows > 0 ? problem->rows : 1);
    p[LANES] = mean < 24 ? 4 : mean < 96 ? 8 : 32;
    p[REST] = mean < 48 ? 2 : mean < 384 ? 8 : 32;
    p[PARTS] = problem->rows < 1024 * (int64_t)problem->multiprocessors ? 4 : 1;
}

static void defines(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    const tess_fbcsr_options shapes = tess_cuda_shapes_of(problem);
    snprintf(text, size, "-DREAL=%d -DTHREADS=%d -DLANES=%d -DREST=%d -DPARTS=%d",
             (int)tess_type_size(problem->type), THREADS, p[LANES], p[REST], p[PARTS]);
    for (int s = 0; s < shapes.count; s++)
        tess_append(text, size, " -DSHAPE%d=%d,%d,%d", s, (int)shapes.shape[s].height,
                    (int)shapes.shape[s].width, (int)shapes.shape[s].shift);
}

static void layout_name(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    (void)p;
    snprintf(text, size, "splits:%s", problem->shapes);
}

/* Launches one split, with `lanes` lanes per row of y. */
static void launch_part(const tess_cuda_problem *problem, const tess_splits_part *part,
                        const char *entry, int64_t lanes, const tess_cuda_call *call, double beta,
                        tess_cuda_launch *out)
{
    const uint64_t value = tess_type_size(problem->type), number = sizeof(int32_t);
    const int64_t rows = tess_ceil_div(problem->rows, TESS_SPLITS_CHUNK) * TESS_SPLITS_CHUNK;
    tess_cuda_launch *run =
        tess_cuda_launch_start(out, entry, tess_ceil_div(rows * lanes, THREADS), THREADS);
    TESS_CUDA_POINTERS(run, call->arrays[SPLITS_STARTS] + (uint64_t)part->start * number,
                       call->arrays[SPLITS_ROWS] + (uint64_t)part->block * number,
                       call->arrays[SPLITS_COLS] + (uint64_t)part->block * number,
                       call->arrays[SPLITS_VALUES] + (uint64_t)part->value * value, call->x,
                       call->y);
    TESS_CUDA_INTEGERS(run, problem->rows);
    TESS_CUDA_NUMBERS(run, call->alpha, beta);
}

/* Launches for cut rows: the sums of their segments, then the sums of these sums. */
static int launch_long(const tess_splits *S, const tess_cuda_call *call, tess_cuda_launch *out)
{
    if (S->segment_count == 0)
        return 0;
    tess_cuda_launch *run = tess_cuda_launch_start(
        &out[0], "split_segments", tess_ceil_div(S->segment_count * 32, THREADS), THREADS);
    TESS_CUDA_POINTERS(run, call->arrays[SPLITS_SEGMENTS], call->arrays[SPLITS_SEGMENT_VALUES],
                       call->arrays[SPLITS_COLS], call->arrays[SPLITS_VALUES], call->x,
                       call->workspace);
    TESS_CUDA_INTEGERS(run, S->segment_count);
    run = tess_cuda_launch_start(&out[1], "split_long", S->long_count, THREADS);
    TESS_CUDA_POINTERS(run, call->arrays[SPLITS_LONG_ROWS], call->arrays[SPLITS_LONG_SEGMENTS],
                       call->workspace, call->y);
    TESS_CUDA_NUMBERS(run, call->alpha);
    return 2;
}

/* The remainder, where there is one, then the splits in the list's order, then cut rows. The first
 * launch scales y, the others add to it. */
static int launches(const tess_cuda_problem *problem, const int *p, const tess_cuda_layout *layout,
                    const tess_cuda_call *call, tess_cuda_launch *out)
{
    static const char *const entries[] = {
        "split_0",  "split_1",  "split_2",  "split_3",  "split_4",  "split_5",
        "split_6",  "split_7",  "split_8",  "split_9",  "split_10", "split_11",
        "split_12", "split_13", "split_14", "split_15",
    };
    const tess_splits *S = layout->format;
    const tess_splits_part *rest = &S->part[S->count];
    int count = 0;
    if (problem->rows == 0)
        return 0;
    if (rest->blocks > 0 || S->count == 0)
        launch_part(problem, rest, "split_rest", p[REST], call, call->beta, &out[count++]);
    for (int s = 0; s < S->count; s++, count++) {
        const tess_splits_part *part = &S->part[s];
        launch_part(problem, part, entries[part->number],
                    part->shape.height == 1 ? p[LANES] : p[PARTS], call,
                    count == 0 ? call->beta : 1, &out[count]);
    }
    return count + launch_long(S, call, &out[count]);
}

/* fbcsr has the same entries in fewer launches and reads y once. This kernel is there to be asked
 * for, and for an exhaustive search. */
static bool worth(const tess_cuda_problem *problem)
{
    (void)problem;
    return false;
}

const tess_cuda_kernel tess_cuda_kernel_splits = {
    .name = "splits",
    .source = "splits.cu",
    .format = "splits",
    .op = TESS_CUDA_SPMV,
    .takes_shapes = true,
    .keeps_shapes = true,
    .params = params,
    .param_count = COUNT,
    .fits = fits,
    .guess = guess,
    .worth = worth,
    .defines = defines,
    .layout_name = layout_name,
    .launches = launches,
};
