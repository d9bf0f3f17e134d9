/* All generators: bits that do not depend on the number of threads, memory that runs out, and the
 * exact words of every refusal. */
#include "support/support.h"

static const char *const small_specs[] = {
    "stencil7:n=4,b=3",
    "stencil27:nx=5,ny=3,nz=2,b=2",
    "stencil27:n=3,b=2,type=f32",
    "elasticity:n=3",
    "elasticity:n=2,type=f32",
    "elasticity:n=3,thin=40",
    "cdr:n=4,b=3",
    "powerlaw:rows=300,avg=3,b=2,long=2,length=100",
    "powerlaw:rows=300,avg=3,b=2,type=f32",
    "random:rows=200,cols=100,r=2,c=3",
    "trefethen:n=100",
    "promote:b=2:gen:trefethen:n=30",
    "promote:b=2,type=f32:gen:stencil7:n=2,b=3",
    "tile:copies=3:gen:stencil7:n=3,b=2",
    "tile:copies=2,type=f32:promote:b=2:gen:trefethen:n=10",
    "planted:rows=300,blocks=3",
    "planted:rows=200,cols=150,shapes=5x3/antidiagonal:6/4x2+1,blocks=9,fill=0.8,noise=4,type=f32",
};

static void any_number_of_threads_gives_the_same_bits(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    int threads = tess_ctx_threads(ctx);
    for (size_t i = 0; i < sizeof small_specs / sizeof small_specs[0]; i++) {
        const char *spec = small_specs[i];
        tess_matrix *A[2];
        void *rhs[2];
        for (int t = 0; t < 2; t++) {
            assert_int_equal(tess_ctx_set_threads(ctx, t ? 5 : 1), TESS_OK);
            assert_int_equal(tess_matrix_generate(ctx, spec, &A[t], &rhs[t]), TESS_OK);
        }
        test_check_identical(spec, A[0], A[1]);
        assert_memory_equal(rhs[0], rhs[1], (size_t)A[0]->rows * tess_type_size(A[0]->type));
        for (int t = 0; t < 2; t++) {
            tess_release(ctx, rhs[t]);
            tess_matrix_destroy(A[t]);
        }
    }
    assert_int_equal(tess_ctx_set_threads(ctx, threads), TESS_OK);
}

static void every_failed_allocation_is_survived(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < sizeof small_specs / sizeof small_specs[0]; i++) {
        test_sweep sweep = test_sweep_begin(state);
        tess_status status;
        do {
            tess_matrix *A = NULL;
            void *rhs = NULL;
            status = tess_matrix_generate(ctx, small_specs[i], &A, &rhs);
            assert_true((status == TESS_OK) == (A != NULL) && (A || !rhs));
            tess_release(ctx, rhs);
            tess_matrix_destroy(A);
        } while (test_sweep_goes_on(&sweep, status));
    }
}

static void a_bad_spec_is_refused_in_these_words(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const struct {
        const char *spec;
        tess_status status;
        const char *error;
    } bad[] = {
        {"stencil8:n=3", TESS_ERR_OPTION, "unknown generator 'stencil8' (nearest: 'stencil7')"},
        {"", TESS_ERR_OPTION,
         "unknown generator '' (one of: stencil7, stencil27, elasticity, diffusion, cdr, powerlaw, "
         "random, "
         "trefethen, promote, tile, planted)"},
        {"gen:stencil7:m=3", TESS_ERR_OPTION,
         "gen:stencil7: unknown key 'm' (one of: n, nx, ny, nz, b, seed, type)"},
        {"stencil27:n=0", TESS_ERR_OPTION, "gen:stencil27: n=0 is outside 1..2147483647"},
        {"stencil27:b=2.5", TESS_ERR_OPTION, "gen:stencil27: b=2.5 is not an integer"},
        {"stencil7:type=f16", TESS_ERR_OPTION,
         "gen:stencil7: type=f16 is not a choice (one of: f64, f32, c64, c32)"},
        {"stencil7:n=2000", TESS_ERR_OVERFLOW,
         "gen:stencil7: 2000 x 2000 x 2000 points with b=3 are more than 2^31-1 block columns"},
        {"elasticity:n=2000000000", TESS_ERR_OVERFLOW,
         "gen:elasticity: 2000000000 x 2000000001 x 2000000001 points with b=3 are more than "
         "2^31-1 block columns"},
        {"elasticity:b=4", TESS_ERR_OPTION,
         "gen:elasticity: unknown key 'b' (one of: n, thin, free, type)"},
        {"trefethen:n=5,skip=5", TESS_ERR_OPTION, "gen:trefethen: skip=5 leaves nothing of n=5"},
        {"promote:b=3", TESS_ERR_OPTION, "gen:promote: needs an input: promote:b=3:FILE"},
        {"promote:", TESS_ERR_OPTION, "gen:promote: needs an input: promote:b=3:FILE"},
        {"promote:promote:x", TESS_ERR_OPTION, "gen:promote: the input is promoted already"},
        {"promote:tile:x", TESS_ERR_OPTION,
         "gen:promote: tile what is promoted, tile:copies=2:promote:..."},
        {"tile:copies=3", TESS_ERR_OPTION, "gen:tile: needs an input: tile:copies=8:FILE"},
        {"tile:gen:tile:x", TESS_ERR_OPTION, "gen:tile: the input is tiled already"},
        {"tile:copies=0:x", TESS_ERR_OPTION, "gen:tile: copies=0 is outside 1..2147483647"},
        {"tile:copies=2147483647:gen:stencil7:n=4,b=1", TESS_ERR_OVERFLOW,
         "137438953408 columns in blocks 1 wide are more than 2^31-1 block columns"},
        {"planted:shapes=4x", TESS_ERR_OPTION, "fbcsr: '4x' is not a shape HxW, HxW+S or HxW-S"},
        {"planted:shapes=auto", TESS_ERR_OPTION, "gen:planted: needs shapes, as shapes=4x4/row:32"},
        {"planted:rows=100,shapes=4x4,blocks=13", TESS_ERR_OPTION,
         "gen:planted: blocks=13 are more than the 12 tiles of 8 columns"},
        {"planted:rows=9,shapes=4x4,blocks=1,noise=10", TESS_ERR_OPTION,
         "gen:planted: noise=10 is more than the 9 columns"},
        {"promote:a=3:x", TESS_ERR_OPTION, "gen:promote: unknown key 'a' (one of: b, seed, type)"},
        {"promote:b=2:gen:stencil9", TESS_ERR_OPTION,
         "unknown generator 'stencil9' (nearest: 'stencil7')"},
        {"cdr:convection=-1", TESS_ERR_OPTION, "gen:cdr: convection=-1 is outside 0..1e+09"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tess_matrix *A = NULL;
        assert_int_equal(tess_matrix_generate(ctx, bad[i].spec, &A, NULL), bad[i].status);
        assert_string_equal(tess_ctx_error(ctx), bad[i].error);
        assert_null(A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(a_bad_spec_is_refused_in_these_words),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
