/* Parts in a process when memory is short. */
#include "in_process.h"

#include <string.h>

/* Every allocation fails once: the call reports it, nothing hangs, and no memory is left. */
typedef struct counter {
    int64_t fails_in, live;
} counter;

static void *allocate(void *user, size_t bytes, size_t alignment)
{
    counter *c = user;
    if (c->fails_in == 0)
        return NULL;
    c->fails_in -= c->fails_in > 0;
    void *p = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    c->live += p != NULL;
    return p;
}

static void release(void *user, void *pointer)
{
    ((counter *)user)->live -= pointer != NULL;
    free(pointer);
}

static tess_status all_of_it(tess_ctx *ctx, const tess_matrix *A, const double *b, double *x)
{
    tess_device *device;
    tess_plan *plan = NULL;
    tess_result result;
    tess_status status = tess_device_open(ctx, "cpu:1,1,1", &device);
    if (status != TESS_OK)
        return status;
    status = tess_plan_create(ctx, A, device, NULL, &plan);
    if (status == TESS_OK)
        status = tess_spmm(plan, 2, TESS_ORDER_ROW_MAJOR, 1, b, 2, 0, x, 2);
    if (status == TESS_OK)
        status = tess_plan_update_values(plan, A->values);
    if (status == TESS_OK)
        status = tess_solve(plan, "gmres:pc=ilu0", b, x, &result);
    tess_plan_destroy(plan);
    tess_device_close(device);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    tess_matrix *A = dealt_dominant(test_ctx(state), 12, 2, true, 3);
    double *b = test_vector(2 * A->rows, TESS_F64, 1), *x = calloc((size_t)(2 * A->rows), 8);
    int64_t failures = 0;
    tess_status status = TESS_ERR_MEMORY;
    for (int64_t n = 0; status != TESS_OK; n = test_next_failure(n)) {
        counter memory = {-1, 0};
        const tess_ctx_options options = {
            .size = sizeof options, .allocator = {allocate, release, &memory}, .threads = 1};
        tess_ctx *ctx;
        assert_int_equal(tess_ctx_create(&options, &ctx), TESS_OK);
        assert_int_equal(tess_ctx_set_wisdom(ctx, TESS_WISDOM_OFF, NULL), TESS_OK);
        memory.fails_in = n;
        status = all_of_it(ctx, A, b, x);
        if (status != TESS_OK && status != TESS_ERR_MEMORY)
            fail_msg("allocation %lld: %s", (long long)n, tess_ctx_error(ctx));
        failures += status != TESS_OK;
        memory.fails_in = -1;
        tess_ctx_destroy(ctx);
        if (memory.live != 0)
            fail_msg("allocation %lld leaves %lld", (long long)n, (long long)memory.live);
    }
    assert_true(failures > 20); /* those tried one by one, and some of the others */
    free(b), free(x);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
