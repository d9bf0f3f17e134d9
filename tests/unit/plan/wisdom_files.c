/* The files of wisdom and models: no other user's file is touched, no process loses another one's
 * entries, and the caller controls both. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan/model/model.h"
#include "plan/wisdom/wisdom.h"
#include "support/support.h"

static char directory[64], path[128];

static int setup(void **state)
{
    snprintf(directory, sizeof directory, "/tmp/tessera-files-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof path, "%s/A.mtx", directory);
    setenv("TESSERA_WISDOM", path, 1);
    unsetenv("TESSERA_PROFILES");
    return test_setup(state);
}

static int teardown(void **state)
{
    unlink(path);
    int left = rmdir(directory); /* fails when a temporary file was left behind */
    return test_teardown(state) != 0 || left != 0;
}

static tess_wisdom_entry entry_of(const char *key)
{
    tess_wisdom_entry entry = {.seconds = 0.25, .bytes = 1e9, .effort = TESS_EFFORT_MEASURE};
    snprintf(entry.key, sizeof entry.key, "%s", key);
    snprintf(entry.candidate.format, sizeof entry.candidate.format, "bsr");
    snprintf(entry.candidate.kernel, sizeof entry.candidate.kernel, "fast");
    return entry;
}

static void put_text(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void expect_text(const char *text)
{
    char seen[512] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    seen[fread(seen, 1, sizeof seen - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(seen, text);
}

static const char *const foreign[] = {
    "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 3.5\n",
    "{",
    "[]",
    "\n",
    "{\"tessera_wisdom\": 2, \"entries\": {}}",
    "{\"tessera_wisdom\": 1, \"entries\": []}",
    "{\"tessera_model\": 1, \"devices\": {}}",
    "{\"tessera_model\": 2, \"devices\": 3}",
};
enum { FOREIGN = sizeof foreign / sizeof *foreign };

static int lines;

static void count_lines(void *user, const char *line)
{
    (void)user;
    lines += strncmp(line, "wisdom: ", 8) == 0;
}

static void a_file_that_is_not_wisdom_stays_as_it_is(void **state)
{
    (void)state;
    for (int i = 0; i < FOREIGN; i++) {
        tess_ctx *ctx;
        tess_ctx_options options = {.log = count_lines};
        tess_wisdom_entry entry = entry_of("k");
        int64_t forgotten;
        put_text(foreign[i]);
        assert_int_equal(tess_ctx_create(&options, &ctx), TESS_OK);
        lines = 0;
        assert_null(tess_wisdom_find(ctx, "k"));
        assert_int_equal(lines, 1);
        tess_wisdom_remember(ctx, &entry);
        assert_int_equal(lines, 2);
        assert_string_equal(tess_ctx_error(ctx), "");
        assert_non_null(tess_wisdom_find(ctx, "k")); /* in this context */
        assert_int_equal(tess_wisdom_save(ctx), TESS_ERR_FORMAT);
        assert_non_null(strstr(tess_ctx_error(ctx), path));
        assert_int_equal(tess_wisdom_forget(ctx, "", &forgotten), TESS_ERR_FORMAT);
        expect_text(foreign[i]);
        tess_ctx_destroy(ctx);
    }
}

static void a_file_that_is_not_a_model_stays_as_it_is(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_model *model, *back = NULL;
    assert_int_equal(tess_model_create(ctx, "device", &model), TESS_OK);
    for (int i = 0; i < FOREIGN; i++) {
        put_text(foreign[i]);
        assert_int_equal(tess_model_write(ctx, path, NULL), TESS_ERR_FORMAT);
        assert_int_equal(tess_model_write(ctx, path, model), TESS_ERR_FORMAT);
        assert_int_equal(tess_model_read_file(ctx, path, "device", &back), TESS_OK);
        assert_null(back);
        expect_text(foreign[i]);
    }
    tess_model_destroy(model);
    /* A calibration refuses the file before it measures. */
    tess_device *device;
    tess_model_part *part;
    assert_int_equal(tess_device_open(ctx, "cpu:1", &device), TESS_OK);
    put_text(foreign[0]);
    assert_int_equal(tess_calibrate(device, TESS_F64, 1, 1e6, NULL, path, &part), TESS_ERR_FORMAT);
    expect_text(foreign[0]);
    tess_device_close(device);
}

static void an_empty_file_is_filled_and_a_device_is_refused(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_wisdom_entry entry = entry_of("k");
    put_text("");
    assert_int_equal(tess_ctx_set_wisdom(ctx, TESS_WISDOM_FILE, path), TESS_OK);
    tess_wisdom_remember(ctx, &entry);
    assert_int_equal(tess_ctx_set_wisdom(ctx, TESS_WISDOM_FILE, path), TESS_OK);
    assert_non_null(tess_wisdom_find(ctx, "k"));
    assert_int_equal(tess_ctx_set_wisdom(ctx, TESS_WISDOM_FILE, "/dev/null"), TESS_OK);
    assert_int_equal(tess_wisdom_save(ctx), TESS_ERR_IO);
    assert_int_equal(tess_ctx_set_wisdom(ctx, TESS_WISDOM_FILE, directory), TESS_OK);
    assert_int_equal(tess_wisdom_save(ctx), TESS_ERR_IO);
    assert_int_equal(tess_ctx_set_wisdom(ctx, TESS_WISDOM_USUAL, NULL), TESS_OK);
    unlink(path);
}

static void many_processes_lose_nothing_to_each_other(void **state)
{
    (void)state;
    enum { PROCESSES = 6, EACH = 12 };
    pid_t children[PROCESSES];
    unlink(path);
    for (int p = 0; p < PROCESSES; p++) {
        children[p] = fork();
        assert_true(children[p] >= 0);
        if (children[p] == 0) {
            tess_ctx *ctx;
            tess_status status = tess_ctx_create(NULL, &ctx);
            for (int i = 0; i < EACH && status == TESS_OK; i++) {
                char key[32];
                snprintf(key, sizeof key, "p%d|%d|", p, i);
                tess_wisdom_entry entry = entry_of(key);
                tess_wisdom_remember(ctx, &entry);
                status = tess_wisdom_save(ctx);
            }
            _exit(status == TESS_OK ? 0 : 1);
        }
    }
    for (int p = 0; p < PROCESSES; p++) {
        int how;
        assert_int_equal(waitpid(children[p], &how, 0), children[p]);
        assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    }
    tess_ctx *ctx;
    assert_int_equal(tess_ctx_create(NULL, &ctx), TESS_OK);
    assert_int_equal(tess_wisdom_of(ctx)->count, PROCESSES * EACH);
    tess_ctx_destroy(ctx);
    unlink(path);
}

static void memory_touches_no_file_and_off_remembers_nothing(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_wisdom_entry entry = entry_of("k");
    char text[256];
    int enabled;
    unlink(path);
    assert_int_equal(tess_ctx_set_wisdom(ctx, TESS_WISDOM_MEMORY, NULL), TESS_OK);
    tess_wisdom_remember(ctx, &entry);
    assert_non_null(tess_wisdom_find(ctx, "k"));
    assert_int_equal(tess_wisdom_save(ctx), TESS_OK);
    assert_int_equal(tess_wisdom_file(ctx, sizeof text, text, &enabled), TESS_OK);
    assert_true(enabled && !*text);
    assert_int_equal(tess_model_file(ctx, sizeof text, text), TESS_OK);
    assert_string_equal(text, "");
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(tess_ctx_set_wisdom(ctx, TESS_WISDOM_OFF, NULL), TESS_OK);
    tess_wisdom_remember(ctx, &entry);
    assert_null(tess_wisdom_find(ctx, "k"));
    assert_int_equal(tess_wisdom_import(ctx, "{}", NULL), TESS_ERR_UNSUPPORTED);
    setenv("TESSERA_WISDOM", "off", 1); /* the caller's setting comes before the environment's */
    assert_int_equal(tess_ctx_set_wisdom(ctx, TESS_WISDOM_FILE, path), TESS_OK);
    tess_wisdom_remember(ctx, &entry);
    assert_int_equal(access(path, F_OK), 0);
    setenv("TESSERA_WISDOM", path, 1);
    assert_int_equal(tess_ctx_set_wisdom(ctx, TESS_WISDOM_USUAL, NULL), TESS_OK);
    assert_int_equal(tess_ctx_set_wisdom(ctx, TESS_WISDOM_FILE, NULL), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_ctx_set_wisdom(ctx, TESS_WISDOM_OFF, path), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_ctx_set_wisdom(ctx, (tess_wisdom_keep)4, NULL), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_ctx_set_wisdom(NULL, TESS_WISDOM_OFF, NULL), TESS_ERR_ARGUMENT);
    unlink(path);
}

static void text_carries_wisdom_from_context_to_context(void **state)
{
    tess_ctx *ctx = test_ctx(state), *other;
    tess_wisdom_entry one = entry_of("k1"), two = entry_of("k2");
    char *text;
    int64_t classes;
    assert_int_equal(tess_ctx_set_wisdom(ctx, TESS_WISDOM_MEMORY, NULL), TESS_OK);
    tess_wisdom_remember(ctx, &one);
    tess_wisdom_remember(ctx, &two);
    assert_int_equal(tess_wisdom_export(ctx, &text), TESS_OK);
    assert_int_equal(tess_ctx_create(NULL, &other), TESS_OK);
    assert_int_equal(tess_wisdom_import(other, text, &classes), TESS_OK);
    assert_int_equal(classes, 2);
    assert_string_equal(tess_wisdom_find(other, "k2")->candidate.kernel, "fast");
    assert_int_equal(access(path, F_OK), 0); /* and in the other context's file */
    tess_ctx_destroy(other);
    tess_release(ctx, text);
    assert_int_equal(tess_wisdom_import(ctx, "{\"tessera_wisdom\": 1}", &classes), TESS_ERR_FORMAT);
    assert_int_equal(tess_wisdom_import(ctx, "no", &classes), TESS_ERR_FORMAT);
    assert_int_equal(tess_wisdom_import(ctx, NULL, &classes), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_wisdom_export(ctx, NULL), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_wisdom_forget(ctx, NULL, &classes), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_ctx_set_wisdom(ctx, TESS_WISDOM_USUAL, NULL), TESS_OK);
    unlink(path);
}

static void what_is_forgotten_is_counted_wherever_it_was(void **state)
{
    (void)state;
    tess_ctx *ctx, *other;
    tess_wisdom_entry both = entry_of("a both"), later = entry_of("a later"),
                      stays = entry_of("b stays");
    int64_t forgotten = -1;
    assert_int_equal(tess_ctx_create(NULL, &ctx), TESS_OK);
    assert_int_equal(tess_ctx_create(NULL, &other), TESS_OK);
    tess_wisdom_remember(ctx, &both);
    tess_wisdom_remember(ctx, &stays);
    tess_wisdom_remember(other, &later); /* in the file, after the first context has read it */
    assert_int_equal(tess_wisdom_forget(ctx, "a ", &forgotten), TESS_OK);
    assert_int_equal(forgotten, 2);
    unlink(path);
    assert_int_equal(tess_wisdom_forget(ctx, "", &forgotten), TESS_OK);
    assert_int_equal(forgotten, 1); /* in the context alone */
    assert_null(tess_wisdom_find(ctx, stays.key));
    tess_wisdom_remember(ctx, &stays);
    put_text(foreign[0]);
    assert_int_equal(tess_wisdom_forget(ctx, "", &forgotten), TESS_ERR_FORMAT);
    assert_int_equal(forgotten, 1);
    assert_non_null(tess_wisdom_find(ctx, stays.key));
    unlink(path);
    tess_ctx_destroy(other);
    tess_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_not_wisdom_stays_as_it_is),
        cmocka_unit_test(a_file_that_is_not_a_model_stays_as_it_is),
        cmocka_unit_test(an_empty_file_is_filled_and_a_device_is_refused),
        cmocka_unit_test(many_processes_lose_nothing_to_each_other),
        cmocka_unit_test(memory_touches_no_file_and_off_remembers_nothing),
        cmocka_unit_test(text_carries_wisdom_from_context_to_context),
        cmocka_unit_test(what_is_forgotten_is_counted_wherever_it_was),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
