/* Files for tests: a folder of its own per program, written and removed here. */
#ifndef TEST_FILES_H
#define TEST_FILES_H

#include "support/support.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static char test_folder[64];

/* Group set-up and tear-down of the context and of the folder. Tear-down fails when a test has left
 * a file in the folder. */
static inline int files_setup(void **state)
{
    strcpy(test_folder, "/tmp/tessera-test-XXXXXX");
    return mkdtemp(test_folder) ? test_setup(state) : -1;
}

static inline int files_teardown(void **state)
{
    if (rmdir(test_folder) != 0) {
        fprintf(stderr, "%s is not empty\n", test_folder);
        return -1;
    }
    return test_teardown(state);
}

/* test_folder/name, valid until the eighth next call. */
static inline const char *file_path(const char *name)
{
    static char paths[8][128];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder, name);
    return path;
}

static inline void put_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline void put_gzip(const char *path, const void *bytes, size_t size)
{
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)size), (int)size);
    assert_int_equal(gzclose(file), Z_OK);
}

/* Returns the file's bytes. The caller frees them with free(). */
static inline unsigned char *get_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size + 1);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    bytes[*size] = '\0';
    fclose(file);
    return bytes;
}

static inline int files_in_folder(void)
{
    DIR *folder = opendir(test_folder);
    int count = 0;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 2; /* "." and ".." */
}

#endif
