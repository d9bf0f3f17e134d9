/* Solvers on the fake device: the loop stays there, stops where the CPU's does, and leaves nothing
 * behind whatever fails. */
#include "problems.h"
#include "session.h"

typedef struct setting {
    tess_matrix *A;
    double *b, *x;
    tess_device *device;
    tess_plan *plan;
} setting;

static setting open_setting(void **state, const char *input, const char *device)
{
    setting s = {0};
    tess_ctx *ctx = test_ctx(state);
    const tess_plan_options quick = {.effort = TESS_EFFORT_ESTIMATE};
    ok(state, tess_matrix_generate(ctx, input, &s.A, (void **)&s.b));
    ok(state, tess_device_open(ctx, device, &s.device));
    ok(state, tess_plan_create(ctx, s.A, s.device, &quick, &s.plan));
    s.x = calloc((size_t)s.A->rows, sizeof *s.x);
    return s;
}

static void close_setting(void **state, setting *s)
{
    tess_plan_destroy(s->plan);
    tess_device_close(s->device);
    tess_release(test_ctx(state), s->b);
    tess_matrix_destroy(s->A);
    free(s->x);
}

static void solves_end_as_on_the_cpu(void **state)
{
    static const struct {
        const char *input, *spec;
    } cases[] = {{"gen:elasticity:n=5", "cg:pc=jacobi"},
                 {"gen:elasticity:n=5", "cg:pc=bjacobi,tol=1e-10"},
                 {"gen:elasticity:n=5", "cg_single:pc=bjacobi"},
                 {"gen:elasticity:n=5", "cg:pc=bjacobi,inner=f32,tol=1e-10"},
                 {"gen:elasticity:n=5", "cg:max=7"},
                 {"gen:elasticity:n=5", "cg:stagnation=1,tol=1e-12"},
                 {"gen:cdr:n=7,b=4", "bicgstab:pc=bjacobi"},
                 {"gen:cdr:n=7,b=4", "bicg:pc=bjacobi"},
                 {"gen:cdr:n=7,b=4", "gmres:pc=bjacobi,restart=13"},
                 {"gen:cdr:n=7,b=4", "fgmres:pc=jacobi"},
                 {"gen:cdr:n=7,b=4", "gmres:pc=bjacobi,side=left,tol=1e-11"},
                 {"gen:elasticity:n=5", "gmres:restart=70,tol=1e-11"}, /* mended */
                 {"gen:cdr:n=7,b=4", "bicgstab:pc=bjacobi,pc_type=f32"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setting here = open_setting(state, cases[i].input, "cpu");
        setting there = open_setting(state, cases[i].input, "cuda");
        tess_result want, got;
        ok(state, tess_solve(here.plan, cases[i].spec, here.b, here.x, &want));
        ok(state, tess_solve(there.plan, cases[i].spec, there.b, there.x, &got));
        const bool single = strstr(cases[i].spec, "inner") != NULL; /* the fake sums in double */
        if (got.reason != want.reason || (!single && llabs(got.iterations - want.iterations) > 2))
            fail_msg("%s %s: %s after %lld iterations, on the CPU %s after %lld", cases[i].input,
                     cases[i].spec, got.text, (long long)got.iterations, want.text,
                     (long long)want.iterations);
        close_setting(state, &here);
        close_setting(state, &there);
    }
}

/* A small system on a device with large clusters: all iterations in one launch of loop.cu.
 * Emulated, an iteration of its 16 x 1024 threads takes a tenth of a second: a few of them. */
static void iterations_in_one_launch_end_as_on_the_cpu(void **state)
{
    static const char *const specs[] = {"cg:pc=bjacobi,max=5,tol=0",
                                        "bicgstab:pc=jacobi,max=3,tol=0"};
    fake->largest_cluster = 16;
    for (int i = 0; i < 2; i++) {
        setting here = open_setting(state, "gen:elasticity:n=4", "cpu");
        setting there = open_setting(state, "gen:elasticity:n=4", "cuda");
        tess_result want, got;
        ok(state, tess_solve(here.plan, specs[i], here.b, here.x, &want));
        const int64_t clusters = fake->clusters;
        ok(state, tess_solve(there.plan, specs[i], there.b, there.x, &got));
        assert_true(fake->clusters > clusters);
        assert_int_equal(got.iterations, want.iterations);
        assert_true(fabs(got.residual - want.residual) <= 1e-9 * want.residual);
        close_setting(state, &here);
        close_setting(state, &there);
    }
}

/* A solve of more than 30 iterations (55 by gmres), for which the host waits less than `most`
 * times. */
static void check_waits(void **state, const char *input, const char *spec, int64_t most)
{
    setting s = open_setting(state, input, "cuda");
    tess_result result;
    tess_solver *solver;
    ok(state, tess_solver_create(s.plan, spec, &solver));
    ok(state, tess_solver_solve(solver, s.b, s.x, &result)); /* makes what is made once */
    memset(s.x, 0, (size_t)s.A->rows * sizeof *s.x);
    const int64_t waits = fake->waits, allocations = fake->allocations;
    ok(state, tess_solver_solve(solver, s.b, s.x, &result));
    assert_int_equal(result.reason, TESS_REASON_CONVERGED);
    assert_true(result.iterations > 30);
    assert_true(fake->waits - waits < most);
    assert_int_equal(fake->allocations, allocations);
    assert_int_equal(result.history_count, result.iterations + 1);
    for (int64_t i = 0; i <= result.iterations; i++)
        assert_true(result.history[i] > 0);
    assert_true(result.seconds_spmv > 0 && result.bytes > 0);
    tess_solver_destroy(solver);
    close_setting(state, &s);
}

static void the_host_does_not_wait_for_an_iteration(void **state)
{
    check_waits(state, "gen:elasticity:n=6", "cg:pc=bjacobi,tol=1e-12", 12);
    check_waits(state, "gen:cdr:n=7,b=4", "gmres:pc=jacobi,restart=50,tol=1e-10", 55);
}

/* The first launch of a kernel may load its code, so that the first iteration's time says nothing
 * of the others. A graph has as many iterations as fit half a millisecond. */
static void a_slow_first_iteration_does_not_shorten_chunks(void **state)
{
    enum { ITERATIONS = 64, CHUNK = 8 }; /* five launches of 10 us each an iteration */
    setting s = open_setting(state, "gen:elasticity:n=11", "cuda");
    tess_result result;
    tess_solver *solver;
    fake->loading = 20e-3;
    ok(state, tess_solver_create(s.plan, "cg:pc=bjacobi,tol=0,max=64", &solver));
    ok(state, tess_solver_solve(solver, s.b, s.x, &result)); /* what comes again is captured */
    ok(state, tess_solver_solve(solver, s.b, s.x, &result));
    const int64_t graphs = fake->graphs;
    memset(s.x, 0, (size_t)s.A->rows * sizeof *s.x);
    ok(state, tess_solver_solve(solver, s.b, s.x, &result));
    assert_int_equal(result.iterations, ITERATIONS);
    assert_in_range(fake->graphs - graphs, ITERATIONS / 16, ITERATIONS / CHUNK);
    tess_solver_destroy(solver);
    close_setting(state, &s);
}

/* Vectors that are longer than what the driver copies directly. An initial guess of zeros is not
 * copied; one whose last entry alone is not 0 is. The first solve makes what is made once. */
static void initial_guesses_reach_the_device(void **state)
{
    static const char *const input = "gen:stencil7:nx=35,ny=33,nz=29,b=1";
    setting here = open_setting(state, input, "cpu"), there = open_setting(state, input, "cuda");
    const int64_t rows = here.A->rows;
    int64_t copies[3];
    tess_solver *solver;
    assert_true(rows * (int64_t)sizeof(double) > 256 << 10);
    ok(state, tess_solver_create(there.plan, "cg:max=2", &solver));
    for (int i = 0; i < 3; i++) {
        tess_result want, got;
        memset(here.x, 0, (size_t)rows * sizeof *here.x);
        memset(there.x, 0, (size_t)rows * sizeof *there.x);
        here.x[rows - 1] = there.x[rows - 1] = i == 2 ? 100 : 0;
        const int64_t before = fake->copies;
        ok(state, tess_solve(here.plan, "cg:max=2", here.b, here.x, &want));
        ok(state, tess_solver_solve(solver, there.b, there.x, &got));
        copies[i] = fake->copies - before;
        assert_true(fabs(got.true_residual - want.true_residual) <= 1e-12 * want.true_residual);
        for (int64_t k = 0; k < rows; k++)
            if (!(fabs(there.x[k] - here.x[k]) <= 1e-11 * (1 + fabs(here.x[k]))))
                fail_msg("x %lld is %.17g, on the CPU %.17g", (long long)k, there.x[k], here.x[k]);
    }
    assert_int_equal(copies[1] + 1, copies[2]);
    tess_solver_destroy(solver);
    close_setting(state, &here);
    close_setting(state, &there);
}

static void vectors_on_the_device_stay_there(void **state)
{
    setting s = open_setting(state, "gen:elasticity:n=4", "cuda");
    const size_t bytes = (size_t)s.A->rows * sizeof *s.x;
    double *copy = malloc(bytes);
    void *b, *x;
    tess_result host, device;
    ok(state, tess_device_alloc(s.device, bytes, &b));
    ok(state, tess_device_alloc(s.device, bytes, &x));
    ok(state, tess_device_copy_to(s.device, b, s.b, bytes));
    for (size_t i = 0; i < 2; i++) {
        static const char *const specs[] = {"cg:pc=jacobi", "cg:pc=jacobi,inner=f32,tol=1e-12"};
        memset(s.x, 0, bytes);
        ok(state, tess_device_copy_to(s.device, x, s.x, bytes));
        ok(state, tess_solve(s.plan, specs[i], b, x, &device));
        ok(state, tess_solve(s.plan, specs[i], s.b, s.x, &host));
        ok(state, tess_device_copy_from(s.device, copy, x, bytes));
        assert_int_equal(device.reason, TESS_REASON_CONVERGED);
        assert_int_equal(host.iterations, device.iterations);
        assert_memory_equal(copy, s.x, bytes);
    }
    tess_device_free(s.device, b);
    tess_device_free(s.device, x);
    free(copy);
    close_setting(state, &s);
}

/* A solve of k systems, by the plan's products or the caller's. */
typedef struct life {
    const char *spec;
    int k;
    enum { OURS, CALLED, CAPTURED } given;
} life;

static const life lives[] = {{"cg:pc=bjacobi", 3, OURS},
                             {"cg_single:pc=jacobi", 1, OURS},
                             {"gmres:restart=4,max=9", 1, OURS},
                             {"cg", 2, CALLED},
                             {"cg", 1, CAPTURED},
                             {"bicgstab:max=9", 1, CAPTURED}};

/* The matrix as the caller's operator. */
static tess_status apply_plan(void *user, int transpose, const void *x, void *y, void *stream)
{
    (void)transpose;
    return stream ? tess_spmv(user, 1, x, 0, y) : TESS_ERR_INTERNAL;
}

/* A new plan and solver, for the sweeps. What fails while kernels are measured is failures.c's. */
static tess_status whole_solve(tess_ctx *ctx, const tess_matrix *A, const life *of, const double *b,
                               double *x)
{
    static const tess_plan_options estimate = {.effort = TESS_EFFORT_ESTIMATE};
    tess_device *device;
    tess_plan *plan = NULL, *given = NULL;
    tess_solver *solver = NULL;
    tess_result results[3];
    TESS_TRY(tess_device_open(ctx, "cuda", &device));
    tess_status status = tess_plan_create(ctx, A, device, &estimate, &plan);
    const tess_operator called = {.type = A->type,
                                  .rows = A->rows,
                                  .apply = apply_plan,
                                  .user = plan,
                                  .capturable = of->given == CAPTURED};
    if (status == TESS_OK && of->given != OURS)
        status = tess_plan_from_operator(ctx, device, &called, &given);
    if (status == TESS_OK)
        status = tess_solver_create(given ? given : plan, of->spec, &solver);
    if (status == TESS_OK)
        status = tess_solver_solve_many(solver, of->k, b, A->rows, x, A->rows, results);
    tess_solver_destroy(solver);
    tess_plan_destroy(given);
    tess_plan_destroy(plan);
    tess_device_close(device);
    return status;
}

static void every_driver_error_is_reported_and_nothing_leaks(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = problem_matrix(ctx, 12, 2, true, TESS_F64, 9);
    double *b = test_vector(3 * A->rows, TESS_F64, 1), *x = calloc((size_t)(3 * A->rows), 8);
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
        ok(state, whole_solve(ctx, A, &lives[i], b, x));
        const int64_t live = test_live(state);
        bool reached = true;
        for (int64_t n = 0; reached; n = test_next_failure(n)) {
            fake->fail_with = 719;
            fake->fail_at = n;
            tess_status status = whole_solve(ctx, A, &lives[i], b, x);
            reached = fake->fail_at < 0;
            fake->fail_at = -1;
            if (fake->alive != 0 || fake->current != 0 || test_live(state) != live)
                fail_msg("%s: call %lld failing leaves %lld objects, %d contexts, %lld allocations",
                         lives[i].spec, (long long)n, (long long)fake->alive, fake->current,
                         (long long)(test_live(state) - live));
            if (status != TESS_OK)
                assert_int_equal(status, TESS_ERR_DEVICE);
        }
    }
    free(b), free(x);
    tess_matrix_destroy(A);
}

static void host_allocation_failures_leak_nothing(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = problem_matrix(ctx, 12, 2, true, TESS_F64, 9);
    double *b = test_vector(3 * A->rows, TESS_F64, 1), *x = calloc((size_t)(3 * A->rows), 8);
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
        test_sweep sweep = test_sweep_begin(state);
        tess_status status;
        do {
            status = whole_solve(ctx, A, &lives[i], b, x);
            assert_int_equal(fake->alive, 0);
        } while (test_sweep_goes_on(&sweep, status));
    }
    free(b), free(x);
    tess_matrix_destroy(A);
}

static void count_unlike(void *user, const char *line)
{
    *(int *)user += strstr(line, "no probe is like the matrix") != NULL;
}

/* An iteration's product evicts the matrix first if it does not stay in the cache. This code is for
 * large matrices, but is verified on a small one: on millions of rows that would take seconds. */
static void a_large_matrix_is_not_its_own_probe(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const tess_log_fn log = ctx->log;
    void *const user = ctx->log_user;
    int unlike = 0;
    tess_cache_clear();
    setting s = open_setting(state, "gen:stencil27:n=12,b=3", "cuda"); /* 3.5 MB; L2 has 1 */
    ctx->log = count_unlike;
    ctx->log_user = &unlike;
    tess_result result;
    tess_status status = tess_solve(s.plan, "cg:pc=jacobi", s.b, s.x, &result);
    ctx->log = log;
    ctx->log_user = user;
    ok(state, status);
    assert_int_equal(result.reason, TESS_REASON_CONVERGED);
    assert_int_equal(unlike, 0);
    close_setting(state, &s);
}

/* Preconditioners alone: what the CPU's are, transposed and of new values too. */
static void preconditioners_alone_are_the_cpus(void **state)
{
    static const char *const specs[] = {"none",
                                        "jacobi",
                                        "bjacobi:pc_type=f32",
                                        "spai0",
                                        "chebyshev",
                                        "ssor:schedule=levels,omega=1.2",
                                        "bjacobi",
                                        "ic0:schedule=levels",
                                        "ilu0:schedule=levels",
                                        "ilut"};
    setting here = open_setting(state, "gen:elasticity:n=4", "cpu:1");
    setting there = open_setting(state, "gen:elasticity:n=4", "cuda");
    const int64_t rows = here.A->rows;
    double *z = calloc((size_t)rows, sizeof *z);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tess_preconditioner *expected, *found;
        ok(state, tess_pc_create(here.plan, specs[i], &expected));
        ok(state, tess_pc_create(there.plan, specs[i], &found));
        for (int turn = 0; turn < 4; turn++) {
            const bool transpose = turn % 2 == 1;
            double largest = 0, error = 0;
            ok(state,
               (transpose ? tess_pc_apply_transpose : tess_pc_apply)(expected, here.b, here.x));
            ok(state, (transpose ? tess_pc_apply_transpose : tess_pc_apply)(found, there.b, z));
            for (int64_t r = 0; r < rows; r++) {
                largest = fmax(largest, fabs(here.x[r]));
                error = fmax(error, fabs(here.x[r] - z[r]));
            }
            const double bound = strstr(specs[i], "f32") ? 1e-6 : 1e-13;
            if (!(largest > 0 && error <= bound * largest))
                fail_msg("%s, turn %d: off by %g of %g", specs[i], turn, error, largest);
            ok(state, tess_pc_update(expected, NULL));
            ok(state, tess_pc_update(found, NULL));
        }
        tess_pc_destroy(expected);
        tess_pc_destroy(found);
    }
    free(z);
    close_setting(state, &here);
    close_setting(state, &there);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(solves_end_as_on_the_cpu),
        TEST(preconditioners_alone_are_the_cpus),
        TEST(iterations_in_one_launch_end_as_on_the_cpu),
        TEST(the_host_does_not_wait_for_an_iteration),
        TEST(a_slow_first_iteration_does_not_shorten_chunks),
        TEST(initial_guesses_reach_the_device),
        TEST(vectors_on_the_device_stay_there),
        TEST(a_large_matrix_is_not_its_own_probe),
        TEST(every_driver_error_is_reported_and_nothing_leaks),
        TEST(host_allocation_failures_leak_nothing),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
