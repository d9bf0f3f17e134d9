/* Matrix Market reading: what is accepted. */
#include "unit/io/mtx.h"

#include <locale.h>

/* Reads `text` with every chunk size and thread count: the dense matrix must always be `want`. */
static void check_dense(void **state, const char *text, int64_t rows, int64_t cols, int64_t stored,
                        const double *want)
{
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("a.mtx");
    put_file(path, text, strlen(text));
    EACH(c, chunks) EACH(t, thread_counts)
    {
        tess_matrix *A = NULL;
        tess_ctx_set_threads(ctx, thread_counts[t]);
        if (tess_mm_read(ctx, path, chunks[c], &A) != TESS_OK)
            fail_msg("%s\n%s", tess_ctx_error(ctx), text);
        assert_int_equal(A->rows, rows);
        assert_int_equal(A->cols, cols);
        assert_int_equal(A->blocks, stored);
        double dense[64] = {0};
        for (int64_t i = 0; i < rows; i++)
            for (int64_t k = A->row_offsets[i]; k < A->row_offsets[i + 1]; k++)
                dense[i * cols + A->columns[k]] = ((double *)A->values)[k];
        for (int64_t k = 0; k < rows * cols; k++)
            if (dense[k] != want[k])
                fail_msg("chunk %zu, %d threads: place %lld is %g, not %g", chunks[c],
                         thread_counts[t], (long long)k, dense[k], want[k]);
        tess_matrix_destroy(A);
    }
    unlink(path);
}

static void every_layout_field_and_symmetry_is_read(void **state)
{
    check_dense(state, MTX "coordinate real general\n2 3 3\n2 1 4.5\n1 3 -1e-3\n1 1 7\n", 2, 3, 3,
                (double[]){7, 0, -1e-3, 4.5, 0, 0});
    check_dense(state, MTX "coordinate integer general\n2 2 2\n1 1 +3\n2 2 -4\n", 2, 2, 2,
                (double[]){3, 0, 0, -4});
    check_dense(state, MTX "coordinate pattern general\n2 2 2\n1 2\n2 1\n", 2, 2, 2,
                (double[]){0, 1, 1, 0});
    check_dense(state, MTX "coordinate real symmetric\n3 3 4\n1 1 1\n2 1 2\n3 2 3\n3 3 4\n", 3, 3,
                6, (double[]){1, 2, 0, 2, 0, 3, 0, 3, 4});
    check_dense(state, MTX "coordinate pattern symmetric\n2 2 2\n2 1\n2 2\n", 2, 2, 3,
                (double[]){0, 1, 1, 1});
    check_dense(state, MTX "coordinate real skew-symmetric\n3 3 2\n2 1 5\n3 1 -6\n", 3, 3, 4,
                (double[]){0, -5, 6, 5, 0, 0, -6, 0, 0});
    check_dense(state, MTX "array real general\n2 3\n1\n2\n3\n4\n5\n6\n", 2, 3, 6,
                (double[]){1, 3, 5, 2, 4, 6});
    check_dense(state, MTX "array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", 3, 3, 9,
                (double[]){1, 2, 3, 2, 4, 5, 3, 5, 6});
    check_dense(state, MTX "array real skew-symmetric\n3 3\n1\n2\n3\n", 3, 3, 9,
                (double[]){0, -1, -2, 1, 0, -3, 2, 3, 0});
    check_dense(state, MTX "array real general\n3 1\n1\n2\n3\n", 3, 1, 3, (double[]){1, 2, 3});
    check_dense(state, MTX "coordinate real general\n2 2 0\n", 2, 2, 0, (double[]){0, 0, 0, 0});
    check_dense(state, MTX "coordinate real general\n0 0 0", 0, 0, 0, (double[]){0});
}

static void loose_text_is_read(void **state)
{
    const double want[] = {1.5, 0, 0, 2.5};
    static const char *const texts[] = {
        "%%matrixmarket MATRIX Coordinate REAL General\n2 2 2\n1 1 1.5\n2 2 2.5",
        MTX "coordinate real general\r\n% c\r\n\r\n2 2 2\r\n1 1 1.5\r\n2 2 2.5\r\n",
        MTX "  coordinate \t real  general  \n%\n\n  \n%c\n 2\t2  2 \n",
        MTX "coordinate real general\n2 2 2\n\n  1\t1   1.5  \n% in between\n\t\n2 2 25d-1\t\n\n",
        MTX "coordinate real general\n2 2 2\n1 1 1.50000000000000000000000000000\n2 2 .25E+1",
    };
    EACH(i, texts)
    {
        char text[512];
        /* The third text has only a header: give it the entries in reverse order. */
        snprintf(text, sizeof text, "%s%s", texts[i], i == 2 ? "2 2 2.5\n1 1 1.5\n" : "");
        check_dense(state, text, 2, 2, 2, want);
    }
}

static void repeated_entries_are_summed_in_file_order(void **state)
{
    /* 1e16 + 1 - 1e16 is 0 and not 1: the order of the sum shows. */
    check_dense(state,
                MTX "coordinate real general\n2 2 5\n2 1 1e16\n1 2 3\n2 1 1\n2 1 -1e16\n1 1 2\n", 2,
                2, 3, (double[]){2, 3, 0, 0});
    check_dense(state, MTX "coordinate real symmetric\n2 2 3\n2 1 1\n2 1 2\n1 2 4\n", 2, 2, 2,
                (double[]){0, 7, 7, 0});
    check_dense(state, MTX "coordinate real general\n1 2 2\n1 2 0\n1 1 -0\n", 1, 2, 2,
                (double[]){0, 0});
}

static void decimal_comma_locales_do_not_matter(void **state)
{
    char *before = strdup(setlocale(LC_NUMERIC, NULL));
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    EACH(i, names)
    if (setlocale(LC_NUMERIC, names[i]))
        break;
    check_dense(state, MTX "coordinate real general\n1 2 2\n1 1 1.5\n1 2 0.1000000000000000055\n",
                1, 2, 2, (double[]){1.5, 0.1});
    setlocale(LC_NUMERIC, before);
    free(before);
}

static void gzip_is_told_by_content_and_may_have_members(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("plain-name.mtx");
    const char *first = HEAD "2 2 2\n1 1 1", *second = ".5\n2 2 2\n";
    put_gzip(path, first, strlen(first));
    size_t size, more;
    unsigned char *bytes = get_file(path, &size);
    put_gzip(path, second, strlen(second));
    unsigned char *other = get_file(path, &more);
    bytes = realloc(bytes, size + more + 100);
    memcpy(bytes + size, other, more);
    memset(bytes + size + more, 0, 100); /* zeros after the end are padding */
    put_file(path, bytes, size + more + 100);
    EACH(c, chunks)
    {
        tess_matrix *A;
        assert_int_equal(tess_mm_read(ctx, path, chunks[c], &A), TESS_OK);
        assert_int_equal(A->blocks, 2);
        assert_true(((double *)A->values)[0] == 1.5 && ((double *)A->values)[1] == 2);
        tess_matrix_destroy(A);
    }
    free(bytes);
    free(other);
    unlink(path);
}

/* A few thousand random entries with repetitions, as the file has them. */
static char *random_text(uint64_t seed, const char *symmetry, int64_t rows, int64_t entries)
{
    char *text = malloc((size_t)entries * 64 + 256), *to = text;
    to += sprintf(to, "%s coordinate real %s\n%lld %lld %lld\n", "%%MatrixMarket matrix", symmetry,
                  (long long)rows, (long long)rows, (long long)entries);
    for (int64_t k = 0; k < entries; k++) {
        uint64_t at = (uint64_t)k * 3;
        to += sprintf(to, "%lld %lld %.*g\n", (long long)tess_random_below(seed, at, rows) + 1,
                      (long long)tess_random_below(seed, at + 1, rows) + 1, (int)(1 + k % 18),
                      tess_random_unit(seed, at + 2));
    }
    return text;
}

static void result_does_not_depend_on_threads_or_chunks(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("random.mtx");
    static const char *const symmetries[] = {"general", "symmetric"};
    static const size_t sizes[] = {100, 4096, 50000, TESS_TEXT_CHUNK};
    EACH(s, symmetries)
    {
        char *text = random_text(11 + s, symmetries[s], 97, 4000);
        put_file(path, text, strlen(text));
        tess_matrix *first = NULL;
        EACH(c, sizes) EACH(t, thread_counts)
        {
            tess_matrix *A;
            tess_ctx_set_threads(ctx, thread_counts[t]);
            if (tess_mm_read(ctx, path, sizes[c], &A) != TESS_OK)
                fail_msg("%s", tess_ctx_error(ctx));
            if (first) {
                test_check_identical("other threads or chunks", first, A);
                tess_matrix_destroy(A);
            } else {
                first = A;
            }
        }
        tess_matrix_destroy(first);
        free(text);
    }
    unlink(path);
}

static void running_out_of_memory_leaves_nothing(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("a.mtx.gz");
    static const char *const texts[] = {
        HEAD "3 3 4\n3 1 1\n1 1 2\n1 3 4\n1 3 5\n",
        MTX "coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n",
        MTX "coordinate pattern general\n3 3 2\n1 1\n2 2\n",
        MTX "array real general\n2 2\n1\n2\n3\n4\n",
    };
    EACH(i, texts)
    {
        put_gzip(path, texts[i], strlen(texts[i]));
        test_sweep sweep = test_sweep_begin(state);
        tess_status status;
        do {
            tess_matrix *A = NULL;
            status = tess_matrix_read(ctx, path, &A);
            assert_true((status == TESS_OK) == (A != NULL));
            tess_matrix_destroy(A);
        } while (test_sweep_goes_on(&sweep, status));
        assert_true(sweep.failed > 5);
    }
    unlink(path);
}

static int stop_at_once(void *user, const char *what, double fraction)
{
    (void)fraction;
    (*(int *)user)++;
    assert_string_equal(what, "reading");
    return 1;
}

static void cancelling_leaves_nothing(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("a.mtx");
    const char *text = HEAD "2 2 2\n1 1 1\n2 2 2\n";
    put_file(path, text, strlen(text));
    int64_t live = test_live(state);
    int calls = 0;
    ctx->progress = stop_at_once;
    ctx->progress_user = &calls;
    ctx->progress_next = 0;
    tess_matrix *A = NULL;
    assert_int_equal(tess_matrix_read(ctx, path, &A), TESS_ERR_CANCELLED);
    ctx->progress = NULL;
    assert_int_equal(calls, 1);
    assert_null(A);
    assert_int_equal(test_live(state), live);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_field_and_symmetry_is_read),
        cmocka_unit_test(loose_text_is_read),
        cmocka_unit_test(repeated_entries_are_summed_in_file_order),
        cmocka_unit_test(decimal_comma_locales_do_not_matter),
        cmocka_unit_test(gzip_is_told_by_content_and_may_have_members),
        cmocka_unit_test(result_does_not_depend_on_threads_or_chunks),
        cmocka_unit_test(running_out_of_memory_leaves_nothing),
        cmocka_unit_test(cancelling_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
