/* When a plan permutes inside: because it is asked to, never because it is told not to, or by its
 * own choice. */
#include "unit/matrix/hidden.h"

#include <string.h>

#include "matrix/detect/regroup.h"
#include "plan/regrouped.h"

static void refuse(tess_ctx *ctx, const tess_matrix *A, const char *device_name,
                   const tess_plan_options *options, const char *because)
{
    tess_device *device = test_device(ctx, device_name);
    tess_plan *plan = NULL;
    assert_int_not_equal(tess_plan_create(ctx, A, device, options, &plan), TESS_OK);
    assert_null(plan);
    if (!strstr(tess_ctx_error(ctx), because))
        fail_msg("'%s' does not say '%s'", tess_ctx_error(ctx), because);
    tess_device_close(device);
}

static void what_cannot_be_regrouped_is_refused_by_name(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const tess_plan_options on = {.effort = TESS_EFFORT_ESTIMATE, .regroup = TESS_REGROUP_ON};
    const tess_plan_options wrong = {.regroup = (tess_regroup)7};
    tess_matrix *wide = test_matrix(ctx, TEST_WIDE, 30, 1, 1, TESS_F64, 1), *plain;
    assert_int_equal(tess_matrix_generate(ctx, "gen:stencil7:n=8,b=1", &plain, NULL), TESS_OK);
    refuse(ctx, wide, "cpu:1", &on, "needs a square matrix");
    refuse(ctx, plain, "cpu:1", &on, "no order of the unknowns was found");
    refuse(ctx, plain, "cpu:1,1", &on, "held by several parts");
    refuse(ctx, plain, "cpu:1", &wrong, "regroup 7 is none of");
    tess_matrix_destroy(wide), tess_matrix_destroy(plain);
}

static void check_product(tess_plan *plan, const tess_matrix *A)
{
    double *x = test_vector(A->cols, TESS_F64, 1), *y = test_vector(A->rows, TESS_F64, 2);
    assert_int_equal(tess_spmv(plan, 1, x, 0, y), TESS_OK);
    test_check_spmv("automatic", A, 1, x, 0, NULL, y);
    free(x), free(y);
}

static void count_lines(void *user, const char *line)
{
    *(int *)user += strstr(line, "regroup: ") != NULL && strstr(line, ": tried") != NULL;
}

/* A plan that may measure tries a regrouping that is predicted to pay. A plan that only estimates
 * does not. The pattern is random, because a stencil's diagonals or its symmetry could make A as
 * cheap without a regrouping. */
static void fields_are_tried_automatically(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    tess_matrix *G;
    assert_int_equal(
        tess_matrix_generate(ctx, "gen:random:rows=1728,cols=1728,avg=27,r=4,c=4", &G, NULL),
        TESS_OK);
    int64_t *perm = by_fields(G->rows, 4);
    tess_matrix *A = hide(ctx, G, perm);
    static const struct {
        tess_effort effort;
        tess_regroup regroup;
        const char *format;
        int tried;
    } cases[] = {{TESS_EFFORT_MEASURE, TESS_REGROUP_AUTO, NULL, 1},
                 {TESS_EFFORT_MEASURE, TESS_REGROUP_OFF, NULL, 0},
                 {TESS_EFFORT_MEASURE, TESS_REGROUP_AUTO, "bsr", 0},
                 {TESS_EFFORT_ESTIMATE, TESS_REGROUP_AUTO, NULL, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int tried = 0;
        ctx->log = count_lines;
        ctx->log_user = &tried;
        const tess_plan_options options = {
            .effort = cases[i].effort, .regroup = cases[i].regroup, .format = cases[i].format};
        tess_plan *plan;
        assert_int_equal(tess_plan_create(ctx, A, device, &options, &plan), TESS_OK);
        ctx->log = NULL;
        if (tried != cases[i].tried)
            fail_msg("case %d: tried %d times", (int)i, tried);
        if (!tried)
            assert_null(plan->inner);
        check_product(plan, A);
        tess_plan_destroy(plan);
    }
    free(perm);
    tess_matrix_destroy(A), tess_matrix_destroy(G);
    tess_device_close(device);
}

/* A scalar stencil of the same size has no groups that a glance would find. */
static void a_glance_says_no_where_there_is_nothing(void **state)
{
    static const struct {
        const char *input;
        int32_t fields; /* 0: not hidden */
        bool promising;
    } cases[] = {{"gen:stencil27:n=20,b=1", 0, false},
                 {"gen:stencil7:n=20,b=1", 0, false},
                 {"gen:random:rows=4000,cols=4000,avg=12", 0, false},
                 {"gen:stencil27:n=8,b=5", 5, true},
                 {"gen:stencil27:n=8,b=5", 0, true}};
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_matrix *G;
        bool promising;
        if (tess_matrix_generate(ctx, cases[i].input, &G, NULL) != TESS_OK)
            fail_msg("%s", tess_ctx_error(ctx));
        int64_t *perm =
            cases[i].fields ? by_fields(G->rows, cases[i].fields) : by_chance(G->rows, 2);
        tess_matrix *A = hide(ctx, G, perm);
        assert_int_equal(tess_glance_regrouping(ctx, A, &promising), TESS_OK);
        if (promising != cases[i].promising)
            fail_msg("%s is%s promising", cases[i].input, promising ? "" : " not");
        free(perm);
        tess_matrix_destroy(A), tess_matrix_destroy(G);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_regrouped_is_refused_by_name),
        cmocka_unit_test(fields_are_tried_automatically),
        cmocka_unit_test(a_glance_says_no_where_there_is_nothing),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
