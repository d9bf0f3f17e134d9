/* What a name that is written to stands for: a new file, a file to replace, a link, a FIFO, or
 * something that may not be written. */
#include "unit/io/files.h"

#include <fcntl.h>
#include <sys/stat.h>

static void expect_text(const char *path, const char *text)
{
    size_t size;
    unsigned char *bytes = get_file(path, &size);
    assert_string_equal((char *)bytes, text);
    free(bytes);
}

static void expect_refused(tess_ctx *ctx, const char *path, const char *reason)
{
    for (int i = 0; i < 2; i++) {
        const tess_status status =
            i == 0 ? tess_output_check(ctx, path) : tess_output_text(ctx, path, 3, "new");
        if (status != TESS_ERR_IO || !strstr(tess_ctx_error(ctx), reason) ||
            !strstr(tess_ctx_error(ctx), path))
            fail_msg("%s: '%s' instead of '%s'", path, tess_ctx_error(ctx), reason);
    }
}

static void a_file_is_replaced_and_keeps_its_permissions(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("a");
    struct stat info;
    put_file(path, "old text", 8);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(tess_output_check(ctx, path), TESS_OK);
    expect_text(path, "old text");
    assert_int_equal(tess_output_text(ctx, path, 3, "new"), TESS_OK);
    expect_text(path, "new");
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    assert_int_equal(files_in_folder(), 1);
    unlink(path);
}

static void a_link_stays_and_its_target_is_written(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *first = file_path("first"), *second = file_path("second"), *target = file_path("t");
    struct stat info;
    assert_int_equal(symlink("second", first), 0); /* relative to its directory */
    assert_int_equal(symlink(target, second), 0);
    for (int i = 0; i < 2; i++) { /* a target that is not there yet, and one that is */
        assert_int_equal(tess_output_check(ctx, first), TESS_OK);
        assert_int_equal(files_in_folder(), 2 + i);
        assert_int_equal(tess_output_text(ctx, first, 3, i ? "two" : "one"), TESS_OK);
        expect_text(target, i ? "two" : "one");
        assert_int_equal(lstat(first, &info), 0);
        assert_true(S_ISLNK(info.st_mode));
        assert_int_equal(lstat(second, &info), 0);
        assert_true(S_ISLNK(info.st_mode));
        assert_int_equal(files_in_folder(), 3);
    }
    unlink(target);
    unlink(second);
    assert_int_equal(symlink("first", second), 0);
    expect_refused(ctx, first, "Too many levels of symbolic links");
    unlink(second);
    unlink(first);
}

static void devices_and_fifos_are_written_in_place(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *path = file_path("fifo");
    char seen[8] = "";
    struct stat info;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(tess_output_check(ctx, path), TESS_OK); /* does not wait for a reader */
    const int reader = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_int_equal(tess_output_text(ctx, path, 4, "text"), TESS_OK);
    assert_int_equal(read(reader, seen, sizeof seen), 4);
    assert_string_equal(seen, "text");
    assert_int_equal(close(reader), 0);
    assert_int_equal(stat(path, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    unlink(path);

    path = file_path("null");
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(tess_output_text(ctx, path, 4, "text"), TESS_OK);
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_int_equal(files_in_folder(), 1);
    unlink(path);
}

static void what_may_not_be_written_stays_as_it_is(void **state)
{
    enum { NOBODY = 65534 };
    tess_ctx *ctx = test_ctx(state);
    const char *kept = file_path("kept"), *closed = file_path("closed/a");
    put_file(kept, "old", 3);
    assert_int_equal(chmod(kept, 0444), 0);
    assert_int_equal(mkdir(file_path("closed"), 0555), 0);
    expect_refused(ctx, file_path("closed"), "Is a directory");
    expect_refused(ctx, file_path("none/a"), "No such file or directory");
    expect_refused(ctx, file_path("kept/a"), "Not a directory");
    expect_refused(ctx, "", "No such file or directory");
    const bool root = geteuid() == 0; /* may write everywhere */
    if (root) {
        assert_int_equal(chmod(test_folder, 0777), 0);
        assert_int_equal(seteuid(NOBODY), 0);
    }
    expect_refused(ctx, kept, "cannot be written: Permission denied");
    expect_refused(ctx, closed, "cannot be created: Permission denied");
    if (root)
        assert_int_equal(seteuid(0), 0);
    expect_text(kept, "old");
    assert_int_equal(files_in_folder(), 2);
    assert_int_equal(rmdir(file_path("closed")), 0);
    unlink(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_replaced_and_keeps_its_permissions),
        cmocka_unit_test(a_link_stays_and_its_target_is_written),
        cmocka_unit_test(devices_and_fifos_are_written_in_place),
        cmocka_unit_test(what_may_not_be_written_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
