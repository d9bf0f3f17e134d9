/* Complex systems that are real ones in disguise: with diagonal matrices U and V of the numbers 1,
 * i, -1, -i and a number f with |f| = 1, the system f U A V^H x' = U b has the solution x' = V x /
 * f. Methods and preconditioners commute with U and V, so that the residuals are those of the real
 * solver but for rounding. With f the slots are complex. A conjugate too many or too few changes
 * the residuals. Then preconditioners that are exact, and their adjoints. */
#include <math.h>
#include <string.h>

#include "complex_problems.h"

/* ---- Real systems in disguise ---- */

typedef enum disguise {
    PLAIN,   /* U = V = 1: imaginary parts are 0 */
    SIMILAR, /* U = V */
    TURNED,  /* U and V differ, and f: the diagonal is complex */
    SPUN     /* U = V = 1, and f */
} disguise;

static number turn(uint64_t seed, int64_t i, disguise how)
{
    static const double re[] = {1, 0, -1, 0}, im[] = {0, 1, 0, -1};
    const bool turns = how == SIMILAR || how == TURNED;
    const int64_t quarter = turns ? tess_random_below(seed, (uint64_t)i, 4) : 0;
    return CMPLX(re[quarter], im[quarter]);
}

typedef struct pair_of_systems {
    disguise how;
    bool symmetric;
    problem real;
    tess_matrix *A;
    tess_plan *plan;
    tess_complex *b, *x;
} pair_of_systems;

static number u_of(const pair_of_systems *p, int64_t i)
{
    return turn(91, i, p->how);
}

static number v_of(const pair_of_systems *p, int64_t i)
{
    return turn(p->how == TURNED ? 92 : 91, i, p->how);
}

static number f_of(const pair_of_systems *p)
{
    return p->how >= TURNED ? CMPLX(0.6, 0.8) : 1;
}

static pair_of_systems open_pair(tess_ctx *ctx, int32_t b, bool symmetric, disguise how,
                                 uint64_t seed)
{
    pair_of_systems p = {.how = how, .symmetric = symmetric};
    p.real = problem_open(ctx, problem_matrix(ctx, 60 / b + 3, b, symmetric, TESS_F64, seed),
                          getenv("TEST_DEVICE") ? "cpu" : "cpu:2");
    const tess_matrix *A = p.real.A;
    assert_int_equal(tess_matrix_to_type(ctx, A, TESS_C64, &p.A), TESS_OK);
    tess_complex *values = p.A->values;
    for (int64_t row = 0; row < A->block_rows; row++)
        for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++)
            for (int64_t at = 0; at < b * b; at++) {
                const int64_t i = row * b + at % b, j = A->columns[k] * b + at / b;
                values[k * b * b + at] =
                    pair(f_of(&p) * u_of(&p, i) * values[k * b * b + at].re * conj(v_of(&p, j)));
            }
    p.plan = complex_plan(ctx, p.A, p.real.device);
    p.b = calloc((size_t)A->rows, sizeof *p.b);
    p.x = calloc((size_t)A->rows, sizeof *p.x);
    for (int64_t i = 0; i < A->rows; i++)
        p.b[i] = pair(u_of(&p, i) * p.real.b[i]);
    return p;
}

static void close_pair(pair_of_systems *p)
{
    tess_plan_destroy(p->plan);
    tess_matrix_destroy(p->A);
    problem_close(&p->real);
    free(p->b);
    free(p->x);
}

/* Checks that the residuals of the first iterations agree to seven digits. */
static void check_histories(const char *what, const tess_result *real, const tess_result *complex)
{
    const int64_t count = tess_min(real->history_count, complex->history_count);
    if (llabs((long long)(real->iterations - complex->iterations)) > 1)
        fail_msg("%s: %lld iterations, of the real system %lld", what,
                 (long long)complex->iterations, (long long)real->iterations);
    for (int64_t i = 0; i < count && i <= 10; i++)
        if (!(fabs(real->history[i] - complex->history[i]) <= 1e-7 * real->history[i] + 1e-13))
            fail_msg("%s: |r|/|b| = %.10g after %lld iterations, of the real system %.10g", what,
                     complex->history[i], (long long)i, real->history[i]);
}

/* Checks that complex vectors move twice the bytes. A vector of gmres may be orthogonalised again
 * one iteration earlier or later, but not in every iteration. Half storage of the real matrix would
 * move less. */
static void check_traffic(const pair_of_systems *p, const char *what, const tess_result *real,
                          const tess_result *complex)
{
    if (!p->symmetric && real->iterations == complex->iterations &&
        !(complex->bytes <= 2.3 * real->bytes))
        fail_msg("%s: %g bytes are moved, of the real system %g", what, complex->bytes,
                 real->bytes);
}

static void check_pair(pair_of_systems *p, const char *spec)
{
    tess_ctx *ctx = p->plan->ctx;
    const int64_t n = p->A->rows;
    tess_solver *one = NULL, *other = NULL;
    tess_result real, complex;
    char what[200];
    snprintf(what, sizeof what, "%s, disguise %d, blocks of %d", spec, (int)p->how,
             (int)p->A->block_height);
    memset(p->real.x, 0, (size_t)n * sizeof *p->real.x);
    memset(p->x, 0, (size_t)n * sizeof *p->x);
    if (tess_solver_create(p->real.plan, spec, &one) != TESS_OK ||
        tess_solver_create(p->plan, spec, &other) != TESS_OK)
        fail_msg("%s: %s", what, tess_ctx_error(ctx));
    assert_int_equal(tess_solver_solve(one, p->real.b, p->real.x, &real), TESS_OK);
    assert_int_equal(tess_solver_solve(other, p->b, p->x, &complex), TESS_OK);
    assert_int_equal(real.reason, TESS_REASON_CONVERGED);
    if (complex.reason != TESS_REASON_CONVERGED)
        fail_msg("%s: %s", what, complex.text);
    check_histories(what, &real, &complex);
    check_traffic(p, what, &real, &complex);
    for (int64_t i = 0; i < n; i++) {
        const number x = CMPLX(p->x[i].re, p->x[i].im),
                     expected = v_of(p, i) * p->real.x[i] / f_of(p);
        if (!(cabs(x - expected) < 1e-7))
            fail_msg("%s: x[%lld] = %g%+gi instead of %g%+gi", what, (long long)i, creal(x),
                     cimag(x), creal(expected), cimag(expected));
    }
    tess_solver_destroy(one);
    tess_solver_destroy(other);
}

/* Returns whether the method's residuals are those of the real system. They are not
 *     for bicg         its shadow residual depends on U^H V
 *     for idr          its shadows are the same for every system
 *     without a pc     U A V^H then has other residuals
 *     for polynomials  the power method finds their bound from the same vector for every system */
static bool commutes(const tess_method *method, const tess_pc_ops *pc, disguise how)
{
    if (how >= TURNED && (method->symmetric || pc->symmetric)) /* not Hermitian */
        return false;
    if (how == TURNED)
        return !pc->identity && !method->begin && (!method->transpose || method->least_squares);
    return how != SIMILAR || !(method->begin || (pc->symmetric && pc->diagonal));
}

static void check_method(pair_of_systems *p, const tess_method *method, bool symmetric,
                         uint64_t *number_of)
{
    static const char *const more[] = {"", ",side=left"};
    for (size_t j = 0; tess_pcs[j]; j++)
        for (int side = 0; side < (method->sides == TESS_SIDES_BOTH ? 2 : 1); side++) {
            const tess_pc_ops *pc = tess_pcs[j];
            char spec[120];
            if (!pc->complex || !problem_fits(method, pc) || !commutes(method, pc, p->how) ||
                (!symmetric && (method->symmetric || pc->symmetric)) ||
                !test_takes(tess_random_u64(3, (*number_of)++)) ||
                !complex_sampled(tess_random_u64(4, *number_of)))
                continue;
            snprintf(spec, sizeof spec, "%s:pc=%s,tol=1e-9%s%s%s", method->name, pc->name,
                     method->keys ? ",restart=8" : "", more[side],
                     pc->triangular && *number_of % 3 ? ",schedule=levels" : "");
            check_pair(p, spec);
        }
}

static void residuals_are_those_of_the_real_system(void **state)
{
    static const int32_t sizes[] = {1, 2, 3, 5, 8, 9};
    uint64_t number_of = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int how = PLAIN; how <= SPUN; how++)
            for (int symmetric = 0; symmetric < 2; symmetric++) {
                pair_of_systems p =
                    open_pair(test_ctx(state), sizes[s], symmetric, (disguise)how, 5 + s);
                for (size_t i = 0; tess_methods[i]; i++)
                    if (tess_methods[i]->complex)
                        check_method(&p, tess_methods[i], symmetric, &number_of);
                close_pair(&p);
            }
}

/* ---- Preconditioners ---- */

static number dot(const tess_complex *x, const tess_complex *y, int64_t n)
{
    number sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += conj(CMPLX(x[i].re, x[i].im)) * CMPLX(y[i].re, y[i].im);
    return sum;
}

/* With four block rows A is block tridiagonal: factors without fill-in are complete. */
static void factors_of_a_tridiagonal_matrix_are_exact(void **state)
{
    static const char *const pcs[] = {
        "ilu0:domains=1", "ilu0:schedule=levels", "ilut:drop=0",        "iluk:domains=1",
        "ic0:domains=1",  "ic0:schedule=levels",  "ick:schedule=levels"};
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = problem_device(ctx, "cpu:2");
    for (int32_t b = 1; b <= 20; b++)
        for (int i = 0; i < 7; i++) {
            if (!problem_part((size_t)b) ||
                (device->threads < 1 && !strstr(pcs[i], "levels"))) /* a GPU has no domains */
                continue;
            const int64_t n = 4 * b - b / 3;
            tess_matrix *A = complex_matrix(ctx, n, b, i >= 4, TESS_C64, (uint64_t)b), *H, *T;
            tess_plan *plan = complex_plan(ctx, A, device);
            tess_preconditioner *pc;
            tess_complex *r = complex_vector(n, TESS_C64, 3), *z = calloc((size_t)n, sizeof *z);
            assert_int_equal(tess_matrix_transpose(ctx, A, &T), TESS_OK);
            assert_int_equal(tess_matrix_to_type(ctx, T, TESS_C64, &H), TESS_OK);
            for (int64_t k = 0; k < tess_matrix_stored(H); k++)
                ((tess_complex *)H->values)[k].im *= -1;
            assert_int_equal(tess_pc_create(plan, pcs[i], &pc), TESS_OK);
            assert_int_equal(tess_pc_apply(pc, r, z), TESS_OK);
            if (!(complex_residual(ctx, A, r, z) < 1e-13))
                fail_msg("%s, blocks of %d: |r - A z|/|r| = %g", pcs[i], (int)b,
                         complex_residual(ctx, A, r, z));
            assert_int_equal(tess_pc_apply_transpose(pc, r, z), TESS_OK);
            if (!(complex_residual(ctx, H, r, z) < 1e-13))
                fail_msg("%s, blocks of %d: |r - A^H z|/|r| = %g", pcs[i], (int)b,
                         complex_residual(ctx, H, r, z));
            tess_pc_destroy(pc);
            tess_plan_destroy(plan);
            tess_matrix_destroy(A);
            tess_matrix_destroy(T);
            tess_matrix_destroy(H);
            free(r);
            free(z);
        }
    tess_device_close(device);
}

/* A Hermitian matrix is one no longer. Its diagonal stays real and positive, so that symmetric
 * factors exist. */
static void disturb(tess_matrix *A)
{
    tess_complex *values = A->values;
    for (int64_t k = 0; k < tess_matrix_stored(A); k++) {
        values[k].re *= 1 + 0.02 * (double)(k % 3);
        values[k].im *= 1 + 0.02 * (double)(k % 5);
    }
}

/* s^H (M^-1 r) = (M^-H s)^H r. */
static void adjoints_are_adjoint(void **state)
{
    static const char *const more[] = {"", ":pc_type=f32", ":schedule=levels",
                                       ":schedule=colours,pc_type=f32"};
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = problem_device(ctx, "cpu:3");
    uint64_t item = 0;
    for (int32_t b = 1; b <= 18; b += b < 9 ? 1 : 4)
        for (size_t j = 0; tess_pcs[j]; j++)
            for (size_t w = 0; w < (tess_pcs[j]->triangular ? 4u : 2u); w++) {
                if (!tess_pcs[j]->complex || tess_pcs[j]->identity ||
                    (w == 3 && tess_pcs[j]->ordered) || !complex_sampled(item++))
                    continue;
                const int64_t n = 9 * b + b / 2;
                const bool disturbed = tess_pcs[j]->symmetric && tess_random_below(8, item, 2);
                tess_matrix *A = complex_matrix(ctx, n, b, tess_pcs[j]->symmetric, TESS_C64, 8);
                if (disturbed)
                    disturb(A);
                tess_plan *plan = complex_plan(ctx, A, device);
                tess_complex *r = complex_vector(n, TESS_C64, 1),
                             *s = complex_vector(n, TESS_C64, 2);
                tess_complex *z = calloc((size_t)n, sizeof *z), *y = calloc((size_t)n, sizeof *y);
                tess_preconditioner *pc;
                char spec[80];
                snprintf(spec, sizeof spec, "%s%s", tess_pcs[j]->name, more[w]);
                assert_int_equal(tess_pc_create(plan, spec, &pc), TESS_OK);
                assert_int_equal(tess_pc_apply(pc, r, z), TESS_OK);
                assert_int_equal(tess_pc_apply_transpose(pc, s, y), TESS_OK);
                const number one = dot(s, z, n), other = dot(y, r, n);
                if (!(cabs(one - other) < 1e-12 * (double)n))
                    fail_msg("%s, blocks of %d, %s: %g%+gi is not %g%+gi", spec, (int)b,
                             disturbed ? "nearly Hermitian" : "as it is made", creal(one),
                             cimag(one), creal(other), cimag(other));
                tess_pc_destroy(pc);
                tess_plan_destroy(plan);
                tess_matrix_destroy(A);
                free(r), free(s), free(z), free(y);
            }
    tess_device_close(device);
}

/* The diagonal blocks times M^-1 r give r. */
static void inverted_diagonals_are_inverse(void **state)
{
    static const char *const pcs[] = {"bjacobi", "ssor", "ilu0", "ic0"};
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = problem_device(ctx, "cpu");
    for (int32_t b = 1; b <= 20; b++)
        for (int i = 0; i < 4 && problem_part((size_t)b); i++) {
            tess_matrix *A = complex_matrix(ctx, b, b, true, TESS_C64, (uint64_t)b);
            tess_plan *plan = complex_plan(ctx, A, device);
            tess_preconditioner *pc;
            tess_complex *r = complex_vector(b, TESS_C64, 3), *z = calloc((size_t)b, sizeof *z);
            assert_int_equal(tess_pc_create(plan, pcs[i], &pc), TESS_OK);
            assert_int_equal(tess_pc_apply(pc, r, z), TESS_OK);
            if (!(complex_residual(ctx, A, r, z) < 1e-13))
                fail_msg("%s, a block of %d: |r - A z|/|r| = %g", pcs[i], (int)b,
                         complex_residual(ctx, A, r, z));
            tess_pc_destroy(pc);
            tess_plan_destroy(plan);
            tess_matrix_destroy(A);
            free(r);
            free(z);
        }
    tess_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residuals_are_those_of_the_real_system),
        cmocka_unit_test(factors_of_a_tridiagonal_matrix_are_exact),
        cmocka_unit_test(adjoints_are_adjoint),
        cmocka_unit_test(inverted_diagonals_are_inverse),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
