/* Parts on GPUs that know each other by messages alone, as MPI ranks do: threads of a test, each
 * with a context and a device of its own, on the fake driver. Teams of an odd number exchange
 * buffers in device memory, those of an even number pinned memory. */
#include "failing_ranks.h"
#include "matrices.h"

/* y = A x, its transpose, the fused dot product and k vectors, and the same bits again. */
static void check_products(tess_ctx *ctx, const tess_matrix *A, int size, uint64_t seed)
{
    tess_matrix *T;
    assert_int_equal(tess_matrix_transpose(ctx, A, &T), TESS_OK);
    dealt d = open_ranks(A, size, seed);
    const size_t bytes = (size_t)A->rows * tess_type_size(A->type);
    void *x = test_vector(A->rows, A->type, seed + 1), *y0 = test_vector(A->rows, A->type, 7);
    void *y = malloc(bytes + 1), *again = malloc(bytes + 1);
    d.body = dealt_products;
    d.x = x;
    d.alpha = 1.5;
    d.beta = seed % 3 == 0 ? 0 : -0.5;
    for (d.k = -1; d.k <= 1; d.k++) {
        for (int run = 0; run < 2; run++) {
            d.y = run ? again : y;
            memcpy(d.y, y0, bytes);
            dealt_run(&d);
            dealt_ok(&d, seed);
        }
        test_check_spmv("ranks", d.k == -1 ? T : A, d.alpha, x, d.beta, y0, y);
        assert_memory_equal(y, again, bytes);
    }
    for (int r = 1; r < d.size; r++)
        assert_true(d.dot[r] == d.dot[0]);
    test_team_destroy(d.team);
    free(x), free(y0), free(y), free(again);
    tess_matrix_destroy(T);
}

static void products_are_those_of_the_whole(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 0; seed < 12; seed++) {
        tess_matrix *A = dealt_draw(ctx, seed);
        fake->devices = 1 + (int)(seed % 3);
        check_products(ctx, A, 1 + (int)(seed % 4), seed);
        tess_matrix_destroy(A);
    }
}

/* A product of several vectors, then one of one, then of others: each has messages of its own. */
static tess_status by_turns(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    static const int counts[] = {3, 1, 2, -1, 3};
    tess_status status = TESS_OK;
    for (size_t i = 0; i < sizeof counts / sizeof *counts && status == TESS_OK; i++) {
        dealt mine = *d;
        mine.k = counts[i];
        mine.order = TESS_ORDER_ROW_MAJOR;
        status = dealt_products(&mine, rank, part, plan);
    }
    return status;
}

static void several_vectors_take_turns_with_one(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    fake->devices = 2;
    for (uint64_t seed = 30; seed < 36; seed++) {
        tess_matrix *A = dealt_draw(ctx, seed);
        const int64_t n = A->rows;
        const size_t scalar = tess_type_size(A->type);
        void *x = test_vector(3 * n, A->type, seed), *y = test_vector(3 * n, A->type, 3);
        void *xv = malloc((size_t)n * scalar + 1), *yv = malloc((size_t)n * scalar + 1);
        dealt d = open_ranks(A, 2 + (int)(seed % 3), seed);
        d.body = by_turns;
        d.x = x;
        d.y = y;
        dealt_run(&d);
        dealt_ok(&d, seed);
        for (int v = 0; v < 3; v++) {
            for (int64_t i = 0; i < n; i++) {
                tess_copy_scalar(A->type, xv, i, x, i * 3 + v);
                tess_copy_scalar(A->type, yv, i, y, i * 3 + v);
            }
            test_check_spmv("vector of several", A, 1, xv, 0, NULL, yv);
        }
        test_team_destroy(d.team);
        free(x), free(y), free(xv), free(yv);
        tess_matrix_destroy(A);
    }
}

/* A sixth of all pairs, in which each method and each preconditioner is; all with TEST_ALL. */
static void methods_and_preconditioners_solve(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const bool all = getenv("TEST_ALL") != NULL;
    uint64_t at = 0;
    fake->devices = 2;
    for (int m = 0; tess_solve_method_name(m); m++) {
        for (int p = 0; tess_solve_pc_name(p); p++, at++) {
            const int traits = tess_solve_method_traits(m);
            char spec[128];
            /* Complete factors are for processors, and so is what is made of them. */
            if ((!all && (m + p) % 6 != 0) ||
                (traits | tess_solve_pc_traits(p)) & TESS_SOLVE_COMPLETE)
                continue;
            tess_matrix *A = dealt_dominant(ctx, 30, 2, true, at);
            tess_plan *plan;
            tess_solver *solver;
            tess_device *device = open_device(state);
            snprintf(spec, sizeof spec, "%s:pc=%s", tess_solve_method_name(m),
                     tess_solve_pc_name(p));
            ok(state, tess_plan_create(ctx, A, device, NULL, &plan));
            const bool takes = tess_solver_create(plan, spec, &solver) == TESS_OK;
            if (takes)
                tess_solver_destroy(solver);
            tess_plan_destroy(plan);
            tess_device_close(device);
            const bool whole = traits & TESS_SOLVE_OWN_PC;
            for (int size = 2; size <= 4 && takes; size++) {
                if (!all && at % 3 != (uint64_t)size - 2)
                    continue;
                dealt d = open_ranks(A, size, at);
                dealt_check_solve(&d, spec, at, whole ? TESS_ERR_UNSUPPORTED : TESS_OK);
                test_team_destroy(d.team);
            }
            tess_matrix_destroy(A);
        }
    }
}

static void multigrid_has_levels_of_each_rank(void **state)
{
    static const char *const specs[] = {"cg:pc=amg,bottom=8,pc_type=f32",
                                        "fgmres:pc=amg,bottom=6,cycle=k", "cg:pc=amg,bottom=8"};
    tess_ctx *ctx = test_ctx(state);
    fake->devices = 2;
    for (uint64_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tess_matrix *A = dealt_dominant(ctx, 60, 2, true, i);
        dealt d = open_ranks(A, 2 + (int)(i % 3), i);
        dealt_check_solve(&d, specs[i], i, TESS_OK);
        test_team_destroy(d.team);
        tess_matrix_destroy(A);
    }
}

/* ---- Ranks on other kinds of devices, and without rows ---- */

static void a_rank_on_processors_brings_all_vectors_to_the_host(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = dealt_dominant(ctx, 30, 2, true, 5);
    dealt d = dealt_open(A, 3, 3);
    d.device = "cuda:0";
    d.last_device = "cpu:1";
    dealt_check_solve(&d, "cg:pc=ilu0", 3, TESS_OK);
    dealt_check_solve(&d, "gmres:pc=jacobi", 4, TESS_OK);
    test_team_destroy(d.team);
    tess_matrix_destroy(A);
}

static void ranks_may_have_no_rows(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int64_t rows = 1; rows <= 3; rows++) {
        tess_matrix *A = dealt_dominant(ctx, rows, 2, true, 2);
        dealt d = open_ranks(A, 4, (uint64_t)rows);
        dealt_check_solve(&d, rows % 2 ? "cg:pc=ic0" : "gmres:pc=amg", 1, TESS_OK);
        test_team_destroy(d.team);
        tess_matrix_destroy(A);
    }
}

/* ---- Failures ---- */

/* Whether the solve had an n-th call, which failed. */
static bool call_fails(const tess_matrix *A, const char *spec, int64_t n, int *failures)
{
    double *b = test_vector(A->rows, TESS_F64, 1), *x = calloc((size_t)A->rows, sizeof *x);
    dealt d = open_ranks(A, 3, 5);
    d.body = dealt_solve;
    d.spec = spec;
    d.x = b;
    d.y = x;
    const bool reached = run_with_failing_call(&d, spec, n, failures);
    free(b), free(x);
    return reached;
}

/* The first calls measure the device, whatever the solver: a failure there is no error. */
static void every_call_may_fail(void **state)
{
    static const char *const specs[] = {"cg:pc=bjacobi", "gmres:pc=ilu0", "cg:pc=amg,bottom=6",
                                        "lsqr"};
    tess_matrix *A = dealt_dominant(test_ctx(state), 12, 2, true, 1);
    for (int i = 0; i < 4; i++) {
        int failures = 0;
        for (int64_t n = i ? 90 : 0; call_fails(A, specs[i], n, &failures);)
            n = test_next_failure(n);
        if (failures < 4)
            fail_msg("%s: %d calls failed", specs[i], failures);
    }
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(products_are_those_of_the_whole, before),
        cmocka_unit_test_setup(several_vectors_take_turns_with_one, before),
        cmocka_unit_test_setup(methods_and_preconditioners_solve, before),
        cmocka_unit_test_setup(multigrid_has_levels_of_each_rank, before),
        cmocka_unit_test_setup(a_rank_on_processors_brings_all_vectors_to_the_host, before),
        cmocka_unit_test_setup(ranks_may_have_no_rows, before),
        cmocka_unit_test_setup(every_call_may_fail, before),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
