/* Every kernel on symmetric storage of every ISA this machine can run, against ref on the whole
 * matrix, and the storage itself. */
#include "support/support.h"

#include <math.h>
#include <string.h>

#include "cpu/update/update.h"
#include "guarded.h"
#include "plan/model/model.h"
#include "support/inverse.h"
#include "symmetric.h"

static tess_plan *make_plan(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                            const char *kernel, bool reproducible)
{
    tess_plan *plan = NULL;
    const tess_plan_options options = {
        .format = "symmetric", .kernel = kernel, .reproducible = reproducible};
    if (tess_plan_create(ctx, A, device, &options, &plan) != TESS_OK)
        fail_msg("%s: %s", kernel ? kernel : "(default)", tess_ctx_error(ctx));
    return plan;
}

static void check_plan(tess_ctx *ctx, tess_device *device, const tess_matrix *A, const char *kernel,
                       bool reproducible, const char *what)
{
    static const double factors[][2] = {{1, 0}, {1, 1}, {-0.5, -0.5}, {0, 1}, {2, 0}, {0, 0}};
    size_t bytes = (size_t)A->rows * tess_type_size(A->type);
    void *x = test_vector(A->rows, A->type, 1), *y0 = test_vector(A->rows, A->type, 2);
    guarded gx = guarded_copy(x, bytes), gy = guarded_copy(y0, bytes);
    tess_plan *plan = make_plan(ctx, A, device, kernel, reproducible);
    for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++) {
        memcpy(gy.data, y0, bytes);
        if (factors[f][1] == 0)
            memset(gy.data, 0xff, bytes); /* NaN in both precisions */
        assert_int_equal(tess_spmv(plan, factors[f][0], gx.data, factors[f][1], gy.data), TESS_OK);
        test_check_spmv(what, A, factors[f][0], x, factors[f][1], y0, gy.data);
    }
    tess_plan_destroy(plan);
    guarded_free(gx);
    guarded_free(gy);
    free(x);
    free(y0);
}

/* Checks a plan for the device's threads, and one that is reproducible for any number of threads,
 * which has windows however small A is. */
static void check_kernel(tess_ctx *ctx, tess_device *device, const tess_matrix *A,
                         const char *kernel, const char *what)
{
    check_plan(ctx, device, A, kernel, false, what);
    check_plan(ctx, device, A, kernel, true, what);
}

static void check_patterns(tess_ctx *ctx, tess_device *device, const tess_cpu_kernel *kernel,
                           size_t number)
{
    static const int32_t others[] = {3, 9, 17, 33};
    int32_t b = kernel->block_height ? kernel->block_height : others[number % 4];
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        if (!test_takes(number + (size_t)pattern))
            continue;
        tess_matrix *A =
            symmetric_matrix(ctx, (test_pattern)pattern, 13, b, kernel_type(kernel), number);
        char what[160];
        snprintf(what, sizeof what, "%s %s seed %zu", kernel->name,
                 test_pattern_name((test_pattern)pattern), number);
        check_kernel(ctx, device, A, kernel->name, what);
        tess_matrix_destroy(A);
    }
}

static void every_kernel_agrees_with_ref_on_every_pattern(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:3");
    assert_true(test_every_kernel(ctx, device, TESS_CPU_SYMMETRIC_SPMV, check_patterns) >= 20);
    tess_device_close(device);
}

/* The device's kernel for A with rows in lanes, or one without. Under a sanitizer there are only
 * scalar kernels, which have lanes for 3 x 3 alone: otherwise a kernel without lanes. */
static const char *kernel_with_lanes(const tess_device *device, const tess_matrix *A, bool lanes)
{
    const tess_cpu_kernel_table *table = tess_cpu_family_table(device, TESS_CPU_SYMMETRIC_SPMV);
    const char *other = NULL;
    for (size_t i = 0; i < table->count; i++) {
        const tess_cpu_kernel *kernel = &table->kernels[i];
        if (!tess_cpu_kernel_applies(kernel, TESS_CPU_SYMMETRIC_SPMV, A) ||
            kernel->block_height == 0)
            continue;
        if ((kernel->lanes > 0) == lanes)
            return kernel->name;
        other = kernel->isa == TESS_CPU_SCALAR ? kernel->name : NULL;
    }
    if (!other)
        fail_msg("no kernel %s lanes", lanes ? "with" : "without");
    return other;
}

/* Large enough for all sixteen chunks and their windows. */
static void reproducible_bits_do_not_depend_on_threads_or_run(void **state)
{
    static const int threads[] = {1, 2, 3, 5, 8};
    tess_ctx *ctx = test_ctx(state);
    for (int turn = 0; turn < 4; turn++) {
        const bool banded = turn % 2 == 1, lanes = turn >= 2;
        tess_matrix *A =
            symmetric_matrix(ctx, banded ? TEST_BANDED : TEST_RANDOM, 1901, 3, TESS_F64, 7);
        size_t bytes = (size_t)A->rows * sizeof(double);
        void *x = test_vector(A->rows, TESS_F64, 5), *first = malloc(bytes), *y = malloc(bytes);
        for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
            tess_device *device = test_threads(ctx, threads[t]);
            tess_plan *plan = make_plan(ctx, A, device, kernel_with_lanes(device, A, lanes), true);
            assert_true(((tess_cpu_plan *)plan->state)->half->chunk_count >= (banded ? 8 : 2));
            for (int run = 0; run < 2; run++) {
                assert_int_equal(tess_spmv(plan, 1.5, x, 0, y), TESS_OK);
                if (t == 0 && run == 0)
                    memcpy(first, y, bytes);
                test_check_spmv(tess_device_description(device), A, 1.5, x, 0, NULL, y);
                if (memcmp(first, y, bytes) != 0)
                    fail_msg("%s, run %d: not the bits of the first run",
                             tess_device_description(device), run);
            }
            assert_int_equal(tess_spmv_transpose(plan, 1.5, x, 0, y), TESS_OK);
            assert_memory_equal(first, y, bytes);
            tess_plan_destroy(plan);
            tess_device_close(device);
        }
        free(x);
        free(y);
        free(first);
        tess_matrix_destroy(A);
    }
}

/* The windows between chunks give the same bits in every run. */
static void there_is_a_chunk_for_each_stream_of_each_thread(void **state)
{
    static const int threads[] = {1, 2, 3, 5};
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = symmetric_matrix(ctx, TEST_BANDED, 1901, 3, TESS_F64, 7);
    size_t bytes = (size_t)A->rows * sizeof(double);
    void *x = test_vector(A->rows, TESS_F64, 5), *first = malloc(bytes), *y = malloc(bytes);
    for (size_t t = 0; t < 2 * sizeof threads / sizeof threads[0]; t++) {
        tess_device *device = test_threads(ctx, threads[t / 2]);
        const char *kernel = kernel_with_lanes(device, A, t % 2 == 1);
        tess_plan *plan = make_plan(ctx, A, device, kernel, false);
        const tess_cpu_half *half = ((tess_cpu_plan *)plan->state)->half;
        assert_int_equal(half->chunk_count, threads[t / 2] * half->kernel->streams);
        assert_int_equal(tess_spmv(plan, 1.5, x, 0, first), TESS_OK);
        test_check_spmv(tess_device_description(device), A, 1.5, x, 0, NULL, first);
        assert_int_equal(tess_spmv(plan, 1.5, x, 0, y), TESS_OK);
        assert_memory_equal(first, y, bytes);
        tess_plan_destroy(plan);
        tess_device_close(device);
    }
    free(x);
    free(y);
    free(first);
    tess_matrix_destroy(A);
}

/* The costs of windows and of streams out of lockstep that the model gets are those of the plan. */
static void costs_are_those_of_the_chunks(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_matrix *A = symmetric_matrix(ctx, TEST_BANDED, 1901, 3, TESS_F64, 7);
    const tess_cpu_kernel_table *table = tess_cpu_family_table(device, TESS_CPU_SYMMETRIC_SPMV);
    for (size_t i = 0; i < table->count; i++) {
        const tess_cpu_kernel *kernel = &table->kernels[i];
        if (!tess_cpu_kernel_applies(kernel, TESS_CPU_SYMMETRIC_SPMV, A) || kernel->lanes > 0)
            continue;
        tess_plan *plan = make_plan(ctx, A, device, kernel->name, false);
        const tess_cpu_half *half = ((tess_cpu_plan *)plan->state)->half;
        const int64_t *offsets = half->mirrors->offsets;
        const tess_cpu_chunk *chunks = half->chunks;
        int64_t windows = 0, alone = 0;
        for (int64_t c = 0; c < half->chunk_count; c++)
            windows += chunks[c].end - chunks[c].last;
        for (int64_t c = 0; kernel->streams == 2 && c < half->chunk_count; c += 2)
            for (int64_t k = chunks[c].first, j = chunks[c + 1].first;
                 k < chunks[c].last && j < chunks[c + 1].last; k++, j++)
                alone +=
                    llabs((long long)(offsets[k + 1] - offsets[k] - offsets[j + 1] + offsets[j]));
        tess_cpu_half_cut cut = tess_cpu_half_cut_of(A, offsets, 2, kernel->streams);
        assert_int_equal(cut.window_rows, windows);
        assert_int_equal(cut.lockstep.alone, alone);
        assert_true((alone > 0) == (kernel->streams > 1));
        tess_plan_destroy(plan);
    }
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void check_new_values(tess_ctx *ctx, bool lanes)
{
    tess_device *device = test_device(ctx, "cpu:2");
    tess_matrix *A = symmetric_matrix(ctx, TEST_RANDOM, 12, 3, TESS_F64, 4);
    tess_matrix *B = symmetric_matrix(ctx, TEST_RANDOM, 12, 3, TESS_F64, 4);
    void *x = test_vector(A->rows, TESS_F64, 5), *y = test_vector(A->rows, TESS_F64, 6);
    tess_plan *plan = make_plan(ctx, A, device, kernel_with_lanes(device, A, lanes), false);
    /* Products with several vectors may keep the matrix in another way. */
    assert_int_equal(tess_spmm(plan, 1, TESS_ORDER_ROW_MAJOR, 1, x, 1, 0, y, 1), TESS_OK);
    test_check_spmv("first values", A, 1, x, 0, NULL, y);
    for (int64_t i = 0; i < tess_matrix_stored(B); i++)
        ((double *)B->values)[i] *= -3;
    assert_int_equal(tess_plan_update_values(plan, B->values), TESS_OK);
    assert_string_equal(plan->format, "symmetric");
    assert_int_equal(tess_spmv(plan, 1, x, 0, y), TESS_OK);
    test_check_spmv("symmetric values", B, 1, x, 0, NULL, y);
    assert_int_equal(tess_spmm(plan, 1, TESS_ORDER_ROW_MAJOR, 1, x, 1, 0, y, 1), TESS_OK);
    test_check_spmv("symmetric values, SpMM", B, 1, x, 0, NULL, y);
    ((double *)B->values)[1] += 1;
    assert_int_equal(tess_plan_update_values(plan, B->values), TESS_OK);
    assert_string_equal(plan->format, "bsr");
    assert_int_equal(tess_spmv(plan, 1, x, 0, y), TESS_OK);
    test_check_spmv("other values", B, 1, x, 0, NULL, y);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
    tess_device_close(device);
    free(x);
    free(y);
}

static void new_values_are_used_symmetric_or_not(void **state)
{
    check_new_values(test_ctx(state), false);
    check_new_values(test_ctx(state), true);
}

/* Each value, above and below the diagonal, is changed in turn: the plan must notice it. */
static void one_number_of_a_pair_is_enough_to_be_stored_whole(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int turn = 0; turn < 8; turn++) {
        const tess_type type = turn % 2 ? TESS_F32 : TESS_F64;
        const bool lanes = turn / 2 % 2;
        tess_device *device = test_device(ctx, turn < 4 ? "cpu:1" : "cpu:3");
        tess_matrix *A = symmetric_matrix(ctx, TEST_RANDOM, 9, 1 + turn % 4, type, 4);
        const int64_t size = (int64_t)A->block_height * A->block_height;
        const size_t bytes = (size_t)tess_matrix_stored(A) * tess_type_size(type);
        void *x = test_vector(A->rows, type, 5), *y = test_vector(A->rows, type, 6);
        void *values = malloc(bytes), *old = A->values;
        const char *kernel = kernel_with_lanes(device, A, lanes);
        for (int64_t i = 0; i < A->block_rows; i++) {
            for (int64_t at = A->row_offsets[i] * size; at < A->row_offsets[i + 1] * size; at++) {
                const int64_t in = at % size, b = A->block_height;
                tess_plan *plan = make_plan(ctx, A, device, kernel, false);
                memcpy(values, old, bytes);
                if (type == TESS_F64)
                    ((double *)values)[at] += 1;
                else
                    ((float *)values)[at] += 1;
                bool middle = A->columns[at / size] == i && in % b == in / b;
                assert_int_equal(tess_plan_update_values(plan, values), TESS_OK);
                assert_string_equal(plan->format, middle ? "symmetric" : "bsr");
                assert_int_equal(tess_spmv(plan, 1, x, 0, y), TESS_OK);
                A->values = values;
                test_check_spmv("changed", A, 1, x, 0, NULL, y);
                A->values = old;
                tess_plan_destroy(plan);
            }
        }
        tess_matrix_destroy(A);
        tess_device_close(device);
        free(x), free(y), free(values);
    }
}

/* Zeros of both signs are equal; a NaN in both places stays where it is. */
static void zeros_and_nans_stay_symmetric(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    for (int lanes = 0; lanes < 2; lanes++) {
        tess_matrix *A = symmetric_matrix(ctx, TEST_BANDED, 12, 2, TESS_F64, 4);
        const char *kernel = kernel_with_lanes(device, A, lanes != 0);
        tess_plan *plan = make_plan(ctx, A, device, kernel, false);
        double *x = test_vector(A->rows, TESS_F64, 5), *y = test_vector(A->rows, TESS_F64, 6);
        double *above = (double *)A->values + tess_matrix_find(A, 3, 4) * 4;
        double *below = (double *)A->values + tess_matrix_find(A, 4, 3) * 4;
        above[1] = 0; /* a(7, 8) */
        below[2] = -0.0;
        assert_int_equal(tess_plan_update_values(plan, A->values), TESS_OK);
        assert_string_equal(plan->format, "symmetric");
        assert_int_equal(tess_spmv(plan, 1, x, 0, y), TESS_OK);
        test_check_spmv("zeros", A, 1, x, 0, NULL, y);
        above[1] = below[2] = NAN;
        assert_int_equal(tess_plan_update_values(plan, A->values), TESS_OK);
        assert_string_equal(plan->format, "symmetric");
        assert_int_equal(tess_spmv(plan, 1, x, 0, y), TESS_OK);
        for (int64_t i = 0; i < A->rows; i++)
            assert_int_equal(isnan(y[i]) != 0, i == 7 || i == 8);
        tess_plan_destroy(plan);
        tess_matrix_destroy(A);
        free(x), free(y);
    }
    tess_device_close(device);
}

static void rows_of_a_grid_are_put_in_lanes_and_others_not(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    const tess_cpu_device *cpu = device->state;
    tess_matrix *grid = NULL, *random = symmetric_matrix(ctx, TEST_RANDOM, 200, 3, TESS_F64, 4);
    assert_int_equal(tess_matrix_generate(ctx, "stencil27:n=12,b=3", &grid, NULL), TESS_OK);
    assert_true(tess_symmetric_lanes_fill(grid, 2) > 0.9);
    assert_true(tess_symmetric_lanes_fill(random, 2) < 0.7);
    const tess_cpu_kernel *best = tess_cpu_best(device, TESS_CPU_SYMMETRIC_SPMV, grid);
    assert_true((cpu->isa != TESS_CPU_NEON && cpu->isa != TESS_CPU_SVE) || best->lanes > 1);
    assert_int_equal(tess_cpu_best(device, TESS_CPU_SYMMETRIC_SPMV, random)->lanes, 0);
    check_kernel(ctx, device, grid, best->name, "27 points");
    tess_matrix_destroy(grid);
    tess_matrix_destroy(random);
    tess_device_close(device);
}

static void what_never_pays_is_doubted_or_not_listed(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    const tess_cpu_isa isa = ((const tess_cpu_device *)device->state)->isa;
    tess_candidates list = {0};
    tess_matrix *A = NULL;
    int lanes = 0;
    assert_int_equal(tess_matrix_generate(ctx, "stencil27:n=12,b=4", &A, NULL), TESS_OK);
    const tess_product product = {.kind = TESS_PRODUCT_SPMV, .format = "symmetric"};
    assert_int_equal(device->backend->candidates(device, A, &product, &list), TESS_OK);
    const bool special = tess_cpu_best(device, TESS_CPU_SYMMETRIC_SPMV, A)->block_height == 4;
    for (int64_t i = 0; i < list.count; i++) {
        const tess_candidate *c = &list.items[i];
        const tess_cpu_kernel *kernel = tess_cpu_find(device, c->format, A, c->kernel);
        lanes += kernel->lanes > 0;
        assert_true(kernel->block_height == 4 ? c->doubt < 2 : !special || c->doubt > 4);
    }
    assert_int_equal(lanes, isa == TESS_CPU_NEON || isa == TESS_CPU_SVE);
    tess_candidates_free(ctx, &list);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void a_matrix_that_is_not_symmetric_is_refused_with_the_place(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = symmetric_matrix(ctx, TEST_BANDED, 6, 2, TESS_F64, 8);
    tess_symmetric_mirrors *M = NULL;
    int64_t k = tess_matrix_find(A, 3, 2); /* rows 6 and 7, columns 4 and 5 */
    ((double *)A->values)[k * 4 + 1] = 4;  /* a(7, 4) */
    ((double *)A->values)[tess_matrix_find(A, 2, 3) * 4 + 2] = 3;
    assert_int_equal(tess_symmetric_mirrors_create(ctx, A, &M), TESS_ERR_MATRIX);
    assert_string_equal(tess_ctx_error(ctx), "symmetric: a(4, 7) = 3, but a(7, 4) = 4");
    assert_false(tess_symmetric_holds(A));
    A->columns[A->row_offsets[1] - 1] = 4; /* block (0, 2) becomes (0, 4) */
    assert_int_equal(tess_symmetric_mirrors_create(ctx, A, &M), TESS_ERR_MATRIX);
    assert_string_equal(tess_ctx_error(ctx),
                        "symmetric: block (0, 4) is stored, but block (4, 0) is not");
    tess_matrix_destroy(A);
    A = test_matrix(ctx, TEST_WIDE, 6, 2, 2, TESS_F64, 1);
    assert_int_equal(tess_symmetric_mirrors_create(ctx, A, &M), TESS_ERR_MATRIX);
    assert_null(M);
    tess_matrix_destroy(A);
}

static void a_failed_allocation_leaves_nothing_behind(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = symmetric_matrix(ctx, TEST_RAGGED, 20, 3, TESS_F64, 1);
    tess_device *device = test_device(ctx, "cpu:2");
    assert_non_null(tess_device_performance(device)); /* which the device keeps */
    test_plan_allocations(state, A, device, &(tess_plan_options){.format = "symmetric"});
    const char *lanes = kernel_with_lanes(device, A, true);
    test_plan_allocations(state, A, device,
                          &(tess_plan_options){.format = "symmetric", .kernel = lanes});
    tess_device_close(device);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_agrees_with_ref_on_every_pattern),
        cmocka_unit_test(reproducible_bits_do_not_depend_on_threads_or_run),
        cmocka_unit_test(there_is_a_chunk_for_each_stream_of_each_thread),
        cmocka_unit_test(costs_are_those_of_the_chunks),
        cmocka_unit_test(new_values_are_used_symmetric_or_not),
        cmocka_unit_test(one_number_of_a_pair_is_enough_to_be_stored_whole),
        cmocka_unit_test(zeros_and_nans_stay_symmetric),
        cmocka_unit_test(rows_of_a_grid_are_put_in_lanes_and_others_not),
        cmocka_unit_test(what_never_pays_is_doubted_or_not_listed),
        cmocka_unit_test(a_matrix_that_is_not_symmetric_is_refused_with_the_place),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
