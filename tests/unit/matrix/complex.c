/* Complex matrices: ref against a naive product, construction, conversions, generators, and the
 * messages of calls that take no complex numbers. */
#include <float.h>
#include <math.h>

#include "unit/matrix/complex_numbers.h"

/* ---- Products of ref ---- */

static number entry(const number *dense, const tess_matrix *A, tess_operation operation, int64_t i,
                    int64_t j)
{
    if (operation == TESS_OPERATION_NONE)
        return dense[i * A->cols + j];
    const number value = dense[j * A->cols + i];
    return operation == TESS_OPERATION_TRANSPOSE ? value : conj(value);
}

static void check_ref(tess_ctx *ctx, tess_device *device, uint64_t seed)
{
    const int32_t r = 1 + (int32_t)tess_random_below(seed, 0, 7);
    const int32_t c = 1 + (int32_t)tess_random_below(seed, 1, 7);
    const test_pattern pattern = (test_pattern)tess_random_below(seed, 2, TEST_PATTERNS);
    const tess_operation operation = (tess_operation)(seed % 3);
    const tess_type type = seed / 3 % 2 ? TESS_C32 : TESS_C64;
    tess_matrix *A = test_matrix(ctx, pattern, 8, r, c, type, seed);
    const bool plain = operation == TESS_OPERATION_NONE;
    const int64_t rows = plain ? A->rows : A->cols, cols = plain ? A->cols : A->rows;
    const number alpha = CMPLX(0.5, -1.25), beta = seed % 2 ? CMPLX(-1, 0.5) : 0;
    number *dense = dense_of(A);
    void *x = test_vector(cols, type, seed + 1), *y = test_vector(rows, type, seed + 2),
         *y0 = test_vector(rows, type, seed + 2);
    tess_plan *plan = NULL;
    assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
    assert_int_equal(tess_spmv_complex(plan, operation, pair(alpha), x, pair(beta), y), TESS_OK);
    for (int64_t i = 0; i < rows; i++) {
        number sum = 0;
        double scale = cabs(beta * get(y0, type, i));
        for (int64_t j = 0; j < cols; j++) {
            sum += entry(dense, A, operation, i, j) * get(x, type, j);
            scale += cabs(alpha * entry(dense, A, operation, i, j) * get(x, type, j));
        }
        const number expected = alpha * sum + (beta == 0 ? 0 : beta * get(y0, type, i));
        const double unit = type == TESS_C64 ? DBL_EPSILON : FLT_EPSILON;
        if (!(cabs(get(y, type, i) - expected) <= 4 * (double)(cols + 4) * unit * scale))
            fail_msg("seed %d: row %lld is %g%+gi, not %g%+gi", (int)seed, (long long)i,
                     creal(get(y, type, i)), cimag(get(y, type, i)), creal(expected),
                     cimag(expected));
    }
    tess_plan_destroy(plan);
    free(dense);
    free(x);
    free(y);
    free(y0);
    tess_matrix_destroy(A);
}

static void ref_agrees_with_a_naive_product(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "ref");
    for (uint64_t seed = 0; seed < test_draws(120); seed++)
        check_ref(ctx, device, seed);
    tess_device_close(device);
}

/* A real matrix takes complex calls with real factors. Complex factors are refused. */
static void real_matrices_take_complex_calls_with_real_factors(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:1");
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 9, 2, 3, TESS_F64, 1);
    double *x = test_vector(A->cols, TESS_F64, 1), *y = test_vector(A->rows, TESS_F64, 2);
    double *z = test_vector(A->cols, TESS_F64, 2), *w = test_vector(A->cols, TESS_F64, 2);
    tess_plan *plan = NULL;
    tess_complex dot;
    double real;
    assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
    assert_int_equal(tess_spmv_complex(plan, TESS_OPERATION_NONE, (tess_complex){2, 0}, x,
                                       (tess_complex){0, 0}, y),
                     TESS_OK);
    test_check_spmv("real", A, 2, x, 0, NULL, y);
    assert_int_equal(tess_spmv_conjugate_transpose(plan, 1, y, 0, z), TESS_OK);
    assert_int_equal(tess_spmv_transpose(plan, 1, y, 0, w), TESS_OK);
    assert_memory_equal(z, w, (size_t)A->cols * sizeof *w);
    assert_int_equal(
        tess_spmv_dot_complex(plan, (tess_complex){1, 0}, x, (tess_complex){0, 0}, y, NULL, &dot),
        TESS_OK);
    assert_int_equal(tess_spmv_dot(plan, 1, x, 0, y, NULL, &real), TESS_OK);
    assert_true(dot.re == real && dot.im == 0);
    assert_int_equal(tess_spmv_complex(plan, TESS_OPERATION_NONE, (tess_complex){1, 1}, x,
                                       (tess_complex){0, 0}, y),
                     TESS_ERR_ARGUMENT);
    assert_non_null(strstr(tess_ctx_error(ctx), "alpha = 1+1i must be real"));
    assert_int_equal(tess_spmm_complex(plan, 1, TESS_ORDER_COLUMN_MAJOR, (tess_complex){1, 0}, x,
                                       A->cols, (tess_complex){0, -1}, y, A->rows),
                     TESS_ERR_ARGUMENT);
    assert_non_null(strstr(tess_ctx_error(ctx), "beta = 0-1i must be real"));
    assert_int_equal(tess_spmv_complex(plan, (tess_operation)3, (tess_complex){1, 0}, x,
                                       (tess_complex){0, 0}, y),
                     TESS_ERR_ARGUMENT);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
    free(x);
    free(y);
    free(z);
    free(w);
}

/* ---- Construction and conversion ---- */

static void duplicates_are_summed_and_blocks_are_built(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t rows[] = {1, 0, 1, 1}, cols[] = {2, 0, 2, 0};
    const tess_complex values[] = {{1, 2}, {3, -1}, {0.5, 4}, {0, 1}};
    const number expected[] = {CMPLX(3, -1), 0, 0, CMPLX(0, 1), 0, CMPLX(1.5, 6)};
    tess_matrix *A = NULL, *B = NULL;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_C64, 2, 3, 4, rows, cols, values, &A), TESS_OK);
    check_dense("coo", A, expected);
    tess_builder *builder = NULL;
    assert_int_equal(tess_builder_create(ctx, TESS_C64, 2, 3, 1, 1, 1, &builder), TESS_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(tess_inserter_add_block(tess_builder_inserter(builder, 0), rows[i],
                                                 cols[i], &values[i], TESS_ORDER_COLUMN_MAJOR),
                         TESS_OK);
    assert_int_equal(tess_builder_finish(builder, &B), TESS_OK);
    test_check_identical("builder", A, B);
    tess_builder_destroy(builder);
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
}

/* Through blocks of another size, CSR, a permutation and both transposes. */
static void check_conversions(tess_ctx *ctx, uint64_t seed)
{
    const int32_t r = 1 + (int32_t)tess_random_below(seed, 0, 6);
    const int32_t c = 1 + (int32_t)tess_random_below(seed, 1, 6);
    const tess_blocking other = {1 + (int32_t)tess_random_below(seed, 2, 6),
                                 1 + (int32_t)tess_random_below(seed, 3, 6)};
    const tess_type type = seed % 2 ? TESS_C32 : TESS_C64;
    tess_matrix *A = test_matrix(ctx, (test_pattern)(seed % TEST_PATTERNS), 7, r, c, type, seed);
    tess_matrix *B = NULL, *C = NULL, *H = NULL;
    number *dense = dense_of(A), *turned = dense_of(A);
    assert_int_equal(tess_matrix_to_blocks(ctx, A, &other, &B), TESS_OK);
    test_check_valid("blocks", B);
    check_dense("blocks", B, dense);
    assert_int_equal(tess_matrix_to_csr(ctx, B, TESS_ZEROS_DROP, &C), TESS_OK);
    check_dense("csr", C, dense);
    assert_int_equal(tess_matrix_update(ctx, B, C), TESS_OK);
    check_dense("update", B, dense);
    tess_matrix_destroy(C);
    assert_int_equal(tess_matrix_transpose(ctx, A, &C), TESS_OK);
    assert_int_equal(tess_matrix_conjugate_transpose(ctx, A, &H), TESS_OK);
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t j = 0; j < A->cols; j++)
            turned[j * A->rows + i] = dense[i * A->cols + j];
    check_dense("transpose", C, turned);
    for (int64_t i = 0; i < A->rows * A->cols; i++)
        turned[i] = conj(turned[i]);
    check_dense("conjugate transpose", H, turned);
    free(dense);
    free(turned);
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
    tess_matrix_destroy(C);
    tess_matrix_destroy(H);
}

static void conversions_keep_every_value(void **state)
{
    for (uint64_t seed = 0; seed < test_draws(80); seed++)
        check_conversions(test_ctx(state), seed);
}

static void types_change_without_losing_anything_unasked(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RAGGED, 9, 3, 2, TESS_F64, 5), *C = NULL, *back = NULL;
    assert_int_equal(tess_matrix_to_type(ctx, A, TESS_C64, &C), TESS_OK);
    assert_int_equal(tess_matrix_to_type(ctx, C, TESS_F64, &back), TESS_OK);
    test_check_identical("f64 to c64 and back", A, back);
    tess_matrix_destroy(back);
    ((tess_complex *)C->values)[4].im = -3;
    back = NULL;
    assert_int_equal(tess_matrix_to_type(ctx, C, TESS_F32, &back), TESS_ERR_MATRIX);
    assert_null(back);
    assert_non_null(strstr(tess_ctx_error(ctx), "value 4"));
    assert_non_null(strstr(tess_ctx_error(ctx), "tess_matrix_real_part"));
    assert_int_equal(tess_matrix_real_part(ctx, C, &back), TESS_OK);
    test_check_identical("real part", A, back);
    tess_matrix_destroy(back);
    ((tess_complex *)C->values)[7].im = 1e300;
    assert_int_equal(tess_matrix_to_type(ctx, C, TESS_C32, &back), TESS_ERR_OVERFLOW);
    assert_non_null(strstr(tess_ctx_error(ctx), "value 7, 1e+300"));
    ((tess_complex *)C->values)[7].im = 0.5;
    assert_int_equal(tess_matrix_to_type(ctx, C, TESS_C32, &back), TESS_OK);
    for (int64_t at = 0; at < tess_matrix_stored(C); at++) {
        const tess_complex wide = tess_matrix_complex_value(C, at);
        const tess_complex narrow = tess_matrix_complex_value(back, at);
        assert_true(narrow.re == (double)(float)wide.re && narrow.im == (double)(float)wide.im);
    }
    tess_matrix_destroy(A);
    tess_matrix_destroy(C);
    tess_matrix_destroy(back);
    assert_int_equal(tess_type_bytes(TESS_C64), 16);
    assert_int_equal(tess_type_bytes(TESS_C32), 8);
    assert_int_equal(tess_type_bytes((tess_type)4), 0);
}

/* ---- Generators and analysis ---- */

static void generated_matrices_are_hermitian_with_the_real_ones_moduli(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const char *const specs[] = {
        "stencil27:n=4,b=2", "elasticity:n=2",
        "diffusion:n=4",     "powerlaw:rows=40,b=2,long=1,length=30",
        "cdr:n=3,b=2",       "random:rows=30,cols=40,r=2,c=3",
        "trefethen:n=50",    "planted:rows=2000,blocks=8"};
    for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++) {
        char spec[128], *b = NULL;
        snprintf(spec, sizeof spec, "%s,type=c64", specs[s]);
        tess_matrix *A = generate(ctx, specs[s]), *C = NULL;
        assert_int_equal(tess_matrix_generate(ctx, spec, &C, (void **)&b), TESS_OK);
        assert_int_equal(C->type, TESS_C64);
        assert_int_equal(A->blocks, C->blocks);
        int turned = 0, hermitian = -1;
        for (int64_t at = 0; at < tess_matrix_stored(A); at++) {
            const number value = get(C->values, TESS_C64, at);
            const double real = tess_matrix_value(A, at);
            if (!(fabs(cabs(value) - fabs(real)) <= 4 * DBL_EPSILON * fabs(real)))
                fail_msg("%s: value %lld is %g%+gi, and %g as a real one", spec, (long long)at,
                         creal(value), cimag(value), real);
            turned += cimag(value) != 0;
        }
        assert_true(turned > 0);
        tess_symmetry symmetry;
        assert_int_equal(tess_matrix_symmetry(ctx, A, &symmetry), TESS_OK);
        assert_int_equal(tess_matrix_hermitian(ctx, C, &hermitian), TESS_OK);
        assert_int_equal(hermitian, symmetry.symmetric);
        tess_release(ctx, b);
        tess_matrix_destroy(A);
        tess_matrix_destroy(C);
    }
}

static void symmetry_of_complex_matrices_is_told(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t offsets[] = {0, 2, 4};
    const int32_t columns[] = {0, 1, 0, 1};
    static const struct {
        tess_complex values[4];
        int symmetric, skew, hermitian;
        double asymmetry;
    } cases[] = {
        {{{1, 0}, {2, 3}, {2, -3}, {4, 0}}, 0, 0, 1, 6 / 4.0},
        {{{1, 1}, {2, 3}, {2, 3}, {4, 0}}, 1, 0, 0, 0},
        {{{0, 0}, {2, 3}, {-2, -3}, {0, 0}}, 0, 1, 0, 2},
        {{{1, 0}, {2, 0}, {2, 0}, {4, 0}}, 1, 0, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tess_matrix *A = NULL;
        tess_symmetry s;
        int hermitian = -1;
        assert_int_equal(tess_matrix_from_csr(ctx, TESS_C64, 2, 2, offsets, columns,
                                              cases[i].values, TESS_OWNERSHIP_COPY, &A),
                         TESS_OK);
        assert_int_equal(tess_matrix_symmetry(ctx, A, &s), TESS_OK);
        assert_int_equal(tess_matrix_hermitian(ctx, A, &hermitian), TESS_OK);
        assert_int_equal(s.symmetric, cases[i].symmetric);
        assert_int_equal(s.skew, cases[i].skew);
        assert_int_equal(hermitian, cases[i].hermitian);
        assert_true(fabs(s.asymmetry - cases[i].asymmetry) < 1e-14);
        tess_matrix_destroy(A);
    }
}

/* ---- What is not taken ---- */

static void expect(tess_ctx *ctx, const char *what, tess_status status, const char *sentence)
{
    if (status != TESS_ERR_UNSUPPORTED || !strstr(tess_ctx_error(ctx), sentence))
        fail_msg("%s: %s: %s", what, tess_status_name(status), tess_ctx_error(ctx));
}

static tess_status nothing(void *user, int transpose, const void *x, void *y, void *stream)
{
    (void)user, (void)transpose, (void)x, (void)y, (void)stream;
    return TESS_OK;
}

static void what_has_no_complex_form_says_so(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *cpu = test_device(ctx, "cpu:1"), *parts = test_device(ctx, "cpu:1,1");
    tess_matrix *A = generate(ctx, "stencil7:n=3,b=1,type=c64"), *B = NULL;
    tess_plan *plan = NULL, *other = NULL;
    tess_solver *solver = NULL;
    tess_prediction *prediction = NULL;
    tess_shape_detection *shapes = NULL;
    tess_model_part *model = NULL;
    assert_int_equal(tess_plan_create(ctx, A, cpu, NULL, &plan), TESS_OK);
    expect(ctx, "solver", tess_solver_create(plan, "dgmres", &solver),
           "dgmres takes matrices of f64 and f32, this one is c64: use one of cg, ");
    tess_preconditioner *pc = NULL;
    expect(ctx, "pc", tess_pc_create(plan, "amg", &pc),
           "pc=amg takes matrices of f64 and f32, this one is c64: use one of none, ");
    expect(ctx, "multiply", tess_matrix_multiply(ctx, A, A, &B), "f64 and f32");
    expect(ctx, "predict", tess_predict(ctx, A, cpu, NULL, &prediction), "f64 and f32");
    expect(ctx, "shapes", tess_detect_shapes(ctx, A, &shapes), "f64 and f32");
    expect(ctx, "calibrate", tess_calibrate(cpu, TESS_C64, 1, 1e6, NULL, NULL, &model),
           "f64 and f32");
    expect(ctx, "parts", tess_plan_create(ctx, A, parts, NULL, &other),
           "has no products of complex matrices");
    tess_device *profile = test_device(ctx, "profile:h200");
    expect(ctx, "profile", tess_plan_create(ctx, A, profile, NULL, &other),
           "has no products of complex matrices");
    tess_device_close(profile);
    const tess_plan_options regroup = {.regroup = TESS_REGROUP_ON};
    expect(ctx, "regroup", tess_plan_create(ctx, A, cpu, &regroup, &other), "f64 and f32");
    static const char *const formats[] = {"symmetric", "fbcsr"};
    for (int i = 0; i < 2; i++) {
        const tess_plan_options options = {.format = formats[i]};
        expect(ctx, formats[i], tess_plan_create(ctx, A, cpu, &options, &other),
               "takes matrices of f64 and f32");
    }
    const tess_operator operator= {.type = TESS_C64, .rows = 4, .apply = nothing};
    expect(ctx, "operator", tess_plan_from_operator(ctx, cpu, &operator, & other), "f64 and f32");
    assert_null(B);
    assert_null(other);
    assert_null(solver);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(cpu);
    tess_device_close(parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ref_agrees_with_a_naive_product),
        cmocka_unit_test(real_matrices_take_complex_calls_with_real_factors),
        cmocka_unit_test(duplicates_are_summed_and_blocks_are_built),
        cmocka_unit_test(conversions_keep_every_value),
        cmocka_unit_test(types_change_without_losing_anything_unasked),
        cmocka_unit_test(generated_matrices_are_hermitian_with_the_real_ones_moduli),
        cmocka_unit_test(symmetry_of_complex_matrices_is_told),
        cmocka_unit_test(what_has_no_complex_form_says_so),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
