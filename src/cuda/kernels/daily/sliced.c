/* The sliced kernels' descriptors; sliced.cu says what the macros mean, sliced_guess.c has their
 * guess. */
#include "cuda/kernels/daily/sliced_guess.h"
#include "format/sliced.h"

/* Panels can only pay where columns are scattered over an x that is not small. */
bool tess_sliced_panels_worth(const tess_cuda_problem *problem)
{
    int64_t x = problem->cols * (int64_t)tess_type_size(problem->type);
    return problem->scattered > 0.25 && x > problem->l2_bytes / 5;
}

/* Whether ways to fetch x are worth measuring: they matter where x is not found in the cache. */
bool tess_sliced_gathers_worth(const tess_cuda_problem *problem)
{
    return problem->scattered > 0.25;
}

/* Vectors by fields: every scalar of a block's x lies in another sector. Block rows that follow
 * each other share the sectors where their columns are near. Elsewhere passes move less, since they
 * read every sector once. */
static bool by_fields(const tess_cuda_problem *problem)
{
    return !tess_sliced_gathers_worth(problem);
}

/* Whether several threads per row may pay: rows are few or scattered, or blocks wide. */
static bool tpr_worth(const tess_cuda_problem *problem)
{
    return problem->rows < (int64_t)problem->multiprocessors * 8192 || problem->block_width >= 16 ||
           problem->scattered > 0.25;
}

const tess_cuda_param tess_sliced_params[COUNT] = {
    [C] = {"C", {1, 2, 4, 8, 16, 32, 64}, 7},
    [SIGMA] = {"sigma", {1, 4096, 16777216}, 3},
    [LAMBDA] = {"lambda", {0, 8, 16, 32, 64, 128}, 6},
    [PANELS] = {"panels", {1, 2, 3, 4, 6}, 5, tess_sliced_panels_worth},
    [V] = {"V", {1, 2, 4}, 3},
    [XV] = {"xv", {1, 2, 4}, 3, tess_sliced_gathers_worth}, /* scalars of x per load */
    [DEPTH] = {"depth", {1, 2, 4, 8}, 4},
    [TPR] = {"tpr", {1, 2, 4, 8, 16, 32}, 6, tpr_worth},
    [THREADS] = {"threads", {64, 128, 256, 512}, 4},
    [HINT] = {"hint", {0, 1, 2, 3}, 4},
};

bool tess_sliced_is_wide(const tess_cuda_problem *problem)
{
    return problem->block_width > TESS_SLICED_WIDE;
}

int tess_sliced_blocks(const tess_cuda_problem *problem, const int *p)
{
    return tess_sliced_group(problem->block_width, p[V]);
}

/* Vectors of a wide block's row. */
static int vectors_of(const tess_cuda_problem *problem, const int *p)
{
    return (int)tess_ceil_div(problem->block_width, p[V]);
}

/* Whether x of a block can be read `xv` scalars at a time. */
static bool reads_x_by(const tess_cuda_problem *problem, int xv)
{
    int real = (int)tess_type_size(problem->type);
    return problem->block_width % xv == 0 && problem->cols % problem->block_width == 0 &&
           xv * real <= 16 && !tess_sliced_is_wide(problem);
}

int tess_sliced_widest_x(const tess_cuda_problem *problem)
{
    int xv = 4;
    while (xv > 1 && !reads_x_by(problem, xv))
        xv /= 2;
    return xv;
}

int tess_sliced_dealt(const int *p)
{
    enum { ACROSS = 4 };
    return p[TPR] > ACROSS ? p[TPR] / ACROSS : 1;
}

bool tess_sliced_fits(const tess_cuda_problem *problem, const int *p)
{
    int real = (int)tess_type_size(problem->type), group = tess_sliced_blocks(problem, p);
    if (p[V] * real > 16 || p[THREADS] % (TESS_SLICED_ROWS * p[TPR]) != 0)
        return false;
    if (!tess_sliced_takes_rows(problem, p[C]))
        return false;
    if (p[LAMBDA] > 0 && (p[SIGMA] == 1 || p[LAMBDA] >= problem->longest_row))
        return false;
    if (p[XV] > 1 && !reads_x_by(problem, p[XV]))
        return false;
    /* Values and their x are in registers. A thread of 512 has half as many as one of 256. */
    int in_flight = p[THREADS] > 256 ? 128 : 256;
    bool wide = tess_sliced_is_wide(problem), complex = tess_is_complex(problem->type);
    int bytes = (wide ? 4 * p[V] : group * problem->block_width) * p[DEPTH] * real;
    if (bytes > in_flight && (complex || (!wide && p[DEPTH] > 1)))
        return false;
    if (wide)
        return p[TPR] / tess_sliced_dealt(p) <= vectors_of(problem, p) &&
               tess_sliced_dealt(p) <= problem->longest_row && p[DEPTH] <= 4;
    return p[TPR] == 1 || (int64_t)p[TPR] * group <= problem->longest_row;
}

/* Lines differ from block rows when they are sorted, cut or in panels. */
static bool has_targets(const int *p)
{
    return p[SIGMA] > 1 || p[LAMBDA] > 0 || p[PANELS] > 1;
}

int tess_sliced_wide_loads(const tess_cuda_problem *problem, const int *p)
{
    if (!tess_sliced_is_wide(problem))
        return 0;
    int share = (int)tess_ceil_div(vectors_of(problem, p), p[TPR] / tess_sliced_dealt(p));
    int pieces = (int)tess_ceil_div(share, 4 * p[DEPTH]);
    return (int)tess_ceil_div(share, pieces);
}

static void defines_dot(const tess_cuda_problem *problem, const int *p, int dot, char *text,
                        size_t size)
{
    tess_cuda_scalar_defines(problem->type, problem->conjugate, text, size);
    tess_append(
        text, size,
        " -DBH=%d -DBW=%d -DHEIGHT=%d -DVEC=%d -DGROUP=%d -DDEPTH=%d -DPER_ROW=%d "
        "-DTHREADS=%d -DXVEC=%d -DWIDE=%d -DDEAL=%d -DTARGETS=%d -DRAGGED=%d -DHINT=%d -DDOT=%d%s",
        (int)problem->block_height, (int)problem->block_width, p[C], p[V],
        tess_sliced_blocks(problem, p), p[DEPTH], p[TPR], p[THREADS], problem->fields ? 1 : p[XV],
        tess_sliced_wide_loads(problem, p), tess_sliced_dealt(p), has_targets(p),
        problem->cols % problem->block_width != 0, p[HINT], dot,
        problem->fields ? " -DFIELDS=1" : "");
}

static void defines(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    defines_dot(problem, p, 0, text, size);
}

/* A solver's vectors should stay in L2 from one launch to the next, so a matrix that does not fit
 * beside them is evicted first. */
static void defines_with_dot(const tess_cuda_problem *problem, const int *p, char *text,
                             size_t size)
{
    int hinted[COUNT];
    memcpy(hinted, p, sizeof hinted);
    if (problem->evict_first)
        hinted[HINT] = 2;
    defines_dot(problem, hinted, 1, text, size);
}

static void layout_name(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    (void)problem;
    snprintf(text, size, "sliced:C=%d,sigma=%d,lambda=%d,V=%d,panels=%d", p[C], p[SIGMA], p[LAMBDA],
             p[V], p[PANELS]);
}

/* Launches one panel: the product, and the sum of the rows that are cut in it. The kernel counts
 * lines, slices and cut rows from 0, so the arrays that they index begin at the panel's. Columns
 * and values are found by the slices' offsets. The partial sums of w*y follow each other: those of
 * the first launch's thread blocks, then the second's. */
static int launch_panel(const tess_cuda_problem *problem, const int *p,
                        const tess_sliced_panel *panel, const tess_cuda_call *call,
                        uint64_t dot_part, int64_t *parts, tess_cuda_launch *out)
{
    uint64_t slice = (uint64_t)panel->first_slice, line = slice * (uint64_t)p[C];
    int64_t places = panel->slices * p[C] * problem->block_height;
    if (places == 0)
        return 0;
    int count = 0;
    int64_t grid = tess_ceil_div(places, p[THREADS] / p[TPR]);
    tess_cuda_launch *run = tess_cuda_launch_start(&out[count++], "sliced", grid, p[THREADS]);
    run->waits = true;
    TESS_CUDA_POINTERS(run, call->arrays[SLICED_OFFSETS] + slice * sizeof(int64_t),
                       call->arrays[SLICED_LENGTHS] + line * sizeof(int32_t),
                       call->arrays[SLICED_TARGETS] + line * sizeof(int32_t),
                       call->arrays[SLICED_COLUMNS], call->arrays[SLICED_VALUES], call->x, call->y,
                       call->workspace);
    TESS_CUDA_INTEGERS(run, panel->lines, problem->rows, problem->cols);
    tess_cuda_add_factors(run, problem, call);
    TESS_CUDA_POINTERS(run, call->w, dot_part);
    *parts = grid;
    if (panel->cut_rows > 0) {
        dot_part = dot_part ? dot_part + (uint64_t)*parts * sizeof(double) : 0;
        *parts += tess_sliced_launch_sum(problem, panel, call, &call->arrays[SLICED_CUT_ROW],
                                         dot_part, &out[count++]);
    }
    return count;
}

/* Launches panel after panel. The last one leaves `parts` partial sums of w*y at dot_part. */
static int products(const tess_cuda_problem *problem, const int *p, const tess_cuda_layout *layout,
                    const tess_cuda_call *call, uint64_t dot_part, int64_t *parts,
                    tess_cuda_launch *out)
{
    const tess_sliced *S = layout->format;
    tess_cuda_call panel_call = *call;
    int count = 0;
    for (int32_t q = 0; q < S->options.panels; q++) {
        bool last = q == S->options.panels - 1;
        panel_call.beta = q == 0 ? call->beta : 1;
        panel_call.beta_im = q == 0 ? call->beta_im : 0;
        count += launch_panel(problem, p, &S->panel[q], &panel_call, last ? dot_part : 0, parts,
                              out + count);
    }
    return count;
}

static int launches(const tess_cuda_problem *problem, const int *p, const tess_cuda_layout *layout,
                    const tess_cuda_call *call, tess_cuda_launch *out)
{
    int64_t parts = 0;
    return products(problem, p, layout, call, 0, &parts, out);
}

static int launches_dot(const tess_cuda_problem *problem, const int *p,
                        const tess_cuda_layout *layout, const tess_cuda_call *call,
                        tess_cuda_launch *out)
{
    int64_t parts = 0;
    uint64_t dot_part = call->workspace + (uint64_t)layout->counts[SLICED_DOT_AT];
    int count = products(problem, p, layout, call, dot_part, &parts, out);
    tess_cuda_launch_dot_sum(call, dot_part, parts, &out[count++]);
    return count;
}

const tess_cuda_kernel tess_cuda_kernel_sliced = {
    .name = "sliced",
    .source = "sliced.cu",
    .format = "sliced",
    .op = TESS_CUDA_SPMV,
    .preferred = true,
    .complex = true,
    .by_fields = by_fields,
    .params = tess_sliced_params,
    .param_count = COUNT,
    .fits = tess_sliced_fits,
    .guess = tess_sliced_guess,
    .defines = defines,
    .layout_name = layout_name,
    .launches = launches,
    .flight = tess_sliced_flight,
};

const tess_cuda_kernel tess_cuda_kernel_sliced_dot = {
    .name = "sliced_dot",
    .source = "sliced.cu",
    .format = "sliced",
    .op = TESS_CUDA_SPMV_DOT,
    .product = "sliced",
    .preferred = true,
    .by_fields = by_fields,
    .params = tess_sliced_params,
    .param_count = COUNT,
    .fits = tess_sliced_fits,
    .guess = tess_sliced_guess,
    .defines = defines_with_dot,
    .layout_name = layout_name,
    .launches = launches_dot,
};
