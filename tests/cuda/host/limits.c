/* Launches against what a device takes: shared memory, threads, thread blocks. */
#include "cuda/kernels/support.h"
#include "cuda/plan/plan.h"
#include "session.h"

/* The variant of a kernel for A, with its layout and code but nothing on the device yet. */
static void make_variant(void **state, tess_cuda *cuda, const tess_matrix *A, const char *kernel,
                         tess_cuda_variant *variant, tess_cuda_resident *resident)
{
    char name[TESS_CUDA_LAYOUT];
    *variant = (tess_cuda_variant){.kernel = tess_cuda_kernel_find(kernel), .resident = resident};
    *resident = (tess_cuda_resident){.matrix = A};
    tess_cuda_describe_problem(cuda, A, &variant->problem);
    variant->kernel->guess(&variant->problem, variant->params);
    variant->kernel->layout_name(&variant->problem, variant->params, name, sizeof name);
    ok(state, tess_cuda_layout_create(test_ctx(state), A, name, &resident->layout));
}

static int shared_limit(tess_cuda *cuda, cu_function function)
{
    int bytes = 0;
    assert_int_equal(
        cuda->driver.cuFuncGetAttribute(&bytes, CU_FUNCTION_MAX_DYNAMIC_SHARED, function), 0);
    return bytes;
}

/* A fresh kernel runs on a probe between the moment a plan takes its functions and its first
 * product. The probe needs less shared memory than the plan's matrix. */
static void a_small_matrix_leaves_a_function_its_shared_memory(void **state)
{
    tess_device *device = open_device(state);
    tess_cuda *cuda = tess_cuda_of(device);
    tess_matrix *large = test_matrix(test_ctx(state), TEST_ONE_COLUMN, 20000, 2, 2, TESS_F64, 1);
    tess_matrix *small = test_matrix(test_ctx(state), TEST_BANDED, 20, 2, 2, TESS_F64, 1);
    tess_cuda_variant variant, probe;
    tess_cuda_resident resident, probed;
    tess_jit_cubin code;
    make_variant(state, cuda, large, "swept", &variant, &resident);
    make_variant(state, cuda, small, "swept", &probe, &probed);
    ok(state, tess_cuda_enter(cuda));
    ok(state, tess_cuda_variant_load(cuda, &variant, &code));
    probe.module = variant.module;

    ok(state, tess_cuda_variant_functions(cuda, &variant));
    const int needed = shared_limit(cuda, variant.function[0]);
    assert_true(needed > 64 << 10);
    ok(state, tess_cuda_variant_functions(cuda, &probe));
    assert_ptr_equal(probe.function[0], variant.function[0]);
    assert_int_equal(shared_limit(cuda, variant.function[0]), needed);

    tess_cuda_variant_unload(cuda, &variant);
    tess_cuda_leave(cuda);
    tess_free(test_ctx(state), code.entry.code);
    tess_cuda_layout_destroy(resident.layout);
    tess_cuda_layout_destroy(probed.layout);
    tess_matrix_destroy(large);
    tess_matrix_destroy(small);
    tess_device_close(device);
}

static void what_no_device_takes_is_refused_before_the_driver_is_asked(void **state)
{
    static const struct {
        int64_t grid;
        unsigned y, threads, shared;
        const char *says;
    } cases[] = {
        {1, 1, 2048, 0, "2048 threads per thread block; at most 1024"},
        {(int64_t)INT32_MAX + 1, 1, 32, 0, "2147483648 thread blocks along x; at most 2147483647"},
        {(int64_t)1 << 40, 1, 32, 0, "thread blocks along x"},
        {1, 65536, 32, 0, "65536 thread blocks along y; at most 65535"},
        {1, 1, 32, 1 << 20, "1048576 bytes of shared memory a thread block; at most 232448"},
    };
    tess_device *device = open_device(state);
    tess_cuda *cuda = tess_cuda_of(device);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_cuda_launch launch;
        const int64_t before = fake->calls;
        tess_cuda_launch_start(&launch, "gate", cases[i].grid, (int)cases[i].threads);
        launch.grid[1] = cases[i].y;
        launch.shared = cases[i].shared;
        assert_int_equal(tess_cuda_launch_one(cuda, NULL, &launch, NULL), TESS_ERR_DEVICE);
        assert_text(state, cases[i].says);
        assert_int_equal(fake->calls, before);
    }
    tess_device_close(device);
}

static bool guess_fits(const char *kernel, const tess_cuda_problem *problem)
{
    int params[TESS_CUDA_PARAMS];
    const tess_cuda_kernel *k = tess_cuda_kernel_find(kernel);
    k->guess(problem, params);
    return tess_cuda_fits(k, problem, params);
}

/* Kernels count block rows, segments and the blocks of a row in 32 bits, and look beyond the last
 * one. */
static void what_kernels_cannot_count_is_refused(void **state)
{
    static const struct {
        const char *kernel;
        int64_t block_rows, blocks, longest_row;
        bool fits;
    } cases[] = {
        {"sliced", 1000, 100000, TESS_CUDA_MOST, true},
        {"sliced", 1000, 100000, TESS_CUDA_MOST + 1, false},
        {"multi_row", 1000, (int64_t)4 << 30, INT32_MAX, false},
        {"sliced", TESS_CUDA_MOST / 96 * 32, 1000, 10, true},
        {"sliced", TESS_CUDA_MOST / 96 * 32 + 1, 1000, 10, false},
        {"by_block", TESS_CUDA_MOST / 96 * 32 + 1, 1000, 10, true},
        {"by_block", INT32_MAX, 1000, 10, true},
        {"by_block", (int64_t)INT32_MAX + 1, 1000, 10, false},
        {"by_block_balanced", TESS_CUDA_MOST - 100, 100 * 8, 20, true},
        {"by_block_balanced", TESS_CUDA_MOST, 100 * 8, 20, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tess_cuda_problem problem = {.block_height = 3,
                                           .block_width = 3,
                                           .rows = 3 * cases[i].block_rows,
                                           .cols = 3000,
                                           .block_rows = cases[i].block_rows,
                                           .blocks = cases[i].blocks,
                                           .longest_row = cases[i].longest_row,
                                           .arch = 90,
                                           .multiprocessors = 132,
                                           .shared_limit = FAKE_SHARED_OPTIN,
                                           .vectors = 1};
        if (guess_fits(cases[i].kernel, &problem) != cases[i].fits)
            fail_msg("case %d, %s", (int)i, cases[i].kernel);
    }
    tess_cuda_layout *layout;
    const tess_matrix rows = {.block_rows = (int64_t)TESS_CUDA_MOST + 1};
    assert_int_equal(tess_cuda_layout_create(test_ctx(state), &rows, "stream:tile=64", &layout),
                     TESS_ERR_OVERFLOW);
    assert_text(state, "2147479552 block rows do not fit");
}

/* Where sliced storage cannot count the rows, a kernel is found that can. */
static void more_rows_than_sliced_takes_have_a_kernel(void **state)
{
    const tess_cuda_problem problem = {.block_height = 3,
                                       .block_width = 3,
                                       .rows = 3000000000,
                                       .cols = 3000000000,
                                       .block_rows = 1000000000,
                                       .blocks = 1000000000,
                                       .longest_row = 1,
                                       .arch = 90,
                                       .multiprocessors = 132,
                                       .shared_limit = FAKE_SHARED_OPTIN,
                                       .vectors = 1};
    const tess_plan_options automatic = {0};
    const tess_cuda_kernel *kernel;
    int params[TESS_CUDA_PARAMS];
    ok(state,
       tess_cuda_choose(test_ctx(state), &problem, TESS_CUDA_SPMV, &automatic, 0, &kernel, params));
    print_message("%s\n", kernel->name);
    assert_string_not_equal(kernel->format, "sliced");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_small_matrix_leaves_a_function_its_shared_memory),
        TEST(what_no_device_takes_is_refused_before_the_driver_is_asked),
        TEST(what_kernels_cannot_count_is_refused),
        TEST(more_rows_than_sliced_takes_have_a_kernel),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
