/* SplitOnce takes time in proportion to the non-zeros (paper 001, section II: O(NNZ E^2 + n), with
 * constant shapes O(NNZ + n)). Operations are counted, not timed: split.c, select.c and diagonals.c
 * are compiled so that they call the function below at every basic block. */
#include <string.h>

#include "format/fbcsr/split.h"
#include "support/support.h"

static int64_t blocks_run;

/* The compiler's name for it. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    blocks_run++;
}

/* Basic blocks run while one shape is extracted, per non-zero and row. */
static double work_of(tess_ctx *ctx, const tess_matrix *A, const char *name)
{
    const tess_fbcsr_pattern P = tess_fbcsr_pattern_of(A);
    tess_fbcsr_options one;
    tess_fbcsr_found found;
    assert_int_equal(tess_shape_list_parse(ctx, name, &one), TESS_OK);
    int64_t least = tess_fbcsr_least(&one.shape[0], A->type, one.threshold[0]);
    blocks_run = 0;
    assert_int_equal(tess_fbcsr_split_once(ctx, &P, &one.shape[0], least, &found), TESS_OK);
    assert_true(found.blocks > 0);
    tess_fbcsr_found_clear(ctx, &found);
    return (double)blocks_run / (double)(A->blocks + A->rows);
}

/* A matrix of twice the size takes twice the work, up to 5 %, for every shape of the paper, in
 * three doublings. The matrix is made of copies along the diagonal. Copies share diagonals, so that
 * even the smallest matrix has several copies. */
enum { FEWEST = 8 };

static void work_grows_with_the_nonzeros(void **state)
{
    static const char *const shapes[] = {
        "row:32@0.7", "column:32@0.7",  "diagonal:32@0.7", "antidiagonal:32@0.7",
        "32x32@0.7",  "8x8@0.7",        "5x3@0.7",         "parallelogram:8@0.7",
        "4x4",        "diagonal:16@0.3"};
    tess_ctx *ctx = test_ctx(state);
    int threads = tess_ctx_threads(ctx);
    assert_int_equal(tess_ctx_set_threads(ctx, 1), TESS_OK);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        double first = 0;
        for (int copies = FEWEST; copies <= 8 * FEWEST; copies *= 2) {
            char input[256];
            tess_matrix *A;
            snprintf(input, sizeof input,
                     "tile:copies=%d:gen:planted:rows=2000,blocks=20,noise=2,shapes=32x32/row:32/"
                     "column:32/diagonal:32/antidiagonal:32/8x8/5x3/8x8+1",
                     copies);
            assert_int_equal(tess_matrix_input(ctx, input, &A), TESS_OK);
            double work = work_of(ctx, A, shapes[s]);
            first = copies == FEWEST ? work : first;
            if (getenv("TEST_VERBOSE"))
                print_message("%-20s %9lld non-zeros: %.3g basic blocks each\n", shapes[s],
                              (long long)A->blocks, work);
            if (work < 1 || work > 1.05 * first || work < 0.95 * first)
                fail_msg("%s: %.4g basic blocks a non-zero at %d copies, %.4g at %d", shapes[s],
                         work, copies, first, FEWEST);
            tess_matrix_destroy(A);
        }
    }
    assert_int_equal(tess_ctx_set_threads(ctx, threads), TESS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_grows_with_the_nonzeros),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
