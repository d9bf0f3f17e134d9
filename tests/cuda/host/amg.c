/* A multigrid hierarchy that the fake device computes is the CPU's, after new values too. Without
 * room on the device the host computes it. Errors of the driver are reported. */
#include "amg_setting.h"
#include "problems.h"

/* Groups are the same, values agree up to rounding. */
static void compare(void **state, const char *what, const setting *here, const setting *there)
{
    const tess_amg *want = hierarchy(here);
    tess_amg *got = there->solver->pc.state;
    assert_int_equal(got->levels, want->levels);
    for (int i = 0; i < want->levels; i++) {
        const tess_amg_level *w = &want->level[i];
        tess_amg_level *g = &got->level[i];
        const int64_t stored = tess_matrix_stored(w->A);
        double most = 0, error = 0;
        assert_int_equal(tess_matrix_stored(g->A), stored);
        ok(state, tess_amg_need_values(got, g));
        for (int64_t k = 0; k < stored; k++) {
            most = fmax(most, fabs(tess_matrix_value(w->A, k)));
            error = fmax(error, fabs(tess_matrix_value(w->A, k) - tess_matrix_value(g->A, k)));
        }
        if (!(error <= 1e-12 * most))
            fail_msg("%s: level %d is off by %g of %g", what, i, error, most);
        if (i + 1 < want->levels)
            assert_memory_equal(g->aggregates.of, w->aggregates.of,
                                (size_t)w->A->block_rows * sizeof *w->aggregates.of);
    }
}

static void solve(void **state, const char *what, const setting *here, const setting *there,
                  int64_t rows)
{
    double *b = test_vector(rows, TESS_F64, 3), *x = calloc((size_t)(2 * rows), sizeof *x);
    tess_result want, got;
    ok(state, tess_solver_solve(here->solver, b, x, &want));
    ok(state, tess_solver_solve(there->solver, b, x + rows, &got));
    if (got.reason != TESS_REASON_CONVERGED || llabs(got.iterations - want.iterations) > 1)
        fail_msg("%s: %s, on the CPU %s", what, got.text, want.text);
    free(b), free(x);
}

static void set_values(void **state, const setting *s, const tess_matrix *A, const double *values,
                       void *there)
{
    const size_t bytes = (size_t)tess_matrix_stored(A) * sizeof *values;
    if (there)
        ok(state, tess_device_copy_to(s->device, there, values, bytes));
    ok(state, tess_plan_update_values(s->plan, there ? there : values));
    ok(state, tess_solver_update(s->solver, NULL));
}

static void check(void **state, int64_t block_rows, int32_t b, const char *spec, known modes,
                  uint64_t seed)
{
    tess_ctx *ctx = test_ctx(state);
    char what[160];
    tess_matrix *A = problem_matrix(ctx, block_rows, b, true, TESS_F64, seed);
    const int64_t stored = tess_matrix_stored(A);
    setting here, there;
    double *values = malloc((size_t)stored * sizeof *values);
    void *given;
    snprintf(what, sizeof what, "%lld block rows, b=%d, %s", (long long)block_rows, (int)b, spec);
    ok(state, open_setting_with(ctx, A, "cpu:1", spec, modes, &here));
    ok(state, open_setting_with(ctx, A, "cuda", spec, modes, &there));
    assert_true(hierarchy(&there)->levels > 1);
    const tess_amg_level *finest = &hierarchy(&there)->level[0];
    assert_non_null(finest->device);
    assert_true(finest->all_strong == !finest->strength); /* which groups of the host need */
    compare(state, what, &here, &there);
    solve(state, what, &here, &there, A->rows);
    ok(state, tess_device_alloc(there.device, (size_t)stored * sizeof *values, &given));
    for (int round = 1; round <= 3; round++) { /* from the host, from the device, twice */
        for (int64_t i = 0; i < stored; i++)
            values[i] = (1 + 0.5 * round) * ((const double *)A->values)[i];
        set_values(state, &here, A, values, NULL);
        set_values(state, &there, A, values, round > 1 ? given : NULL);
        compare(state, what, &here, &there);
        solve(state, what, &here, &there, A->rows);
    }
    tess_device_free(there.device, given);
    close_setting(&here);
    close_setting(&there);
    tess_matrix_destroy(A);
    free(values);
}

static void hierarchies_are_the_cpus(void **state)
{
    check(state, 90, 1, "cg:pc=amg,bottom=4", NOTHING, 1);
    check(state, 60, 3, "cg:pc=amg,bottom=9", NOTHING, 2);
    check(state, 40, 2, "cg:pc=amg,bottom=8,pc_type=f32", NOTHING, 3);
    check(state, 50, 5, "cg:pc=amg,bottom=15,strength=0.9", NOTHING, 4); /* weak blocks */
    check(state, 60, 3, "cg:pc=amg,bottom=9", COORDINATES, 5);
    check(state, 50, 2, "cg:pc=amg,bottom=8", COORDINATES, 6);
    check(state, 60, 3, "cg:pc=amg,bottom=9", MODES, 7);
}

/* Rows that couple to the next one only; with `leap`, row 9 also to the last row, which does not
 * couple to row 9. */
static tess_matrix *make_chain(void **state, int64_t rows, bool leap)
{
    tess_matrix *A;
    int64_t blocks = 0;
    ok(state, tess_matrix_allocate(test_ctx(state), TESS_F64, rows, rows, 1, 1,
                                   3 * rows - 2 + (leap ? 1 : 0), &A));
    double *values = A->values;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = tess_max(0, i - 1); j <= tess_min(rows - 1, i + 1); j++, blocks++) {
            A->columns[blocks] = (int32_t)j;
            values[blocks] = i == j ? 2.1 : -1;
        }
        if (leap && i == 9) {
            A->columns[blocks] = (int32_t)rows - 1;
            values[blocks++] = -0.9;
        }
        A->row_offsets[i + 1] = blocks;
    }
    return A;
}

/* The host makes groups that wait for each other one by one, and groups of unsymmetric patterns.
 * The device computes everything else. */
static void groups_of_some_levels_are_the_hosts(void **state)
{
    static const struct {
        int64_t rows;
        bool leap;
        const char *spec;
    } cases[] = {{700, false, "cg:pc=amg,bottom=30"},
                 {60, true, "gmres:pc=amg,bottom=8,smoother=chebyshev"}};
    for (int i = 0; i < 2; i++) {
        tess_matrix *A = make_chain(state, cases[i].rows, cases[i].leap);
        setting here, there;
        ok(state, open_setting(test_ctx(state), A, "cpu:1", cases[i].spec, &here));
        ok(state, open_setting(test_ctx(state), A, "cuda", cases[i].spec, &there));
        const tess_amg_level *finest = &hierarchy(&there)->level[0];
        assert_non_null(finest->device);
        assert_non_null(finest->strength);
        compare(state, cases[i].spec, &here, &there);
        solve(state, cases[i].spec, &here, &there, A->rows);
        close_setting(&here);
        close_setting(&there);
        tess_matrix_destroy(A);
    }
}

/* The finest level of an f32 matrix has an f64 copy on the host only, and the plan's products are
 * not exact enough. */
static void hierarchies_of_f32_matrices_are_the_cpus(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = problem_matrix(ctx, 60, 3, true, TESS_F32, 8);
    setting here, there;
    ok(state, open_setting(ctx, A, "cpu:1", "cg:pc=amg,bottom=9", &here));
    ok(state, open_setting(ctx, A, "cuda", "cg:pc=amg,bottom=9", &there));
    assert_non_null(hierarchy(&there)->level[0].device);
    compare(state, "f32", &here, &there);
    ok(state, tess_solver_update(there.solver, NULL));
    compare(state, "f32, updated", &here, &there);
    close_setting(&here);
    close_setting(&there);
    tess_matrix_destroy(A);
}

/* Neither the set-up nor new values in device memory bring the finest matrix to the host. */
static void values_stay_on_the_device(void **state)
{
    static const char *const specs[] = {"cg:pc=amg,bottom=9", "cg:pc=amg,bottom=9,pc_type=f32"};
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = problem_matrix(ctx, 400, 3, true, TESS_F64, 2);
    const size_t bytes = (size_t)tess_matrix_stored(A) * sizeof(double);
    for (int i = 0; i < 2; i++) {
        setting s;
        void *given;
        ok(state, open_setting(ctx, A, "cuda", specs[i], &s));
        ok(state, tess_device_alloc(s.device, bytes, &given));
        ok(state, tess_device_copy_to(s.device, given, A->values, bytes));
        const int64_t before = fake->taken;
        ok(state, tess_plan_update_values(s.plan, given));
        ok(state, tess_solver_update(s.solver, NULL));
        if (fake->taken - before >= (int64_t)bytes / 2)
            fail_msg("%s: %lld bytes came to the host, the matrix has %lld", specs[i],
                     (long long)(fake->taken - before), (long long)bytes);
        tess_device_free(s.device, given);
        close_setting(&s);
    }
    tess_matrix_destroy(A);
}

/* A plan of a pattern, in storage of the matrix's order and in another, takes values that only the
 * device has. */
static void plans_of_patterns_take_values_on_the_device(void **state)
{
    static const char *const formats[] = {"bsr", "sliced"};
    tess_ctx *ctx = test_ctx(state);
    tess_device *device;
    ok(state, tess_device_open(ctx, "cuda", &device));
    for (uint64_t seed = 1; seed <= 6; seed++) {
        const int32_t r = 1 + (int32_t)tess_random_below(seed, 0, 4);
        const int32_t c = seed % 2 ? 1 + (int32_t)tess_random_below(seed, 1, 4) : r;
        const tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE,
                                           .format = formats[seed % 2]};
        tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 30, r, c, TESS_F64, seed), bare = *A;
        const size_t bytes = (size_t)tess_matrix_stored(A) * sizeof(double);
        double *x = test_vector(A->cols, TESS_F64, seed);
        double *y = calloc(2 * (size_t)A->rows, sizeof *y), *want = y + A->rows;
        tess_plan *plan;
        void *given;
        bare.values = NULL;
        ok(state, tess_plan_create(ctx, &bare, device, &options, &plan));
        ok(state, tess_device_alloc(device, bytes, &given));
        ok(state, tess_device_copy_to(device, given, A->values, bytes));
        ok(state, tess_plan_update_values(plan, given));
        ok(state, tess_spmv(plan, 1, x, 0, y));
        tess_ref_spmm(A, 1, TESS_ORDER_COLUMN_MAJOR, 1, x, A->cols, 0, want, A->rows);
        for (int64_t i = 0; i < A->rows; i++)
            if (!(fabs(y[i] - want[i]) <= 1e-13))
                fail_msg("%s, seed %d: y %d is %g, not %g", formats[seed % 2], (int)seed, (int)i,
                         y[i], want[i]);
        tess_plan_destroy(plan);
        tess_device_free(device, given);
        tess_matrix_destroy(A);
        free(x), free(y);
    }
    tess_device_close(device);
}

/* The device's memory ends at every tenth of what a set-up takes: the host computes, or it is
 * reported. */
static void without_room_the_host_computes(void **state)
{
    static const char *const spec = "cg:pc=amg,bottom=9";
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = problem_matrix(ctx, 900, 3, true, TESS_F64, 5);
    setting here, there;
    int by_host = 0, refused = 0;
    ok(state, open_setting(ctx, A, "cpu:1", spec, &here));
    ok(state, open_setting(ctx, A, "cuda", spec, &there));
    const int64_t most = fake->memory_used;
    close_setting(&there);
    for (int tenth = 1; tenth < 10; tenth++) {
        fake->memory_limit = most * tenth / 10;
        const tess_status status = open_setting(ctx, A, "cuda", spec, &there);
        if (status == TESS_OK) {
            by_host += !hierarchy(&there)->level[hierarchy(&there)->levels - 2].device;
            compare(state, "little memory", &here, &there);
        } else {
            assert_int_equal(status, TESS_ERR_MEMORY);
            refused++;
        }
        close_setting(&there);
    }
    if (by_host == 0 || refused == 0)
        fail_msg("%d times by the host, %d times refused", by_host, refused);
    close_setting(&here);
    tess_matrix_destroy(A);
}

/* The launches of a second solve with at most so many iterations. */
static int64_t solve_launches(void **state, const tess_matrix *A, const char *spec, int64_t most,
                              int64_t *iterations)
{
    char limited[120];
    setting s;
    tess_result result;
    double *b = test_vector(A->rows, TESS_F64, 3), *x = calloc((size_t)A->rows, sizeof *x);
    snprintf(limited, sizeof limited, "%s,max=%lld", spec, (long long)most);
    ok(state, open_setting(test_ctx(state), A, "cuda", limited, &s));
    ok(state, tess_solver_solve(s.solver, b, x, &result));
    memset(x, 0, (size_t)A->rows * sizeof *x);
    const int64_t before = fake->launches;
    ok(state, tess_solver_solve(s.solver, b, x, &result));
    assert_int_equal(result.reason, TESS_REASON_CONVERGED);
    *iterations = result.iterations;
    close_setting(&s);
    free(b), free(x);
    return fake->launches - before;
}

/* Iterations are queued ahead, but none runs after the one that ends the solve. A solve that may go
 * on has as many launches as one whose limit is that number of iterations. */
static void no_cycle_runs_in_vain(void **state)
{
    static const char *const specs[] = {"cg:pc=amg,bottom=9", "cg:pc=amg,bottom=9,pc_type=f32",
                                        "cg:pc=amg,bottom=9,cycle=k", "amg:bottom=9"};
    for (uint64_t seed = 1; seed <= 4; seed++) {
        tess_matrix *A = problem_matrix(test_ctx(state), 60 + 10 * (int64_t)seed,
                                        1 + (int32_t)(seed % 3), true, TESS_F64, seed);
        const char *spec = specs[seed - 1];
        int64_t iterations, again;
        const int64_t launches = solve_launches(state, A, spec, 200, &iterations);
        const int64_t least = solve_launches(state, A, spec, iterations, &again);
        assert_int_equal(again, iterations);
        if (launches != least)
            fail_msg("%s, seed %d: %lld launches for %lld iterations, %lld suffice", spec,
                     (int)seed, (long long)launches, (long long)iterations, (long long)least);
        tess_matrix_destroy(A);
    }
}

/* Set-up and update while one call of the driver fails, every fifth in turn. */
static void driver_errors_are_reported_and_nothing_leaks(void **state)
{
    static const char *const spec = "cg:pc=amg,bottom=4,pc_type=f32";
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = problem_matrix(ctx, 24, 2, true, TESS_F64, 9);
    setting s;
    ok(state, open_setting(ctx, A, "cuda", spec, &s));
    close_setting(&s);
    const int64_t live = test_live(state);
    bool reached = true;
    for (int64_t n = 0; reached; n = test_next_failure(n)) {
        fake->fail_with = 719;
        fake->fail_at = n;
        tess_status status = open_setting(ctx, A, "cuda", spec, &s);
        if (status == TESS_OK)
            status = tess_solver_update(s.solver, NULL);
        close_setting(&s);
        reached = fake->fail_at < 0;
        fake->fail_at = -1;
        if (fake->alive != 0 || fake->current != 0 || test_live(state) != live)
            fail_msg("call %lld failing leaves %lld objects, %d contexts, %lld allocations",
                     (long long)n, (long long)fake->alive, fake->current,
                     (long long)(test_live(state) - live));
        if (status != TESS_OK)
            assert_int_equal(status, TESS_ERR_DEVICE);
    }
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(groups_of_some_levels_are_the_hosts),          TEST(hierarchies_are_the_cpus),
        TEST(hierarchies_of_f32_matrices_are_the_cpus),     TEST(values_stay_on_the_device),
        TEST(plans_of_patterns_take_values_on_the_device),  TEST(without_room_the_host_computes),
        TEST(driver_errors_are_reported_and_nothing_leaks), TEST(no_cycle_runs_in_vain),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
