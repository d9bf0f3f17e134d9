/* The cache of compiled kernels: whatever happens to its files is a miss, never an error and never
 * a wrong entry. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/driver/cache.h"
#include "support/support.h"

static char directory[] = "/tmp/tessera-test-XX"
                          "XX"
                          "XX";

static int start(void **state)
{
    return mkdtemp(directory) && test_setup(state) == 0 ? 0 : -1;
}

static int finish(void **state)
{
    rmdir(directory);
    return test_teardown(state);
}

static int before(void **state)
{
    (void)state;
    return setenv("TESSERA_CACHE", directory, 1);
}

static int after(void **state)
{
    (void)state;
    tess_cache_clear();
    return 0;
}

static tess_cache_key key_of(uint64_t hash)
{
    tess_cache_key key = {.hash = hash, .nvrtc_major = 13, .nvrtc_minor = 0};
    snprintf(key.label, sizeof key.label, "sliced.cu sm_90 -DB=%llu", (unsigned long long)hash);
    return key;
}

/* An image whose bytes follow from its seed. */
static void make_image(unsigned char *image, size_t bytes, uint64_t seed)
{
    for (size_t i = 0; i < bytes; i++)
        image[i] = (unsigned char)tess_random_u64(seed, i);
}

enum { BYTES = 3000 };

static void store(void **state, const tess_cache_key *key, uint64_t seed, bool verified)
{
    unsigned char image[BYTES];
    make_image(image, sizeof image, seed);
    assert_true(
        tess_cache_store(test_ctx(state), key, &(tess_cache_entry){image, BYTES, verified}));
}

static bool load(void **state, const tess_cache_key *key, uint64_t seed, bool verified)
{
    unsigned char image[BYTES];
    tess_cache_entry entry;
    if (!tess_cache_load(test_ctx(state), key, &entry))
        return false;
    make_image(image, sizeof image, seed);
    assert_int_equal(entry.bytes, BYTES);
    assert_memory_equal(entry.code, image, BYTES);
    assert_int_equal(entry.verified, verified);
    tess_free(test_ctx(state), entry.code);
    return true;
}

/* The one file of the cache. */
static void file_of(const tess_cache_key *key, char *path, size_t size)
{
    snprintf(path, size, "%s/%016llx-%d.%d.cubin", directory, (unsigned long long)key->hash,
             key->nvrtc_major, key->nvrtc_minor);
}

static void what_is_stored_is_loaded(void **state)
{
    tess_cache_key key = key_of(1), other = key_of(2);
    assert_false(load(state, &key, 5, true));
    store(state, &key, 5, true);
    assert_true(load(state, &key, 5, true));
    assert_false(load(state, &other, 5, true));
    store(state, &key, 6, false); /* replaces */
    assert_true(load(state, &key, 6, false));
}

static void a_different_label_under_the_same_hash_is_a_miss(void **state)
{
    tess_cache_key key = key_of(1), collision = key_of(1);
    strcat(collision.label, " -DOTHER=1");
    store(state, &key, 5, true);
    assert_false(load(state, &collision, 5, true));
}

static void another_compiler_is_a_miss_but_any_will_do_without_one(void **state)
{
    tess_cache_key key = key_of(1), newer = key_of(1), any = key_of(1);
    newer.nvrtc_minor = 1;
    any.nvrtc_major = any.nvrtc_minor = 0;
    store(state, &key, 5, true);
    assert_false(load(state, &newer, 5, true));
    assert_true(load(state, &any, 5, true));
}

static void every_flipped_byte_is_a_miss(void **state)
{
    tess_cache_key key = key_of(1);
    char path[256];
    unsigned char byte;
    file_of(&key, path, sizeof path);
    store(state, &key, 5, true);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    int file = open(path, O_RDWR);
    for (off_t at = 0; at < status.st_size; at += at < 200 ? 1 : 37) {
        assert_int_equal(pread(file, &byte, 1, at), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(file, &byte, 1, at), 1);
        if (load(state, &key, 5, true))
            fail_msg("a flipped bit at byte %lld went unnoticed", (long long)at);
        byte ^= 0x10;
        assert_int_equal(pwrite(file, &byte, 1, at), 1);
    }
    close(file);
    assert_true(load(state, &key, 5, true));
}

static void every_truncation_and_extension_is_a_miss(void **state)
{
    tess_cache_key key = key_of(1);
    char path[256];
    file_of(&key, path, sizeof path);
    struct stat status;
    store(state, &key, 5, true);
    assert_int_equal(stat(path, &status), 0);
    for (off_t size = 0; size < status.st_size; size += size < 200 ? 1 : 53) {
        store(state, &key, 5, true);
        assert_int_equal(truncate(path, size), 0);
        if (load(state, &key, 5, true))
            fail_msg("a file cut to %lld bytes went unnoticed", (long long)size);
    }
    store(state, &key, 5, true);
    assert_int_equal(truncate(path, status.st_size + 1), 0);
    assert_false(load(state, &key, 5, true));
    store(state, &key, 5, true);
    assert_true(load(state, &key, 5, true));
}

static void a_foreign_version_is_a_miss(void **state)
{
    tess_cache_key key = key_of(1);
    char path[256];
    uint32_t version = 999;
    file_of(&key, path, sizeof path);
    store(state, &key, 5, true);
    int file = open(path, O_WRONLY);
    assert_int_equal(pwrite(file, &version, sizeof version, 8), sizeof version);
    close(file);
    assert_false(load(state, &key, 5, true));
}

static void things_that_are_no_files_are_misses(void **state)
{
    tess_cache_key key = key_of(1);
    char path[256];
    file_of(&key, path, sizeof path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(load(state, &key, 5, true));
    unsigned char image[BYTES] = {0};
    assert_false(tess_cache_store(test_ctx(state), &key, &(tess_cache_entry){image, BYTES, true}));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_false(load(state, &key, 5, true));
}

static void what_somebody_else_wrote_is_never_replaced(void **state)
{
    static const char text[] = "%%MatrixMarket matrix coordinate real general\n";
    tess_cache_key key = key_of(1);
    unsigned char image[BYTES] = {0};
    char path[256], seen[sizeof text] = "";
    file_of(&key, path, sizeof path);
    FILE *file = fopen(path, "w");
    assert_true(file && fputs(text, file) >= 0 && fclose(file) == 0);
    assert_false(tess_cache_store(test_ctx(state), &key, &(tess_cache_entry){image, BYTES, true}));
    file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(seen, 1, sizeof text - 1, file), sizeof text - 1);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(seen, text);
    unlink(path);
}

static void impossible_directories_are_misses(void **state)
{
    static const char *const places[] = {"/proc/nothing/here", "/dev/null/below"};
    tess_cache_key key = key_of(1);
    unsigned char image[BYTES] = {0};
    for (int i = 0; i < 2; i++) {
        setenv("TESSERA_CACHE", places[i], 1);
        assert_false(
            tess_cache_store(test_ctx(state), &key, &(tess_cache_entry){image, BYTES, true}));
        assert_false(load(state, &key, 5, true));
        assert_int_equal(tess_cache_clear(), 0);
    }
}

static void a_read_only_directory_is_read(void **state)
{
    tess_cache_key key = key_of(1), other = key_of(2);
    unsigned char image[BYTES] = {0};
    store(state, &key, 5, true);
    assert_int_equal(chmod(directory, 0500), 0);
    if (geteuid() != 0) /* root may write anywhere */
        assert_false(
            tess_cache_store(test_ctx(state), &other, &(tess_cache_entry){image, BYTES, true}));
    else
        (void)other;
    assert_true(load(state, &key, 5, true));
    assert_int_equal(chmod(directory, 0700), 0);
}

static void the_directory_follows_the_environment(void **state)
{
    (void)state;
    char path[4096];
    assert_true(tess_cache_directory(path, sizeof path));
    assert_string_equal(path, directory);
    unsetenv("TESSERA_CACHE");
    setenv("XDG_CACHE_HOME", "/x/cache", 1);
    assert_true(tess_cache_directory(path, sizeof path));
    assert_string_equal(path, "/x/cache/tessera");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/somebody", 1);
    assert_true(tess_cache_directory(path, sizeof path));
    assert_string_equal(path, "/somebody/.cache/tessera");
    unsetenv("HOME");
    assert_false(tess_cache_directory(path, sizeof path));
}

/* Two processes write the same entries, with different images, while this one reads: every load is
 * one of the two or, before the first store, a miss. */
static void concurrent_writers_never_mix(void **state)
{
    enum { ROUNDS = 300 };
    tess_cache_key key = key_of(7);
    pid_t writers[2];
    for (int w = 0; w < 2; w++) {
        writers[w] = fork();
        assert_true(writers[w] >= 0);
        if (writers[w] == 0) {
            unsigned char image[BYTES];
            make_image(image, sizeof image, (uint64_t)w);
            bool good = true;
            for (int i = 0; i < ROUNDS; i++)
                good &= tess_cache_store(test_ctx(state), &key,
                                         &(tess_cache_entry){image, BYTES, w == 1});
            _exit(good ? 0 : 1);
        }
    }
    int running = 2, found = 0;
    while (running > 0) {
        tess_cache_entry entry;
        unsigned char image[BYTES];
        if (tess_cache_load(test_ctx(state), &key, &entry)) {
            make_image(image, sizeof image, entry.verified ? 1 : 0);
            assert_int_equal(entry.bytes, BYTES);
            assert_memory_equal(entry.code, image, BYTES);
            tess_free(test_ctx(state), entry.code);
            found++;
        } else if (found > 0) {
            fail_msg("an entry that was there is gone while it is replaced");
        }
        int status;
        if (waitpid(-1, &status, WNOHANG) > 0) {
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            running--;
        }
    }
    assert_true(found > 0);
}

static void no_memory_is_a_miss_and_leaves_the_error_alone(void **state)
{
    tess_cache_key key = key_of(1);
    tess_cache_entry entry;
    store(state, &key, 5, true);
    char error[sizeof test_ctx(state)->error];
    memcpy(error, tess_ctx_error(test_ctx(state)), sizeof error);
    test_fail_allocation(state, 0);
    assert_false(tess_cache_load(test_ctx(state), &key, &entry));
    test_fail_allocation(state, -1);
    assert_string_equal(tess_ctx_error(test_ctx(state)), error);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_stored_is_loaded),
        TEST(a_different_label_under_the_same_hash_is_a_miss),
        TEST(another_compiler_is_a_miss_but_any_will_do_without_one),
        TEST(every_flipped_byte_is_a_miss),
        TEST(every_truncation_and_extension_is_a_miss),
        TEST(a_foreign_version_is_a_miss),
        TEST(things_that_are_no_files_are_misses),
        TEST(what_somebody_else_wrote_is_never_replaced),
        TEST(impossible_directories_are_misses),
        TEST(a_read_only_directory_is_read),
        TEST(concurrent_writers_never_mix),
        TEST(no_memory_is_a_miss_and_leaves_the_error_alone),
        TEST(the_directory_follows_the_environment), /* last: it changes HOME */
    };
    return cmocka_run_group_tests(tests, start, finish);
}
