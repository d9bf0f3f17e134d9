/* auto on parts chooses by the plan's present values, whichever it had before. */
#include "backend/backend.h"
#include "dealt.h"
#include "matrices.h"

#include <string.h>

/* Values of the part's rows in a memory of their own. */
static double *values_of(const dealt *d, const tess_matrix *A, int rank)
{
    const int64_t area = (int64_t)A->block_height * A->block_width,
                  at = A->row_offsets[d->firsts[rank]];
    const int64_t scalars = (A->row_offsets[d->firsts[rank + 1]] - at) * area;
    double *values = malloc((size_t)(scalars + 1) * sizeof *values);
    memcpy(values, (double *)A->values + at * area, (size_t)scalars * sizeof *values);
    return values;
}

/* Gives the plan the values of another matrix. The caller's array is gone afterwards. */
static tess_status take_values(const dealt *d, int rank, tess_plan *plan, tess_solver *solver)
{
    double *values = values_of(d, d->y0, rank);
    const tess_status status =
        solver ? tess_solver_update(solver, values) : tess_plan_update_values(plan, values);
    free(values);
    return status;
}

/* When the plan gets the values of d->y0, of A's pattern. */
enum { BEFORE_THE_SOLVER, WITH_ITS_UPDATE, BEFORE_ITS_SOLVE, TIMES };

static tess_status solve_anew(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    const int64_t first = dealt_row(d, rank);
    const double *b = (const double *)d->x + first;
    double *x = (double *)d->y + first;
    tess_solver *solver;
    tess_status status = TESS_OK;
    (void)part;
    if (d->k == BEFORE_THE_SOLVER)
        status = take_values(d, rank, plan, NULL);
    if (status == TESS_OK)
        status = tess_solver_create(plan, d->spec, &solver);
    if (status != TESS_OK)
        return status;
    if (d->k != BEFORE_THE_SOLVER) {
        status = tess_solver_solve(solver, b, x, &d->result[rank]);
        memset(x, 0, (size_t)plan->matrix->rows * sizeof *x);
        if (status == TESS_OK)
            status = take_values(d, rank, plan, d->k == WITH_ITS_UPDATE ? solver : NULL);
    }
    if (status == TESS_OK)
        status = tess_solver_solve(solver, b, x, &d->result[rank]);
    tess_solver_destroy(solver);
    return status;
}

/* From the values of `before` to those of `after`. */
static void check_kinds(const tess_matrix *before, const tess_matrix *after, const char *what)
{
    const int64_t rows = before->rows;
    double *b = test_vector(rows, TESS_F64, 1), *x = calloc((size_t)rows, sizeof *x);
    for (int i = 0; i < 3 * TIMES; i++) {
        dealt d = dealt_open(before, 1 + i / TIMES, 1);
        d.body = solve_anew;
        d.k = i % TIMES;
        d.y0 = after;
        d.x = b;
        d.y = x;
        memset(x, 0, (size_t)rows * sizeof *x);
        dealt_run(&d);
        dealt_ok(&d, (uint64_t)i);
        if (d.result[0].reason != TESS_REASON_CONVERGED || !(dealt_residual(after, b, x) <= 1.1e-8))
            fail_msg("%s, case %d: %s, |b - Ax|/|b| = %g", what, i, d.result[0].text,
                     dealt_residual(after, b, x));
        test_team_destroy(d.team);
    }
    free(b), free(x);
}

/* The same pattern: symmetric positive definite; not symmetric; negative definite. */
static void new_values_of_another_kind_are_solved(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A[3];
    for (int i = 0; i < 3; i++) {
        A[i] = dealt_dominant(ctx, 24, 2, true, 3);
        double *values = A[i]->values;
        for (int64_t row = 0; row < A[i]->block_rows; row++)
            for (int64_t k = A[i]->row_offsets[row]; k < A[i]->row_offsets[row + 1]; k++)
                for (int64_t e = 4 * k; e < 4 * k + 4; e++)
                    values[e] *= i == 2 ? -1 : i == 1 && A[i]->columns[k] < row ? -1 : 1;
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (i != j)
                check_kinds(A[i], A[j], "from one kind to another");
    for (int i = 0; i < 3; i++)
        tess_matrix_destroy(A[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_values_of_another_kind_are_solved),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
