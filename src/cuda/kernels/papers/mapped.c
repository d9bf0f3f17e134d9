/* Descriptors of mapped.cu: block_row, warp_row and multi_row. */
#include "cuda/kernels/support.h"

enum { THREADS, DEPTH, REORDER, SORT, BY, BX, COUNT };

/* The paper's earlier stages (Figure 2) are there to be asked for. A search stays with its last. */
static bool never(const tess_cuda_problem *problem)
{
    (void)problem;
    return false;
}

/* reorder: section 3.4; sort: 3.5. By = 0: as many rows as T threads have room for. B_x is
 * multi_row's (3.6); the other mappings compute it. */
static const tess_cuda_param params[COUNT] = {
    [THREADS] = {"T", {64, 128, 256, 512}, 4},
    [DEPTH] = {"depth", {1, 2, 4}, 3},
    [REORDER] = {"reorder", {0, 1}, 2, never},
    [SORT] = {"sort", {0, 1}, 2},
    [BY] = {"By", {0, 1, 2, 4, 8, 16, 32, 64}, 8, never},
    [BX] = {"Bx", {1, 2, 4, 8, 16, 32}, 6},
};

/* block_row has one row per thread block, so there is nothing to sort. */
static const tess_cuda_param params_of_block_row[] = {
    [THREADS] = {"T", {64, 128, 256, 512}, 4},
    [DEPTH] = {"depth", {1, 2, 4}, 3},
    [REORDER] = {"reorder", {0, 1}, 2, never},
};

/* Threads of a thread block and what each takes; mapped.cu's macros. */
typedef struct mapping {
    int threads, unit, bx, by, piece, depth, reorder, sort;
} mapping;

static int per_block(const tess_cuda_problem *problem)
{
    return problem->block_height * problem->block_width;
}

/* Whole blocks if one fits a unit, columns of one otherwise. */
static mapping map_unit(const tess_cuda_problem *problem, int threads, int unit, const int *p)
{
    bool whole = per_block(problem) <= unit;
    return (mapping){
        .threads = threads,
        .unit = unit,
        .bx = whole ? unit / per_block(problem) : 1,
        .by = threads / unit,
        .piece = whole ? problem->block_width : unit / problem->block_height,
        .depth = p[DEPTH],
        .reorder = p[REORDER],
        .sort = 0,
    };
}

/* Sorted or not, and with no more rows and warps than asked for. */
static mapping map_rows(mapping m, const int *p)
{
    m.sort = p[SORT];
    if (p[BY] > 0 && p[BY] < m.by) {
        m.by = p[BY];
        m.threads = 32 * (int)tess_ceil_div(m.by * m.unit, 32);
    }
    return m;
}

static mapping map_block_row(const tess_cuda_problem *problem, const int *p)
{
    return map_unit(problem, p[THREADS], p[THREADS], p);
}

static mapping map_warp_row(const tess_cuda_problem *problem, const int *p)
{
    int unit = 32 * (int)tess_ceil_div(problem->block_height, 32);
    return map_rows(map_unit(problem, p[THREADS], unit, p), p);
}

static mapping map_multi_row(const tess_cuda_problem *problem, const int *p)
{
    bool whole = p[BX] * per_block(problem) <= p[THREADS];
    int unit = whole ? p[BX] * per_block(problem) : p[THREADS];
    return map_rows(map_unit(problem, p[THREADS], unit, p), p);
}

/* Padding, which reordering adds, must be bounded: one row of B_x blocks must not be mostly
 * padding, nor an unsorted group because of one very long row. */
static bool padding_fits(const tess_cuda_problem *problem, mapping m)
{
    int64_t mean = problem->block_rows > 0 ? problem->blocks / problem->block_rows : 0;
    return problem->block_rows < INT32_MAX - 1024 && m.bx <= 10 * (mean + 1) &&
           (!m.reorder || m.sort || m.by == 1 || problem->longest_row <= 200 * (mean + 1));
}

static bool fits_block_row(const tess_cuda_problem *problem, const int *p)
{
    return problem->block_height <= p[THREADS] && padding_fits(problem, map_block_row(problem, p));
}

static bool fits_warp_row(const tess_cuda_problem *problem, const int *p)
{
    mapping m = map_warp_row(problem, p);
    return m.by >= 1 && (p[BY] == 0 || p[BY] == m.by) && padding_fits(problem, m);
}

/* B_x above 1 needs room for whole blocks. */
static bool fits_multi_row(const tess_cuda_problem *problem, const int *p)
{
    mapping m = map_multi_row(problem, p);
    return problem->block_height <= p[THREADS] && (p[BX] == 1 || m.bx == p[BX]) &&
           (p[BY] == 0 || p[BY] == m.by) && padding_fits(problem, m);
}

/* Whether `threads` per block row all run at once, and each has a full turn of blocks. */
static bool keeps_busy(const tess_cuda_problem *problem, int threads, int depth)
{
    const int64_t elements = problem->blocks * per_block(problem);
    return problem->block_rows * threads <= (int64_t)problem->multiprocessors * 1024 &&
           elements >= problem->block_rows * threads * depth;
}

/* The smallest T, so that B_x wastes least; few and long rows, as of a dense matrix, take more. */
static void guess_block_row(const tess_cuda_problem *problem, int *p)
{
    p[THREADS] = 64;
    p[DEPTH] = 4;
    p[REORDER] = 1;
    while (p[THREADS] < 512 &&
           (problem->block_height > p[THREADS] || keeps_busy(problem, 2 * p[THREADS], p[DEPTH])))
        p[THREADS] *= 2;
}

/* The paper's final choice (3.7): reordered, sorted, B_x = 1; T is 128 there. */
static void guess(const tess_cuda_problem *problem, int *p)
{
    p[THREADS] = 128;
    p[DEPTH] = 4;
    p[REORDER] = 1;
    p[SORT] = 1;
    p[BY] = 0;
    p[BX] = 1;
    while (p[THREADS] < 512 && problem->block_height > p[THREADS])
        p[THREADS] *= 2;
}

static void write_defines(const tess_cuda_problem *problem, mapping m, bool dot, char *text,
                          size_t size)
{
    int tree = 1;
    while (2 * tree < m.bx * m.piece)
        tree *= 2;
    tess_cuda_scalar_defines(problem->type, problem->conjugate, text, size);
    tess_append(text, size,
                " -DBH=%d -DBW=%d -DRAGGED=%d -DTHREADS=%d -DUNIT=%d -DBX=%d -DBY=%d "
                "-DPIECE=%d -DTREE=%d -DDEPTH=%d -DREORDER=%d -DTARGETS=%d -DDOT=%d -DHINT=1",
                (int)problem->block_height, (int)problem->block_width,
                problem->cols % problem->block_width != 0, m.threads, m.unit, m.bx, m.by, m.piece,
                m.bx * m.piece > 1 ? tree : 0, m.depth, m.reorder, m.reorder || m.sort, dot);
}

static void write_layout_name(mapping m, char *text, size_t size)
{
    if (m.reorder)
        snprintf(text, size, "interleaved:Bx=%d,By=%d,sort=%d", m.bx, m.by, m.sort);
    else
        snprintf(text, size, "%s", m.sort ? "by_length" : "bsr");
}

/* `dot`: the partial sums are left in the workspace, which only the layout `interleaved` has. */
static int write_launches(const tess_cuda_problem *problem, mapping m,
                          const tess_cuda_layout *layout, const tess_cuda_call *call, bool dot,
                          tess_cuda_launch *out)
{
    if (problem->rows == 0)
        return 0;
    int64_t groups =
        m.reorder ? layout->counts[INTERLEAVED_GROUPS] : tess_ceil_div(problem->block_rows, m.by);
    tess_cuda_launch *run = tess_cuda_launch_start(&out[0], "mapped", groups, m.threads);
    run->waits = true;
    if (m.reorder)
        tess_cuda_add_args(run, call->arrays, INTERLEAVED_VALUES + 1);
    else
        TESS_CUDA_POINTERS(run, call->arrays[BSR_OFFSETS],
                           m.sort ? call->arrays[BY_LENGTH_TARGETS] : 0, call->arrays[BSR_COLUMNS],
                           call->arrays[BSR_VALUES]);
    TESS_CUDA_POINTERS(run, call->x, call->y);
    TESS_CUDA_INTEGERS(run, problem->rows, problem->cols);
    tess_cuda_add_factors(run, problem, call);
    TESS_CUDA_POINTERS(run, call->w, dot ? call->workspace : 0);
    if (!dot)
        return 1;
    tess_cuda_launch_dot_sum(call, call->workspace, groups, &out[1]);
    return 2;
}

#define FAMILY block_row
#define FAMILY_PARAMS params_of_block_row
#define FAMILY_COUNT SORT
#define FAMILY_GUESS guess_block_row
#include "cuda/kernels/papers/mapping.inc.c"

#define FAMILY warp_row
#define FAMILY_PARAMS params
#define FAMILY_COUNT BX
#define FAMILY_GUESS guess
#include "cuda/kernels/papers/mapping.inc.c"

#define FAMILY multi_row
#define FAMILY_PARAMS params
#define FAMILY_COUNT COUNT
#define FAMILY_GUESS guess
#include "cuda/kernels/papers/mapping.inc.c"
