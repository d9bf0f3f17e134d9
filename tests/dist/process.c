/* Parts in a process on processors: "cpu:1,1". */
#include "dist/product.h"
#include "in_process.h"

#include <math.h>
#include <string.h>

static const char *const one[] = {"1", "1", "1", "1", "1", "1", "1", "1"};

static void products_are_those_of_the_whole(void **state)
{
    char name[128];
    static const char *const mixed[] = {"2", "1", "3", "1", "2"};
    for (uint64_t seed = 0; seed < test_draws(40); seed++)
        check_products(test_ctx(state),
                       parts_name("cpu:", seed % 4 ? one : mixed, 2 + (int)(seed % 4), name), seed);
}

static void products_take_a_pointer_a_part(void **state)
{
    char name[128];
    for (uint64_t seed = 50; seed < 50 + test_draws(15); seed++)
        check_by_part(test_ctx(state), parts_name("cpu:", one, 2 + (int)(seed % 4), name), seed);
}

static void pointers_by_part_are_checked(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = dealt_dominant(ctx, 12, 2, true, 1);
    tess_device *device = test_device(ctx, "cpu:1,1"), *whole = test_device(ctx, "cpu:1");
    tess_plan *plan, *single;
    tess_plan_part part;
    tess_solver *solver;
    tess_result result;
    double *v = test_vector(4 * A->rows, TESS_F64, 1), dot;
    const void *x[2] = {v, v + A->rows};
    void *y[2] = {v + 2 * A->rows, NULL};
    assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
    assert_int_equal(tess_plan_create(ctx, A, whole, NULL, &single), TESS_OK);
    assert_int_equal(tess_plan_parts(single), 1);
    assert_int_equal(tess_plan_parts(NULL), 0);
    assert_int_equal(tess_plan_get_part(plan, 2, sizeof part, &part), TESS_ERR_ARGUMENT);
    assert_non_null(strstr(tess_ctx_error(ctx), "part 2 is not one of 0..1"));
    assert_int_equal(tess_spmv_parts(single, 1, x, 0, y), TESS_ERR_ARGUMENT);
    assert_non_null(strstr(tess_ctx_error(ctx), "has one part"));
    assert_int_equal(tess_spmv_parts(plan, 1, x, 0, y), TESS_ERR_ARGUMENT);
    assert_non_null(strstr(tess_ctx_error(ctx), "part 1 of a vector is NULL"));
    assert_int_equal(tess_spmv_parts(plan, 1, NULL, 0, y), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_dot_parts(plan, x, x, NULL), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_dot_parts(plan, x, x, &dot), TESS_OK);
    assert_int_equal(tess_solver_create(plan, "cg", &solver), TESS_OK);
    assert_int_equal(tess_solver_solve_parts(solver, x, NULL, &result), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_solver_solve_parts(solver, x, y, &result), TESS_ERR_ARGUMENT);
    assert_non_null(strstr(tess_ctx_error(ctx), "NULL"));
    tess_solver_destroy(solver);
    assert_int_equal(tess_solver_create(plan, "cg:inner=f32", &solver), TESS_OK);
    assert_int_equal(tess_solver_solve_parts(solver, x, y, &result), TESS_ERR_UNSUPPORTED);
    assert_non_null(strstr(tess_ctx_error(ctx), "whole vectors"));
    tess_solver_destroy(solver);
    assert_int_equal(tess_solver_create(single, "cg", &solver), TESS_OK);
    assert_int_equal(tess_solver_solve_parts(solver, x, y, &result), TESS_ERR_ARGUMENT);
    assert_non_null(strstr(tess_ctx_error(ctx), "has one part"));
    tess_solver_destroy(solver);
    tess_plan_destroy(plan);
    tess_plan_destroy(single);
    tess_device_close(device);
    tess_device_close(whole);
    tess_matrix_destroy(A);
    free(v);
}

static void all_methods_and_preconditioners_solve(void **state)
{
    check_all_solves(test_ctx(state), "cpu:", one, true);
}

static void solvers_run_in_every_form(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = dealt_dominant(ctx, 30, 2, true, 3);
    tess_device *device = test_device(ctx, "cpu:1,1,1");
    double *b = test_vector(A->rows, TESS_F64, 3), *x = calloc((size_t)A->rows, sizeof *x);
    for (int i = 0; tess_product_form_name(i); i++) {
        const tess_plan_options options = {.size = sizeof options,
                                           .form = tess_product_form_name(i)};
        tess_plan *plan;
        tess_result result;
        assert_int_equal(tess_plan_create(ctx, A, device, &options, &plan), TESS_OK);
        assert_non_null(strstr(tess_plan_explain(plan), options.form));
        memset(x, 0, (size_t)A->rows * sizeof *x);
        assert_int_equal(tess_solve(plan, "cg:pc=bjacobi", b, x, &result), TESS_OK);
        if (!(dealt_residual(A, b, x) <= 1.1e-8))
            fail_msg("form %s: %s", options.form, result.text);
        tess_plan_destroy(plan);
    }
    free(b), free(x);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

/* Solvers that begin with the whole matrix work, because it is in this process. */
static void whole_matrix_options_work(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const char *const specs[] = {"auto",
                                        "auto:tol=1e-9",
                                        "cg:pc=jacobi,inner=f32",
                                        "bicgstab:pc=ilu0,scale=equilibrate",
                                        "gmres:pc=ilu0,order=rcm",
                                        "gmres:pc=ilut,pivot=0.1",
                                        "gmres:pc=ilut,pivot=1,scale=match,order=rcm"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tess_matrix *S = dealt_dominant(ctx, 24, 3, true, i),
                    *U = dealt_dominant(ctx, 24, 3, false, i);
        check_solve_on(ctx, strstr(specs[i], "cg:") == specs[i] ? S : U, "cpu:1,1,1", specs[i]);
        if (!test_slowed())
            check_solve_on(ctx, S, "cpu:2,1", specs[i]);
        tess_matrix_destroy(S);
        tess_matrix_destroy(U);
    }
}

/* Rigid motions of the matrix's coordinates, of the caller's, and the caller's modes reach each
 * part's multigrid. */
static void parts_have_their_modes(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:1,1,1");
    tess_matrix *A;
    tess_plan *plan;
    tess_result result;
    double *b;
    assert_int_equal(tess_matrix_generate(ctx, "elasticity:n=5", &A, (void **)&b), TESS_OK);
    double *x = calloc((size_t)A->rows, sizeof *x), *modes = test_vector(4 * A->rows, TESS_F64, 1);
    assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
    for (int i = 0; i < 3; i++) {
        static const char *const says[] = {"6 modes", "6 modes", "4 modes"};
        tess_solver *solver;
        memset(x, 0, (size_t)A->rows * sizeof *x);
        assert_int_equal(tess_solver_create(plan, "cg:pc=amg,bottom=30", &solver), TESS_OK);
        if (i == 1)
            assert_int_equal(tess_solver_set_coordinates(solver, 3, A->coordinates), TESS_OK);
        if (i == 2)
            assert_int_equal(tess_solver_set_modes(solver, 4, modes, A->rows), TESS_OK);
        assert_int_equal(tess_solver_solve(solver, b, x, &result), TESS_OK);
        assert_int_equal(result.reason, TESS_REASON_CONVERGED);
        if (!strstr(tess_solver_describe(solver), says[i]))
            fail_msg("not %s: %s", says[i], tess_solver_describe(solver));
        assert_int_equal(tess_solver_set_modes(solver, 0, modes, A->rows), TESS_ERR_ARGUMENT);
        tess_solver_destroy(solver);
    }
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    tess_release(ctx, b);
    free(x), free(modes);
}

/* ---- Names ---- */

static void refuses(tess_ctx *ctx, const char *name, const char *says)
{
    tess_device *device = NULL;
    if (tess_device_open(ctx, name, &device) == TESS_OK)
        fail_msg("%s was opened", name);
    assert_null(device);
    if (!strstr(tess_ctx_error(ctx), says))
        fail_msg("%s: '%s' does not say '%s'", name, tess_ctx_error(ctx), says);
}

static void bad_names_are_explained(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    refuses(ctx, "cpu:1,", "part 1 has no number");
    refuses(ctx, "cpu:,1", "part 0 has no number");
    refuses(ctx, "cpu:1,x", "part 1 of 2: device 'cpu:x'");
    refuses(ctx, "cpu:1,0,1", "part 1 of 3");
    refuses(ctx, "gpu:0,1", "unknown device");
    refuses(ctx, "profile:h200,h200", "part 0 of 2");
    char many[600] = "cpu:1";
    for (int i = 0; i < 64; i++)
        strcat(many, ",1");
    refuses(ctx, many, "65 parts, at most 64");
}

/* ---- Shapes ---- */

/* Parts without rows, and parts that exchange no data. */
static void more_parts_than_rows_and_apart(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int64_t rows = 1; rows <= 8; rows += test_slowed() ? 3 : 1) {
        tess_matrix *A = dealt_dominant(ctx, rows, 1 + (int32_t)(rows % 3), true, 2);
        check_solve_on(ctx, A, "cpu:1,1,1,1,1,1,1", rows % 2 ? "cg:pc=ic0" : "gmres:pc=ilu0");
        tess_matrix_destroy(A);
    }
    tess_matrix *D = test_matrix(ctx, TEST_DIAGONAL, 12, 2, 2, TESS_F64, 5);
    check_solve_on(ctx, D, "cpu:1,1,1,1", "gmres:pc=bjacobi");
    tess_matrix_destroy(D);
}

/* ---- Exactly the halo ---- */

typedef struct volume {
    int64_t halo[8], rows[8];
} volume;

static tess_status look(void *user, int rank, tess_plan *part, int64_t first_row)
{
    volume *v = user;
    const tess_part_plan *p = part->state;
    (void)first_row;
    v->halo[rank] = p->part->halo * p->part->block;
    v->rows[rank] = p->part->rows;
    return TESS_OK;
}

static void the_halo_is_the_distinct_outside_columns(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 0; seed < test_draws(20); seed++) {
        char name[128];
        const int size = 2 + (int)(seed % 5);
        tess_matrix *A = dealt_draw(ctx, seed);
        tess_device *device = test_device(ctx, parts_name("cpu:", one, size, name));
        tess_plan *plan;
        volume v;
        assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
        assert_int_equal(plan->device->backend->each_part(plan, look, &v), TESS_OK);
        int64_t first = 0, row = 0;
        for (int r = 0; r < size; r++) {
            row += v.rows[r];
            const int64_t end = tess_ceil_div(row, A->block_height);
            bool *seen = calloc((size_t)A->block_cols + 1, 1);
            int64_t distinct = 0;
            for (int64_t k = A->row_offsets[first]; k < A->row_offsets[end]; k++) {
                const int32_t column = A->columns[k];
                distinct += (column < first || column >= end) && !seen[column];
                seen[column] = true;
            }
            free(seen);
            assert_int_equal(v.halo[r], distinct * A->block_height);
            first = end;
        }
        assert_int_equal(row, A->rows);
        tess_plan_destroy(plan);
        tess_device_close(device);
        tess_matrix_destroy(A);
    }
}

/* ---- Numbers that are none, callbacks ---- */

static void a_nan_ends_all_parts(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = dealt_dominant(ctx, 20, 2, true, 1);
    ((double *)A->values)[A->blocks * 4 - 1] = NAN;
    tess_device *device = test_device(ctx, "cpu:1,1,1");
    tess_plan *plan;
    tess_result result;
    double *b = test_vector(A->rows, TESS_F64, 1), *x = calloc((size_t)A->rows, sizeof *x);
    assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
    assert_int_equal(tess_solve(plan, "cg", b, x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_NOT_FINITE);
    b[3] = INFINITY;
    assert_int_equal(tess_solve(plan, "gmres", b, x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_NOT_FINITE);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    free(b), free(x);
}

typedef struct listener {
    tess_plan *plan;
    double *x, *y;
    int64_t calls;
    tess_status inside;
} listener;

static int stop_at_3(void *user, int64_t iteration, double residual)
{
    listener *l = user;
    (void)residual;
    l->calls++;
    l->inside = tess_spmv(l->plan, 1, l->x, 0, l->y);
    return iteration >= 3;
}

static void a_callback_stops_and_may_not_use_the_parts(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = dealt_dominant(ctx, 40, 2, true, 3);
    tess_device *device = test_device(ctx, "cpu:1,1,1");
    listener l = {.x = test_vector(A->rows, TESS_F64, 1), .y = calloc((size_t)A->rows, 8)};
    double *x = calloc((size_t)A->rows, sizeof *x);
    tess_solver *solver;
    tess_result result;
    assert_int_equal(tess_plan_create(ctx, A, device, NULL, &l.plan), TESS_OK);
    assert_int_equal(tess_solver_create(l.plan, "cg", &solver), TESS_OK);
    tess_solver_set_callback(solver, stop_at_3, &l);
    assert_int_equal(tess_solver_solve(solver, l.x, x, &result), TESS_OK);
    assert_int_equal(result.reason, TESS_REASON_CANCELLED);
    assert_int_equal(result.iterations, 3);
    assert_int_equal(l.calls, 3);
    assert_int_equal(l.inside, TESS_ERR_UNSUPPORTED);
    tess_solver_destroy(solver);
    tess_plan_destroy(l.plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    free(l.x), free(l.y), free(x);
}

/* ---- Two threads of the caller's ---- */

typedef struct user {
    tess_device *device;
    const tess_matrix *A;
    double *x, *y;
    tess_status status;
    pthread_t thread;
} user;

static void *use(void *arg)
{
    user *u = arg;
    tess_plan *plan = NULL;
    tess_ctx *ctx = u->device->ctx;
    u->status = tess_plan_create(ctx, u->A, u->device, NULL, &plan);
    for (int i = 0; i < 20 && u->status == TESS_OK; i++)
        u->status = tess_spmv(plan, 1, u->x, 0, u->y);
    if (u->status == TESS_OK)
        tess_plan_destroy(plan);
    return NULL;
}

static void plans_of_two_threads_take_turns(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = dealt_dominant(ctx, 60, 3, true, 3);
    tess_device *device = test_device(ctx, "cpu:1,1");
    user users[2];
    for (int i = 0; i < 2; i++) {
        users[i] = (user){.device = device, .A = A};
        users[i].x = test_vector(A->rows, TESS_F64, (uint64_t)i);
        users[i].y = calloc((size_t)A->rows, sizeof(double));
        assert_int_equal(pthread_create(&users[i].thread, NULL, use, &users[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(users[i].thread, NULL);
        assert_int_equal(users[i].status, TESS_OK);
        test_check_spmv("of two threads", A, 1, users[i].x, 0, NULL, users[i].y);
        free(users[i].x), free(users[i].y);
    }
    tess_device_close(device);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_the_whole),
        cmocka_unit_test(products_take_a_pointer_a_part),
        cmocka_unit_test(pointers_by_part_are_checked),
        cmocka_unit_test(all_methods_and_preconditioners_solve),
        cmocka_unit_test(solvers_run_in_every_form),
        cmocka_unit_test(whole_matrix_options_work),
        cmocka_unit_test(parts_have_their_modes),
        cmocka_unit_test(bad_names_are_explained),
        cmocka_unit_test(more_parts_than_rows_and_apart),
        cmocka_unit_test(the_halo_is_the_distinct_outside_columns),
        cmocka_unit_test(a_nan_ends_all_parts),
        cmocka_unit_test(a_callback_stops_and_may_not_use_the_parts),
        cmocka_unit_test(plans_of_two_threads_take_turns),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
