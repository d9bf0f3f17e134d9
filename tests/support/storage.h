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

/* storage.inc.c makes a test_storage of a format. */

#endif
