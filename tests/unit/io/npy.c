/* Vectors in NumPy's .npy files: written as NumPy describes the format, and checked when read. */
#include "unit/io/files.h"

#include <math.h>

static void what_is_written_is_as_numpy_describes_it(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const double x[3] = {1, -2.5, INFINITY};
    const char *path = file_path("x.npy");
    assert_int_equal(tess_vector_write(ctx, path, TESS_F64, 3, x), TESS_OK);
    size_t size;
    unsigned char *bytes = get_file(path, &size);
    assert_memory_equal(bytes, "\x93NUMPY\x01\x00", 8);
    const size_t text = bytes[8] + 256u * bytes[9];
    assert_int_equal((10 + text) % 64, 0);
    assert_int_equal(size, 10 + text + sizeof x);
    const char *want = "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }";
    assert_memory_equal(bytes + 10, want, strlen(want));
    for (size_t i = 10 + strlen(want); i < 9 + text; i++)
        assert_int_equal(bytes[i], ' ');
    assert_int_equal(bytes[9 + text], '\n');
    assert_memory_equal(bytes + 10 + text, x, sizeof x);
    free(bytes);
    unlink(path);
}

static void random_vectors_read_back_in_both_precisions(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("x.npy");
    for (int seed = 0; seed < 40; seed++) {
        const int64_t n = seed % 4 == 0 ? seed / 4 : 1 + (seed * 7919) % 5000;
        const tess_type written = seed % 2 ? TESS_F32 : TESS_F64,
                        read = seed % 3 ? TESS_F32 : TESS_F64;
        void *x = test_vector(n, written, (uint64_t)seed), *y;
        int64_t count = -1;
        assert_int_equal(tess_vector_write(ctx, path, written, n, x), TESS_OK);
        if (tess_vector_read(ctx, path, read, &count, &y) != TESS_OK)
            fail_msg("seed %d: %s", seed, tess_ctx_error(ctx));
        assert_int_equal(count, n);
        for (int64_t i = 0; i < n; i++) {
            const double value = tess_get(x, written, i);
            if (tess_get(y, read, i) != (read == TESS_F32 ? (double)(float)value : value))
                fail_msg("seed %d: element %lld", seed, (long long)i);
        }
        tess_release(ctx, y);
        free(x);
    }
    unlink(path);
}

/* A file of version 1 with this text, padded, and `bytes` zeros behind it. */
static void put_npy(const char *path, const char *text, size_t bytes)
{
    char file[512] = "\x93NUMPY\x01";
    memset(file + 10, ' ', 118);
    file[8] = 118;
    memcpy(file + 10, text, strlen(text));
    file[127] = '\n';
    put_file(path, file, 128 + bytes);
}

static void shapes_of_one_vector_are_read(void **state)
{
    static const char *const shapes[] = {"(3,)", "(3, 1)", "(1, 3)", "(3,1)", "( 3 , )"};
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("x"); /* the content tells, not the name */
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char text[100];
        int64_t count;
        void *x;
        snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': True, 'shape': %s}",
                 shapes[i]);
        put_npy(path, text, 12);
        if (tess_vector_read(ctx, path, TESS_F64, &count, &x) != TESS_OK)
            fail_msg("%s: %s", shapes[i], tess_ctx_error(ctx));
        assert_int_equal(count, 3);
        tess_release(ctx, x);
    }
    unlink(path);
}

static void what_is_no_vector_is_refused(void **state)
{
    static const struct {
        const char *text, *part;
        size_t bytes;
    } bad[] = {
        {"{'descr': '>f8', 'shape': (3,)}", "none of '<f8', '<f4', '<c16' and '<c8'", 24},
        {"{'descr': '<i8', 'shape': (3,)}", "none of '<f8', '<f4', '<c16' and '<c8'", 24},
        {"{'shape': (3,)}", "none of '<f8', '<f4', '<c16' and '<c8'", 24},
        {"{'descr': '<f8', 'shape': (2, 3)}", "the shape is none of", 48},
        {"{'descr': '<f8', 'shape': (1, 1, 3)}", "the shape is none of", 24},
        {"{'descr': '<f8', 'shape': ()}", "the shape is none of", 8},
        {"{'descr': '<f8', 'shape': (-3,)}", "the shape is none of", 24},
        {"{'descr': '<f8', 'shape': (3", "the shape is none of", 24},
        {"{'descr': '<f8'}", "the shape is none of", 24},
        {"{'descr': '<f8', 'shape': (3,)}", "not as many as the shape says", 23},
        {"{'descr': '<f8', 'shape': (3,)}", "not as many as the shape says", 32},
        {"{'descr': '<f8', 'shape': (2305843009213693952,)}", "not as many as the shape says", 0},
    };
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("x.npy");
    int64_t count = -7;
    void *x = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_npy(path, bad[i].text, bad[i].bytes);
        if (tess_vector_read(ctx, path, TESS_F64, &count, &x) != TESS_ERR_FORMAT ||
            !strstr(tess_ctx_error(ctx), bad[i].part) || !strstr(tess_ctx_error(ctx), "numpy.save"))
            fail_msg("%s: %s", bad[i].text, tess_ctx_error(ctx));
        assert_true(count == -7 && !x);
    }
    for (size_t length = 6; length < 128; length += 13) { /* cut off anywhere in the header */
        put_npy(path, "{'descr': '<f8', 'shape': (3,)}", 24);
        assert_int_equal(truncate(path, (off_t)length), 0);
        assert_int_equal(tess_vector_read(ctx, path, TESS_F64, &count, &x), TESS_ERR_FORMAT);
    }
    const double large[2] = {1, 1e300};
    assert_int_equal(tess_vector_write(ctx, path, TESS_F64, 2, large), TESS_OK);
    assert_int_equal(tess_vector_read(ctx, path, TESS_F32, &count, &x), TESS_ERR_FORMAT);
    assert_non_null(strstr(tess_ctx_error(ctx),
                           "element 2 (counted from 1): 1e+300 is beyond the range of f32"));
    unlink(path);
}

static void running_out_of_memory_leaves_nothing(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    double *x = test_vector(100, TESS_F64, 1);
    const char *path = file_path("x.npy");
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        status = tess_vector_write(ctx, path, TESS_F64, 100, x);
        assert_int_equal(files_in_folder(), status == TESS_OK);
    } while (test_sweep_goes_on(&sweep, status));
    sweep = test_sweep_begin(state);
    do {
        int64_t count;
        void *y = NULL;
        status = tess_vector_read(ctx, path, TESS_F32, &count, &y);
        tess_release(ctx, y);
    } while (test_sweep_goes_on(&sweep, status));
    unlink(path);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_as_numpy_describes_it),
        cmocka_unit_test(random_vectors_read_back_in_both_precisions),
        cmocka_unit_test(shapes_of_one_vector_are_read),
        cmocka_unit_test(what_is_no_vector_is_refused),
        cmocka_unit_test(running_out_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
