/* Plans that permute inside, on the fake device. Where the unknowns are numbered by fields and the
 * inner kernel takes vectors by fields, a product is one launch; otherwise it has two passes. */
#include "unit/matrix/hidden.h"
#include "plan/model/model.h"
#include "plan/regrouped.h"
#include "session.h"

static const tess_plan_options on = {
    .effort = TESS_EFFORT_ESTIMATE, .regroup = TESS_REGROUP_ON, .kernel = "sliced"};

/* The generated blocks, numbered by fields or by chance. */
static tess_matrix *hidden_of(tess_ctx *ctx, const char *input, bool fields)
{
    tess_matrix *G;
    if (tess_matrix_generate(ctx, input, &G, NULL) != TESS_OK)
        fail_msg("%s: %s", input, tess_ctx_error(ctx));
    int64_t *perm = fields ? by_fields(G->rows, G->block_height) : by_chance(G->rows, 3);
    tess_matrix *A = hide(ctx, G, perm);
    free(perm);
    tess_matrix_destroy(G);
    return A;
}

/* Full b x b blocks, 24 per row: fewer do not pay for passes at b = 2. */
static tess_matrix *hidden(tess_ctx *ctx, int32_t b, tess_type type, int64_t nodes, bool fields)
{
    char input[96];
    snprintf(input, sizeof input, "gen:random:rows=%d,cols=%d,avg=24,r=%d,c=%d,type=%s", (int)nodes,
             (int)nodes, (int)b, (int)b, tess_type_name(type));
    return hidden_of(ctx, input, fields);
}

/* A vector of A's rows in the device's memory. */
static void *send(void **state, tess_device *device, const tess_matrix *A, const void *from)
{
    const size_t bytes = (size_t)A->rows * tess_type_size(A->type);
    void *to;
    ok(state, tess_device_alloc(device, bytes, &to));
    ok(state, tess_device_copy_to(device, to, from, bytes));
    return to;
}

/* What one product launches, and how many of it are passes. */
typedef struct launched {
    int64_t all, passes;
} launched;

/* y = 1.5 A x + beta y of vectors in device memory, or of A^T; the second of two products counts,
 * the first may make what it needs. */
static launched check_product(void **state, tess_plan *plan, tess_device *device,
                              const tess_matrix *A, bool transpose, double beta, const char *what)
{
    const size_t bytes = (size_t)A->rows * tess_type_size(A->type);
    void *x = test_vector(A->rows, A->type, 3), *y0 = test_vector(A->rows, A->type, 4);
    void *y = test_vector(A->rows, A->type, 4);
    tess_matrix *T;
    launched l = {0};
    ok(state, tess_matrix_transpose(test_ctx(state), A, &T));
    for (int64_t i = 0; beta == 0 && i < A->rows; i++)
        tess_put(y, A->type, i, NAN);
    for (int turn = 0; turn < 2; turn++) {
        void *dx = send(state, device, A, x), *dy = send(state, device, A, y);
        l = (launched){fake->launches, launches_of("permute")};
        ok(state, transpose ? tess_spmv_transpose(plan, 1.5, dx, beta, dy)
                            : tess_spmv(plan, 1.5, dx, beta, dy));
        l = (launched){fake->launches - l.all, launches_of("permute") - l.passes};
        void *result = malloc(bytes);
        ok(state, tess_device_copy_from(device, result, dy, bytes));
        test_check_spmv(what, transpose ? T : A, 1.5, x, beta, y0, result);
        free(result);
        tess_device_free(device, dx);
        tess_device_free(device, dy);
    }
    tess_matrix_destroy(T);
    free(x), free(y0), free(y);
    return l;
}

static void expect(launched l, int64_t all, int64_t passes, const char *what)
{
    if (l.all != all || l.passes != passes)
        fail_msg("%s: %lld launches with %lld passes, not %lld with %lld", what, (long long)l.all,
                 (long long)l.passes, (long long)all, (long long)passes);
}

/* Vectors in host memory; w is y, x or neither. */
static void check_dots(void **state, tess_plan *plan, const tess_matrix *A, const char *what)
{
    for (int which = 0; which < 3; which++) {
        const double beta = which == 1 ? 0 : 0.25;
        void *x = test_vector(A->rows, A->type, 7), *y = test_vector(A->rows, A->type, 8);
        void *before = test_vector(A->rows, A->type, 8), *w = test_vector(A->rows, A->type, 9);
        const void *with = which == 0 ? y : which == 1 ? x : w;
        double dot = NAN, want = 0, size = 0;
        ok(state, tess_spmv_dot(plan, 1, x, beta, y, with, &dot));
        test_check_spmv(what, A, 1, x, beta, before, y);
        for (int64_t i = 0; i < A->rows; i++) {
            const double term = tess_get(y, A->type, i) * tess_get(with, A->type, i);
            want += term;
            size += fabs(term);
        }
        if (!(fabs(dot - want) <= 1e-13 * size))
            fail_msg("%s: dot %d is %.17g, not %.17g", what, which, dot, want);
        free(x), free(y), free(before), free(w);
    }
}

static void check_several(void **state, tess_plan *plan, const tess_matrix *A, const char *what)
{
    enum { K = 2 };
    void *X = test_vector(K * A->rows, A->type, 5), *Y = test_vector(K * A->rows, A->type, 6);
    ok(state, tess_spmm(plan, K, TESS_ORDER_COLUMN_MAJOR, 2, X, A->rows, 0, Y, A->rows));
    for (int v = 0; v < K; v++) {
        const size_t first = (size_t)(v * A->rows) * tess_type_size(A->type);
        test_check_spmv(what, A, 2, (char *)X + first, 0, NULL, (char *)Y + first);
    }
    free(X), free(Y);
}

/* Two fields to sixteen, both precisions, numbers of nodes drawn at random. */
static void a_product_by_fields_is_one_launch(void **state)
{
    static const int32_t sizes[] = {2, 3, 4, 5, 6, 7, 8, 11, 16};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = open_device(state);
    for (uint64_t n = 0; n < 2 * SIZES; n++) {
        const int32_t b = sizes[n / 2];
        const tess_type type = n % 2 ? TESS_F32 : TESS_F64;
        const int64_t nodes = 40 + tess_random_below(n, 0, 80);
        if (!test_takes(n + n / 2)) /* every size in one precision at least */
            continue;
        char what[64];
        snprintf(what, sizeof what, "%d fields of %d, %s", (int)b, (int)nodes,
                 tess_type_name(type));
        tess_matrix *A = hidden(ctx, b, type, nodes, true);
        tess_plan *plan = make_plan(state, A, device, &on);
        if (tess_regrouped_of(plan)->fields != b || !tess_regrouped_of(plan)->fused[0])
            fail_msg("%s: %s", what, tess_plan_explain(plan));
        expect(check_product(state, plan, device, A, false, 0, what), 1, 0, what);
        expect(check_product(state, plan, device, A, false, -0.75, what), 1, 0, what);
        if (n % 5 == 0) {
            expect(check_product(state, plan, device, A, true, -0.75, what), 1, 0, what);
            check_dots(state, plan, A, what);
            check_several(state, plan, A, what);
        }
        tess_plan_destroy(plan);
        tess_matrix_destroy(A);
    }
    tess_device_close(device);
}

/* Kernels without the form, and orders without fields. */
static void other_products_have_two_passes(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = open_device(state);
    for (int fields = 0; fields < 2; fields++) {
        tess_plan_options options = on;
        options.kernel = fields ? "by_block" : "sliced";
        tess_matrix *A = hidden(ctx, 3, TESS_F64, 77, fields);
        tess_plan *plan = make_plan(state, A, device, &options);
        const char *what = fields ? "a kernel without the form" : "a list of rows";
        expect(check_product(state, plan, device, A, false, 0.5, what), 3, 2, what);
        tess_plan_destroy(plan);
        tess_matrix_destroy(A);
    }
    tess_device_close(device);
}

/* A product that reads a vector in host memory returns when y in device memory is complete: with
 * passes and without, alone, with a dot product, and of two vectors. */
static void y_is_complete_where_another_vector_is_the_hosts(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = hidden(test_ctx(state), 3, TESS_F64, 77, true);
    double *x = test_vector(2 * A->rows, TESS_F64, 7);
    void *dx = send(state, device, A, x), *dy;
    double dot;
    ok(state, tess_device_alloc(device, 2 * (size_t)A->rows * sizeof(double), &dy));
    for (int passes = 0; passes < 2; passes++) {
        tess_plan_options options = on;
        options.kernel = passes ? "by_block" : "sliced";
        tess_plan *plan = make_plan(state, A, device, &options);
        ok(state, tess_spmv(plan, 1, x, 0, dy));
        assert_int_equal(fake->done, fake->put);
        ok(state, tess_spmv_transpose(plan, 1, x, 0.5, dy));
        assert_int_equal(fake->done, fake->put);
        ok(state, tess_spmv_dot(plan, 1, dx, 0, dy, x, &dot));
        assert_int_equal(fake->done, fake->put);
        ok(state, tess_spmm(plan, 2, TESS_ORDER_COLUMN_MAJOR, 1, x, A->rows, 0, dy, A->rows));
        assert_int_equal(fake->done, fake->put);
        ok(state, tess_spmv(plan, 1, dx, 0, dy)); /* it does not wait */
        assert_true(fake->done < fake->put);
        tess_plan_destroy(plan);
    }
    tess_device_free(device, dx);
    tess_device_free(device, dy);
    free(x);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

/* Passes are in the price where there are any, and only there. */
static void explanation_and_price_follow(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = open_device(state);
    tess_matrix *A = hidden(ctx, 4, TESS_F64, 61, true);
    for (int fused = 0; fused < 2; fused++) {
        tess_plan_options options = on;
        options.kernel = fused ? "sliced" : "by_block";
        tess_plan *plan = make_plan(state, A, device, &options);
        tess_plan_info info;
        ok(state, tess_plan_get_info(plan, sizeof info, &info));
        const double passes = fused ? 0 : 4 * 8.0 * (double)A->rows;
        assert_true(info.permuted_bytes == passes);
        assert_true(plan->inner->moves > 0 && info.moves == plan->inner->moves + passes);
        const char *text = tess_plan_explain(plan);
        const char *says =
            fused ? "by fields: there are no passes over them" : "x and y are permuted in";
        if (!strstr(text, says))
            fail_msg("'%s' is not in\n%s", says, text);
        const tess_candidate priced = tess_plan_priced(plan->inner);
        assert_int_equal(priced.by_fields, fused);
        tess_plan_destroy(plan);
    }
    tess_matrix_destroy(A);
    tess_device_close(device);
}

/* A search does not count passes. A kernel without passes is taken when it is faster than the
 * chosen kernel with them, by measured times or, without these, by predicted ones. */
static void a_kernel_without_passes_is_preferred(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = open_device(state);
    tess_matrix *A = hidden(ctx, 3, TESS_F64, 90, true);
    tess_plan_options options = on;
    options.kernel = "by_block";
    tess_plan *plan = make_plan(state, A, device, &options);
    tess_regrouped *r = tess_regrouped_of(plan);
    const double passes = r->pass_seconds, t = 1e-5;
    assert_true(passes > 0);
    for (int timed = 0; timed < 2; timed++)
        for (int slow = 0; slow < 2; slow++)
            for (int refused = 0; refused < 2; refused++)
                for (int fields = 0; fields < 2; fields++) {
                    const double other = t + (slow ? 2 : 0.5) * passes;
                    tess_trial trials[2] = {{.candidate = {.predicted = t}},
                                            {.candidate = {.predicted = other, .by_fields = true}}};
                    const tess_search search = {.trials = trials, .count = 2};
                    for (int i = 0; i < 2 && timed; i++) {
                        trials[i].seconds = trials[i].candidate.predicted;
                        trials[i].candidate.predicted = i == 0 ? t : slow ? t / 2 : 2 * other;
                    }
                    trials[1].state = refused ? TESS_TRIAL_REFUSED : TESS_TRIAL_UNTRIED;
                    r->fields = fields ? 3 : 0;
                    const int64_t best = tess_regrouped_fastest(A, r, &search);
                    if (best != (!slow && !refused && fields))
                        fail_msg("timed %d, slow %d, refused %d, fields %d: %d", timed, slow,
                                 refused, fields, (int)best);
                }
    r->fields = 3;
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

/* For any choice of the search, the explanation names a kernel with passes as slower. */
static void the_kernel_with_passes_is_named(void **state)
{
    tess_device *device = open_device(state);
    tess_matrix *A = hidden_of(test_ctx(state), "gen:stencil27:n=4,b=3", true);
    tess_plan_options any = on;
    any.kernel = NULL;
    tess_plan *plan = make_plan(state, A, device, &any);
    const tess_search *search = plan->inner->search;
    const tess_candidate *first = &search->trials[0].candidate;
    const char *text = tess_plan_explain(plan);
    char says[128];
    snprintf(says, sizeof says, "%s alone would be faster, with its passes it is slower",
             first->kernel);
    assert_true(tess_regrouped_of(plan)->fused[0] && plan->inner->moves > 0);
    assert_string_equal(plan->kernel, search->trials[search->chosen].candidate.kernel);
    if ((strstr(text, says) != NULL) == first->by_fields)
        fail_msg("'%s' is%s in\n%s", says, first->by_fields ? "" : " not", text);
    expect(check_product(state, plan, device, A, false, 0.5, "named"), 1, 0, "named");
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

/* The form is verified like any other code: a wrong one is not taken. */
static void a_wrong_form_leaves_the_passes(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = open_device(state);
    tess_matrix *A = hidden(ctx, 3, TESS_F64, 45, true);
    tess_plan_options natural = on;
    natural.regroup = TESS_REGROUP_OFF;
    tess_cache_clear();
    tess_plan *plan = make_plan(state, A, device, &on);
    tess_matrix *B = NULL; /* whose kernel is in the cache alone */
    ok(state, tess_matrix_to_csr(ctx, plan->inner->matrix, TESS_ZEROS_KEEP, &B));
    tess_matrix *blocks;
    ok(state, tess_matrix_to_blocks(ctx, B, &(tess_blocking){3, 3}, &blocks));
    tess_plan_destroy(plan);
    tess_cache_clear();
    plan = make_plan(state, blocks, device, &natural);
    tess_plan_destroy(plan);
    fake->wrong_results = 1;
    plan = make_plan(state, A, device, &on);
    fake->wrong_results = 0;
    assert_false(tess_regrouped_of(plan)->fused[0]);
    expect(check_product(state, plan, device, A, false, 0, "refused"), 3, 2, "refused");
    tess_plan_destroy(plan);
    tess_cache_clear();
    tess_matrix_destroy(B), tess_matrix_destroy(blocks), tess_matrix_destroy(A);
    tess_device_close(device);
}

/* A driver that refuses the kernel at the first product: another kernel, with passes. */
static void a_refused_launch_leaves_the_passes(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = open_device(state);
    tess_matrix *A = hidden_of(ctx, "gen:stencil27:n=6,b=3", true);
    tess_plan_options any = on;
    any.kernel = NULL;
    tess_plan *plan = make_plan(state, A, device, &any);
    assert_string_equal(plan->inner->kernel, "sliced");
    assert_true(tess_regrouped_of(plan)->fused[0]);
    fake->refused = "sliced";
    const launched l = check_product(state, plan, device, A, false, 0.5, "refused launch");
    fake->refused = NULL;
    expect(l, 3, 2, "refused launch");
    tess_plan_info info;
    ok(state, tess_plan_get_info(plan, sizeof info, &info));
    assert_true(info.permuted_bytes > 0);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

/* A plan and a product with every driver call failing once: nothing is left behind, and a product
 * that succeeds is right. */
static void failures_leave_nothing_behind(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = hidden(ctx, 2, TESS_F64, 41, true);
    double *x = test_vector(A->rows, TESS_F64, 1), *y = test_vector(A->rows, TESS_F64, 2);
    tess_device *device = open_device(state);
    assert_non_null(tess_device_performance(device)); /* which the device keeps */
    tess_plan_destroy(make_plan(state, A, device, &on));
    test_plan_allocations(state, A, device, &on);
    tess_device_close(device);
    for (int64_t n = 0; n >= 0;) {
        fake->fail_with = 719;
        fake->fail_at = n;
        tess_plan *plan = NULL;
        tess_status status = tess_device_open(ctx, "cuda", &device);
        const bool opened = status == TESS_OK;
        if (opened)
            status = tess_plan_create(ctx, A, device, &on, &plan);
        if (status == TESS_OK)
            status = tess_spmv(plan, 1, x, 0, y);
        if (status == TESS_OK)
            test_check_spmv("a failed call before", A, 1, x, 0, NULL, y);
        const bool reached = fake->fail_at < 0;
        fake->fail_at = -1;
        tess_plan_destroy(plan);
        if (opened)
            tess_device_close(device);
        assert_int_equal(fake->alive, 0);
        n = reached ? test_next_failure(n) : -1;
        assert_true(reached || status == TESS_OK);
    }
    free(x), free(y);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_product_by_fields_is_one_launch),
        TEST(other_products_have_two_passes),
        TEST(explanation_and_price_follow),
        TEST(a_kernel_without_passes_is_preferred),
        TEST(y_is_complete_where_another_vector_is_the_hosts),
        TEST(the_kernel_with_passes_is_named),
        TEST(a_wrong_form_leaves_the_passes),
        TEST(a_refused_launch_leaves_the_passes),
        TEST(failures_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
