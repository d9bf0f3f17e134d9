/* Format fbcsr in plans: made and explained, new values, the other products, and for which matrices
 * blocks are searched for. */
#include <math.h>
#include <string.h>

#include "backend/shapes.h"
#include "plan/tuner.h"
#include "ref/ref.h"
#include "support/support.h"
#include "plan/model/model.h"

enum { ROWS = 1200 };

/* Five diagonals, a few of them with holes, and one scattered entry per row. */
static tess_matrix *diagonals(tess_ctx *ctx, tess_type type, bool noise)
{
    static const int offsets[] = {-300, -33, 0, 1, 450};
    tess_matrix *A = NULL;
    int64_t k = 0;
    for (int pass = 0; pass < 2; pass++) { /* count, then fill */
        if (pass == 1)
            assert_int_equal(tess_matrix_allocate(ctx, type, ROWS, ROWS, 1, 1, k, &A), TESS_OK);
        k = 0;
        for (int64_t row = 0; row < ROWS; row++) {
            int64_t odd = (row * 37 + 11) % ROWS;
            for (int64_t col = 0; col < ROWS; col++) {
                bool here = noise && col == odd;
                for (int d = 0; d < 5; d++)
                    here |= col - row == offsets[d] && (d != 1 || row % 41 != 0);
                if (here && pass == 1) {
                    A->columns[k] = (int32_t)col;
                    tess_put(A->values, type, k, tess_random_unit(3, (uint64_t)k));
                }
                k += here;
            }
            if (pass == 1)
                A->row_offsets[row + 1] = k;
        }
    }
    return A;
}

static tess_plan *make_plan(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                            const char *params)
{
    tess_plan *plan = NULL;
    const tess_plan_options options = {.format = "fbcsr", .params = params};
    if (tess_plan_create(ctx, A, device, &options, &plan) != TESS_OK)
        fail_msg("%s", tess_ctx_error(ctx));
    assert_string_equal(plan->format, "fbcsr");
    return plan;
}

static void a_plan_says_what_it_extracted(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_matrix *A = diagonals(ctx, TESS_F64, true);
    tess_plan *plan = make_plan(ctx, A, device, "shapes=diagonal:32@0.8/row:8");
    assert_string_equal(plan->params, "shapes=diagonal:32@0.8/row:8");
    const char *text = tess_plan_explain(plan);
    assert_non_null(strstr(text, "format  fbcsr"));
    assert_non_null(strstr(text, "diagonal:32"));
    assert_non_null(strstr(text, "of the non-zeros, fill"));
    assert_non_null(strstr(text, "csr"));
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    /* Chosen by itself: diagonals, and most of the matrix in them. */
    A = diagonals(ctx, TESS_F64, false);
    plan = make_plan(ctx, A, device, NULL);
    assert_non_null(strstr(plan->params, "diagonal:"));
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

/* The matrix is large enough for a search for shapes. Shapes that the user names are not replaced
 * by shapes that the search finds. */
static void parameters_without_a_kernel_are_kept(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_matrix *A;
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=32,b=1", &A, NULL), TESS_OK);
    assert_true(tess_matrix_spmv_bytes(A) > TESS_TUNER_LEAST_BYTES);
    tess_plan *plan = make_plan(ctx, A, device, "shapes=row:8");
    assert_string_equal(plan->params, "shapes=row:8");
    tess_plan_destroy(plan);
    const tess_plan_options options = {.params = "depth=4"};
    assert_int_equal(tess_plan_create(ctx, A, device, &options, &plan), TESS_ERR_OPTION);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void every_product_of_a_plan_agrees_with_ref(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    for (int single = 0; single < 2; single++) {
        tess_type type = single ? TESS_F32 : TESS_F64;
        tess_matrix *A = diagonals(ctx, type, true), *T = NULL;
        tess_plan *plan = make_plan(ctx, A, device, "shapes=diagonal:32/diagonal:8");
        void *x = test_vector(2 * ROWS, type, 1), *y0 = test_vector(2 * ROWS, type, 2);
        void *y = malloc(2 * ROWS * sizeof(double));
        size_t bytes = ROWS * tess_type_size(type);
        memcpy(y, y0, bytes);
        assert_int_equal(tess_spmv(plan, -0.5, x, 2, y), TESS_OK);
        test_check_spmv("spmv", A, -0.5, x, 2, y0, y);
        double dot = 0, want = 0;
        assert_int_equal(tess_spmv_dot(plan, 1, x, 0, y, NULL, &dot), TESS_OK);
        for (int64_t i = 0; i < ROWS; i++)
            want += tess_get(y, type, i) * tess_get(y, type, i);
        assert_true(dot > 0.999999 * want && dot < 1.000001 * want);
        assert_int_equal(tess_matrix_transpose(ctx, A, &T), TESS_OK);
        assert_int_equal(tess_spmv_transpose(plan, 1, x, 0, y), TESS_OK);
        test_check_spmv("transpose", T, 1, x, 0, NULL, y);
        assert_int_equal(tess_spmm(plan, 2, TESS_ORDER_COLUMN_MAJOR, 1, x, ROWS, 0, y, ROWS),
                         TESS_OK);
        test_check_spmv("spmm", A, 1, (const char *)x + bytes, 0, NULL, (const char *)y + bytes);
        /* New values in the same pattern. */
        void *values = test_vector(A->blocks, type, 9), *old = A->values;
        assert_int_equal(tess_plan_update_values(plan, values), TESS_OK);
        A->values = values;
        assert_int_equal(tess_spmv(plan, 1, x, 0, y), TESS_OK);
        test_check_spmv("new values", A, 1, x, 0, NULL, y);
        A->values = old;
        tess_plan_destroy(plan);
        tess_matrix_destroy(A);
        tess_matrix_destroy(T);
        free(x), free(y), free(y0), free(values);
    }
    tess_device_close(device);
}

static void what_a_plan_cannot_do_is_said(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:1");
    tess_matrix *A = diagonals(ctx, TESS_F64, false), *B = NULL;
    tess_plan *plan = NULL;
    tess_plan_options options = {.format = "fbcsr", .params = "shapes=diaganol:32"};
    assert_int_not_equal(tess_plan_create(ctx, A, device, &options, &plan), TESS_OK);
    assert_non_null(strstr(tess_ctx_error(ctx), "diagonal"));
    options.params = "shape=row";
    assert_int_equal(tess_plan_create(ctx, A, device, &options, &plan), TESS_ERR_OPTION);
    assert_non_null(strstr(tess_ctx_error(ctx), "nearest: 'shapes'"));
    options.params = NULL;
    options.kernel = "fbcsr_spmv_f64_mmx";
    assert_int_equal(tess_plan_create(ctx, A, device, &options, &plan), TESS_ERR_ARGUMENT);
    assert_non_null(strstr(tess_ctx_error(ctx), "nearest: 'fbcsr_spmv_f64_"));
    options.kernel = NULL;
    B = test_matrix(ctx, TEST_BANDED, 12, 3, 3, TESS_F64, 1);
    assert_int_equal(tess_plan_create(ctx, B, device, &options, &plan), TESS_ERR_UNSUPPORTED);
    assert_string_equal(tess_ctx_error(ctx),
                        "format fbcsr is made from 1 x 1 blocks, the matrix has 3 x 3");
    assert_null(plan);
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
    tess_device_close(device);
}

static int64_t count_candidates(tess_device *device, const tess_matrix *A)
{
    const tess_product product = {.kind = TESS_PRODUCT_SPMV, .shapes = true};
    tess_candidates list = {0};
    int64_t found = 0;
    assert_int_equal(tess_candidates_list(device, A, &product, &list), TESS_OK);
    for (int64_t i = 0; i < list.count; i++)
        found += strcmp(list.items[i].format, "fbcsr") == 0;
    tess_candidates_free(device->ctx, &list);
    return found;
}

static void it_is_a_candidate_where_the_pattern_promises_something(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:1");
    tess_matrix *A = diagonals(ctx, TESS_F64, false);
    assert_true(tess_shapes_promising(A));
    assert_int_equal(count_candidates(device, A), 1);
    tess_matrix_destroy(A);
    static const struct {
        const char *text;
        bool promising;
    } cases[] = {
        {"powerlaw:rows=20000,avg=6,b=1", false},
        {"random:rows=5000,cols=5000,avg=8", false},
        {"stencil27:n=20,b=1", true},
        {"stencil7:n=20,b=1", true},
        {"stencil27:n=8,b=3", false}, /* blocked already */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(tess_matrix_generate(ctx, cases[i].text, &A, NULL), TESS_OK);
        if (tess_shapes_promising(A) != cases[i].promising)
            fail_msg("%s is%s promising", cases[i].text, cases[i].promising ? " not" : "");
        if (!cases[i].promising)
            assert_int_equal(count_candidates(device, A), 0);
        tess_matrix_destroy(A);
    }
    A = test_matrix(ctx, TEST_EMPTY, 5, 1, 1, TESS_F64, 1);
    assert_false(tess_shapes_promising(A));
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void its_price_is_what_the_format_then_takes(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = diagonals(ctx, TESS_F64, false);
    tess_fbcsr_options shapes;
    tess_fbcsr *F;
    tess_candidate candidate = {0};
    assert_int_equal(tess_shapes_choose(ctx, A, "", false, &shapes), TESS_OK);
    assert_true(shapes.count > 0 && shapes.saved > 0.1 && shapes.saved < 0.4);
    tess_shapes_price(&shapes, A, false, &candidate);
    assert_string_equal(candidate.class_name, "fbcsr lines");
    assert_int_equal(tess_fbcsr_create(ctx, A, &shapes, &F), TESS_OK);
    double taken = (double)tess_fbcsr_bytes(F);
    if (fabs(candidate.memory / taken - 1) > 0.1)
        fail_msg("priced at %g bytes, takes %g", candidate.memory, taken);
    assert_true(candidate.bytes == candidate.memory + 16.0 * ROWS);
    tess_fbcsr_destroy(F);
    tess_matrix_destroy(A);
}

/* A full first row, a full first column and the diagonal: the sample must have more than the first
 * row. */
static void one_long_row_is_not_all_that_is_seen(void **state)
{
    enum { ORDER = 40000 };
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    tess_fbcsr_options shapes;
    assert_int_equal(tess_matrix_allocate(ctx, TESS_F64, ORDER, ORDER, 1, 1, 3 * ORDER - 2, &A),
                     TESS_OK);
    int64_t k = 0;
    for (int64_t row = 0; row < ORDER; row++) {
        for (int64_t col = 0; col < (row == 0 ? ORDER : 1); col++)
            A->columns[k++] = (int32_t)col;
        if (row > 0)
            A->columns[k++] = (int32_t)row;
        A->row_offsets[row + 1] = k;
    }
    assert_int_equal(tess_shapes_look(ctx, A, false, &shapes), TESS_OK);
    bool diagonal = false;
    for (int i = 0; i < shapes.count; i++)
        diagonal = diagonal || strncmp(shapes.shape[i].name, "diagonal", 8) == 0;
    assert_true(diagonal);
    tess_matrix_destroy(A);
}

static void lists_that_are_too_long_lose_their_end(void **state)
{
    char text[24];
    tess_fbcsr_options shapes;
    assert_int_equal(tess_shapes_read(test_ctx(state), "row:32/4x4@0.75/diagonal:8/2x2", &shapes),
                     TESS_OK);
    assert_int_equal(shapes.count, 4);
    tess_shapes_write(&shapes, text, sizeof text);
    assert_string_equal(text, "row:32/4x4@0.75");
    assert_int_equal(shapes.count, 2);
}

static void a_failed_allocation_leaves_nothing_behind(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = diagonals(ctx, TESS_F64, true);
    tess_device *device = test_device(ctx, "cpu:1");
    test_plan_allocations(state, A, device,
                          &(tess_plan_options){.format = "fbcsr", .params = "shapes=diagonal:32"});
    tess_device_close(device);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_says_what_it_extracted),
        cmocka_unit_test(parameters_without_a_kernel_are_kept),
        cmocka_unit_test(every_product_of_a_plan_agrees_with_ref),
        cmocka_unit_test(what_a_plan_cannot_do_is_said),
        cmocka_unit_test(it_is_a_candidate_where_the_pattern_promises_something),
        cmocka_unit_test(its_price_is_what_the_format_then_takes),
        cmocka_unit_test(one_long_row_is_not_all_that_is_seen),
        cmocka_unit_test(lists_that_are_too_long_lose_their_end),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
