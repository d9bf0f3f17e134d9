/* Orders and groups of rows are found in time that grows with the entries, whatever their pattern.
 * Operations are counted, not timed: dissect.c and similar.c are compiled so that they call the
 * function below at every basic block. */
#include "matrix/arrange/arrange.h"

#include "support/support.h"

static int64_t blocks_run;

/* The compiler's name for it. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    blocks_run++;
}

static void dissect(tess_ctx *ctx, const tess_matrix *A)
{
    tess_arrangement a;
    test_ok(ctx, tess_arrangement_open(ctx, A, &a));
    test_ok(ctx, tess_arrange_dissect(A, &a));
    tess_arrangement_close(&a);
}

static void regroup(tess_ctx *ctx, const tess_matrix *A)
{
    tess_regrouping *R;
    test_ok(ctx, tess_detect_regrouping(ctx, A, NULL, &R));
    tess_regrouping_destroy(R);
}

/* Basic blocks run per entry. */
static double work_of(tess_ctx *ctx, void (*call)(tess_ctx *, const tess_matrix *),
                      const char *input)
{
    tess_matrix *A;
    test_ok(ctx, tess_matrix_input(ctx, input, &A));
    blocks_run = 0;
    call(ctx, A);
    const double work = (double)blocks_run / (double)A->blocks;
    if (getenv("TEST_VERBOSE"))
        print_message("%-60s %9lld entries: %.4g basic blocks each\n", input, (long long)A->blocks,
                      work);
    tess_matrix_destroy(A);
    return work;
}

/* Checks that the work per entry does not grow with the size, by which `count` rises too. */
static void check_growth(void **state, void (*call)(tess_ctx *, const tess_matrix *),
                         const char *format, const int sizes[3][2])
{
    tess_ctx *ctx = test_ctx(state);
    const int threads = tess_ctx_threads(ctx);
    test_ok(ctx, tess_ctx_set_threads(ctx, 1));
    double first = 0;
    for (int i = 0; i < 3; i++) {
        char input[128];
        snprintf(input, sizeof input, format, sizes[i][0], sizes[i][1]);
        const double work = work_of(ctx, call, input);
        first = i == 0 ? work : first;
        if (work < 1 || work > 1.2 * first)
            fail_msg("%s: %.4g basic blocks an entry, %.4g with size %d", input, work, first,
                     sizes[0][0]);
    }
    test_ok(ctx, tess_ctx_set_threads(ctx, threads));
}

/* A matrix may fall into as many components as it has rows. */
static void dissection_separates_components_in_one_sweep(void **state)
{
    static const char *const components[] = {
        "tile:copies=%d:gen:random:rows=1,count=%d",        /* a diagonal */
        "tile:copies=%d:gen:stencil7:nx=2,ny=%d,nz=1,b=1",  /* pairs */
        "tile:copies=%d:gen:stencil7:nx=60,ny=%d,nz=1,b=1", /* dissected further */
    };
    static const int copies[3][2] = {{200, 1}, {400, 1}, {800, 1}};
    for (size_t i = 0; i < sizeof components / sizeof *components; i++)
        check_growth(state, dissect, components[i], copies);
}

/* In a dense matrix all rows are alike, also if a few entries are missing. A prime number of rows
 * has no fields, which would be tried first. */
static void rows_of_a_dense_matrix_are_compared_with_few_others(void **state)
{
    static const int dense[3][2] = {{199, 199}, {397, 397}, {797, 797}};
    static const int nearly[3][2] = {{397, 380}, {557, 532}, {797, 760}};
    check_growth(state, regroup, "gen:random:rows=%d,count=%d", dense);
    check_growth(state, regroup, "gen:random:rows=%d,count=%d", nearly);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dissection_separates_components_in_one_sweep),
        cmocka_unit_test(rows_of_a_dense_matrix_are_compared_with_few_others),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
