/* Every SpMM kernel of every ISA this machine can run, on whole matrices and on half storage,
 * against ref: vector by vector, in both orders, with gaps between rows or vectors that must stay
 * as they are. */
#include "support/support.h"

#include <string.h>

#include "guarded.h"
#include "ref/ref.h"
#include "symmetric.h"

/* One product's arrays. Scalar i of vector v is at [i*row + v*vector] of X (and of Y). */
typedef struct problem {
    tess_matrix *A;
    int k;
    tess_block_order order;
    int64_t ldx, ldy;
    size_t x_bytes, y_bytes;
    guarded values, X, Y;
    void *Y0;
} problem;

/* Scalars from the first to the last that a product may touch. */
static int64_t extent(int64_t length, int k, int64_t ld, tess_block_order order)
{
    if (length == 0)
        return 0;
    return order == TESS_ORDER_COLUMN_MAJOR ? (k - 1) * ld + length : (length - 1) * ld + k;
}

static problem make_problem(tess_matrix *A, int k, tess_block_order order, int gap, uint64_t seed)
{
    problem p = {.A = A, .k = k, .order = order};
    const tess_type type = A->type;
    bool columns = order == TESS_ORDER_COLUMN_MAJOR;
    p.ldx = (columns ? p.A->cols : k) + gap;
    p.ldy = (columns ? p.A->rows : k) + 2 * gap;
    size_t scalar = tess_type_size(type);
    int64_t x_count = extent(p.A->cols, k, p.ldx, order);
    int64_t y_count = extent(p.A->rows, k, p.ldy, order);
    void *X = test_vector(x_count, type, seed + 100);
    p.Y0 = test_vector(y_count, type, seed + 200);
    p.y_bytes = (size_t)y_count * scalar;
    p.values = guarded_copy(p.A->values, (size_t)tess_matrix_stored(p.A) * scalar);
    p.X = guarded_copy(X, (size_t)x_count * scalar);
    p.Y = guarded_copy(p.Y0, p.y_bytes);
    free(X);
    return p;
}

static void free_problem(problem *p)
{
    guarded_free(p->values);
    guarded_free(p->X);
    guarded_free(p->Y);
    free(p->Y0);
    tess_matrix_destroy(p->A);
}

/* Vector v of an array as an array of its own. */
static void *vector_of(const void *array, tess_type type, int64_t length, int64_t ld,
                       tess_block_order order, int v)
{
    void *copy = malloc((size_t)(length + 1) * tess_type_size(type));
    for (int64_t i = 0; i < length; i++)
        tess_put_complex(
            copy, type, i,
            tess_get_complex(array, type,
                             order == TESS_ORDER_COLUMN_MAJOR ? v * ld + i : i * ld + v));
    return copy;
}

static void check_result(const problem *p, const char *what, double alpha, double beta)
{
    const tess_matrix *A = p->A;
    for (int v = 0; v < p->k; v++) {
        void *x = vector_of(p->X.data, A->type, A->cols, p->ldx, p->order, v);
        void *y = vector_of(p->Y.data, A->type, A->rows, p->ldy, p->order, v);
        void *y0 = vector_of(p->Y0, A->type, A->rows, p->ldy, p->order, v);
        test_check_spmv(what, A, alpha, x, beta, y0, y);
        free(x);
        free(y);
        free(y0);
    }
    /* Between the vectors or rows nothing has changed. */
    for (int64_t i = 0; i < (int64_t)(p->y_bytes / tess_type_size(A->type)); i++) {
        int64_t length = p->order == TESS_ORDER_COLUMN_MAJOR ? A->rows : p->k;
        const tess_complex now = tess_get_complex(p->Y.data, A->type, i);
        const tess_complex before = tess_get_complex(p->Y0, A->type, i);
        if (i % p->ldy >= length && !(now.re == before.re && now.im == before.im))
            fail_msg("%s: scalar %lld of Y lies in a gap and was written", what, (long long)i);
    }
}

/* Y from Y0, with NaN where the product must not read. */
static void multiply(const problem *p, tess_plan *plan, double alpha, double beta)
{
    const tess_matrix *A = p->A;
    size_t scalar = tess_type_size(A->type);
    memcpy(p->Y.data, p->Y0, p->y_bytes);
    for (int v = 0; beta == 0 && v < p->k; v++)
        for (int64_t i = 0; i < A->rows; i++) {
            int64_t at = p->order == TESS_ORDER_COLUMN_MAJOR ? v * p->ldy + i : i * p->ldy + v;
            memset((char *)p->Y.data + (size_t)at * scalar, 0xff, scalar);
        }
    assert_int_equal(
        tess_spmm(plan, p->k, p->order, alpha, p->X.data, p->ldx, beta, p->Y.data, p->ldy),
        TESS_OK);
}

/* The plan is reproducible: half storage then has windows however small the matrix is. */
static tess_plan *make_plan(tess_ctx *ctx, const problem *p, tess_device *device,
                            const char *format, const char *kernel)
{
    tess_plan *plan = NULL;
    const tess_plan_options options = {
        .format = format, .kernel = kernel, .effort = TESS_EFFORT_ESTIMATE, .reproducible = 1};
    if (tess_plan_create(ctx, p->A, device, &options, &plan) != TESS_OK)
        fail_msg("%s: %s", kernel ? kernel : "(default)", tess_ctx_error(ctx));
    assert_int_equal(tess_plan_update_values(plan, p->values.data), TESS_OK);
    return plan;
}

/* One kernel, one matrix, one k: both orders, with and without gaps (`forms` of these four),
 * several alpha and beta. */
static void check_kernel(tess_ctx *ctx, tess_device *device, const tess_cpu_kernel *kernel,
                         test_pattern pattern, int64_t size, int32_t r, int32_t c, int k,
                         uint64_t seed, int forms)
{
    static const double factors[][2] = {{1, 0}, {-0.5, -0.5}, {0, 1}, {2, 0}};
    const tess_type type = kernel_type(kernel);
    for (int i = 0; i < forms; i++) {
        const int form = forms == 4 ? i : (i + 2 * k) % 4; /* two: both orders, gaps for odd k */
        tess_matrix *A = kernel->family == TESS_CPU_SYMMETRIC_SPMM
                             ? symmetric_matrix(ctx, pattern, size, r, type, seed)
                             : test_matrix(ctx, pattern, size, r, c, type, seed);
        problem p = make_problem(A, k, form % 2 ? TESS_ORDER_ROW_MAJOR : TESS_ORDER_COLUMN_MAJOR,
                                 form / 2 * 3, seed);
        char what[160];
        snprintf(what, sizeof what, "%s %s k=%d form %d seed %llu", kernel->name,
                 test_pattern_name(pattern), k, form, (unsigned long long)seed);
        tess_plan *plan =
            make_plan(ctx, &p, device, tess_cpu_family_format(kernel->family), kernel->name);
        const double *factor = factors[(form + k) % 4];
        multiply(&p, plan, factor[0], factor[1]);
        check_result(&p, what, factor[0], factor[1]);
        tess_plan_destroy(plan);
        free_problem(&p);
    }
}

static void check_one_size(tess_ctx *ctx, tess_device *device, const tess_cpu_kernel *kernel,
                           size_t number)
{
    const int32_t r = kernel->block_height, c = kernel->block_width;
    if (r == 0)
        return;
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++)
        if (test_takes(number + (size_t)pattern))
            check_kernel(ctx, device, kernel, (test_pattern)pattern, 11, r, c,
                         1 + (int)((number + (size_t)pattern * 5) % 17), number, 4);
    for (int k = 1; k <= 33; k++)
        if (test_takes(number + (size_t)k))
            check_kernel(ctx, device, kernel, TEST_RANDOM, 7, r, c, k, number, 2);
}

static void every_kernel_agrees_with_ref_for_every_k(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:3");
    assert_true(test_every_kernel(ctx, device, TESS_CPU_BSR_SPMM, check_one_size) >= 18);
    assert_true(test_every_kernel(ctx, device, TESS_CPU_SYMMETRIC_SPMM, check_one_size) >= 18);
    tess_device_close(device);
}

static void check_any_size(tess_ctx *ctx, tess_device *device, const tess_cpu_kernel *kernel,
                           size_t number)
{
    static const int32_t shapes[][2] = {{1, 1},   {2, 5},   {5, 2},  {3, 3},  {7, 1},
                                        {1, 9},   {17, 3},  {33, 9}, {64, 4}, {65, 2},
                                        {3, 100}, {130, 1}, {9, 9},  {16, 16}};
    static const int counts[] = {1, 2, 3, 5, 8, 13, 31, 32, 40, 67};
    /* Half storage has no code that depends on large blocks, and they are slow to convert. */
    const size_t step = kernel->family == TESS_CPU_SYMMETRIC_SPMM ? 4 : 1;
    for (size_t i = 0; kernel->block_height == 0 && i < sizeof shapes / sizeof shapes[0]; i += step)
        for (int pattern = 0; pattern < TEST_PATTERNS; pattern++)
            if (test_takes(i + number + (size_t)pattern))
                check_kernel(ctx, device, kernel, (test_pattern)pattern, 5, shapes[i][0],
                             shapes[i][1], counts[(i + number + (size_t)pattern) % 10], i, 4);
}

static void any_block_size_agrees_with_ref(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    test_every_kernel(ctx, device, TESS_CPU_BSR_SPMM, check_any_size);
    test_every_kernel(ctx, device, TESS_CPU_SYMMETRIC_SPMM, check_any_size);
    tess_device_close(device);
}

/* Long rows are cut; the bits are those of one thread, of the run before, and of the other order.
 */
static void results_do_not_depend_on_threads_order_or_run(void **state)
{
    static const int threads[] = {1, 2, 3, 5, 8};
    tess_ctx *ctx = test_ctx(state);
    for (int turn = 0; turn < 10; turn++) {
        const int32_t b = 1 + turn / 2 * 2;
        const bool half = turn % 2 == 1;
        void *first = NULL; /* row-major, without gaps */
        for (int form = 0; form < 10; form++) {
            tess_block_order order = form % 2 ? TESS_ORDER_COLUMN_MAJOR : TESS_ORDER_ROW_MAJOR;
            tess_matrix *A = half ? symmetric_matrix(ctx, TEST_BANDED, 900 / b, b, TESS_F64, 3)
                                  : test_matrix(ctx, TEST_SKEWED, 4000 / b, b, b, TESS_F64, 3);
            problem p = make_problem(A, 6, order, 0, 3);
            if (order == TESS_ORDER_COLUMN_MAJOR) /* the same vectors */
                for (int64_t i = 0; i < p.A->cols * 6; i++)
                    tess_put(p.X.data, TESS_F64, i % 6 * p.A->cols + i / 6,
                             tess_random_unit(103, (uint64_t)i));
            tess_device *device = test_threads(ctx, threads[form / 2]);
            tess_plan *plan = make_plan(ctx, &p, device, half ? "symmetric" : "bsr", NULL);
            for (int repeat = 0; repeat < 2; repeat++) {
                multiply(&p, plan, 1.5, 0);
                if (!first) {
                    first = malloc(p.y_bytes);
                    memcpy(first, p.Y.data, p.y_bytes);
                }
                for (int64_t i = 0; i < p.A->rows * 6; i++) {
                    int64_t at = form % 2 ? i % 6 * p.A->rows + i / 6 : i;
                    if (((double *)p.Y.data)[at] != ((double *)first)[i])
                        fail_msg("b=%d on %s, form %d: not the bits of the first run", (int)b,
                                 tess_device_description(device), form);
                }
            }
            tess_plan_destroy(plan);
            tess_device_close(device);
            free_problem(&p);
        }
        free(first);
    }
}

static void a_failed_allocation_leaves_the_plan_usable(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    for (int half = 0; half < 2; half++) {
        problem p = make_problem(symmetric_matrix(ctx, TEST_RAGGED, 20, 3, TESS_F64, 1), 5,
                                 TESS_ORDER_COLUMN_MAJOR, 0, 1);
        tess_plan *plan = make_plan(ctx, &p, device, half ? "symmetric" : "bsr", NULL);
        tess_status status = TESS_ERR_MEMORY;
        for (int64_t n = 0; status != TESS_OK; n++) {
            test_fail_allocation(state, n);
            status = tess_spmm(plan, 5, p.order, 1, p.X.data, p.ldx, 0, p.Y.data, p.ldy);
            test_fail_allocation(state, -1);
            if (status != TESS_OK)
                assert_int_equal(status, TESS_ERR_MEMORY);
        }
        multiply(&p, plan, 1, 0);
        check_result(&p, "after failures", 1, 0);
        tess_plan_destroy(plan);
        free_problem(&p);
    }
    tess_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_agrees_with_ref_for_every_k),
        cmocka_unit_test(any_block_size_agrees_with_ref),
        cmocka_unit_test(results_do_not_depend_on_threads_order_or_run),
        cmocka_unit_test(a_failed_allocation_leaves_the_plan_usable),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
