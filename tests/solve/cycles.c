/* Cycles, smoothers and prolongators of multigrid, cycles alone, and matrices that are not
 * symmetric. */
#include <math.h>
#include <string.h>

#include "multigrid.h"

static const char *const cycles[] = {"v", "w", "k"};
static const char *const smoothers[] = {"chebyshev", "gs", "ilu0"};

/* More levels than V-cycles need, so that W- and K-cycles visit coarse levels twice. */
static void every_cycle_takes_every_smoother(void **state)
{
    amg_run r =
        amg_run_generate(test_ctx(state), amg_run_few() ? "elasticity:n=5" : "elasticity:n=12");
    int64_t iterations[3][3] = {{0}};
    for (int c = 0; c < 3; c++)
        for (int s = 0; s < 3; s++) {
            char spec[120];
            if (amg_run_few() && c + s != 2)
                continue;
            snprintf(spec, sizeof spec, "cg:pc=amg,bottom=20,cycle=%s,smoother=%s%s", cycles[c],
                     smoothers[s], (c + s) % 2 ? ",pc_type=f32" : "");
            amg_run_within(&r, "elasticity", spec, 20);
            assert_true(amg_run_hierarchy(&r)->levels >= (amg_run_few() ? 2 : 3));
            assert_int_equal(amg_run_hierarchy(&r)->cycle, TESS_CYCLE_V + c);
            assert_int_equal(amg_run_hierarchy(&r)->smoother, TESS_SMOOTHER_CHEBYSHEV + s);
            iterations[c][s] = r.result.iterations;
        }
    for (int s = 0; s < 3 && !amg_run_few(); s++)
        if (iterations[1][s] > iterations[0][s] + 1 || iterations[2][s] > iterations[0][s] + 1)
            fail_msg("%s: %lld V-cycles, %lld W-cycles, %lld K-cycles", smoothers[s],
                     (long long)iterations[0][s], (long long)iterations[1][s],
                     (long long)iterations[2][s]);
    amg_run_close(test_ctx(state), &r);
}

/* M is symmetric: z.M^-1 r = r.M^-1 z for random vectors. */
static void linear_cycles_are_symmetric(void **state)
{
    if (amg_run_few())
        skip();
    amg_run r = amg_run_generate(test_ctx(state), "elasticity:n=5");
    const int64_t rows = r.A->rows;
    double *v = malloc((size_t)(4 * rows) * sizeof *v);
    for (int64_t i = 0; i < 2 * rows; i++)
        v[i] = tess_random_unit(3, (uint64_t)i);
    for (int c = 0; c < 2; c++)
        for (int s = 0; s < 3; s++) {
            char spec[80];
            tess_preconditioner *pc;
            double one = 0, other = 0, size = 0;
            snprintf(spec, sizeof spec, "amg:bottom=20,cycle=%s,smoother=%s", cycles[c],
                     smoothers[s]);
            assert_int_equal(tess_pc_create(r.plan, spec, &pc), TESS_OK);
            for (int k = 0; k < 2; k++)
                assert_int_equal(tess_pc_apply(pc, v + k * rows, v + (2 + k) * rows), TESS_OK);
            for (int64_t i = 0; i < rows; i++) {
                one += v[rows + i] * v[2 * rows + i];
                other += v[i] * v[3 * rows + i];
                size += fabs(v[i] * v[3 * rows + i]);
            }
            if (!(fabs(one - other) <= 1e-9 * size))
                fail_msg("%s: %.17g and %.17g", spec, one, other);
            tess_pc_destroy(pc);
        }
    free(v);
    amg_run_close(test_ctx(state), &r);
}

/* The least vectors that the passes of one level move in a V-cycle. Each pass reads and writes a
 * vector once, the rows of the block diagonal count as b vectors, and a vector that no later step
 * reads is not written. */
static double least_moves(int32_t b, int64_t degree)
{
    const double r = 1, d = 1, x = 1, D = b;
    if (degree == 1)
        return (r + D + d + x) + (x + d + r + D + x);
    const double first = (r + D + d) + (x + d + r + D + x + d);
    const double second = (r + d + D + d + x) + (r + d + D + x + x);
    return first + second + 2 * (double)(degree - 2) * (r + d + x + D + d + x);
}

static void cycles_move_no_vector_in_vain(void **state)
{
    if (amg_run_few())
        skip();
    for (uint64_t seed = 1; seed <= 12; seed++) {
        char input[80], spec[80];
        const int64_t degree = 1 + tess_random_below(seed, 0, 4);
        const int32_t b = 1 + (int32_t)(seed % 8);
        const bool single = tess_random_below(seed, 1, 2) == 0;
        snprintf(input, sizeof input, "stencil7:n=9,b=%d", (int)b);
        snprintf(spec, sizeof spec, "cg:pc=amg,cycle=v,bottom=4,degree=%d%s", (int)degree,
                 single ? ",pc_type=f32" : "");
        amg_run r = amg_run_generate(test_ctx(state), input);
        amg_run_within(&r, input, spec, 40);
        assert_true(amg_run_hierarchy(&r)->levels >= 3);
        const tess_steps *loop = &r.solver->loop[0];
        double moved = 0;
        int passes = 0;
        for (int64_t i = 0; i < loop->count; i++)
            if (loop->step[i].kind == TESS_STEP_PASS && loop->step[i].level == 1 + single) {
                moved += loop->step[i].vectors;
                passes++;
            }
        if (moved != least_moves(b, degree) || passes != 2 * degree)
            fail_msg("%s, %s: %d passes move %g vectors, not %g", input, spec, passes, moved,
                     least_moves(b, degree));
        amg_run_close(test_ctx(state), &r);
    }
}

/* CG checks |r| before it applies a cycle, so that there is one cycle per iteration. */
static void cg_applies_a_cycle_an_iteration(void **state)
{
    amg_run r = amg_run_generate(test_ctx(state), "elasticity:n=5");
    amg_run_within(&r, "elasticity:n=5", "cg:pc=amg,bottom=20", 20);
    const tess_steps *start = &r.solver->start, *loop = &r.solver->loop[0];
    int at_start = 0, restrictions = 0;
    for (int64_t i = 0; i < start->count; i++)
        at_start += start->step[i].plan != NULL;
    for (int64_t i = 0; i < loop->count; i++)
        restrictions += loop->step[i].plan == amg_run_hierarchy(&r)->level[0].R_plan;
    assert_int_equal(at_start, 0);
    assert_int_equal(restrictions, 1);
    assert_int_equal(loop->step[loop->count - 1].kind, TESS_STEP_PASS);
    assert_int_equal(loop->step[loop->count - 1].level, 0);
    amg_run_close(test_ctx(state), &r);
}

static void cycles_alone_solve(void **state)
{
    static const char *const specs[] = {"amg", "amg:cycle=w", "amg:cycle=k", "amg:smoother=gs",
                                        "amg:smoother=ilu0,pc_type=f32"};
    static const char *const inputs[] = {"elasticity:n=6", "diffusion:n=12", "cdr:n=7,b=2"};
    for (size_t i = 0; i < (amg_run_few() ? 1 : 3); i++) {
        amg_run r = amg_run_generate(test_ctx(state), inputs[i]);
        for (size_t s = 0; s < (amg_run_few() ? 1 : sizeof specs / sizeof *specs); s++)
            if (i < 2 || s < 3)
                amg_run_within(&r, inputs[i], specs[s], 60);
        amg_run_close(test_ctx(state), &r);
    }
}

/* Over the whole range of the generator, multigrid is never worse than the smoother alone. */
static void convection_takes_fewer_iterations_than_ilu0(void **state)
{
    static const char *const methods[] = {"bicgstab", "gmres", "fgmres"};
    for (uint64_t seed = 1; seed <= (amg_run_few() ? 1 : 15); seed++) {
        char input[100], spec[80];
        const char *method = methods[tess_random_below(seed, 0, 3)];
        snprintf(input, sizeof input, "cdr:nx=%d,ny=%d,nz=%d,b=%d,convection=%.4g,seed=%d",
                 4 + (int)tess_random_below(seed, 1, 12), 4 + (int)tess_random_below(seed, 2, 12),
                 2 + (int)tess_random_below(seed, 3, 6), 1 + (int)tess_random_below(seed, 4, 5),
                 tess_random_below(seed, 5, 8) ? pow(10, (double)tess_random_below(seed, 6, 7)) : 0,
                 (int)seed);
        amg_run r = amg_run_generate(test_ctx(state), input);
        const char *restart = strstr(method, "gmres") ? ",restart=100" : "";
        snprintf(spec, sizeof spec, "%s:pc=ilu0%s", method, restart);
        amg_run_solve(&r, input, spec);
        const int64_t alone = r.result.iterations;
        snprintf(spec, sizeof spec, "%s:pc=amg%s,bottom=%d", method, restart,
                 1 + (int)tess_random_below(seed, 7, 200));
        amg_run_within(&r, input, spec, alone);
        amg_run_close(test_ctx(state), &r);
    }
}

static void diffusion_that_leads_takes_as_many_iterations_on_every_mesh(void **state)
{
    static const int sizes[] = {12, 18, 27};
    int64_t first = 0;
    if (amg_run_few())
        skip();
    for (int i = 0; i < 3; i++) {
        char input[60];
        snprintf(input, sizeof input, "cdr:n=%d,b=2,convection=1", sizes[i]);
        amg_run r = amg_run_generate(test_ctx(state), input);
        amg_run_within(&r, input, "fgmres:pc=amg", i == 0 ? 12 : first + 2);
        first = i == 0 ? r.result.iterations : first;
        assert_false(amg_run_hierarchy(&r)->symmetric);
        amg_run_close(test_ctx(state), &r);
    }
}

/* Plain prolongators under a K-cycle, which a V-cycle with them does not come near. */
static void plain_prolongators_suit_a_k_cycle(void **state)
{
    if (amg_run_few())
        skip();
    amg_run r = amg_run_generate(test_ctx(state), "diffusion:n=24");
    amg_run_within(&r, "diffusion:n=24", "cg:pc=amg,prolongator=plain,cycle=v,bottom=50", 60);
    const int64_t once = r.result.iterations;
    amg_run_within(&r, "diffusion:n=24", "cg:pc=amg,prolongator=plain,bottom=50", once - 1);
    assert_int_equal(amg_run_hierarchy(&r)->cycle, TESS_CYCLE_K);
    amg_run_close(test_ctx(state), &r);
}

static void new_values_reach_every_smoother(void **state)
{
    static const char *const specs[] = {"cg:pc=amg,bottom=20,smoother=gs,cycle=k",
                                        "cg:pc=amg,bottom=20,smoother=ilu0,cycle=w,pc_type=f32"};
    for (size_t s = 0; s < 2; s++) {
        amg_run r = amg_run_generate(test_ctx(state), "elasticity:n=5");
        const int64_t stored = tess_matrix_stored(r.A);
        double *values = malloc((size_t)stored * sizeof *values);
        for (int64_t i = 0; i < stored; i++)
            values[i] = 5 * ((const double *)r.A->values)[i];
        tess_result result;
        amg_run_within(&r, "elasticity:n=5", specs[s], 20);
        assert_int_equal(tess_solver_update(r.solver, values), TESS_OK);
        memset(r.x, 0, (size_t)r.A->rows * sizeof(double));
        assert_int_equal(tess_solver_solve(r.solver, r.b, r.x, &result), TESS_OK);
        assert_int_equal(result.reason, TESS_REASON_CONVERGED);
        amg_run_within(&r, "new values", specs[s], 20);
        assert_int_equal(result.iterations, r.result.iterations);
        free(values);
        amg_run_close(test_ctx(state), &r);
    }
}

/* The inverses of some levels overflow f32. */
static void jumps_of_any_size_suit_f32(void **state)
{
    static const char *const inputs[] = {"diffusion:n=12,jump=1e9", "diffusion:n=20,jump=1e9",
                                         "diffusion:n=24,jump=1e12"};
    for (int i = 0; i < (amg_run_few() ? 1 : 3); i++) {
        amg_run r = amg_run_generate(test_ctx(state), inputs[i]);
        amg_run_within(&r, inputs[i], "cg:pc=amg,pc_type=f32", 20);
        amg_run_close(test_ctx(state), &r);
    }
}

/* Singular systems with a consistent right-hand side, jumps, anisotropy, rows without neighbours
 * and empty rows. */
static amg_run hard_system(tess_ctx *ctx, uint64_t seed, char input[120])
{
    const int kind = (int)tess_random_below(seed, 20, 3);
    const int n = 4 + (int)tess_random_below(seed, 21, 6);
    if (kind == 0)
        snprintf(input, 120, "diffusion:n=%d,jump=1e%d,aniso=1e%d,free=%d", n,
                 -6 + (int)tess_random_below(seed, 22, 13),
                 -5 + (int)tess_random_below(seed, 23, 11), (int)tess_random_below(seed, 24, 2));
    else if (kind == 1)
        snprintf(input, 120, "elasticity:n=%d,free=%d", n, (int)tess_random_below(seed, 24, 2));
    else
        snprintf(input, 120, "stencil7:n=%d,b=%d,seed=%d", n,
                 1 + (int)tess_random_below(seed, 22, 4), (int)seed);
    amg_run r = amg_run_generate(ctx, input);
    if (kind == 2)
        amg_run_isolate(ctx, &r, seed);
    return r;
}

/* Any cycle, smoother and prolongator: a solution, or a refusal that says why. */
static void hard_systems_are_solved_or_refused_with_a_reason(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const char *const methods[] = {"cg", "fgmres", "bicgstab", "amg"};
    int solved = 0, count = amg_run_few() ? 2 : 40;
    for (uint64_t seed = 1; seed <= (uint64_t)count; seed++) {
        char input[120], spec[160];
        amg_run r = hard_system(ctx, seed, input);
        tess_solver *solver = NULL;
        snprintf(spec, sizeof spec, "%s:pc=amg,cycle=%s,smoother=%s,prolongator=%s,bottom=%d%s",
                 methods[tess_random_below(seed, 1, 4)], cycles[tess_random_below(seed, 2, 3)],
                 smoothers[tess_random_below(seed, 3, 3)],
                 tess_random_below(seed, 4, 2) ? "plain" : "smoothed",
                 1 + (int)tess_random_below(seed, 5, 100),
                 tess_random_below(seed, 6, 3) ? "" : ",pc_type=f32");
        tess_status status = tess_solver_create(r.plan, spec, &solver);
        if (status == TESS_OK)
            status = tess_solver_solve(solver, r.b, r.x, &r.result);
        if (status != TESS_OK && (status != TESS_ERR_MATRIX || !strstr(tess_ctx_error(ctx), "row")))
            fail_msg("%s, %s: %s", input, spec, tess_ctx_error(ctx));
        for (int64_t i = 0; i < r.A->rows; i++)
            if (!isfinite(tess_get(r.x, r.A->type, i)))
                fail_msg("%s, %s: x[%lld] is not finite", input, spec, (long long)i);
        const bool converged = status == TESS_OK && r.result.reason == TESS_REASON_CONVERGED;
        if (status == TESS_OK && !converged && !r.result.text[0])
            fail_msg("%s, %s: no reason", input, spec);
        solved += converged;
        tess_solver_destroy(solver);
        amg_run_close(ctx, &r);
    }
    if (solved < count * 9 / 10)
        fail_msg("%d of %d systems are solved", solved, count);
}

/* After a solve the description has levels, convergence and time. */
static void the_hierarchy_is_described(void **state)
{
    amg_run r = amg_run_generate(test_ctx(state), "elasticity:n=5");
    for (int single = 0; single < 2; single++) {
        double share, sum = 0, factor;
        int read;
        amg_run_within(&r, "elasticity:n=5",
                       single ? "cg:pc=amg,bottom=20,pc_type=f32" : "cg:pc=amg,bottom=20", 20);
        const char *text = tess_solver_describe(r.solver);
        assert_non_null(strstr(text, "V-cycle, chebyshev 2 + 2, smoothed prolongators\n"));
        const char *line = strstr(text, "convergence factor ");
        assert_non_null(line);
        assert_int_equal(sscanf(line, "convergence factor %lf per iteration", &factor), 1);
        assert_true(factor > 0 && factor < 0.5);
        line = strstr(text, "time by level:");
        assert_non_null(line);
        line += strlen("time by level:");
        for (int i = 0; i < amg_run_hierarchy(&r)->levels; i++, line += read) {
            assert_int_equal(sscanf(line, " %lf %%%n", &share, &read), 1);
            sum += share;
            read += line[read] == ',';
        }
        double speed; /* times the cycles' time: between half and all bytes of the solve */
        assert_int_equal(sscanf(line, "\nmemory of the cycles: %lf GB/s%n", &speed, &read), 1);
        assert_string_equal(line + read, "\n");
        const double part = 1e9 * speed * r.result.seconds_pc / r.result.bytes;
        if (!(fabs(sum - 100) < 1 && part > 0.5 && part < 1))
            fail_msg("%s", text);
    }
    amg_run_close(test_ctx(state), &r);
}

static void refused(tess_ctx *ctx, const amg_run *r, const char *spec, const char *why)
{
    tess_solver *solver = NULL;
    tess_status status = tess_solver_create(r->plan, spec, &solver);
    if (status == TESS_OK)
        status = tess_solver_set_up(solver);
    if (status == TESS_OK)
        fail_msg("%s was accepted", spec);
    assert_string_equal(tess_ctx_error(ctx), why);
    tess_solver_destroy(solver);
}

static void what_does_not_go_together_is_refused(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    amg_run r = amg_run_generate(ctx, "cdr:n=4,b=2");
    refused(ctx, &r, "gmres:pc=amg,cycle=k",
            "cycle=k differs from one application to the next, which gmres does not allow: try "
            "cycle=w, or one of cg, bicgstab, fgmres, dgmres and amg");
    refused(ctx, &r, "bicgstab:pc=amg,cycle=k,side=left",
            "cycle=k differs from one application to the next, which bicgstab with side=left does "
            "not allow: try cycle=w, or one of cg, bicgstab, fgmres, dgmres and amg");
    refused(ctx, &r, "amg:pc=ilu0", "amg takes pc=amg alone, not pc=ilu0");
    refused(ctx, &r, "bicg:pc=amg",
            "pc=amg has no transpose of a matrix that is not symmetric: try gmres or bicgstab");
    amg_run_close(ctx, &r);
}

static void memory_that_ends_anywhere_is_reported(void **state)
{
    if (test_slowed())
        skip();
    amg_run_sweep(state, "elasticity:n=4", "cg:pc=amg,bottom=20,smoother=ilu0,cycle=k");
    amg_run_sweep(state, "cdr:n=4,b=2", "fgmres:pc=amg,bottom=8,smoother=gs,prolongator=plain");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cycle_takes_every_smoother),
        cmocka_unit_test(linear_cycles_are_symmetric),
        cmocka_unit_test(cycles_move_no_vector_in_vain),
        cmocka_unit_test(cg_applies_a_cycle_an_iteration),
        cmocka_unit_test(cycles_alone_solve),
        cmocka_unit_test(convection_takes_fewer_iterations_than_ilu0),
        cmocka_unit_test(diffusion_that_leads_takes_as_many_iterations_on_every_mesh),
        cmocka_unit_test(plain_prolongators_suit_a_k_cycle),
        cmocka_unit_test(new_values_reach_every_smoother),
        cmocka_unit_test(jumps_of_any_size_suit_f32),
        cmocka_unit_test(hard_systems_are_solved_or_refused_with_a_reason),
        cmocka_unit_test(the_hierarchy_is_described),
        cmocka_unit_test(what_does_not_go_together_is_refused),
        cmocka_unit_test(memory_that_ends_anywhere_is_reported),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
