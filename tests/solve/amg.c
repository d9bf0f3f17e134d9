/* Multigrid: iterations that do not grow, hard and singular systems, modes, new values, several
 * right-hand sides, and failing allocations. */
#include <math.h>
#include <string.h>

#include "multigrid.h"

static void elasticity_takes_as_many_iterations_on_every_mesh(void **state)
{
    static const int sizes[] = {8, 11, 16, 24};
    for (int i = 0; i < (amg_run_few() ? 1 : 4); i++) {
        char input[60];
        snprintf(input, sizeof input, "elasticity:n=%d", sizes[i]);
        amg_run r = amg_run_generate(test_ctx(state), input);
        amg_run_within(&r, input, "cg:pc=amg", 20);
        assert_int_equal(amg_run_hierarchy(&r)->modes, 6);
        assert_true(amg_run_hierarchy(&r)->levels >= 2);
        const double complexity = tess_amg_complexity(amg_run_hierarchy(&r));
        if (!(complexity <= 1.25))
            fail_msg("%s: operator complexity %.3f", input, complexity);
        const int64_t iterations = r.result.iterations;
        amg_run_within(&r, input, "cg:pc=amg,pc_type=f32", iterations + 1);
        amg_run_close(test_ctx(state), &r);
    }
}

/* Jumps of any size on any mesh, strong anisotropy, and free bodies. */
static void jumps_and_directions_cost_less_than_twice_the_iterations(void **state)
{
    static const char *const kinds[] = {"jump", "jump", "jump", "aniso"};
    if (amg_run_few())
        skip();
    for (uint64_t seed = 1; seed <= 8; seed++) {
        const int n = 12 + (int)tess_random_below(seed, 0, 37);
        const char *kind = kinds[tess_random_below(seed, 1, 4)];
        const double size = pow(10, 12 * tess_random_unit(seed, 2) - 6);
        char input[80];
        snprintf(input, sizeof input, "diffusion:n=%d", n);
        amg_run r = amg_run_generate(test_ctx(state), input);
        amg_run_within(&r, input, "cg:pc=amg", 20);
        const int64_t smooth = r.result.iterations;
        amg_run_close(test_ctx(state), &r);
        snprintf(input, sizeof input, "diffusion:n=%d,%s=%.3g%s", n, kind, size,
                 tess_random_below(seed, 3, 3) ? "" : ",free=1");
        r = amg_run_generate(test_ctx(state), input);
        amg_run_within(&r, input, "cg:pc=amg", 2 * smooth);
        amg_run_close(test_ctx(state), &r);
    }
}

static void jumps_and_directions_together_are_solved(void **state)
{
    for (uint64_t seed = 1; seed <= (amg_run_few() ? 2 : 12); seed++) {
        char input[80];
        snprintf(input, sizeof input, "diffusion:n=%d,jump=1e%d,aniso=1e%d%s",
                 5 + (int)tess_random_below(seed, 0, 12), -6 + (int)tess_random_below(seed, 1, 13),
                 -4 + (int)tess_random_below(seed, 2, 9),
                 tess_random_below(seed, 3, 3) ? "" : ",free=1");
        amg_run r = amg_run_generate(test_ctx(state), input);
        amg_run_within(&r, input, "cg:pc=amg", 200);
        amg_run_close(test_ctx(state), &r);
    }
}

static void free_bodies_are_solved_up_to_a_rigid_motion(void **state)
{
    amg_run r = amg_run_generate(test_ctx(state), "elasticity:n=8,free=1");
    amg_run_within(&r, "elasticity:n=8,free=1", "cg:pc=amg", 20);
    amg_run_close(test_ctx(state), &r);
    r = amg_run_generate(test_ctx(state),
                         "elasticity:n=2,free=1"); /* one level: the bottom is singular */
    amg_run_within(&r, "elasticity:n=2,free=1", "cg:pc=amg", 3);
    amg_run_close(test_ctx(state), &r);
}

/* Elements up to a thousand times longer than thick, or the other way round: a solution, or a
 * reason that says what failed. Moderate ones are solved. */
static void thin_elements_have_a_result_or_a_reason(void **state)
{
    static const char *const specs[] = {"cg:pc=amg", "cg:pc=amg,pc_type=f32", "cg:pc=amg,cycle=w",
                                        "cg:pc=amg,smoother=gs"};
    for (uint64_t seed = 1; seed <= (amg_run_few() ? 2 : 16); seed++) {
        char input[80], what[160];
        const double thin = pow(10, 3 * tess_random_unit(seed, 0));
        const char *spec = specs[tess_random_below(seed, 1, 4)];
        snprintf(input, sizeof input, "elasticity:n=%d,thin=%.3g%s",
                 3 + (int)tess_random_below(seed, 2, 5), thin,
                 tess_random_below(seed, 3, 3) ? "" : ",free=1");
        snprintf(what, sizeof what, "%s, %s", input, spec);
        amg_run r = amg_run_generate(test_ctx(state), input);
        amg_run_solve(&r, what, spec);
        const bool solved = r.result.reason == TESS_REASON_CONVERGED;
        if (solved ? !(r.result.true_residual <= 1.05e-8) : thin > 0.1 && thin < 10)
            fail_msg("%s: %s, true residual %.2e", what, tess_reason_name(r.result.reason),
                     r.result.true_residual);
        amg_run_close(test_ctx(state), &r);
    }
}

/* A matching permutes rows alone, so that a symmetric matrix is no longer symmetric. */
static void a_matching_is_refused_with_what_to_do(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    amg_run r = amg_run_generate(ctx, "elasticity:n=3");
    tess_solver *solver = NULL;
    assert_int_equal(tess_solver_create(r.plan, "gmres:pc=amg,scale=match", &solver),
                     TESS_ERR_OPTION);
    assert_string_equal(tess_ctx_error(ctx),
                        "scale=match reorders rows alone, and pc=amg needs the diagonal and the "
                        "modes of A: try scale=equilibrate");
    assert_null(solver);
    amg_run_within(&r, "equilibrated", "cg:pc=amg,scale=equilibrate", 40);
    amg_run_close(ctx, &r);
}

/* Sizes of blocks, of boxes and of the bottom drawn at random. */
static void block_matrices_of_any_size_are_solved(void **state)
{
    for (uint64_t seed = 1; seed <= (amg_run_few() ? 4 : 40); seed++) {
        char input[160], spec[120];
        const bool single = tess_random_below(seed, 5, 4) == 0; /* rounding: 1e-7 times 200 */
        snprintf(input, sizeof input, "stencil%d:nx=%d,ny=%d,nz=%d,b=%d,seed=%d%s",
                 tess_random_below(seed, 0, 2) ? 7 : 27, 1 + (int)tess_random_below(seed, 1, 12),
                 1 + (int)tess_random_below(seed, 2, 9), 1 + (int)tess_random_below(seed, 3, 7),
                 1 + (int)tess_random_below(seed, 4, 8), (int)seed, single ? ",type=f32" : "");
        snprintf(spec, sizeof spec, "cg:pc=amg,bottom=%d,degree=%d,tol=%s%s",
                 1 + (int)tess_random_below(seed, 6, 100), 1 + (int)tess_random_below(seed, 7, 4),
                 single ? "1e-4" : "1e-9", tess_random_below(seed, 8, 3) ? "" : ",pc_type=f32");
        amg_run r = amg_run_generate(test_ctx(state), input);
        amg_run_within(&r, input, spec, 30);
        amg_run_close(test_ctx(state), &r);
    }
}

/* Rows that couple to nothing, and rows that are 0 with their right-hand side. */
static void isolated_and_empty_rows_do_no_harm(void **state)
{
    for (uint64_t seed = 1; seed <= (amg_run_few() ? 2 : 12); seed++) {
        char what[60];
        const int32_t b = 1 + (int32_t)tess_random_below(seed, 0, 4);
        snprintf(what, sizeof what, "stencil7:n=8,b=%d,seed=%d", (int)b, (int)seed);
        amg_run r = amg_run_generate(test_ctx(state), what);
        amg_run_isolate(test_ctx(state), &r, seed);
        amg_run_within(&r, what, "cg:pc=amg,bottom=40", 40);
        amg_run_close(test_ctx(state), &r);
    }
}

/* -1 beside the diagonal and in a full first row and column: all rows are neighbours of the first.
 */
static tess_matrix *arrow_matrix(tess_ctx *ctx, int64_t n)
{
    int64_t *rows = malloc((size_t)(5 * n) * sizeof *rows), count = 0;
    int64_t *cols = malloc((size_t)(5 * n) * sizeof *cols);
    double *values = malloc((size_t)(5 * n) * sizeof *values);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < 5; k++) {
            const int64_t j = k < 3 ? i + k - 1 : 0, other = k == 4 ? i : j;
            const int64_t row = k == 4 ? 0 : i;
            if (j < 0 || j >= n || (k >= 3 && i < 2))
                continue;
            rows[count] = row;
            cols[count] = other;
            values[count++] = row != other ? -1 : i == 0 ? (double)n : 3.01;
        }
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, n, n, count, rows, cols, values, &A),
                     TESS_OK);
    free(rows), free(cols), free(values);
    return A;
}

/* Long rows, and neighbours without a coupling, do not make coarse matrices dense. */
static void graphs_have_sparse_levels(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int kind = 0; kind < 3; kind++) {
        amg_run r = {0};
        tess_matrix *A = kind == 0   ? random_matrix(ctx, 4000, 7, true)
                         : kind == 1 ? random_matrix(ctx, 6000, 3, true)
                                     : arrow_matrix(ctx, 2000);
        if (kind == 1) { /* in blocks, with twice the neighbours */
            tess_matrix *scalars = A;
            assert_int_equal(tess_matrix_to_blocks(ctx, scalars, &(tess_blocking){2, 2}, &A),
                             TESS_OK);
            tess_matrix_destroy(scalars);
        }
        amg_run_plan(ctx, A, &r);
        r.b = test_vector(A->rows, TESS_F64, 3);
        r.x = calloc((size_t)A->rows, sizeof(double));
        amg_run_within(&r, "a graph", "cg:pc=amg,bottom=60", 60);
        const tess_amg *amg = amg_run_hierarchy(&r);
        if (!(tess_amg_complexity(amg) <= 2.2) || amg->level[0].plain != (kind < 2) ||
            amg->level[0].device)
            fail_msg("kind %d: %s", kind, tess_solver_describe(r.solver));
        const int64_t iterations = r.result.iterations;
        assert_int_equal(tess_solver_update(r.solver, NULL), TESS_OK);
        memset(r.x, 0, (size_t)A->rows * sizeof(double));
        assert_int_equal(tess_solver_solve(r.solver, r.b, r.x, &r.result), TESS_OK);
        assert_int_equal(r.result.iterations, iterations);
        free(r.b), free(r.x);
        r.b = r.x = NULL;
        amg_run_close(ctx, &r);
    }
}

static void every_run_has_the_same_bits(void **state)
{
    static const char *const inputs[] = {"elasticity:n=8", "diffusion:n=20,free=1"};
    for (size_t k = 0; k < (amg_run_few() ? 1 : 2); k++) {
        amg_run r = amg_run_generate(test_ctx(state), inputs[k]);
        amg_run_within(&r, inputs[k], "cg:pc=amg,bottom=100", 20);
        double *first = malloc((size_t)r.A->rows * sizeof *first);
        memcpy(first, r.x, (size_t)r.A->rows * sizeof *first);
        for (int i = 0; i < 3; i++) {
            amg_run_within(&r, inputs[k], "cg:pc=amg,bottom=100", 20);
            assert_memory_equal(first, r.x, (size_t)r.A->rows * sizeof *first);
        }
        free(first);
        amg_run_close(test_ctx(state), &r);
    }
}

/* A mode that A maps to 0 is mapped to 0 on every level, with weak entries and without. */
static void the_kernel_of_a_singular_matrix_is_kept_on_every_level(void **state)
{
    static const char *const inputs[] = {"diffusion:n=20,free=1", "diffusion:n=17,free=1,aniso=20",
                                         "diffusion:n=16,free=1,jump=30"};
    if (amg_run_few() || getenv("TEST_DEVICE")) /* a device's levels are not in the host's memory */
        skip();
    for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++) {
        amg_run r = amg_run_generate(test_ctx(state), inputs[k]);
        amg_run_solve(&r, inputs[k], "cg:pc=amg,bottom=20");
        const tess_amg *amg = amg_run_hierarchy(&r);
        double largest = 0; /* sum of the absolute values of a row of the finest level */
        assert_true(amg->levels >= 3);
        for (int i = 0; i < amg->levels; i++) {
            const tess_matrix *A = amg->level[i].A;
            const double *mode = amg->level[i].modes, *a = A->values;
            for (int64_t row = 0; row < A->rows; row++) {
                double sum = 0, size = 0;
                for (int64_t at = A->row_offsets[row]; at < A->row_offsets[row + 1]; at++) {
                    sum += a[at] * mode[A->columns[at]];
                    size += fabs(a[at] * mode[A->columns[at]]);
                }
                largest = i == 0 ? fmax(largest, size) : largest;
                if (!(fabs(sum) <= 1e-12 * fmax(size, largest)))
                    fail_msg("%s: level %d, row %lld: A times the mode is %.2e of %.2e", inputs[k],
                             i, (long long)row, sum, size);
            }
        }
        amg_run_close(test_ctx(state), &r);
    }
}

/* New values keep groups and patterns. The levels' values are those of a new hierarchy. */
static void new_values_give_what_a_new_solver_gives(void **state)
{
    static const char *const specs[] = {"cg:pc=amg,bottom=60", "cg:pc=amg,bottom=60,pc_type=f32"};
    for (size_t s = 0; s < 2; s++) {
        amg_run r = amg_run_generate(test_ctx(state), "elasticity:n=7");
        const int64_t stored = tess_matrix_stored(r.A), rows = r.A->rows;
        double *values = malloc((size_t)stored * sizeof *values), *x = malloc((size_t)rows * 8);
        for (int64_t i = 0; i < stored; i++)
            values[i] = 3 * ((const double *)r.A->values)[i];
        amg_run_within(&r, "elasticity:n=7", specs[s], 20);
        tess_result result;
        assert_int_equal(tess_plan_update_values(r.plan, values), TESS_OK);
        assert_int_equal(tess_solver_update(r.solver, NULL), TESS_OK);
        memset(x, 0, (size_t)rows * sizeof *x);
        assert_int_equal(tess_solver_solve(r.solver, r.b, x, &result), TESS_OK);
        assert_int_equal(result.reason, TESS_REASON_CONVERGED);
        amg_run_within(&r, "new values", specs[s], 20);
        assert_int_equal(result.iterations, r.result.iterations);
        assert_memory_equal(x, r.x, (size_t)rows * sizeof *x);
        free(values);
        free(x);
        amg_run_close(test_ctx(state), &r);
    }
}

static void several_right_hand_sides_are_each_solved(void **state)
{
    enum { K = 3 };
    amg_run r = amg_run_generate(test_ctx(state), "elasticity:n=6");
    const int64_t rows = r.A->rows;
    double *B = malloc((size_t)(K * rows) * sizeof *B), *X = calloc((size_t)(K * rows), 8);
    tess_result results[K];
    for (int64_t i = 0; i < K * rows; i++)
        B[i] = i < rows ? ((double *)r.b)[i] : tess_random_unit(5, (uint64_t)i);
    for (int single = 0; single < 2; single++) {
        tess_solver_destroy(r.solver);
        assert_int_equal(
            tess_solver_create(r.plan,
                               single ? "cg:pc=amg,bottom=60,pc_type=f32" : "cg:pc=amg,bottom=60",
                               &r.solver),
            TESS_OK);
        memset(X, 0, (size_t)(K * rows) * sizeof *X);
        assert_int_equal(tess_solver_solve_many(r.solver, K, B, rows, X, rows, results), TESS_OK);
        for (int j = 0; j < K; j++) {
            assert_int_equal(results[j].reason, TESS_REASON_CONVERGED);
            assert_true(results[j].iterations <= 20);
            assert_true(results[j].true_residual <= 1.05e-8);
        }
    }
    free(B);
    free(X);
    amg_run_close(test_ctx(state), &r);
}

/* The caller's modes and coordinates have the same effect as the generator's. */
static void modes_of_the_caller_count(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    if (amg_run_few())
        skip();
    amg_run r = amg_run_generate(ctx, "elasticity:n=12");
    tess_result result;
    amg_run_within(&r, "rigid motions", "cg:pc=amg,bottom=50", 20);
    const int64_t rigid = r.result.iterations, rows = r.A->rows;
    double *coordinates = malloc((size_t)rows * sizeof *coordinates);
    memcpy(coordinates, r.A->coordinates, (size_t)rows * sizeof *coordinates);
    tess_free(ctx, r.A->coordinates);
    r.A->coordinates = NULL;
    amg_run_solve(&r, "constants", "cg:pc=amg,bottom=50");
    assert_int_equal(amg_run_hierarchy(&r)->modes, 3);
    assert_true(r.result.iterations > rigid + 3);

    assert_int_equal(tess_solver_set_coordinates(r.solver, 3, coordinates), TESS_OK);
    memset(r.x, 0, (size_t)rows * sizeof(double));
    assert_int_equal(tess_solver_solve(r.solver, r.b, r.x, &result), TESS_OK);
    assert_int_equal(result.iterations, rigid);

    double *modes;
    assert_int_equal(tess_amg_make_modes(ctx, &amg_run_hierarchy(&r)->mode_source, &modes),
                     TESS_OK);
    assert_int_equal(tess_solver_set_modes(r.solver, 6, modes, rows), TESS_OK);
    memset(r.x, 0, (size_t)rows * sizeof(double));
    assert_int_equal(tess_solver_solve(r.solver, r.b, r.x, &result), TESS_OK);
    assert_int_equal(result.iterations, rigid);
    assert_non_null(strstr(tess_solver_describe(r.solver), "6 modes"));

    assert_int_equal(tess_solver_set_coordinates(r.solver, 2, coordinates), TESS_ERR_ARGUMENT);
    modes[17] = NAN;
    assert_int_equal(tess_solver_set_modes(r.solver, 6, modes, rows), TESS_ERR_ARGUMENT);
    assert_string_equal(tess_ctx_error(ctx), "tess_solver_set_modes: number 17 of column 0 is nan");
    assert_int_equal(tess_solver_set_modes(r.solver, 0, modes, rows), TESS_ERR_ARGUMENT);
    tess_solver_destroy(r.solver);
    assert_int_equal(tess_solver_create(r.plan, "cg:pc=bjacobi", &r.solver), TESS_OK);
    assert_int_equal(tess_solver_set_coordinates(r.solver, 3, coordinates), TESS_ERR_UNSUPPORTED);
    assert_string_equal(tess_solver_describe(r.solver), "");
    free(coordinates);
    tess_free(ctx, modes);
    amg_run_close(ctx, &r);
}

static void memory_that_ends_anywhere_is_reported(void **state)
{
    static const char *const spec = "cg:pc=amg,bottom=30,pc_type=f32";
    amg_run r = amg_run_generate(test_ctx(state), "elasticity:n=4");
    amg_run_solve(&r, "elasticity:n=4", spec); /* the plan keeps what its first solver needs */
    tess_solver_destroy(r.solver);
    r.solver = NULL;
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        tess_solver *solver = NULL;
        status = tess_solver_create(r.plan, spec, &solver);
        if (status == TESS_OK)
            status = tess_solver_set_up(solver);
        if (status == TESS_OK)
            status = tess_solver_update(solver, NULL);
        tess_solver_destroy(solver);
    } while (test_sweep_goes_on(&sweep, status));
    assert_true(sweep.failed > 50);
    amg_run_close(test_ctx(state), &r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elasticity_takes_as_many_iterations_on_every_mesh),
        cmocka_unit_test(jumps_and_directions_cost_less_than_twice_the_iterations),
        cmocka_unit_test(jumps_and_directions_together_are_solved),
        cmocka_unit_test(free_bodies_are_solved_up_to_a_rigid_motion),
        cmocka_unit_test(thin_elements_have_a_result_or_a_reason),
        cmocka_unit_test(a_matching_is_refused_with_what_to_do),
        cmocka_unit_test(block_matrices_of_any_size_are_solved),
        cmocka_unit_test(isolated_and_empty_rows_do_no_harm),
        cmocka_unit_test(graphs_have_sparse_levels),
        cmocka_unit_test(every_run_has_the_same_bits),
        cmocka_unit_test(the_kernel_of_a_singular_matrix_is_kept_on_every_level),
        cmocka_unit_test(new_values_give_what_a_new_solver_gives),
        cmocka_unit_test(several_right_hand_sides_are_each_solved),
        cmocka_unit_test(modes_of_the_caller_count),
        cmocka_unit_test(memory_that_ends_anywhere_is_reported),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
