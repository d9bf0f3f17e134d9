/* On a real GPU: every kernel with its tuning corners on awkward matrices against ref, twice with
 * the same bits, and all the ways to call a product. Skipped where there is no GPU.
 *
 *     test_cuda_device            everything
 *     test_cuda_device N/M [KERNEL]
 *                                 the N-th of M equal parts of the variants (of one kernel): all M,
 *                                 side by side, are the whole list in the time of one, also under
 *                                 compute-sanitizer
 *     test_cuda_device alone      what needs the device for itself: its memory filled, timings
 *     test_cuda_device list       how many variants there are
 *
 * TEST_FEW=2 in the environment: each variant on the first matrix that it fits only, where a
 * checker makes every launch slow. With the kernels in the cache, from a run without it, that is
 * affordable for the whole list.
 */
#include <math.h>
#include <string.h>

#include "complex_products.h"
#include "device.h"
#include "ref/ref.h"
#include "variants.h"

enum { MOST = 4096 };

tess_device *device;
static int part = 0, parts = 1; /* of the variants */
static const char *only;        /* one kernel's name; NULL: all */
static bool few;                /* TEST_FEW */

static void check_spmm(void **state, tess_plan *plan, const tess_matrix *A, int k, bool row_major,
                       const char *what)
{
    int64_t ldx = row_major ? k + 1 : A->cols + 1, ldy = row_major ? k + 2 : A->rows + 2;
    int64_t x_count = row_major ? A->cols * ldx : k * ldx;
    int64_t y_count = row_major ? A->rows * ldy : k * ldy;
    void *X = test_vector(x_count, A->type, 1), *Y = test_vector(y_count, A->type, 2);
    void *Y0 = test_vector(y_count, A->type, 2);
    void *x = test_vector(A->cols, A->type, 3), *y = test_vector(A->rows, A->type, 4);
    void *y0 = test_vector(A->rows, A->type, 4);
    ok(state,
       tess_spmm(plan, k, row_major ? TESS_ORDER_ROW_MAJOR : TESS_ORDER_COLUMN_MAJOR, -0.5, X, ldx,
                 2, Y, ldy),
       what);
    for (int v = 0; v < k; v++) {
        for (int64_t i = 0; i < A->cols; i++)
            tess_copy_scalar(A->type, x, i, X, row_major ? i * ldx + v : v * ldx + i);
        for (int64_t i = 0; i < A->rows; i++) {
            int64_t at = row_major ? i * ldy + v : v * ldy + i;
            tess_copy_scalar(A->type, y, i, Y, at);
            tess_copy_scalar(A->type, y0, i, Y0, at);
        }
        test_check_spmv(what, A, -0.5, x, 2, y0, y);
    }
    free(X), free(Y), free(Y0), free(x), free(y), free(y0);
}

static void check_dot(void **state, tess_plan *plan, const tess_matrix *A, const char *what)
{
    void *x = test_vector(A->cols, A->type, 1), *y = test_vector(A->rows, A->type, 2);
    void *w = test_vector(A->rows, A->type, 3);
    double dot = -1, again = -2, sum = 0, scale = 0;
    ok(state, tess_spmv_dot(plan, 1, x, 0, y, w, &dot), what);
    test_check_spmv(what, A, 1, x, 0, NULL, y);
    for (int64_t i = 0; i < A->rows; i++) {
        double product = tess_get(w, A->type, i) * tess_get(y, A->type, i);
        sum += product;
        scale += product < 0 ? -product : product;
    }
    double error = sum > dot ? sum - dot : dot - sum;
    if (!(error <= 1e-6 * scale + 1e-30))
        fail_msg("%s: dot = %.17g, ref says %.17g", what, dot, sum);
    ok(state, tess_spmv_dot(plan, 1, x, 0, y, w, &again), what);
    if (memcmp(&dot, &again, sizeof dot) != 0)
        fail_msg("%s: two dots differ", what);
    free(x), free(y), free(w);
}

static void *by_fields(const tess_matrix *A, int32_t block, int64_t count, bool back,
                       const void *from)
{
    void *to = malloc((size_t)(count + 1) * tess_type_size(A->type));
    tess_permute_blocks(A->type, count, block, back, from, to);
    return to;
}

/* Vectors by fields, also with a dot product: right, and the same bits twice. */
static void check_fields(void **state, tess_plan *plan, const tess_matrix *A, bool with_dot,
                         const char *what)
{
    const int32_t r = A->block_height, c = A->block_width;
    void *x = test_vector(A->cols, A->type, 1), *y0 = test_vector(A->rows, A->type, 2);
    void *x_fields = by_fields(A, c, A->cols, false, x), *y[2];
    double dot[2] = {0, 0}, sum = 0;
    for (int turn = 0; turn < 2; turn++) {
        void *y_fields = by_fields(A, r, A->rows, false, y0);
        const tess_fields_product product = {.alpha = -0.5,
                                             .beta = 2,
                                             .x = x_fields,
                                             .y = y_fields,
                                             .dot = with_dot ? &dot[turn] : NULL};
        bool done = false;
        ok(state, device->backend->fields_multiply(plan, &product, &done), what);
        if (!done)
            fail_msg("%s: no product of vectors by fields", what);
        y[turn] = by_fields(A, r, A->rows, true, y_fields);
        free(y_fields);
    }
    test_check_spmv(what, A, -0.5, x, 2, y0, y[0]);
    for (int64_t i = 0; with_dot && i < A->rows; i++)
        sum += tess_get(y[0], A->type, i) * tess_get(y[0], A->type, i);
    if (!(fabs(dot[0] - sum) <= 1e-6 * sum))
        fail_msg("%s: dot = %.17g, ref says %.17g", what, dot[0], sum);
    if (memcmp(y[0], y[1], vector_bytes(A, A->rows)) != 0 || memcmp(&dot[0], &dot[1], 8) != 0)
        fail_msg("%s: two products differ", what);
    free(x), free(y0), free(x_fields), free(y[0]), free(y[1]);
}

/* One variant on one matrix, if it fits there. */
static bool run_case(void **state, const test_variant *v, test_pattern pattern, int64_t size)
{
    tess_cuda_problem problem;
    char what[512], params[256];
    const tess_cuda_problem *like = &v->problem;
    bool ragged = like->cols % like->block_width != 0;
    if (ragged && pattern == TEST_RANDOM)
        pattern = TEST_RAGGED;
    tess_matrix *A = test_matrix(test_ctx(state), pattern, size, like->block_height,
                                 like->block_width, like->type, 77);
    tess_cuda_describe_problem(tess_cuda_of(device), A, &problem);
    problem.vectors = like->vectors;
    problem.row_major = like->row_major;
    problem.fields = like->fields;
    memcpy(problem.shapes, like->shapes, sizeof problem.shapes);
    bool fits = tess_cuda_fits(v->kernel, &problem, v->params) &&
                (!like->fields || tess_cuda_kernel_by_fields(v->kernel, &problem));
    if (fits) {
        tess_cuda_write_all(v->kernel, &problem, v->params, params, sizeof params);
        snprintf(what, sizeof what, "%s %s, %s, %dx%d %s, k=%d%s%s", v->kernel->name, params,
                 test_pattern_name(pattern), (int)like->block_height, (int)like->block_width,
                 tess_type_name(like->type), like->vectors, like->row_major ? " by rows" : "",
                 like->fields ? " by fields" : "");
        tess_plan_options options = {.kernel = v->kernel->name, .params = params};
        tess_plan *plan;
        ok(state, tess_plan_create(test_ctx(state), A, device, &options, &plan), what);
        if (like->fields) {
            check_fields(state, plan, A, v->kernel->op == TESS_CUDA_SPMV_DOT, what);
        } else if (v->kernel->op == TESS_CUDA_SPMM) {
            check_spmm(state, plan, A, like->vectors, like->row_major, what);
        } else if (v->kernel->op == TESS_CUDA_SPMV_DOT) {
            check_dot(state, plan, A, what);
        } else {
            check_spmv(state, plan, A, 1, 0, what);
            check_spmv(state, plan, A, -0.5, 2, what);
        }
        if (v->kernel->op == TESS_CUDA_SPMV && tess_is_complex(A->type))
            test_complex_products(test_ctx(state), device, plan, A, 0, what);
        tess_plan_destroy(plan);
    }
    tess_matrix_destroy(A);
    return fits;
}

static void every_kernel_variant_matches_ref(void **state)
{
    static test_variant variants[MOST];
    int number = 0, all = 0, ran = 0;
    for (int k = 0; k < tess_cuda_kernel_count; k++) {
        const tess_cuda_kernel *kernel = tess_cuda_kernels[k];
        test_pairs pairs = test_variants_pairs(kernel, variants, MOST);
        int mine = 0, cases = 0;
        double start = tess_seconds();
        if (only && strcmp(kernel->name, only) != 0)
            continue;
        assert_true(pairs.variants <= MOST);
        for (int i = 0; i < pairs.variants; i++) {
            if (number++ % parts != part)
                continue;
            const test_variant *v = &variants[i];
            int64_t size = 2 + 2000 / (v->problem.block_height + v->problem.block_width);
            size = size > 300 ? 300 : size;
            int before = cases;
            cases += run_case(state, v, TEST_DENSE_ROW, size);
            if (!few || cases == before)
                cases += run_case(state, v, TEST_RANDOM, size);
            for (int p = 0; p < 3 && (!few || cases == before); p++)
                cases += run_case(state, v, (test_pattern)((i + 4 * p) % TEST_PATTERNS), 37);
            if (cases == before) /* rows long enough to be cut */
                cases += run_case(state, v, TEST_DENSE_ROW, 140);
            if (cases == before) /* or to be worth a thread block */
                cases += run_case(state, v, TEST_ONE_ROW, 300);
            mine++;
            ran += cases > before;
        }
        print_message("%-24s %4d of %4d variants (%d pairs of values), %5d products, %.1f s\n",
                      kernel->name, mine, pairs.variants, pairs.covered, cases,
                      tess_seconds() - start);
        all += mine;
        if (cases == 0 && parts == 1)
            fail_msg("kernel %s was never run", kernel->name);
    }
    print_message("part %d of %d: %d of %d variants fitted a matrix and ran, %d in the list\n",
                  part + 1, parts, ran, all, number);
    assert_true(ran > 0 || only);
}

static int list_variants(void)
{
    static test_variant variants[MOST];
    int all = 0, pairs_all = 0;
    for (int k = 0; k < tess_cuda_kernel_count; k++) {
        const tess_cuda_kernel *kernel = tess_cuda_kernels[k];
        test_pairs pairs = test_variants_pairs(kernel, variants, MOST);
        double sets = 1;
        for (int i = 0; i < kernel->param_count; i++)
            sets *= kernel->params[i].count;
        printf(
            "%-24s %4d variants of %8.0f sets of parameters: %4d pairs of values, %2d that never "
            "go together\n",
            kernel->name, pairs.variants, sets, pairs.covered, pairs.impossible);
        all += pairs.variants;
        pairs_all += pairs.covered;
    }
    printf("%d variants, %d pairs\n", all, pairs_all);
    return 0;
}

static bool has_spmm(void)
{
    for (int k = 0; k < tess_cuda_kernel_count; k++)
        if (tess_cuda_kernels[k]->op == TESS_CUDA_SPMM)
            return true;
    return false;
}

static void default_plans_match_ref_in_all_products(void **state)
{
    static const int32_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 24, 32, 48, 64};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        if (only || (int)s % parts != part)
            continue;
        for (tess_type type = TESS_F64; tess_type_exists(type); type++) {
            char what[64];
            snprintf(what, sizeof what, "default plan, b=%d %s", (int)sizes[s],
                     tess_type_name(type));
            tess_matrix *A = test_matrix(test_ctx(state), TEST_DENSE_ROW, 20 + 600 / sizes[s],
                                         sizes[s], sizes[s], type, 5);
            tess_matrix *At;
            tess_plan *plan;
            ok(state, tess_plan_create(test_ctx(state), A, device, NULL, &plan), what);
            check_spmv(state, plan, A, 1, 0, what);
            if (tess_is_complex(type)) {
                test_complex_products(test_ctx(state), NULL, plan, A, 8, what);
                test_complex_products(test_ctx(state), device, plan, A, 33, what);
            } else {
                check_dot(state, plan, A, what);
            }
            check_spmm(state, plan, A, 2, false, what);
            if (has_spmm()) /* without one, vectors by columns are taken one by one */
                check_spmm(state, plan, A, 8, true, what);
            check_spmm(state, plan, A, 33, false, what);
            ok(state, tess_matrix_transpose(test_ctx(state), A, &At), what);
            void *x = test_vector(A->rows, type, 1), *y = test_vector(A->cols, type, 2);
            ok(state, tess_spmv_transpose(plan, 1, x, 0, y), what);
            test_check_spmv(what, At, 1, x, 0, NULL, y);
            free(x), free(y);
            tess_matrix_destroy(At);
            tess_plan_destroy(plan);
            tess_matrix_destroy(A);
        }
    }
}

static int start(void **state)
{
    if (test_setup(state) != 0)
        return -1;
    if (tess_device_open(test_ctx(state), "cuda", &device) != TESS_OK) {
        printf("skipped: %s\n", tess_ctx_error(test_ctx(state)));
        exit(77);
    }
    printf("%s\n", tess_device_description(device));
    return 0;
}

static int finish(void **state)
{
    tess_device_close(device);
    return test_teardown(state);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "list") == 0)
        return list_variants();
    bool alone = argc > 1 && strcmp(argv[1], "alone") == 0;
    if (argc > 1 && !alone &&
        (sscanf(argv[1], "%d/%d", &part, &parts) != 2 || part < 1 || part > parts)) {
        fprintf(stderr, "usage: test_cuda_device [N/M [KERNEL] | alone | list], not '%s'\n",
                argv[1]);
        return 2;
    }
    part = parts > 1 || part > 0 ? part - 1 : 0;
    only = argc > 2 ? argv[2] : NULL;
    few = test_few() > 1;
    const struct CMUnitTest products[] = {
        cmocka_unit_test(default_plans_match_ref_in_all_products),
        cmocka_unit_test(every_kernel_variant_matches_ref),
    };
    int failed = 0;
    if (!alone)
        failed += cmocka_run_group_tests(products, start, finish);
    if (!alone && !only && part == 0)
        failed += test_calls(start, finish);
    if (alone || argc == 1) /* a checker has nothing to find there */
        failed += test_alone(start, finish);
    return failed;
}
