/* tentative.cu in the emulator against the host's tentative prolongator: blocks, modes of the next
 * level and dead ones, for given modes, constants and rigid motions, for any order of threads. */
#include <math.h>
#include <string.h>

#include "cuda/solve/amg/tentative.h"
#include "emu/emulator.h"
#include "problems.h"

/* Groups of 1 to `most` block rows, in no order; about one row in 8 belongs to none. */
static tess_aggregates draw_groups(tess_ctx *ctx, int64_t rows, int64_t most, uint64_t seed)
{
    tess_aggregates groups = {.count = rows / most + 1};
    test_ok(ctx, TESS_ALLOC(ctx, rows, &groups.of));
    test_ok(ctx, TESS_CALLOC(ctx, groups.count + 1, &groups.offsets));
    test_ok(ctx, TESS_ALLOC(ctx, rows, &groups.members));
    for (int64_t i = 0; i < rows; i++) {
        const bool none = i >= groups.count && tess_random_below(seed, (uint64_t)i, 8) == 0;
        groups.of[i] = i < groups.count ? (int32_t)i
                       : none           ? -1
                              : (int32_t)tess_random_below(seed + 1, (uint64_t)i, groups.count);
    }
    int64_t at = 0;
    for (int64_t g = 0; g < groups.count; g++) {
        for (int64_t i = 0; i < rows; i++)
            if (groups.of[i] == g)
                groups.members[at++] = (int32_t)i;
        groups.offsets[g + 1] = at;
    }
    return groups;
}

typedef struct made {
    double *q, *coarse;
    unsigned char *dead;
} made;

static made launch(const tess_amg_level *level, const tess_mode_source *source, uint64_t seed)
{
    const tess_matrix *T = level->tentative;
    const tess_aggregates *groups = &level->aggregates;
    const size_t stored = (size_t)tess_matrix_stored(T),
                 coarse = (size_t)(T->cols * T->block_width);
    made m = {.q = malloc((stored + 1) * sizeof *m.q),
              .coarse = malloc(coarse * sizeof *m.coarse),
              .dead = malloc((size_t)T->cols)};
    for (size_t i = 0; i < stored; i++)
        m.q[i] = NAN;
    for (size_t i = 0; i < coarse; i++)
        m.coarse[i] = NAN;
    const tess_coarsen_matrix Q = {.offsets = emu_address(T->row_offsets),
                                   .columns = emu_address(T->columns),
                                   .values = emu_address(m.q),
                                   .block_rows = T->block_rows,
                                   .blocks = T->blocks,
                                   .height = T->block_height,
                                   .width = T->block_width};
    const tess_tentative_arrays arrays = {.offsets = emu_address(groups->offsets),
                                          .members = emu_address(groups->members),
                                          .given = emu_address(source->given),
                                          .coordinates = emu_address(source->coordinates),
                                          .coarse = emu_address(m.coarse),
                                          .dead = emu_address(m.dead),
                                          .groups = groups->count,
                                          .length = source->rows};
    tess_cuda_launch l;
    tess_tentative_launch(&Q, &arrays, source->centre, &l);
    const char *wrong = emu_launch("tentative_0", &l, seed);
    if (wrong)
        fail_msg("tentative: %s", wrong);
    return m;
}

static void drop(made *m)
{
    free(m->q), free(m->coarse), free(m->dead);
}

static void compare(const char *what, uint64_t seed, const double *want, const double *got,
                    int64_t count)
{
    double most = 1;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs(want[i]));
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-11 * most))
            fail_msg("seed %d: %s, scalar %lld: %.17g, the host has %.17g", (int)seed, what,
                     (long long)i, got[i], want[i]);
}

static int dead_cases;

static void check(tess_ctx *ctx, const tess_mode_source *source, int64_t most, uint64_t seed)
{
    tess_matrix A = {.rows = source->rows,
                     .block_rows = source->nodes,
                     .block_height = source->block,
                     .block_width = source->block};
    tess_amg_level level = {.A = &A,
                            .modes_length = source->nodes * source->block,
                            .aggregates = draw_groups(ctx, source->nodes, most, seed)};
    double *coarse;
    test_ok(ctx, tess_amg_make_modes(ctx, source, &level.modes));
    test_ok(ctx, tess_amg_tentative_pattern(ctx, source->count, &level));
    test_ok(ctx, tess_amg_tentative(ctx, &level, &coarse));
    const tess_matrix *Q = level.tentative;
    made once = launch(&level, source, seed), again = launch(&level, source, seed + 50);
    compare("Q", seed, Q->values, once.q, tess_matrix_stored(Q));
    compare("the next modes", seed, coarse, once.coarse, Q->cols * Q->block_width);
    uint32_t dead = 0;
    for (int64_t i = 0; i < Q->cols; i++) {
        assert_int_equal(once.dead[i], level.dead[i]);
        dead += level.dead[i];
    }
    dead_cases += dead > 0;
    assert_memory_equal(once.q, again.q, (size_t)tess_matrix_stored(Q) * sizeof(double));
    assert_memory_equal(once.coarse, again.coarse,
                        (size_t)(Q->cols * Q->block_width) * sizeof(double));
    drop(&once);
    drop(&again);
    tess_matrix_destroy(level.tentative);
    tess_aggregates_free(ctx, &level.aggregates);
    TESS_FREE(ctx, level.modes, level.dead, coarse);
}

/* Of every other seed the last mode is a copy of the first, and depends on it. */
static void given_modes_are_the_hosts(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 1; seed <= 16; seed++) {
        const int32_t b = 1 + (int32_t)tess_random_below(seed, 1, 9);
        const int32_t k = 1 + (int32_t)tess_random_below(seed, 2, seed == 7 ? 32 : 8);
        const int64_t nodes = 1 + tess_random_below(seed, 3, 60);
        const int64_t rows = nodes * b - (b > 1 ? (int64_t)(seed % 2) : 0);
        double *modes = test_vector(rows * k, TESS_F64, seed);
        if (k > 1 && seed % 2)
            memcpy(modes + (k - 1) * rows, modes, (size_t)rows * sizeof *modes);
        check(ctx,
              &(tess_mode_source){
                  .count = k, .block = b, .rows = rows, .nodes = nodes, .given = modes},
              1 + tess_random_below(seed, 4, 40), seed);
        free(modes);
    }
    assert_true(dead_cases > 0);
}

/* Groups of one or two nodes do not have all rigid motions. */
static void constants_and_rigid_motions_are_the_hosts(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    dead_cases = 0;
    for (uint64_t seed = 1; seed <= 16; seed++) {
        const bool rigid = seed % 2;
        const int32_t b =
            rigid ? 2 + (int32_t)(seed / 2 % 2) : 1 + (int32_t)tess_random_below(seed, 1, 6);
        const int64_t nodes = 1 + tess_random_below(seed, 3, 70);
        double *coordinates = test_vector(nodes * b, TESS_F64, seed);
        check(ctx,
              &(tess_mode_source){.count = rigid ? b * (b + 1) / 2 : b,
                                  .block = b,
                                  .rows = nodes * b,
                                  .nodes = nodes,
                                  .coordinates = rigid ? coordinates : NULL,
                                  .centre = {0.3, -0.2, 0.1}},
              seed % 3 ? 1 + tess_random_below(seed, 4, 30) : 2, seed);
        free(coordinates);
    }
    assert_true(dead_cases > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(given_modes_are_the_hosts),
                                       cmocka_unit_test(constants_and_rigid_motions_are_the_hosts)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
