#include "support/support.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "ref/ref.h"

typedef struct test_state {
    tess_ctx *ctx;
    tess_device *kept; /* NULL on a CPU */
    int64_t live;
    int64_t fail_in; /* -1: never */
} test_state;

static void *counting_allocate(void *user, size_t bytes, size_t alignment)
{
    test_state *state = user;
    int64_t before = __atomic_load_n(&state->fail_in, __ATOMIC_RELAXED);
    if (before == 0)
        return NULL; /* stays 0: once out of memory, always out of memory */
    if (before > 0)
        __atomic_sub_fetch(&state->fail_in, 1, __ATOMIC_RELAXED);
    void *pointer = NULL;
    if (posix_memalign(&pointer, alignment, bytes) != 0)
        return NULL;
    memset(pointer, 0xcb, bytes < 4096 ? bytes : 4096); /* no code may rely on zeros */
    __atomic_add_fetch(&state->live, 1, __ATOMIC_RELAXED);
    return pointer;
}

static void counting_release(void *user, void *pointer)
{
    test_state *state = user;
    __atomic_sub_fetch(&state->live, 1, __ATOMIC_RELAXED);
    free(pointer);
}

/* A GPU stays open while the tests run: its driver needs a quarter of a second to begin anew, and
 * many times that beside other processes. */
static void keep_gpu(test_state *test)
{
    const char *device = getenv("TEST_DEVICE");
    if (device && strncmp(device, "cuda", 4) == 0 &&
        tess_device_open(test->ctx, "cuda", &test->kept) != TESS_OK)
        fprintf(stderr, "%s\n", tess_ctx_error(test->ctx)); /* as the tests will say */
}

int test_setup(void **state)
{
    test_state *test = malloc(sizeof *test);
    *test = (test_state){.fail_in = -1};
    tess_ctx_options options = {.allocator = {counting_allocate, counting_release, test}};
    if (tess_ctx_create(&options, &test->ctx) != TESS_OK)
        return -1;
    keep_gpu(test);
    *state = test;
    return 0;
}

int test_teardown(void **state)
{
    test_state *test = *state;
    tess_device_close(test->kept);
    tess_ctx_destroy(test->ctx);
    int64_t leaked = test->live;
    free(test);
    if (leaked != 0)
        fprintf(stderr, "%lld allocations leaked\n", (long long)leaked);
    return leaked == 0 ? 0 : -1;
}

tess_ctx *test_ctx(void **state)
{
    return ((test_state *)*state)->ctx;
}

void test_fail_allocation(void **state, int64_t n)
{
    ((test_state *)*state)->fail_in = n;
}

void test_ok(tess_ctx *ctx, tess_status status)
{
    if (status != TESS_OK)
        fail_msg("%s", tess_ctx_error(ctx));
}

int64_t test_live(void **state)
{
    return ((test_state *)*state)->live;
}

test_sweep test_sweep_begin(void **state)
{
    test_fail_allocation(state, 0);
    return (test_sweep){.state = state, .live = test_live(state)};
}

bool test_sweep_goes_on(test_sweep *sweep, tess_status status)
{
    test_fail_allocation(sweep->state, -1);
    if (status != TESS_OK && status != TESS_ERR_MEMORY)
        fail_msg("allocation %lld failed: %s", (long long)sweep->failed,
                 tess_ctx_error(test_ctx(sweep->state)));
    assert_int_equal(test_live(sweep->state), sweep->live);
    if (status == TESS_OK)
        return false;
    sweep->failed = test_next_failure(sweep->failed);
    test_fail_allocation(sweep->state, sweep->failed);
    return true;
}

int test_few(void)
{
    const char *text = getenv("TEST_ALL") ? NULL : getenv("TEST_FEW");
    const int few = text ? atoi(text) : 1;
    return few > 1 ? few : 1;
}

bool test_slowed(void)
{
    return test_few() >= 8;
}

uint64_t test_draws(uint64_t count)
{
    const uint64_t few = (uint64_t)test_few();
    return (count + few - 1) / few;
}

bool test_takes(uint64_t n)
{
    return n % (uint64_t)test_few() == 0;
}

int64_t test_next_failure(int64_t n)
{
    return n < 20 || getenv("TEST_ALL") ? n + 1 : n + 1 + n * test_few() / 24;
}

void test_plan_allocations(void **state, const tess_matrix *A, tess_device *device,
                           const tess_plan_options *options)
{
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        tess_plan *plan = NULL;
        status = tess_plan_create(test_ctx(state), A, device, options, &plan);
        tess_plan_destroy(plan);
    } while (test_sweep_goes_on(&sweep, status));
}

tess_device *test_device(tess_ctx *ctx, const char *name)
{
    tess_device *device = NULL;
    if (tess_device_open(ctx, name, &device) != TESS_OK)
        fail_msg("%s: %s", name, tess_ctx_error(ctx));
    return device;
}

tess_device *test_threads(tess_ctx *ctx, int threads)
{
    char name[16];
    snprintf(name, sizeof name, "cpu:%d", threads);
    return test_device(ctx, name);
}

static int64_t longest_row(const tess_matrix *A)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < A->block_rows; i++)
        if (A->row_offsets[i + 1] - A->row_offsets[i] > longest)
            longest = A->row_offsets[i + 1] - A->row_offsets[i];
    return longest * A->block_width;
}

static double modulus(tess_complex value)
{
    return hypot(value.re, value.im);
}

void test_check_spmv_complex(const char *what, const tess_matrix *A, tess_complex alpha,
                             const void *x, tess_complex beta, const void *y0, const void *y)
{
    const bool keep = !tess_complex_is_zero(beta);
    double *magnitude = malloc((size_t)(A->rows + 1) * sizeof *magnitude);
    void *expected = malloc((size_t)(A->rows + 1) * sizeof(tess_complex));
    if (keep)
        memcpy(expected, y0, (size_t)A->rows * tess_type_size(A->type));
    tess_ref_spmv_complex(A, TESS_OPERATION_NONE, alpha, x, beta, expected, NULL);
    tess_ref_spmv_magnitude(A, x, magnitude);
    /* Each part of a sum of n complex products is a sum of 2 n real ones, whose magnitudes add up
     * to no more than |a||x|. Complex factors add four. */
    const double epsilon = A->type == TESS_C64 ? DBL_EPSILON : FLT_EPSILON;
    const double factor = 2.0 * (double)(2 * longest_row(A) + 6) * epsilon;
    for (int64_t i = 0; i < A->rows; i++) {
        const tess_complex got = tess_get_complex(y, A->type, i);
        const tess_complex want = tess_get_complex(expected, A->type, i);
        double scale = modulus(alpha) * magnitude[i];
        if (keep)
            scale += modulus(beta) * modulus(tess_get_complex(y0, A->type, i));
        if (!(fabs(got.re - want.re) <= factor * scale && fabs(got.im - want.im) <= factor * scale))
            fail_msg("%s: %dx%d blocks %s: row %lld is %.17g%+.17gi, ref says %.17g%+.17gi (bound "
                     "%.3g)",
                     what, (int)A->block_height, (int)A->block_width, tess_type_name(A->type),
                     (long long)i, got.re, got.im, want.re, want.im, factor * scale);
    }
    free(magnitude);
    free(expected);
}

void test_check_spmv(const char *what, const tess_matrix *A, double alpha, const void *x,
                     double beta, const void *y0, const void *y)
{
    if (tess_is_complex(A->type)) {
        test_check_spmv_complex(what, A, (tess_complex){alpha, 0}, x, (tess_complex){beta, 0}, y0,
                                y);
        return;
    }
    size_t bytes = (size_t)(A->rows + 1) * sizeof(double);
    double *magnitude = malloc(bytes);
    double *expected = malloc(bytes);
    if (beta != 0)
        memcpy(expected, y0, (size_t)A->rows * tess_type_size(A->type));
    tess_ref_spmv(A, alpha, x, beta, expected);
    tess_ref_spmv_magnitude(A, x, magnitude);

    double epsilon = A->type == TESS_F64 ? DBL_EPSILON : FLT_EPSILON;
    double factor = 2.0 * (double)(longest_row(A) + 2) * epsilon;
    for (int64_t i = 0; i < A->rows; i++) {
        double got = tess_get(y, A->type, i), want = tess_get(expected, A->type, i);
        double scale = fabs(alpha) * magnitude[i];
        if (beta != 0)
            scale += fabs(beta * tess_get(y0, A->type, i));
        if (!(fabs(got - want) <= factor * scale))
            fail_msg("%s: %dx%d blocks %s: row %lld is %.17g, ref says %.17g (bound %.3g)", what,
                     (int)A->block_height, (int)A->block_width, tess_type_name(A->type),
                     (long long)i, got, want, factor * scale);
    }
    free(magnitude);
    free(expected);
}
