#include <stdio.h>
#include <string.h>

#include "support/storage.h"

static const void *options_at(const test_storage *storage, size_t i)
{
    return (const char *)storage->options + i * storage->size;
}

static void check_inverse(tess_ctx *ctx, const test_storage *storage, const tess_matrix *A,
                          const char *what, const void *options)
{
    void *made;
    tess_matrix *B;
    assert_int_equal(storage->create(ctx, A, options, &made), TESS_OK);
    assert_int_equal(storage->to_bsr(ctx, made, A, &B), TESS_OK);
    test_check_identical(what, A, B);
    tess_matrix_destroy(B);
    storage->destroy(made);
}

static void check_inverses(void **state, const test_storage *storage, int32_t widest)
{
    static const int32_t sizes[][2] = {{1, 1}, {2, 2}, {3, 3}, {5, 2}, {2, 7}, {4, 4}, {17, 17}};
    tess_ctx *ctx = test_ctx(state);
    for (test_pattern pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            if (sizes[s][1] > widest)
                continue;
            tess_type type = (s + (size_t)pattern) % 2 ? TESS_F32 : TESS_F64;
            tess_matrix *A = test_matrix(ctx, pattern, 40, sizes[s][0], sizes[s][1], type, 7);
            for (size_t i = 0; i < storage->count; i++) {
                char what[64];
                snprintf(what, sizeof what, "%s, options %zu", test_pattern_name(pattern), i);
                check_inverse(ctx, storage, A, what, options_at(storage, i));
            }
            tess_matrix_destroy(A);
        }
    }
}

static void check_update(void **state, const test_storage *storage)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_SKEWED, 30, 3, 2, TESS_F32, 3);
    for (size_t i = 0; i < storage->count; i++) {
        void *made, *fresh = test_vector(tess_matrix_stored(A), TESS_F32, 99);
        tess_matrix *B;
        assert_int_equal(storage->create(ctx, A, options_at(storage, i), &made), TESS_OK);
        storage->update(made, fresh);
        assert_int_equal(storage->to_bsr(ctx, made, A, &B), TESS_OK);
        assert_memory_equal(B->values, fresh, (size_t)tess_matrix_stored(A) * sizeof(float));
        tess_matrix_destroy(B);
        storage->destroy(made);
        free(fresh);
    }
    tess_matrix_destroy(A);
}

static void check_refusals(void **state, const test_storage *storage)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_BANDED, 5, 2, 2, TESS_F64, 3);
    for (size_t i = 0; i < storage->bad_count; i++) {
        void *made;
        const void *bad = (const char *)storage->bad + i * storage->size;
        if (storage->create(ctx, A, bad, &made) != TESS_ERR_ARGUMENT || made)
            fail_msg("bad options %zu are not refused", i);
    }
    tess_matrix_destroy(A);
}

static void check_allocations(void **state, const test_storage *storage)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_DENSE_ROW, 20, 2, 2, TESS_F64, 3);
    for (size_t i = 0; i < storage->count; i++) {
        test_sweep sweep = test_sweep_begin(state);
        tess_status status;
        do {
            void *made;
            status = storage->create(ctx, A, options_at(storage, i), &made);
            assert_true((status == TESS_OK) == (made != NULL));
            storage->destroy(made);
        } while (test_sweep_goes_on(&sweep, status));
        assert_true(sweep.failed >= 5);
    }
    tess_matrix_destroy(A);
}

void test_storage_check(void **state, const test_storage *storage, int32_t widest)
{
    check_inverses(state, storage, widest);
    check_update(state, storage);
    check_refusals(state, storage);
    check_allocations(state, storage);
}
