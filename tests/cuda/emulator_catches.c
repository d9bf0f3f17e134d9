/* The emulator must detect faults that a GPU shows only now and then. Broken copies of sliced.cu,
 * made by the build, lose a barrier, let some threads skip it, or declare a shared array too short.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/emulator.h"
#include "support/support.h"

/* Parameters of tests/cuda/CMakeLists.txt's `broken_defines`. */
static const char *const params_text = "C=32,sigma=1,lambda=0,panels=1,V=1,depth=1,tpr=4,"
                                       "threads=128,hint=1";

typedef struct fixture {
    tess_matrix *A;
    tess_cuda_layout *layout;
    void *x, *y;
    tess_cuda_launch launch;
} fixture;

static void open_fixture(void **state, fixture *f)
{
    tess_ctx *ctx = test_ctx(state);
    const tess_cuda_kernel *kernel = tess_cuda_kernel_find("sliced");
    f->A = test_matrix(ctx, TEST_BANDED, 70, 3, 3, TESS_F64, 1);
    f->x = test_vector(f->A->cols, TESS_F64, 2);
    f->y = test_vector(f->A->rows, TESS_F64, 3);
    tess_cuda_problem problem = {.arch = 90, .multiprocessors = 1};
    tess_cuda_problem_of(f->A, &problem);
    int params[TESS_CUDA_PARAMS];
    kernel->guess(&problem, params);
    assert_int_equal(tess_cuda_params_read(ctx, kernel, params_text, params), TESS_OK);
    char name[TESS_CUDA_LAYOUT];
    kernel->layout_name(&problem, params, name, sizeof name);
    assert_int_equal(tess_cuda_layout_create(ctx, f->A, name, &f->layout), TESS_OK);
    tess_cuda_call call = {.x = (uintptr_t)f->x, .y = (uintptr_t)f->y, .alpha = 1};
    for (int i = 0; i < f->layout->count; i++)
        call.arrays[i] = (uintptr_t)f->layout->arrays[i].host;
    assert_int_equal(kernel->launches(&problem, params, f->layout, &call, &f->launch), 1);
}

static void close_fixture(fixture *f)
{
    tess_cuda_layout_destroy(f->layout);
    tess_matrix_destroy(f->A);
    free(f->x);
    free(f->y);
}

/* Runs a copy in a child process (the address sanitizer ends a process): 0 right, 1 wrong result, 2
 * a message that contains `expected`, 3 another message, 99 the address sanitizer's report
 * (exitcode in tests/CMakeLists.txt), -1 anything else. */
static int outcome(fixture *f, const char *variant, const char *expected, uint64_t seed)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(9);
        const char *wrong = emu_launch(variant, &f->launch, seed);
        if (wrong)
            _exit(expected && strstr(wrong, expected) ? 2 : 3);
        double *right = malloc((size_t)f->A->rows * sizeof *right);
        tess_device *ref;
        tess_plan *plan;
        if (tess_device_open(f->A->ctx, "ref", &ref) != TESS_OK ||
            tess_plan_create(f->A->ctx, f->A, ref, NULL, &plan) != TESS_OK ||
            tess_spmv(plan, 1, f->x, 0, right) != TESS_OK)
            _exit(9);
        int bad = 0;
        for (int64_t i = 0; i < f->A->rows; i++) {
            double difference = right[i] - ((const double *)f->y)[i];
            bad |= !(difference < 1e-12 && difference > -1e-12);
        }
        _exit(bad);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return code < 4 || code == 99 ? code : -1;
}

static void intact_copy_is_right(void **state)
{
    fixture f;
    open_fixture(state, &f);
    for (uint64_t seed = 0; seed < 5; seed++)
        assert_int_equal(outcome(&f, "broken_intact", NULL, seed), 0);
    close_fixture(&f);
}

static void missing_barrier_gives_wrong_results(void **state)
{
    fixture f;
    open_fixture(state, &f);
    for (uint64_t seed = 0; seed < 5; seed++)
        assert_int_equal(outcome(&f, "broken_no_barrier", NULL, seed), 1);
    close_fixture(&f);
}

static void barrier_that_some_threads_skip_is_reported(void **state)
{
    fixture f;
    open_fixture(state, &f);
    assert_int_equal(outcome(&f, "broken_divergent", "waits at __syncthreads", 1), 2);
    close_fixture(&f);
}

static void write_outside_shared_memory_is_reported(void **state)
{
    fixture f;
    open_fixture(state, &f);
    int got = outcome(&f, "broken_short_array", "outside the shared array", 1);
    assert_true(got == 2 || got == 99); /* the emulator's canaries, or the address sanitizer */
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intact_copy_is_right),
        cmocka_unit_test(missing_barrier_gives_wrong_results),
        cmocka_unit_test(barrier_that_some_threads_skip_is_reported),
        cmocka_unit_test(write_outside_shared_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
