/* Properties of the papers' kernels beside their results: one kernel per shape, one column number
 * per block and the fill of 001; Table 1 of 004; equation 2, Table I and the mini-grid of 003;
 * which thread block computes which rows. */
#include <math.h>
#include <string.h>

#include "cuda/kernels/papers/splits.h"
#include "emu/emulator.h"
#include "mutants.h"
#include "support/support.h"

/* n block rows of `length` blocks each, all ones. */
static tess_matrix *even_rows(tess_ctx *ctx, int32_t b, int64_t n, int64_t length)
{
    int64_t *offsets = calloc((size_t)n + 1, sizeof *offsets);
    int32_t *columns = calloc((size_t)(n * length), sizeof *columns);
    double *values = calloc((size_t)(n * length * b * b), sizeof *values);
    for (int64_t i = 0; i <= n; i++)
        offsets[i] = i * length;
    for (int64_t k = 0; k < n * length; k++)
        columns[k] = (int32_t)(k % length);
    for (int64_t k = 0; k < n * length * b * b; k++)
        values[k] = 1;
    tess_matrix *A = test_blocks(ctx, n * b, n * b, b, b, offsets, columns, values);
    free(offsets), free(columns), free(values);
    return A;
}

/* The layout and the launches of a kernel with its parameters on a matrix. */
typedef struct opened {
    tess_cuda_layout *layout;
    tess_cuda_launch launches[TESS_CUDA_LAUNCHES];
} opened;

static void open_kernel(tess_ctx *ctx, const char *kernel, const char *params, const tess_matrix *A,
                        const void *x, void *y, opened *o)
{
    char name[TESS_CUDA_LAYOUT];
    tess_cuda_problem problem = {.arch = 90, .multiprocessors = 3};
    int p[TESS_CUDA_PARAMS];
    tess_cuda_problem_of(A, &problem);
    const tess_cuda_kernel *k = tess_cuda_kernel_find(kernel);
    assert_non_null(k);
    k->guess(&problem, p);
    assert_int_equal(tess_cuda_params_read(ctx, k, params, p), TESS_OK);
    if (!k->fits(&problem, p))
        fail_msg("%s %s does not fit %d x %d", kernel, params, (int)A->block_height,
                 (int)A->block_width);
    k->layout_name(&problem, p, name, sizeof name);
    assert_int_equal(tess_cuda_layout_create(ctx, A, name, &o->layout), TESS_OK);
    tess_cuda_call call = {.x = (uintptr_t)x, .y = (uintptr_t)y, .alpha = 1};
    for (int i = 0; i < o->layout->count; i++)
        call.arrays[i] = (uintptr_t)o->layout->arrays[i].host;
    assert_in_range(k->launches(&problem, p, o->layout, &call, o->launches), 1, TESS_CUDA_LAUNCHES);
}

/* Checks a row of Table 1 of paper 004: B_x, B_y, B_T and steps. */
static void check_mapping(tess_ctx *ctx, const char *kernel, int T, int N, int64_t bx, int64_t by)
{
    enum { ROWS = 512, LENGTH = 40 }; /* LENGTH is B_r */
    tess_matrix *A = even_rows(ctx, N, ROWS, LENGTH);
    char params[32], expected[64];
    snprintf(params, sizeof params, "T=%d", T);
    opened o;
    open_kernel(ctx, kernel, params, A, NULL, NULL, &o);
    snprintf(expected, sizeof expected, "interleaved:Bx=%d,By=%d,", (int)bx, (int)by);
    if (strncmp(o.layout->name, expected, strlen(expected)) != 0)
        fail_msg("%s, T = %d, N = %d: %s, not %s", kernel, T, N, o.layout->name, expected);
    assert_int_equal(o.launches[0].block[0], T);
    assert_int_equal(o.launches[0].grid[0], tess_ceil_div(A->rows, by * N)); /* B_T = M / (B_y N) */
    const int64_t *offsets = o.layout->arrays[INTERLEAVED_OFFSETS].host;
    for (int64_t g = 0; g < o.launches[0].grid[0]; g++)
        assert_int_equal(offsets[g + 1] - offsets[g], tess_ceil_div(LENGTH, bx));
    tess_cuda_layout_destroy(o.layout);
    tess_matrix_destroy(A);
}

static void mappings_are_those_of_table_1(void **state)
{
    enum { W = 32 };
    tess_ctx *ctx = test_ctx(state);
    for (int T = 128; T <= 256; T *= 2) {
        for (int N = 1; N <= 8; N *= 2) {
            check_mapping(ctx, "block_row", T, N, T / (N * N), 1);
            if (N * N <= W)
                check_mapping(ctx, "warp_row", T, N, W / (N * N), T / W);
            check_mapping(ctx, "multi_row", T, N, 1, T / (N * N));
        }
    }
}

/* Section 3.6: matrix Dense, M = 2000, N = 1, T = 256 has 8 thread blocks. B_x = 2 halves B_y and
 * doubles the thread blocks. */
static void more_blocks_a_row_make_more_thread_blocks(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = even_rows(ctx, 1, 2000, 2000);
    for (int bx = 1; bx <= 32; bx *= 2) {
        char params[32];
        snprintf(params, sizeof params, "T=256,Bx=%d", bx);
        opened o;
        open_kernel(ctx, "multi_row", params, A, NULL, NULL, &o);
        assert_int_equal(o.launches[0].grid[0], tess_ceil_div(2000, 256 / bx));
        tess_cuda_layout_destroy(o.layout);
    }
    tess_matrix_destroy(A);
}

static int macro(const char *defines, const char *name)
{
    char key[32];
    snprintf(key, sizeof key, "-D%s=", name);
    const char *at = strstr(defines, key);
    assert_non_null(at);
    return atoi(at + strlen(key));
}

/* Equation 2 of paper 003 at every size of K2, and the paper's two examples. */
static void slices_are_those_of_equation_2(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int bs = 5; bs <= 45; bs++) {
        for (int groups = 1; groups <= 8; groups *= 2) {
            char params[32], defines[TESS_CUDA_DEFINES];
            test_variant v;
            snprintf(params, sizeof params, "N_tg=%d", groups);
            if (!test_variant_of(ctx, "ksparse_medium", params, bs, &v))
                continue;
            v.kernel->defines(&v.problem, v.params, defines, sizeof defines);
            int ept_max = macro(defines, "EPT_MAX"), threshold = macro(defines, "THRESHOLD");
            assert_int_equal(ept_max, tess_ceil_div(bs, groups));
            assert_int_equal(threshold, (groups - bs % groups) % groups);
            assert_int_equal(threshold * (ept_max - 1) + (groups - threshold) * ept_max, bs);
            if (groups == 4 && bs == 7)
                assert_true(ept_max == 2 && threshold == 1);
            if (groups == 4 && bs == 17)
                assert_true(ept_max == 5 && threshold == 3);
        }
    }
}

/* Sections 5.1 and 5.7 of 003, section III-D3 of 002: every block size that the papers name has
 * parameters. */
static void ranges_are_the_papers(void **state)
{
    static const struct {
        const char *kernel;
        int first, last;
    } ranges[] = {{"by_block", 2, 5},      {"by_column", 2, 32},      {"row_per_thread", 2, 130},
                  {"ksparse_small", 2, 5}, {"ksparse_medium", 5, 45}, {"ksparse_large", 5, 300},
                  {"block_row", 1, 64},    {"warp_row", 1, 64},       {"multi_row", 1, 64}};
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        for (int b = ranges[i].first; b <= ranges[i].last; b++) {
            test_variant v;
            if (!test_variant_of(ctx, ranges[i].kernel, "", b, &v))
                fail_msg("%s does not take %d x %d", ranges[i].kernel, b, b);
        }
    test_variant v;
    for (int b = 2; b <= 130; b++) /* Algorithm 5 beside Algorithm 4 */
        assert_true(test_variant_of(ctx, "row_per_thread", "shared=1", b, &v));
    /* Table I: N_tg <= bs; N_tg * ept <= nb <= bs. */
    assert_false(test_variant_of(ctx, "ksparse_medium", "N_tg=8", 7, &v));
    assert_false(test_variant_of(ctx, "ksparse_large", "nb=8,N_tg=2,ept=2", 7, &v));
    assert_false(test_variant_of(ctx, "ksparse_large", "nb=8,N_tg=4,ept=4", 40, &v));
}

/* The number of rows that the first `grid` thread blocks write. Checks that they are the first
 * rows. */
static int64_t rows_written(tess_ctx *ctx, const char *name, unsigned grid, unsigned *whole)
{
    const test_mutant *m = NULL;
    for (int i = 0; i < test_mutant_count; i++)
        if (strcmp(test_mutants[i].name, name) == 0)
            m = &test_mutants[i];
    assert_non_null(m);
    char variant[64];
    snprintf(variant, sizeof variant, "mutant_%s", name);
    tess_matrix *A = even_rows(ctx, m->block, 40, 12);
    double *x = test_vector(A->cols, TESS_F64, 1), *y = test_vector(A->rows, TESS_F64, 1);
    for (int64_t i = 0; i < A->rows; i++)
        y[i] = NAN;
    opened o;
    open_kernel(ctx, m->kernel, m->params, A, x, y, &o);
    *whole = o.launches[0].grid[0];
    o.launches[0].grid[0] = grid;
    const char *wrong = emu_launch(variant, &o.launches[0], 3);
    if (wrong)
        fail_msg("%s: %s", name, wrong);
    int64_t count = 0;
    for (int64_t i = 0; i < A->rows; i++)
        if (!isnan(y[i]))
            assert_int_equal(count++, i);
    tess_cuda_layout_destroy(o.layout);
    tess_matrix_destroy(A);
    free(x), free(y);
    return count;
}

/* The rows of a thread block, in a matrix of 40 block rows. */
static void thread_blocks_have_the_rows_of_the_papers(void **state)
{
    static const struct {
        const char *name;
        int64_t rows;  /* scalar rows of a thread block */
        unsigned grid; /* thread blocks in all */
    } cases[] = {
        {"by_block_intact", 4 * 3, 10},           /* 002: one warp per block row, 4 warps */
        {"by_column_intact", 4 * 3, 10},          /* 002 */
        {"row_per_thread_intact", 17, 40},        /* 002: one thread block per block row */
        {"row_per_thread_small", 2, 40},          /* 002, below its best range */
        {"ksparse_small_intact", 8 * 3, 5},       /* 003: Nbrows_tb = Nbrows_ta N_ta = 2 * 4 */
        {"ksparse_medium_intact", 8 * 7, 5},      /* 003, as K1 */
        {"block_row_intact", 4, 40},              /* 004: B_y = 1 */
        {"warp_row_intact", 4 * 2, 10},           /* 004: B_y = T / W = 4 */
        {"warp_row_unordered_intact", 4 * 2, 10}, /* 004, before 3.4 */
        {"multi_row_intact", 16 * 2, 3},          /* 004: B_y = T / (B_x N N) = 16 */
        {"multi_row_unordered_intact", 32 * 2, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned whole;
        assert_int_equal(rows_written(test_ctx(state), cases[i].name, 1, &whole), cases[i].rows);
        assert_int_equal(whole, cases[i].grid);
    }
}

/* Figure 7 of 003: B_y = ceil(bs / nb) = 3 thread blocks share a block row, a strip of nb = 16 rows
 * each. */
static void mini_grid_is_that_of_figure_7(void **state)
{
    static const int64_t written[] = {16, 32, 40, 56, 72, 80};
    for (unsigned grid = 1; grid <= 6; grid++) {
        unsigned whole;
        assert_int_equal(rows_written(test_ctx(state), "ksparse_large_intact", grid, &whole),
                         written[grid - 1]);
        assert_int_equal(whole, 3 * 40);
    }
}

/* Section II and III of 001: the five shapes of its experiments, each a kernel of its own; a block
 * has one column number; its fill is the threshold or more; it begins anywhere. */
static void every_shape_of_paper_001_is_a_kernel(void **state)
{
#define PAPER "32x32@0.8/row:32@0.8/column:32@0.8/diagonal:32@0.8/antidiagonal:32@0.8"
    tess_ctx *ctx = test_ctx(state);
    char input[256] = "planted:rows=3000,blocks=40,fill=0.95,shapes=32x32/row:32/column:32/"
                      "diagonal:32/antidiagonal:32";
    char name[TESS_CUDA_LAYOUT], entry[16];
    tess_matrix *A;
    test_variant v;
    tess_cuda_layout *layout;
    tess_cuda_launch launches[TESS_CUDA_LAUNCHES];
    tess_fbcsr_stored stored[TESS_FBCSR_STORED];
    assert_int_equal(tess_matrix_generate(ctx, input, &A, NULL), TESS_OK);
    assert_true(test_variant_of(ctx, "splits", "shapes=" PAPER, 1, &v));
    tess_cuda_problem_of(A, &v.problem);
    v.kernel->layout_name(&v.problem, v.params, name, sizeof name);
    assert_int_equal(tess_cuda_layout_create(ctx, A, name, &layout), TESS_OK);
    int64_t blocks = 0, aligned = 0;
    const int count = layout->kind->stored(layout, stored);
    assert_int_equal(count, 6);
    assert_int_equal(
        v.kernel->launches(&v.problem, v.params, layout, &(tess_cuda_call){.alpha = 1}, launches),
        count);
    assert_string_equal(launches[0].entry, "split_rest");
    for (int s = 0; s < count; s++) {
        snprintf(entry, sizeof entry, "split_%d", s);
        if (s + 1 < count) {
            assert_string_equal(launches[s + 1].entry, entry);
            assert_true(stored[s].pieces > 0);
            assert_true((double)stored[s].entries >= 0.8 * (double)stored[s].cells);
        }
        blocks += stored[s].pieces;
    }
    assert_int_equal(layout->arrays[SPLITS_COLS].bytes, 4 * blocks);
    blocks -= stored[count - 1].pieces;
    assert_int_equal(layout->arrays[SPLITS_ROWS].bytes, 4 * blocks);
    const int32_t *rows = layout->arrays[SPLITS_ROWS].host;
    for (int64_t b = 0; b < blocks; b++)
        aligned += rows[b] % 32 == 0;
    assert_true(aligned < blocks / 8);
    size_t indices = tess_cuda_layout_array_bytes(layout) - layout->arrays[SPLITS_VALUES].bytes;
    assert_true(indices < 4 * (size_t)(A->blocks + A->rows + 1)); /* fewer than CSR's */
    tess_cuda_layout_destroy(layout);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_of_paper_001_is_a_kernel),
        cmocka_unit_test(mappings_are_those_of_table_1),
        cmocka_unit_test(more_blocks_a_row_make_more_thread_blocks),
        cmocka_unit_test(slices_are_those_of_equation_2),
        cmocka_unit_test(ranges_are_the_papers),
        cmocka_unit_test(thread_blocks_have_the_rows_of_the_papers),
        cmocka_unit_test(mini_grid_is_that_of_figure_7),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
