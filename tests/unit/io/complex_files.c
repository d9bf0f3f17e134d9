/* Complex matrices and vectors in files: Matrix Market with all its symmetries, .tess, .npy. */
#include "unit/matrix/complex_numbers.h"

#define MTX "%%MatrixMarket matrix "

static void every_complex_file_is_read(void **state)
{
    static const struct {
        const char *text;
        int rows, cols;
        number dense[6];
    } files[] = {
        {MTX "coordinate complex general\n2 3 3\n1 1 1 -2\n2 3 0.5 1e2\n1 1 3 4\n",
         2,
         3,
         {CMPLX(4, 2), 0, 0, 0, 0, CMPLX(0.5, 100)}},
        {MTX "coordinate complex hermitian\n2 2 2\n1 1 5 0\n2 1 1 2\n",
         2,
         2,
         {5, CMPLX(1, -2), CMPLX(1, 2), 0}},
        {MTX "coordinate complex symmetric\n2 2 2\n1 1 5 1\n2 1 1 2\n",
         2,
         2,
         {CMPLX(5, 1), CMPLX(1, 2), CMPLX(1, 2), 0}},
        {MTX "coordinate complex skew-symmetric\n2 2 1\n2 1 1 2\n",
         2,
         2,
         {0, CMPLX(-1, -2), CMPLX(1, 2), 0}},
        {MTX "array complex general\n2 2\n1 0\n2 1\n3 0\n4 -1\n",
         2,
         2,
         {1, 3, CMPLX(2, 1), CMPLX(4, -1)}},
        {MTX "array complex hermitian\n2 2\n1 0\n2 1\n4 0\n",
         2,
         2,
         {1, CMPLX(2, -1), CMPLX(2, 1), 4}},
        {MTX "array complex skew-symmetric\n2 2\n2 1\n", 2, 2, {0, CMPLX(-2, -1), CMPLX(2, 1), 0}},
    };
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("A.mtx");
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
        tess_matrix *A = NULL;
        put_file(path, files[f].text, strlen(files[f].text));
        test_sweep sweep = test_sweep_begin(state);
        tess_status status;
        do {
            A = NULL;
            status = tess_matrix_read(ctx, path, &A);
            if (status == TESS_OK) {
                assert_int_equal(A->type, TESS_C64);
                assert_int_equal(A->rows, files[f].rows);
                assert_int_equal(A->cols, files[f].cols);
                check_dense(files[f].text, A, files[f].dense);
            }
            tess_matrix_destroy(A);
        } while (test_sweep_goes_on(&sweep, status));
    }
    unlink(path);
}

static void bad_complex_files_are_told(void **state)
{
    static const struct {
        const char *text, *sentence;
    } files[] = {
        {MTX "coordinate complex general\n1 1 1\n1 1 1\n",
         ":3: the line ends before its imaginary"},
        {MTX "coordinate complex general\n1 1 1\n1 1 1 i\n", ":3: value 'i' is not a finite"},
        {MTX "coordinate complex general\n1 1 1\n1 1 1 2 3\n",
         ":3: '3' follows the last of the 4 numbers of a line"},
        {MTX "coordinate complex hermitian\n1 1 1\n1 1 1 2\n",
         ":3: a hermitian matrix has a real diagonal, but row 1, column 1 is 1+2i"},
        {MTX "array complex hermitian\n1 1\n1 2\n",
         "a hermitian matrix has a real diagonal, but row 1, column 1 is 1+2i"},
        {MTX "coordinate complex skew-symmetric\n1 1 1\n1 1 0 2\n",
         ":3: a skew-symmetric matrix has a zero diagonal, but row 1, column 1 is 0+2i"},
        {MTX "coordinate complex hermitian\n2 1 0\n", ":2: a symmetric matrix must be square"},
        {MTX "coordinate real hermitian\n1 1 1\n1 1 1\n", ":1: symmetry 'hermitian' is none of"},
    };
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("A.mtx");
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
        tess_matrix *A = NULL;
        put_file(path, files[f].text, strlen(files[f].text));
        assert_int_equal(tess_matrix_read(ctx, path, &A), TESS_ERR_FORMAT);
        if (!strstr(tess_ctx_error(ctx), files[f].sentence))
            fail_msg("%s\nis answered with: %s", files[f].text, tess_ctx_error(ctx));
    }
    unlink(path);
}

static void written_matrices_read_back_to_the_same_bits(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const char *const names[] = {"A.mtx", "A.mtx.gz", "A.tess", "H.mtx"};
    for (int type = TESS_C64; type <= TESS_C32; type++) {
        char spec[64];
        snprintf(spec, sizeof spec, "stencil7:n=4,b=2,type=%s", tess_type_name((tess_type)type));
        tess_matrix *A = generate(ctx, spec);
        number *dense = dense_of(A);
        for (int i = 0; i < 4; i++) {
            const char *path = file_path(names[i]);
            tess_matrix *B = NULL, *C = NULL;
            assert_int_equal(i == 3 ? tess_matrix_write_hermitian(ctx, A, path)
                                    : tess_matrix_write(ctx, A, path),
                             TESS_OK);
            assert_int_equal(tess_matrix_read(ctx, path, &B), TESS_OK);
            assert_int_equal(tess_matrix_to_type(ctx, B, (tess_type)type, &C), TESS_OK);
            check_dense(names[i], C, dense);
            if (i == 2)
                test_check_identical(names[i], A, B);
            tess_matrix_destroy(B);
            tess_matrix_destroy(C);
            unlink(path);
        }
        assert_int_equal(tess_matrix_write_symmetric(ctx, A, file_path("S.mtx")), TESS_ERR_MATRIX);
        assert_non_null(strstr(tess_ctx_error(ctx), "the matrix is not symmetric: a(1, 2)"));
        free(dense);
        tess_matrix_destroy(A);
    }
}

static void vectors_read_back_and_never_lose_a_part(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const char *const names[] = {"x.mtx", "x.mtx.gz", "x.npy"};
    for (int type = TESS_C64; type <= TESS_C32; type++) {
        for (int i = 0; i < 3; i++) {
            const char *path = file_path(names[i]);
            void *x = test_vector(37, (tess_type)type, 8), *y = NULL;
            int64_t count = 0;
            assert_int_equal(tess_vector_write(ctx, path, (tess_type)type, 37, x), TESS_OK);
            assert_int_equal(tess_vector_read(ctx, path, (tess_type)type, &count, &y), TESS_OK);
            assert_int_equal(count, 37);
            assert_memory_equal(x, y, 37 * tess_type_size((tess_type)type));
            tess_release(ctx, y);
            assert_int_equal(tess_vector_read(ctx, path, TESS_F64, &count, &y),
                             TESS_ERR_UNSUPPORTED);
            assert_non_null(strstr(tess_ctx_error(ctx), "complex numbers cannot be read as f64"));
            unlink(path);
            assert_int_equal(tess_vector_write(ctx, file_path("x.txt"), (tess_type)type, 37, x),
                             TESS_ERR_UNSUPPORTED);
            free(x);
        }
        for (int real = TESS_F64; real <= TESS_F32; real++) { /* as a complex vector */
            const char *path = file_path("x.npy");
            void *x = test_vector(11, (tess_type)real, 9), *y = NULL;
            int64_t count = 0;
            assert_int_equal(tess_vector_write(ctx, path, (tess_type)real, 11, x), TESS_OK);
            assert_int_equal(tess_vector_read(ctx, path, (tess_type)type, &count, &y), TESS_OK);
            for (int64_t i = 0; i < 11; i++) {
                const tess_complex value = tess_get_complex(y, (tess_type)type, i);
                const double wide = tess_get(x, (tess_type)real, i);
                assert_true(value.re == (type == TESS_C64 ? wide : (double)(float)wide));
                assert_true(value.im == 0);
            }
            tess_release(ctx, y);
            free(x);
            unlink(path);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_complex_file_is_read),
        cmocka_unit_test(bad_complex_files_are_told),
        cmocka_unit_test(written_matrices_read_back_to_the_same_bits),
        cmocka_unit_test(vectors_read_back_and_never_lose_a_part),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
