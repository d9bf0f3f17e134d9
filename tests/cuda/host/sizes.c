/* Sizes at random through every kernel that fits, by the real host code on the fake driver with an
 * empty cache, against ref: row lengths, empty and long rows, square and other blocks from 1 to 32,
 * last rows and columns that are not whole blocks, real and complex scalars.
 *
 * The seed is the time's, printed first; TESSERA_TEST_SEED gives it again. TESSERA_TEST_SECONDS is
 * how long the walk goes on. */
#include <time.h>

#include "cuda/kernels/table.h"
#include "session.h"

static uint64_t seed, drawn;

/* Uniform in from..to. */
static int64_t draw(int64_t from, int64_t to)
{
    return from + tess_random_below(seed, drawn++, to - from + 1);
}

/* Mostly small: a random power of two bounds it. */
static int64_t draw_small(int64_t from, int64_t to)
{
    int64_t bound = from;
    while (bound < to && draw(0, 3) > 0)
        bound = 2 * bound + 1;
    return draw(from, bound < to ? bound : to);
}

static int64_t row_length(int64_t average, int64_t columns)
{
    const int64_t kind = draw(0, 19);
    const int64_t length = kind < 2 ? 0 : kind == 2 ? draw(0, columns) : draw(0, 2 * average);
    return length < columns ? length : columns;
}

/* At most SCALARS stored, so that an emulated product takes milliseconds. */
static tess_matrix *draw_matrix(void **state)
{
    enum { SCALARS = 20000, ROWS = 1500 };
    const int32_t r = (int32_t)draw_small(1, 32);
    const int32_t c = draw(0, 3) > 0 ? r : (int32_t)draw_small(1, 32);
    const int64_t rows = draw_small(1, ROWS / r), columns = draw_small(1, ROWS / c);
    const int64_t average = draw_small(1, 40);
    const int64_t short_rows = draw(0, 1) ? draw(0, r - 1) : 0;
    const int64_t short_columns = draw(0, 1) ? draw(0, c - 1) : 0;
    int64_t *offsets = calloc((size_t)rows + 1, sizeof *offsets);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t room = SCALARS / (r * c) - offsets[i], length = row_length(average, columns);
        offsets[i + 1] = offsets[i] + (length < room ? length : room);
    }
    tess_matrix *A;
    ok(state, tess_matrix_allocate(test_ctx(state), (tess_type)draw(TESS_F64, TESS_C32),
                                   rows * r - short_rows, columns * c - short_columns, r, c,
                                   offsets[rows], &A));
    for (int64_t i = 0; i < rows; i++) {
        const int64_t length = offsets[i + 1] - offsets[i];
        int64_t at = 0; /* of columns - length that are left out, so many lie before */
        for (int64_t k = 0; k < length; k++) {
            at = draw(0, 2) ? at : draw(at, columns - length);
            A->columns[offsets[i] + k] = (int32_t)(at + k);
        }
        A->row_offsets[i + 1] = offsets[i + 1];
    }
    for (int64_t k = 0, i = 0; k < A->blocks; k++) {
        while (k >= A->row_offsets[i + 1])
            i++;
        for (int64_t at = 0; at < (int64_t)r * c; at++) {
            const bool inside = i * r + at % r < A->rows && A->columns[k] * c + at / r < A->cols;
            const uint64_t number = (uint64_t)(k * r * c + at);
            const tess_complex value = {tess_random_unit(seed, number),
                                        tess_random_unit(seed + 1, number)};
            tess_put_complex(A->values, A->type, k * r * c + at,
                             inside ? value : (tess_complex){0, 0});
        }
    }
    free(offsets);
    test_check_valid("a random matrix", A);
    return A;
}

/* Parameters that fit, drawn at random, as text; false when twenty draws do not fit. */
static bool draw_params(const tess_cuda_kernel *kernel, const tess_matrix *A, char *text,
                        size_t size)
{
    tess_cuda_problem problem = {0};
    tess_cuda_problem_of(A, &problem);
    problem.arch = 90;
    problem.multiprocessors = FAKE_MULTIPROCESSORS;
    problem.shared_limit = FAKE_SHARED_OPTIN;
    problem.l2_bytes = 1 << 20;
    problem.vectors = 1;
    for (int try = 0; try < 20; try++) {
        int params[TESS_CUDA_PARAMS];
        kernel->guess(&problem, params);
        for (int p = 0; p < kernel->param_count; p++)
            if (draw(0, 1))
                params[p] = kernel->params[p].values[draw(0, kernel->params[p].count - 1)];
        if (tess_cuda_fits(kernel, &problem, params)) {
            tess_cuda_params_write(kernel, params, text, size);
            return true;
        }
    }
    return false;
}

static void check_conjugate(void **state, tess_plan *plan, const tess_matrix *A, const char *what)
{
    const tess_complex alpha = {0.5, -1.5}, beta = {0, 0.75};
    void *x = test_vector(A->rows, A->type, 6), *y = test_vector(A->cols, A->type, 8);
    void *y0 = test_vector(A->cols, A->type, 8);
    tess_matrix *H;
    if (tess_spmv_complex(plan, TESS_OPERATION_CONJUGATE_TRANSPOSE, alpha, x, beta, y) != TESS_OK)
        fail_msg("%s: %s", what, tess_ctx_error(test_ctx(state)));
    ok(state, tess_matrix_conjugate_transpose(test_ctx(state), A, &H));
    test_check_spmv_complex(what, H, alpha, x, beta, y0, y);
    tess_matrix_destroy(H);
    free(x), free(y), free(y0);
}

/* A product, and one with its dot product; of complex matrices one with A^H; false when the kernel
 * is not for this matrix. */
static bool check_product(void **state, const tess_matrix *A, tess_device *device,
                          const tess_cuda_kernel *kernel, int number)
{
    char params[256] = "", what[640];
    const bool drawn_params = draw_params(kernel, A, params, sizeof params);
    const tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE,
                                       .kernel = kernel->name,
                                       .params = drawn_params ? params : NULL};
    snprintf(what, sizeof what,
             "seed %llu, matrix %d (%lld x %lld, %d x %d blocks of %s, %lld of them), %s %s",
             (unsigned long long)seed, number, (long long)A->rows, (long long)A->cols,
             A->block_height, A->block_width, tess_type_name(A->type), (long long)A->blocks,
             kernel->name, params);
    tess_plan *plan;
    tess_status status = tess_plan_create(test_ctx(state), A, device, &options, &plan);
    if (status == TESS_ERR_UNSUPPORTED && !drawn_params)
        return false;
    if (status != TESS_OK)
        fail_msg("%s: %s", what, tess_ctx_error(test_ctx(state)));
    void *x = test_vector(A->cols, A->type, 5), *y = test_vector(A->rows, A->type, 7);
    void *y0 = test_vector(A->rows, A->type, 7);
    double dot;
    if (tess_spmv(plan, -0.5, x, 2, y) != TESS_OK)
        fail_msg("%s: %s", what, tess_ctx_error(test_ctx(state)));
    test_check_spmv(what, A, -0.5, x, 2, y0, y);
    if (tess_spmv_dot(plan, 1, x, 0, y, NULL, &dot) != TESS_OK)
        fail_msg("%s: %s", what, tess_ctx_error(test_ctx(state)));
    test_check_spmv(what, A, 1, x, 0, NULL, y);
    if (tess_is_complex(A->type))
        check_conjugate(state, plan, A, what);
    free(x), free(y), free(y0);
    tess_plan_destroy(plan);
    return true;
}

static void every_kernel_that_fits_is_right_at_random_sizes(void **state)
{
    enum { A_FEW = 3 }; /* kernels a matrix, one after the other */
    const char *given = getenv("TESSERA_TEST_SEED"), *seconds = getenv("TESSERA_TEST_SECONDS");
    const double end = tess_seconds() + (seconds ? atof(seconds) : 20);
    int matrices = 0, products = 0, next = 0;
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("TESSERA_TEST_SEED=%llu\n", (unsigned long long)seed);
    tess_device *device = open_device(state);
    while (tess_seconds() < end) {
        tess_matrix *A = draw_matrix(state);
        tess_cache_clear();
        for (int k = 0; k < A_FEW && tess_seconds() < end; next++) {
            const tess_cuda_kernel *kernel = tess_cuda_kernels[next % tess_cuda_kernel_count];
            if (kernel->op == TESS_CUDA_SPMV) {
                products += check_product(state, A, device, kernel, matrices);
                k++;
            }
        }
        matrices++;
        tess_matrix_destroy(A);
    }
    tess_device_close(device);
    print_message("%d matrices, %d products\n", matrices, products);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(every_kernel_that_fits_is_right_at_random_sizes)};
    return cmocka_run_group_tests(tests, start, finish);
}
