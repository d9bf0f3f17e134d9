/* shuffle.cu in the emulator against plain loops: sizes drawn at random, every bit the same. Copies
 * of it with one fault each, made by the build, must fail. */
#include <string.h>

#include "cuda/kernels/support.h"
#include "emu/emulator.h"
#include "support/support.h"

enum { THREADS = 64, SEEDS = 30 };

static void start(tess_cuda_launch *launch, const char *entry, int64_t count)
{
    tess_cuda_launch_start(launch, entry, tess_max(1, tess_ceil_div(count, THREADS)), THREADS);
}

/* Whether the launch ran, and gave what is wanted. */
static bool gives(const char *variant, const tess_cuda_launch *launch, uint64_t seed,
                  const void *got, const void *want, size_t bytes)
{
    const char *wrong = emu_launch(variant, launch, seed);
    if (wrong)
        print_message("%s of %s, seed %d: %s\n", launch->entry, variant, (int)seed, wrong);
    return !wrong && memcmp(got, want, bytes) == 0;
}

/* ---- Rows from one layout to another ---- */

/* Of rows or of columns, with gaps. */
static void draw_steps(uint64_t seed, uint64_t at, int64_t rows, int64_t vectors, int64_t steps[2])
{
    const bool by_rows = tess_random_below(seed, at, 2) > 0;
    const int64_t gap = tess_random_below(seed, at + 1, 3);
    steps[0] = by_rows ? vectors + gap : 1;
    steps[1] = by_rows ? 1 : rows + gap;
}

static bool puts_rows(const char *variant, tess_type type, uint64_t seed)
{
    const int64_t rows = tess_random_below(seed, 0, 200),
                  vectors = 1 + tess_random_below(seed, 1, 4), room = (rows + 3) * (vectors + 3);
    const double beta = seed % 3 == 0 ? 0 : -0.5;
    int64_t from_steps[2], to_steps[2];
    draw_steps(seed, 2, rows, vectors, from_steps);
    draw_steps(seed, 4, rows, vectors, to_steps);
    /* A copy that takes the wrong steps still reads what is there. */
    void *from = test_vector(2 * room, type, seed + 1), *to = test_vector(room, type, seed + 2),
         *want = test_vector(room, type, seed + 2);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t v = 0; v < vectors; v++) {
            const int64_t at = i * to_steps[0] + v * to_steps[1];
            const double kept = beta != 0 ? beta * tess_get(want, type, at) : 0;
            tess_put(want, type, at,
                     kept + tess_get(from, type, i * from_steps[0] + v * from_steps[1]));
        }
    tess_cuda_launch launch;
    start(&launch, "put_rows", rows * vectors);
    TESS_CUDA_POINTERS(&launch, emu_address(from), emu_address(to));
    TESS_CUDA_INTEGERS(&launch, rows * vectors, vectors, from_steps[0], from_steps[1], to_steps[0],
                       to_steps[1]);
    TESS_CUDA_NUMBERS(&launch, beta);
    const bool right = gives(variant, &launch, seed, to, want, (size_t)room * tess_type_size(type));
    free(from), free(to), free(want);
    return right;
}

/* ---- Results ---- */

/* Rows cut into some segments each, whose results lie in any order. */
typedef struct cut {
    int64_t rows, count, width;
    int64_t *firsts, *place;
} cut;

static cut draw_cut(uint64_t seed)
{
    cut c = {.rows = 1 + tess_random_below(seed, 0, 60),
             .width = 1 + tess_random_below(seed, 1, 9)};
    c.firsts = malloc((size_t)(c.rows + 1) * sizeof *c.firsts);
    c.firsts[0] = 0;
    for (int64_t i = 0; i < c.rows; i++)
        c.firsts[i + 1] =
            c.firsts[i] + 1 + tess_random_below(seed, (uint64_t)(10 + i), i % 7 ? 4 : 30);
    c.count = c.firsts[c.rows];
    c.place = malloc((size_t)c.count * sizeof *c.place);
    for (int64_t i = 0; i < c.count; i++)
        c.place[i] = i;
    for (int64_t i = c.count - 1; i > 0; i--) {
        const int64_t j = tess_random_below(seed, (uint64_t)(1000 + i), i + 1), kept = c.place[i];
        c.place[i] = c.place[j];
        c.place[j] = kept;
    }
    return c;
}

static bool puts_results_in_order(const char *variant, tess_type type, uint64_t seed)
{
    cut c = draw_cut(seed);
    const int64_t count = c.count * c.width;
    void *results = test_vector(count, type, seed + 1), *ordered = test_vector(count, type, 2),
         *want = test_vector(count, type, 3);
    for (int64_t i = 0; i < count; i++)
        tess_copy_scalar(type, want, i, results, c.place[i / c.width] * c.width + i % c.width);
    tess_cuda_launch launch;
    start(&launch, "shuffle_rows", count);
    TESS_CUDA_POINTERS(&launch, emu_address(c.place), emu_address(results), emu_address(ordered));
    TESS_CUDA_INTEGERS(&launch, count, c.width);
    const bool right =
        gives(variant, &launch, seed, ordered, want, (size_t)count * tess_type_size(type));
    free(results), free(ordered), free(want), free(c.firsts), free(c.place);
    return right;
}

/* Bits depend on the order of additions. */
static bool adds_segments(const char *variant, tess_type type, uint64_t seed)
{
    cut c = draw_cut(seed);
    const int64_t count = c.rows * c.width;
    void *ordered = test_vector(c.count * c.width, type, seed + 1),
         *y = test_vector(count, type, 2), *want = test_vector(count, type, 3);
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = i / c.width, v = i % c.width;
        tess_copy_scalar(type, want, i, ordered, c.firsts[row] * c.width + v);
        for (int64_t k = c.firsts[row] + 1; k < c.firsts[row + 1]; k++)
            tess_put(want, type, i,
                     tess_get(want, type, i) + tess_get(ordered, type, k * c.width + v));
    }
    tess_cuda_launch launch;
    start(&launch, "add_segments", count);
    TESS_CUDA_POINTERS(&launch, emu_address(c.firsts), emu_address(ordered), emu_address(y));
    TESS_CUDA_INTEGERS(&launch, count, c.width);
    const bool right = gives(variant, &launch, seed, y, want, (size_t)count * tess_type_size(type));
    free(ordered), free(y), free(want), free(c.firsts), free(c.place);
    return right;
}

/* ---- The kernels, and copies with a fault ---- */

typedef bool (*check)(const char *variant, tess_type type, uint64_t seed);

static const struct mutant {
    const char *name;
    check check; /* which must fail */
} mutants[] = {
    {"shuffle_no_beta", puts_rows},
    {"shuffle_other_steps", puts_rows},
    {"shuffle_as_they_came", puts_results_in_order},
    {"shuffle_last_missing", adds_segments},
    {"shuffle_backwards", adds_segments},
};

static int wrong_seeds(check of, const char *variant, tess_type type)
{
    int wrong = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        wrong += !of(variant, type, seed);
    return wrong;
}

static void kernels_do_as_plain_loops_do(void **state)
{
    static const check all[] = {puts_rows, puts_results_in_order, adds_segments};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_int_equal(wrong_seeds(all[i], "shuffle_0", TESS_F64), 0);
        assert_int_equal(wrong_seeds(all[i], "shuffle_1", TESS_F32), 0);
    }
}

static void faults_are_caught(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++)
        if (wrong_seeds(mutants[i].check, mutants[i].name, TESS_F64) == 0)
            fail_msg("%s passes", mutants[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_do_as_plain_loops_do),
        cmocka_unit_test(faults_are_caught),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
