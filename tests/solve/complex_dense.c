/* Complex preconditioners of vector updates and products alone against dense computations that
 * share nothing with them: SPAI(0) as the solution of normal equations, Chebyshev's polynomial by
 * its roots and by bounds of its own. */
#include <math.h>
#include <string.h>

#include "complex_problems.h"

enum { VECTORS = 3 };

/* X = A^-1 X by elimination with partial pivoting; A: n x n, destroyed, X: n x m, both row-major.
 */
static void eliminate(number *A, int64_t n, number *X, int64_t m)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t p = k;
        for (int64_t i = k + 1; i < n; i++)
            p = cabs(A[i * n + k]) > cabs(A[p * n + k]) ? i : p;
        for (int64_t j = 0; j < n + m; j++) {
            number *at = j < n ? A + j : X + j - n;
            const int64_t stride = j < n ? n : m;
            const number low = at[k * stride];
            at[k * stride] = at[p * stride];
            at[p * stride] = low;
        }
        for (int64_t i = 0; i < n; i++) {
            const number factor = A[i * n + k] / A[k * n + k];
            for (int64_t j = 0; j < n && i != k; j++)
                A[i * n + j] -= factor * A[k * n + j];
            for (int64_t j = 0; j < m && i != k; j++)
                X[i * m + j] -= factor * X[k * m + j];
        }
    }
    for (int64_t i = 0; i < n * m; i++)
        X[i] /= A[i / m * n + i / m];
}

/* y = A x. */
static void multiply(const number *A, const number *x, number *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = 0;
        for (int64_t j = 0; j < n; j++)
            y[i] += A[i * n + j] * x[j];
    }
}

static double norm(const number *x, int64_t n)
{
    double square = 0;
    for (int64_t i = 0; i < n; i++)
        square += creal(conj(x[i]) * x[i]);
    return sqrt(square);
}

/* The diagonal becomes `share` of what it was: row sums of D^-1 A are then far above its
 * eigenvalues. */
static void weaken_diagonal(tess_matrix *A, double share)
{
    const int64_t b = A->block_height;
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t k = tess_matrix_find(A, i / b, i / b), at = (k * b + i % b) * b + i % b;
        const tess_complex value = tess_matrix_complex_value(A, at);
        tess_put_complex(A->values, A->type, at,
                         (tess_complex){share * value.re, share * value.im});
    }
}

/* A small system and a preconditioner of it; `inverse` is to be M^-1, row-major. */
typedef struct setting {
    tess_matrix *A;
    tess_plan *plan;
    number *dense, *inverse;
    int64_t n;
} setting;

static setting open_setting(tess_device *device, int32_t b, bool hermitian, tess_type type,
                            double share, uint64_t seed)
{
    tess_ctx *ctx = device->ctx;
    const int64_t n = 6 * b - b / 2;
    setting s = {.A = complex_matrix(ctx, n, b, hermitian, type, seed), .n = n};
    weaken_diagonal(s.A, share);
    s.plan = complex_plan(ctx, s.A, device);
    s.dense = dense_of(s.A);
    s.inverse = calloc((size_t)(n * n), sizeof *s.inverse);
    return s;
}

static void close_setting(setting *s)
{
    tess_plan_destroy(s->plan);
    tess_matrix_destroy(s->A);
    free(s->dense);
    free(s->inverse);
}

/* M^-1 r and M^-H r are those of `inverse`, for random r. */
static void check_applications(const setting *s, const char *spec, double tol)
{
    const int64_t n = s->n;
    const tess_type type = s->A->type;
    tess_ctx *ctx = s->plan->ctx;
    tess_preconditioner *pc;
    number *x = malloc((size_t)n * sizeof *x), *want = malloc((size_t)n * sizeof *want);
    void *z = calloc((size_t)n, sizeof(tess_complex));
    if (tess_pc_create(s->plan, spec, &pc) != TESS_OK)
        fail_msg("%s: %s", spec, tess_ctx_error(ctx));
    for (int round = 0; round < 2 * VECTORS; round++) {
        const bool adjoint = round % 2;
        void *r = complex_vector(n, type, (uint64_t)round + 40);
        for (int64_t i = 0; i < n; i++)
            x[i] = get(r, type, i);
        multiply(s->inverse, x, want, n);
        for (int64_t i = 0; i < n && adjoint; i++) {
            want[i] = 0;
            for (int64_t j = 0; j < n; j++)
                want[i] += conj(s->inverse[j * n + i]) * x[j];
        }
        assert_int_equal((adjoint ? tess_pc_apply_transpose : tess_pc_apply)(pc, r, z), TESS_OK);
        for (int64_t i = 0; i < n; i++)
            if (!(cabs(get(z, type, i) - want[i]) <= tol * norm(want, n)))
                fail_msg("%s%s, %s, blocks of %d: z[%lld] is %g%+gi instead of %g%+gi", spec,
                         adjoint ? ", adjoint" : "", tess_type_name(type), (int)s->A->block_height,
                         (long long)i, creal(get(z, type, i)), cimag(get(z, type, i)),
                         creal(want[i]), cimag(want[i]));
        free(r);
    }
    tess_pc_destroy(pc);
    free(x), free(want), free(z);
}

/* ---- SPAI(0) ---- */

/* The rows of M^-1 in a block row R of A minimise |e_i - m A_R|: m A_R A_R^H = e_i A_R^H. */
static void find_minimiser(setting *s)
{
    const int64_t n = s->n, b = s->A->block_height;
    number *G = malloc((size_t)(b * b) * sizeof *G), *X = malloc((size_t)(b * b) * sizeof *X);
    for (int64_t first = 0; first < n; first += b) {
        const int64_t size = tess_min(b, n - first);
        const number *rows = s->dense + first * n;
        for (int64_t i = 0; i < size; i++)
            for (int64_t l = 0; l < size; l++) {
                G[i * size + l] = 0; /* the transpose of A_R A_R^H */
                for (int64_t j = 0; j < n; j++)
                    G[i * size + l] += conj(rows[i * n + j]) * rows[l * n + j];
                X[i * size + l] = conj(rows[i * n + first + l]);
            }
        eliminate(G, size, X, size);
        for (int64_t i = 0; i < size; i++)
            for (int64_t l = 0; l < size; l++)
                s->inverse[(first + i) * n + first + l] = X[l * size + i];
    }
    free(G), free(X);
}

static void spai0_solves_the_normal_equations(void **state)
{
    static const int32_t sizes[] = {1, 2, 3, 5, 8, 9, 17};
    tess_device *device = problem_device(test_ctx(state), "cpu:2");
    for (size_t i = 0; i < 4 * sizeof sizes / sizeof *sizes; i++) {
        const tess_type type = i % 4 == 3 ? TESS_C32 : TESS_C64;
        if (!problem_part(i))
            continue;
        setting s = open_setting(device, sizes[i / 4], i % 4 == 1, type, 1, i);
        find_minimiser(&s);
        check_applications(&s, i % 4 == 2 ? "spai0:pc_type=f32" : "spai0",
                           i % 4 < 2 ? 1e-12 : 1e-6);
        close_setting(&s);
    }
    tess_device_close(device);
}

/* ---- Chebyshev ---- */

/* The inverse of A's block diagonal. */
static void invert_diagonal(const setting *s, number *out)
{
    const int64_t n = s->n, b = s->A->block_height;
    number *D = calloc((size_t)(n * n), sizeof *D);
    for (int64_t i = 0; i < n * n; i++) {
        D[i] = i / n / b == i % n / b ? s->dense[i] : 0;
        out[i] = i / n == i % n;
    }
    eliminate(D, n, out, n);
    free(D);
}

/* x = D^-1 A x / |D^-1 A x|; returns the length. */
static double power_step(const setting *s, const number *D, number *x, number *y)
{
    multiply(s->dense, x, y, s->n);
    multiply(D, y, x, s->n);
    const double length = norm(x, s->n);
    for (int64_t i = 0; i < s->n; i++)
        x[i] /= length;
    return length;
}

/* The bounds of D^-1 A's eigenvalues that chebyshev.c states, as a row sum and by 40 steps from its
 * vector; *true_one after many more. */
static void find_bounds(const setting *s, const number *D, double *by_rows, double *by_power,
                        double *true_one)
{
    const int64_t n = s->n;
    number *x = calloc((size_t)n, sizeof *x), *y = calloc((size_t)n, sizeof *y);
    *by_rows = *by_power = *true_one = 0;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            number entry = 0;
            for (int64_t l = 0; l < n; l++)
                entry += D[i * n + l] * s->dense[l * n + j];
            sum += cabs(entry);
        }
        *by_rows = fmax(*by_rows, sum);
        y[i] = tess_plan_random(s->plan, 5, i);
    }
    multiply(D, y, x, n);
    const double length = norm(x, n);
    for (int64_t i = 0; i < n; i++)
        x[i] /= length;
    for (int step = 0; step < 2000; step++) {
        *true_one = power_step(s, D, x, y);
        if (step < 40)
            *by_power = fmax(*by_power, 1.25 * *true_one);
    }
    free(x), free(y);
}

/* M^-1 as the Richardson iteration whose residual polynomial is Chebyshev's of degree 4 on bound /
 * 30
 * .. bound, z = 0 at first: z = z + D^-1 (r - A z) / root. */
static void find_polynomial(setting *s, const number *D, double bound)
{
    const double pi = acos(-1), centre = bound * (1 + 1.0 / 30) / 2, radius = bound - centre;
    const int64_t n = s->n;
    number *z = calloc((size_t)n, sizeof *z), *r = calloc((size_t)n, sizeof *r),
           *w = calloc((size_t)n, sizeof *w);
    for (int64_t column = 0; column < n; column++) {
        memset(z, 0, (size_t)n * sizeof *z);
        for (int k = 0; k < 4; k++) {
            multiply(s->dense, z, r, n);
            for (int64_t i = 0; i < n; i++)
                r[i] = (i == column) - r[i];
            multiply(D, r, w, n);
            for (int64_t i = 0; i < n; i++)
                z[i] += w[i] / (centre + radius * cos((2 * k + 1) * pi / 8));
        }
        for (int64_t i = 0; i < n; i++)
            s->inverse[i * n + column] = z[i];
    }
    free(z), free(r), free(w);
}

static void chebyshev_is_the_polynomial_of_its_roots(void **state)
{
    static const int32_t sizes[] = {1, 2, 3, 5, 8, 9, 17};
    tess_device *device = problem_device(test_ctx(state), "cpu:2");
    int smaller_rows = 0, smaller_power = 0;
    for (size_t i = 0; i < 4 * sizeof sizes / sizeof *sizes; i++) {
        double by_rows, by_power, true_one;
        if (!problem_part(i))
            continue;
        setting s = open_setting(device, sizes[i / 4], true, i % 4 == 3 ? TESS_C32 : TESS_C64,
                                 i % 5 < 2 ? 0.5 : 1, i + 1);
        number *D = calloc((size_t)(s.n * s.n), sizeof *D);
        invert_diagonal(&s, D);
        find_bounds(&s, D, &by_rows, &by_power, &true_one);
        assert_true(true_one <= by_rows && true_one <= by_power);
        smaller_rows += by_rows < by_power;
        smaller_power += by_power < by_rows;
        find_polynomial(&s, D, fmin(by_rows, by_power));
        check_applications(&s, i % 4 == 2 ? "chebyshev:pc_type=f32" : "chebyshev",
                           i % 4 < 2 ? 1e-12 : 1e-5);
        close_setting(&s);
        free(D);
    }
    tess_device_close(device);
    assert_true(getenv("TEST_DEVICE") || (smaller_rows > 3 && smaller_power > 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spai0_solves_the_normal_equations),
        cmocka_unit_test(chebyshev_is_the_polynomial_of_its_roots),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
