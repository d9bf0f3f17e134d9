/* Every SpMV kernel of every ISA this machine can run, against ref.
 *
 * x, y, the values and their columns end where a page without access begins, so that a read or a
 * write beyond them is a crash and not a wrong number. */
#include "support/support.h"

#include <math.h>
#include <string.h>

#include "core/threads.h"
#include "guarded.h"
#include "ref/ref.h"
#include "plan/model/model.h"

/* ---- One case ---- */

typedef struct problem {
    tess_matrix *A;
    guarded columns, values, x, y0, y;
    size_t y_bytes;
} problem;

static problem make_problem(tess_ctx *ctx, test_pattern pattern, int64_t size, int32_t r, int32_t c,
                            tess_type type, uint64_t seed)
{
    problem p = {.A = test_matrix(ctx, pattern, size, r, c, type, seed)};
    size_t scalar = tess_type_size(type);
    void *x = test_vector(p.A->cols, type, seed + 100),
         *y = test_vector(p.A->rows, type, seed + 200);
    p.y_bytes = (size_t)p.A->rows * scalar;
    p.columns = guarded_copy(p.A->columns, (size_t)p.A->blocks * sizeof(int32_t));
    p.values = guarded_copy(p.A->values, (size_t)tess_matrix_stored(p.A) * scalar);
    p.x = guarded_copy(x, (size_t)p.A->cols * scalar);
    p.y0 = guarded_copy(y, p.y_bytes);
    p.y = guarded_copy(y, p.y_bytes);
    free(x);
    free(y);
    return p;
}

static void free_problem(problem *p)
{
    guarded_free(p->columns);
    guarded_free(p->values);
    guarded_free(p->x);
    guarded_free(p->y0);
    guarded_free(p->y);
    tess_matrix_destroy(p->A);
}

static tess_plan *make_plan(tess_ctx *ctx, const problem *p, tess_device *device,
                            const char *kernel)
{
    tess_plan *plan = NULL;
    const tess_plan_options options = {.kernel = kernel, .effort = TESS_EFFORT_ESTIMATE};
    tess_status status = tess_plan_create(ctx, p->A, device, &options, &plan);
    if (status != TESS_OK)
        fail_msg("%s: %s", kernel ? kernel : "(default)", tess_ctx_error(ctx));
    assert_int_equal(tess_plan_update_values(plan, p->values.data), TESS_OK);
    ((tess_cpu_plan *)plan->state)->matrix.columns = p->columns.data;
    return plan;
}

/* One product from y0 into y. */
static void multiply(const problem *p, tess_plan *plan, double alpha, double beta)
{
    memcpy(p->y.data, p->y0.data, p->y_bytes);
    if (beta == 0)
        memset(p->y.data, 0xff, p->y_bytes); /* NaN in both precisions */
    assert_int_equal(tess_spmv(plan, alpha, p->x.data, beta, p->y.data), TESS_OK);
}

static void check_kernel(tess_ctx *ctx, const problem *p, tess_device *device, const char *kernel,
                         const char *what)
{
    static const double factors[][2] = {{1, 0}, {1, 1}, {-0.5, -0.5}, {0, 1}, {2, 0}, {0, 0}};
    tess_plan *plan = make_plan(ctx, p, device, kernel);
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++) {
        multiply(p, plan, factors[i][0], factors[i][1]);
        test_check_spmv(what, p->A, factors[i][0], p->x.data, factors[i][1], p->y0.data, p->y.data);
    }
    tess_plan_destroy(plan);
}

/* ---- Tests ---- */

static void check_on_every_pattern(tess_ctx *ctx, tess_device *device,
                                   const tess_cpu_kernel *kernel, int32_t r, int32_t c,
                                   int64_t size, uint64_t seed)
{
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++, seed++) {
        if (!test_takes((uint64_t)pattern + seed / 1000))
            continue;
        problem p = make_problem(ctx, (test_pattern)pattern, size, r, c, kernel_type(kernel), seed);
        char what[160];
        snprintf(what, sizeof what, "%s %dx%d %s seed %llu", kernel->name, (int)r, (int)c,
                 test_pattern_name((test_pattern)pattern), (unsigned long long)seed);
        check_kernel(ctx, &p, device, kernel->name, what);
        free_problem(&p);
    }
}

static void check_one_size(tess_ctx *ctx, tess_device *device, const tess_cpu_kernel *kernel,
                           size_t number)
{
    if (kernel->block_height > 0)
        check_on_every_pattern(ctx, device, kernel, kernel->block_height, kernel->block_width, 13,
                               1000 * number);
}

static void every_kernel_agrees_with_ref_on_every_pattern(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:3");
    assert_true(test_every_kernel(ctx, device, TESS_CPU_BSR_SPMV, check_one_size) > 50);
    tess_device_close(device);
}

static void check_any_size(tess_ctx *ctx, tess_device *device, const tess_cpu_kernel *kernel,
                           size_t number)
{
    static const int32_t shapes[][2] = {{1, 1},   {2, 5},   {5, 2},   {3, 3},   {7, 1},
                                        {1, 9},   {17, 3},  {33, 33}, {34, 2},  {47, 5},
                                        {64, 64}, {100, 3}, {3, 100}, {257, 2}, {600, 1}};
    for (size_t i = 0; kernel->block_height == 0 && i < sizeof shapes / sizeof shapes[0]; i++)
        check_on_every_pattern(ctx, device, kernel, shapes[i][0], shapes[i][1], 7,
                               77 + 1000 * number + i);
}

/* The fallback at sizes that have no kernel of their own, and at some that have. */
static void any_block_size_agrees_with_ref(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    test_every_kernel(ctx, device, TESS_CPU_BSR_SPMV, check_any_size);
    tess_device_close(device);
}

/* Enough rows for all streams and for blocks far ahead, of lengths that differ from row to row. */
static void check_many_rows(tess_ctx *ctx, tess_device *device, const tess_cpu_kernel *kernel,
                            size_t number)
{
    static const test_pattern patterns[] = {TEST_RANDOM, TEST_SKEWED, TEST_RAGGED};
    const int32_t r = kernel->block_height, c = kernel->block_width;
    for (size_t i = 0; r > 0 && r <= 16 && i < 3; i++) {
        problem p = make_problem(ctx, patterns[i], 150, r, c, kernel_type(kernel), number);
        check_kernel(ctx, &p, device, kernel->name, kernel->name);
        free_problem(&p);
    }
}

static void every_kernel_agrees_with_ref_on_many_rows(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    test_every_kernel(ctx, device, TESS_CPU_BSR_SPMV, check_many_rows);
    tess_device_close(device);
}

struct nested {
    const problem *p;
    tess_plan *plan;
};

static void multiply_in_share(void *arg, int share)
{
    const struct nested *job = arg;
    if (share == 0)
        multiply(job->p, job->plan, 1.5, -0.5);
}

/* Rows long enough to be cut: the bits are the same for any number of threads and of streams, in
 * every run, and inside a share. */
static void results_do_not_depend_on_threads_streams_or_run(void **state)
{
    static const char *const devices[] = {"cpu:1", "cpu:2", "cpu:3", "cpu:5", "cpu:8"};
    static const char *const forms[] = {"", "_streams2", "_streams3", "_streams4", "_prefetch"};
    static const int32_t sizes[] = {1, 2, 3, 4, 7, 8};
    tess_ctx *ctx = test_ctx(state);
    for (size_t b = 0; b < sizeof sizes / sizeof sizes[0]; b++) {
        problem p = make_problem(ctx, b % 2 ? TEST_DENSE_ROW : TEST_SKEWED, 9000 / sizes[b],
                                 sizes[b], sizes[b], TESS_F64, b);
        void *first = NULL;
        for (size_t d = 0; d < sizeof devices / sizeof devices[0]; d++) {
            tess_device *device = test_device(ctx, devices[d]);
            const tess_cpu_device *cpu = device->state;
            for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
                if ((f == 3 && sizes[b] > 3) || (f == 4 && sizes[b] == 1) ||
                    (f > 0 && cpu->isa == TESS_CPU_SCALAR))
                    continue; /* no such form */
                char name[64];
                snprintf(name, sizeof name, "bsr_spmv_%dx%d_f64_%s%s", (int)sizes[b], (int)sizes[b],
                         tess_cpu_isa_name(cpu->isa), forms[f]);
                tess_plan *plan = make_plan(ctx, &p, device, name);
                for (int repeat = 0; repeat < 3; repeat++) {
                    if (repeat == 2) { /* shares one after the other */
                        tess_parallel(ctx, 2, multiply_in_share, &(struct nested){&p, plan});
                    } else {
                        multiply(&p, plan, 1.5, -0.5);
                    }
                    if (!first) {
                        first = malloc(p.y_bytes);
                        memcpy(first, p.y.data, p.y_bytes);
                        test_check_spmv(name, p.A, 1.5, p.x.data, -0.5, p.y0.data, p.y.data);
                    }
                    if (memcmp(first, p.y.data, p.y_bytes) != 0)
                        fail_msg("%s on %s, run %d: not the bits of the first run", name,
                                 devices[d], repeat);
                }
                tess_plan_destroy(plan);
            }
            tess_device_close(device);
        }
        free(first);
        free_problem(&p);
    }
}

/* The kernel that a plan chooses for scattered columns, if x is too large to stay in a cache. */
static void scattered_columns_are_fetched_ahead(void **state)
{
    static const struct {
        const char *spec;
        bool ahead;
    } cases[] = {{"powerlaw:rows=60000,avg=3,b=3,long=0", true},
                 {"powerlaw:rows=2000,avg=3,b=3,long=0", false},
                 {"stencil7:n=40,b=3", false}};
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_cpu_device *cpu = device->state;
    cpu->id.l2_bytes = 1 << 20;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tess_matrix *A = NULL;
        assert_int_equal(tess_matrix_generate(ctx, cases[i].spec, &A, NULL), TESS_OK);
        const tess_cpu_kernel *best = tess_cpu_best(device, TESS_CPU_BSR_SPMV, A);
        bool arm = cpu->isa == TESS_CPU_NEON || cpu->isa == TESS_CPU_SVE;
        if (best->prefetch != (cases[i].ahead && arm))
            fail_msg("%s: %s", cases[i].spec, best->name);
        tess_matrix_destroy(A);
    }
    tess_device_close(device);
}

static void long_rows_are_cut_among_threads(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    problem p = make_problem(ctx, TEST_SKEWED, 9000, 3, 3, TESS_F64, 5);
    tess_cpu_work work;
    assert_int_equal(tess_cpu_work_create(ctx, p.A, 2, 2, &work), TESS_OK);
    assert_int_equal(work.long_count, 1);
    assert_int_equal(work.long_rows[0].row, p.A->block_rows - 1);
    assert_true(work.pieces >= 8);
    /* Every block is in exactly one share, and no share is far from half of the blocks. */
    int64_t blocks[2] = {0};
    for (int share = 0; share < 2; share++) {
        for (int64_t i = work.first_job[share]; i < work.first_job[share + 1]; i++) {
            const tess_cpu_job *job = &work.jobs[i];
            const int64_t *offsets = p.A->row_offsets;
            if (job->long_row >= 0)
                offsets = work.piece_offsets + work.long_rows[job->long_row].first_offset;
            blocks[share] += offsets[job->bounds[2]] - offsets[job->bounds[0]];
        }
    }
    assert_int_equal(blocks[0] + blocks[1], p.A->blocks);
    assert_true(llabs((long long)(blocks[0] - blocks[1])) < p.A->blocks / 20);
    tess_cpu_work_destroy(&work);
    free_problem(&p);
}

static void dot_comes_with_the_product_and_is_reproducible(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int type = 0; type < 2; type++) {
        problem p = make_problem(ctx, TEST_RANDOM, 4000, 3, 3, (tess_type)type, 11);
        void *w = test_vector(p.A->rows, (tess_type)type, 12);
        double first[2] = {0};
        for (int threads = 1; threads <= 5; threads += 2) {
            tess_device *device = test_threads(ctx, threads);
            tess_plan *plan = make_plan(ctx, &p, device, NULL);
            for (int self = 0; self < 2; self++) {
                double dot, expected = 0, scale = 0;
                const void *left = self ? p.y.data : w;
                assert_int_equal(
                    tess_spmv_dot(plan, 2, p.x.data, 0, p.y.data, self ? NULL : w, &dot), TESS_OK);
                for (int64_t i = 0; i < p.A->rows; i++) {
                    double term = tess_get(left, p.A->type, i) * tess_get(p.y.data, p.A->type, i);
                    expected += term;
                    scale += fabs(term);
                }
                assert_true(fabs(dot - expected) <= 1e-13 * scale);
                if (threads == 1)
                    first[self] = dot;
                assert_true(dot == first[self]);
            }
            tess_plan_destroy(plan);
            tess_device_close(device);
        }
        free(w);
        free_problem(&p);
    }
}

static void bad_names_are_answered_with_near_ones(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = NULL;
    assert_int_equal(tess_device_open(ctx, "cpu:none", &device), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_device_open(ctx, "cpu:0", &device), TESS_ERR_ARGUMENT);
    const char *given = getenv("TESSERA_ISA");
    char cap[16];
    snprintf(cap, sizeof cap, "%s", given ? given : "");
    setenv("TESSERA_ISA", "mmx", 1);
    assert_int_equal(tess_device_open(ctx, "cpu", &device), TESS_ERR_OPTION);
    assert_non_null(strstr(tess_ctx_error(ctx), "avx512"));
    setenv("TESSERA_ISA", "scalar", 1);
    device = test_device(ctx, "cpu:2");
    assert_string_equal(tess_device_description(device), "cpu: 2 threads, scalar");

    tess_matrix *A = test_matrix(ctx, TEST_BANDED, 5, 3, 3, TESS_F64, 1);
    tess_plan *plan = NULL;
    tess_plan_options options = {.kernel = "bsr_spmv_3x3_f64_scaler"};
    assert_int_equal(tess_plan_create(ctx, A, device, &options, &plan), TESS_ERR_ARGUMENT);
    assert_non_null(strstr(tess_ctx_error(ctx), "nearest: 'bsr_spmv_3x3_f64_scalar'"));
    options = (tess_plan_options){.kernel = "bsr_spmv_4x4_f64_scalar"}; /* not these blocks */
    assert_int_equal(tess_plan_create(ctx, A, device, &options, &plan), TESS_ERR_ARGUMENT);
    options = (tess_plan_options){.format = "sliced"};
    assert_int_equal(tess_plan_create(ctx, A, device, &options, &plan), TESS_ERR_UNSUPPORTED);
    options = (tess_plan_options){.kernel = "bsr_spmv_0x0_f64_scalar_lock2"}; /* as it was called */
    assert_int_equal(tess_plan_create(ctx, A, device, &options, &plan), TESS_OK);
    assert_string_equal(plan->kernel, "bsr_spmv_any_f64_scalar_streams2");
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
    setenv("TESSERA_ISA", cap, 1);
}

static void a_failed_allocation_leaves_nothing_behind(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RAGGED, 20, 3, 3, TESS_F64, 1);
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        tess_device *device = NULL;
        tess_plan *plan = NULL;
        status = tess_device_open(ctx, "cpu", &device);
        if (status == TESS_OK)
            status = tess_plan_create(ctx, A, device, NULL, &plan);
        tess_plan_destroy(plan);
        tess_device_close(device);
    } while (test_sweep_goes_on(&sweep, status));
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_agrees_with_ref_on_every_pattern),
        cmocka_unit_test(any_block_size_agrees_with_ref),
        cmocka_unit_test(every_kernel_agrees_with_ref_on_many_rows),
        cmocka_unit_test(scattered_columns_are_fetched_ahead),
        cmocka_unit_test(results_do_not_depend_on_threads_streams_or_run),
        cmocka_unit_test(long_rows_are_cut_among_threads),
        cmocka_unit_test(dot_comes_with_the_product_and_is_reproducible),
        cmocka_unit_test(bad_names_are_answered_with_near_ones),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
