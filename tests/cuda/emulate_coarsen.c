/* coarsen.cu in the emulator against the host's set-up of a multigrid level: P, A P, R and the
 * coarse matrix, for any order of threads. */
#include <math.h>
#include <string.h>

#include "coarsen_shapes.h"
#include "emu/emulator.h"
#include "matrix/multiply/multiply.h"
#include "problems.h"
#include "solve/pc/amg/amg.h"

/* A level and what the host computes for it. */
typedef struct bench {
    tess_amg_level level;
    tess_matrix *coarse;
    double *coarse_modes;
} bench;

/* Modes at random; the last is 0 on every third group's rows or so, and a copy of the first where
 * the seed is odd: rows of the coarse matrix are then dead. */
static double *make_modes(const tess_matrix *A, int32_t k, uint64_t seed)
{
    const int64_t length = A->block_rows * A->block_height;
    double *modes = test_vector(length * k, TESS_F64, seed);
    if (k > 1 && seed % 2)
        memcpy(modes + (k - 1) * length, modes, (size_t)length * sizeof *modes);
    for (int64_t i = 0; k > 1 && i < length / 3; i++)
        modes[(k - 1) * length + i] = 0;
    return modes;
}

/* Makes chains of 2 to 5 nodes that are not connected with each other, with couplings of five
 * sizes. The rows of each chain add up to 0. */
static tess_matrix *make_chains(tess_ctx *ctx, int32_t b)
{
    enum { CHAINS = 12, LONGEST = 5, MOST = 3 * CHAINS * LONGEST * 16 };
    int64_t rows[MOST], cols[MOST], count = 0, first = 0;
    double values[MOST];
    for (int chain = 0; chain < CHAINS; chain++) {
        const int length = 2 + chain % (LONGEST - 1);
        for (int i = 0; i + 1 < length; i++)
            for (int64_t c = 0; c < 4 * b; c++) {
                const int64_t from = i + c / b % 2, to = i + c / b / 2;
                rows[count] = (first + from) * b + c % b;
                cols[count] = (first + to) * b + c % b;
                values[count++] = (from == to ? 1 : -1) * (0.1 + 1.3 * ((chain + 3 * i) % 5));
            }
        first += length;
    }
    return problem_from_entries(ctx, first * b, count, rows, cols, TESS_F64, values, b, TESS_F64);
}

/* Modes that make_chains' matrix maps to 0: scalars that are the same on all nodes. */
static double *make_constants(const tess_matrix *A, int32_t k, uint64_t seed)
{
    const int64_t length = A->block_rows * A->block_height;
    double *modes = test_vector(length * k, TESS_F64, seed);
    for (int64_t i = 0; i < length * k; i++)
        modes[i] = modes[i / length * length + i % length % A->block_height];
    return modes;
}

static bench make(tess_ctx *ctx, tess_matrix *A, double *modes, int32_t k, double threshold)
{
    const int32_t b = A->block_height;
    bench s = {0};
    tess_amg_level *level = &s.level;
    level->A = A;
    level->modes = modes;
    level->modes_length = level->A->block_rows * b;
    level->largest = 1.7;
    test_ok(ctx, tess_amg_invert_diagonal(ctx, level));
    test_ok(ctx, tess_amg_strength(ctx, threshold, level));
    test_ok(ctx, tess_amg_aggregate(ctx, level, 1, &level->aggregates));
    assert_true(level->aggregates.count > 0);
    test_ok(ctx, tess_amg_tentative_pattern(ctx, k, level));
    test_ok(ctx, tess_amg_tentative(ctx, level, &s.coarse_modes));
    if (!level->all_strong) {
        test_ok(ctx, tess_amg_filter(ctx, level));
        tess_amg_filter_values(ctx, level);
    }
    test_ok(ctx, tess_multiply_pattern(ctx, level->filtered ? level->filtered : level->A,
                                       level->tentative, &level->P));
    test_ok(ctx, tess_multiply_pattern(ctx, level->A, level->P, &level->AP));
    test_ok(ctx, tess_amg_restrict(ctx, level));
    test_ok(ctx, tess_multiply_pattern(ctx, level->R, level->AP, &s.coarse));
    return s;
}

static void drop(tess_ctx *ctx, bench *s)
{
    tess_amg_level *level = &s->level;
    tess_matrix *const all[] = {level->A,  level->tentative, level->filtered, level->P,
                                level->AP, level->R,         s->coarse};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tess_matrix_destroy(all[i]);
    tess_aggregates_free(ctx, &level->aggregates);
    free(level->modes);
    TESS_FREE(ctx, level->inverse, level->strength, level->dead, level->R_from, s->coarse_modes);
}

/* The matrix on the "device"; `values` NULL: its own. */
static tess_coarsen_matrix view(const tess_matrix *M, const double *values)
{
    return (tess_coarsen_matrix){.offsets = emu_address(M->row_offsets),
                                 .columns = emu_address(M->columns),
                                 .values = emu_address(values ? values : M->values),
                                 .block_rows = M->block_rows,
                                 .blocks = M->blocks,
                                 .longest = tess_matrix_longest_row(M),
                                 .height = M->block_height,
                                 .width = M->block_width};
}

static void launch(const test_coarsen_shape *shape, const char *module, tess_cuda_launch *l,
                   uint64_t seed)
{
    char name[64];
    snprintf(name, sizeof name, "coarsen_%d_%d_%s", (int)shape->block, (int)shape->modes, module);
    const char *wrong = emu_launch(name, l, seed);
    if (wrong)
        fail_msg("%s, %s: %s", name, l->entry, wrong);
}

static double *room_for(const tess_matrix *M)
{
    double *values = malloc((size_t)tess_matrix_stored(M) * sizeof *values);
    for (int64_t i = 0; i < tess_matrix_stored(M); i++)
        values[i] = NAN;
    return values;
}

static void compare(const test_coarsen_shape *shape, const char *what, const tess_matrix *want,
                    const double *got)
{
    double most = 0;
    for (int64_t i = 0; i < tess_matrix_stored(want); i++)
        most = fmax(most, fabs(((const double *)want->values)[i]));
    for (int64_t i = 0; i < tess_matrix_stored(want); i++) {
        const double expected = ((const double *)want->values)[i];
        if (!(fabs(got[i] - expected) <= 1e-13 * most))
            fail_msg("b=%d, k=%d: %s, scalar %lld: %.17g, the host has %.17g", (int)shape->block,
                     (int)shape->modes, what, (long long)i, got[i], expected);
    }
}

/* The values that a set-up's launches leave on the device. */
typedef struct numbers {
    double *F, *P, *AP, *R, *coarse;
} numbers;

static numbers compute(const test_coarsen_shape *shape, const bench *s, uint64_t seed)
{
    const tess_amg_level *level = &s->level;
    numbers n = {room_for(level->filtered ? level->filtered : level->A), room_for(level->P),
                 room_for(level->AP), room_for(level->R), room_for(s->coarse)};
    const tess_coarsen_matrix A = view(level->A, NULL), Q = view(level->tentative, NULL);
    const tess_coarsen_matrix F =
        level->filtered ? view(level->filtered, n.F) : view(level->A, NULL);
    const tess_coarsen_matrix P = view(level->P, n.P), AP = view(level->AP, n.AP);
    const tess_coarsen_matrix R = view(level->R, n.R), C = view(s->coarse, n.coarse);
    tess_cuda_launch l;
    if (level->filtered) {
        const uint64_t modes = shape->block == 1 ? emu_address(level->modes) : 0;
        tess_coarsen_filter(&A, &F, modes, &l);
        launch(shape, "fine", &l, seed + 6);
    }
    tess_coarsen_multiply(&F, &Q, &P, &l);
    launch(shape, "fine", &l, seed);
    tess_coarsen_smooth(&P, &Q, emu_address(level->inverse), tess_amg_omega(level), &l);
    launch(shape, "fine", &l, seed + 1);
    tess_coarsen_multiply(&A, &P, &AP, &l);
    launch(shape, "fine", &l, seed + 2);
    tess_coarsen_turn(&P, emu_address(level->R_from), R.values, &l);
    launch(shape, "fine", &l, seed + 3);
    tess_coarsen_multiply(&R, &AP, &C, &l);
    launch(shape, "cross", &l, seed + 4);
    tess_coarsen_revive(&C, emu_address(level->dead), &R, &Q, &A, &l);
    launch(shape, "cross", &l, seed + 5);
    return n;
}

static void release(numbers *n)
{
    free(n->F), free(n->P), free(n->AP), free(n->R), free(n->coarse);
}

/* The numbers of cases with weak blocks, with dead rows, with rows of rounding errors and with long
 * rows: none may be 0. */
static int filtered, dead, rounding, lengthy;

/* Counts the rows of the coarse matrix that are alone in a block of their own and not dead, and
 * whose diagonal is that of rounding errors. */
static int count_rounding(const bench *s)
{
    const tess_matrix *C = s->coarse;
    int count = 0;
    for (int64_t row = 0; row < C->block_rows; row++)
        for (int32_t j = 0; j < C->block_height; j++)
            count +=
                C->row_offsets[row + 1] - C->row_offsets[row] == 1 &&
                !s->level.dead[row * C->block_height + j] &&
                fabs(((const double *)
                          C->values)[(C->row_offsets[row] * C->block_height + j) * C->block_height +
                                     j]) < 1e-12;
    return count;
}

static void check(tess_ctx *ctx, const test_coarsen_shape *shape, tess_matrix *A, double *modes,
                  double threshold, uint64_t seed)
{
    bench s = make(ctx, A, modes, shape->modes, threshold);
    const size_t most = (size_t)tess_matrix_stored(s.coarse) * sizeof(double);
    numbers all = compute(shape, &s, seed), again = compute(shape, &s, seed + 99);
    tess_amg_level *level = &s.level;
    filtered += level->filtered != NULL;
    lengthy += tess_matrix_longest_row(s.coarse) > TESS_COARSEN_COLUMNS &&
               tess_matrix_longest_row(level->AP) > TESS_COARSEN_COLUMNS;
    dead += memchr(level->dead, 1, (size_t)s.coarse->rows) != NULL;
    test_ok(ctx, tess_amg_prolong(ctx, level));
    test_ok(ctx, tess_multiply_values(ctx, level->A, level->P, level->AP));
    tess_amg_restrict_values(ctx, level);
    test_ok(ctx, tess_multiply_values(ctx, level->R, level->AP, s.coarse));
    rounding += count_rounding(&s);
    tess_amg_revive(ctx, level, s.coarse);
    if (level->filtered)
        compare(shape, "A without weak blocks", level->filtered, all.F);
    compare(shape, "P", level->P, all.P);
    compare(shape, "A P", level->AP, all.AP);
    compare(shape, "R", level->R, all.R);
    compare(shape, "R A P", s.coarse, all.coarse);
    assert_memory_equal(all.AP, again.AP, (size_t)tess_matrix_stored(level->AP) * sizeof(double));
    assert_memory_equal(all.coarse, again.coarse, most);
    release(&all);
    release(&again);
    drop(ctx, &s);
}

static void levels_are_those_of_the_host(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int i = 0; i < test_coarsen_count; i++) {
        char name[64];
        snprintf(name, sizeof name, "coarsen_%d_%d_fine", (int)test_coarsen[i].block,
                 (int)test_coarsen[i].modes);
        if (!emu_has(name))
            continue;
        tess_matrix *A;
        const int32_t b = test_coarsen[i].block, k = test_coarsen[i].modes;
        for (uint64_t seed = 1; seed <= 3; seed++) {
            A = problem_matrix(ctx, 5 + tess_random_below(seed, (uint64_t)i, 25), b, true, TESS_F64,
                               seed);
            check(ctx, &test_coarsen[i], A, make_modes(A, k, seed), seed == 2 ? 0.9 : 0, seed);
        }
        A = make_chains(ctx, b);
        check(ctx, &test_coarsen[i], A, make_constants(A, k, 5), 0, 5);
    }
    tess_matrix *A;
    test_ok(ctx, tess_matrix_generate(ctx, "elasticity:n=9", &A, NULL));
    check(ctx, &test_coarsen[0], A, make_modes(A, test_coarsen[0].modes, 4), 0, 4);
    assert_true(filtered > 0 && dead > 0 && rounding > 0 && lengthy > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(levels_are_those_of_the_host)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
