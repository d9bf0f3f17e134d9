/* Products of vectors by fields: of every kernel the same bits as with permuted vectors. */
#include "support/support.h"

#include <math.h>
#include <string.h>

#include "backend/permute.h"
#include "guarded.h"
#include "plan/model/model.h"
#include "symmetric.h"

/* A vector of blocks as fields, or with `back` the other way round. */
static void *by_fields(const tess_matrix *A, int64_t count, bool back, const void *from)
{
    void *to = malloc((size_t)(count + 1) * tess_type_size(A->type));
    tess_permute_blocks(A->type, count, A->block_height, back, from, to);
    return to;
}

typedef struct vectors {
    void *x, *y0;       /* of blocks */
    guarded fx, fy, fw; /* the same by fields, and a third vector as long as y */
    size_t y_bytes;
} vectors;

static vectors make_vectors(const tess_matrix *A)
{
    const size_t scalar = tess_type_size(A->type);
    vectors v = {.x = test_vector(A->cols, A->type, 1),
                 .y0 = test_vector(A->rows, A->type, 2),
                 .y_bytes = (size_t)A->rows * scalar};
    void *x = by_fields(A, A->cols, false, v.x), *w = test_vector(A->rows, A->type, 3);
    v.fx = guarded_copy(x, (size_t)A->cols * scalar);
    v.fy = guarded_copy(w, v.y_bytes);
    v.fw = guarded_copy(w, v.y_bytes);
    free(x), free(w);
    return v;
}

static void free_vectors(vectors *v)
{
    free(v->x), free(v->y0);
    guarded_free(v->fx);
    guarded_free(v->fy);
    guarded_free(v->fw);
}

/* y = A x, over NaN, has the bits of the product of blocks. */
static void check_bits(tess_plan *plan, const tess_matrix *A, vectors *v, const char *what)
{
    void *expected = malloc(v->y_bytes + 1);
    bool done = false;
    tess_fields_product product = {.alpha = 1.5, .x = v->fx.data, .y = v->fy.data};
    memset(v->fy.data, 0xff, v->y_bytes);
    assert_int_equal(tess_spmv(plan, 1.5, v->x, 0, expected), TESS_OK);
    assert_int_equal(plan->device->backend->fields_multiply(plan, &product, &done), TESS_OK);
    assert_true(done);
    void *y = by_fields(A, A->rows, true, v->fy.data);
    if (memcmp(y, expected, v->y_bytes) != 0)
        fail_msg("%s: not the bits of the product of blocks", what);
    free(y), free(expected);
}

/* y = alpha A x + beta y with a dot product, of w and y or of y with itself. */
static void check_update(tess_plan *plan, const tess_matrix *A, vectors *v, bool with_w,
                         const char *what)
{
    void *y0 = by_fields(A, A->rows, false, v->y0);
    double dot = 0, sum = 0, size = 0;
    bool done = false;
    const tess_fields_product product = {.alpha = -0.5,
                                         .beta = 2,
                                         .x = v->fx.data,
                                         .w = with_w ? v->fw.data : NULL,
                                         .y = v->fy.data,
                                         .dot = &dot};
    memcpy(v->fy.data, y0, v->y_bytes);
    assert_int_equal(plan->device->backend->fields_multiply(plan, &product, &done), TESS_OK);
    assert_true(done);
    void *y = by_fields(A, A->rows, true, v->fy.data);
    test_check_spmv(what, A, -0.5, v->x, 2, v->y0, y);
    for (int64_t i = 0; i < A->rows; i++) {
        const double term = tess_get(v->fy.data, A->type, i) *
                            tess_get(with_w ? v->fw.data : v->fy.data, A->type, i);
        sum += term;
        size += fabs(term);
    }
    if (!(fabs(dot - sum) <= 1e-5 * size))
        fail_msg("%s: dot = %.17g, not %.17g", what, dot, sum);
    free(y0), free(y);
}

/* y = A^T x. */
static void check_transpose(tess_plan *plan, const tess_matrix *A, const char *what)
{
    const size_t scalar = tess_type_size(A->type);
    tess_matrix *T;
    assert_int_equal(tess_matrix_transpose(plan->ctx, A, &T), TESS_OK);
    void *x = test_vector(T->cols, A->type, 5), *fx = by_fields(T, T->cols, false, x);
    void *fy = malloc((size_t)(T->rows + 1) * scalar);
    bool done = false;
    const tess_fields_product product = {.transpose = true, .alpha = 2, .x = fx, .y = fy};
    memset(fy, 0xff, (size_t)T->rows * scalar);
    assert_int_equal(plan->device->backend->fields_multiply(plan, &product, &done), TESS_OK);
    if (done) {
        void *y = by_fields(T, T->rows, true, fy);
        test_check_spmv(what, T, 2, x, 0, NULL, y);
        free(y);
    }
    free(x), free(fx), free(fy);
    tess_matrix_destroy(T);
}

/* Returns whether the kernel has such products of A. */
static bool check(tess_ctx *ctx, tess_device *device, const tess_matrix *A, const char *format,
                  const char *kernel, bool reproducible, const char *what)
{
    const tess_plan_options options = {
        .format = format, .kernel = kernel, .reproducible = reproducible};
    tess_plan *plan;
    bool has;
    if (tess_plan_create(ctx, A, device, &options, &plan) != TESS_OK)
        fail_msg("%s: %s", what, tess_ctx_error(ctx));
    assert_int_equal(device->backend->fields_open(plan, &has), TESS_OK);
    if (has) {
        vectors v = make_vectors(A);
        check_bits(plan, A, &v, what);
        check_update(plan, A, &v, false, what);
        check_update(plan, A, &v, true, what);
        check_bits(plan, A, &v, what);
        check_transpose(plan, A, what);
        free_vectors(&v);
    }
    tess_plan_destroy(plan);
    return has;
}

/* ---- Every kernel ---- */

static void check_patterns(tess_ctx *ctx, tess_device *device, const tess_cpu_kernel *kernel,
                           size_t number)
{
    static const int32_t others[] = {2, 3, 9, 17};
    const int32_t b = kernel->block_height ? kernel->block_height : others[number % 4];
    const bool half = kernel->family == TESS_CPU_SYMMETRIC_SPMV;
    if (kernel->complex || (kernel->block_width != kernel->block_height))
        return;
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        if (!test_takes(number + (size_t)pattern))
            continue;
        const tess_type type = kernel_type(kernel);
        tess_matrix *A = half ? symmetric_matrix(ctx, (test_pattern)pattern, 37, b, type, number)
                              : test_matrix(ctx, (test_pattern)pattern, 37, b, b, type, number);
        char what[160];
        snprintf(what, sizeof what, "%s %s seed %zu", kernel->name,
                 test_pattern_name((test_pattern)pattern), number);
        const char *format = tess_cpu_family_format(kernel->family);
        const bool whole = A->rows % b == 0 && A->cols % b == 0;
        /* Rows of more bytes than that may be done by several threads. */
        const bool may_be_long =
            tess_matrix_longest_row(A) * b * b * kernel->scalar_bytes > 48 * 1024;
        for (int turn = 0; turn < (half ? 2 : 1); turn++) {
            const bool has = check(ctx, device, A, format, kernel->name, turn == 1, what);
            if (has != whole && (has || half || !may_be_long))
                fail_msg("%s: vectors by fields are%s taken", what, has ? "" : " not");
        }
        tess_matrix_destroy(A);
    }
}

static void every_kernel_takes_vectors_by_fields(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *two = test_device(ctx, "cpu:2"), *three = test_device(ctx, "cpu:3");
    assert_true(test_every_kernel(ctx, two, TESS_CPU_BSR_SPMV, check_patterns) >= 20);
    assert_true(test_every_kernel(ctx, three, TESS_CPU_SYMMETRIC_SPMV, check_patterns) >= 20);
    tess_device_close(two);
    tess_device_close(three);
}

/* ---- Pieces, threads and tails ---- */

/* Pieces of several sizes, whole rows between empty ones, windows over several chunks. */
static void pieces_give_the_same_bits(void **state)
{
    static const test_pattern patterns[] = {TEST_BANDED, TEST_RANDOM, TEST_EMPTY_ENDS};
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 0; seed < test_draws(36); seed++) {
        const int32_t b = 2 + (int32_t)tess_random_below(seed, 1, 19);
        const int64_t rows = 200 + tess_random_below(seed, 2, 20000 / b);
        const int threads = 1 + (int)tess_random_below(seed, 3, 4);
        const bool half = seed % 3 == 0, reproducible = seed % 2;
        const tess_type type = seed % 4 ? TESS_F64 : TESS_F32;
        tess_device *device = test_threads(ctx, threads);
        const test_pattern pattern = patterns[tess_random_below(seed, 4, 3)];
        tess_matrix *A = half ? symmetric_matrix(ctx, pattern, tess_min(rows, 1500), b, type, seed)
                              : test_matrix(ctx, pattern, rows, b, b, type, seed);
        char what[160];
        snprintf(what, sizeof what, "seed %d: %s, %lld rows, b=%d, %d threads", (int)seed,
                 test_pattern_name(pattern), (long long)rows, (int)b, threads);
        const bool has =
            check(ctx, device, A, half ? "symmetric" : "bsr", NULL, reproducible, what);
        if (!has && (half || threads < 3 || pattern == TEST_BANDED))
            fail_msg("%s: vectors by fields are not taken", what);
        tess_matrix_destroy(A);
        tess_device_close(device);
    }
}

/* Shares so large that they have tails, which go to whichever thread comes first. */
static void tails_go_on_with_what_was_taken(void **state)
{
    static const char *const inputs[] = {"stencil27:n=29,b=3", "stencil7:n=50,b=4"};
    tess_ctx *ctx = test_ctx(state);
    for (int i = 0; i < 2; i++) {
        tess_device *device = test_device(ctx, i ? "cpu:1" : "cpu:2");
        tess_matrix *A;
        assert_int_equal(tess_matrix_generate(ctx, inputs[i], &A, NULL), TESS_OK);
        assert_true(check(ctx, device, A, "bsr", NULL, false, inputs[i]));
        tess_matrix_destroy(A);
        tess_device_close(device);
    }
}

/* Where every thread needs nearly all of x, or a row is done by several, two passes are cheaper. */
static void what_does_not_pay_is_refused(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_threads(ctx, 8);
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 4000, 4, 4, TESS_F64, 1);
    assert_false(check(ctx, device, A, "bsr", NULL, false, "columns anywhere"));
    tess_matrix_destroy(A);
    A = test_matrix(ctx, TEST_SKEWED, 8000, 4, 4, TESS_F64, 1);
    assert_false(check(ctx, device, A, "bsr", NULL, false, "a long row"));
    tess_matrix_destroy(A);
    assert_int_equal(
        tess_matrix_generate(ctx, "planted:rows=4000,blocks=20,shapes=diagonal:32", &A, NULL),
        TESS_OK);
    assert_false(check(ctx, device, A, "fbcsr", NULL, false, "fbcsr"));
    tess_matrix_destroy(A);
    tess_device_close(device);
}

/* ---- Values and memory ---- */

/* New values that are not symmetric are stored whole: the product by fields goes on. */
static void new_values_reach_the_product(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_matrix *A = symmetric_matrix(ctx, TEST_BANDED, 300, 2, TESS_F64, 4);
    const tess_plan_options options = {.format = "symmetric"};
    tess_plan *plan;
    bool has;
    assert_int_equal(tess_plan_create(ctx, A, device, &options, &plan), TESS_OK);
    assert_int_equal(device->backend->fields_open(plan, &has), TESS_OK);
    assert_true(has);
    vectors v = make_vectors(A);
    check_bits(plan, A, &v, "first values");
    for (int turn = 0; turn < 2; turn++) {
        ((double *)A->values)[turn == 0 ? 0 : 1] += 3; /* on the diagonal, then beside it */
        assert_int_equal(tess_plan_update_values(plan, A->values), TESS_OK);
        assert_string_equal(plan->format, turn == 0 ? "symmetric" : "bsr");
        check_bits(plan, A, &v, "new values");
        check_update(plan, A, &v, true, "new values");
        check_transpose(plan, A, "new values");
    }
    free_vectors(&v);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void a_failed_allocation_leaves_nothing_behind(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_matrix *A = symmetric_matrix(ctx, TEST_BANDED, 40, 3, TESS_F64, 1);
    assert_non_null(tess_device_performance(device)); /* which the device keeps */
    for (int half = 0; half < 2; half++) {
        const tess_plan_options options = {.format = half ? "symmetric" : "bsr"};
        tess_status status;
        bool has = false;
        test_sweep sweep = test_sweep_begin(state);
        do {
            tess_plan *plan;
            const int64_t failed = sweep.failed;
            test_fail_allocation(state, -1);
            assert_int_equal(tess_plan_create(ctx, A, device, &options, &plan), TESS_OK);
            test_fail_allocation(state, failed);
            status = device->backend->fields_open(plan, &has);
            test_fail_allocation(state, -1);
            tess_plan_destroy(plan);
        } while (test_sweep_goes_on(&sweep, status));
        assert_true(has);
    }
    tess_matrix_destroy(A);
    tess_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_takes_vectors_by_fields),
        cmocka_unit_test(pieces_give_the_same_bits),
        cmocka_unit_test(tails_go_on_with_what_was_taken),
        cmocka_unit_test(what_does_not_pay_is_refused),
        cmocka_unit_test(new_values_reach_the_product),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
