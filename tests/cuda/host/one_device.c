/* What the plans of one device share, code and pinned buffers, and which code the device gets. */
#include <pthread.h>

#include "cuda/driver/module.h"
#include "session.h"

/* ---- Code ---- */

/* Every entry is asked for twice, and is the same both times. Sources have several entries, and are
 * compiled for several thread blocks. */
static void a_device_keeps_any_number_of_functions(void **state)
{
    static const struct {
        const char *source, *entries[12];
    } modules[] = {
        {"groups.cu",
         {"couple", "turn", "admit", "claim", "cover", "release", "join", "rest", "settle",
          "number", "list"}},
        {"lanczos.cu", {"begin", "advance", "product", "multiply", "follow"}},
        {"strength.cu", {"scale", "norms", "drop"}},
    };
    static const char *const defines[] = {"-DTHREADS=32", "-DTHREADS=64", "-DTHREADS=128",
                                          "-DTHREADS=256"};
    enum { MODULES = sizeof modules / sizeof *modules, DEFINES = 4, MOST = 100 };
    tess_device *device = open_device(state);
    tess_cuda *cuda = tess_cuda_of(device);
    cu_function first[MOST] = {NULL}, again;
    int asked = 0;
    ok(state, tess_cuda_enter(cuda));
    for (int turn = 0; turn < 2; turn++) {
        int at = 0;
        for (int m = 0; m < MODULES; m++)
            for (int d = 0; d < DEFINES; d++)
                for (const char *const *entry = modules[m].entries; *entry; entry++, at++) {
                    ok(state,
                       tess_cuda_helper(cuda, modules[m].source, defines[d], *entry, &again));
                    assert_true(turn == 0 || again == first[at]);
                    first[at] = again;
                }
        asked = at;
    }
    assert_in_range(asked, 70, MOST);
    for (int i = 0; i < asked; i++)
        for (int k = 0; k < i; k++)
            assert_true(first[i] != first[k]);
    tess_cuda_leave(cuda);
    tess_device_close(device);
}

/* NVRTC of the fake knows sm_80, sm_90 and sm_100. */
static void gpus_that_the_compiler_does_not_know_get_code_of_their_generation(void **state)
{
    static const int capabilities[] = {80, 86, 89, 90, 95, 100, 103, 110, 121};
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        char expected[16];
        fake->capability = capabilities[i];
        tess_device *device = open_device(state);
        tess_matrix *A = test_matrix(test_ctx(state), TEST_RANDOM, 40, 3, 3, TESS_F64, 1);
        tess_plan *plan = make_plan(state, A, device, NULL);
        double *x = test_vector(A->cols, A->type, 1), *y = test_vector(A->rows, A->type, 2);
        snprintf(expected, sizeof expected, "sm_%d,", capabilities[i]);
        assert_non_null(strstr(tess_device_description(device), expected));
        ok(state, tess_spmv(plan, 1, x, 0, y));
        test_check_spmv(expected, A, 1, x, 0, NULL, y);
        free(x), free(y);
        tess_plan_destroy(plan);
        tess_matrix_destroy(A);
        tess_device_close(device);
    }
    fake->capability = 75;
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_RANDOM, 40, 3, 3, TESS_F64, 1);
    tess_plan *plan;
    assert_int_equal(tess_plan_create(test_ctx(state), A, device, NULL, &plan), TESS_ERR_DEVICE);
    assert_text(state, "sm_75");
    tess_matrix_destroy(A);
    tess_device_close(device);
}

/* ---- Several threads ---- */

enum { PRODUCTS = 12, ROWS = 50000 }; /* vectors of 400 kB go through the pinned buffers */

typedef struct caller {
    tess_plan *plan;
    double scale; /* of the diagonal matrix */
    int wrong;
} caller;

static void *multiply_often(void *arg)
{
    caller *c = arg;
    double *x = malloc(ROWS * sizeof *x), *y = malloc(ROWS * sizeof *y);
    for (int turn = 0; turn < PRODUCTS; turn++) {
        for (int64_t i = 0; i < ROWS; i++)
            x[i] = (double)(i + turn);
        if (tess_spmv(c->plan, 1, x, 0, y) != TESS_OK)
            c->wrong++;
        for (int64_t i = 0; i < ROWS; i++)
            c->wrong += y[i] != c->scale * x[i];
    }
    free(x), free(y);
    return NULL;
}

static tess_matrix *diagonal(void **state, double scale)
{
    tess_matrix *A;
    ok(state, tess_matrix_allocate(test_ctx(state), TESS_F64, ROWS, ROWS, 1, 1, ROWS, &A));
    for (int64_t i = 0; i < ROWS; i++) {
        A->columns[i] = (int32_t)i;
        ((double *)A->values)[i] = scale;
        A->row_offsets[i + 1] = i + 1;
    }
    return A;
}

static void plans_of_one_device_compute_in_several_threads(void **state)
{
    enum { CALLERS = 3 };
    tess_device *device = open_device(state);
    caller callers[CALLERS];
    tess_matrix *A[CALLERS];
    pthread_t threads[CALLERS];
    double *x = calloc(ROWS, sizeof *x), *y = calloc(ROWS, sizeof *y);
    for (int i = 0; i < CALLERS; i++) {
        A[i] = diagonal(state, 2 + i);
        callers[i] = (caller){make_plan(state, A[i], device, NULL), 2 + i, 0};
        ok(state, tess_spmv(callers[i].plan, 1, x, 0, y)); /* makes the plan's buffers */
    }
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, multiply_often, &callers[i]), 0);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < CALLERS; i++) {
        if (callers[i].wrong > 0)
            fail_msg("thread %d: %d elements are wrong", i, callers[i].wrong);
        tess_plan_destroy(callers[i].plan);
        tess_matrix_destroy(A[i]);
    }
    free(x), free(y);
    tess_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_device_keeps_any_number_of_functions),
        TEST(gpus_that_the_compiler_does_not_know_get_code_of_their_generation),
        TEST(plans_of_one_device_compute_in_several_threads),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
