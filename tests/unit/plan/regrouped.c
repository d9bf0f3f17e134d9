/* Plans that permute inside: every product is that of the caller's matrix in the caller's
 * numbering.
 */
#include "unit/matrix/hidden.h"

#include <math.h>
#include <string.h>

#include "plan/model/model.h"
#include "plan/regrouped.h"

enum { CASES = 24 };

/* A matrix whose blocks are hidden, drawn by its seed: blocks of 2 to 16, f64 or f32, numbered by
 * fields or at random, full or with gaps, with or without empty rows, its rows a multiple of the
 * block size or not. */
typedef struct hidden_case {
    int32_t block;
    bool fields;
    int64_t gaps; /* percent of a block's entries that are missing */
    tess_matrix *A;
} hidden_case;

/* The leading `rows` x `rows` entries of A. */
static tess_matrix *cut(tess_ctx *ctx, const tess_matrix *A, int64_t rows)
{
    int64_t *offsets = calloc((size_t)rows + 1, sizeof *offsets), count = 0;
    int32_t *columns = malloc((size_t)A->blocks * sizeof *columns);
    char *values = malloc((size_t)A->blocks * sizeof(double));
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++)
            if (A->columns[k] < rows) {
                columns[count] = A->columns[k];
                tess_put(values, A->type, count++, tess_matrix_value(A, k));
            }
        offsets[i + 1] = count;
    }
    tess_matrix *B;
    assert_int_equal(tess_matrix_from_csr(ctx, A->type, rows, rows, offsets, columns, values,
                                          TESS_OWNERSHIP_COPY, &B),
                     TESS_OK);
    free(offsets), free(columns), free(values);
    return B;
}

static hidden_case draw(tess_ctx *ctx, uint64_t seed)
{
    const int32_t b = (int32_t)(2 + tess_random_below(seed, 0, 15));
    hidden_case h = {.block = b, .fields = tess_random_below(seed, 1, 2) == 0};
    const int64_t empty = tess_random_below(seed, 3, 2) * 40;
    h.gaps = tess_random_below(seed, 2, 4);
    const int size = b < 6 ? 6 : 4;
    char input[80];
    tess_matrix *G, *S;
    snprintf(input, sizeof input, "gen:stencil27:n=%d,b=%d,type=%s", size, (int)b,
             tess_random_below(seed, 4, 2) ? "f32" : "f64");
    if (tess_matrix_generate(ctx, input, &G, NULL) != TESS_OK)
        fail_msg("%s: %s", input, tess_ctx_error(ctx));
    const int64_t scalars = (int64_t)b * b;
    for (int64_t k = 0; k < G->blocks; k++)
        for (int64_t e = k * scalars; e < (k + 1) * scalars; e++)
            if (tess_random_below(seed + 1, (uint64_t)e, 100) < h.gaps)
                tess_put(G->values, G->type, e, 0);
    for (int64_t i = 0; i < G->block_rows; i++) /* a whole group of rows without entries */
        for (int64_t e = G->row_offsets[i] * scalars;
             empty > 0 && i % empty == 7 && e < G->row_offsets[i + 1] * scalars; e++)
            tess_put(G->values, G->type, e, 0);
    assert_int_equal(tess_matrix_to_csr(ctx, G, TESS_ZEROS_DROP, &S), TESS_OK);
    int64_t *perm = h.fields ? by_fields(S->rows, b) : by_chance(S->rows, seed);
    tess_matrix *hidden = hide(ctx, S, perm);
    const int64_t less = h.fields ? 0 : tess_random_below(seed, 5, 3);
    h.A = cut(ctx, hidden, hidden->rows - less);
    free(perm);
    tess_matrix_destroy(G), tess_matrix_destroy(S), tess_matrix_destroy(hidden);
    return h;
}

static tess_plan *plan_of(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                          tess_regroup regroup)
{
    const tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE, .regroup = regroup};
    tess_plan *plan;
    if (tess_plan_create(ctx, A, device, &options, &plan) != TESS_OK)
        fail_msg("%s", tess_ctx_error(ctx));
    return plan;
}

/* Checks y = alpha A x + beta y, with A and with A^T. With beta = 0 a NaN in y does not matter. */
static void check_vectors(tess_plan *plan, const tess_matrix *A, const tess_matrix *T,
                          const char *what)
{
    for (int transposed = 0; transposed < 2; transposed++)
        for (int add = 0; add < 2; add++) {
            const double beta = add ? -0.75 : 0;
            void *x = test_vector(A->rows, A->type, 3), *y = test_vector(A->rows, A->type, 4);
            void *before = test_vector(A->rows, A->type, 4);
            for (int64_t i = 0; !add && i < A->rows; i++)
                tess_put(y, A->type, i, NAN);
            assert_int_equal(transposed ? tess_spmv_transpose(plan, 1.5, x, beta, y)
                                        : tess_spmv(plan, 1.5, x, beta, y),
                             TESS_OK);
            test_check_spmv(what, transposed ? T : A, 1.5, x, beta, before, y);
            free(x), free(y), free(before);
        }
}

static void *column(const tess_matrix *A, const void *X, bool columns, int64_t ld, int v)
{
    void *x = malloc((size_t)A->rows * sizeof(double));
    for (int64_t i = 0; i < A->rows; i++)
        tess_put(x, A->type, i, tess_get(X, A->type, columns ? v * ld + i : i * ld + v));
    return x;
}

/* Checks products with several vectors. Gaps between vectors keep their values. */
static void check_several(tess_plan *plan, const tess_matrix *A, const char *what, uint64_t seed)
{
    for (int columns = 0; columns < 2; columns++) {
        const int k = 1 + (int)tess_random_below(seed, 6, 9);
        const int64_t least = columns ? A->rows : k, ldx = least + 2, ldy = least + 3;
        const int64_t count = (columns ? k : A->rows) * ldy;
        void *X = test_vector(count, A->type, 5), *Y = test_vector(count, A->type, 6);
        void *before = test_vector(count, A->type, 6);
        assert_int_equal(tess_spmm(plan, k,
                                   columns ? TESS_ORDER_COLUMN_MAJOR : TESS_ORDER_ROW_MAJOR, 2, X,
                                   ldx, 0.5, Y, ldy),
                         TESS_OK);
        for (int v = 0; v < k; v++) {
            void *x = column(A, X, columns, ldx, v), *y = column(A, Y, columns, ldy, v);
            void *was = column(A, before, columns, ldy, v);
            test_check_spmv(what, A, 2, x, 0.5, was, y);
            free(x), free(y), free(was);
        }
        for (int64_t i = 0; i < count; i++)
            if ((columns ? i % ldy >= A->rows : i % ldy >= k) &&
                tess_get(Y, A->type, i) != tess_get(before, A->type, i))
                fail_msg("%s: %lld, between vectors, was written", what, (long long)i);
        free(X), free(Y), free(before);
    }
}

/* Checks products with a dot product by w, which is y, x, or another vector. */
static void check_dots(tess_plan *plan, const tess_matrix *A, const char *what)
{
    for (int which = 0; which < 4; which++)
        for (int add = 0; add < 2; add++) {
            const double beta = add ? 0.25 : 0;
            void *x = test_vector(A->rows, A->type, 7), *y = test_vector(A->rows, A->type, 8);
            void *before = test_vector(A->rows, A->type, 8), *w = test_vector(A->rows, A->type, 9);
            const void *with = which == 0 ? NULL : which == 1 ? y : which == 2 ? x : w;
            double dot = NAN, want = 0, size = 0;
            assert_int_equal(tess_spmv_dot(plan, 1, x, beta, y, with, &dot), TESS_OK);
            test_check_spmv(what, A, 1, x, beta, before, y);
            for (int64_t i = 0; i < A->rows; i++) {
                const double term = tess_get(y, A->type, i) * tess_get(with ? with : y, A->type, i);
                want += term;
                size += fabs(term);
            }
            if (!(fabs(dot - want) <= (A->type == TESS_F64 ? 1e-13 : 1e-5) * size))
                fail_msg("%s: dot %d is %.17g, not %.17g", what, which, dot, want);
            free(x), free(y), free(before), free(w);
        }
}

static void check_products(tess_plan *plan, const tess_matrix *A, const char *what, uint64_t seed)
{
    tess_matrix *T;
    assert_int_equal(tess_matrix_transpose(A->ctx, A, &T), TESS_OK);
    check_vectors(plan, A, T, what);
    check_several(plan, A, what, seed);
    check_dots(plan, A, what);
    tess_matrix_destroy(T);
}

/* Checks that there are at most as many blocks as the natural ones over 0.95. */
static void check_found(tess_plan *plan, const hidden_case *h, const char *what)
{
    tess_plan_info info;
    assert_int_equal(tess_plan_get_info(plan, sizeof info, &info), TESS_OK);
    const tess_matrix *B = plan->inner->matrix;
    const double most = 1 / (1 - (double)h->gaps / 100) / 0.95;
    const double filled = (double)tess_matrix_stored(B) / (double)h->A->blocks;
    const bool fused = tess_regrouped_of(plan)->fused[0]; /* of fields alone */
    if (info.regrouped_block != B->block_height || info.regrouping[0] == '\0' ||
        !(info.moves == 0 || info.moves > info.permuted_bytes) || (fused && !h->fields) ||
        !(fused ? info.permuted_bytes == 0 : info.permuted_bytes > 0) ||
        !strstr(tess_plan_explain(plan), "regroup ") || !(filled <= most))
        fail_msg("%s: blocks of %d, filled up to %.3f: %s", what, (int)info.regrouped_block, filled,
                 info.regrouping);
}

static void products_are_those_of_the_caller(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const char *const devices[] = {"cpu:2", "ref", "cpu:1"};
    for (uint64_t seed = 1; seed <= CASES; seed += test_slowed() ? 5 : 1) {
        tess_device *device = test_device(ctx, devices[seed % 3]);
        hidden_case h = draw(ctx, seed);
        char what[96];
        snprintf(what, sizeof what, "seed %d: blocks of %d by %s", (int)seed, (int)h.block,
                 h.fields ? "fields" : "chance");
        tess_plan *plan = plan_of(ctx, h.A, device, TESS_REGROUP_ON);
        assert_non_null(plan->inner);
        check_found(plan, &h, what);
        check_products(plan, h.A, what, seed);
        tess_plan_destroy(plan);
        tess_matrix_destroy(h.A);
        tess_device_close(device);
    }
}

/* The caller's values keep the layout of A's own blocks. */
static void blocked_matrices_are_regrouped_too(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_matrix *G, *A;
    const tess_blocking pairs = {2, 2};
    assert_int_equal(tess_matrix_generate(ctx, "gen:stencil27:n=4,b=6", &G, NULL), TESS_OK);
    int64_t *perm = by_chance(G->rows / 2, 3);
    tess_matrix *hidden;
    assert_int_equal(tess_matrix_to_blocks(ctx, G, &pairs, &hidden), TESS_OK);
    assert_int_equal(tess_matrix_permute(ctx, hidden, perm, &A), TESS_OK);
    tess_plan *plan = plan_of(ctx, A, device, TESS_REGROUP_ON);
    check_products(plan, A, "2 x 2", 1);
    double *values = test_vector(tess_matrix_stored(A), TESS_F64, 12);
    assert_int_equal(tess_plan_update_values(plan, values), TESS_OK);
    tess_matrix changed = *A, *T;
    changed.values = values;
    assert_int_equal(tess_matrix_transpose(ctx, &changed, &T), TESS_OK);
    check_vectors(plan, &changed, T, "2 x 2, new values");
    tess_matrix_destroy(T);
    tess_plan_destroy(plan);
    free(values), free(perm);
    tess_matrix_destroy(A), tess_matrix_destroy(hidden), tess_matrix_destroy(G);
    tess_device_close(device);
}

/* Groups of adjacent unknowns need no permutation. */
static void natural_blocks_stay_where_they_are(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_matrix *G, *A;
    tess_plan_info info;
    assert_int_equal(tess_matrix_generate(ctx, "gen:stencil27:n=5,b=3", &G, NULL), TESS_OK);
    assert_int_equal(tess_matrix_to_csr(ctx, G, TESS_ZEROS_KEEP, &A), TESS_OK);
    tess_plan *plan = plan_of(ctx, A, device, TESS_REGROUP_ON);
    assert_int_equal(tess_plan_get_info(plan, sizeof info, &info), TESS_OK);
    assert_true(info.permuted_bytes == 0);
    assert_int_equal(info.regrouped_block, 3);
    check_products(plan, A, "in place", 2);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A), tess_matrix_destroy(G);
    tess_device_close(device);
}

/* Values given to the plan, and values changed in the matrix. */
static void new_values_are_in_the_callers_order(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    for (uint64_t seed = 31; seed < 39; seed++) {
        hidden_case h = draw(ctx, seed);
        tess_plan *plan = plan_of(ctx, h.A, device, TESS_REGROUP_ON);
        void *values = test_vector(h.A->blocks, h.A->type, seed);
        tess_matrix changed = *h.A, *T, *copy;
        changed.values = values;
        assert_int_equal(tess_plan_update_values(plan, values), TESS_OK);
        assert_int_equal(tess_matrix_transpose(ctx, &changed, &T), TESS_OK);
        check_vectors(plan, &changed, T, "new values");
        tess_matrix_destroy(T);
        assert_int_equal(tess_plan_update_values(plan, h.A->values), TESS_OK);
        assert_int_equal(tess_matrix_to_csr(ctx, &changed, TESS_ZEROS_KEEP, &copy), TESS_OK);
        assert_int_equal(tess_matrix_update(ctx, h.A, copy), TESS_OK);
        assert_int_equal(tess_matrix_transpose(ctx, h.A, &T), TESS_OK);
        check_vectors(plan, h.A, T, "values of the matrix");
        tess_matrix_destroy(T), tess_matrix_destroy(copy);
        tess_plan_destroy(plan);
        tess_matrix_destroy(h.A);
        free(values);
    }
    tess_device_close(device);
}

/* Checks that what is said of the plan is what a plan with this kernel says. */
static void expect_said(tess_plan *plan, const tess_matrix *A, const char *kernel, const char *why)
{
    const tess_plan_options named = {.format = "bsr", .kernel = kernel};
    const tess_plan *worker = plan->inner ? plan->inner : plan;
    tess_plan *other;
    tess_plan_info info, inner, expected;
    test_ok(A->ctx, tess_plan_create(A->ctx, worker->matrix, worker->device, &named, &other));
    test_ok(A->ctx, tess_plan_get_info(plan, sizeof info, &info));
    test_ok(A->ctx, tess_plan_get_info(worker, sizeof inner, &inner));
    test_ok(A->ctx, tess_plan_get_info(other, sizeof expected, &expected));
    const char *text = tess_plan_explain(plan);
    if (strcmp(info.format, "bsr") != 0 || strcmp(info.kernel, kernel) != 0 ||
        info.moves != expected.moves + info.permuted_bytes || inner.memory != expected.memory ||
        info.memory < inner.memory || !strstr(info.note, why) || !strstr(text, why) ||
        strstr(text, "* symmetric"))
        fail_msg("%s %s moves %g and keeps %g, not %g and %g; note '%s'; %s", info.format,
                 info.kernel, info.moves, info.memory, expected.moves, expected.memory, info.note,
                 text);
    assert_string_equal(tess_ctx_error(A->ctx), "");
    tess_plan_destroy(other);
}

/* Values that are not symmetric are stored whole from then on, by another kernel. */
static void what_is_said_follows_the_kernel(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_matrix *G;
    test_ok(ctx, tess_matrix_generate(ctx, "gen:stencil27:n=6,b=3", &G, NULL));
    int64_t *perm = by_fields(G->rows, 3);
    tess_matrix *hidden = hide(ctx, G, perm);
    for (int turn = 0; turn < 2; turn++) {
        const tess_matrix *A = turn ? hidden : G;
        const tess_plan_options half = {.effort = TESS_EFFORT_ESTIMATE,
                                        .format = "symmetric",
                                        .regroup = turn ? TESS_REGROUP_ON : TESS_REGROUP_OFF};
        tess_plan *plan;
        test_ok(ctx, tess_plan_create(ctx, A, device, &half, &plan));
        assert_string_equal(plan->format, "symmetric");
        if (!strstr(tess_plan_explain(plan), "chosen  by the model"))
            fail_msg("%s", tess_plan_explain(plan));
        double *values = test_vector(tess_matrix_stored(A), TESS_F64, 5);
        test_ok(ctx, tess_plan_update_values(plan, values));
        expect_said(plan, A, (turn ? plan->inner : plan)->kernel, "symmetric: a(");
        tess_plan_destroy(plan);
        free(values);
    }
    free(perm);
    tess_matrix_destroy(hidden), tess_matrix_destroy(G);
    tess_device_close(device);
}

static void failing_allocations_leave_nothing_behind(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_matrix *G;
    assert_int_equal(tess_matrix_generate(ctx, "gen:stencil27:n=3,b=3", &G, NULL), TESS_OK);
    int64_t *perm = by_chance(G->rows, 5);
    tess_matrix *A = hide(ctx, G, perm);
    const tess_plan_options on = {.effort = TESS_EFFORT_ESTIMATE, .regroup = TESS_REGROUP_ON};
    assert_non_null(tess_device_performance(device)); /* which the device keeps */
    test_plan_allocations(state, A, device, &on);
    tess_plan *plan = plan_of(ctx, A, device, TESS_REGROUP_ON);
    double *X = test_vector(A->rows * 3, TESS_F64, 1), *Y = test_vector(A->rows * 3, TESS_F64, 2);
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do
        status = tess_plan_update_values(plan, A->values);
    while (test_sweep_goes_on(&sweep, status));
    /* Buffers for several vectors are allocated in the first such product, and kept. */
    for (int64_t n = 0; n < 100; n++) {
        test_fail_allocation(state, n);
        status = tess_spmm(plan, 3, TESS_ORDER_ROW_MAJOR, 1, X, 3, 0, Y, 3);
        test_fail_allocation(state, -1);
        if (status == TESS_OK)
            break;
        assert_int_equal(status, TESS_ERR_MEMORY);
    }
    assert_int_equal(status, TESS_OK);
    check_products(plan, A, "after failures", 1);
    tess_plan_destroy(plan);
    free(X), free(Y), free(perm);
    tess_matrix_destroy(A), tess_matrix_destroy(G);
    tess_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_the_caller),
        cmocka_unit_test(blocked_matrices_are_regrouped_too),
        cmocka_unit_test(natural_blocks_stay_where_they_are),
        cmocka_unit_test(new_values_are_in_the_callers_order),
        cmocka_unit_test(what_is_said_follows_the_kernel),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
