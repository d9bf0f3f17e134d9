/* The guesses of kernels for a matrix. The sliced kernel has panels only where columns are
 * scattered over an x that the cache cannot hold. Thread blocks fill the device. */
#include <string.h>

#include "guessed.h"

static tess_matrix *generate(void **state, const char *text)
{
    tess_matrix *A;
    assert_int_equal(tess_matrix_generate(test_ctx(state), text, &A, NULL), TESS_OK);
    return A;
}

static double scattered(void **state, const char *text)
{
    tess_matrix *A = generate(state, text);
    tess_cuda_problem problem = {0};
    tess_cuda_problem_of(A, &problem);
    tess_matrix_destroy(A);
    return problem.scattered;
}

static void scattered_tells_random_columns_from_stencils(void **state)
{
    assert_true(scattered(state, "stencil27:n=24,b=1") < 0.05);
    assert_true(scattered(state, "stencil7:n=30,b=2") < 0.05);
    assert_true(scattered(state, "powerlaw:rows=400000,avg=7,b=1") > 0.5);
    assert_true(scattered(state, "powerlaw:rows=100,avg=7,b=1") == 0); /* all of it is near */
}

/* A band and a dense first column: far from the diagonal, but always the same. */
static void dense_columns_are_not_scattered(void **state)
{
    enum { ROWS = 20000 };
    tess_matrix *A;
    assert_int_equal(
        tess_matrix_allocate(test_ctx(state), TESS_F64, ROWS, ROWS, 1, 1, 2 * ROWS - 1, &A),
        TESS_OK);
    for (int64_t row = 0, k = 0; row < ROWS; row++) {
        A->columns[k++] = 0;
        if (row > 0)
            A->columns[k++] = (int32_t)row;
        A->row_offsets[row + 1] = k;
    }
    tess_cuda_problem problem = {0};
    tess_cuda_problem_of(A, &problem);
    assert_true(problem.scattered < 0.01);
    tess_matrix_destroy(A);
}

/* `rows` block rows of b x b blocks in f64, `mean` blocks each, on an H200. */
static tess_cuda_problem problem_of(int64_t rows, int32_t b, int64_t mean, double share)
{
    return (tess_cuda_problem){
        .type = TESS_F64,
        .block_height = b,
        .block_width = b,
        .rows = rows * b,
        .cols = rows * b,
        .block_rows = rows,
        .blocks = rows * mean,
        .longest_row = 100 * mean,
        .scattered = share,
        .arch = 90,
        .multiprocessors = 132,
        .shared_limit = 232448,
        .l2_bytes = 60 << 20,
        .vectors = 1,
    };
}

static void panels_follow_the_size_of_a_scattered_x(void **state)
{
    (void)state;
    static const struct {
        int64_t rows;
        int32_t b;
        int mean; /* blocks per row */
        double share;
        int panels;
    } cases[] = {
        {1941780, 3, 7, 0.95, 2},   /* x of 47 MB */
        {3937500, 2, 7, 0.95, 2},   /* 63 MB */
        {1143145, 4, 7, 0.95, 1},   /* 37 MB: two panels take as long */
        {2000000, 3, 50, 0.95, 2},  /* 48 MB, long rows */
        {2000000, 3, 50, 0.01, 1},  /* a stencil */
        {1000000, 3, 50, 0.95, 1},  /* 24 MB stay in the cache */
        {30000000, 1, 99, 0.95, 6}, /* 240 MB */
        {300000, 8, 50, 0.95, 1},   /* 19 MB */
        {1500000, 32, 7, 0.95, 1},  /* a second pass over y costs more than x that is missed */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_cuda_problem problem =
            problem_of(cases[i].rows, cases[i].b, cases[i].mean, cases[i].share);
        int panels = guessed("sliced", &problem, "panels");
        if (panels != cases[i].panels)
            fail_msg("%lld rows, b=%d, scattered %g: %d panels, expected %d",
                     (long long)cases[i].rows, (int)cases[i].b, cases[i].share, panels,
                     cases[i].panels);
        problem.l2_bytes = 0;
        assert_int_equal(guessed("sliced", &problem, "panels"), 1);
    }
}

/* Vectors by fields: whole blocks, columns near each other, places that fit 32 bits. */
static void fields_are_taken_where_columns_are_near(void **state)
{
    (void)state;
    static const struct {
        int64_t rows;
        double share;
        int64_t less; /* scalar rows and columns that the last block lacks */
        bool taken;
    } cases[] = {{100000, 0.01, 0, true},
                 {100000, 0.95, 0, false},
                 {100000, 0.01, 1, false},
                 {715827882, 0.01, 0, true}, /* 2^31 - 2 scalars */
                 {715827883, 0.01, 0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_cuda_problem problem = problem_of(cases[i].rows, 3, 7, cases[i].share);
        problem.rows -= cases[i].less;
        problem.cols -= cases[i].less;
        for (int k = 0; k < tess_cuda_kernel_count; k++) {
            const tess_cuda_kernel *kernel = tess_cuda_kernels[k];
            const bool taken = tess_cuda_kernel_by_fields(kernel, &problem);
            if (taken != (cases[i].taken && kernel->by_fields))
                fail_msg("case %d: %s %s vectors by fields", (int)i, kernel->name,
                         taken ? "takes" : "does not take");
        }
    }
    assert_non_null(tess_cuda_kernel_find("sliced")->by_fields);
}

/* A cube of n^3 block rows, coupled with 6 or 26 neighbours. */
static tess_cuda_problem cube(int64_t n, int32_t b, int points, tess_type type)
{
    const int64_t rows = n * n * n, wide = 3 * n - 2;
    tess_cuda_problem problem = problem_of(rows, b, 0, 0);
    problem.type = type;
    problem.blocks = points == 27 ? wide * wide * wide : 7 * rows - 6 * n * n;
    problem.longest_row = points;
    return problem;
}

/* Instead of a few thread blocks in a second round, all run at once. Rows with many steps get two
 * threads. The expected parameters were the fastest ones measured on an H200. */
static void thread_blocks_fill_rounds_and_long_rows_have_two_threads(void **state)
{
    (void)state;
    static const struct {
        int64_t n;
        int32_t b;
        int points;
        tess_type type;
        int depth, tpr;
    } cases[] = {
        {12, 32, 27, TESS_F64, 2, 2}, /* a round, with depth=4 1.6 rounds */
        {21, 19, 27, TESS_F32, 2, 1}, /* with depth=4 1.04 */
        {19, 22, 27, TESS_F32, 2, 1}, /* with depth=4 1.1 */
        {8, 60, 27, TESS_F64, 2, 4},  /* with depth=4 more than one */
        {7, 39, 27, TESS_F64, 4, 8},  /* 1.06 rounds of rows of 8 to 27 blocks */
        {7, 63, 27, TESS_F64, 4, 4},  /* 1.02 */
        {25, 10, 27, TESS_F64, 1, 2}, /* 1.2 rounds of 25 steps: twice as many, half as long */
        {20, 39, 7, TESS_F32, 4, 2},  {21, 36, 7, TESS_F32, 4, 2},  {26, 18, 7, TESS_F64, 4, 2},
        {29, 8, 27, TESS_F64, 2, 2},  {12, 44, 27, TESS_F64, 4, 1}, /* 0.9 rounds: two threads a row
                                                                       would be 1.8 */
        {13, 32, 7, TESS_F64, 4, 1}, /* 0.8 rounds: two threads per row would be 1.7 */
        {34, 8, 7, TESS_F64, 2, 1},  /* short rows: 3 steps */
        {53, 3, 27, TESS_F64, 4, 1}, /* 6 steps */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tess_cuda_problem problem =
            cube(cases[i].n, cases[i].b, cases[i].points, cases[i].type);
        const int depth = guessed("sliced", &problem, "depth"),
                  tpr = guessed("sliced", &problem, "tpr");
        if (depth != cases[i].depth || tpr != cases[i].tpr)
            fail_msg("%d points, n=%d, b=%d, %s: depth=%d,tpr=%d, expected depth=%d,tpr=%d",
                     cases[i].points, (int)cases[i].n, (int)cases[i].b,
                     tess_type_name(cases[i].type), depth, tpr, cases[i].depth, cases[i].tpr);
    }
}

/* A matrix nearly as large as L2 comes from memory and needs as many loads in flight as a larger
 * one (68 x 17 x 4 grid of 27 points, b = 8, 50.7 MB: 11 % slower with half of the loads). */
static void loads_in_flight_are_fewer_only_where_the_cache_keeps_the_matrix(void **state)
{
    (void)state;
    tess_cuda_problem problem = problem_of(68 * 17 * 4, 8, 0, 0);
    problem.blocks = 202 * 49 * 10;
    problem.longest_row = 27;
    assert_int_equal(guessed("sliced", &problem, "tpr"), 2);
    assert_int_equal(guessed("sliced", &problem, "depth"), 2);
    problem.blocks = 80000; /* 41 MB */
    assert_int_equal(guessed("sliced", &problem, "depth"), 1);
}

/* A few hundred long rows have a thread block on every multiprocessor, or thread blocks of 16 rows.
 */
static void few_long_rows_are_dealt_to_all_multiprocessors(void **state)
{
    (void)state;
    static const struct {
        int64_t n;
        int32_t b;
        int tpr, threads;
    } cases[] = {{512, 8, 32, 512},
                 {1024, 8, 32, 512},
                 {1024, 16, 32, 512},
                 {2048, 8, 32, 512},
                 {4096, 8, 16, 256}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t lines = cases[i].n / cases[i].b;
        tess_cuda_problem dense = problem_of(lines, cases[i].b, 0, 0);
        dense.blocks = lines * lines;
        dense.longest_row = lines;
        const int tpr = guessed("sliced", &dense, "tpr"),
                  threads = guessed("sliced", &dense, "threads");
        if (tpr != cases[i].tpr || threads != cases[i].threads)
            fail_msg("dense, n=%d, b=%d: tpr=%d,threads=%d, expected tpr=%d,threads=%d",
                     (int)cases[i].n, (int)cases[i].b, tpr, threads, cases[i].tpr,
                     cases[i].threads);
    }
}

/* Times of an H200 say so: src/cuda/kernels/daily/sliced_guess.c. */
static void wide_blocks_of_few_rows_and_cut_rows_have_more_threads(void **state)
{
    (void)state;
    static const struct {
        int64_t rows;
        int32_t b;
        int64_t mean, longest;
        tess_type type;
        int tpr, most_threads;
    } cases[] = {
        {475, 36, 33, 45, TESS_F32, 8, 256},      /* 17 100 rows */
        {1163, 22, 16, 30, TESS_F32, 8, 256},     /* 25 586, sorted */
        {166, 49, 21, 30, TESS_F64, 16, 256},     /* not 512 threads */
        {343, 50, 5, 7, TESS_F64, 4, 256},        /* five blocks are too few for eight threads */
        {512, 60, 21, 27, TESS_F64, 4, 128},      /* one round */
        {1331, 58, 22, 27, TESS_F32, 4, 256},     /* two rounds: large thread blocks */
        {655, 40, 6, 14, TESS_F64, 8, 256},       /* sorted: 1.8 rounds */
        {2197, 27, 23, 27, TESS_F32, 2, 256},     /* enough rows for two */
        {44084, 5, 40, 44084, TESS_F32, 4, 512},  /* cut rows, many of them */
        {17986, 13, 20, 17986, TESS_F64, 4, 512}, /* the same */
        {1295, 21, 34, 1295, TESS_F64, 16, 256},  /* cut rows, few */
        {2939, 17, 28, 2939, TESS_F64, 8, 256},   /* the same */
        {2150, 19, 28, 2150, TESS_F64, 16, 256},  /* 3.9 rounds */
        {1425, 31, 21, 1425, TESS_F64, 8, 256},   /* 16 threads per row would be 5.2 */
        {9947, 9, 40, 9947, TESS_F64, 8, 512},    /* segments of 128 */
        {8848, 31, 23, 8848, TESS_F32, 8, 256},   /* many, with blocks for eight threads */
        {1625, 41, 40, 1625, TESS_F32, 8, 256},  /* 16 would be five times as many as run at once */
        {20000, 16, 5, 200, TESS_F64, 4, 512},   /* short segments */
        {1813, 42, 6, 1310, TESS_F64, 4, 128},   /* two would read a block in two pieces */
        {6833, 28, 6, 1442, TESS_F64, 2, 128},   /* two read it at once */
        {1357, 14, 33, 1357, TESS_F32, 16, 256}, /* of 512 threads fewer run at once */
        {1952, 15, 36, 1952, TESS_F32, 8, 256},  /* 16 would be 1.7 times those held */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_cuda_problem problem = problem_of(cases[i].rows, cases[i].b, cases[i].mean, 0);
        problem.type = cases[i].type;
        problem.longest_row = cases[i].longest;
        problem.padded = (double)cases[i].longest / (double)cases[i].mean;
        const int tpr = guessed("sliced", &problem, "tpr"),
                  threads = guessed("sliced", &problem, "threads");
        if (tpr != cases[i].tpr || threads > cases[i].most_threads)
            fail_msg("%d block rows, b=%d: tpr=%d,threads=%d, expected tpr=%d and at most %d",
                     (int)cases[i].rows, (int)cases[i].b, tpr, threads, cases[i].tpr,
                     cases[i].most_threads);
    }
}

static void the_guess_fits_every_problem(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= test_draws(4000); seed++) {
        const int64_t rows = 1 + tess_random_below(seed, 0, (int64_t)1 << (1 + seed % 22));
        const int64_t mean = 1 + tess_random_below(seed, 1, 90);
        tess_cuda_problem problem = problem_of(rows, 1 + (int32_t)tess_random_below(seed, 2, 100),
                                               mean, 0.5 + 0.5 * tess_random_unit(seed, 3));
        problem.block_height = 1 + (int32_t)tess_random_below(seed, 4, 100);
        problem.rows = rows * problem.block_height;
        problem.longest_row = mean + tess_random_below(seed, 5, 2 * mean + 9);
        problem.type = seed % 2 ? TESS_F64 : TESS_F32;
        problem.multiprocessors = (int)tess_random_below(seed, 6, 200);
        const int tpr = guessed("sliced", &problem, "tpr"),
                  depth = guessed("sliced", &problem, "depth");
        if (tpr < 1 || depth < 1)
            fail_msg("seed %llu: tpr=%d, depth=%d", (unsigned long long)seed, tpr, depth);
    }
}

/* Swept storage is the first guess where a scattered x does not stay in the cache, and nowhere
 * else. */
static void swept_is_for_a_scattered_x_beyond_the_cache(void **state)
{
    static const struct {
        int64_t rows;
        int32_t b;
        double share;
        const char *kernel;
        const char *params;
    } cases[] = {
        {3937500, 2, 0.95, "swept", "async=1,"},    /* x of 63 MB, 16 bytes per block */
        {1941780, 3, 0.95, "swept", "async=1,"},    /* 47 MB, 24 bytes */
        {3937500, 2, 0.01, "sliced", "panels=1,"},  /* a stencil */
        {500000, 3, 0.95, "sliced", "panels=1,"},   /* 12 MB */
        {1500000, 32, 0.95, "sliced", "panels=1,"}, /* wide blocks hide the misses */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_cuda_problem problem = problem_of(cases[i].rows, cases[i].b, 7, cases[i].share);
        const tess_cuda_kernel *kernel;
        int params[TESS_CUDA_PARAMS];
        char text[256];
        assert_int_equal(tess_cuda_choose(test_ctx(state), &problem, TESS_CUDA_SPMV,
                                          &(tess_plan_options){0}, 0, &kernel, params),
                         TESS_OK);
        assert_string_equal(kernel->name, cases[i].kernel);
        tess_cuda_params_write(kernel, params, text, sizeof text);
        if (!strstr(text, cases[i].params))
            fail_msg("%s %s, expected %s", kernel->name, text, cases[i].params);
    }
}

/* All rounds of thread blocks are full: as many chunks as warps run at a time, or a multiple. */
static void chunks_fill_whole_rounds(void **state)
{
    (void)state;
    const tess_cuda_kernel *kernel = tess_cuda_kernel_find("swept");
    static const struct {
        int64_t rows;
        int32_t b;
        const char *layout;
    } cases[] = {
        {3937500, 2, "swept:chunks=6336,"}, /* 132 SMs, 16 warps, 3 rounds */
        {1941780, 3, "swept:chunks=4224,"}, /* 2 rounds */
        {100, 3, "swept:chunks=2112,"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_cuda_problem problem = problem_of(cases[i].rows, cases[i].b, 7, 0.95);
        int params[TESS_CUDA_PARAMS];
        char layout[TESS_CUDA_LAYOUT];
        kernel->guess(&problem, params);
        kernel->layout_name(&problem, params, layout, sizeof layout);
        if (strncmp(layout, cases[i].layout, strlen(cases[i].layout)) != 0)
            fail_msg("%s, expected %s", layout, cases[i].layout);
    }
}

/* Few and long rows get as many threads as run at a time, others the fewest. */
static void threads_of_block_row_follow_the_rows(void **state)
{
    (void)state;
    const tess_cuda_kernel *kernel = tess_cuda_kernel_find("block_row");
    static const struct {
        int64_t rows; /* in blocks */
        int32_t b;
        int64_t mean;
        int threads;
    } cases[] = {
        {64, 8, 64, 512},     /* dense, n = 512 */
        {128, 8, 128, 512},   /* 1024 */
        {512, 8, 512, 256},   /* 4096: 135 168 threads run at a time */
        {2048, 8, 2048, 64},  /* 16 384 */
        {512, 2, 4, 64},      /* short rows: 16 elements */
        {200000, 3, 27, 64},  /* a stencil */
        {1000, 130, 10, 256}, /* a column has a thread a row */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_cuda_problem problem = problem_of(cases[i].rows, cases[i].b, cases[i].mean, 0);
        int params[TESS_CUDA_PARAMS];
        kernel->guess(&problem, params);
        assert_true(kernel->fits(&problem, params));
        if (params[0] != cases[i].threads)
            fail_msg("%d block rows of %d blocks: T=%d, not %d", (int)cases[i].rows,
                     (int)cases[i].mean, params[0], cases[i].threads);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scattered_tells_random_columns_from_stencils),
        cmocka_unit_test(dense_columns_are_not_scattered),
        cmocka_unit_test(panels_follow_the_size_of_a_scattered_x),
        cmocka_unit_test(fields_are_taken_where_columns_are_near),
        cmocka_unit_test(thread_blocks_fill_rounds_and_long_rows_have_two_threads),
        cmocka_unit_test(loads_in_flight_are_fewer_only_where_the_cache_keeps_the_matrix),
        cmocka_unit_test(few_long_rows_are_dealt_to_all_multiprocessors),
        cmocka_unit_test(wide_blocks_of_few_rows_and_cut_rows_have_more_threads),
        cmocka_unit_test(the_guess_fits_every_problem),
        cmocka_unit_test(swept_is_for_a_scattered_x_beyond_the_cache),
        cmocka_unit_test(chunks_fill_whole_rounds),
        cmocka_unit_test(threads_of_block_row_follow_the_rows),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
