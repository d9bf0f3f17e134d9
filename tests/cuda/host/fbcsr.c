/* Plans with shapes on a GPU, as slices (fbcsr) and as splits: what they extract is what they say,
 * products of every kind, and what cannot be done. */
#include "cuda/kernels/papers/splits.h"
#include "cuda/plan/plan.h"
#include "format/fbcsr/fbcsr.h"
#include "plan/model/model.h"
#include "session.h"

#define INPUT                                                                         \
    "planted:rows=1500,blocks=6,fill=0.95,shapes=32x32/row:32/column:32/diagonal:32/" \
    "antidiagonal:32/5x3"
#define SHAPES "shapes=32x32/row:32/column:32/diagonal:32/antidiagonal:32/5x3/8x4+1"

static tess_matrix *planted(void **state)
{
    tess_matrix *A;
    ok(state, tess_matrix_generate(test_ctx(state), INPUT, &A, NULL));
    return A;
}

static const tess_cuda_layout *layout_of(tess_plan *plan)
{
    return tess_cuda_plan_of(plan)->variants->resident->layout;
}

/* Every entry is counted once, and every way that is used is explained. */
static void check_stored(tess_plan *plan, const tess_matrix *A)
{
    tess_fbcsr_stored stored[TESS_FBCSR_STORED];
    const tess_cuda_layout *layout = layout_of(plan);
    const char *text = tess_plan_explain(plan);
    int64_t entries = 0, cells = 0;
    int count = layout->kind->stored(layout, stored);
    for (int i = 0; i < count; i++) {
        entries += stored[i].entries;
        cells += stored[i].cells;
        assert_true(stored[i].cells >= stored[i].entries);
        if ((strstr(text, stored[i].name) != NULL) < (stored[i].pieces > 0))
            fail_msg("%s is not in:\n%s", stored[i].name, text);
    }
    assert_int_equal(entries, A->blocks);
    assert_int_equal((size_t)cells * tess_type_size(A->type), layout->arrays[layout->values].bytes);
    assert_non_null(strstr(text, layout->name));
    assert_non_null(strstr(text, "x the matrix and vectors)\n"));
    assert_true(plan->memory == (double)tess_cuda_layout_array_bytes(layout));
    assert_true(plan->moves == plan->memory + 8 * (double)(A->rows + A->cols));
}

static void plans_say_what_is_stored(void **state)
{
    static const char *const formats[] = {"fbcsr", "splits"};
    tess_device *device = open_device(state);
    tess_matrix *A = planted(state);
    void *x = test_vector(A->cols, A->type, 5), *y = test_vector(A->rows, A->type, 7);
    for (int i = 0; i < 2; i++) {
        tess_plan *plan = make_plan(state, A, device,
                                    &(tess_plan_options){.format = formats[i], .params = SHAPES});
        assert_string_equal(plan->format, formats[i]);
        assert_string_equal(plan->kernel, formats[i]);
        assert_non_null(strstr(plan->params, SHAPES));
        check_stored(plan, A);
        ok(state, tess_spmv(plan, 1, x, 0, y));
        test_check_spmv(formats[i], A, 1, x, 0, NULL, y);
        check_stored(plan, A);
        tess_plan_destroy(plan);
    }
    free(x), free(y);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

/* The blocks on the device are those that SplitOnce finds with the list's thresholds. */
static void splits_are_those_of_the_format(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = planted(state);
    tess_shape_list list;
    tess_fbcsr *F;
    tess_cuda_layout *layout;
    tess_fbcsr_stored stored[TESS_FBCSR_STORED];
    ok(state, tess_shape_list_parse(ctx, "32x32@0.9,5x3@0.8,diagonal:8@0.5,row:4", &list));
    ok(state, tess_fbcsr_create(ctx, A, &list, &F));
    ok(state,
       tess_cuda_layout_create(ctx, A, "splits:32x32@0.9/5x3@0.8/diagonal:8@0.5/row:4", &layout));
    int count = layout->kind->stored(layout, stored);
    assert_int_equal(count, F->splits + 1);
    assert_true(F->splits > 2);
    const char *values = layout->arrays[layout->values].host;
    for (int s = 0; s < F->splits; s++) {
        const tess_fbcsr_split *split = &F->split[s];
        size_t bytes = (size_t)(split->blocks * tess_shape_cells(&split->shape)) * 8;
        assert_string_equal(stored[s].name, split->shape.name);
        assert_int_equal(stored[s].pieces, split->blocks);
        assert_int_equal(stored[s].entries, split->nonzeros);
        assert_memory_equal(values, split->values, bytes);
        values += bytes;
    }
    assert_memory_equal(values, F->rest->values, (size_t)F->rest->blocks * 8);
    tess_cuda_layout_destroy(layout);
    tess_fbcsr_destroy(F);
    tess_matrix_destroy(A);
}

/* Diagonal, and rows of many entries: 3 has all columns, 5 every other one of the first, 8 as many
 * as are not cut, 9 one more, 11 the first ones. Row 3 has more segments than a thread block has
 * threads. */
static tess_matrix *with_long_rows(void **state, tess_type type)
{
    enum { ROWS = 40, COLS = 70000, SOME = 3000 };
    static const struct {
        int32_t row, step, entries;
    } rows[] = {{3, 1, COLS},
                {5, 2, SOME},
                {8, 2, TESS_SPLITS_LONG},
                {9, 2, TESS_SPLITS_LONG + 1},
                {11, 1, SOME}};
    tess_matrix *A;
    int64_t k = 0;
    const int64_t entries = COLS + 2 * SOME + 2 * TESS_SPLITS_LONG + 1 + ROWS - 5;
    ok(state, tess_matrix_allocate(test_ctx(state), type, ROWS, COLS, 1, 1, entries, &A));
    for (int32_t row = 0, next = 0; row < ROWS; row++) {
        if (next < 5 && rows[next].row == row) {
            for (int32_t j = 0; j < rows[next].entries; j++)
                A->columns[k++] = j * rows[next].step;
            next++;
        } else {
            A->columns[k++] = row;
        }
        A->row_offsets[row + 1] = k;
    }
    assert_int_equal(k, A->blocks);
    void *values = test_vector(k, type, 11);
    memcpy(A->values, values, (size_t)k * tess_type_size(type));
    free(values);
    return A;
}

/* In the remainder and in splits of rows, with the same bits each time. */
static void long_rows_of_splits_are_cut(void **state)
{
    static const struct {
        const char *shapes;
        int32_t rows, segments;
    } cases[] = {
        /* 3: 2187 blocks of 32 and 16 entries; 11: 93 and 24; 5 and 9: entries. */
        {"shapes=row:32@1/column:8@1", 4, 137 + 6 + 6 + 3},
        {"shapes=column:8@1", 4, 137 + 6 + 6 + 3}, /* entries alone */
    };
    tess_device *device = open_device(state);
    for (int i = 0; i < 2; i++) {
        const tess_type type = i ? TESS_F32 : TESS_F64;
        tess_matrix *A = with_long_rows(state, type);
        tess_plan *plan = make_plan(
            state, A, device, &(tess_plan_options){.kernel = "splits", .params = cases[i].shapes});
        const tess_cuda_layout *layout = layout_of(plan);
        const size_t bytes = (size_t)A->rows * tess_type_size(type);
        void *x = test_vector(A->cols, type, 1), *before = test_vector(A->rows, type, 2);
        void *y = test_vector(A->rows, type, 2), *again = test_vector(A->rows, type, 2);
        assert_int_equal(layout->arrays[SPLITS_LONG_ROWS].bytes, 4 * cases[i].rows);
        assert_int_equal(layout->arrays[SPLITS_SEGMENT_VALUES].bytes, 8 * cases[i].segments);
        ok(state, tess_spmv(plan, -0.5, x, 2, y));
        test_check_spmv(cases[i].shapes, A, -0.5, x, 2, before, y);
        ok(state, tess_spmv(plan, -0.5, x, 2, again));
        assert_memory_equal(y, again, bytes);
        memset(y, 0xff, bytes); /* not a number */
        ok(state, tess_spmv(plan, 1, x, 0, y));
        test_check_spmv(cases[i].shapes, A, 1, x, 0, NULL, y);
        memcpy(y, before, bytes);
        ok(state, tess_spmv(plan, 3, x, 1, y));
        test_check_spmv(cases[i].shapes, A, 3, x, 1, before, y);
        free(x), free(y), free(before), free(again);
        tess_plan_destroy(plan);
        tess_matrix_destroy(A);
    }
    tess_device_close(device);
}

/* A^T, several vectors, a dot product and new values, from the host and on the device. */
static void every_product_of_splits_agrees_with_ref(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = open_device(state);
    tess_matrix *A = planted(state), *T;
    tess_plan *plan =
        make_plan(state, A, device, &(tess_plan_options){.kernel = "splits", .params = SHAPES});
    double *x = test_vector(2 * A->cols, A->type, 1), *y = test_vector(2 * A->rows, A->type, 2);
    double *before = test_vector(2 * A->rows, A->type, 2);
    ok(state, tess_spmv(plan, -0.5, x, 2, y));
    test_check_spmv("spmv", A, -0.5, x, 2, before, y);
    ok(state, tess_matrix_transpose(ctx, A, &T));
    ok(state, tess_spmv_transpose(plan, 1, x, 0, y));
    test_check_spmv("transpose", T, 1, x, 0, NULL, y);
    ok(state, tess_spmm(plan, 2, TESS_ORDER_COLUMN_MAJOR, 1, x, A->cols, 0, y, A->rows));
    test_check_spmv("spmm", A, 1, x + A->cols, 0, NULL, y + A->rows);
    double dot = 0, want = 0;
    ok(state, tess_spmv_dot(plan, 1, x, 0, y, NULL, &dot));
    for (int64_t i = 0; i < A->rows; i++)
        want += y[i] * y[i];
    assert_true(fabs(dot - want) <= 1e-12 * want);
    void *values = test_vector(A->blocks, A->type, 9), *old = A->values, *there;
    for (int on_device = 0; on_device < 2; on_device++) {
        ok(state, tess_device_alloc(device, (size_t)A->blocks * 8, &there));
        ok(state, tess_device_copy_to(device, there, values, (size_t)A->blocks * 8));
        ok(state, tess_plan_update_values(plan, on_device ? there : values));
        ok(state, tess_spmv(plan, 1, x, 0, y));
        A->values = values;
        test_check_spmv(on_device ? "values on the device" : "new values", A, 1, x, 0, NULL, y);
        A->values = old;
        tess_device_free(device, there);
        ok(state, tess_plan_update_values(plan, old));
    }
    free(x), free(y), free(before), free(values);
    tess_plan_destroy(plan);
    tess_matrix_destroy(T);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static int candidates_with(tess_device *device, const tess_matrix *A, const char *kernel)
{
    const tess_product product = {
        .kind = TESS_PRODUCT_SPMV, .effort = TESS_EFFORT_MEASURE, .shapes = true};
    tess_candidates list = {0};
    int found = 0;
    assert_int_equal(tess_candidates_list(device, A, &product, &list), TESS_OK);
    for (int64_t i = 0; i < list.count; i++) {
        if (strcmp(list.items[i].kernel, kernel) != 0)
            continue;
        assert_true(list.items[i].bytes > list.items[i].memory && list.items[i].memory > 0);
        found++;
    }
    tess_candidates_free(device->ctx, &list);
    return found;
}

/* A search measures the faster form. The other asks for 1 x 1 blocks. */
static void splits_are_there_to_be_asked_for(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = open_device(state);
    tess_matrix *A;
    tess_plan *plan;
    ok(state, tess_matrix_generate(ctx, "stencil7:n=8,b=1", &A, NULL));
    assert_true(candidates_with(device, A, "fbcsr") > 0);
    assert_int_equal(candidates_with(device, A, "splits"), 0);
    tess_matrix_destroy(A);
    A = test_matrix(ctx, TEST_BANDED, 12, 3, 3, TESS_F64, 1);
    const tess_plan_options options = {.kernel = "splits"};
    assert_int_equal(tess_plan_create(ctx, A, device, &options, &plan), TESS_ERR_UNSUPPORTED);
    assert_text(state, "format splits is made from 1 x 1 blocks, the matrix has 3 x 3");
    tess_matrix_destroy(A);
    tess_device_close(device);
}

static void a_layout_that_fails_leaves_nothing_behind(void **state)
{
    tess_matrix *A = planted(state);
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        tess_cuda_layout *layout = NULL;
        status =
            tess_cuda_layout_create(test_ctx(state), A, "splits:32x32/diagonal:32/row:4", &layout);
        tess_cuda_layout_destroy(layout);
    } while (test_sweep_goes_on(&sweep, status));
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(plans_say_what_is_stored),         TEST(splits_are_those_of_the_format),
        TEST(long_rows_of_splits_are_cut),      TEST(every_product_of_splits_agrees_with_ref),
        TEST(splits_are_there_to_be_asked_for), TEST(a_layout_that_fails_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
