/* Symmetry of pattern and values, and the diagonal, on matrices small enough to see. */
#include "support/support.h"

#include <string.h>

/* CSR of the entries of a dense matrix that are not 0; 9 stands for a stored zero. */
static tess_matrix *from_dense(tess_ctx *ctx, int64_t rows, int64_t cols, const double *dense)
{
    int64_t offsets[8] = {0}, found = 0;
    int32_t columns[64];
    double values[64];
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            double value = dense[i * cols + j];
            if (value == 0)
                continue;
            columns[found] = (int32_t)j;
            values[found++] = value == 9 ? 0 : value;
        }
        offsets[i + 1] = found;
    }
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, rows, cols, offsets, columns, values,
                                          TESS_OWNERSHIP_COPY, &A),
                     TESS_OK);
    return A;
}

static void check(const char *what, tess_ctx *ctx, const tess_matrix *A,
                  const tess_symmetry *expected)
{
    tess_symmetry S;
    assert_int_equal(tess_matrix_symmetry(ctx, A, &S), TESS_OK);
    if (S.pattern != expected->pattern || S.symmetric != expected->symmetric ||
        S.skew != expected->skew || S.mirrored != expected->mirrored ||
        S.asymmetry != expected->asymmetry || S.missing_diagonal != expected->missing_diagonal ||
        S.zero_diagonal != expected->zero_diagonal)
        fail_msg("%s, %d x %d blocks: pattern %d symmetric %d skew %d mirrored %g asymmetry %g "
                 "missing %d zero %d",
                 what, A->block_height, A->block_width, S.pattern, S.symmetric, S.skew, S.mirrored,
                 S.asymmetry, (int)S.missing_diagonal, (int)S.zero_diagonal);
}

static void kinds_of_symmetry_are_told_apart(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const struct {
        const char *what;
        int64_t rows, cols;
        double dense[12];
        tess_symmetry expected;
    } cases[] = {
        {"symmetric", 3, 3, {4, 1, 0, 1, 4, 2, 0, 2, 4}, {1, 1, 0, 1, 0, 0, 0}},
        {"structurally symmetric", 3, 3, {4, 1, 0, 3, 4, 2, 0, 2, 4}, {1, 0, 0, 1, 0.5, 0, 0}},
        {"unsymmetric", 3, 3, {4, 1, 0, 1, 4, 2, 0, 0, 4}, {0, 0, 0, 2.0 / 3, 0.5, 0, 0}},
        {"skew", 3, 3, {0, 1, 0, -1, 9, -2, 0, 2, 0}, {1, 0, 1, 1, 2, 2, 1}},
        {"symmetric but for a stored zero", 2, 2, {1, 9, 0, 1}, {0, 1, 0, 0, 0, 0, 0}},
        {"diagonal", 3, 3, {1, 0, 0, 0, 9, 0, 0, 0, 0}, {1, 1, 0, 1, 0, 1, 1}},
        {"nothing", 2, 2, {0}, {1, 1, 1, 1, 0, 2, 0}},
        {"rectangular", 2, 3, {1, 1, 1, 1, 0, 0}, {0, 0, 0, 0, 0, 1, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tess_matrix *A = from_dense(ctx, cases[i].rows, cases[i].cols, cases[i].dense);
        check(cases[i].what, ctx, A, &cases[i].expected);
        tess_matrix_destroy(A);
    }
}

/* Symmetry of values does not depend on the blocks. The pattern includes the blocks' padding. */
static void symmetry_is_that_of_the_scalars_whatever_the_blocks(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *specs[] = {"stencil7:n=4,b=3", "elasticity:n=3", "cdr:n=3,b=2", "trefethen:n=37"};
    for (size_t i = 0; i < 4; i++) {
        tess_matrix *A, *B;
        tess_symmetry S, T;
        assert_int_equal(tess_matrix_generate(ctx, specs[i], &A, NULL), TESS_OK);
        assert_int_equal(tess_matrix_symmetry(ctx, A, &S), TESS_OK);
        assert_int_equal(S.symmetric, i != 2);
        assert_int_equal(S.pattern, 1);
        for (int32_t r = 1; r <= 4; r++) {
            for (int32_t c = 1; c <= 4; c++) {
                const tess_blocking blocking = {r, c};
                assert_int_equal(tess_matrix_to_blocks(ctx, A, &blocking, &B), TESS_OK);
                assert_int_equal(tess_matrix_symmetry(ctx, B, &T), TESS_OK);
                if (T.symmetric != S.symmetric || T.missing_diagonal != 0 || T.skew != 0 ||
                    (r == c && !T.pattern))
                    fail_msg("%s in %d x %d blocks", specs[i], (int)r, (int)c);
                tess_matrix_destroy(B);
            }
        }
        tess_matrix_destroy(A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_symmetry_are_told_apart),
        cmocka_unit_test(symmetry_is_that_of_the_scalars_whatever_the_blocks),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
