/* groups.cu in the emulator: on graphs drawn at random its groups are the host's, whatever the
 * order of threads and however many domains there are. */
#include <string.h>

#include "cuda/solve/amg/groups.h"
#include "emu/emulator.h"
#include "support/support.h"

static int64_t draw(uint64_t seed, uint64_t i, int64_t least, int64_t most)
{
    return least + tess_random_below(seed, i, most - least + 1);
}

enum kind { MESH, CHAIN, BAND, RANDOM, NUMBERED_AT_RANDOM, KINDS };

/* Whether rows i and j of a graph are neighbours. */
static bool coupled(enum kind kind, int64_t i, int64_t j, int64_t rows, uint64_t seed)
{
    const int64_t low = tess_min(i, j), high = tess_max(i, j), width = 9;
    const int64_t x = i % width - j % width, y = i / width - j / width;
    switch (kind) {
    case MESH:
        return x * x <= 1 && y * y <= 1;
    case CHAIN:
        return high - low == 1;
    case BAND: /* more neighbours than a warp has lanes */
        return high - low >= 1 && high - low <= 25;
    case RANDOM:
        return draw(seed, (uint64_t)(low * rows + high), 0, rows) < 3;
    default: /* a mesh whose rows are numbered at random, by a multiplication */
        return coupled(MESH, i * 1009 % rows, j * 1009 % rows, rows, seed);
    }
}

typedef struct graph {
    tess_matrix *A; /* 1 x 1 blocks; values are not read */
    float *strength;
} graph;

/* Strengths of (i, j) and (j, i) are the same unless `unlike`. About one in ten is weak, and one in
 * ten is strong for its row alone. */
static float draw_strength(int64_t i, int64_t j, int64_t rows, bool unlike, uint64_t seed)
{
    const int64_t low = unlike ? i : tess_min(i, j), high = unlike ? j : tess_max(i, j);
    const uint64_t at = (uint64_t)(low * rows + high);
    const int64_t kind = draw(seed + 1, at, 0, 9);
    const float size = (float)draw(seed + 2, at, 1, 3) / 3; /* many are equal */
    if (i == j || kind == 0)
        return 0;
    return kind == 1 ? -size : size;
}

static graph make_graph(tess_ctx *ctx, enum kind kind, int64_t rows, bool unlike, uint64_t seed)
{
    graph g;
    int64_t blocks = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < rows; j++)
            blocks += i == j ? i % 7 != 3 : coupled(kind, i, j, rows, seed);
    test_ok(ctx, tess_matrix_allocate(ctx, TESS_F64, rows, rows, 1, 1, blocks, &g.A));
    g.strength = malloc((size_t)(blocks + 1) * sizeof *g.strength);
    blocks = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < rows; j++) {
            if (i == j ? i % 7 == 3 : !coupled(kind, i, j, rows, seed))
                continue;
            g.strength[blocks] = draw_strength(i, j, rows, unlike, seed);
            g.A->columns[blocks++] = (int32_t)j;
        }
        g.A->row_offsets[i + 1] = blocks;
    }
    return g;
}

static void free_graph(graph *g)
{
    free(g->strength);
    tess_matrix_destroy(g->A);
}

/* ---- On the device ---- */

typedef struct run {
    tess_coarsen_matrix M;
    tess_groups_arrays arrays;
    uint64_t counts[TESS_GROUPS_COUNTS], seed;
    int64_t *bounds, *sums, *lengths;
    int32_t *narrow; /* of, state, claim, wanting, begun, passed, list */
    float *mirrored;
    int rounds, rest_rounds;
} run;

static void launch(run *r, const char *entry, int64_t round)
{
    tess_cuda_launch l;
    tess_groups_launch(entry, &r->M, &r->arrays, round, &l);
    const char *wrong = emu_launch("groups_0", &l, r->seed++);
    if (wrong)
        fail_msg("%s, seed %d: %s", entry, (int)r->seed, wrong);
}

static void allocate(run *r, const graph *g, int domains, uint64_t seed)
{
    const int64_t rows = g->A->block_rows;
    *r = (run){.M = {.offsets = emu_address(g->A->row_offsets),
                     .columns = emu_address(g->A->columns),
                     .block_rows = rows,
                     .blocks = g->A->blocks},
               .seed = 1000 * seed};
    r->bounds = malloc((size_t)(domains + 1) * sizeof *r->bounds);
    for (int i = 0; i <= domains; i++)
        r->bounds[i] = tess_amg_domain_row(rows, domains, i);
    r->sums = malloc(3 * (size_t)rows * sizeof *r->sums);
    r->lengths = r->sums + 2 * rows;
    r->narrow = malloc(7 * (size_t)rows * sizeof *r->narrow);
    r->mirrored = malloc((size_t)(g->A->blocks + 1) * sizeof *r->mirrored);
    memset(r->narrow, 0x55, 7 * (size_t)rows * sizeof *r->narrow);
    r->arrays = (tess_groups_arrays){.strength = emu_address(g->strength),
                                     .mirrored = emu_address(g->strength),
                                     .bounds = emu_address(r->bounds),
                                     .counts = emu_address(r->counts),
                                     .sums = emu_address(r->sums),
                                     .lengths = emu_address(r->lengths),
                                     .domains = domains};
    uint64_t *const narrow[] = {&r->arrays.of,      &r->arrays.state, &r->arrays.claim,
                                &r->arrays.wanting, &r->arrays.begun, &r->arrays.passed,
                                &r->arrays.list};
    for (int i = 0; i < 7; i++)
        *narrow[i] = emu_address(r->narrow + i * rows);
}

static void free_run(run *r)
{
    free(r->bounds), free(r->sums), free(r->narrow), free(r->mirrored);
}

static void sum(int64_t *lengths, int64_t count)
{
    for (int64_t i = 1; i < count; i++)
        lengths[i] += lengths[i - 1];
}

/* All launches of groups.c; sums are patterns.cu's there. False: a mirrored block is missing. */
static bool group(run *r)
{
    const int64_t rows = r->M.block_rows;
    const uint64_t *counts = r->counts;
    launch(r, "couple", 0);
    if (counts[TESS_GROUPS_UNLIKE] != 0) {
        r->arrays.mirrored = emu_address(r->mirrored);
        launch(r, "turn", 0);
        if (counts[TESS_GROUPS_MISSING] > 0)
            return false;
    }
    launch(r, "admit", 0);
    launch(r, "claim", 0);
    while (counts[TESS_GROUPS_BEGUN] > counts[TESS_GROUPS_BEGUN_DONE + r->rounds % 2]) {
        launch(r, "cover", r->rounds);
        launch(r, "release", r->rounds++);
        assert_true(r->rounds <= rows);
    }
    launch(r, "join", 0);
    while (counts[TESS_GROUPS_REST_DONE] < counts[TESS_GROUPS_REST]) {
        launch(r, "rest", 0);
        r->rest_rounds++;
        assert_true(r->rest_rounds <= rows);
    }
    launch(r, "settle", 0);
    sum(r->sums, 2 * rows);
    launch(r, "number", 0);
    sum(r->lengths, rows);
    launch(r, "list", 0);
    return true;
}

static int unlike_cases, alone_cases, rest_cases, waiting_cases, last_rounds;

static void check(tess_ctx *ctx, const graph *g, int domains, uint64_t seed)
{
    const int64_t rows = g->A->block_rows;
    const tess_amg_level level = {.A = g->A, .strength = g->strength};
    tess_aggregates want = {0};
    run r;
    int64_t listed = 0;
    test_ok(ctx, tess_amg_aggregate(ctx, &level, domains, &want));
    allocate(&r, g, domains, seed);
    assert_true(group(&r));
    const int32_t *of = r.narrow, *list = r.narrow + 6 * rows;
    for (int64_t i = 0; i < rows; i++) {
        if (of[i] != want.of[i])
            fail_msg("seed %d, %d rows, %d domains: row %d is in group %d, on the host in %d",
                     (int)seed, (int)rows, domains, (int)i, (int)of[i], (int)want.of[i]);
        if (of[i] >= 0)
            assert_int_equal(list[listed++], of[i]);
    }
    assert_int_equal(r.sums[2 * rows - 1], want.count);
    assert_int_equal(r.lengths[rows - 1], listed);
    unlike_cases += r.counts[TESS_GROUPS_UNLIKE] != 0;
    alone_cases += listed < rows;
    rest_cases += r.rest_rounds > 0;
    waiting_cases += r.rest_rounds > 1;
    last_rounds = r.rounds;
    free_run(&r);
    tess_aggregates_free(ctx, &want);
}

static void groups_are_the_hosts(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    /* 4 has no factor in common with the periods below: every kind is drawn with every other. */
    for (uint64_t seed = 1; seed <= 75; seed += test_slowed() ? 4 : 1) {
        const int64_t rows = draw(seed, 1, 1, seed % 7 == 0 ? 300 : 90);
        graph g = make_graph(ctx, (enum kind)(seed % KINDS), rows, seed % 3 == 0, seed);
        for (int domains = 1; domains <= tess_min(rows, 7); domains += 3)
            check(ctx, &g, domains, seed);
        free_graph(&g);
    }
    assert_true(unlike_cases > 0 && alone_cases > 0 && rest_cases > 0 && waiting_cases > 0);
}

/* With all strengths weak no row has a group, nor has the only row of a matrix. */
static void rows_that_couple_to_none_have_no_group(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    graph g = make_graph(ctx, MESH, 50, false, 3);
    memset(g.strength, 0, (size_t)g.A->blocks * sizeof *g.strength);
    check(ctx, &g, 2, 1);
    free_graph(&g);
}

/* Every third row begins a group, once the one before it has. */
static void a_chain_takes_a_round_a_group(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    graph g = make_graph(ctx, CHAIN, 300, false, 5);
    for (int64_t i = 0; i < g.A->block_rows; i++)
        for (int64_t k = g.A->row_offsets[i]; k < g.A->row_offsets[i + 1]; k++)
            g.strength[k] = g.A->columns[k] != i;
    check(ctx, &g, 1, 1);
    assert_int_equal(last_rounds, 100);
    check(ctx, &g, 4, 1);
    assert_int_equal(last_rounds, 25);
    free_graph(&g);
}

static void a_missing_mirrored_block_is_noticed(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    graph g = make_graph(ctx, CHAIN, 40, false, 5);
    run r;
    for (int64_t k = 0; k < g.A->blocks; k++)
        g.strength[k] = 1;
    g.A->columns[g.A->row_offsets[20]] = 7; /* where 19 was */
    allocate(&r, &g, 1, 9);
    assert_false(group(&r));
    assert_int_equal(r.counts[TESS_GROUPS_MISSING], 2); /* (20, 7) and (19, 20) */
    free_run(&r);
    free_graph(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_the_hosts),
        cmocka_unit_test(rows_that_couple_to_none_have_no_group),
        cmocka_unit_test(a_chain_takes_a_round_a_group),
        cmocka_unit_test(a_missing_mirrored_block_is_noticed),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
