/* Paper 004's conjugate gradients (bench/papers/cg.h) in the emulator: each kernel does what Table
 * 2 says, and Algorithm 1 solves a system and stops by the paper's rule. */
#include <math.h>
#include <string.h>

#include "../../bench/papers/cg.h"
#include "../../bench/papers/cg_check.h"
#include "emu/emulator.h"
#include "support/support.h"

typedef struct host {
    const char *variant; /* of cg.cu */
    const char *wrong;   /* what the emulator found */
    tess_plan *ref;
    uint64_t seed;
    int launches[8];
} host;

static const char *const entries[] = {"cg1", "cg2", "cg3", "cg4", "cg5", "red", "red_end"};

static tess_status launch(void *user, tess_cuda_launch *l)
{
    host *h = user;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        h->launches[i] += strcmp(entries[i], l->entry) == 0;
    h->wrong = emu_launch(h->variant, l, h->seed++);
    return h->wrong ? TESS_ERR_DEVICE : TESS_OK;
}

static tess_status multiply(void *user, uint64_t x, uint64_t y)
{
    return tess_spmv(((host *)user)->ref, 1, (const void *)(uintptr_t)x, 0, (void *)(uintptr_t)y);
}

static tess_status read_sum(void *user, uint64_t from, double *value)
{
    (void)user;
    *value = *(const double *)(uintptr_t)from;
    return TESS_OK;
}

/* ---- Algorithm 1 ---- */

/* A system, and the machine that solves it. */
typedef struct problem {
    tess_matrix *A;
    tess_device *device;
    host host;
    cg_machine machine;
    double *vector[CG_VECTORS], *sums;
} problem;

/* c is 1 / sqrt of the diagonal of A, whose blocks are 2 x 2. */
static void invert_diagonal(problem *p)
{
    const tess_matrix *A = p->A;
    for (int64_t row = 0; row < A->block_rows; row++)
        for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++)
            for (int i = 0; i < 2 && A->columns[k] == row; i++)
                p->vector[CG_C][2 * row + i] = 1 / sqrt(((const double *)A->values)[4 * k + 3 * i]);
}

static void open_problem(void **state, problem *p)
{
    tess_ctx *ctx = test_ctx(state);
    *p = (problem){.host.seed = 1};
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=7,b=2", &p->A, NULL), TESS_OK);
    assert_int_equal(tess_device_open(ctx, "ref", &p->device), TESS_OK);
    assert_int_equal(tess_plan_create(ctx, p->A, p->device, NULL, &p->host.ref), TESS_OK);
    p->machine = (cg_machine){.user = &p->host,
                              .n = p->A->rows,
                              .blocks = 2, /* fewer than a thread for every element needs */
                              .launch = launch,
                              .multiply = multiply,
                              .read = read_sum};
    p->sums = calloc(2, sizeof *p->sums);
    p->machine.sums = (uintptr_t)p->sums;
    for (int v = 0; v < CG_VECTORS; v++) {
        p->vector[v] = v == CG_B ? test_vector(p->A->rows, TESS_F64, 5)
                                 : calloc((size_t)p->A->rows, sizeof(double));
        p->machine.vector[v] = (uintptr_t)p->vector[v];
    }
    invert_diagonal(p);
}

static void close_problem(problem *p)
{
    for (int v = 0; v < CG_VECTORS; v++)
        free(p->vector[v]);
    free(p->sums);
    tess_plan_destroy(p->host.ref);
    tess_device_close(p->device);
    tess_matrix_destroy(p->A);
}

/* Returns |b - A x|. */
static double true_residual(const problem *p)
{
    double *left = calloc((size_t)p->A->rows, sizeof *left), sum = 0;
    assert_int_equal(tess_spmv(p->host.ref, 1, p->vector[CG_X], 0, left), TESS_OK);
    for (int64_t i = 0; i < p->A->rows; i++)
        sum += (p->vector[CG_B][i] - left[i]) * (p->vector[CG_B][i] - left[i]);
    free(left);
    return sqrt(sum);
}

static const double tolerance = 1e-16;

/* Returns why a variant of cg.cu does not solve the system by Algorithm 1, or NULL. */
static const char *solve(problem *p, const char *variant, int64_t most, int64_t *iterations)
{
    double rr = 0;
    p->host.variant = variant;
    p->host.wrong = NULL;
    memset(p->host.launches, 0, sizeof p->host.launches);
    memset(p->vector[CG_X], 0, (size_t)p->A->rows * sizeof(double));
    if (cg_solve(&p->machine, tolerance, most, iterations, &rr) != TESS_OK)
        return p->host.wrong ? p->host.wrong : "a status";
    if (!(rr < tolerance))
        return "r.r is not below the tolerance";
    return fabs(true_residual(p) - sqrt(rr)) < 1e-11 ? NULL : "r is not b - A x";
}

static void algorithm_1_solves_and_stops(void **state)
{
    problem p;
    open_problem(state, &p);
    int64_t iterations;
    double rr;
    assert_null(solve(&p, "cg_0", 500, &iterations));
    assert_in_range(iterations, 5, 200);
    /* CG1 once; CG3 and CG4 in every iteration, CG5 but in the last; two launches per reduction. */
    const int *launches = p.host.launches;
    assert_int_equal(launches[0], 1);
    assert_int_equal(launches[2], iterations);
    assert_int_equal(launches[3], iterations);
    assert_int_equal(launches[4], iterations - 1);
    assert_int_equal(launches[5], launches[6]);
    assert_int_equal(launches[5], 2 + 3 * iterations - 1 + launches[1]);
    /* The most iterations are a stop as well ... */
    memset(p.vector[CG_X], 0, (size_t)p.A->rows * sizeof(double));
    assert_int_equal(cg_solve(&p.machine, 0, 3, &iterations, &rr), TESS_OK);
    assert_int_equal(iterations, 3);
    assert_true(rr > tolerance);
    /* ... and so is a |v| that is not above the tolerance (line 10). */
    memset(p.vector[CG_X], 0, (size_t)p.A->rows * sizeof(double));
    assert_int_equal(cg_solve(&p.machine, 1e6, 500, &iterations, &rr), TESS_OK);
    assert_int_equal(iterations, 0);
    close_problem(&p);
}

/* What the benchmark says of an x: of this one, of a residual that is too small, of a wrong last
 * row, of another system, of a NaN. */
static void the_benchmark_rejects_a_wrong_x(void **state)
{
    problem p;
    int64_t iterations;
    open_problem(state, &p);
    assert_null(solve(&p, "cg_0", 500, &iterations));
    const double norm = true_residual(&p);
    double *x = p.vector[CG_X], *b = p.vector[CG_B];
    const int64_t last = p.A->rows - 1;
    assert_true(cg_check(p.A, b, x, norm, iterations));
    assert_false(cg_check(p.A, b, x, norm / 3, iterations));
    x[last] += 1e-6;
    assert_false(cg_check(p.A, b, x, norm, iterations));
    x[last] -= 1e-6;
    b[last] += 1e-6;
    assert_false(cg_check(p.A, b, x, norm, iterations));
    x[last] = NAN;
    assert_false(cg_check(p.A, b, x, norm, iterations));
    close_problem(&p);
}

/* Copies of cg.cu with one fault each, made by the build. */
static void faults_are_caught(void **state)
{
    static const char *const faulty[] = {
        "cg_no_barrier", "cg_short_tree", "cg_lost_sum", "cg_long_step", "cg_cg1_s", "cg_whole_p",
        "cg_cg2_w",      "cg_cg3_u",      "cg_cg4_x",    "cg_kept_w",    "cg_cg5_v"};
    problem p;
    int64_t intact, iterations;
    if (test_slowed())
        skip();
    open_problem(state, &p);
    assert_null(solve(&p, "cg_0", 500, &intact));
    for (size_t i = 0; i < sizeof faulty / sizeof *faulty; i++)
        if (!solve(&p, faulty[i], 2 * intact, &iterations) && iterations == intact)
            fail_msg("%s passes", faulty[i]);
    close_problem(&p);
}

/* ---- Loading vectors ---- */

/* Vector v is 2^v everywhere: a sum says which ones were read. A fixed grid and one with a thread
 * for every element read the same. */
static void load_reads_each_vector_once(void **state)
{
    (void)state;
    enum { N = 700 };
    double vector[CG_VECTORS][N];
    cg_machine m = {.n = N, .blocks = N};
    for (int v = 0; v < CG_VECTORS; v++) {
        m.vector[v] = (uintptr_t)vector[v];
        for (int i = 0; i < N; i++)
            vector[v][i] = 1 << v;
    }
    for (int count = 1; count <= 8; count *= 2) {
        for (int fixed = 0; fixed < 2; fixed++) {
            char variant[16];
            tess_cuda_launch l;
            snprintf(variant, sizeof variant, "load_%d", count);
            for (int i = 0; i < N; i++)
                vector[CG_T][i] = 0;
            cg_launch(&m, "load", (1 << count) - 1, &l);
            l.grid[0] = fixed ? 1 : l.grid[0];
            assert_null(emu_launch(variant, &l, 7));
            for (int i = 0; i < N; i++)
                assert_true(vector[CG_T][i] == (1 << count) - 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(algorithm_1_solves_and_stops),
                                       cmocka_unit_test(the_benchmark_rejects_a_wrong_x),
                                       cmocka_unit_test(faults_are_caught),
                                       cmocka_unit_test(load_reads_each_vector_once)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
