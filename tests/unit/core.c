/* Core: contexts, status codes, options strings, random numbers, hash. */
#include "support/support.h"

#include <locale.h>
#include <pthread.h>
#include <string.h>

static void status_codes_are_pinned(void **state)
{
    (void)state;
    assert_int_equal(TESS_OK, 0);
    assert_int_equal(TESS_ERR_FORMAT, 4);
    assert_int_equal(TESS_ERR_INTERNAL, 12);
    assert_int_equal(TESS_ERR_PART, 13);
    assert_string_equal(tess_status_name(TESS_ERR_FORMAT), "TESS_ERR_FORMAT");
    assert_string_equal(tess_status_name((tess_status)99), "TESS_ERR_?");
    assert_string_equal(tess_version(), "0.2.0");
}

static void options_set_every_kind(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const char *const methods[] = {"cg", "gmres", NULL};
    int64_t n = 0;
    double tol = 0;
    int fast = 0, method = -1;
    char name[8] = "";
    const tess_option table[] = {
        {.key = "n", .kind = TESS_OPTION_INT, .target = &n, .min = 1, .max = 100},
        {.key = "tol", .kind = TESS_OPTION_DOUBLE, .target = &tol, .min = 0, .max = 1},
        {.key = "fast", .kind = TESS_OPTION_BOOL, .target = &fast},
        {.key = "method", .kind = TESS_OPTION_CHOICE, .target = &method, .choices = methods},
        {.key = "name", .kind = TESS_OPTION_TEXT, .target = name, .size = sizeof name},
    };
    const char *text = "n=12,tol=1e-3,fast,method=gmres,name=abc";
    assert_int_equal(tess_options_parse(ctx, "test", text, table, 5), TESS_OK);
    assert_int_equal(n, 12);
    assert_true(tol == 1e-3);
    assert_int_equal(fast, 1);
    assert_int_equal(method, 1);
    assert_string_equal(name, "abc");

    const struct {
        const char *text, *error;
    } bad[] = {
        {"toll=1", "test: unknown key 'toll' (nearest: 'tol')"},
        {"n=0", "test: n=0 is outside 1..100"},
        {"n=1x", "test: n=1x is not an integer"},
        {"n", "test: key 'n' needs a value: n=..."},
        {"tol=nan", "test: tol=nan is not a number"},
        {"fast=maybe", "test: fast=maybe is neither yes nor no"},
        {"method=cgs", "test: method=cgs is not a choice (nearest: 'cg')"},
        {"name=abcdefgh", "test: the value of name is longer than 7 bytes"},
        {",", "test: an option without a key"},
        {"=3", "test: an option without a key"},
        {"n=1,", "test: an option without a key"},
        {"n=1,,fast", "test: an option without a key"},
        {"n=", "test: n= is not an integer"},
        {"n= 5", "test: n= 5 is not an integer"},
        {"n=9223372036854775808", "test: n=9223372036854775808 is not an integer"},
        {"n=101", "test: n=101 is outside 1..100"},
        {"tol=0,5", "test: unknown key '5' (one of: n, tol, fast, method, name)"},
        {"tol=1e400", "test: tol=1e400 is not a number"},
        {"tol=-1", "test: tol=-1 is outside 0..1"},
        {"tol=inf", "test: tol=inf is not a number"},
        {"fast=", "test: fast= is neither yes nor no"},
        {"N=3", "test: unknown key 'N' (one of: n, tol, fast, method, name)"},
        {" n=3", "test: unknown key ' n' (nearest: 'n')"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(tess_options_parse(ctx, "test", bad[i].text, table, 5), TESS_ERR_OPTION);
        assert_string_equal(tess_ctx_error(ctx), bad[i].error);
    }
}

static void choices_have_both_spellings(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    static const char *const schedules[] = {"levels", "colours", "four", "hour", NULL};
    static const struct {
        const char *text;
        int choice; /* -1: none */
    } cases[] = {{"s=colours", 1}, {"s=colors", 1}, {"s=coluors", -1}, {"s=colrs", -1},
                 {"s=clours", -1}, {"s=colo", -1},  {"s=colorss", -1}, {"s=levels", 0},
                 {"s=four", 2},    {"s=hour", 3},   {"s=our", -1},     {"s=u", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int choice = -1;
        const tess_option table = {
            .key = "s", .kind = TESS_OPTION_CHOICE, .target = &choice, .choices = schedules};
        const tess_status status = tess_options_parse(ctx, "test", cases[i].text, &table, 1);
        if (choice != cases[i].choice || (status == TESS_OK) != (choice >= 0))
            fail_msg("%s: choice %d", cases[i].text, choice);
    }
}

static void random_numbers_are_fixed_and_uniform(void **state)
{
    (void)state;
    assert_true(tess_random_u64(1, 0) != tess_random_u64(2, 0));
    assert_true(tess_random_u64(1, 0) == tess_random_u64(1, 0));
    double sum = 0;
    for (uint64_t i = 0; i < 10000; i++) {
        double u = tess_random_unit(7, i);
        assert_true(u >= -1 && u < 1 && u != 0);
        sum += u;
        int64_t below = tess_random_below(9, i, 5);
        assert_true(below >= 0 && below < 5);
    }
    assert_true(sum / 10000 < 0.03 && sum / 10000 > -0.03);
}

/* XXH64 values from the algorithm's specification: the empty string, and inputs in the style of
 * 1..100. */
static void hash_is_xxh64(void **state)
{
    (void)state;
    assert_true(tess_hash_bytes("", 0, 0) == 0xef46db3751d8e999u);
    assert_true(tess_hash_bytes("a", 1, 0) == 0xd24ec4f1a98c6e5bu);
    assert_true(tess_hash_bytes("abc", 3, 0) == 0x44bc2cf5ad770999u);
}

static void a_failed_allocation_is_reported_not_fatal(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    void *pointer = ctx;
    assert_int_equal(tess_alloc_bytes(ctx, INT64_MAX, 16, &pointer), TESS_ERR_OVERFLOW);
    assert_ptr_equal(pointer, ctx);
    assert_int_equal(tess_alloc_bytes(ctx, -1, 1, &pointer), TESS_ERR_OVERFLOW);
}

static void options_take_edge_values_and_each_key_once(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    int64_t n = 0;
    int fast = 5;
    double tol = 0;
    char path[16] = "untouched";
    const tess_option table[] = {
        {.key = "n", .kind = TESS_OPTION_INT, .target = &n, .min = -1e19, .max = 1e19},
        {.key = "tol", .kind = TESS_OPTION_DOUBLE, .target = &tol, .min = -1, .max = 1},
        {.key = "fast", .kind = TESS_OPTION_BOOL, .target = &fast},
        {.key = "path", .kind = TESS_OPTION_TEXT, .target = path, .size = sizeof path},
    };
    assert_int_equal(tess_options_parse(ctx, "test", NULL, table, 4), TESS_OK);
    assert_int_equal(tess_options_parse(ctx, "test", "", table, 4), TESS_OK);
    assert_string_equal(path, "untouched");
    assert_int_equal(
        tess_options_parse(ctx, "test", "path=,fast=off,tol=-.5,n=-9223372036854775808", table, 4),
        TESS_OK);
    assert_string_equal(path, "");
    assert_int_equal(fast, 0);
    assert_true(tol == -0.5);
    assert_true(n == INT64_MIN);
    assert_int_equal(tess_options_parse(ctx, "test", "path=a=b:c", table, 4), TESS_OK);
    assert_string_equal(path, "a=b:c");
    assert_int_equal(tess_options_parse(ctx, "test", "n=1,fast,n=1", table, 4), TESS_ERR_OPTION);
    assert_string_equal(tess_ctx_error(ctx), "test: key 'n' is given twice: leave one out");
    assert_int_equal(tess_options_parse(ctx, "test", "x", table, 0), TESS_ERR_OPTION);
    assert_string_equal(tess_ctx_error(ctx), "test: unknown key 'x' (it takes no keys)");

    char longest[400];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(tess_options_parse(ctx, "test", longest, table, 4), TESS_ERR_OPTION);
    assert_string_equal(tess_ctx_error(ctx), "test: an option of 399 bytes is too long");
}

static void a_point_is_a_point_in_every_locale(void **state)
{
    (void)state;
    double value = 0;
    const char *const comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "de_DE"};
    for (size_t i = 0; i < 4 && !setlocale(LC_ALL, comma[i]); i++)
        ;
    assert_true(tess_parse_double("0.5", &value) && value == 0.5);
    assert_false(tess_parse_double("0,5", &value));
    setlocale(LC_ALL, "C");
}

static void nearest_is_by_edit_distance(void **state)
{
    (void)state;
    const char *const words[] = {"stencil7", "stencil27", "elasticity"};
    assert_string_equal(tess_nearest("stencil2", words, 3), "stencil7");
    assert_string_equal(tess_nearest("stensil27", words, 3), "stencil27");
    assert_string_equal(tess_nearest("elatsiicty", words, 3), "elasticity");
    assert_null(tess_nearest("", words, 3));
    assert_null(tess_nearest("raefsky", words, 3)); /* no misspelling of any word */
    assert_null(tess_nearest("x", words, 0));
}

static void suggestions_are_the_nearest_or_all(void **state)
{
    (void)state;
    tess_suggestion text;
    const char *const words[] = {"cg", "bicg", "cg", "gmres"};
    assert_string_equal(tess_suggest(&text, "gmre", words, 4), "nearest: 'gmres'");
    assert_string_equal(tess_suggest(&text, "jacobi", words, 4), "one of: cg, bicg, gmres");
    char names[40][16];
    const char *many[40];
    for (int i = 0; i < 40; i++) {
        snprintf(names[i], sizeof names[i], "kernel_%04d", i);
        many[i] = names[i];
    }
    tess_suggest(&text, "zzz", many, 40);
    assert_true(strlen(text.text) < sizeof text.text);
    assert_string_equal(text.text + strlen(text.text) - 5, ", ...");
    assert_non_null(strstr(text.text, "one of: kernel_0000, kernel_0001, "));
}

static void *never(void *user, size_t bytes, size_t alignment)
{
    (void)user, (void)bytes, (void)alignment;
    return NULL;
}

static void release_nothing(void *user, void *pointer)
{
    (void)user, (void)pointer;
}

static void contexts_refuse_what_they_cannot_have(void **state)
{
    (void)state;
    tess_ctx *ctx = NULL;
    assert_int_equal(tess_ctx_create(NULL, NULL), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_ctx_create(&(tess_ctx_options){.threads = -1}, &ctx), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_ctx_create(&(tess_ctx_options){.threads = 100000}, &ctx),
                     TESS_ERR_ARGUMENT);
    assert_int_equal(tess_ctx_create(&(tess_ctx_options){.allocator = {.allocate = never}}, &ctx),
                     TESS_ERR_ARGUMENT);
    assert_int_equal(
        tess_ctx_create(&(tess_ctx_options){.allocator = {never, release_nothing, NULL}}, &ctx),
        TESS_ERR_MEMORY);
    assert_null(ctx);
    tess_ctx_destroy(NULL);
    assert_string_equal(tess_ctx_error(NULL), "");
}

static void threads_are_set_and_bounded(void **state)
{
    (void)state;
    tess_ctx *ctx;
    assert_int_equal(tess_ctx_create(&(tess_ctx_options){.threads = 2}, &ctx), TESS_OK);
    assert_int_equal(tess_ctx_threads(ctx), 2);
    assert_int_equal(tess_ctx_set_threads(ctx, 5), TESS_OK);
    assert_int_equal(tess_ctx_threads(ctx), 5);
    assert_int_equal(tess_ctx_set_threads(ctx, 0), TESS_OK);
    assert_true(tess_ctx_threads(ctx) >= 1);
    assert_int_equal(tess_ctx_set_threads(ctx, -2), TESS_ERR_ARGUMENT);
    assert_string_equal(tess_ctx_error(ctx), "threads = -2 is outside 0..1024");
    assert_int_equal(tess_ctx_set_threads(ctx, 1025), TESS_ERR_ARGUMENT);
    assert_int_equal(tess_ctx_set_threads(NULL, 1), TESS_ERR_ARGUMENT);
    tess_ctx_destroy(ctx);
}

typedef struct calls {
    int count;
    int answer;
    double fraction;
    char line[64];
} calls;

static int count_progress(void *user, const char *what, double fraction)
{
    calls *seen = user;
    seen->count++;
    seen->fraction = fraction;
    snprintf(seen->line, sizeof seen->line, "%s", what);
    return seen->answer;
}

static void keep_line(void *user, const char *line)
{
    calls *seen = user;
    seen->count++;
    snprintf(seen->line, sizeof seen->line, "%s", line);
}

static void progress_is_sparse_and_can_cancel(void **state)
{
    (void)state;
    tess_ctx *ctx;
    calls seen = {0};
    const tess_ctx_options options = {.progress = count_progress, .progress_user = &seen};
    assert_int_equal(tess_ctx_create(&options, &ctx), TESS_OK);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(tess_progress(ctx, "reading", 1, 4), TESS_OK);
    assert_true(seen.count >= 1 && seen.count < 10);
    assert_true(seen.fraction == 0.25);
    assert_string_equal(seen.line, "reading");
    ctx->progress_next = 0;
    assert_int_equal(tess_progress(ctx, "reading", 5, 4), TESS_OK);
    assert_true(seen.fraction == 1);
    seen.answer = 1;
    ctx->progress_next = 0;
    assert_int_equal(tess_progress(ctx, "reading", 1, 0), TESS_ERR_CANCELLED);
    assert_true(seen.fraction < 0);
    assert_string_equal(tess_ctx_error(ctx), "reading: cancelled");
    tess_ctx_destroy(ctx);
}

static void log_lines_and_errors_reach_the_caller_cut_but_whole(void **state)
{
    (void)state;
    tess_ctx *ctx;
    calls seen = {0};
    const tess_ctx_options options = {.log = keep_line, .log_user = &seen};
    assert_int_equal(tess_ctx_create(&options, &ctx), TESS_OK);
    tess_log(ctx, "kernel %d", 7);
    assert_string_equal(seen.line, "kernel 7");
    tess_log(NULL, "nobody listens");
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(tess_fail(ctx, TESS_ERR_IO, "%s", text), TESS_ERR_IO);
    assert_int_equal(strlen(tess_ctx_error(ctx)), sizeof ctx->error - 1);
    /* The old sentence may be an argument of the new one. */
    tess_fail(ctx, TESS_ERR_IO, "one");
    tess_fail(ctx, TESS_ERR_IO, "%s, two", tess_ctx_error(ctx));
    assert_string_equal(tess_ctx_error(ctx), "one, two");
    tess_ctx_destroy(ctx);
}

/* A context of its own, its own failures, its own matrices. */
static void *work_alone(void *argument)
{
    int id = *(int *)argument;
    bool good = true;
    tess_ctx *ctx;
    if (tess_ctx_create(&(tess_ctx_options){.threads = 2}, &ctx) != TESS_OK)
        return "no context";
    for (int round = 0; good && round < 50; round++) {
        char expected[64];
        const int64_t row[] = {0, 1, id + 10}, col[] = {0, 1, 0};
        const double values[] = {1, 2, 3};
        tess_matrix *A, *B;
        good =
            tess_matrix_from_coo(ctx, TESS_F64, 2, 2, 3, row, col, values, &A) == TESS_ERR_MATRIX;
        snprintf(expected, sizeof expected, "entry 2: row %d is outside 0..1", id + 10);
        good = good && strcmp(tess_ctx_error(ctx), expected) == 0;
        good =
            good && tess_matrix_from_coo(ctx, TESS_F64, 2, 2, 2, row, col, values, &A) == TESS_OK;
        good = good && tess_matrix_transpose(ctx, A, &B) == TESS_OK;
        if (good) {
            tess_matrix_destroy(A);
            tess_matrix_destroy(B);
        }
    }
    tess_ctx_destroy(ctx);
    return good ? NULL : "a context saw another's work";
}

static void two_contexts_in_two_threads_never_meet(void **state)
{
    (void)state;
    pthread_t threads[2];
    int ids[2] = {0, 1};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work_alone, &ids[i]), 0);
    for (int i = 0; i < 2; i++) {
        void *fault;
        assert_int_equal(pthread_join(threads[i], &fault), 0);
        assert_null(fault);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_codes_are_pinned),
        cmocka_unit_test(options_set_every_kind),
        cmocka_unit_test(options_take_edge_values_and_each_key_once),
        cmocka_unit_test(a_point_is_a_point_in_every_locale),
        cmocka_unit_test(nearest_is_by_edit_distance),
        cmocka_unit_test(suggestions_are_the_nearest_or_all),
        cmocka_unit_test(contexts_refuse_what_they_cannot_have),
        cmocka_unit_test(threads_are_set_and_bounded),
        cmocka_unit_test(progress_is_sparse_and_can_cancel),
        cmocka_unit_test(log_lines_and_errors_reach_the_caller_cut_but_whole),
        cmocka_unit_test(two_contexts_in_two_threads_never_meet),
        cmocka_unit_test(choices_have_both_spellings),
        cmocka_unit_test(random_numbers_are_fixed_and_uniform),
        cmocka_unit_test(hash_is_xxh64),
        cmocka_unit_test(a_failed_allocation_is_reported_not_fatal),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
