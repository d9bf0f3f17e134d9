/* Matrix Market reading: the exact sentence for what is not accepted. */
#include "unit/io/mtx.h"

typedef struct bad_case {
    const char *text;
    tess_status status;
    const char *message; /* after the path */
} bad_case;

static const bad_case bad_cases[] = {
    {"", TESS_ERR_FORMAT, ":1: the file is empty"},
    {"\n", TESS_ERR_FORMAT, ":1: not a Matrix Market file: it must start with %%MatrixMarket"},
    {"\x7f"
     "ELF\x01\x02\xff\xfe\n\n\x80",
     TESS_ERR_FORMAT, ":1: not a Matrix Market file: it must start with %%MatrixMarket"},
    {"%%MatrixMarket matrix coordinate real\n1 1 1\n", TESS_ERR_FORMAT,
     ":1: the banner has fewer words than the 5 of '%%MatrixMarket matrix FORMAT FIELD SYMMETRY'"},
    {MTX "coordinate real general x\n", TESS_ERR_FORMAT,
     ":1: the banner has more words than the 5 of '%%MatrixMarket matrix FORMAT FIELD SYMMETRY'"},
    {"%%MatrixMarket vector coordinate real general\n", TESS_ERR_FORMAT,
     ":1: object 'vector' is none of matrix"},
    {MTX "sparse real general\n", TESS_ERR_FORMAT,
     ":1: format 'sparse' is none of coordinate, array"},
    {MTX "coordinate rational general\n", TESS_ERR_FORMAT,
     ":1: field 'rational' is none of real, integer, pattern, complex"},
    {MTX "array pattern general\n", TESS_ERR_FORMAT,
     ":1: field 'pattern' is none of real, integer, complex"},
    {MTX "coordinate real lower\n", TESS_ERR_FORMAT,
     ":1: symmetry 'lower' is none of general, symmetric, skew-symmetric"},
    {MTX "coordinate real hermitian\n1 1 1\n1 1 1\n", TESS_ERR_FORMAT,
     ":1: symmetry 'hermitian' is none of general, symmetric, skew-symmetric"},
    {HEAD, TESS_ERR_FORMAT, ":2: the file ends before its size line"},
    {HEAD "% only\n\n", TESS_ERR_FORMAT, ":4: the file ends before its size line"},
    {HEAD "1 1\n", TESS_ERR_FORMAT,
     ":2: the size line must be 'rows cols entries', but has fewer numbers"},
    {MTX "array real general\n%\n1 1 1\n", TESS_ERR_FORMAT,
     ":3: the size line must be 'rows cols', but has more numbers"},
    {HEAD "-1 1 1\n", TESS_ERR_FORMAT,
     ":2: '-1' in the size line 'rows cols entries' is not a whole number from 0 to "
     "9223372036854775807"},
    {HEAD "1 99999999999999999999 1\n", TESS_ERR_FORMAT,
     ":2: '99999999999999999999' in the size line 'rows cols entries' is not a whole number from 0 "
     "to 9223372036854775807"},
    {HEAD "1 1 9223372036854775807\n1 1 1\n", TESS_ERR_FORMAT,
     ":2: 9223372036854775807 entries are announced, but a file of 76 bytes cannot hold them"},
    {HEAD "9000000000000 1 0\n", TESS_ERR_OVERFLOW,
     ":2: 9000000000000 x 1 is larger than 4294967295 x 2147483647"},
    {HEAD "4000000000 1 1\n1 1 1\n", TESS_ERR_FORMAT,
     ":2: 4000000000 rows are not credible in a file of 67 bytes"},
    {HEAD "1 3000000000 0\n", TESS_ERR_OVERFLOW,
     ":2: 1 x 3000000000 is larger than 4294967295 x 2147483647"},
    {MTX "array real general\n4000000 2000000000\n1\n", TESS_ERR_FORMAT,
     ":2: 8000000000000000 entries are announced, but a file of 62 bytes cannot hold them"},
    {MTX "coordinate real symmetric\n2 3 0\n", TESS_ERR_FORMAT,
     ":2: a symmetric matrix must be square, not 2 x 3"},
    {HEAD "0 3 1\n1 1 1\n", TESS_ERR_FORMAT, ":2: a 0 x 3 matrix cannot have entries"},
    {HEAD "2 2 2\n1 1 1\n", TESS_ERR_FORMAT,
     ":3: the file ends after 1 of the 2 entries that line 2 announces"},
    {HEAD "2 2 1\n1 1 1\n\n% c\n2 2 2\n", TESS_ERR_FORMAT,
     ":6: more data than the 1 entries that line 2 announces"},
    {HEAD "2 2 1\n1 1 1\n1 2\n", TESS_ERR_FORMAT,
     ":4: more data than the 1 entries that line 2 announces"},
    {HEAD "2 2 2\n1 1 1\n3 1 1\n", TESS_ERR_FORMAT, ":4: row 3 is outside 1..2"},
    {HEAD "2 2 2\n1 1 1\n1 0 1\n", TESS_ERR_FORMAT, ":4: column 0 is outside 1..2"},
    {HEAD "2 2 1\n-1 1 1\n", TESS_ERR_FORMAT, ":3: row -1 is outside 1..2"},
    {HEAD "2 2 1\n1 18446744073709551617 1\n", TESS_ERR_FORMAT,
     ":3: column 18446744073709551617 is outside 1..2"},
    {HEAD "2 2 1\n1.0 1 1\n", TESS_ERR_FORMAT, ":3: row '1.0' is not a whole number"},
    {HEAD "2 2 1\n1 x 1\n", TESS_ERR_FORMAT, ":3: column 'x' is not a whole number"},
    {HEAD "2 2 1\n1 1\n", TESS_ERR_FORMAT, ":3: the line ends before its value"},
    {HEAD "2 2 1\n1\n", TESS_ERR_FORMAT, ":3: the line ends before its column"},
    {HEAD "2 2 1\n1 1 1 1\n", TESS_ERR_FORMAT,
     ":3: '1' follows the last of the 3 numbers of a line"},
    {MTX "coordinate pattern general\n2 2 1\n1 1 1\n", TESS_ERR_FORMAT,
     ":3: '1' follows the last of the 2 numbers of a line"},
    {MTX "array real general\n1 1\n1 2\n", TESS_ERR_FORMAT,
     ":3: '2' follows the last of the 1 number of a line"},
    {HEAD "2 2 1\n1 1 nan\n", TESS_ERR_FORMAT, ":3: value 'nan' is not a finite number"},
    {HEAD "2 2 1\n1 1 -Infinity\n", TESS_ERR_FORMAT,
     ":3: value '-Infinity' is not a finite number"},
    {HEAD "2 2 1\n1 1 1e309\n", TESS_ERR_FORMAT,
     ":3: value 1e309 is beyond the range of a double (1.8e308)"},
    {HEAD "2 2 1\n1 1 1e99999999999999999999\n", TESS_ERR_FORMAT,
     ":3: value 1e99999999999999999999 is beyond the range of a double (1.8e308)"},
    {HEAD "2 2 1\n1 1 1,5\n", TESS_ERR_FORMAT, ":3: value '1,5' is not a number"},
    {HEAD "2 2 1\n1 1 1e\n", TESS_ERR_FORMAT, ":3: value '1e' is not a number"},
    {HEAD "2 2 1\n1 1 0x10\n", TESS_ERR_FORMAT, ":3: value '0x10' is not a number"},
    {HEAD "2 2 1\n1 1 .\n", TESS_ERR_FORMAT, ":3: value '.' is not a number"},
    {HEAD "2 2 1\n1 1 1\x80\x01\n", TESS_ERR_FORMAT, ":3: value '1\\x80\\x01' is not a number"},
    {MTX "coordinate integer general\n2 2 1\n1 1 1.5\n", TESS_ERR_FORMAT,
     ":3: value 1.5 is not an integer, but the banner says so"},
    {MTX "coordinate real skew-symmetric\n2 2 1\n2 2 3\n", TESS_ERR_FORMAT,
     ":3: a skew-symmetric matrix has a zero diagonal, but row 2, column 2 is 3"},
    {HEAD "2 2 4\n1 1 1\n1 2 x\n2 1 y\n2 2 z\n", TESS_ERR_FORMAT, ":4: value 'x' is not a number"},
    {HEAD "2 2 1\n1 1 1\r1\n", TESS_ERR_FORMAT, ":3: value '1\\x0d1' is not a number"},
};

static void check_bad(void **state, const char *path, tess_status status, const char *message)
{
    tess_ctx *ctx = test_ctx(state);
    int64_t live = test_live(state);
    char want[512];
    snprintf(want, sizeof want, "%s%s", path, message);
    EACH(c, chunks) EACH(t, thread_counts)
    {
        tess_matrix *A = NULL;
        tess_ctx_set_threads(ctx, thread_counts[t]);
        assert_int_equal(tess_mm_read(ctx, path, chunks[c], &A), status);
        assert_string_equal(tess_ctx_error(ctx), want);
        assert_null(A);
        assert_int_equal(test_live(state), live);
    }
}

static void malformed_text_is_refused_with_its_line(void **state)
{
    EACH(i, bad_cases)
    {
        const char *path = file_path("bad.mtx");
        put_file(path, bad_cases[i].text, strlen(bad_cases[i].text));
        check_bad(state, path, bad_cases[i].status, bad_cases[i].message);
        unlink(path);
    }
}

static void system_faults_are_named(void **state)
{
    tess_matrix *A = NULL;
    check_bad(state, file_path("missing.mtx"), TESS_ERR_IO, ": No such file or directory");
    check_bad(state, test_folder, TESS_ERR_IO, ": is a directory, not a file");
    assert_int_equal(tess_matrix_read(test_ctx(state), test_folder, &A), TESS_ERR_IO);
    assert_int_equal(tess_matrix_read(test_ctx(state), NULL, &A), TESS_ERR_ARGUMENT);
}

static void long_lines_are_refused_wherever_they_are(void **state)
{
    static char text[3 * TESS_LINE_MAX];
    static const char *const heads[] = {HEAD "1 1 1\n1 1 1", HEAD "1 1 1\n1 1 1\n%",
                                        HEAD "1 1 1\n1 1 1\n", HEAD "%"};
    static const char *const lines[] = {":3", ":4", ":4", ":2"};
    EACH(i, heads)
    {
        const char *path = file_path("long.mtx");
        char message[80];
        size_t head = strlen(heads[i]);
        memset(text, ' ', sizeof text);
        memcpy(text, heads[i], head);
        text[head + TESS_LINE_MAX + 1] = '\n';
        put_file(path, text, head + TESS_LINE_MAX + 2);
        snprintf(message, sizeof message, "%s: a line of more than 65536 bytes", lines[i]);
        check_bad(state, path, TESS_ERR_FORMAT, message);
        unlink(path);
    }
}

static void damaged_gzip_is_refused(void **state)
{
    const char *path = file_path("bad.mtx.gz");
    char text[4096] = HEAD "60 1 60\n";
    for (int i = 1; i <= 60; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d 1 %d.%d\n", i, i * i, i);
    put_gzip(path, text, strlen(text));
    size_t size;
    unsigned char *bytes = get_file(path, &size);

    put_file(path, bytes, size - 4); /* all the text, but not the end of the trailer */
    check_bad(state, path, TESS_ERR_FORMAT, ":63: the gzip data ends early");
    bytes[size - 8] ^= 1;
    put_file(path, bytes, size);
    check_bad(state, path, TESS_ERR_FORMAT, ":63: incorrect data check");
    bytes[size - 8] ^= 1;
    bytes[size] = 'x';
    put_file(path, bytes, size + 1);
    check_bad(state, path, TESS_ERR_FORMAT,
              ":63: bytes that are not gzip follow the compressed data");
    put_file(path, bytes, 12);
    check_bad(state, path, TESS_ERR_FORMAT, ":1: the gzip data ends early");
    for (size_t cut = 2; cut < size; cut++) { /* any truncation is an error */
        tess_matrix *A = NULL;
        put_file(path, bytes, cut);
        assert_int_equal(tess_matrix_read(test_ctx(state), path, &A), TESS_ERR_FORMAT);
        assert_null(A);
        if (cut % 8 == 0) { /* and the same one for any chunks: all that was inflated is read */
            char error[256];
            snprintf(error, sizeof error, "%s", tess_ctx_error(test_ctx(state)) + strlen(path));
            check_bad(state, path, TESS_ERR_FORMAT, error);
        }
    }
    free(bytes);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_text_is_refused_with_its_line),
        cmocka_unit_test(system_faults_are_named),
        cmocka_unit_test(long_lines_are_refused_wherever_they_are),
        cmocka_unit_test(damaged_gzip_is_refused),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
