/* Generators of patterns: tile repeats a matrix, planted hides blocks of known shapes. */
#include "format/fbcsr/fbcsr.h"
#include "unit/io/files.h"

static tess_matrix *input(tess_ctx *ctx, const char *spec)
{
    tess_matrix *A;
    if (tess_matrix_input(ctx, spec, &A) != TESS_OK)
        fail_msg("%s: %s", spec, tess_ctx_error(ctx));
    return A;
}

static void tile_repeats_its_input_along_the_diagonal(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = input(ctx, "gen:random:rows=5,cols=4,count=2,r=2,c=3");
    tess_matrix *T = input(ctx, "tile:copies=3:gen:random:rows=5,cols=4,count=2,r=2,c=3");
    double *small = test_dense(A), *large = test_dense(T);
    assert_true(T->rows == 30 && T->cols == 36 && T->block_height == 1 && T->block_width == 1);
    assert_int_equal(T->blocks, 3 * tess_matrix_stored(A));
    for (int64_t i = 0; i < T->rows; i++)
        for (int64_t j = 0; j < T->cols; j++) {
            double expected = i / 10 == j / 12 ? small[(i % 10) * 12 + j % 12] : 0;
            assert_true(large[i * T->cols + j] == expected);
        }
    free(small);
    free(large);
    tess_matrix_destroy(A);
    tess_matrix_destroy(T);
}

/* As every conversion to single precision does. */
static void tile_refuses_values_that_its_type_cannot_hold(void **state)
{
    static const char *const types[] = {"f32", "c32"};
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("large.mtx");
    tess_matrix *A, *T = NULL;
    char spec[160];
    test_ok(ctx,
            tess_matrix_from_csr(ctx, TESS_F64, 1, 1, (const int64_t[]){0, 1}, (const int32_t[]){0},
                                 (const double[]){1e300}, TESS_OWNERSHIP_COPY, &A));
    test_ok(ctx, tess_matrix_write(ctx, A, path));
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        snprintf(spec, sizeof spec, "tile:copies=2,type=%s:%s", types[i], path);
        assert_int_equal(tess_matrix_input(ctx, spec, &T), TESS_ERR_OVERFLOW);
        assert_string_equal(tess_ctx_error(ctx), "value 0, 1e+300, is outside the range of f32");
        assert_null(T);
    }
    unlink(path);
    tess_matrix_destroy(A);
}

/* Every row of tiles has its blocks, whole, and the noise lies elsewhere. */
static void planted_blocks_are_all_there(void **state)
{
    static const struct {
        const char *spec;
        int64_t blocks, cells;
    } cases[] = {
        {"gen:planted:rows=160,shapes=4x4,blocks=7,noise=0", 20 * 7, 16},
        {"gen:planted:rows=165,cols=90,shapes=4x4,blocks=7,noise=0", 20 * 7, 16},
        {"gen:planted:rows=100,shapes=row:5,blocks=10,noise=0", 10 * 10, 5},
        {"gen:planted:rows=100,shapes=antidiagonal:5,blocks=4,noise=0", 10 * 4, 5},
        {"gen:planted:rows=120,shapes=3x2+1,blocks=4,noise=0", 15 * 4, 6},
    };
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_matrix *A = input(ctx, cases[i].spec);
        test_check_valid(cases[i].spec, A);
        if (A->blocks != cases[i].blocks * cases[i].cells)
            fail_msg("%s: %lld non-zeros, not %lld", cases[i].spec, (long long)A->blocks,
                     (long long)(cases[i].blocks * cases[i].cells));
        tess_matrix_destroy(A);
    }
    tess_matrix *A = input(ctx, "gen:planted:rows=160,shapes=4x4,blocks=0,noise=3");
    assert_int_equal(A->blocks, 160 * 3);
    tess_matrix_destroy(A);
    A = input(ctx, "gen:planted:rows=1600,shapes=8x8,blocks=50,noise=0,fill=0.75");
    assert_true(A->blocks > 5000 * 47 && A->blocks < 5000 * 49); /* 48 of 64, 3 sigma = 0.15 */
    tess_matrix_destroy(A);
}

/* Planted blocks are found: each shape has a third of the non-zeros. */
static void planted_shapes_have_equal_shares(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A =
        input(ctx, "gen:planted:rows=6400,shapes=6x6/row:24/diagonal:24,blocks=60,noise=1");
    tess_fbcsr_options options;
    tess_fbcsr *F;
    assert_int_equal(tess_shape_list_parse(ctx, "6x6@0.7,row:24@0.7,diagonal:24@0.7", &options),
                     TESS_OK);
    assert_int_equal(tess_fbcsr_create(ctx, A, &options, &F), TESS_OK);
    assert_int_equal(F->splits, 3);
    assert_true(F->rest->blocks < 6400 + A->blocks / 50);
    for (int s = 0; s < 3; s++) {
        double share = (double)F->split[s].nonzeros / (double)(A->blocks - F->rest->blocks);
        if (share < 0.30 || share > 0.37)
            fail_msg("%s has %.3f of the non-zeros", F->split[s].shape.name, share);
    }
    tess_fbcsr_destroy(F);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tile_repeats_its_input_along_the_diagonal),
        cmocka_unit_test(tile_refuses_values_that_its_type_cannot_hold),
        cmocka_unit_test(planted_blocks_are_all_there),
        cmocka_unit_test(planted_shapes_have_equal_shares),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
