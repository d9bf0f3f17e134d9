/* Writing matrices: what is read back has the same bits, and a failure leaves nothing. */
#include "unit/io/files.h"

#include <float.h>
#include <math.h>

#include "core/decimal.h"

static const char *const endings[] = {"a.mtx", "a.mtx.gz", "a.tess"};

static void hard_numbers_survive(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const double values[] = {
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.1,
        1.0 / 3,
        DBL_MAX,
        -DBL_MAX,
        DBL_MIN,
        DBL_EPSILON,
        5e-324,
        -5e-324,
        2.2250738585072009e-308,
        1e-300,
        1e300,
        1e22,
        1e23,
        123456789012345678.0,
        9007199254740993.0,
        0.3,
        1e-5,
        12345.678,
        1e17,
        1e16,
        100,
        4e-320,
        8.41e21,
        9.5367431640625e-7,
    };
    const int64_t count = (int64_t)(sizeof values / sizeof *values);
    int32_t columns[sizeof values / sizeof *values];
    for (int32_t k = 0; k < count; k++)
        columns[k] = k;
    const int64_t offsets[] = {0, count};
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 1, count, offsets, columns, values,
                                          TESS_OWNERSHIP_BORROW, &A),
                     TESS_OK);
    for (size_t i = 0; i < 3; i++) {
        const char *path = file_path(endings[i]);
        tess_matrix *B;
        assert_int_equal(tess_matrix_write(ctx, A, path), TESS_OK);
        assert_int_equal(tess_matrix_read(ctx, path, &B), TESS_OK);
        test_check_identical("written and read", A, B);
        tess_matrix_destroy(B);
        unlink(path);
    }
    tess_matrix_destroy(A);
}

static void every_pattern_survives_as_csr(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        for (size_t i = 0; i < 3; i++) {
            const char *path = file_path(endings[i]);
            tess_matrix *A = test_matrix(ctx, (test_pattern)pattern, 41, 1, 1, TESS_F64, 5), *B;
            assert_int_equal(tess_matrix_write(ctx, A, path), TESS_OK);
            if (tess_matrix_read(ctx, path, &B) != TESS_OK)
                fail_msg("%s: %s", test_pattern_name((test_pattern)pattern), tess_ctx_error(ctx));
            test_check_identical("written and read", A, B);
            tess_matrix_destroy(A);
            tess_matrix_destroy(B);
            unlink(path);
        }
    }
}

static void many_lines_survive_for_any_number_of_threads(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const int thread_counts[] = {1, 2, 3, 7};
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 9000, 1, 1, TESS_F64, 6);
    unsigned char *first = NULL;
    size_t first_size = 0;
    assert_true(A->blocks > 2 * 16384); /* several pieces */
    for (int t = 0; t < 4; t++) {
        const char *path = file_path(t % 2 ? "a.mtx.gz" : "a.mtx");
        tess_matrix *B;
        tess_ctx_set_threads(ctx, thread_counts[t]);
        assert_int_equal(tess_matrix_write(ctx, A, path), TESS_OK);
        assert_int_equal(tess_matrix_read(ctx, path, &B), TESS_OK);
        test_check_identical("written and read", A, B);
        tess_matrix_destroy(B);
        size_t size;
        unsigned char *bytes = get_file(path, &size);
        if (t == 0) {
            first = bytes;
            first_size = size;
        } else {
            if (t % 2 == 0) {
                assert_int_equal(size, first_size);
                assert_memory_equal(bytes, first, size);
            }
            free(bytes);
        }
        unlink(path);
    }
    free(first);
    tess_matrix_destroy(A);
}

static void blocks_become_entries_in_mtx_and_stay_in_tess(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int type = TESS_F64; type <= TESS_F32; type++) {
        tess_matrix *A = test_matrix(ctx, TEST_RAGGED, 17, 3, 2, (tess_type)type, 7), *B, *C;
        const char *path = file_path("a.tess");
        assert_int_equal(tess_matrix_write(ctx, A, path), TESS_OK);
        assert_int_equal(tess_matrix_read(ctx, path, &B), TESS_OK);
        test_check_identical("written and read", A, B);
        tess_matrix_destroy(B);
        unlink(path);

        path = file_path("a.mtx");
        assert_int_equal(tess_matrix_write(ctx, A, path), TESS_OK);
        assert_int_equal(tess_matrix_read(ctx, path, &B), TESS_OK);
        assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_ZEROS_DROP, &C), TESS_OK);
        assert_int_equal(B->blocks, C->blocks);
        assert_memory_equal(B->columns, C->columns, (size_t)B->blocks * sizeof *B->columns);
        for (int64_t k = 0; k < B->blocks; k++)
            assert_true(tess_matrix_value(B, k) == tess_matrix_value(C, k));
        tess_matrix_destroy(A);
        tess_matrix_destroy(B);
        tess_matrix_destroy(C);
        unlink(path);
    }
}

static void text_is_short_and_names_its_writer(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const int64_t offsets[] = {0, 2, 3};
    const int32_t columns[] = {0, 1, 1};
    const double values[] = {0.1, -2, 1e-7};
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_csr(ctx, TESS_F64, 2, 2, offsets, columns, values,
                                          TESS_OWNERSHIP_COPY, &A),
                     TESS_OK);
    const char *path = file_path("a.mtx");
    assert_int_equal(tess_matrix_write(ctx, A, path), TESS_OK);
    size_t size;
    unsigned char *bytes = get_file(path, &size);
    assert_string_equal((char *)bytes, "%%MatrixMarket matrix coordinate real general\n"
                                       "% written by Tessera 0.2.0\n"
                                       "2 2 3\n1 1 0.1\n1 2 -2\n2 2 1e-7\n");
    free(bytes);
    unlink(path);
    tess_matrix_destroy(A);
}

static void failures_leave_no_file_and_keep_the_old_one(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_BANDED, 20, 1, 1, TESS_F64, 8);
    const char *path = file_path("a.mtx");
    put_file(path, "old", 3);
    ((double *)A->values)[7] = NAN;
    assert_int_equal(tess_matrix_write(ctx, A, path), TESS_ERR_UNSUPPORTED);
    assert_non_null(strstr(tess_ctx_error(ctx),
                           "a.mtx: row 3, column 1 (counted from 1): nan cannot be written"));
    assert_int_equal(tess_matrix_write(ctx, A, file_path("a.txt")), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_matrix_write(ctx, A, file_path("none/a.mtx")), TESS_ERR_IO);
    assert_int_equal(tess_matrix_write(ctx, A, file_path("none/a.tess")), TESS_ERR_IO);
    assert_int_equal(files_in_folder(), 1);
    size_t size;
    unsigned char *bytes = get_file(path, &size);
    assert_string_equal((char *)bytes, "old");
    free(bytes);
    unlink(path);
    tess_matrix_destroy(A);
}

static void symmetric_files_have_half_the_entries_and_read_back_whole(void **state)
{
    static const char *const inputs[] = {"elasticity:n=3", "stencil7:n=4,b=1", "trefethen:n=30",
                                         "diffusion:n=4,jump=7", "stencil27:n=3,b=2,type=f32"};
    tess_ctx *ctx = test_ctx(state);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        tess_matrix *A, *scalars, *back;
        const char *path = file_path(i % 2 ? "s.mtx" : "s.mtx.gz");
        assert_int_equal(tess_matrix_generate(ctx, inputs[i], &A, NULL), TESS_OK);
        if (tess_matrix_write_symmetric(ctx, A, path) != TESS_OK)
            fail_msg("%s: %s", inputs[i], tess_ctx_error(ctx));
        assert_int_equal(tess_matrix_read(ctx, path, &back), TESS_OK);
        assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_ZEROS_DROP, &scalars), TESS_OK);
        assert_int_equal(back->blocks, scalars->blocks);
        for (int64_t k = 0; k < back->blocks; k++)
            if (back->columns[k] != scalars->columns[k] ||
                tess_matrix_value(back, k) != tess_matrix_value(scalars, k))
                fail_msg("%s: entry %lld", inputs[i], (long long)k);
        tess_matrix_destroy(back);
        assert_int_equal(tess_matrix_write(ctx, A, file_path("g.mtx")), TESS_OK);
        size_t size;
        unsigned char *bytes = get_file(file_path("g.mtx"), &size);
        if (i % 2) {
            size_t half;
            unsigned char *lower = get_file(path, &half);
            assert_non_null(strstr((char *)lower, "coordinate real symmetric"));
            assert_true(half < size * 3 / 4);
            free(lower);
        }
        free(bytes);
        unlink(path);
        unlink(file_path("g.mtx"));
        tess_matrix_destroy(scalars);
        tess_matrix_destroy(A);
    }
}

static void what_is_not_symmetric_is_refused_with_the_place(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("s.mtx");
    for (int seed = 1; seed < 30; seed++) {
        tess_matrix *A;
        char place[80];
        assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=3,b=1", &A, NULL), TESS_OK);
        int64_t i = seed % (int)A->rows, k = A->row_offsets[i];
        if (A->columns[k] == i)
            k++;
        const int64_t j = A->columns[k];
        ((double *)A->values)[k] += 1;
        snprintf(place, sizeof place, "a(%lld, %lld) = ", (long long)(i < j ? i : j) + 1,
                 (long long)(i < j ? j : i) + 1); /* the first one in the order of rows */
        assert_int_equal(tess_matrix_write_symmetric(ctx, A, path), TESS_ERR_MATRIX);
        if (!strstr(tess_ctx_error(ctx), place))
            fail_msg("row %lld: '%s' does not say '%s'", (long long)i, tess_ctx_error(ctx), place);
        tess_matrix_destroy(A);
    }
    tess_matrix *A = test_matrix(ctx, TEST_WIDE, 5, 1, 1, TESS_F64, 8);
    assert_int_equal(tess_matrix_write_symmetric(ctx, A, path), TESS_ERR_MATRIX);
    assert_int_equal(tess_matrix_write_symmetric(ctx, A, file_path("a.tess")), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_matrix_write_symmetric(ctx, NULL, path), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_matrix_write_symmetric(ctx, A, NULL), TESS_ERR_ARGUMENT);
    assert_int_equal(files_in_folder(), 0);
    tess_matrix_destroy(A);
}

static void running_out_of_memory_leaves_no_file(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RAGGED, 9, 2, 2, TESS_F64, 9);
    for (size_t i = 0; i < 3; i++) {
        test_sweep sweep = test_sweep_begin(state);
        tess_status status;
        do {
            status = tess_matrix_write(ctx, A, file_path(endings[i]));
            if (status != TESS_OK)
                assert_int_equal(files_in_folder(), 0);
        } while (test_sweep_goes_on(&sweep, status));
        assert_true(sweep.failed >= 3); /* a .tess file: the sums of three sections */
        unlink(file_path(endings[i]));
    }
    tess_matrix_destroy(A);
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=3,b=2", &A, NULL), TESS_OK);
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        status = tess_matrix_write_symmetric(ctx, A, file_path("s.mtx"));
        assert_int_equal(files_in_folder(), status == TESS_OK);
    } while (test_sweep_goes_on(&sweep, status));
    unlink(file_path("s.mtx"));
    tess_matrix_destroy(A);
}

/* Shortest text and parsing of it against the C library, over all of double's range. */
static void decimal_text_is_exact(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_decimal *decimal;
    assert_int_equal(tess_decimal_create(ctx, &decimal), TESS_OK);
    for (uint64_t i = 0; i < 60000; i++) {
        uint64_t bits = tess_random_u64(21, i);
        if (i % 5 == 0)
            bits &= 0x800fffffffffffffu; /* subnormal */
        double value, back;
        memcpy(&value, &bits, 8);
        if (!isfinite(value))
            continue;
        char text[160] = "";
        char *end = tess_decimal_format(decimal, value, text);
        assert_true(end - text <= TESS_DECIMAL_TEXT);
        *end = '\0';
        assert_true(strtod(text, NULL) == value);
        bool integral;
        strcpy(end, "\n");
        assert_ptr_equal(tess_decimal_parse(decimal, text, &back, &integral), end);
        assert_memory_equal(&back, &value, 8);

        snprintf(text, sizeof text, "%.*e\n", (int)(i % 30), value);
        double want = strtod(text, NULL);
        assert_non_null(tess_decimal_parse(decimal, text, &back, &integral));
        if (memcmp(&back, &want, 8) != 0)
            fail_msg("%s is read as %a, not %a", text, back, want);
    }
    /* Halfway points and their neighbours, more digits than any fast way can take. */
    static const char *const hard[] = {
        "9007199254740993\n",
        "9007199254740992.999999999999999999999999\n",
        "9007199254740993.000000000000000000000000000000000000001\n",
        "2.4703282292062328e-324\n",
        "2.4703282292062327e-324\n",
        "1.7976931348623158e308\n",
        "1.7976931348623159e308\n",
        "0.000000000000000000000000000000000000000000000000000000000000000000000000001e75\n",
        "1448997445238699\n",
        "6929495644600919.5\n",
        "3.237883913302901289588352412501532174863037e-319\n",
        "100000000000000016777215\n",
        "100000000000000016777216\n",
        "0e999999\n"};
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) {
        double want = strtod(hard[i], NULL), back;
        char text[160];
        bool integral;
        snprintf(text, sizeof text, "%s", hard[i]);
        assert_non_null(tess_decimal_parse(decimal, text, &back, &integral));
        if (memcmp(&back, &want, 8) != 0)
            fail_msg("%s is read as %a, not %a", hard[i], back, want);
    }
    tess_decimal_destroy(ctx, decimal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hard_numbers_survive),
        cmocka_unit_test(every_pattern_survives_as_csr),
        cmocka_unit_test(many_lines_survive_for_any_number_of_threads),
        cmocka_unit_test(blocks_become_entries_in_mtx_and_stay_in_tess),
        cmocka_unit_test(text_is_short_and_names_its_writer),
        cmocka_unit_test(failures_leave_no_file_and_keep_the_old_one),
        cmocka_unit_test(symmetric_files_have_half_the_entries_and_read_back_whole),
        cmocka_unit_test(what_is_not_symmetric_is_refused_with_the_place),
        cmocka_unit_test(running_out_of_memory_leaves_no_file),
        cmocka_unit_test(decimal_text_is_exact),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
