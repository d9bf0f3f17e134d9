/* Reported numbers say what they are: how a plan was chosen, by which model, and which bytes count.
 */
#include <string.h>

#include "plan/model/model.h"
#include "plan/tuner.h"
#include "support/support.h"

static tess_plan *plan_of(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                          tess_effort effort, int fresh, const char *format)
{
    tess_plan *plan;
    const tess_plan_options options = {.effort = effort, .fresh = fresh, .format = format};
    if (tess_plan_create(ctx, A, device, &options, &plan) != TESS_OK)
        fail_msg("%s", tess_ctx_error(ctx));
    return plan;
}

static void a_small_matrix_is_estimated_and_the_plan_says_so(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:1");
    static const struct {
        const char *input;
        tess_effort effort;
        int fresh;
        tess_effort used;
        bool said;
    } cases[] = {
        {"stencil7:n=8,b=2", TESS_EFFORT_MEASURE, 0, TESS_EFFORT_ESTIMATE, true},
        {"stencil7:n=8,b=2", TESS_EFFORT_MEASURE, 1, TESS_EFFORT_MEASURE, false},
        {"stencil7:n=8,b=2", TESS_EFFORT_ESTIMATE, 0, TESS_EFFORT_ESTIMATE, false},
        {"stencil27:n=12,b=3", TESS_EFFORT_MEASURE, 0, TESS_EFFORT_MEASURE, false}, /* 3 MB */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_matrix *A;
        tess_search_info search;
        assert_int_equal(tess_matrix_generate(ctx, cases[i].input, &A, NULL), TESS_OK);
        tess_plan *plan = plan_of(ctx, A, device, cases[i].effort, cases[i].fresh, NULL);
        assert_int_equal(tess_plan_get_search(plan, sizeof search, &search), TESS_OK);
        assert_int_equal(search.effort, cases[i].used);
        const bool said = strstr(tess_plan_explain(plan), "below 1 MB a search costs more") != NULL;
        if (said != cases[i].said)
            fail_msg("case %zu: %s", i, tess_plan_explain(plan));
        tess_plan_destroy(plan);
        tess_matrix_destroy(A);
    }
    tess_device_close(device);
}

static void a_stand_in_is_named_wherever_its_times_are(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:1");
    tess_matrix *A;
    assert_int_equal(tess_matrix_generate(ctx, "stencil27:n=12,b=3", &A, NULL), TESS_OK);
    tess_plan *plan = plan_of(ctx, A, device, TESS_EFFORT_ESTIMATE, 0, NULL);
    tess_plan *named = plan_of(ctx, A, device, TESS_EFFORT_MEASURE, 0, "bsr");
    tess_model *model = device->performance;
    assert_non_null(model);
    for (int stand_in = 0; stand_in < 2; stand_in++) {
        tess_prediction *p;
        model->stand_in = stand_in;
        snprintf(model->device, sizeof model->device, "another machine");
        const char *text = tess_plan_explain(plan);
        if ((strstr(text, "stands in, another machine") != NULL) != stand_in ||
            (strstr(text, "measured on another machine") != NULL) != stand_in)
            fail_msg("stand-in %d: %s", stand_in, text);
        assert_int_equal(strstr(tess_plan_explain(named), "measured on another machine") != NULL,
                         stand_in);
        assert_int_equal(tess_predict(ctx, A, device, NULL, &p), TESS_OK);
        assert_int_equal(p->stand_in, stand_in);
        assert_string_equal(p->model, "another machine");
        tess_prediction_destroy(p);
    }
    tess_plan_destroy(plan);
    tess_plan_destroy(named);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

/* The least bytes that a product must move are the matrix's. The bytes that it moves are the
 * format's. A solve counts the format's bytes, which the device reads. */
static void bytes_of_the_matrix_and_of_the_format_are_kept_apart(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_matrix *A;
    void *b;
    enum { ITERATIONS = 6 };
    assert_int_equal(tess_matrix_generate(ctx, "stencil27:n=10,b=3", &A, &b), TESS_OK);
    tess_plan_info info[2];
    tess_result result[2];
    for (int half = 0; half < 2; half++) {
        tess_plan *plan =
            plan_of(ctx, A, device, TESS_EFFORT_ESTIMATE, 0, half ? "symmetric" : "bsr");
        double *x = calloc((size_t)A->rows, sizeof *x);
        assert_int_equal(tess_plan_get_info(plan, sizeof info[half], &info[half]), TESS_OK);
        assert_int_equal(tess_solve(plan, "cg:max=6,tol=0", b, x, &result[half]), TESS_OK);
        assert_int_equal(result[half].iterations, ITERATIONS);
        free(x);
        tess_plan_destroy(plan);
    }
    assert_true(info[0].bytes == info[1].bytes && info[0].flops == info[1].flops);
    assert_true(info[0].moves >= info[0].bytes && info[1].moves < 0.7 * info[1].bytes);
    assert_true(info[0].flops == 2.0 * (double)tess_matrix_stored(A)); /* zeros in blocks count */
    const double saved = result[0].bytes - result[1].bytes;
    const double each = info[0].moves - info[1].moves;
    assert_true(saved > 0.99 * ITERATIONS * each && saved < (ITERATIONS + 3) * each);
    tess_release(ctx, b);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_matrix_is_estimated_and_the_plan_says_so),
        cmocka_unit_test(a_stand_in_is_named_wherever_its_times_are),
        cmocka_unit_test(bytes_of_the_matrix_and_of_the_format_are_kept_apart),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
