/* The variants of permute.cu that the tests run and compile. */
#ifndef TEST_PERMUTES_H
#define TEST_PERMUTES_H

typedef struct test_permute {
    int size, fields, to_fields, add; /* as REAL, FIELDS, TO_FIELDS and ADD */
    const char *defines;
} test_permute;

#define TEST_PERMUTE(size, fields, to_fields, add)                                         \
    {                                                                                      \
        size, fields, to_fields, add,                                                      \
            "-DREAL=" #size " -DFIELDS=" #fields " -DTO_FIELDS=" #to_fields " -DADD=" #add \
            " -DTHREADS=64"                                                                \
    }

static const test_permute test_permutes[] = {
    TEST_PERMUTE(8, 0, 0, 0),  TEST_PERMUTE(8, 0, 0, 1), TEST_PERMUTE(4, 0, 0, 1),
    TEST_PERMUTE(8, 3, 0, 0),  TEST_PERMUTE(8, 3, 1, 1), TEST_PERMUTE(4, 16, 0, 0),
    TEST_PERMUTE(4, 16, 1, 0), TEST_PERMUTE(8, 2, 1, 0), TEST_PERMUTE(8, 11, 1, 1),
};
enum { test_permute_count = sizeof test_permutes / sizeof *test_permutes };

#endif
