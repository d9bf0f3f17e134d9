/* Paper 004's conjugate gradients (bench/papers/cg.h) in the emulator: each kernel does what Table
 * 2 says, and Algorithm 1 solves a system and stops by the paper's rule. */
#include <math.h>
#include <string.h>

#include "../../bench/papers/cg.h"
#include "emu/emulator.h"
#include "support/support.h"

typedef struct host {
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
    const char *wrong = emu_launch("cg_0", l, h->seed++);
    if (wrong)
        fail_msg("%s: %s", l->entry, wrong);
    return TESS_OK;
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

static void algorithm_1_solves_and_stops(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A;
    tess_device *device;
    host h = {.seed = 1};
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=7,b=2", &A, NULL), TESS_OK);
    assert_int_equal(tess_device_open(ctx, "ref", &device), TESS_OK);
    assert_int_equal(tess_plan_create(ctx, A, device, NULL, &h.ref), TESS_OK);
    cg_machine m = {.user = &h,
                    .n = A->rows,
                    .blocks = 2, /* fewer than a thread an element needs */
                    .launch = launch,
                    .multiply = multiply,
                    .read = read_sum};
    double *vector[CG_VECTORS], *sums = calloc(2, sizeof *sums);
    for (int v = 0; v < CG_VECTORS; v++) {
        vector[v] = calloc((size_t)A->rows, sizeof(double));
        m.vector[v] = (uintptr_t)vector[v];
    }
    m.sums = (uintptr_t)sums;
    double *rhs = test_vector(A->rows, TESS_F64, 5), *left = calloc((size_t)A->rows, sizeof *left);
    memcpy(vector[CG_B], rhs, (size_t)A->rows * sizeof *rhs);
    for (int64_t row = 0; row < A->block_rows; row++) /* the diagonal block of a row */
        for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++)
            for (int i = 0; i < 2 && A->columns[k] == row; i++)
                vector[CG_C][2 * row + i] = 1 / sqrt(((const double *)A->values)[4 * k + 3 * i]);
    int64_t iterations;
    double rr;
    const double tolerance = 1e-16;
    assert_int_equal(cg_solve(&m, tolerance, 500, &iterations, &rr), TESS_OK);
    assert_true(rr < tolerance);
    assert_in_range(iterations, 5, 200);
    double true_rr = 0;
    assert_int_equal(tess_spmv(h.ref, 1, vector[CG_X], 0, left), TESS_OK);
    for (int64_t i = 0; i < A->rows; i++)
        true_rr += (rhs[i] - left[i]) * (rhs[i] - left[i]);
    assert_true(fabs(sqrt(true_rr) - sqrt(rr)) < 1e-11);
    /* Launches: CG1 once, CG3 and CG4 in every iteration, CG5 in all but the last, two per
     * reduction. */
    assert_int_equal(h.launches[0], 1);
    assert_int_equal(h.launches[2], iterations);
    assert_int_equal(h.launches[3], iterations);
    assert_int_equal(h.launches[4], iterations - 1);
    assert_int_equal(h.launches[5], h.launches[6]);
    assert_int_equal(h.launches[5], 2 + 3 * iterations - 1 + h.launches[1]);
    /* The most iterations are a stop as well. */
    memset(vector[CG_X], 0, (size_t)A->rows * sizeof(double));
    assert_int_equal(cg_solve(&m, 0, 3, &iterations, &rr), TESS_OK);
    assert_int_equal(iterations, 3);
    assert_true(rr > tolerance);
    for (int v = 0; v < CG_VECTORS; v++)
        free(vector[v]);
    free(sums);
    free(rhs);
    free(left);
    tess_plan_destroy(h.ref);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

/* Every entry of vector v is 2^v, so that a sum tells which vectors were read. A fixed grid and a
 * grid with one thread per element read the same. */
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
                                       cmocka_unit_test(load_reads_each_vector_once)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
