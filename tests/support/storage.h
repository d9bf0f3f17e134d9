/* The properties that every storage format must have, checked in one place. */
#ifndef TEST_SUPPORT_STORAGE_H
#define TEST_SUPPORT_STORAGE_H

#include "support/inverse.h"
#include "support/support.h"

/* The calls of a storage, and options to make it with: `count` good ones and `bad_count` that must
 * be refused, `size` bytes each. */
typedef struct test_storage {
    tess_status (*create)(tess_ctx *ctx, const tess_matrix *A, const void *options, void **out);
    tess_status (*to_bsr)(tess_ctx *ctx, const void *storage, const tess_matrix *like,
                          tess_matrix **out);
    void (*update)(void *storage, const void *values);
    void (*destroy)(void *storage);
    const void *options, *bad;
    size_t size, count, bad_count;
} test_storage;

/* Checks that
 *   - the inverse gives the matrix back: every pattern, blocks of 1 x 1 to 17 x 17 and rectangles
 * up to `widest` scalars wide, both types, all options;
 *   - an update takes new values;
 *   - bad options are refused;
 *   - an allocation that fails, whichever it is, leaves nothing behind. */
void test_storage_check(void **state, const test_storage *storage, int32_t widest);

/* The calls of `type`, named type_create and so on, with its inverse (inverse.h) and the arrays of
 * options `good` and `refused`. */
#define TEST_STORAGE(type, inverse, good, refused)                                                 \
    static tess_status storage_create(tess_ctx *ctx, const tess_matrix *A, const void *options,    \
                                      void **out)                                                  \
    {                                                                                              \
        type *made = NULL;                                                                         \
        tess_status status = type##_create(ctx, A, options, &made);                                \
        *out = made;                                                                               \
        return status;                                                                             \
    }                                                                                              \
    static tess_status storage_to_bsr(tess_ctx *ctx, const void *storage, const tess_matrix *like, \
                                      tess_matrix **out)                                           \
    {                                                                                              \
        return inverse(ctx, storage, like, out);                                                   \
    }                                                                                              \
    static void storage_update(void *storage, const void *values)                                  \
    {                                                                                              \
        type##_update(storage, values);                                                            \
    }                                                                                              \
    static void storage_destroy(void *storage)                                                     \
    {                                                                                              \
        type##_destroy(storage);                                                                   \
    }                                                                                              \
    static const test_storage storage_calls = {storage_create,                                     \
                                               storage_to_bsr,                                     \
                                               storage_update,                                     \
                                               storage_destroy,                                    \
                                               good,                                               \
                                               refused,                                            \
                                               sizeof *good,                                       \
                                               sizeof good / sizeof *good,                         \
                                               sizeof refused / sizeof *refused}

#endif
