#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problems.h"
#include "solve/direct/direct.h"

/* |i - j| of the blocks kept: neighbours and two farther off, as in a small grid. */
static bool in_band(int64_t i, int64_t j)
{
    int64_t distance = i > j ? i - j : j - i;
    return distance <= 1 || distance == 4;
}

/* Entry (i, j) of the dense matrix; n rows, blocks of b. */
static double entry(int64_t i, int64_t j, int64_t n, int32_t b, bool symmetric, uint64_t seed)
{
    if (!in_band(i / b, j / b))
        return 0;
    int64_t low = i < j ? i : j, high = i < j ? j : i;
    uint64_t at = symmetric ? (uint64_t)(low * n + high) : (uint64_t)(i * n + j);
    double value = tess_random_unit(seed, at);
    return i == j ? 3.0 * b + value : value;
}

tess_matrix *problem_from_entries(tess_ctx *ctx, int64_t n, int64_t count, const int64_t *rows,
                                  const int64_t *cols, tess_type given, const void *values,
                                  int32_t b, tess_type type)
{
    tess_matrix *scalar, *blocked, *typed;
    assert_int_equal(tess_matrix_from_coo(ctx, given, n, n, count, rows, cols, values, &scalar),
                     TESS_OK);
    assert_int_equal(tess_matrix_to_blocks(ctx, scalar, &(tess_blocking){b, b}, &blocked), TESS_OK);
    assert_int_equal(tess_matrix_to_type(ctx, blocked, type, &typed), TESS_OK);
    tess_matrix_destroy(scalar);
    tess_matrix_destroy(blocked);
    return typed;
}

tess_matrix *problem_matrix(tess_ctx *ctx, int64_t block_rows, int32_t b, bool symmetric,
                            tess_type type, uint64_t seed)
{
    int64_t n = block_rows * b, count = 0;
    int64_t *rows = malloc((size_t)(n * n) * sizeof *rows), *cols = malloc((size_t)(n * n) * 8);
    double *values = malloc((size_t)(n * n) * sizeof *values);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            if (!in_band(i / b, j / b))
                continue;
            rows[count] = i;
            cols[count] = j;
            values[count++] = entry(i, j, n, b, symmetric, seed);
        }
    tess_matrix *A = problem_from_entries(ctx, n, count, rows, cols, TESS_F64, values, b, type);
    free(rows);
    free(cols);
    free(values);
    return A;
}

/* What "cpu" stands for: TEST_DEVICE of the environment, where it is set. */
static const char *chosen_device(void)
{
    const char *device = getenv("TEST_DEVICE");
    return device && *device ? device : "cpu";
}

tess_device *problem_device(tess_ctx *ctx, const char *name)
{
    return test_device(ctx, getenv("TEST_DEVICE") && strncmp(name, "cpu", 3) == 0 ? chosen_device()
                                                                                  : name);
}

bool problem_part(size_t item)
{
    const char *text = getenv("TEST_PART");
    size_t part, parts;
    return !text || sscanf(text, "%zu/%zu", &part, &parts) != 2 || item % parts == part - 1;
}

/* A GPU compiles every combination, and the emulator behind the fake driver runs it slowly. */
bool problem_sampled(size_t size, size_t number)
{
    const size_t fewer = test_slowed() ? 3 : 1;
    return strncmp(chosen_device(), "cuda", 4) != 0 || (size == 2 && number % (3 * fewer) == 0) ||
           (size + number) % (24 * fewer) == 0;
}

problem problem_open(tess_ctx *ctx, tess_matrix *A, const char *device)
{
    problem p = {.A = A};
    if (strcmp(device, "cpu") == 0)
        device = chosen_device();
    p.device = test_device(ctx, device);
    const tess_plan_options quick = {.effort = TESS_EFFORT_ESTIMATE};
    assert_int_equal(tess_plan_create(ctx, A, p.device, &quick, &p.plan), TESS_OK);
    p.b = test_vector(A->rows, TESS_F64, 7);
    p.x = calloc((size_t)A->rows + 1, sizeof *p.x);
    p.exact = calloc((size_t)A->rows + 1, sizeof *p.exact);
    double *dense = test_dense(A);
    dense_solve(dense, A->rows, p.b, p.exact);
    free(dense);
    return p;
}

bool problem_may(const char *spec)
{
    for (size_t i = 0; getenv("TEST_DIAGONAL_ONLY") && tess_pcs[i]; i++)
        if ((tess_pcs[i]->triangular || tess_pcs[i]->takes_modes) &&
            strstr(spec, tess_pcs[i]->name))
            return false;
    return true;
}

bool problem_fits(const tess_method *method, const tess_pc_ops *pc)
{
    if ((method->pc && method->pc != pc) || (method->symmetric && pc->unsymmetric))
        return false;
    return !pc->complete || tess_direct_available(NULL, false) == TESS_OK;
}

bool problem_has(const problem *p, const char *spec)
{
    if (!problem_may(spec))
        return false;
    tess_solver *solver = NULL;
    tess_status status = tess_solver_create(p->plan, spec, &solver);
    if (status == TESS_OK)
        status = tess_solver_set_up(solver);
    tess_solver_destroy(solver);
    return status != TESS_ERR_UNSUPPORTED || p->device->threads > 0;
}

void problem_close(problem *p)
{
    tess_plan_destroy(p->plan);
    tess_device_close(p->device);
    tess_matrix_destroy(p->A);
    free(p->b);
    free(p->x);
    free(p->exact);
}

tess_result problem_solve(problem *p, const char *spec)
{
    tess_result result;
    memset(p->x, 0, (size_t)p->A->rows * sizeof *p->x);
    if (tess_solve(p->plan, spec, p->b, p->x, &result) != TESS_OK)
        fail_msg("%s: %s", spec ? spec : "NULL", tess_ctx_error(p->plan->ctx));
    return result;
}

double *problem_zeros(int64_t count)
{
    double *x = test_vector(count, TESS_F64, 1);
    memset(x, 0, (size_t)count * sizeof *x);
    return x;
}

/* Sanitizers leave it alone: of a thousand rows it took them longer than what is tested. */
__attribute__((no_sanitize("address", "thread", "undefined"))) void
dense_solve(double *A, int64_t n, const double *b, double *x)
{
    memcpy(x, b, (size_t)n * sizeof *x);
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(A[i * n + k]) > fabs(A[best * n + k]))
                best = i;
        for (int64_t j = 0; j < n; j++) {
            double swap = A[k * n + j];
            A[k * n + j] = A[best * n + j];
            A[best * n + j] = swap;
        }
        double swap = x[k];
        x[k] = x[best];
        x[best] = swap;
        for (int64_t i = k + 1; i < n; i++) {
            double factor = A[i * n + k] / A[k * n + k];
            for (int64_t j = k; factor != 0 && j < n; j++)
                A[i * n + j] -= factor * A[k * n + j];
            x[i] -= factor * x[k];
        }
    }
    for (int64_t i = n; i-- > 0;) {
        for (int64_t j = i + 1; j < n; j++)
            x[i] -= A[i * n + j] * x[j];
        x[i] /= A[i * n + i];
    }
}

double distance(const double *x, const double *y, int64_t n)
{
    double largest = 0, scale = 0;
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, isfinite(x[i]) ? fabs(x[i] - y[i]) : INFINITY);
        scale = fmax(scale, fabs(y[i]));
    }
    return scale > 0 ? largest / scale : largest;
}

tess_matrix *random_matrix(tess_ctx *ctx, int64_t n, int64_t a_row, bool symmetric)
{
    const int64_t count = n * (a_row + 1);
    int64_t *rows = malloc((size_t)(2 * count) * sizeof *rows);
    int64_t *columns = malloc((size_t)(2 * count) * sizeof *columns), used = 0;
    double *values = malloc((size_t)(2 * count) * sizeof *values);
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = k / (a_row + 1),
                      j = k % (a_row + 1) == 0 ? i : tess_random_below(7, (uint64_t)k, n);
        for (int turn = 0; turn < (symmetric && i != j ? 2 : 1); turn++) {
            rows[used] = turn ? j : i;
            columns[used] = turn ? i : j;
            values[used++] = k % (a_row + 1) == 0 ? 4.0 * (double)a_row : -1;
        }
    }
    tess_matrix *A;
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, n, n, used, rows, columns, values, &A),
                     TESS_OK);
    free(rows);
    free(columns);
    free(values);
    return A;
}
