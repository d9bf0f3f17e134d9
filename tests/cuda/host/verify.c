/* With an empty cache of kernels, a kernel is verified on a small matrix, whose launch needs less
 * shared memory than the plan's. Afterwards the function's limit must be the plan's again. With a
 * full cache there is no verification. */
#include "session.h"

static void verification_leaves_the_limit_of_shared_memory(void **state)
{
    enum { ROWS = 12000 }; /* the sums of a thread block are then more than 48 KB */
    tess_device *device = open_device(state);
    tess_matrix *A = test_matrix(test_ctx(state), TEST_DIAGONAL, ROWS, 2, 2, TESS_F64, 3);
    void *x = test_vector(A->cols, A->type, 5), *y = test_vector(A->rows, A->type, 7);
    tess_cache_clear();
    for (int warm = 0; warm < 2; warm++) {
        tess_plan *plan = make_plan(state, A, device,
                                    &(tess_plan_options){.effort = TESS_EFFORT_ESTIMATE,
                                                         .kernel = "swept",
                                                         .params = "blocks=1,shared=228"});
        ok(state, tess_spmv(plan, 1, x, 0, y));
        test_check_spmv(warm ? "warm cache" : "empty cache", A, 1, x, 0, NULL, y);
        tess_plan_destroy(plan);
    }
    free(x), free(y);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(verification_leaves_the_limit_of_shared_memory)};
    return cmocka_run_group_tests(tests, start, finish);
}
