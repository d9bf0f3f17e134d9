#include "complex_problems.h"

#include <math.h>
#include <string.h>

#include "ref/ref.h"

static number draw(uint64_t seed, uint64_t at)
{
    return CMPLX(tess_random_unit(seed, 2 * at), tess_random_unit(seed, 2 * at + 1));
}

/* Entry (i, j) of the dense matrix, in the band of problem_matrix. */
static number entry(int64_t i, int64_t j, int64_t n, int32_t b, bool hermitian, uint64_t seed)
{
    const int64_t low = i < j ? i : j, high = i < j ? j : i;
    const number value = draw(seed, (uint64_t)(hermitian ? low * n + high : i * n + j));
    if (hermitian)
        return i == j ? 6.0 * b + creal(value) : i < j ? value : conj(value);
    const number turn = cexp(CMPLX(0, 3.1 * tess_random_unit(seed + 1, (uint64_t)i)));
    return (i == j ? 6.0 * b + value : value) * turn;
}

static bool in_band(int64_t i, int64_t j)
{
    const int64_t distance = i > j ? i - j : j - i;
    return distance <= 1 || distance == 4;
}

bool complex_sampled(uint64_t at)
{
    return !getenv("TEST_DEVICE") || (at % 10 == 0 && problem_part((size_t)at / 10));
}

tess_matrix *complex_matrix(tess_ctx *ctx, int64_t n, int32_t b, bool hermitian, tess_type type,
                            uint64_t seed)
{
    const int64_t most = n * 5 * b;
    int64_t *rows = malloc((size_t)most * sizeof *rows),
            *cols = malloc((size_t)most * sizeof *cols);
    tess_complex *values = malloc((size_t)most * sizeof *values);
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = tess_max(0, (i / b - 4) * b); j < tess_min(n, (i / b + 5) * b); j++) {
            if (!in_band(i / b, j / b))
                continue;
            rows[count] = i;
            cols[count] = j;
            values[count++] = pair(entry(i, j, n, b, hermitian, seed));
        }
    tess_matrix *A = problem_from_entries(ctx, n, count, rows, cols, TESS_C64, values, b, type);
    free(rows);
    free(cols);
    free(values);
    return A;
}

void *complex_vector(int64_t count, tess_type type, uint64_t seed)
{
    return test_vector(2 * count, tess_real_type(type), seed);
}

tess_plan *complex_plan(tess_ctx *ctx, const tess_matrix *A, tess_device *device)
{
    const tess_plan_options quick = {.effort = TESS_EFFORT_ESTIMATE};
    tess_plan *plan;
    assert_int_equal(tess_plan_create(ctx, A, device, &quick, &plan), TESS_OK);
    return plan;
}

double complex_residual(tess_ctx *ctx, const tess_matrix *A, const void *b, const void *x)
{
    const size_t bytes = (size_t)(A->rows + A->cols + 1) * sizeof(tess_complex);
    tess_matrix *wide;
    tess_complex *r = malloc(bytes), *y = malloc(bytes), *sums = malloc(bytes);
    double rr = 0, bb = 0;
    assert_int_equal(tess_matrix_to_type(ctx, A, TESS_C64, &wide), TESS_OK);
    for (int64_t i = 0; i < A->cols; i++)
        y[i] = tess_get_complex(x, A->type, i);
    for (int64_t i = 0; i < A->rows; i++) {
        r[i] = tess_get_complex(b, A->type, i);
        bb += r[i].re * r[i].re + r[i].im * r[i].im;
    }
    tess_ref_spmv_complex(wide, TESS_OPERATION_NONE, (tess_complex){-1, 0}, y, (tess_complex){1, 0},
                          r, sums);
    for (int64_t i = 0; i < A->rows; i++)
        rr += r[i].re * r[i].re + r[i].im * r[i].im;
    tess_matrix_destroy(wide);
    free(r);
    free(y);
    free(sums);
    return sqrt(rr / bb);
}

complex_system complex_open(tess_ctx *ctx, int64_t n, int32_t b, const char *device)
{
    complex_system s = {.A = complex_matrix(ctx, n, b, true, TESS_C64, 11),
                        .device = problem_device(ctx, device)};
    s.plan = complex_plan(ctx, s.A, s.device);
    s.b = complex_vector(n, TESS_C64, 12);
    s.x = calloc((size_t)n, sizeof *s.x);
    return s;
}

void complex_close(complex_system *s)
{
    tess_plan_destroy(s->plan);
    tess_device_close(s->device);
    tess_matrix_destroy(s->A);
    free(s->b);
    free(s->x);
}

tess_result complex_solve(complex_system *s, const char *spec)
{
    tess_result result;
    memset(s->x, 0, (size_t)s->A->rows * sizeof *s->x);
    if (tess_solve(s->plan, spec, s->b, s->x, &result) != TESS_OK)
        fail_msg("%s: %s", spec, tess_ctx_error(s->plan->ctx));
    return result;
}
