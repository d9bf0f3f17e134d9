/* Solvers run the kernel that their plan names: what is launched in a solve, by entry point. */
#include "cuda/plan/plan.h"
#include "session.h"

enum { ITERATIONS = 4 };

typedef struct problem {
    tess_matrix *A;
    tess_device *device;
    tess_plan *plan;
    double *b, *x;
} problem;

/* The smallest lambda there is: rows are cut, and their parts summed by a second kernel. */
static void cut_rows(const tess_cuda_kernel *kernel, char *text, size_t size)
{
    text[0] = '\0';
    for (int i = 0; i < kernel->param_count; i++) {
        const tess_cuda_param *param = &kernel->params[i];
        if (strcmp(param->name, "lambda") != 0)
            continue;
        int at = 0;
        while (param->values[at] == 0)
            at++;
        snprintf(text, size, "lambda=%d", param->values[at]);
    }
}

/* A plan with that kernel on 27 points with the first block size that it takes. */
static bool open_problem(void **state, const tess_cuda_kernel *kernel, int vectors, problem *p)
{
    static const int sizes[] = {1, 2, 3, 4, 8, 17, 33};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    tess_ctx *ctx = test_ctx(state);
    char lambda[32], input[64];
    cut_rows(kernel, lambda, sizeof lambda);
    const char *params = kernel->takes_shapes ? "shapes=row:4" : lambda[0] ? lambda : NULL;
    *p = (problem){.device = open_device(state)};
    for (int turn = 0; turn < 2 * SIZES && !p->plan; turn++) {
        const tess_plan_options options = {.kernel = kernel->name,
                                           .params = turn < SIZES ? params : NULL};
        snprintf(input, sizeof input, "gen:stencil27:n=%d,b=%d", turn % SIZES < 5 ? 4 : 3,
                 sizes[turn % SIZES]);
        tess_matrix_destroy(p->A);
        p->A = NULL;
        ok(state, tess_matrix_generate(ctx, input, &p->A, NULL));
        if (tess_plan_create(ctx, p->A, p->device, &options, &p->plan) != TESS_OK)
            p->plan = NULL;
    }
    p->b = test_vector(vectors * p->A->rows, TESS_F64, 3);
    p->x = calloc((size_t)(vectors * p->A->rows), sizeof *p->x);
    return p->plan != NULL;
}

static void close_problem(problem *p)
{
    tess_plan_destroy(p->plan);
    tess_device_close(p->device);
    tess_matrix_destroy(p->A);
    free(p->b), free(p->x);
}

/* Of the solver's own work beside products. */
static bool is_step(const char *entry)
{
    static const char *const steps[] = {"pass", "finish", "between"};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (strcmp(entry, steps[i]) == 0)
            return true;
    return false;
}

/* Whether a variant of the plan launches it. */
static bool is_variants(const problem *p, const char *entry)
{
    for (const tess_cuda_variant *v = tess_cuda_plan_of(p->plan)->variants; v; v = v->next)
        for (int i = 0; i < v->functions; i++)
            if (strcmp(v->entries[i], entry) == 0)
                return true;
    return false;
}

/* All variants are the named kernel's, or of its layout; each of its entry points was launched at
 * every product, and nothing else but the solver's steps was. */
static void check_launches(const problem *p, const tess_cuda_kernel *kernel, const char *spec,
                           int64_t products)
{
    const tess_cuda_plan *plan = tess_cuda_plan_of(p->plan);
    int64_t run = 0;
    for (const tess_cuda_variant *v = plan->variants; v; v = v->next) {
        if (strcmp(v->kernel->format, kernel->format) != 0 ||
            (v->kernel != kernel && v->kernel->op == kernel->op))
            fail_msg("%s %s: a product runs %s", kernel->name, spec, v->kernel->name);
        run = tess_max(run, launches_of(v->entries[0]));
        /* Its second kernel sums the parts of cut rows; a dot's are left to the solver. */
        for (int i = 1; v->kernel == kernel && i < v->functions; i++)
            if (launches_of(v->entries[i]) < launches_of(v->entries[0]))
                fail_msg("%s %s: %s runs %lld times, %s %lld times", kernel->name, spec,
                         v->entries[0], (long long)launches_of(v->entries[0]), v->entries[i],
                         (long long)launches_of(v->entries[i]));
    }
    if (run < products)
        fail_msg("%s %s: %lld of at least %lld products", kernel->name, spec, (long long)run,
                 (long long)products);
    for (int i = 0; i < FAKE_COUNTS && fake->counts[i].entry; i++)
        if (!is_step(fake->counts[i].entry) && !is_variants(p, fake->counts[i].entry))
            fail_msg("%s %s: %s is launched too", kernel->name, spec, fake->counts[i].entry);
}

/* The second of two solves, so that nothing is made or verified any more. */
static void solve(void **state, problem *p, const char *spec, int vectors, tess_result *results)
{
    tess_solver *solver;
    ok(state, tess_solver_create(p->plan, spec, &solver));
    for (int turn = 0; turn < 2; turn++) {
        memset(p->x, 0, (size_t)(vectors * p->A->rows) * sizeof *p->x);
        memset(fake->counts, 0, sizeof fake->counts);
        ok(state,
           tess_solver_solve_many(solver, vectors, p->b, p->A->rows, p->x, p->A->rows, results));
    }
    tess_solver_destroy(solver);
}

/* The same solve on the CPU ends with the same residual. */
static void compare(void **state, const problem *p, const char *spec, const tess_result *got)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "ref");
    tess_plan *plan;
    tess_result want;
    double *x = calloc((size_t)p->A->rows, sizeof *x);
    ok(state, tess_plan_create(ctx, p->A, device, NULL, &plan));
    ok(state, tess_solve(plan, spec, p->b, x, &want));
    if (!(fabs(got->residual - want.residual) <= 1e-9 * want.rhs_norm) ||
        got->iterations != want.iterations)
        fail_msg("%s %s: residual %g after %lld, on the reference %g after %lld", p->plan->kernel,
                 spec, got->residual, (long long)got->iterations, want.residual,
                 (long long)want.iterations);
    free(x);
    tess_plan_destroy(plan);
    tess_device_close(device);
}

static void solvers_run_the_kernel_that_the_plan_names(void **state)
{
    static const struct {
        const char *spec;
        int products; /* an iteration */
    } cases[] = {{"cg:pc=jacobi,tol=0,max=4", 1},
                 {"bicgstab:pc=bjacobi,tol=0,max=4", 2},
                 {"bicg:tol=0,max=4", 1},
                 {"gmres:restart=3,tol=0,max=4", 1}};
    int kernels = 0;
    fake->largest_cluster = 16; /* all iterations in one launch would do, were no kernel named */
    for (int i = 0; i < tess_cuda_kernel_count; i++) {
        const tess_cuda_kernel *kernel = tess_cuda_kernels[i];
        problem p;
        if (kernel->op != TESS_CUDA_SPMV)
            continue;
        if (!open_problem(state, kernel, 1, &p))
            fail_msg("%s takes no block size: %s", kernel->name, tess_ctx_error(test_ctx(state)));
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            tess_result result;
            solve(state, &p, cases[c].spec, 1, &result);
            compare(state, &p, cases[c].spec, &result);
            check_launches(&p, kernel, cases[c].spec, cases[c].products * ITERATIONS);
        }
        close_problem(&p);
        kernels++;
    }
    assert_true(kernels >= 16);
}

/* A kernel with one vector is not replaced by one with several. */
static void several_systems_run_the_named_kernel_one_by_one(void **state)
{
    static const char *const names[] = {"multi_row", "by_block", "swept", "sliced"};
    enum { VECTORS = 3 };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const tess_cuda_kernel *kernel = tess_cuda_kernel_find(names[i]);
        tess_result results[VECTORS];
        problem p;
        assert_true(open_problem(state, kernel, VECTORS, &p));
        solve(state, &p, "cg:pc=jacobi,tol=0,max=4", VECTORS, results);
        compare(state, &p, "cg:pc=jacobi,tol=0,max=4", &results[0]);
        check_launches(&p, kernel, "three systems",
                       p.plan->one_vector ? VECTORS * ITERATIONS : ITERATIONS);
        close_problem(&p);
    }
}

/* Refinement makes a plan of its own for f32, with the same kernel. */
static void an_inner_plan_has_the_kernel_too(void **state)
{
    const tess_cuda_kernel *kernel = tess_cuda_kernel_find("by_block");
    tess_result result;
    problem p;
    assert_true(open_problem(state, kernel, 1, &p));
    solve(state, &p, "cg:inner=f32,tol=1e-10", 1, &result);
    assert_int_equal(result.reason, TESS_REASON_CONVERGED);
    assert_true(launches_of("by_block") > result.iterations);
    assert_int_equal(launches_of("sliced"), 0);
    close_problem(&p);
}

/* When nobody named the kernel and it has no form with a dot product, small systems use a kernel
 * that has one. The plan's own products keep their kernel. */
static void small_systems_of_automatic_plans_have_fused_products(void **state)
{
    tess_result result;
    double dot;
    problem p;
    fake->largest_cluster = 0; /* iterations are launches */
    assert_true(open_problem(state, tess_cuda_kernel_find("by_block"), 1, &p));
    p.plan->named = false;
    solve(state, &p, "cg:pc=jacobi,tol=0,max=4", 1, &result);
    compare(state, &p, "cg:pc=jacobi,tol=0,max=4", &result);
    assert_true(launches_of("sliced") >= ITERATIONS);
    assert_true(launches_of("by_block") < ITERATIONS);
    memset(fake->counts, 0, sizeof fake->counts);
    ok(state, tess_spmv_dot(p.plan, 1, p.b, 0, p.x, NULL, &dot));
    assert_int_equal(launches_of("sliced"), 0);
    assert_int_equal(launches_of("by_block"), 1);
    close_problem(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(solvers_run_the_kernel_that_the_plan_names),
        TEST(several_systems_run_the_named_kernel_one_by_one),
        TEST(an_inner_plan_has_the_kernel_too),
        TEST(small_systems_of_automatic_plans_have_fused_products),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
