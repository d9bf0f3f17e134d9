/* The division of work: rows in lockstep, and the tails of large shares. */
#include <math.h>
#include <string.h>

#include "cpu/plan.h"
#include "support/support.h"

/* Rows of 3 1 2 | 1 4 | 2 2 blocks. */
static void blocks_beyond_the_shortest_row_are_done_alone(void **state)
{
    (void)state;
    static const int64_t offsets[] = {0, 3, 4, 6, 7, 11, 13, 15};
    static const struct {
        int64_t bounds[4];
        int streams;
        int64_t alone, left;
    } cases[] = {{{0, 3, 5, 7}, 3, 13 - 3 * (1 + 1), 2}, /* two steps of one block in each */
                 {{3, 5, 7}, 2, 9 - 2 * (1 + 2), 0},
                 {{5, 6, 7}, 2, 0, 0},
                 {{0, 0, 2}, 2, 0, 4}}; /* one has none */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_cpu_lockstep count = {0};
        tess_cpu_count_lockstep(offsets, cases[i].bounds, cases[i].streams, &count);
        assert_int_equal(count.alone, cases[i].alone);
        assert_int_equal(count.left, cases[i].left);
    }
}

/* The blocks alone that costs() counts for a kernel's streams are those of its plan. One stream has
 * none, nor do rows of one length. When rows differ, more streams have more blocks alone. */
static void streams_out_of_step_are_counted_from_the_rows(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    const tess_product product = {.kind = TESS_PRODUCT_SPMV};
    static const char *const inputs[] = {"stencil7:n=16,b=4",
                                         "random:rows=4000,cols=4000,avg=8,r=4,c=4"};
    double alone[2][TESS_CPU_STREAMS + 1] = {{0}};
    for (int i = 0; i < 2; i++) {
        tess_matrix *A = NULL;
        tess_candidates list = {0};
        assert_int_equal(tess_matrix_generate(ctx, inputs[i], &A, NULL), TESS_OK);
        assert_int_equal(device->backend->candidates(device, A, &product, &list), TESS_OK);
        assert_int_equal(device->backend->costs(device, A, &list), TESS_OK);
        for (int64_t k = 0; k < list.count; k++) {
            const tess_candidate *c = &list.items[k];
            const tess_cpu_kernel *kernel = tess_cpu_find(device, c->format, A, c->kernel);
            if (strcmp(c->format, "bsr") == 0)
                alone[i][kernel->streams] = c->alone / (double)A->blocks;
            assert_true(kernel->streams > 1 || c->alone == 0);
        }
        tess_candidates_free(ctx, &list);
        tess_matrix_destroy(A);
    }
    for (int streams = 2; streams <= TESS_CPU_STREAMS; streams++) {
        if (alone[1][streams] == 0) /* the ISA has no such kernel */
            continue;
        assert_true(alone[0][streams] < 0.15);
        assert_true(alone[1][streams] > 0.15 && alone[1][streams] > alone[1][streams - 1]);
    }
    tess_device_close(device);
}

/* Checks that a thread takes jobs from its own end first, and that all threads together take every
 * job once. */
static void check_turns(const tess_cpu_work *work)
{
    tess_cpu_turns turns = {0};
    const int last = work->shares - 1;
    const int64_t first = work->first_job[work->shares], tails = work->job_count - first;
    int64_t taken = 0, job;
    char *seen = test_calloc((size_t)tails + 1, 1);
    for (; (job = tess_cpu_work_next(work, last, &turns)) >= 0; taken++) {
        assert_in_range(job, first, work->job_count - 1);
        if (taken < tails / work->shares)
            assert_int_equal(job, work->job_count - tails / work->shares + taken);
        assert_int_equal(seen[job - first]++, 0);
    }
    assert_int_equal(taken, tails);
    test_free(seen);
}

/* Every row is in exactly one job. The ends of the shares are in jobs that any thread may take,
 * unless there is only one share or a share stays in a cache. */
static void large_shares_have_tails(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = NULL;
    assert_int_equal(tess_matrix_generate(ctx, "stencil7:n=48,b=5", &A, NULL), TESS_OK);
    static const int counts[] = {1, 3, 5, 31};
    for (int c = 0; c < 4; c++) {
        const int shares = counts[c];
        tess_cpu_work work;
        int64_t tail = 0, rows = 0;
        char *seen = test_calloc((size_t)A->block_rows, 1);
        assert_int_equal(tess_cpu_work_create(ctx, A, shares, 3, &work), TESS_OK);
        for (int64_t i = 0; i < work.job_count; i++) {
            const int64_t *bounds = work.jobs[i].bounds;
            for (int64_t row = bounds[0]; row < bounds[3]; row++)
                assert_int_equal(seen[row]++, 0);
            rows += bounds[3] - bounds[0];
            tail += i >= work.first_job[shares] ? bounds[3] - bounds[0] : 0;
        }
        assert_int_equal(rows, A->block_rows);
        check_turns(&work);
        if (shares == 1 || shares == 31)
            assert_int_equal(tail, 0);
        else
            assert_true(tail > rows * 9 / 20 && tail < rows * 11 / 20);
        tess_cpu_work_destroy(&work);
        test_free(seen);
    }
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_beyond_the_shortest_row_are_done_alone),
        cmocka_unit_test(streams_out_of_step_are_counted_from_the_rows),
        cmocka_unit_test(large_shares_have_tails),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
