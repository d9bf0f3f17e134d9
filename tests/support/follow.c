#include "support/follow.h"

#include <string.h>

#include "backend/backend.h"
#include "plan/model/model.h"

/* Every product that the plan offers, against ref with A as it is now. */
static void check_products(const char *what, tess_plan *plan, const tess_matrix *A)
{
    tess_ctx *ctx = plan->ctx;
    const tess_matrix *T;
    double *x = test_vector(A->cols, A->type, 3), *y = test_vector(A->rows, A->type, 4);
    assert_int_equal(tess_spmv(plan, 1, x, 0, y), TESS_OK);
    test_check_spmv(what, A, 1, x, 0, NULL, y);
    tess_matrix *transposed;
    assert_int_equal(tess_matrix_transpose(ctx, A, &transposed), TESS_OK);
    T = transposed;
    assert_int_equal(tess_spmv_transpose(plan, 1, y, 0, x), TESS_OK);
    test_check_spmv(what, T, 1, y, 0, NULL, x);
    double *X = test_vector(3 * A->cols, A->type, 5), *Y = test_vector(3 * A->rows, A->type, 6);
    assert_int_equal(tess_spmm(plan, 3, TESS_ORDER_COLUMN_MAJOR, 1, X, A->cols, 0, Y, A->rows),
                     TESS_OK);
    for (int j = 0; j < 3; j++)
        test_check_spmv(what, A, 1, X + j * A->cols, 0, NULL, Y + j * A->rows);
    free(x), free(y), free(X), free(Y);
    tess_matrix_destroy(transposed);
}

/* Values that are symmetric where the old ones are. */
static void change(tess_ctx *ctx, tess_matrix *A, double by)
{
    tess_matrix *B;
    const tess_blocking same = {A->block_height, A->block_width};
    assert_int_equal(tess_matrix_to_blocks(ctx, A, &same, &B), TESS_OK);
    for (int64_t i = 0; i < tess_matrix_stored(B); i++) {
        double value = tess_get(B->values, B->type, i);
        tess_put(B->values, B->type, i, value == 0 ? 0 : 1 / (1 + value * value) + by);
    }
    assert_int_equal(tess_matrix_update(ctx, A, B), TESS_OK);
    tess_matrix_destroy(B);
}

static void follow_one(tess_device *device, tess_matrix *A, const tess_candidate *candidate)
{
    tess_ctx *ctx = device->ctx;
    tess_plan *plan;
    char what[280];
    tess_plan_options options = {
        .format = candidate->format, .kernel = candidate->kernel, .params = candidate->params};
    if (!*candidate->kernel) /* a backend that lists none */
        options = (tess_plan_options){0};
    snprintf(what, sizeof what, "%s %s %s", candidate->format, candidate->kernel,
             candidate->params);
    if (tess_plan_create(ctx, A, device, &options, &plan) != TESS_OK)
        fail_msg("%s: %s", what, tess_ctx_error(ctx));
    check_products(what, plan, A);
    change(ctx, A, 0.25);
    check_products(what, plan, A);
    /* A plan keeps values of its own. */
    tess_matrix *own;
    const tess_blocking same = {A->block_height, A->block_width};
    assert_int_equal(tess_matrix_to_blocks(ctx, A, &same, &own), TESS_OK);
    change(ctx, own, 0.5);
    assert_int_equal(tess_plan_update_values(plan, own->values), TESS_OK);
    change(ctx, A, -0.125);
    check_products(what, plan, own);
    assert_int_equal(tess_plan_update_values(plan, A->values), TESS_OK);
    change(ctx, A, 0.0625);
    check_products(what, plan, A);
    tess_plan_destroy(plan);
    tess_matrix_destroy(own);
}

int test_follow(void **state, tess_device *device, const char *spec)
{
    tess_ctx *ctx = test_ctx(state);
    tess_candidates list = {0};
    tess_matrix *A;
    const tess_product product = {
        .kind = TESS_PRODUCT_SPMV, .effort = TESS_EFFORT_EXHAUSTIVE, .shapes = true};
    int followed = 0;
    assert_int_equal(tess_matrix_generate(ctx, spec, &A, NULL), TESS_OK);
    assert_int_equal(tess_candidates_list(device, A, &product, &list), TESS_OK);
    for (int64_t i = 0; i < list.count; i++) {
        bool seen = false;
        for (int64_t j = 0; j < i && !seen; j++)
            seen = strcmp(list.items[i].kernel, list.items[j].kernel) == 0 &&
                   strcmp(list.items[i].format, list.items[j].format) == 0;
        if (!seen) {
            follow_one(device, A, &list.items[i]);
            followed++;
        }
    }
    tess_candidates_free(ctx, &list);
    tess_matrix_destroy(A);
    return followed;
}
