/* Descriptors of mapped.cu: block_row, warp_row and multi_row. */
#include "cuda/kernels/support.h"

enum { THREADS, DEPTH, SORT, BX, COUNT };

/* B_x is multi_row's; the other mappings compute it. */
static const tess_cuda_param params[COUNT] = {
    [THREADS] = {"T", {64, 128, 256, 512}, 4},
    [DEPTH] = {"depth", {1, 2, 4}, 3},
    [SORT] = {"sort", {0, 1}, 2},
    [BX] = {"Bx", {1, 2, 4}, 3},
};

/* block_row has one row a thread block, so there is nothing to sort. */
static const tess_cuda_param params_of_block_row[] = {
    [THREADS] = {"T", {64, 128, 256, 512}, 4},
    [DEPTH] = {"depth", {1, 2, 4}, 3},
};

/* Threads of a thread block and what each takes; mapped.cu's macros. */
typedef struct mapping {
    int threads, unit, bx, by, piece, depth, sort;
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
        .sort = 1,
    };
}

static mapping map_block_row(const tess_cuda_problem *problem, const int *p)
{
    mapping m = map_unit(problem, p[THREADS], p[THREADS], p);
    m.sort = 0;
    return m;
}

static mapping map_warp_row(const tess_cuda_problem *problem, const int *p)
{
    int unit = 32 * (int)tess_ceil_div(problem->block_height, 32);
    mapping m = map_unit(problem, p[THREADS], unit, p);
    m.sort = p[SORT];
    return m;
}

static mapping map_multi_row(const tess_cuda_problem *problem, const int *p)
{
    bool whole = p[BX] * per_block(problem) <= p[THREADS];
    int unit = whole ? p[BX] * per_block(problem) : p[THREADS];
    mapping m = map_unit(problem, p[THREADS], unit, p);
    m.sort = p[SORT];
    return m;
}

/* Padding must be bounded: one row of B_x blocks must not be mostly padding, nor an unsorted group
 * because of one very long row. */
static bool padding_fits(const tess_cuda_problem *problem, int bx, int by, int sort)
{
    int64_t mean = problem->block_rows > 0 ? problem->blocks / problem->block_rows : 0;
    return problem->block_rows < INT32_MAX - 1024 && bx <= 10 * (mean + 1) &&
           (sort || by == 1 || problem->longest_row <= 200 * (mean + 1));
}

static bool fits_block_row(const tess_cuda_problem *problem, const int *p)
{
    return problem->block_height <= p[THREADS] &&
           padding_fits(problem, map_block_row(problem, p).bx, 1, 0);
}

static bool fits_warp_row(const tess_cuda_problem *problem, const int *p)
{
    mapping m = map_warp_row(problem, p);
    return m.by >= 1 && padding_fits(problem, m.bx, m.by, m.sort);
}

/* B_x above 1 needs room for whole blocks. */
static bool fits_multi_row(const tess_cuda_problem *problem, const int *p)
{
    mapping m = map_multi_row(problem, p);
    return problem->block_height <= p[THREADS] && (p[BX] == 1 || m.bx == p[BX]) &&
           padding_fits(problem, m.bx, m.by, m.sort);
}

/* The smallest T, so that B_x wastes least. */
static void guess_block_row(const tess_cuda_problem *problem, int *p)
{
    p[THREADS] = 64;
    p[DEPTH] = 4;
    while (p[THREADS] < 512 && problem->block_height > p[THREADS])
        p[THREADS] *= 2;
}

/* The paper's final choice (3.7): sorted, B_x = 1; T is 128 there. */
static void guess(const tess_cuda_problem *problem, int *p)
{
    p[THREADS] = 128;
    p[DEPTH] = 4;
    p[SORT] = 1;
    p[BX] = 1;
    while (p[THREADS] < 512 && problem->block_height > p[THREADS])
        p[THREADS] *= 2;
}

static void write_defines(const tess_cuda_problem *problem, mapping m, char *text, size_t size)
{
    int tree = 1;
    while (2 * tree < m.bx * m.piece)
        tree *= 2;
    snprintf(text, size,
             "-DREAL=%d -DBH=%d -DBW=%d -DRAGGED=%d -DTHREADS=%d -DUNIT=%d -DBX=%d -DBY=%d "
             "-DPIECE=%d -DTREE=%d -DDEPTH=%d -DHINT=1",
             (int)tess_type_size(problem->type), (int)problem->block_height,
             (int)problem->block_width, problem->cols % problem->block_width != 0, m.threads,
             m.unit, m.bx, m.by, m.piece, m.bx * m.piece > 1 ? tree : 0, m.depth);
}

static void write_layout_name(mapping m, char *text, size_t size)
{
    snprintf(text, size, "interleaved:Bx=%d,By=%d,sort=%d", m.bx, m.by, m.sort);
}

static int write_launches(const tess_cuda_problem *problem, mapping m,
                          const tess_cuda_layout *layout, const tess_cuda_call *call,
                          tess_cuda_launch *out)
{
    if (problem->rows == 0)
        return 0;
    tess_cuda_launch *run =
        tess_cuda_launch_start(out, "mapped", layout->counts[INTERLEAVED_GROUPS], m.threads);
    tess_cuda_add_args(run, call->arrays, INTERLEAVED_VALUES + 1);
    TESS_CUDA_POINTERS(run, call->x, call->y);
    TESS_CUDA_INTEGERS(run, problem->rows, problem->cols);
    TESS_CUDA_NUMBERS(run, call->alpha, call->beta);
    return 1;
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
