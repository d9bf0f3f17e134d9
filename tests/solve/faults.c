/* Every method with every preconditioner on faulty matrices: the reason must be the right one, and
 * a returned x must be finite.
 *
 *     singular     a graph's Laplacian with Neumann ends, b outside its range
 *     indefinite   symmetric and regular: cg must see it, the others solve it
 *     no diagonal  the first diagonal block is 0: preconditioners name it, without one it is solved
 *     NaN          in one block beside the diagonal, and in b
 */
#include <math.h>
#include <string.h>

#include "problems.h"

enum { BLOCK_ROWS = 13 };

typedef enum fault_kind { SINGULAR, INDEFINITE, NO_DIAGONAL, WITH_NAN, FAULTS } fault_kind;
static const char *const kind_names[FAULTS] = {"singular", "indefinite", "no diagonal", "NaN"};

static double *block_at(tess_matrix *A, int64_t row, int64_t column)
{
    const int64_t k = tess_matrix_find(A, row, column);
    assert_true(k >= 0);
    return (double *)A->values + k * A->block_height * A->block_width;
}

/* The Laplacian of the blocks' graph, times an identity for the scalars of a block. */
static void make_laplacian(tess_matrix *A)
{
    const int32_t b = A->block_height;
    for (int64_t row = 0; row < A->block_rows; row++) {
        const int64_t first = A->row_offsets[row], end = A->row_offsets[row + 1];
        for (int64_t k = first; k < end; k++) {
            double *block = (double *)A->values + k * b * b;
            memset(block, 0, (size_t)(b * b) * sizeof *block);
            for (int32_t i = 0; i < b; i++)
                block[i * b + i] = A->columns[k] == row ? (double)(end - first - 1) : -1;
        }
    }
}

static tess_matrix *faulty_matrix(tess_ctx *ctx, fault_kind kind, int32_t b)
{
    tess_matrix *A = problem_matrix(ctx, BLOCK_ROWS, b, true, TESS_F64, 9);
    const size_t bytes = (size_t)(b * b) * sizeof(double);
    if (kind == SINGULAR) {
        make_laplacian(A);
    } else if (kind == INDEFINITE) { /* the sign of every third block row and column is changed */
        for (int64_t row = 0; row < A->block_rows; row++)
            for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++)
                for (int64_t i = 0; row % 3 == 1 && A->columns[k] == row && i < b * b; i++)
                    ((double *)A->values)[k * b * b + i] *= -1;
    } else if (kind == NO_DIAGONAL) {
        memset(block_at(A, 0, 0), 0, bytes);
    } else {
        block_at(A, 6, 5)[0] = block_at(A, 5, 6)[0] = NAN;
    }
    return A;
}

/* Returns whether the preconditioner cannot be made of the matrix, and must be refused. */
static bool is_refused(fault_kind kind, const tess_pc_ops *pc)
{
    return (kind == NO_DIAGONAL && !pc->identity && !pc->replaces_pivots) ||
           (kind == INDEFINITE && pc->pivots == TESS_PIVOTS_POSITIVE);
}

/* Returns whether the preconditioner may be refused. Factors of a singular matrix may have a pivot
 * of the size of rounding, and a NaN may reach a pivot or not. */
static bool may_be_refused(fault_kind kind, const tess_pc_ops *pc)
{
    return pc->pivots != TESS_PIVOTS_ANY || (kind == WITH_NAN && !pc->identity);
}

/* Returns whether M may be indefinite where A is. |D|, the diagonal preconditioner that asks for no
 * symmetry, and the identity never are. */
static bool may_be_indefinite(const tess_method *method, const tess_pc_ops *pc)
{
    return method->symmetric && !pc->identity && !(pc->diagonal && !pc->symmetric);
}

static bool is_right(fault_kind kind, const tess_method *method, const tess_pc_ops *pc,
                     const tess_result *result)
{
    switch (kind) {
    case SINGULAR: /* p.Ap is 0 but for rounding, of either sign */
        return result->true_residual > 1e-3 &&
               ((method->least_squares && (result->reason == TESS_REASON_LEAST_SQUARES ||
                                           result->reason == TESS_REASON_ITERATION_LIMIT)) ||
                result->reason == TESS_REASON_BREAKDOWN ||
                result->reason == TESS_REASON_STAGNATED ||
                result->reason == TESS_REASON_INDEFINITE || result->reason == TESS_REASON_DIVERGED);
    case WITH_NAN:
        return result->reason == TESS_REASON_NOT_FINITE;
    default:
        if (method->positive_definite ||
            (result->reason == TESS_REASON_INDEFINITE && may_be_indefinite(method, pc)))
            return result->reason == TESS_REASON_INDEFINITE;
        if (method->pc == &tess_pc_amg && result->reason == TESS_REASON_DIVERGED)
            return true; /* cycles alone need not converge for an indefinite matrix */
        return result->reason == TESS_REASON_CONVERGED && result->true_residual < 1.1e-10;
    }
}

static void check_fault(problem *p, fault_kind kind, const tess_method *method,
                        const tess_pc_ops *pc)
{
    tess_ctx *ctx = p->plan->ctx;
    char spec[80], what[200];
    tess_result result = {.iterations = -1};
    snprintf(spec, sizeof spec, "%s:pc=%s,tol=1e-10", method->name, pc->name);
    snprintf(what, sizeof what, "%s on %s, %s, blocks of %d", spec, p->device->backend->name,
             kind_names[kind], (int)p->A->block_height);
    memset(p->x, 0, (size_t)p->A->rows * sizeof *p->x);
    const tess_status status = tess_solve(p->plan, spec, p->b, p->x, &result);
    if (status == TESS_ERR_MATRIX && (is_refused(kind, pc) || may_be_refused(kind, pc))) {
        const char *row = kind == NO_DIAGONAL ? "row 0" : "row ";
        if (!strstr(tess_ctx_error(ctx), row) || !strstr(tess_ctx_error(ctx), pc->name))
            fail_msg("%s: '%s' names no row", what, tess_ctx_error(ctx));
        return;
    }
    if (status != TESS_OK)
        fail_msg("%s: %s", what, tess_ctx_error(ctx));
    if (is_refused(kind, pc))
        fail_msg("%s: not refused, %s", what, result.text);
    if (!is_right(kind, method, pc, &result))
        fail_msg("%s: %s, %s (true residual %g)", what, tess_reason_name(result.reason),
                 result.text, result.true_residual);
    for (int64_t i = 0; kind != WITH_NAN && i < p->A->rows; i++)
        if (!isfinite(p->x[i]))
            fail_msg("%s: x[%lld] is %g", what, (long long)i, p->x[i]);
}

/* Checks that for every method the reason names the right-hand side. */
static void check_nan_in_b(problem *p, const tess_method *method, const tess_pc_ops *pc)
{
    char spec[80];
    tess_result result;
    snprintf(spec, sizeof spec, "%s:pc=%s", method->name, pc->name);
    const double good = p->b[2];
    p->b[2] = NAN;
    assert_int_equal(tess_solve(p->plan, spec, p->b, p->x, &result), TESS_OK);
    p->b[2] = good;
    if (result.reason != TESS_REASON_NOT_FINITE || !strstr(result.text, "right-hand side"))
        fail_msg("%s, NaN in b: %s, %s", spec, tess_reason_name(result.reason), result.text);
}

static void check(problem *p, fault_kind kind, const tess_method *method, const tess_pc_ops *pc)
{
    if (kind < FAULTS)
        check_fault(p, kind, method, pc);
    else
        check_nan_in_b(p, method, pc);
}

static void check_all(void **state, const char *device)
{
    static const int32_t sizes[] = {1, 3};
    tess_ctx *ctx = test_ctx(state);
    for (int s = 0; s < 2; s++) {
        for (int kind = 0; kind <= FAULTS; kind++) {
            tess_matrix *A = kind < FAULTS
                                 ? faulty_matrix(ctx, (fault_kind)kind, sizes[s])
                                 : problem_matrix(ctx, BLOCK_ROWS, sizes[s], true, TESS_F64, 9);
            problem p = problem_open(ctx, A, device);
            size_t number = 0;
            for (size_t i = 0; tess_methods[i]; i++)
                for (size_t j = 0; tess_pcs[j]; j++, number++)
                    if (problem_part(number) && problem_sampled(s == 1 ? 2 : 0, number) &&
                        problem_may(tess_pc_names[j]) &&
                        problem_fits(tess_methods[i], tess_pcs[j]) && !tess_pcs[j]->complete)
                        check(&p, (fault_kind)kind, tess_methods[i], tess_pcs[j]);
            problem_close(&p);
        }
    }
}

static void every_method_with_every_preconditioner_names_the_fault(void **state)
{
    check_all(state, "cpu");
    if (!test_slowed())
        check_all(state, "ref");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_with_every_preconditioner_names_the_fault),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
