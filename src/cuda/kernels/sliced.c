/* The sliced kernels' descriptors; sliced.cu says what the macros mean. */
#include "cuda/kernels/sliced.h"
#include "format/sliced.h"

enum { C, SIGMA, LAMBDA, PANELS, V, XV, DEPTH, TPR, THREADS, HINT, COUNT };

/* Panels can only pay where columns are scattered over an x that is not small. */
static bool panels_worth(const tess_cuda_problem *problem)
{
    int64_t x = problem->cols * (int64_t)tess_type_size(problem->type);
    return problem->scattered > 0.25 && x > problem->l2_bytes / 5;
}

/* Ways to fetch x matter where it is not found in the cache. */
static bool gathers_worth(const tess_cuda_problem *problem)
{
    return problem->scattered > 0.25;
}

/* Several threads a row: few or scattered rows, or wide blocks. */
static bool tpr_worth(const tess_cuda_problem *problem)
{
    return problem->rows < (int64_t)problem->multiprocessors * 8192 || problem->block_width >= 16 ||
           problem->scattered > 0.25;
}

static const tess_cuda_param params_of_sliced[COUNT] = {
    [C] = {"C", {1, 2, 4, 8, 16, 32, 64}, 7},
    [SIGMA] = {"sigma", {1, 4096, 16777216}, 3},
    [LAMBDA] = {"lambda", {0, 8, 16, 32, 64, 128}, 6},
    [PANELS] = {"panels", {1, 2, 3, 4, 6}, 5, panels_worth},
    [V] = {"V", {1, 2, 4}, 3},
    [XV] = {"xv", {1, 2, 4}, 3, gathers_worth}, /* scalars of x a load */
    [DEPTH] = {"depth", {1, 2, 4, 8}, 4},
    [TPR] = {"tpr", {1, 2, 4, 8, 16}, 5, tpr_worth},
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

/* Whether x of a block can be read `xv` scalars at a time. */
static bool reads_x_by(const tess_cuda_problem *problem, int xv)
{
    int real = (int)tess_type_size(problem->type);
    return problem->block_width % xv == 0 && problem->cols % problem->block_width == 0 &&
           xv * real <= 16 && !is_wide(problem);
}

int tess_sliced_widest_x(const tess_cuda_problem *problem)
{
    int xv = 4;
    while (xv > 1 && !reads_x_by(problem, xv))
        xv /= 2;
    return xv;
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
    if (p[XV] > 1 && !reads_x_by(problem, p[XV]))
        return false;
    /* Values and their x are in registers, of which a thread of 512 has half as many. */
    int in_flight = p[THREADS] > 256 ? 128 : 256;
    bool wide = is_wide(problem), complex = tess_is_complex(problem->type);
    int bytes = (wide ? 4 * p[V] : group * problem->block_width) * p[DEPTH] * real;
    if (bytes > in_flight && (complex || (!wide && p[DEPTH] > 1)))
        return false;
    if (wide)
        return group == 1 && p[TPR] <= problem->block_width / p[V] && p[DEPTH] <= 4;
    return p[TPR] == 1 || (int64_t)p[TPR] * group <= problem->longest_row;
}

/* The number of panels that moves the fewest bytes to and from memory, in the terms that depend on
 * it (bytes):
 *   y       every panel but the first reads and writes y of the rows that it visits, 2 bh reals a
 *           row, and reads the 8 bytes of the line's length and target; starting a line costs as
 *           much time as 150 bytes more (H200: with x of 46 and 63 MB two panels take a tenth and a
 *           fifth less time than one, with 37 MB as much);
 *   misses  a scattered block finds its x in L2 with probability cache / (x / panels), where cache
 *           is 0.4 of L2: about 24 MB of an H200's 60, of which each half caches for its own SMs
 *           while the matrix streams through. A miss costs the block's bw reals and one half-used
 *           transaction of 64 bytes more.
 * Wide blocks have few misses for their bytes and stay at one panel by the same sum. */
static int guess_panels(const tess_cuda_problem *problem)
{
    if (!panels_worth(problem) || problem->l2_bytes == 0)
        return 1;
    double real = (double)tess_type_size(problem->type), cache = 0.4 * (double)problem->l2_bytes;
    double x = real * (double)problem->cols, blocks = (double)problem->blocks;
    double miss = real * problem->block_width + 64, line = 2 * real * problem->block_height + 158;
    double least = 0;
    int best = 1;
    for (int i = 0; i < params_of_sliced[PANELS].count; i++) {
        int panels = params_of_sliced[PANELS].values[i];
        double missed = x > panels * cache ? 1 - panels * cache / x : 0;
        double visits = (double)problem->block_rows;
        visits = (panels - 1) * (visits * panels < blocks ? visits : blocks / panels);
        double bytes = visits * line + missed * problem->scattered * blocks * miss;
        if (i == 0 || bytes < least) {
            least = bytes;
            best = panels;
        }
    }
    return best;
}

static int64_t mean_row(const tess_cuda_problem *problem)
{
    return problem->blocks / (problem->block_rows > 0 ? problem->block_rows : 1);
}

static void guess_irregular(const tess_cuda_problem *problem, int *p)
{
    /* Rows of very different lengths: cut the long ones, sort the rest, in windows so that y keeps
     * its order roughly. */
    int64_t mean = mean_row(problem);
    p[PANELS] = guess_panels(problem);
    if (problem->longest_row > 2 * mean + 8 || p[PANELS] > 1) {
        p[SIGMA] = 4096;
        p[LAMBDA] = 16;
        while (p[LAMBDA] < 128 && p[LAMBDA] < 2 * mean)
            p[LAMBDA] *= 2;
        if (p[LAMBDA] >= problem->longest_row)
            p[LAMBDA] = 0;
    }
}

/* The values fit so many times L2. */
static bool fits_cache(const tess_cuda_problem *problem, int times)
{
    return (double)problem->blocks * problem->block_height * problem->block_width *
               (double)tess_type_size(problem->type) <
           times * (double)problem->l2_bytes;
}

/* Fewer rows than the device has threads for: several threads a row, but no more in all than run at
 * once. A matrix in the cache answers sooner, so fewer loads are in flight. */
static void guess_few_rows(const tess_cuda_problem *problem, int *p)
{
    int64_t wanted = (int64_t)problem->multiprocessors * 1024;
    int before = p[TPR], real = (int)tess_type_size(problem->type);
    while (p[TPR] < 16 && problem->rows * 2 * p[TPR] <= wanted) {
        p[TPR] *= 2;
        while (p[THREADS] < 32 * p[TPR])
            p[THREADS] *= 2;
        if (!fits(problem, p)) {
            p[TPR] /= 2;
            while (p[THREADS] > 128 && !fits(problem, p)) /* fewer have more registers each */
                p[THREADS] /= 2;
            break;
        }
    }
    int group = group_of(problem, p), bytes = group * problem->block_width * real;
    bool cached = fits_cache(problem, 1);
    while (p[TPR] > before && !is_wide(problem) && p[DEPTH] > 1 &&
           ((cached && bytes * p[DEPTH] > 64) || 3 * p[DEPTH] * p[TPR] * group > mean_row(problem)))
        p[DEPTH] /= 2;
}

/* Loads in flight a thread: about a hundred bytes of values, less where blocks are small and many
 * threads fit, and at most half a row, since loads behind a row's end are wasted. Rows that were
 * cut and sorted are about as long as their neighbours. */
static void guess_depth(const tess_cuda_problem *problem, int *p)
{
    bool wide = is_wide(problem), single = problem->type == TESS_F32;
    int bw = problem->block_width, group = group_of(problem, p);
    int each = (wide ? 4 * p[V] : group * bw) * (int)tess_type_size(problem->type);
    int most = bw <= 2 || (single && bw <= 4) ? 64 : 128;
    while (p[DEPTH] < (wide ? 4 : 8) && 2 * each * p[DEPTH] <= most)
        p[DEPTH] *= 2;
    while (!wide && p[DEPTH] > 1 &&
           (p[LAMBDA] > 0 ? p[DEPTH] * group > 2
                          : p[DEPTH] * group * p[PANELS] * 2 > mean_row(problem) + 1))
        p[DEPTH] /= 2;
}

static void guess(const tess_cuda_problem *problem, int *p)
{
    static const int start[COUNT] = {32, 1, 0, 1, 1, 1, 1, 1, 128, 1};
    memcpy(p, start, sizeof start);
    bool single = problem->type == TESS_F32;
    int32_t bh = problem->block_height, bw = problem->block_width;
    int64_t mean = mean_row(problem);
    if (single) { /* pairs across blocks pay only in long rows */
        p[V] = bw == 4 ? 4 : bw % 2 == 0 || (!is_wide(problem) && mean >= 12) ? 2 : 1;
        p[C] = 64;
    }
    while (p[C] > 1 && (int64_t)p[C] * bh > 768)
        p[C] /= 2;
    guess_irregular(problem, p);
    guess_depth(problem, p);
    if (p[PANELS] > 1)
        p[HINT] = 2;
    /* Small blocks that come from far beyond L2 are read 1 % faster unmarked. Of a few times L2
     * some would stay for the next product and does if marked (H200, b = 2, 7 points: 175 MB 10 %
     * faster, 27 points: 308 MB 7 %, 1.1 GB 1 % slower). */
    else if (p[SIGMA] == 1 && !fits_cache(problem, 8) &&
             (bw <= 3 || (single && bw < 8 && bw % 2 != 0)))
        p[HINT] = 0;
    /* A matrix that fits the cache is not marked to be evicted first: its cache lines would never
     * displace those that another kernel left to stay (H200, 39 MB: 10 or 15 us). */
    if (fits_cache(problem, 1) && p[PANELS] == 1)
        p[HINT] = 0;
    if (single && bw == 1 && mean < 12)
        p[THREADS] = 64; /* H200, 7 points: 85.8 % of read, 85.3 with 128 */
    if (bw == 16 || bw >= 48)
        p[TPR] = mean >= 4 ? 4 : 2;
    if (!fits(problem, p))
        p[TPR] = 1;
    while (!is_wide(problem) && p[TPR] > 1 && p[DEPTH] > 1 &&
           p[DEPTH] * p[TPR] * group_of(problem, p) > mean)
        p[DEPTH] /= 2;
    guess_few_rows(problem, p);
    if (gathers_worth(problem))
        p[XV] = tess_sliced_widest_x(problem);
}

/* Lines differ from block rows when they are sorted, cut or in panels. */
static bool has_targets(const int *p)
{
    return p[SIGMA] > 1 || p[LAMBDA] > 0 || p[PANELS] > 1;
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
    tess_cuda_scalar_defines(problem->type, problem->conjugate, text, size);
    tess_append(text, size,
                " -DBH=%d -DBW=%d -DHEIGHT=%d -DVEC=%d -DGROUP=%d -DDEPTH=%d -DPER_ROW=%d "
                "-DTHREADS=%d -DXVEC=%d -DWIDE=%d -DTARGETS=%d -DRAGGED=%d -DHINT=%d -DDOT=%d",
                (int)problem->block_height, (int)problem->block_width, p[C], p[V],
                group_of(problem, p), p[DEPTH], p[TPR], p[THREADS], p[XV], wide_loads(problem, p),
                has_targets(p), problem->cols % problem->block_width != 0, p[HINT], dot);
}

static void defines(const tess_cuda_problem *problem, const int *p, char *text, size_t size)
{
    defines_dot(problem, p, 0, text, size);
}

/* A solver's vectors should stay in L2 from one launch to the next, so a matrix that does not fit
 * is evicted first. H200, an iteration of cg with 331 776 rows of 3 x 3 blocks: 71.3 -> 64.7 us. */
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

/* One panel: the product, and the sum of the rows cut in it. Its lines, slices and cut rows are the
 * kernel's from 0 on, so the arrays that they index begin at the panel's; columns and values are
 * found by the slices' offsets. Parts of w*y follow each other: blocks of the first launch, then of
 * the second. */
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

/* Panel after panel; the last one leaves `parts` parts of w*y at dot_part. */
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
    tess_cuda_launch *run = tess_cuda_launch_start(&out[count++], "sliced_dot", 1, 1024);
    run->sums_parts = true;
    TESS_CUDA_POINTERS(run, dot_part);
    TESS_CUDA_INTEGERS(run, parts);
    TESS_CUDA_POINTERS(run, call->dot);
    return count;
}

const tess_cuda_kernel tess_cuda_kernel_sliced = {
    .name = "sliced",
    .source = "sliced.cu",
    .format = "sliced",
    .op = TESS_CUDA_SPMV,
    .preferred = true,
    .complex = true,
    .params = params_of_sliced,
    .param_count = COUNT,
    .fits = fits,
    .guess = guess,
    .defines = defines,
    .layout_name = layout_name,
    .launches = launches,
};

const tess_cuda_kernel tess_cuda_kernel_sliced_dot = {
    .name = "sliced_dot",
    .source = "sliced.cu",
    .format = "sliced",
    .op = TESS_CUDA_SPMV_DOT,
    .preferred = true,
    .params = params_of_sliced,
    .param_count = COUNT,
    .fits = fits,
    .guess = guess,
    .defines = defines_with_dot,
    .layout_name = layout_name,
    .launches = launches_dot,
};
