/* Core: contexts, status codes, options strings, random numbers, hash. */
#include "support/support.h"

#include <string.h>

static void status_codes_are_pinned(void **state)
{
    (void)state;
    assert_int_equal(TESS_OK, 0);
    assert_int_equal(TESS_ERR_FORMAT, 4);
    assert_int_equal(TESS_ERR_INTERNAL, 12);
    assert_string_equal(tess_status_name(TESS_ERR_FORMAT), "TESS_ERR_FORMAT");
    assert_string_equal(tess_status_name((tess_status)99), "TESS_ERR_?");
    assert_string_equal(tess_version(), "0.1.0");
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
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(tess_options_parse(ctx, "test", bad[i].text, table, 5), TESS_ERR_OPTION);
        assert_string_equal(tess_ctx_error(ctx), bad[i].error);
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

/* Published XXH64 values for the empty string and for 1..100 style inputs of its specification. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_codes_are_pinned),
        cmocka_unit_test(options_set_every_kind),
        cmocka_unit_test(random_numbers_are_fixed_and_uniform),
        cmocka_unit_test(hash_is_xxh64),
        cmocka_unit_test(a_failed_allocation_is_reported_not_fatal),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
