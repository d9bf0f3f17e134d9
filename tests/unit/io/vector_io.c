/* Dense vectors: every way to write them down is read, round trips are exact. */
#include "unit/io/files.h"

#include <math.h>

static const struct {
    const char *text;
    int64_t count;
    double values[4];
} good[] = {
    {"%%MatrixMarket matrix array real general\n3 1\n1\n-2.5\n3\n", 3, {1, -2.5, 3}},
    {"%%MatrixMarket matrix array integer general\n1 2\n1\n2\n", 2, {1, 2}},
    {"%%MatrixMarket matrix coordinate real general\n4 1 2\n3 1 7\n1 1 5\n", 4, {5, 0, 7, 0}},
    {"%%MatrixMarket matrix coordinate pattern general\n1 3 1\n1 2\n", 3, {0, 1, 0}},
    {"%%MatrixMarket matrix coordinate real general\n2 1 2\n2 1 1\n2 1 2\n", 2, {0, 3}},
    {"1\n2e0\n\n% note\n 3.5 \r\n4", 4, {1, 2, 3.5, 4}},
};

static void every_kind_of_file_is_read(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("x");
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        for (int zipped = 0; zipped < 2; zipped++) {
            (zipped ? put_gzip : put_file)(path, good[i].text, strlen(good[i].text));
            for (int type = TESS_F64; type <= TESS_F32; type++) {
                int64_t count;
                void *values;
                if (tess_vector_read(ctx, path, (tess_type)type, &count, &values) != TESS_OK)
                    fail_msg("%s", tess_ctx_error(ctx));
                assert_int_equal(count, good[i].count);
                for (int64_t k = 0; k < count; k++)
                    assert_true(
                        good[i].values[k] ==
                        (type == TESS_F64 ? ((double *)values)[k] : (double)((float *)values)[k]));
                tess_release(ctx, values);
            }
        }
    }
    unlink(path);
}

static void what_is_no_vector_is_refused(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", ":1: the file is empty"},
        {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
         ":2: a vector must be n x 1 or 1 x n, not 2 x 2"},
        {"1\n2\nthree\n", ":3: value 'three' is not a number"},
        {"1 2\n", ":1: '2' follows the last of the 1 number of a line"},
        {"1\nnan\n", ":2: value 'nan' is not a finite number"},
        {"1\n1e39\n",
         ": element 2 (counted from 1): 1e+39 is beyond the range of f32 (3.40282e+38)"},
    };
    const char *path = file_path("x");
    int64_t live = test_live(state);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char want[256];
        int64_t count = -7;
        void *values = NULL;
        put_file(path, bad[i].text, strlen(bad[i].text));
        snprintf(want, sizeof want, "%s%s", path, bad[i].message);
        assert_int_equal(tess_vector_read(ctx, path, TESS_F32, &count, &values), TESS_ERR_FORMAT);
        assert_string_equal(tess_ctx_error(ctx), want);
        assert_int_equal(count, -7);
        assert_null(values);
        assert_int_equal(test_live(state), live);
    }
    unlink(path);
}

static void written_vectors_read_back_to_the_same_bits(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const char *const names[] = {"x.mtx", "x.mtx.gz", "x.txt"};
    enum { COUNT = 40000 };
    for (int type = TESS_F64; type <= TESS_F32; type++) {
        void *x = test_vector(COUNT, (tess_type)type, 3);
        for (size_t i = 0; i < 3; i++) {
            const char *path = file_path(names[i]);
            int64_t count;
            void *values;
            assert_int_equal(tess_vector_write(ctx, path, (tess_type)type, COUNT, x), TESS_OK);
            assert_int_equal(tess_vector_read(ctx, path, (tess_type)type, &count, &values),
                             TESS_OK);
            assert_int_equal(count, COUNT);
            assert_memory_equal(values, x, COUNT * tess_type_size((tess_type)type));
            tess_release(ctx, values);
            unlink(path);
        }
        free(x);
    }
    double infinite = INFINITY;
    assert_int_equal(tess_vector_write(ctx, file_path("x.txt"), TESS_F64, 1, &infinite),
                     TESS_ERR_UNSUPPORTED);
    assert_int_equal(files_in_folder(), 0);
}

static void running_out_of_memory_leaves_nothing(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("x");
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        put_file(path, good[i].text, strlen(good[i].text));
        test_sweep sweep = test_sweep_begin(state);
        tess_status status;
        do {
            int64_t count;
            void *values = NULL;
            status = tess_vector_read(ctx, path, TESS_F64, &count, &values);
            tess_release(ctx, values);
        } while (test_sweep_goes_on(&sweep, status));
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_file_is_read),
        cmocka_unit_test(what_is_no_vector_is_refused),
        cmocka_unit_test(written_vectors_read_back_to_the_same_bits),
        cmocka_unit_test(running_out_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
