/* patterns.cu, inverse.cu, strength.cu and lanczos.cu in the emulator against the host's set-up of
 * a multigrid level, for matrices drawn at random and any order of threads. */
#include <math.h>
#include <string.h>

#include "cuda/solve/amg/lanczos.h"
#include "cuda/solve/amg/patterns.h"
#include "cuda/solve/amg/strength.h"
#include "emu/emulator.h"
#include "matrix/multiply/multiply.h"
#include "ref/ref.h"
#include "support/support.h"

static void launch(const char *name, tess_cuda_launch *l, uint64_t seed)
{
    const char *wrong = l->grid[0] > 0 ? emu_launch(name, l, seed) : NULL;
    if (wrong)
        fail_msg("%s, seed %d: %s", l->entry, (int)seed, wrong);
}

static tess_coarsen_matrix view(const tess_matrix *M)
{
    return (tess_coarsen_matrix){.offsets = emu_address(M->row_offsets),
                                 .columns = emu_address(M->columns),
                                 .values = emu_address(M->values),
                                 .block_rows = M->block_rows,
                                 .blocks = M->blocks,
                                 .longest = tess_matrix_longest_row(M),
                                 .height = M->block_height,
                                 .width = M->block_width};
}

static int64_t draw(uint64_t seed, uint64_t i, int64_t least, int64_t most)
{
    return least + tess_random_below(seed, i, most - least + 1);
}

/* A matrix of block_rows x block_cols blocks, rows of 0 to `most` blocks of which many repeat. */
static tess_matrix *make(tess_ctx *ctx, int64_t block_rows, int64_t block_cols, int32_t b,
                         int64_t most, uint64_t seed)
{
    const int64_t longest = tess_min(most, block_cols);
    tess_matrix *M;
    int64_t blocks = 0;
    int32_t *columns = malloc((size_t)(block_rows * longest + 1) * sizeof *columns);
    int64_t *offsets = calloc((size_t)block_rows + 1, sizeof *offsets);
    for (int64_t i = 0; i < block_rows; i++) {
        const int64_t wanted = draw(seed, (uint64_t)i, 0, longest);
        for (int64_t j = 0, left = wanted; j < block_cols && left > 0; j++) {
            if (draw(seed + 1, (uint64_t)(i * block_cols + j), 1, block_cols - j) > left)
                continue;
            columns[blocks++] = (int32_t)j;
            left--;
        }
        offsets[i + 1] = blocks;
    }
    test_ok(ctx,
            tess_matrix_allocate(ctx, TESS_F64, block_rows * b, block_cols * b, b, b, blocks, &M));
    memcpy(M->row_offsets, offsets, (size_t)(block_rows + 1) * sizeof *offsets);
    memcpy(M->columns, columns, (size_t)blocks * sizeof *columns);
    for (int64_t i = 0; i < tess_matrix_stored(M); i++)
        ((double *)M->values)[i] = tess_random_unit(seed + 2, (uint64_t)i);
    free(columns), free(offsets);
    return M;
}

/* ---- Patterns ---- */

static int too_long;

static void check_product(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B, int64_t most,
                          uint64_t seed)
{
    tess_matrix *C;
    test_ok(ctx, tess_multiply_pattern(ctx, A, B, &C));
    const tess_coarsen_matrix a = view(A), b = view(B);
    tess_coarsen_matrix c = view(C);
    int64_t *lengths = malloc((size_t)(C->block_rows + 1) * sizeof *lengths);
    int32_t *columns = malloc((size_t)(C->blocks + 1) * sizeof *columns);
    tess_cuda_launch l;
    tess_patterns_multiply(TESS_PATTERNS_COUNT, &a, &b, &c, emu_address(lengths), most, &l);
    launch("patterns_0", &l, seed);
    for (int64_t i = 0; i < C->block_rows; i++) {
        const int64_t want = C->row_offsets[i + 1] - C->row_offsets[i];
        if (lengths[i] != (want <= most ? want : -1))
            fail_msg("seed %d: row %d has %d blocks, the host says %d", (int)seed, (int)i,
                     (int)lengths[i], (int)want);
    }
    too_long += c.longest > most;
    if (c.longest <= most) {
        memset(columns, 255, (size_t)C->blocks * sizeof *columns);
        c.columns = emu_address(columns);
        tess_patterns_multiply(TESS_PATTERNS_LIST, &a, &b, &c, 0, most, &l);
        launch("patterns_0", &l, seed + 1);
        assert_memory_equal(columns, C->columns, (size_t)C->blocks * sizeof *columns);
    }
    free(lengths), free(columns);
    tess_matrix_destroy(C);
}

static void products_have_the_hosts_patterns(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const int64_t m = draw(seed, 100, 1, 40), n = draw(seed, 101, 1, 60);
        const int64_t k = draw(seed, 102, 1, 300);
        tess_matrix *A = make(ctx, m, n, 1, draw(seed, 103, 1, 20), 3 * seed);
        tess_matrix *B = make(ctx, n, k, 1, draw(seed, 104, 1, 30), 3 * seed + 1);
        check_product(ctx, A, B, seed % 4 == 0 ? 12 : 256, seed);
        tess_matrix_destroy(A);
        tess_matrix_destroy(B);
    }
    assert_true(too_long > 0);
}

static void transposes_have_the_hosts_patterns(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        tess_amg_level level = {0};
        level.P = make(ctx, draw(seed, 1, 1, 300), draw(seed, 2, 1, 20), 1, 5, seed);
        test_ok(ctx, tess_amg_restrict(ctx, &level));
        const int64_t blocks = level.P->blocks, rows = level.R->block_rows;
        const tess_coarsen_matrix P = view(level.P);
        tess_coarsen_matrix R = view(level.R);
        int64_t *places = calloc((size_t)rows + 1, sizeof *places);
        int64_t *numbers = malloc((size_t)(blocks + 1) * sizeof *numbers);
        int64_t *from = malloc((size_t)(blocks + 1) * sizeof *from);
        int32_t *unsorted = malloc((size_t)(blocks + 1) * sizeof *unsorted);
        int32_t *columns = malloc((size_t)(blocks + 1) * sizeof *columns);
        tess_cuda_launch l;
        tess_patterns_transpose("tally", &P, emu_address(places), 0, 0, &l);
        launch("patterns_0", &l, seed);
        for (int64_t i = 0; i < rows; i++)
            assert_int_equal(places[i], level.R->row_offsets[i + 1] - level.R->row_offsets[i]);
        memcpy(places, level.R->row_offsets, (size_t)rows * sizeof *places);
        tess_patterns_transpose("scatter", &P, emu_address(places), emu_address(unsorted),
                                emu_address(numbers), &l);
        launch("patterns_0", &l, seed + 1);
        R.columns = emu_address(columns);
        tess_patterns_order(&R, emu_address(unsorted), emu_address(numbers), emu_address(from), &l);
        launch("patterns_0", &l, seed + 2);
        assert_memory_equal(columns, level.R->columns, (size_t)blocks * sizeof *columns);
        assert_memory_equal(from, level.R_from, (size_t)blocks * sizeof *from);
        free(places), free(numbers), free(from), free(unsorted), free(columns);
        tess_matrix_destroy(level.P);
        tess_matrix_destroy(level.R);
        tess_free(ctx, level.R_from);
    }
}

/* ---- Inverse diagonals ---- */

static int singular_cases;

static void inverse_diagonals_are_the_hosts(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const int64_t n = draw(seed, 1, 1, 30);
        const int32_t b = (int32_t)draw(seed, 2, 1, 8);
        tess_matrix *A = seed % 4 ? test_matrix(ctx, TEST_DIAGONAL, n, b, b, TESS_F64, seed)
                                  : make(ctx, n, n, b, 20, seed);
        if (seed % 4 == 3 && b > 1) /* rows of the padding */
            A->rows = A->cols = A->rows - 1;
        tess_amg_level level = {.A = A};
        const tess_coarsen_matrix M = view(A);
        double *work = malloc((size_t)(n * b * b) * sizeof *work);
        double *inverse = malloc((size_t)(n * b * b) * sizeof *inverse), pivot;
        uint32_t singular = 0, want = 0;
        tess_cuda_launch l;
        tess_coarsen_invert(&M, A->rows, emu_address(work), emu_address(inverse),
                            emu_address(&singular), &l);
        launch("inverse_0", &l, seed);
        test_ok(ctx, tess_amg_invert_diagonal(ctx, &level));
        for (int64_t i = 0; i < n; i++) {
            const int64_t k = tess_matrix_find(A, i, i);
            double block[64] = {0}, scratch[64], most = 0;
            if (k >= 0)
                memcpy(block, (double *)A->values + k * b * b, (size_t)(b * b) * sizeof *block);
            for (int32_t c = 0; c < b; c++)
                if (i * b + c >= A->rows)
                    block[c * b + c] = 1;
            const bool bad = tess_dense_invert(block, b, scratch, &pivot) >= 0;
            want += bad;
            for (int32_t c = 0; c < b * b; c++)
                most = fmax(most, fabs(level.inverse[i * b * b + c]));
            for (int32_t c = 0; c < b * b && !bad; c++)
                if (!(fabs(inverse[i * b * b + c] - level.inverse[i * b * b + c]) <= 1e-10 * most))
                    fail_msg("seed %d: row %d, scalar %d: %g, the host's %g", (int)seed, (int)i,
                             (int)c, inverse[i * b * b + c], level.inverse[i * b * b + c]);
        }
        assert_int_equal(singular, want);
        singular_cases += singular > 0;
        free(work), free(inverse);
        tess_free(ctx, level.inverse);
        tess_matrix_destroy(A);
    }
    assert_true(singular_cases > 0);
}

/* ---- Strength ---- */

static int missing_cases, weak_cases;

static void check_strength(tess_ctx *ctx, tess_matrix *A, double threshold, uint64_t seed)
{
    tess_amg_level level = {.A = A};
    const tess_coarsen_matrix M = view(A);
    uint32_t missing[2] = {0, 0};
    double *scale = malloc((size_t)A->block_rows * sizeof *scale);
    double *largest = malloc((size_t)A->block_rows * sizeof *largest);
    float *strength = malloc((size_t)(A->blocks + 1) * sizeof *strength);
    const tess_strength_arrays arrays = {.scale = emu_address(scale),
                                         .largest = emu_address(largest),
                                         .strength = emu_address(strength),
                                         .missing = emu_address(missing)};
    static const char *const entries[] = {"scale", "norms", "drop"};
    test_ok(ctx, tess_amg_strength(ctx, threshold, &level));
    for (uint64_t i = 0; i < 3; i++) {
        tess_cuda_launch l;
        tess_strength_launch(entries[i], &M, &arrays, threshold, &l);
        launch("strength_0", &l, seed + i);
    }
    for (int64_t k = 0; k < A->blocks; k++)
        if (!(fabsf(strength[k] - level.strength[k]) <= 2e-7f * fabsf(level.strength[k])))
            fail_msg("seed %d: strength %d is %g, the host's %g", (int)seed, (int)k,
                     (double)strength[k], (double)level.strength[k]);
    assert_int_equal(missing[0] == 0 && missing[1] == 0, level.all_strong);
    missing_cases += missing[0] > 0;
    weak_cases += missing[1] > 0;
    free(scale), free(largest), free(strength);
    tess_free(ctx, level.strength);
}

static void strengths_are_the_hosts(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    int all_strong = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        const int64_t n = draw(seed, 1, 1, 50);
        const int32_t b = (int32_t)draw(seed, 2, 1, 6);
        tess_matrix *A = seed % 3 ? make(ctx, n, n, b, 45, seed)
                                  : test_matrix(ctx, TEST_DIAGONAL, n, b, b, TESS_F64, seed);
        const int before = missing_cases + weak_cases;
        if (seed % 5 == 0 && A->blocks > 0)
            ((double *)A->values)[0] = seed % 2 ? NAN : INFINITY;
        check_strength(ctx, A, seed % 2 ? 0 : 0.3, seed);
        all_strong += missing_cases + weak_cases == before;
        tess_matrix_destroy(A);
    }
    assert_true(missing_cases > 0 && weak_cases > 0 && all_strong > 0);
}

/* ---- Offsets ---- */

static void offsets_are_the_sums_of_lengths(void **state)
{
    enum { SPAN = TESS_PATTERNS_THREADS * TESS_PATTERNS_EACH };
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        const int64_t count = draw(seed, 1, 1, seed % 2 ? 100 : 4 * SPAN);
        int64_t *lengths = malloc((size_t)count * sizeof *lengths), sum = 0, parts[12], before[4];
        int64_t *want = malloc((size_t)count * sizeof *want), want_parts[12] = {0};
        tess_cuda_launch l;
        for (int64_t i = 0; i < count; i++) {
            int64_t *part = want_parts + 3 * (i / SPAN);
            lengths[i] = draw(seed, (uint64_t)i + 2, seed % 4 ? 0 : -1, 300);
            before[i / SPAN] = i % SPAN ? before[i / SPAN] : sum;
            want[i] = sum += lengths[i];
            part[0] += lengths[i];
            part[1] = tess_max(part[1], lengths[i]);
            part[2] = tess_min(part[2], lengths[i]);
        }
        tess_patterns_offsets("measure", emu_address(lengths), count, emu_address(parts), &l);
        launch("patterns_0", &l, seed);
        assert_memory_equal(parts, want_parts, 3 * l.grid[0] * sizeof *parts);
        tess_patterns_offsets("place", emu_address(lengths), count, emu_address(before), &l);
        launch("patterns_0", &l, seed + 1);
        assert_memory_equal(lengths, want, (size_t)count * sizeof *want);
        free(lengths), free(want);
    }
}

/* ---- Lanczos ---- */

static void lanczos_products_are_the_references(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 1; seed <= 12; seed++) {
        const int64_t n = draw(seed, 1, 1, 200);
        const int32_t b = (int32_t)draw(seed, 2, 1, 7);
        tess_matrix *A = make(ctx, n, n, b, 6, seed);
        const int64_t count = A->block_rows * b;
        const tess_coarsen_matrix M = view(A);
        double *p = test_vector(count, TESS_F64, seed);
        double *q = malloc(2 * (size_t)count * sizeof *q), *want = q + count;
        const tess_lanczos_vectors s = {
            .p = emu_address(p), .q = emu_address(q), .count = count, .rows = A->rows, .block = b};
        tess_cuda_launch l;
        tess_lanczos_product(&s, &M, &l);
        launch("lanczos_0", &l, seed);
        tess_ref_spmm(A, 1, TESS_ORDER_COLUMN_MAJOR, 1, p, A->cols, 0, want, A->rows);
        for (int64_t i = 0; i < count; i++)
            assert_true(i < A->rows ? fabs(q[i] - want[i]) <= 1e-12 * (1 + fabs(want[i]))
                                    : q[i] == 0);
        free(p), free(q);
        tess_matrix_destroy(A);
    }
}

static void lanczos_vectors_are_the_formulas(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const int32_t b = (int32_t)draw(seed, 1, 1, 9);
        const int64_t nodes = draw(seed, 2, 1, 700), n = nodes * b,
                      rows = n - (b > 1 ? (int64_t)(seed % 2) : 0);
        double *inverse = test_vector(n * b, TESS_F64, seed),
               *v = test_vector(6 * n, TESS_F64, seed);
        double part[TESS_LANCZOS_SUMS], sum = 0, want = 0, size = 0;
        double *r = v, *to = v + n, *z = v + 2 * n, *p = v + 3 * n, *q = v + 4 * n,
               *kept = v + 5 * n;
        tess_lanczos_vectors s = {.inverse = emu_address(inverse),
                                  .r = {emu_address(r), emu_address(to)},
                                  .z = emu_address(z),
                                  .p = emu_address(p),
                                  .q = emu_address(q),
                                  .partial = emu_address(part),
                                  .count = n,
                                  .rows = rows,
                                  .block = b};
        tess_cuda_launch l;
        inverse[0] = 0;
        const int parts = tess_lanczos_advance(&s, 0.7, &l);
        launch("lanczos_0", &l, seed);
        for (int i = 0; i < parts; i++)
            sum += part[i];
        for (int64_t i = 0; i < n; i++) {
            double product = 0;
            for (int32_t c = 0; c < b; c++) {
                const int64_t at = i / b * b + c;
                product += inverse[at * b + i % b] * (r[at] - 0.7 * q[at]);
            }
            assert_true(fabs(to[i] - (r[i] - 0.7 * q[i])) <= 1e-15 * 2);
            assert_true(fabs(z[i] - product) <= 1e-14 * b);
            want += product * to[i];
            size += fabs(product * to[i]);
        }
        assert_true(fabs(sum - want) <= 1e-14 * (double)n * size);
        const int dots = tess_lanczos_multiply(&s, &l);
        launch("lanczos_0", &l, seed + 3);
        sum = want = size = 0;
        for (int i = 0; i < dots; i++)
            sum += part[i];
        for (int64_t i = 0; i < n; i++) {
            want += p[i] * q[i];
            size += fabs(p[i] * q[i]);
        }
        assert_true(fabs(sum - want) <= 1e-14 * (double)n * size);
        memcpy(kept, p, (size_t)n * sizeof *p);
        tess_lanczos_follow(&s, -1.5, &l);
        launch("lanczos_0", &l, seed + 1);
        for (int64_t i = 0; i < n; i++)
            assert_true(fabs(p[i] - (z[i] - 1.5 * kept[i])) <= 1e-15 * (fabs(z[i]) + 2));
        tess_lanczos_begin(&s, &l);
        launch("lanczos_0", &l, seed + 2);
        for (int64_t i = 0; i < n; i++) {
            const double d = fabs(inverse[i / b * b * b + i % b * (b + 1)]);
            const double one = tess_random_unit(TESS_LANCZOS_SEED, (uint64_t)i);
            assert_true(r[i] == (i < rows && d > 0 ? one / sqrt(d) : 0));
            assert_true(p[i] == 0 && q[i] == 0);
        }
        free(inverse), free(v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_have_the_hosts_patterns),
        cmocka_unit_test(transposes_have_the_hosts_patterns),
        cmocka_unit_test(inverse_diagonals_are_the_hosts),
        cmocka_unit_test(strengths_are_the_hosts),
        cmocka_unit_test(offsets_are_the_sums_of_lengths),
        cmocka_unit_test(lanczos_products_are_the_references),
        cmocka_unit_test(lanczos_vectors_are_the_formulas),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
