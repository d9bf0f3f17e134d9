/* Wisdom files: round trips, damage, merging, atomic writing; keys. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/wisdom/wisdom.h"
#include "support/support.h"

static char directory[64], path[128];

static int setup(void **state)
{
    snprintf(directory, sizeof directory, "/tmp/tessera-wisdom-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof path, "%s/deep/er/wisdom.json", directory);
    setenv("TESSERA_WISDOM", path, 1);
    unsetenv("TESSERA_PROFILES");
    return test_setup(state);
}

static int teardown(void **state)
{
    char parent[128];
    unlink(path);
    snprintf(parent, sizeof parent, "%s/deep/er", directory);
    rmdir(parent);
    snprintf(parent, sizeof parent, "%s/deep", directory);
    rmdir(parent);
    int left = rmdir(directory); /* fails when a temporary file was left behind */
    return test_teardown(state) != 0 || left != 0;
}

static tess_wisdom_entry entry_of(const char *key, const char *kernel)
{
    tess_wisdom_entry entry = {.seconds = 0.25, .bytes = 1e9, .effort = TESS_EFFORT_EXHAUSTIVE};
    snprintf(entry.key, sizeof entry.key, "%s", key);
    snprintf(entry.candidate.format, sizeof entry.candidate.format, "bsr");
    snprintf(entry.candidate.kernel, sizeof entry.candidate.kernel, "%s", kernel);
    snprintf(entry.candidate.params, sizeof entry.candidate.params, "C=32,U=2");
    snprintf(entry.kernels, sizeof entry.kernels, "%s", tess_cpu_kernel_hash);
    return entry;
}

static void put_text(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static tess_ctx *fresh_context(void)
{
    tess_ctx *ctx;
    assert_int_equal(tess_ctx_create(NULL, &ctx), TESS_OK);
    return ctx;
}

static void what_is_remembered_is_there_in_the_next_context(void **state)
{
    (void)state;
    tess_ctx *first = fresh_context(), *second = fresh_context();
    tess_wisdom_entry one = entry_of("k1", "fast"), two = entry_of("k2", "faster");
    tess_wisdom_remember(first, &one);
    tess_wisdom_remember(first, &two);
    const tess_wisdom_entry *found = tess_wisdom_find(second, "k1");
    assert_non_null(found);
    assert_string_equal(found->candidate.kernel, "fast");
    assert_string_equal(found->candidate.format, "bsr");
    assert_string_equal(found->candidate.params, "C=32,U=2");
    assert_true(found->seconds == 0.25 && found->bytes == 1e9);
    assert_int_equal(found->effort, TESS_EFFORT_EXHAUSTIVE);
    assert_true(tess_wisdom_is_current(found, &tess_cpu_backend));
    assert_false(tess_wisdom_is_current(found, &tess_cuda_backend));
    assert_null(tess_wisdom_backend(found)); /* k1 is no device's model */
    tess_wisdom_entry ours = entry_of("cuda, NVIDIA H200, 132 SMs|spmv|3x3", "sliced");
    assert_ptr_equal(tess_wisdom_backend(&ours), &tess_cuda_backend);
    ours = entry_of("cpu|spmv|3x3", "bsr");
    assert_ptr_equal(tess_wisdom_backend(&ours), &tess_cpu_backend);
    assert_null(tess_wisdom_find(second, "k3"));
    tess_ctx_destroy(first);
    tess_ctx_destroy(second);
}

static void two_contexts_do_not_lose_each_others_entries(void **state)
{
    (void)state;
    tess_ctx *a = fresh_context(), *b = fresh_context(), *c = fresh_context();
    assert_null(tess_wisdom_find(a, "ka")); /* both contexts have read before either writes */
    assert_null(tess_wisdom_find(b, "kb"));
    tess_wisdom_entry one = entry_of("ka", "fast"), two = entry_of("kb", "faster");
    tess_wisdom_remember(a, &one);
    tess_wisdom_remember(b, &two);
    assert_non_null(tess_wisdom_find(c, "ka"));
    assert_non_null(tess_wisdom_find(c, "kb"));
    int64_t forgotten;
    assert_int_equal(tess_wisdom_forget(c, "ka", &forgotten), TESS_OK);
    assert_int_equal(forgotten, 1);
    assert_null(tess_wisdom_find(c, "ka"));
    assert_non_null(tess_wisdom_find(c, "kb"));
    tess_ctx_destroy(a);
    tess_ctx_destroy(b);
    tess_ctx_destroy(c);
}

static int lines;

static void count_lines(void *user, const char *line)
{
    (void)user;
    lines += strncmp(line, "wisdom: ", 8) == 0;
}

static void damaged_entries_are_ignored_with_a_log_line(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"tessera_wisdom\": 1, \"entries\": {\"k\": 3}}",
        "{\"tessera_wisdom\": 1, \"entries\": {\"k\": {\"format\": \"bsr\"}}}",
        "{\"tessera_wisdom\": 1, \"entries\": {\"k\": {\"format\": \"bsr\", \"kernel\": \"\", "
        "\"params\": \"\", \"seconds\": 1, \"bytes\": 1, \"effort\": \"measure\"}}}",
        "{\"tessera_wisdom\": 1, \"entries\": {\"k\": {\"format\": \"bsr\", \"kernel\": \"x\", "
        "\"params\": \"\", \"seconds\": -1, \"bytes\": 1, \"effort\": \"measure\"}}}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tess_ctx *ctx;
        tess_ctx_options options = {.log = count_lines};
        assert_int_equal(tess_ctx_create(&options, &ctx), TESS_OK);
        put_text(bad[i]);
        lines = 0;
        if (tess_wisdom_find(ctx, "k") || lines != 1 || *tess_ctx_error(ctx))
            fail_msg("case %zu: %d log lines, error '%s'", i, lines, tess_ctx_error(ctx));
        tess_wisdom_entry good = entry_of("k", "fast"); /* a good entry can replace it */
        tess_wisdom_remember(ctx, &good);
        assert_non_null(tess_wisdom_find(ctx, "k"));
        tess_ctx_destroy(ctx);
    }
}

static void the_users_file_wins_over_profiles(void **state)
{
    (void)state;
    char profile[160];
    tess_ctx *ctx = fresh_context();
    struct tess_wisdom shipped = {.ctx = ctx};
    tess_wisdom_entry a = entry_of("both", "shipped"), b = entry_of("profile", "shipped");
    a.unsaved = b.unsaved = true;
    snprintf(profile, sizeof profile, "%s/profile.json", directory);
    assert_int_equal(tess_wisdom_put(&shipped, &a), TESS_OK);
    assert_int_equal(tess_wisdom_put(&shipped, &b), TESS_OK);
    assert_int_equal(tess_wisdom_save_file(&shipped, profile), TESS_OK);
    tess_wisdom_free(&shipped);
    a = entry_of("both", "own");
    tess_wisdom_remember(ctx, &a);
    tess_ctx_destroy(ctx);

    setenv("TESSERA_PROFILES", profile, 1);
    ctx = fresh_context();
    assert_string_equal(tess_wisdom_find(ctx, "both")->candidate.kernel, "own");
    assert_string_equal(tess_wisdom_find(ctx, "profile")->candidate.kernel, "shipped");
    unsetenv("TESSERA_PROFILES");
    tess_ctx_destroy(ctx);
    unlink(profile);
}

static void an_unwritable_place_is_no_error(void **state)
{
    (void)state;
    setenv("TESSERA_WISDOM", "/proc/nowhere/wisdom.json", 1);
    tess_ctx *ctx = fresh_context();
    tess_wisdom_entry entry = entry_of("k", "fast");
    tess_wisdom_remember(ctx, &entry);
    assert_string_equal(tess_ctx_error(ctx), "");
    assert_non_null(tess_wisdom_find(ctx, "k")); /* for this context, at least */
    tess_ctx_destroy(ctx);
    setenv("TESSERA_WISDOM", "off", 1);
    ctx = fresh_context();
    tess_wisdom_remember(ctx, &entry);
    assert_null(tess_wisdom_find(ctx, "k"));
    tess_ctx_destroy(ctx);
    setenv("TESSERA_WISDOM", path, 1);
}

static void keys_tell_classes_apart(void **state)
{
    static const char *const inputs[][2] = {
        {"stencil7:n=8,b=3", "cpu of today|spmv|3x3|f64|medium|regular|cache|half"},
        {"stencil7:n=20,b=3", "cpu of today|spmv|3x3|f64|medium|regular|memory|half"},
        {"stencil7:n=8,b=1,type=f32", "cpu of today|spmv|1x1|f32|short|regular|cache|half"},
        {"stencil27:n=8,b=4", "cpu of today|spmv|4x4|f64|long|regular|memory|half"},
        {"cdr:n=8,b=3", "cpu of today|spmv|3x3|f64|medium|regular|cache"},
        {"random:rows=100,count=40,r=2,c=5", "cpu of today|spmv|2x5|f64|long|regular|cache"},
        {"powerlaw:rows=2000,avg=6,b=3,long=2,length=1000",
         "cpu of today|spmv|3x3|f64|medium|irregular|memory"},
    };
    tess_ctx *ctx = test_ctx(state);
    tess_device device = {.ctx = ctx,
                          .backend = tess_backend_named("cpu", 3),
                          .model = "cpu of today",
                          .cache_bytes = 1e6};
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        tess_matrix *A;
        char key[TESS_WISDOM_KEY];
        assert_int_equal(tess_matrix_generate(ctx, inputs[i][0], &A, NULL), TESS_OK);
        tess_wisdom_key(&device, A, key);
        assert_string_equal(key, inputs[i][1]);
        tess_matrix_destroy(A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_remembered_is_there_in_the_next_context),
        cmocka_unit_test(two_contexts_do_not_lose_each_others_entries),
        cmocka_unit_test(damaged_entries_are_ignored_with_a_log_line),
        cmocka_unit_test(the_users_file_wins_over_profiles),
        cmocka_unit_test(an_unwritable_place_is_no_error),
        cmocka_unit_test(keys_tell_classes_apart),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
