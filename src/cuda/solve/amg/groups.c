/* Groups of a level's block rows, made on the device. */
#include "cuda/solve/amg/groups.h"

#include "cuda/solve/amg/patterns.h"

/* Rounds between two looks at the counts. */
enum { ROUNDS_AT_ONCE = 16 };

/* The most rounds that are tried. A mesh of n x n x n nodes takes about n rounds. A chain of rows
 * takes one for each of its groups, and the host is faster. */
static int64_t most_rounds(int64_t rows)
{
    return 64 + rows / 512;
}

void tess_groups_launch(const char *entry, const tess_coarsen_matrix *M,
                        const tess_groups_arrays *arrays, int64_t round, tess_cuda_launch *launch)
{
    /* Kernels go through the rows in steps of the whole grid. A round decides a small share of the
     * rows. */
    enum { ROWS = 64, MOST = 2048 };
    tess_cuda_launch_start(launch, entry, tess_min(MOST, tess_ceil_div(M->block_rows, ROWS)),
                           TESS_GROUPS_THREADS);
    TESS_CUDA_POINTERS(launch, M->offsets, M->columns, arrays->strength, arrays->mirrored,
                       arrays->bounds, arrays->of, arrays->state, arrays->claim, arrays->wanting,
                       arrays->begun, arrays->passed, arrays->counts, arrays->sums, arrays->lengths,
                       arrays->list);
    TESS_CUDA_INTEGERS(launch, M->block_rows, arrays->domains, round);
}

/* The groups of a level under way. */
typedef struct grouping {
    tess_coarsen_level *level;
    const tess_coarsen_matrix *A;
    tess_groups_arrays arrays;
    cu_pointer memory, mirrored, transposed[2], from;
    uint64_t counts[TESS_GROUPS_COUNTS];
    const char *unsuited; /* why the host is to make the groups; NULL: the device does */
} grouping;

static tess_status run(const grouping *g, const char *entry, int64_t round)
{
    tess_cuda_launch l;
    tess_groups_launch(entry, g->A, &g->arrays, round, &l);
    return tess_coarsen_run(g->level->cuda, "groups.cu", NULL, &l);
}

static tess_status look(grouping *g)
{
    tess_cuda *cuda = g->level->cuda;
    return tess_cuda_download(cuda, g->counts, g->arrays.counts, sizeof g->counts, cuda->stream);
}

/* Allocates all arrays but the list, and uploads the domains' first rows. */
static tess_status allocate(grouping *g, const tess_amg_level *level)
{
    tess_cuda *cuda = g->level->cuda;
    const int64_t rows = g->A->block_rows;
    const size_t each = (size_t)rows * sizeof(int32_t);
    tess_groups_arrays *a = &g->arrays;
    int64_t bounds[TESS_AMG_DOMAINS + 1];
    a->domains = tess_amg_domains(level->A);
    for (int64_t i = 0; i <= a->domains; i++)
        bounds[i] = tess_amg_domain_row(rows, (int)a->domains, (int)i);
    const size_t wide = (size_t)(2 * rows) * sizeof(int64_t) + sizeof g->counts + sizeof bounds;
    TESS_TRY(tess_coarsen_put_array(cuda, NULL, (int64_t)(wide + 6 * each), 1, &g->memory));
    a->sums = g->memory;
    a->counts = a->sums + (size_t)(2 * rows) * sizeof(int64_t);
    a->bounds = a->counts + sizeof g->counts;
    uint64_t *const narrow[] = {&a->of, &a->state, &a->claim, &a->wanting, &a->begun, &a->passed};
    for (size_t i = 0; i < 6; i++)
        *narrow[i] = g->memory + wide + i * each;
    a->strength = a->mirrored = g->level->strength;
    TESS_TRY(TESS_CU(cuda, cuMemsetD8Async(a->counts, 0, sizeof g->counts, cuda->stream)));
    return tess_cuda_upload(cuda, a->bounds, bounds, (size_t)(a->domains + 1) * sizeof *bounds,
                            cuda->stream);
}

/* Where couplings are not symmetric, `mirrored` gets an array of its own. */
static tess_status mirror(grouping *g)
{
    TESS_TRY(look(g));
    if (g->counts[TESS_GROUPS_UNLIKE] == 0)
        return TESS_OK;
    TESS_TRY(
        tess_coarsen_put_array(g->level->cuda, NULL, g->A->blocks, sizeof(float), &g->mirrored));
    g->arrays.mirrored = g->mirrored;
    TESS_TRY(run(g, "turn", 0));
    TESS_TRY(look(g));
    if (g->counts[TESS_GROUPS_MISSING] > 0)
        g->unsuited = "the pattern is not symmetric";
    return TESS_OK;
}

static tess_status first_round(grouping *g)
{
    const int64_t most = most_rounds(g->A->block_rows);
    uint64_t left = 1;
    TESS_TRY(run(g, "admit", 0));
    TESS_TRY(run(g, "claim", 0));
    for (int64_t round = 0; left > 0 && round < most;) {
        for (int i = 0; i < ROUNDS_AT_ONCE; i++, round++) {
            TESS_TRY(run(g, "cover", round));
            TESS_TRY(run(g, "release", round));
        }
        TESS_TRY(look(g));
        left = g->counts[TESS_GROUPS_BEGUN] - g->counts[TESS_GROUPS_BEGUN_DONE + round % 2];
    }
    if (left > 0)
        g->unsuited = "groups wait for each other in long chains";
    return TESS_OK;
}

/* Rounds 2 and 3. */
static tess_status other_rounds(grouping *g)
{
    const int64_t most = most_rounds(g->A->block_rows);
    TESS_TRY(run(g, "join", 0));
    TESS_TRY(look(g));
    for (int64_t round = 0; g->counts[TESS_GROUPS_REST_DONE] < g->counts[TESS_GROUPS_REST];) {
        if (round >= most) {
            g->unsuited = "rows left over wait for each other in long chains";
            return TESS_OK;
        }
        for (int i = 0; i < ROUNDS_AT_ONCE; i++, round++)
            TESS_TRY(run(g, "rest", 0));
        TESS_TRY(look(g));
    }
    return TESS_OK;
}

/* Makes the pattern of the tentative prolongator: at most one block per row, its group. */
static tess_status list_groups(grouping *g, int64_t *groups)
{
    tess_coarsen_level *s = g->level;
    tess_coarsen_matrix *Q = &s->matrix[COARSEN_Q];
    cu_pointer *owned = s->owned + 3 * COARSEN_Q;
    const int64_t rows = g->A->block_rows;
    int64_t longest;
    TESS_TRY(run(g, "settle", 0));
    TESS_TRY(tess_cuda_sum_lengths(s->cuda, g->arrays.sums, 2 * rows, groups, &longest));
    TESS_TRY(tess_coarsen_put_array(s->cuda, NULL, rows + 1, sizeof(int64_t), &owned[0]));
    TESS_TRY(tess_coarsen_put_array(s->cuda, NULL, rows, sizeof(int32_t), &owned[1]));
    *Q = (tess_coarsen_matrix){
        .offsets = owned[0], .columns = owned[1], .block_rows = rows, .longest = 1};
    g->arrays.lengths = Q->offsets + sizeof(int64_t);
    g->arrays.list = Q->columns;
    TESS_TRY(TESS_CU(s->cuda, cuMemsetD8Async(Q->offsets, 0, sizeof(int64_t), s->cuda->stream)));
    TESS_TRY(run(g, "number", 0));
    TESS_TRY(tess_cuda_sum_lengths(s->cuda, g->arrays.lengths, rows, &Q->blocks, &longest));
    return run(g, "list", 0);
}

/* The members of each group are the columns of the transpose. They stay on the device, and the host
 * gets them too. */
static tess_status list_members(grouping *g, int64_t groups, tess_aggregates *out)
{
    tess_coarsen_level *s = g->level;
    tess_cuda *cuda = s->cuda;
    const tess_coarsen_matrix *Q = &s->matrix[COARSEN_Q];
    tess_coarsen_matrix T = {.block_rows = groups};
    bool fits = true;
    TESS_TRY(TESS_ALLOC(cuda->ctx, groups + 1, &out->offsets));
    TESS_TRY(TESS_ALLOC(cuda->ctx, Q->blocks, &out->members));
    TESS_TRY(TESS_ALLOC(cuda->ctx, Q->block_rows, &out->of));
    TESS_TRY(
        tess_cuda_transpose_pattern(cuda, Q, &T, g->transposed, &g->from, out->offsets, &fits));
    if (!fits) {
        g->unsuited = "a group has too many rows";
        return TESS_OK;
    }
    TESS_TRY(tess_cuda_download(cuda, out->members, T.columns,
                                (size_t)Q->blocks * sizeof *out->members, cuda->stream));
    TESS_TRY(tess_cuda_download(cuda, out->of, g->arrays.of,
                                (size_t)Q->block_rows * sizeof *out->of, cuda->stream));
    out->count = groups;
    for (int i = 0; i < 2; i++) {
        s->groups[i] = g->transposed[i];
        g->transposed[i] = 0;
    }
    return TESS_OK;
}

static tess_status make(grouping *g, tess_amg_level *level)
{
    int64_t groups = 0;
    if (g->A->block_rows > INT32_MAX / 2) { /* settle counts to twice as many */
        g->unsuited = "there are more than 2^30 of them";
        return TESS_OK;
    }
    TESS_TRY(allocate(g, level));
    TESS_TRY(run(g, "couple", 0));
    TESS_TRY(mirror(g));
    if (!g->unsuited)
        TESS_TRY(first_round(g));
    if (!g->unsuited)
        TESS_TRY(other_rounds(g));
    if (!g->unsuited)
        TESS_TRY(list_groups(g, &groups));
    if (!g->unsuited && groups > 0)
        TESS_TRY(list_members(g, groups, &level->aggregates));
    return TESS_OK;
}

static void drop(grouping *g, tess_amg_level *level)
{
    tess_coarsen_level *s = g->level;
    for (int i = 0; i < 3; i++) {
        tess_cuda_free(s->cuda, s->owned[3 * COARSEN_Q + i]);
        s->owned[3 * COARSEN_Q + i] = 0;
    }
    tess_aggregates_free(s->cuda->ctx, &level->aggregates);
}

static void free_all(const grouping *g)
{
    const cu_pointer all[] = {g->memory, g->mirrored, g->transposed[0], g->transposed[1], g->from};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tess_cuda_free(g->level->cuda, all[i]);
}

/* Brings the strengths to the host, for groups of its own or for A without its weak blocks. */
static tess_status bring_strength(const tess_coarsen_level *s, tess_amg_level *level)
{
    const size_t bytes = (size_t)level->A->blocks * sizeof *level->strength;
    if (!level->strength)
        TESS_TRY(TESS_ALLOC(s->cuda->ctx, level->A->blocks, &level->strength));
    return tess_cuda_download(s->cuda, level->strength, s->strength, bytes, s->cuda->stream);
}

static tess_status group(tess_coarsen_level *s, tess_amg_level *level, bool *made)
{
    tess_ctx *ctx = s->cuda->ctx;
    const tess_kept_error kept = tess_error_keep(ctx);
    grouping g = {.level = s, .A = &s->matrix[COARSEN_A]};
    tess_status status = make(&g, level);
    free_all(&g);
    if (status == TESS_ERR_UNSUPPORTED || status == TESS_ERR_MEMORY) {
        g.unsuited = "there is no room on the device";
        tess_error_restore(ctx, &kept);
        status = TESS_OK;
    }
    *made = status == TESS_OK && !g.unsuited;
    if (!*made)
        drop(&g, level);
    if (g.unsuited)
        tess_log(ctx, "pc=amg: %lld rows are grouped on the host: %s", (long long)g.A->block_rows,
                 g.unsuited);
    if (status == TESS_OK && (!*made || !level->all_strong))
        status = bring_strength(s, level);
    tess_cuda_free(s->cuda, s->strength_memory);
    s->strength_memory = s->strength = 0;
    return status;
}

tess_status tess_coarsen_groups(void *state, tess_amg_level *level, bool *made)
{
    tess_coarsen_level *s = state;
    TESS_TRY(tess_cuda_enter(s->cuda));
    return tess_cuda_leave_with(s->cuda, group(s, level, made));
}
