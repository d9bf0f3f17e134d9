/* Every kernel variant in the emulator, on awkward matrices, against ref: any thread order gives
 * the same bits, y is not read when beta = 0, and nothing outside the arrays is touched. */
#include <string.h>
#include <sys/mman.h>

#include "cuda/plan/map.h"
#include "emu/emulator.h"
#include "product.h"
#include "support/support.h"

enum { MOST = 1024 };

static const char *only; /* one kernel's name; NULL: all */

static void every_variant_agrees_with_ref(void **state)
{
    static test_variant variants[MOST];
    int total = 0, ran = 0;
    for (int k = 0; k < tess_cuda_kernel_count; k++) {
        int count = test_variants(tess_cuda_kernels[k], variants, MOST);
        assert_in_range(count, 1, MOST);
        int mine = 0;
        if (only && strcmp(tess_cuda_kernels[k]->name, only) != 0)
            continue;
        for (int i = 0; i < count; i++) {
            if (!emu_has(variants[i].name))
                continue;
            test_product(test_ctx(state), &variants[i], (uint64_t)(100 * k + i), test_few());
            mine++;
        }
        print_message("%-24s %d of %d variants\n", tess_cuda_kernels[k]->name, mine, count);
        assert_true(mine > 0);
        total += count;
        ran += mine;
    }
    assert_true(ran >= total / EMU_STEP);
}

/* One in four variants of every kernel. */
static void columns_of_a_long_x_are_found(void **state)
{
    static test_variant variants[MOST];
    int ran = 0;
    for (int k = 0; k < tess_cuda_kernel_count; k++) {
        const int count = test_variants(tess_cuda_kernels[k], variants, MOST);
        for (int i = k % 4; i < count; i += 4)
            if (emu_has(variants[i].name))
                ran += test_far_product(test_ctx(state), &variants[i], (uint64_t)(100 * k + i));
    }
    print_message("%d variants\n", ran);
    if (ran == 0)
        skip();
}

static const char *run_update(const char *variant, void *values, const void *map, const void *given,
                              int64_t count, const tess_cuda_map *m)
{
    tess_cuda_launch launch = {.entry = "update",
                               .grid = {(unsigned)tess_ceil_div(count, 32 * 8), 1, 1},
                               .block = {32, 1, 1},
                               .slots = 9};
    const int64_t numbers[] = {count, m->run, m->shift, m->inner_stride, m->outer_stride};
    launch.args[0].pointer = emu_address(values);
    launch.args[1].pointer = emu_address(map);
    launch.args[2].pointer = emu_address(given);
    for (int i = 0; i < 5; i++)
        launch.args[3 + i].integer = numbers[i];
    launch.args[8].pointer = UINT64_MAX / (uint64_t)m->run + 1;
    return emu_launch(variant, &launch, 3);
}

/* update.cu: runs of 2^shift columns of `height` scalars, some of them padding; with run 1 any
 * order. */
static void check_update(int which, int height, int shift, int64_t runs)
{
    static const char *const names[] = {"update_0", "update_1", "update_2"};
    static const tess_type types[] = {TESS_F64, TESS_F32, TESS_C64};
    int inner = 1 << shift, run = inner * height, index = which == 1 ? 8 : 4;
    int64_t count = runs * run;
    tess_type type = types[which];
    void *given = test_vector(count, type, 1), *values = test_vector(count, type, 2);
    uint64_t *map = calloc((size_t)runs + 1, sizeof *map);
    for (int64_t i = 0; i < runs; i++) {
        uint64_t number = i % 5 == 4 ? 0 : (uint64_t)((i * 7 + 3) % runs * run) + 1;
        if (index == 8)
            map[i] = number;
        else
            ((uint32_t *)map)[i] = (uint32_t)number;
    }
    const tess_cuda_map m = {.run = run, .shift = shift, .inner_stride = height, .outer_stride = 1};
    const char *wrong = run_update(names[which], values, map, given, count, &m);
    if (wrong)
        fail_msg("update, runs of %d: %s", run, wrong);
    for (int64_t i = 0; i < count; i++) {
        int64_t r = i / run, q = i % run;
        int64_t from = (r * 7 + 3) % runs * run + q / inner + q % inner * height;
        tess_complex want = {0, 0}, got = tess_get_complex(values, type, i);
        if (r % 5 != 4)
            want = tess_get_complex(given, type, from);
        if (got.re != want.re || got.im != want.im)
            fail_msg("update, runs of %d, columns of %d: element %lld", run, height, (long long)i);
    }
    free(given), free(values), free(map);
}

static void new_values_arrive_in_runs(void **state)
{
    (void)state;
    for (int height = 1; height <= 35; height += height < 5 ? 1 : 15)
        for (int shift = 0; shift < 3; shift++)
            for (int which = 0; which < 3; which++)
                check_update(which, height, shift, 1 + 700 / (height << shift));
}

/* Four rows of 800 million scalars side by side: their scalars are further apart than 32 bits
 * count. Of the given values only those that are asked for have memory. */
static void new_values_of_long_rows_arrive(void **state)
{
    enum { ROWS = 4, COLUMNS = 2, COUNT = ROWS * COLUMNS };
    const int64_t length = 800000000;
    const size_t bytes = (size_t)(ROWS * length) * sizeof(double);
    double values[COUNT], *given = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint64_t numbers[COUNT];
    uint32_t map[COUNT];
    if (given == MAP_FAILED)
        skip();
    for (int64_t i = 0; i < COUNT; i++) {
        numbers[i] = (uint64_t)(i % ROWS * length + i / ROWS) + 1;
        given[numbers[i] - 1] = (double)i;
    }
    const tess_cuda_map m = tess_cuda_runs_of(test_ctx(state), numbers, sizeof *numbers, COUNT, 1);
    for (int64_t i = 0; i < COUNT / m.run; i++)
        map[i] = (uint32_t)numbers[i * m.run];
    const char *wrong = run_update("update_0", values, map, given, COUNT, &m);
    if (wrong)
        fail_msg("update, runs of %d: %s", (int)m.run, wrong);
    for (int i = 0; i < COUNT; i++)
        assert_true(values[i] == i);
    munmap(given, bytes);
}

/* convert.cu: rounded to f32, and added to f64. */
static void precisions_are_converted(void **state)
{
    (void)state;
    enum { N = 200 };
    static const char *const names[] = {"convert_0", "convert_1"};
    for (int add = 0; add < 2; add++) {
        const tess_type from_type = add ? TESS_F32 : TESS_F64, to_type = add ? TESS_F64 : TESS_F32;
        void *from = test_vector(N, from_type, 1), *to = test_vector(N, to_type, 2);
        void *before = test_vector(N, to_type, 2);
        tess_cuda_launch launch = {
            .entry = "convert", .grid = {4, 1, 1}, .block = {64, 1, 1}, .slots = 4};
        launch.args[0].pointer = emu_address(from);
        launch.args[1].pointer = emu_address(to);
        launch.args[2].integer = N - 1;
        launch.args[3].number = 3.25;
        const char *wrong = emu_launch(names[add], &launch, 3);
        if (wrong)
            fail_msg("%s: %s", names[add], wrong);
        for (int64_t i = 0; i < N; i++) {
            double want =
                (add ? tess_get(before, to_type, i) : 0) + 3.25 * tess_get(from, from_type, i);
            if (i == N - 1)
                want = tess_get(before, to_type, i); /* behind the end */
            if (tess_get(to, to_type, i) != (add ? want : (double)(float)want))
                fail_msg("%s: element %lld", names[add], (long long)i);
        }
        free(from), free(to), free(before);
    }
}

int main(int argc, char **argv)
{
    only = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_values_arrive_in_runs),
        cmocka_unit_test(new_values_of_long_rows_arrive),
        cmocka_unit_test(precisions_are_converted),
        cmocka_unit_test(columns_of_a_long_x_are_found),
        cmocka_unit_test(every_variant_agrees_with_ref),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
