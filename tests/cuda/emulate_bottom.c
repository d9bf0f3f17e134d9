/* bottom.cu in the emulator: the dense inverse of matrices drawn at random is the host's, whatever
 * the order of threads; matrices that are singular or not definite are refused. Copies of it with
 * one fault each, made by the build, must fail. */
#include <float.h>

#include "cuda/solve/amg/bottom.h"
#include "emu/emulator.h"
#include "problems.h"
#include "support/support.h"

enum { TILE = TESS_BOTTOM_TILE, OUT = TESS_AMG_BOTTOM_BLOCK };

typedef struct run {
    const char *variant;
    tess_coarsen_matrix A;
    tess_bottom_arrays arrays;
    double *memory;
    uint32_t failed;
    uint64_t seed;
    const char *wrong; /* what the emulator says; NULL: nothing */
} run;

static void launch(run *r, const char *entry, int64_t step)
{
    tess_cuda_launch l;
    tess_bottom_launch(entry, &r->A, &r->arrays, step, &l);
    if (!r->wrong)
        r->wrong = emu_launch(r->variant, &l, r->seed++);
}

/* Inverts A into `inverse`, which has room for it. */
static void invert(run *r, const char *variant, const tess_matrix *A, double *inverse,
                   uint64_t seed)
{
    const int64_t rows = A->block_rows * A->block_height, across = tess_ceil_div(rows, TILE);
    const int64_t size = (int64_t)TILE * TILE, tiles = across * (across + 1) / 2 * size;
    const int64_t count = tiles + across * TILE + (2 * across + 1) * size;
    *r = (run){.variant = variant,
               .A = {.offsets = emu_address(A->row_offsets),
                     .columns = emu_address(A->columns),
                     .values = emu_address(A->values),
                     .block_rows = A->block_rows,
                     .blocks = A->blocks,
                     .height = A->block_height,
                     .width = A->block_width},
               .memory = malloc((size_t)count * sizeof(double)),
               .seed = 1000 * seed};
    for (int64_t i = 0; i < count; i++)
        r->memory[i] = i < tiles ? 0 : NAN;
    r->arrays =
        (tess_bottom_arrays){.tiles = emu_address(r->memory),
                             .scale = emu_address(r->memory + tiles),
                             .pivot = emu_address(r->memory + tiles + across * TILE),
                             .column = emu_address(r->memory + tiles + across * TILE + size),
                             .product = emu_address(r->memory + count - across * size),
                             .inverse = emu_address(inverse),
                             .failed = emu_address(&r->failed),
                             .rows = rows,
                             .across = across,
                             .least = 64 * (double)rows * DBL_EPSILON};
    launch(r, "scale", 0);
    launch(r, "place", 0);
    launch(r, "pivot", 0);
    for (int64_t step = 0; step < across; step++) {
        launch(r, "column", step);
        launch(r, "update", step);
    }
    launch(r, "write", 0);
    free(r->memory);
}

/* Whether `variant` finds the host's inverse of A. Says why not. */
static bool finds(tess_ctx *ctx, const char *variant, const tess_matrix *A, uint64_t seed,
                  char *why, size_t size)
{
    tess_matrix *B;
    run r;
    double most = 0, error = 0, pivot;
    test_ok(ctx, tess_amg_dense_pattern(ctx, A->block_rows * A->block_height, OUT, &B));
    test_ok(ctx, tess_amg_invert_bottom(ctx, A, true, 0, B, &pivot));
    const int64_t stored = tess_matrix_stored(B);
    double *got = malloc((size_t)stored * sizeof *got);
    for (int64_t i = 0; i < stored; i++)
        got[i] = NAN;
    invert(&r, variant, A, got, seed);
    for (int64_t i = 0; i < stored; i++) {
        const double want = tess_matrix_value(B, i);
        most = fmax(most, fabs(want));
        error = fabs(got[i] - want) <= error ? error : fabs(got[i] - want);
    }
    snprintf(why, size, "%lld rows, b=%d, seed %d: %s, off by %g of %g, %u pivots refused",
             (long long)A->rows, (int)A->block_height, (int)seed, r.wrong ? r.wrong : "it ran",
             error, most, r.failed);
    free(got);
    tess_matrix_destroy(B);
    return !r.wrong && r.failed == 0 && error <= 1e-12 * most;
}

static tess_matrix *draw(tess_ctx *ctx, uint64_t seed)
{
    const int32_t b = 1 + (int32_t)tess_random_below(seed, 0, 7);
    const int64_t rows = 1 + tess_random_below(seed, 1, 210 / b);
    tess_matrix *A = problem_matrix(ctx, rows, b, true, TESS_F64, seed);
    /* Rows of very different magnitude, as levels have for jumping coefficients. */
    for (int64_t i = 0; i < A->block_rows; i++)
        for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++) {
            const double factor = ldexp(1, (int)(i % 9 + A->columns[k] % 9) - 8);
            for (int64_t e = k * b * b; e < (k + 1) * b * b; e++)
                ((double *)A->values)[e] *= factor;
        }
    return A;
}

static void inverses_are_the_hosts(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    char why[256];
    for (uint64_t seed = 1; seed <= (test_slowed() ? 8 : 24); seed++) {
        tess_matrix *A = draw(ctx, seed);
        if (!finds(ctx, "bottom_0", A, seed, why, sizeof why))
            fail_msg("%s", why);
        tess_matrix_destroy(A);
    }
}

/* The matrix of a ring of `rows` equal springs, which is singular; `shift` is added to the
 * diagonal. */
static tess_matrix *ring(tess_ctx *ctx, int64_t rows, double shift)
{
    tess_matrix *A;
    test_ok(ctx, tess_matrix_allocate(ctx, TESS_F64, rows, rows, 1, 1, 3 * rows, &A));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < 3; k++) {
            A->row_offsets[i + 1] = 3 * (i + 1);
            A->columns[3 * i + k] = (int32_t)((i + k + rows - 1) % rows);
            ((double *)A->values)[3 * i + k] = k == 1 ? 2 + shift : -1;
        }
    return A;
}

static unsigned refused(tess_ctx *ctx, const char *variant, tess_matrix *A, uint64_t seed)
{
    run r;
    tess_matrix *B;
    test_ok(ctx, tess_amg_dense_pattern(ctx, A->rows, OUT, &B));
    invert(&r, variant, A, B->values, seed);
    if (r.wrong)
        fail_msg("%s", r.wrong);
    tess_matrix_destroy(B);
    tess_matrix_destroy(A);
    return r.failed;
}

static void what_has_no_inverse_is_refused(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const double bad[] = {0, -1, NAN, INFINITY};
    assert_true(refused(ctx, "bottom_0", ring(ctx, 100, 0), 1) > 0);
    assert_true(refused(ctx, "bottom_0", ring(ctx, 100, 1e-14), 1) > 0); /* all but singular */
    assert_true(refused(ctx, "bottom_0", ring(ctx, 100, -0.5), 2) > 0);  /* not definite */
    assert_int_equal(refused(ctx, "bottom_0", ring(ctx, 100, 1e-3), 3), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) { /* on the diagonal, then beside it */
        tess_matrix *A = ring(ctx, 70, 1);
        ((double *)A->values)[3 * 66 + 1] = bad[i];
        assert_true(refused(ctx, "bottom_0", A, 4 + i) > 0);
        A = ring(ctx, 70, 1);
        ((double *)A->values)[3 * 66] = bad[i];
        assert_int_equal(refused(ctx, "bottom_0", A, 8 + i) > 0, !isfinite(bad[i]));
    }
}

static void faults_are_caught(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const char *const faults[] = {
        "bottom_no_barrier", "bottom_one_line",    "bottom_upper_half",
        "bottom_no_mirror",  "bottom_not_turned",  "bottom_own_tile",
        "bottom_not_scaled", "bottom_short_chunk", "bottom_no_identity"};
    char why[256];
    if (test_slowed())
        skip();
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        int wrong = 0;
        for (uint64_t seed = 1; seed <= 6; seed++) {
            tess_matrix *A = draw(ctx, seed);
            wrong += !finds(ctx, faults[i], A, seed, why, sizeof why);
            tess_matrix_destroy(A);
        }
        if (wrong == 0)
            fail_msg("%s passes", faults[i]);
    }
    assert_int_equal(refused(ctx, "bottom_any_pivot", ring(ctx, 100, 1e-14), 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverses_are_the_hosts),
        cmocka_unit_test(what_has_no_inverse_is_refused),
        cmocka_unit_test(faults_are_caught),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
