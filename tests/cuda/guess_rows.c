/* The guesses of kernels for rows of different lengths, and for a matrix in the cache. */
#include <string.h>

#include "guessed.h"

/* A generated pattern of b x b blocks on an H200. */
static tess_cuda_problem problem_of(void **state, const char *text, int32_t b)
{
    tess_matrix *A;
    tess_cuda_problem problem = {.arch = 90, .multiprocessors = 132};
    problem.shared_limit = 227 * 1024;
    problem.l2_bytes = 62914560;
    assert_int_equal(tess_matrix_generate(test_ctx(state), text, &A, NULL), TESS_OK);
    tess_cuda_problem_of(A, &problem);
    tess_matrix_destroy(A);
    problem.block_height = problem.block_width = b;
    problem.rows *= b;
    problem.cols *= b;
    return problem;
}

static void padding_tells_random_lengths_from_stencils(void **state)
{
    assert_true(problem_of(state, "random:rows=2000,cols=2000,avg=20,r=1,c=1", 1).padded > 1.7);
    assert_true(problem_of(state, "stencil27:n=7,b=1", 1).padded < 1.35);
    assert_true(problem_of(state, "stencil7:n=9,b=1", 1).padded < 1.2);
}

/* Times of an H200 say so: docs/performance/choices.md, under "The rules". */
static void rows_of_different_lengths_are_sorted_and_get_threads(void **state)
{
    static const struct {
        const char *text;
        int32_t b;
        int sigma, tpr;
        bool single; /* f32 */
    } cases[] = {
        {"random:rows=2326,cols=2326,avg=16,r=1,c=1", 20, 4096, 8, false},
        {"random:rows=1709,cols=1709,avg=30,r=1,c=1", 27, 4096, 8, false}, /* 2.4 rounds */
        {"random:rows=2916,cols=2916,avg=26,r=1,c=1", 24, 4096, 4, false}, /* eight: 3.7 rounds */
        {"random:rows=2250,cols=2250,avg=5,r=1,c=1", 36, 4096, 1,
         false}, /* too short for four threads */
        {"random:rows=281954,cols=281954,avg=14,r=1,c=1", 3, 4096, 1, false},
        {"random:rows=75757,cols=75757,avg=30,r=1,c=1", 4, 4096, 2, false},
        {"random:rows=74507,cols=74507,avg=20,r=1,c=1", 3, 4096, 2, false},  /* 2.2 rounds */
        {"random:rows=610423,cols=610423,avg=20,r=1,c=1", 4, 4096, 1, true}, /* 18 */
        {"random:rows=14534,cols=14534,avg=40,r=1,c=1", 8, 4096, 4, false},
        {"random:rows=20000,cols=20000,avg=14,r=1,c=1", 3, 1, 2, false},  /* in L2 */
        {"random:rows=7337,cols=7337,avg=21,r=1,c=1", 5, 4096, 4, false}, /* but for its padding */
        {"random:rows=661,cols=661,avg=19,r=1,c=1", 20, 4096, 16, false},
        {"random:rows=166,cols=166,avg=28,r=1,c=1", 54, 4096, 16, false}, /* one row is too long */
        {"random:rows=408,cols=408,avg=26,r=1,c=1", 61, 4096, 8, true},   /* 16: 2.9 rounds */
        {"powerlaw:rows=200,avg=38,b=1", 59, 4096, 32, true}, /* one segment is too long */
        {"powerlaw:rows=431,avg=30,b=1", 54, 4096, 16, true},
        {"random:rows=336,cols=336,avg=39,r=1,c=1", 43, 4096, 16, true}, /* 1.7 rounds */
        {"random:rows=305,cols=305,avg=13,r=1,c=1", 59, 4096, 8, true},  /* 16: 2.1 rounds */
        {"powerlaw:rows=94629,avg=10,b=1", 4, 4096, 2, true},
        {"powerlaw:rows=97852,avg=7,b=1", 8, 4096, 1, true}, /* short segments */
        {"stencil27:n=6,b=1", 49, 1, 8, true},               /* 16: 1.25 rounds */
        {"stencil27:n=40,b=1", 3, 1, 1, false},
        {"stencil27:n=12,b=1", 32, 1, 2, false},
        {"stencil7:n=11,b=1", 24, 1, 4, false}, /* six blocks are too few for eight threads */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_cuda_problem problem = problem_of(state, cases[i].text, cases[i].b);
        problem.type = cases[i].single ? TESS_F32 : TESS_F64;
        const int sigma = guessed("sliced", &problem, "sigma");
        const int tpr = guessed("sliced", &problem, "tpr");
        if (sigma != cases[i].sigma || tpr != cases[i].tpr)
            fail_msg("%s, b=%d: sigma=%d,tpr=%d, expected sigma=%d,tpr=%d", cases[i].text,
                     (int)cases[i].b, sigma, tpr, cases[i].sigma, cases[i].tpr);
    }
}

/* 16 threads per row: 512 per thread block where they are a round and as many run at once. */
static void cut_rows_of_16_threads_have_large_thread_blocks(void **state)
{
    static const struct {
        const char *text;
        int32_t b;
        tess_type type;
        int threads;
    } cases[] = {
        {"powerlaw:rows=481,avg=35,b=1", 32, TESS_F32, 512},
        {"powerlaw:rows=1507,avg=15,b=1", 18, TESS_F32, 512},
        {"powerlaw:rows=154,avg=36,b=1", 53, TESS_F64, 256},
        {"powerlaw:rows=384,avg=26,b=1", 23, TESS_F32, 256}, /* 0.7 rounds */
        {"powerlaw:rows=872,avg=9,b=1", 38, TESS_F32, 256},  /* of 512 fewer run at once */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_cuda_problem problem = problem_of(state, cases[i].text, cases[i].b);
        problem.type = cases[i].type;
        assert_int_equal(guessed("sliced", &problem, "tpr"), 16);
        assert_int_equal(guessed("sliced", &problem, "threads"), cases[i].threads);
    }
}

/* Cache lines marked to be evicted first never displace those of another kernel. An H200 keeps 50
 * MB of its 63. */
static void a_matrix_in_the_cache_is_not_evicted_first(void **state)
{
    static const char shapes[] = "diagonal:32@0.5";
    tess_cuda_problem small = problem_of(state, "stencil27:n=51,b=1", 1);
    tess_cuda_problem large = problem_of(state, "stencil27:n=70,b=1", 1);
    assert_int_equal(guessed("sliced", &small, "hint"), 0);
    tess_cuda_problem middle = problem_of(state, "stencil7:n=25,b=1", 12); /* 61 MB */
    middle.type = TESS_F32;
    assert_int_equal(guessed("sliced", &middle, "hint"), 1);
    memcpy(small.shapes, shapes, sizeof shapes);
    memcpy(large.shapes, shapes, sizeof shapes);
    assert_int_equal(guessed("fbcsr", &small, "hint"), 0);
    assert_int_equal(guessed("fbcsr", &large, "hint"), 1);
}

/* At most 64 bytes of a row are in flight. These parameters were within 2 % of the fastest ones
 * measured on an H200. */
static void in_the_cache_few_loads_are_in_flight(void **state)
{
    static const struct {
        const char *text;
        int32_t b;
        tess_type type;
        int depth;
    } cases[] = {{"stencil7:n=30,b=1", 5, TESS_F64, 1},  {"stencil7:n=22,b=1", 8, TESS_F64, 1},
                 {"stencil7:n=24,b=1", 11, TESS_F32, 1}, {"stencil7:n=18,b=1", 15, TESS_F32, 1},
                 {"stencil7:n=36,b=1", 3, TESS_F64, 2}, /* two blocks are 48 bytes */
                 {"stencil7:n=30,b=1", 9, TESS_F32, 2},  /* 62 MB */};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_cuda_problem problem = problem_of(state, cases[i].text, cases[i].b);
        problem.type = cases[i].type;
        assert_int_equal(guessed("sliced", &problem, "depth"), cases[i].depth);
        assert_int_equal(guessed("sliced", &problem, "tpr"), 1);
    }
}

/* msc01440 with 15 x 15 blocks in f32: 1.02 rounds of rows of 32 blocks, the longest of 45. */
static void a_round_may_be_a_tenth_larger_where_rows_differ(void **state)
{
    tess_cuda_problem problem = problem_of(state, "stencil27:n=11,b=1", 15);
    problem.type = TESS_F32;
    problem.block_rows = 1440;
    problem.rows = problem.cols = 15 * problem.block_rows;
    problem.blocks = 46270;
    problem.longest_row = 45;
    assert_int_equal(guessed("sliced", &problem, "tpr"), 4);
    problem.longest_row = 40;
    assert_int_equal(guessed("sliced", &problem, "tpr"), 2);
}

/* dw8192 with 16 x 16 blocks in f32: with two threads per row thread blocks make 1.7 rounds. */
static void in_the_cache_too_there_is_one_round(void **state)
{
    tess_cuda_problem problem = problem_of(state, "stencil7:n=20,b=1", 16);
    problem.type = TESS_F32;
    problem.blocks = 5 * problem.block_rows;
    problem.longest_row = 8;
    assert_int_equal(guessed("sliced", &problem, "depth"), 1);
    assert_int_equal(guessed("sliced", &problem, "tpr"), 1);
}

/* The sets of parameters of a kernel that fit on an architecture, and those among them whose
 * parameter number `at` is not 0. */
static void count_sets(const char *name, int arch, int at, int *all, int *with)
{
    const tess_cuda_kernel *kernel = tess_cuda_kernel_find(name);
    tess_cuda_problem problem = {.arch = arch,
                                 .multiprocessors = 40,
                                 .type = TESS_F64,
                                 .block_height = 2,
                                 .block_width = 2,
                                 .rows = 200000,
                                 .cols = 200000,
                                 .block_rows = 100000,
                                 .blocks = 700000,
                                 .longest_row = 9,
                                 .shared_limit = 64 << 10,
                                 .l2_bytes = 4 << 20};
    int params[TESS_CUDA_PARAMS];
    *all = *with = 0;
    for (bool more = tess_cuda_params_next(kernel, &problem, true, params); more;
         more = tess_cuda_params_next(kernel, &problem, false, params)) {
        ++*all;
        *with += params[at] != 0;
    }
}

/* GPUs before sm_80 have no asynchronous copies into shared memory. */
static void asynchronous_copies_need_sm_80(void **state)
{
    enum { TILE, ASYNC = 3 }; /* of stream and of swept */
    int all, with;
    (void)state;
    count_sets("stream", 75, TILE, &all, &with);
    assert_int_equal(all, 0);
    count_sets("stream", 80, TILE, &all, &with);
    assert_true(all > 0);
    count_sets("swept", 75, ASYNC, &all, &with);
    assert_true(all > 0 && with == 0);
    count_sets("swept", 80, ASYNC, &all, &with);
    assert_true(with > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padding_tells_random_lengths_from_stencils),
        cmocka_unit_test(rows_of_different_lengths_are_sorted_and_get_threads),
        cmocka_unit_test(cut_rows_of_16_threads_have_large_thread_blocks),
        cmocka_unit_test(a_matrix_in_the_cache_is_not_evicted_first),
        cmocka_unit_test(in_the_cache_few_loads_are_in_flight),
        cmocka_unit_test(a_round_may_be_a_tenth_larger_where_rows_differ),
        cmocka_unit_test(in_the_cache_too_there_is_one_round),
        cmocka_unit_test(asynchronous_copies_need_sm_80),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
