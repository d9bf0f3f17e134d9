/* The fake driver refuses what a real one refuses: launches beyond a function's or the device's
 * limits, copies beyond an allocation, handles that are not alive. The kernel is the test's own. */
#include "cuda/driver/loader.h"
#include "session.h"

static const char source[] = "#define REAL 8\n"
                             "typedef double real;\n"
                             "typedef double held;\n"
                             "#include \"emulate.h\"\n"
                             "typedef struct { double *y; long long count; } number_args;\n"
                             "KERNEL(number, number_args, 64, 1)\n"
                             "{\n"
                             "    SHARED(double, kept, 256);\n"
                             "    DYNAMIC_SHARED(more);\n"
                             "    const long long i = blockIdx.x * 64LL + threadIdx.x;\n"
                             "    kept[threadIdx.x] = (double)i;\n"
                             "    (void)more;\n"
                             "    if (i < a.count)\n"
                             "        a.y[i] = kept[threadIdx.x];\n"
                             "}\n";

enum { COUNT = 100, STATIC_BYTES = 2048, ROOM = FAKE_SHARED_DEFAULT - STATIC_BYTES };

typedef struct subject {
    tess_driver driver;
    cu_context context;
    cu_stream stream;
    cu_module module;
    cu_function function;
    cu_pointer y;
} subject;

static cu_module load(void **state, const tess_driver *driver)
{
    tess_nvrtc nvrtc;
    nvrtc_program program;
    cu_module module;
    char code[4096];
    size_t bytes;
    const char *const options[] = {"--gpu-architecture=sm_90"};
    ok(state, tess_nvrtc_load(test_ctx(state), &nvrtc));
    assert_int_equal(nvrtc.nvrtcCreateProgram(&program, source, "number.cu", 0, NULL, NULL), 0);
    assert_int_equal(nvrtc.nvrtcCompileProgram(program, 1, options), 0);
    assert_int_equal(nvrtc.nvrtcGetCUBINSize(program, &bytes), 0);
    assert_true(bytes <= sizeof code);
    assert_int_equal(nvrtc.nvrtcGetCUBIN(program, code), 0);
    assert_int_equal(nvrtc.nvrtcDestroyProgram(&program), 0);
    assert_int_equal(driver->cuModuleLoadData(&module, code), CU_SUCCESS);
    return module;
}

static cu_result launch(const subject *s, unsigned blocks, unsigned threads, unsigned shared)
{
    struct {
        cu_pointer y;
        long long count;
    } args = {s->y, COUNT};
    void *arguments[] = {&args};
    return s->driver.cuLaunchKernel(s->function, blocks, 1, 1, threads, 1, 1, shared, s->stream,
                                    arguments, NULL);
}

/* One launch has run: static shared memory is known. */
static void open_subject(void **state, subject *s)
{
    cu_device device;
    ok(state, tess_driver_load(test_ctx(state), &s->driver));
    assert_int_equal(s->driver.cuInit(0), CU_SUCCESS);
    assert_int_equal(s->driver.cuDeviceGet(&device, 0), CU_SUCCESS);
    assert_int_equal(s->driver.cuDevicePrimaryCtxRetain(&s->context, device), CU_SUCCESS);
    assert_int_equal(s->driver.cuCtxPushCurrent(s->context), CU_SUCCESS);
    assert_int_equal(s->driver.cuStreamCreate(&s->stream, 0), CU_SUCCESS);
    assert_int_equal(s->driver.cuMemAlloc(&s->y, COUNT * sizeof(double)), CU_SUCCESS);
    s->module = load(state, &s->driver);
    assert_int_equal(s->driver.cuModuleGetFunction(&s->function, s->module, "number"), CU_SUCCESS);
    assert_int_equal(launch(s, 2, 64, 0), CU_SUCCESS);
}

static void close_subject(subject *s)
{
    cu_context popped;
    assert_int_equal(s->driver.cuModuleUnload(s->module), CU_SUCCESS);
    assert_int_equal(s->driver.cuMemFree(s->y), CU_SUCCESS);
    assert_int_equal(s->driver.cuStreamDestroy(s->stream), CU_SUCCESS);
    assert_int_equal(s->driver.cuCtxPopCurrent(&popped), CU_SUCCESS);
    assert_int_equal(s->driver.cuDevicePrimaryCtxRelease(0), CU_SUCCESS);
}

static void a_program_runs_as_it_was_written(void **state)
{
    subject s;
    double y[COUNT];
    open_subject(state, &s);
    assert_int_equal(s.driver.cuMemcpyDtoHAsync(y, s.y, sizeof y, s.stream), CU_SUCCESS);
    for (int i = 0; i < COUNT; i++)
        assert_true(y[i] == i);
    close_subject(&s);
}

static void grids_and_blocks_have_limits(void **state)
{
    static const struct {
        unsigned grid[3], block[3];
        cu_result expected;
    } cases[] = {
        {{1, 1, 1}, {64, 1, 1}, CU_SUCCESS},
        {{0, 1, 1}, {64, 1, 1}, CU_ERROR_INVALID_VALUE},
        {{1, 1, 0}, {64, 1, 1}, CU_ERROR_INVALID_VALUE},
        {{1, 1, 1}, {0, 1, 1}, CU_ERROR_INVALID_VALUE},
        {{1, 1, 1}, {65, 1, 1}, CU_ERROR_INVALID_VALUE}, /* compiled for 64 */
        {{1, 1, 1}, {2048, 1, 1}, CU_ERROR_INVALID_VALUE},
        {{1, 65536, 1}, {64, 1, 1}, CU_ERROR_INVALID_VALUE},
        {{1, 1, 65536}, {64, 1, 1}, CU_ERROR_INVALID_VALUE},
        {{1u << 31, 1, 1}, {64, 1, 1}, CU_ERROR_INVALID_VALUE},
    };
    subject s;
    open_subject(state, &s);
    struct {
        cu_pointer y;
        long long count;
    } args = {s.y, COUNT};
    void *arguments[] = {&args};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const unsigned *g = cases[i].grid, *b = cases[i].block;
        assert_int_equal(s.driver.cuLaunchKernel(s.function, g[0], g[1], g[2], b[0], b[1], b[2], 0,
                                                 s.stream, arguments, NULL),
                         cases[i].expected);
    }
    close_subject(&s);
}

static void dynamic_shared_memory_is_what_the_function_allows(void **state)
{
    subject s;
    cu_function again;
    open_subject(state, &s);
    assert_int_equal(launch(&s, 2, 64, ROOM), CU_SUCCESS);
    assert_int_equal(launch(&s, 2, 64, ROOM + 1), CU_ERROR_INVALID_VALUE);

    const int most = FAKE_SHARED_OPTIN - STATIC_BYTES, limit = CU_FUNCTION_MAX_DYNAMIC_SHARED;
    assert_int_equal(s.driver.cuFuncSetAttribute(s.function, limit, most + 1),
                     CU_ERROR_INVALID_VALUE);
    assert_int_equal(s.driver.cuFuncSetAttribute(s.function, limit, most), CU_SUCCESS);
    assert_int_equal(launch(&s, 2, 64, (unsigned)most), CU_SUCCESS);

    /* A limit can be lowered, and is the function's, however one came by it. */
    assert_int_equal(s.driver.cuModuleGetFunction(&again, s.module, "number"), CU_SUCCESS);
    assert_int_equal(s.driver.cuFuncSetAttribute(again, limit, 1000), CU_SUCCESS);
    assert_int_equal(launch(&s, 2, 64, 1000), CU_SUCCESS);
    assert_int_equal(launch(&s, 2, 64, 1001), CU_ERROR_INVALID_VALUE);
    close_subject(&s);
}

static cu_result launch_with(const subject *s, unsigned blocks, cu_launch_attribute attribute)
{
    struct {
        cu_pointer y;
        long long count;
    } args = {s->y, COUNT};
    void *arguments[] = {&args};
    const cu_launch_config config = {{blocks, 1, 1}, {64, 1, 1}, 0, s->stream, &attribute, 1};
    return s->driver.cuLaunchKernelEx(&config, s->function, arguments, NULL);
}

static cu_result launch_cluster(const subject *s, unsigned blocks, unsigned cluster)
{
    return launch_with(
        s, blocks,
        (cu_launch_attribute){.id = CU_LAUNCH_CLUSTER, .value = {.size = {cluster, 1, 1}}});
}

static void clusters_and_cooperative_grids_must_fit(void **state)
{
    const cu_launch_attribute together = {.id = CU_LAUNCH_COOPERATIVE, .value = {.number = 1}};
    subject s;
    int each = 0;
    fake->largest_cluster = 16;
    open_subject(state, &s);
    assert_int_equal(launch_cluster(&s, 8, 8), CU_SUCCESS);
    assert_int_equal(launch_cluster(&s, 9, 9), FAKE_INVALID_CLUSTER_SIZE);
    assert_int_equal(launch_cluster(&s, 3, 2), CU_ERROR_INVALID_VALUE);
    assert_int_equal(s.driver.cuFuncSetAttribute(s.function, CU_FUNCTION_ANY_CLUSTER_SIZE, 1),
                     CU_SUCCESS);
    assert_int_equal(launch_cluster(&s, 16, 16), CU_SUCCESS);
    assert_int_equal(launch_cluster(&s, 17, 17), FAKE_INVALID_CLUSTER_SIZE);

    assert_int_equal(s.driver.cuOccupancy(&each, s.function, 64, 0), CU_SUCCESS);
    assert_int_equal(each, FAKE_THREADS_PER_MULTIPROCESSOR / 64);
    const unsigned fit = (unsigned)each * FAKE_MULTIPROCESSORS;
    assert_int_equal(launch_with(&s, fit, together), CU_SUCCESS);
    assert_int_equal(launch_with(&s, fit + 1, together), FAKE_COOPERATIVE_TOO_LARGE);
    close_subject(&s);
}

static void copies_stay_inside_an_allocation_that_is_alive(void **state)
{
    enum { BYTES = COUNT * sizeof(double) };
    char host[BYTES + 8] = {0};
    subject s;
    cu_pointer other;
    open_subject(state, &s);
    assert_int_equal(s.driver.cuMemcpyHtoDAsync(s.y + 8, host, BYTES - 8, s.stream), CU_SUCCESS);
    assert_int_equal(s.driver.cuMemcpyHtoDAsync(s.y + 8, host, BYTES, s.stream),
                     CU_ERROR_INVALID_VALUE);
    assert_int_equal(s.driver.cuMemcpyDtoHAsync(host, s.y, BYTES + 1, s.stream),
                     CU_ERROR_INVALID_VALUE);
    assert_int_equal(s.driver.cuMemsetD8Async(s.y + 1, 0, BYTES, s.stream), CU_ERROR_INVALID_VALUE);
    assert_int_equal(s.driver.cuMemAlloc(&other, 64), CU_SUCCESS);
    assert_int_equal(s.driver.cuMemcpyDtoDAsync(other, s.y, 64, s.stream), CU_SUCCESS);
    assert_int_equal(s.driver.cuMemcpyDtoDAsync(other, s.y, 65, s.stream), CU_ERROR_INVALID_VALUE);
    assert_int_equal(s.driver.cuMemFree(other + 8), CU_ERROR_INVALID_VALUE);
    assert_int_equal(s.driver.cuMemFree(other), CU_SUCCESS);
    assert_int_equal(s.driver.cuMemFree(other), CU_ERROR_INVALID_VALUE);
    assert_int_equal(s.driver.cuMemcpyDtoHAsync(host, other, 8, s.stream), CU_ERROR_INVALID_VALUE);
    close_subject(&s);
}

static void handles_must_be_alive_and_of_this_device(void **state)
{
    subject s, gone;
    cu_function function;
    cu_context second, popped;
    fake->devices = 2;
    open_subject(state, &s);
    assert_int_equal(s.driver.cuModuleGetFunction(&function, s.module, "nothing"), FAKE_NOT_FOUND);
    gone = s;
    assert_int_equal(s.driver.cuStreamCreate(&gone.stream, 0), CU_SUCCESS);
    assert_int_equal(s.driver.cuStreamDestroy(gone.stream), CU_SUCCESS);
    assert_int_equal(launch(&gone, 1, 64, 0), FAKE_INVALID_HANDLE);

    gone = s;
    gone.module = load(state, &s.driver);
    assert_int_equal(s.driver.cuModuleGetFunction(&gone.function, gone.module, "number"), 0);
    assert_int_equal(launch(&gone, 1, 64, 0), CU_SUCCESS);
    assert_int_equal(s.driver.cuModuleUnload(gone.module), CU_SUCCESS);
    assert_int_equal(launch(&gone, 1, 64, 0), FAKE_INVALID_HANDLE);
    assert_int_equal(s.driver.cuModuleUnload(gone.module), FAKE_INVALID_HANDLE);

    assert_int_equal(s.driver.cuDevicePrimaryCtxRetain(&second, 1), CU_SUCCESS);
    assert_int_equal(s.driver.cuCtxPushCurrent(second), CU_SUCCESS);
    assert_int_equal(launch(&s, 1, 64, 0), FAKE_INVALID_CONTEXT);
    assert_int_equal(s.driver.cuCtxPopCurrent(&popped), CU_SUCCESS);
    assert_int_equal(launch(&s, 1, 64, 0), CU_SUCCESS);
    assert_int_equal(s.driver.cuDevicePrimaryCtxRelease(1), CU_SUCCESS);
    close_subject(&s);
}

/* TESSERA_FAKE_DEVICES is set in main. */
static void as_many_devices_as_asked_for_work_side_by_side(void **state)
{
    enum { DEVICES = 3 };
    tess_device *device[DEVICES];
    tess_plan *plan[DEVICES];
    assert_int_equal(fake->devices, DEVICES);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_RANDOM, 40, 3, 3, TESS_F64, 1);
    double *x = test_vector(A->cols, A->type, 1), *y = test_vector(A->rows, A->type, 2);
    for (int i = 0; i < DEVICES; i++) {
        char name[16], expected[32];
        snprintf(name, sizeof name, "cuda:%d", i);
        snprintf(expected, sizeof expected, "Fake GPU %d", i);
        ok(state, tess_device_open(test_ctx(state), name, &device[i]));
        assert_non_null(strstr(tess_device_description(device[i]), expected));
        plan[i] = make_plan(state, A, device[i], NULL);
    }
    for (int i = 0; i < DEVICES; i++) {
        ok(state, tess_spmv(plan[i], 1, x, 0, y));
        test_check_spmv("one of several devices", A, 1, x, 0, NULL, y);
    }
    for (int i = 0; i < DEVICES; i++) {
        tess_plan_destroy(plan[i]);
        tess_device_close(device[i]);
    }
    free(x), free(y);
    tess_matrix_destroy(A);
}

int main(void)
{
    setenv("TESSERA_FAKE_DEVICES", "3", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(as_many_devices_as_asked_for_work_side_by_side, after),
        TEST(a_program_runs_as_it_was_written),
        TEST(grids_and_blocks_have_limits),
        TEST(dynamic_shared_memory_is_what_the_function_allows),
        TEST(clusters_and_cooperative_grids_must_fit),
        TEST(copies_stay_inside_an_allocation_that_is_alive),
        TEST(handles_must_be_alive_and_of_this_device),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
