/* .tess files: damage anywhere is found, and wrong sizes in a header allocate no memory. */
#include "unit/io/files.h"

#include "matrix/io/tess_file.h"

/* Returns the bytes of a small file. The caller frees them with free(). */
static unsigned char *sample(tess_ctx *ctx, const char *path, size_t *size)
{
    tess_matrix *A = test_matrix(ctx, TEST_RAGGED, 5, 3, 2, TESS_F64, 1);
    assert_int_equal(tess_matrix_write(ctx, A, path), TESS_OK);
    tess_matrix_destroy(A);
    return get_file(path, size);
}

static void flipping_any_byte_is_found(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("a.tess");
    size_t size;
    unsigned char *bytes = sample(ctx, path, &size);
    int64_t live = test_live(state);
    tess_ctx_set_threads(ctx, 1); /* many tiny reads */
    tess_file_header header;
    memcpy(&header, bytes, sizeof header);
    for (size_t i = 0; i < size; i++) {
        /* Zeros between sections are padding and are not checked. */
        int64_t at = (int64_t)i;
        bool gap = i >= TESS_FILE_HEADER;
        for (int s = 0; s < 3; s++)
            gap &= at < header.section[s].offset ||
                   at >= header.section[s].offset + header.section[s].bytes;
        bytes[i] ^= (unsigned char)(1u << i % 8);
        put_file(path, bytes, size);
        tess_matrix *A = NULL;
        tess_status status = tess_matrix_read(ctx, path, &A);
        bytes[i] ^= (unsigned char)(1u << i % 8);
        if (gap) {
            assert_int_equal(status, TESS_OK);
            tess_matrix_destroy(A);
            continue;
        }
        if (status != TESS_ERR_FORMAT)
            fail_msg("byte %zu flipped: status %d", i, (int)status);
        assert_null(A);
        assert_int_equal(test_live(state), live);
        assert_true(strncmp(tess_ctx_error(ctx), path, strlen(path)) == 0);
    }
    tess_ctx_set_threads(ctx, 0);
    free(bytes);
    unlink(path);
}

static void any_truncation_is_found(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("a.tess");
    size_t size;
    unsigned char *bytes = sample(ctx, path, &size);
    for (size_t cut = 0; cut < size; cut += 7) {
        tess_matrix *A = NULL;
        put_file(path, bytes, cut);
        assert_int_equal(tess_matrix_read(ctx, path, &A), TESS_ERR_FORMAT);
        assert_null(A);
    }
    free(bytes);
    unlink(path);
}

typedef void (*change_fn)(tess_file_header *header);

static void newer_version(tess_file_header *h)
{
    h->version = 2;
}
static void unknown_type(tess_file_header *h)
{
    h->type = 7;
}
static void zero_width(tess_file_header *h)
{
    h->block_width = 0;
}
static void huge_height(tess_file_header *h)
{
    h->block_height = 0xffffffffu;
}
static void huge_rows(tess_file_header *h)
{
    h->rows = INT64_MAX / 16;
}
static void negative_cols(tess_file_header *h)
{
    h->cols = -1;
}
static void huge_blocks(tess_file_header *h)
{
    h->blocks = INT64_MAX / 128;
}
static void moved_section(tess_file_header *h)
{
    h->section[1].offset += 64;
}
static void longer_section(tess_file_header *h)
{
    h->section[2].bytes += 8;
}
static void other_file_size(tess_file_header *h)
{
    h->file_bytes++;
}

static void lying_headers_are_refused(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const struct {
        change_fn change;
        tess_status status;
        const char *message;
    } cases[] = {
        {newer_version, TESS_ERR_UNSUPPORTED,
         "version 2 of the format, this library reads version 1"},
        {unknown_type, TESS_ERR_FORMAT, "type 7 and blocks of 3 x 2 are not valid"},
        {zero_width, TESS_ERR_FORMAT, "blocks of 3 x 0 are outside 1..32768"},
        {huge_height, TESS_ERR_FORMAT, "type 0 and blocks of 4294967295 x 2 are not valid"},
        {huge_rows, TESS_ERR_FORMAT, "the sizes in the header contradict each other"},
        {negative_cols, TESS_ERR_FORMAT, "has a negative dimension"},
        {huge_blocks, TESS_ERR_FORMAT, "the sizes in the header contradict each other"},
        {moved_section, TESS_ERR_FORMAT, "the sizes in the header contradict each other"},
        {longer_section, TESS_ERR_FORMAT, "the sizes in the header contradict each other"},
        {other_file_size, TESS_ERR_FORMAT, "bytes, but should have"},
    };
    const char *path = file_path("a.tess");
    size_t size;
    unsigned char *bytes = sample(ctx, path, &size);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_file_header header;
        memcpy(&header, bytes, sizeof header);
        cases[i].change(&header);
        header.checksum = tess_file_header_checksum(&header);
        put_file(path, bytes, size);
        FILE *file = fopen(path, "r+b");
        assert_int_equal(fwrite(&header, 1, sizeof header, file), sizeof header);
        fclose(file);
        tess_matrix *A = NULL;
        assert_int_equal(tess_matrix_read(ctx, path, &A), cases[i].status);
        if (!strstr(tess_ctx_error(ctx), cases[i].message))
            fail_msg("'%s' does not say '%s'", tess_ctx_error(ctx), cases[i].message);
    }
    free(bytes);
    unlink(path);
}

/* Arrays that break the matrix's rules, under correct checksums. */
static void broken_arrays_are_refused(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("a.tess");
    for (int which = 0; which < 3; which++) {
        tess_matrix *A = test_matrix(ctx, TEST_RAGGED, 5, 3, 2, TESS_F64, 1), *B = NULL;
        if (which == 0)
            A->row_offsets[2] = 1000;
        else if (which == 1)
            A->columns[0] = -1;
        else
            ((double *)A->values)[A->blocks * 6 - 1] = 3; /* padding */
        assert_int_equal(tess_file_write(ctx, A, path), TESS_OK);
        assert_int_equal(tess_matrix_read(ctx, path, &B), TESS_ERR_FORMAT);
        assert_null(B);
        tess_matrix_destroy(A);
    }
    unlink(path);
}

/* The context, whose next progress is called at once, and the largest fraction so far. */
typedef struct seen {
    tess_ctx *ctx;
    double largest;
} seen;

static int keep_largest(void *user, const char *what, double fraction)
{
    seen *s = user;
    (void)what;
    s->ctx->progress_next = 0;
    s->largest = tess_max(s->largest, fraction);
    return 0;
}

/* The last piece of a section is seldom whole. */
static void progress_counts_bytes_of_the_file(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("a.tess");
    size_t size;
    tess_matrix *A;
    tess_file_header header;
    seen s = {.ctx = ctx};
    unsigned char *bytes = sample(ctx, path, &size);
    memcpy(&header, bytes, sizeof header);
    tess_ctx_set_progress(ctx, keep_largest, &s);
    ctx->progress_next = 0;
    assert_int_equal(tess_matrix_read(ctx, path, &A), TESS_OK);
    tess_ctx_set_progress(ctx, NULL, NULL);
    const double ends = (double)(header.section[2].offset + header.section[2].bytes);
    assert_true(s.largest == ends / (double)header.file_bytes);
    tess_matrix_destroy(A);
    free(bytes);
    unlink(path);
}

static void running_out_of_memory_leaves_nothing(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("a.tess");
    size_t size;
    free(sample(ctx, path, &size));
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    do {
        tess_matrix *A = NULL;
        status = tess_matrix_read(ctx, path, &A);
        tess_matrix_destroy(A);
    } while (test_sweep_goes_on(&sweep, status));
    assert_true(sweep.failed >= 4);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flipping_any_byte_is_found),
        cmocka_unit_test(any_truncation_is_found),
        cmocka_unit_test(lying_headers_are_refused),
        cmocka_unit_test(broken_arrays_are_refused),
        cmocka_unit_test(progress_counts_bytes_of_the_file),
        cmocka_unit_test(running_out_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
