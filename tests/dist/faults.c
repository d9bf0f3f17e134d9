/* What is wrong on one part fails all parts, in whatever they do with their plan: memory that is
 * missing, and arguments. Otherwise the others would wait for ever. */
#include "backend/backend.h"
#include "dealt.h"
#include "matrices.h"
#include "support/counted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct case_of_memory {
    const char *spec; /* NULL: a product */
    int k;            /* of the product, as dealt_products takes it */
} case_of_memory;

static void set_body(dealt *d, const case_of_memory *c)
{
    d->body = c->spec ? dealt_solve : dealt_products;
    d->spec = c->spec && strcmp(c->spec, "auto") != 0 ? c->spec : NULL;
    d->k = c->k;
    d->order = TESS_ORDER_ROW_MAJOR;
}

enum { PARTS = 4 };

/* Each allocation of one part fails in turn, until none is left. The transport of the tests gathers
 * in one call between an even number of parts, in two calls between an odd one. */
static void fail_each_allocation(const tess_matrix *A, int parts, const case_of_memory *c,
                                 const char *device)
{
    double *x = test_vector(2 * A->rows, A->type, 1), *y = calloc((size_t)(2 * A->rows), 8);
    tess_status status = TESS_ERR_MEMORY;
    for (int64_t n = 0; status != TESS_OK; n = test_next_failure(n)) {
        dealt d = dealt_open(A, parts, 5);
        const int culprit = (int)(n % parts);
        char name[32];
        snprintf(name, sizeof name, "part %d of %d", culprit, parts);
        memset(y, 0, (size_t)(2 * A->rows) * 8);
        set_body(&d, c);
        d.device = device;
        d.x = x;
        d.y = y;
        d.allocation_fails[culprit] = n;
        dealt_run(&d);
        test_team_destroy(d.team);
        status = d.status[culprit];
        for (int r = 0; r < parts; r++)
            if (d.status[r] != status ||
                (status != TESS_OK && (status != TESS_ERR_MEMORY || !strstr(d.error[r], name))))
                fail_msg("%s, k = %d, allocation %lld of part %d: part %d has status %d: %s",
                         c->spec ? c->spec : "a product", c->k, (long long)n, culprit, r,
                         (int)d.status[r], d.error[r]);
    }
    free(x), free(y);
}

static void memory_missing_in_a_product_fails_all(void **state)
{
    tess_matrix *A = test_matrix(test_ctx(state), TEST_RANDOM, 30, 2, 2, TESS_F64, 1);
    for (int k = -1; k < 3; k++) {
        fail_each_allocation(A, PARTS, &(case_of_memory){NULL, k}, "ref");
        fail_each_allocation(A, PARTS, &(case_of_memory){NULL, k}, "cpu:1");
    }
    tess_matrix_destroy(A);
}

static void memory_missing_in_a_solve_fails_all(void **state)
{
    static const char *const specs[] = {"auto",
                                        "cg:pc=none",
                                        "gmres:pc=ilu0",
                                        "cg:pc=chebyshev",
                                        "bicgstab:pc=amg,bottom=12",
                                        "lsqr:pc=bjacobi",
                                        "cg_pipelined:pc=jacobi"};
    tess_matrix *A = dealt_dominant(test_ctx(state), 12, 2, true, 3);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        fail_each_allocation(A, 3 + (int)(i % 2), &(case_of_memory){specs[i], 0}, "ref");
    tess_matrix_destroy(A);
}

/* Returns whether the call failed here, with the number of part 1. */
static bool blamed(tess_plan *plan, tess_status status, tess_status expected)
{
    return status == expected && strstr(tess_ctx_error(plan->ctx), "part 1 of 4") != NULL;
}

/* Part 1 makes one mistake after the other with a solver that the others use well. */
static tess_status solve_with_mistakes(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    const int64_t first = dealt_row(d, rank), rows = plan->matrix->rows;
    const double *b = (const double *)d->x + first;
    double *x = (double *)d->y + first, *modes = malloc((size_t)(rows + 1) * sizeof *modes);
    const bool errs = rank == 1;
    tess_solver *solver;
    tess_result *result = &d->result[rank];
    (void)part;
    for (int64_t i = 0; i < rows; i++)
        modes[i] = errs ? NAN : 1;
    bool good =
        blamed(plan, tess_solver_create(plan, errs ? "gc" : "cg:pc=amg", &solver), TESS_ERR_OPTION);
    good = good && tess_solver_create(plan, "cg:pc=amg,bottom=12", &solver) == TESS_OK;
    if (good) {
        good = blamed(plan, tess_solver_solve(solver, errs ? NULL : b, x, result),
                      TESS_ERR_ARGUMENT) &&
               tess_solver_solve(solver, b, x, result) == TESS_OK &&
               blamed(plan, tess_solver_set_modes(solver, 1, modes, rows), TESS_ERR_ARGUMENT) &&
               tess_solver_solve(solver, b, x, result) == TESS_OK &&
               result->reason == TESS_REASON_CONVERGED;
        tess_solver_destroy(solver);
    }
    free(modes);
    return good ? TESS_OK : TESS_ERR_INTERNAL;
}

/* The same with a preconditioner alone. */
static tess_status precondition_with_mistakes(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    const int64_t first = dealt_row(d, rank), rows = plan->matrix->rows;
    const double *r = (const double *)d->x + first;
    double *z = (double *)d->y + first, *numbers = calloc((size_t)(200 * rows), sizeof *numbers);
    const bool errs = rank == 1;
    tess_preconditioner *pc = NULL;
    (void)part;
    bool good =
        blamed(plan, tess_pc_create(plan, errs ? "bjacobu" : "bjacobi", &pc), TESS_ERR_OPTION) &&
        tess_pc_create(plan, "amg:bottom=12", &pc) == TESS_OK;
    if (good) {
        numbers[0] = errs ? NAN : 1;
        good = blamed(plan, tess_pc_set_modes(pc, 1, numbers, rows), TESS_ERR_ARGUMENT) &&
               tess_pc_apply(pc, r, z) == TESS_OK;
        tess_pc_destroy(pc);
    }
    for (int64_t i = 0; i < 200 * rows; i++) /* the blocks of part 1 are singular */
        numbers[i] = errs ? 0 : i % 4 == 0 || i % 4 == 3;
    good = good && tess_pc_create(plan, "bjacobi", &pc) == TESS_OK;
    if (good) {
        good = blamed(plan, tess_pc_update(pc, numbers), TESS_ERR_MATRIX);
        tess_pc_destroy(pc);
        good = good && blamed(plan, tess_pc_create(plan, "jacobi", &pc), TESS_ERR_MATRIX);
    }
    free(numbers);
    return good ? TESS_OK : TESS_ERR_INTERNAL;
}

static void a_mistake_of_one_part_fails_all(void **state)
{
    tess_matrix *A = dealt_dominant(test_ctx(state), 40, 2, true, 3);
    double *b = test_vector(A->rows, A->type, 1), *x = calloc((size_t)A->rows, sizeof *x);
    for (int i = 0; i < 2; i++) {
        dealt d = dealt_open(A, PARTS, 1);
        for (int r = 0; r <= PARTS; r++)
            d.firsts[r] = 10 * r;
        d.body = i == 0 ? solve_with_mistakes : precondition_with_mistakes;
        d.x = b;
        d.y = x;
        dealt_run(&d);
        dealt_ok(&d, (uint64_t)i);
        test_team_destroy(d.team);
    }
    free(b), free(x);
    tess_matrix_destroy(A);
}

/* ---- Mistakes in products ---- */

enum { FORWARD, TRANSPOSED, SEVERAL, WITH_DOT, NEW_VALUES, CALLS };
enum { ROWS = 10 }; /* of each part of a chain */

/* The call, with one of two mistakes where `errs`. */
static tess_status call_product(tess_plan *plan, int call, bool errs, int mistake, const double *x,
                                double *y, double *dot)
{
    static const double fresh[3 * ROWS] = {1};
    const double *bad = !errs ? x : mistake == 0 ? NULL : y + 1; /* overlaps y */
    switch (call) {
    case FORWARD:
        return tess_spmv(plan, 1, bad, 0, y);
    case TRANSPOSED:
        return tess_spmv_transpose(plan, 1, errs && mistake == 0 ? NULL : x, 0,
                                   errs && mistake == 1 ? (double *)(uintptr_t)x : y);
    case SEVERAL:
        return tess_spmm(plan, 2, TESS_ORDER_ROW_MAJOR, 1, mistake == 0 ? bad : x,
                         errs && mistake == 1 ? 1 : 2, 0, y, 2);
    case WITH_DOT:
        return tess_spmv_dot(plan, 1, mistake == 0 ? bad : x, 0, y, x,
                             errs && mistake == 1 ? NULL : dot);
    default:
        return tess_plan_update_values(plan, errs ? NULL : fresh);
    }
}

/* Whether the call returned what the header promises. Part 3 needs no rows of part 1. */
static bool is_as_promised(const dealt *d, int rank, const tess_plan *plan, tess_status status)
{
    const bool agreed = d->k == WITH_DOT || d->k == NEW_VALUES || (d->form && d->k != TRANSPOSED);
    if (agreed)
        return status == TESS_ERR_ARGUMENT &&
               strstr(tess_ctx_error(plan->ctx), "part 1 of 4: tess_") != NULL;
    return status == (rank == 1 ? TESS_ERR_ARGUMENT : rank == 3 ? TESS_OK : TESS_ERR_PART);
}

/* A call that is right, the same with a mistake of part 1, and once more. */
static tess_status multiply_with_mistakes(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    const double *x = (const double *)d->x + 2 * ROWS * rank;
    double y[3][2 * ROWS] = {{0}}, dot[3] = {0};
    (void)part;
    bool good = true;
    for (int mistake = 0; mistake < 2; mistake++) {
        good &= call_product(plan, d->k, false, mistake, x, y[0], &dot[0]) == TESS_OK;
        const tess_status status = call_product(plan, d->k, rank == 1, mistake, x, y[1], &dot[1]);
        good &= is_as_promised(d, rank, plan, status) &&
                (status != TESS_OK || memcmp(y[0], y[1], sizeof *y) == 0);
        good &= call_product(plan, d->k, false, mistake, x, y[2], &dot[2]) == TESS_OK &&
                memcmp(y[0], y[2], sizeof *y) == 0 && dot[0] == dot[2];
    }
    return good ? TESS_OK : TESS_ERR_INTERNAL;
}

/* Each row is coupled with the ones before and after it. */
static tess_matrix *chain(tess_ctx *ctx, int64_t rows)
{
    int64_t row[3 * 72 * ROWS], col[3 * 72 * ROWS], count = 0;
    double value[3 * 72 * ROWS];
    tess_matrix *A;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = tess_max(i - 1, 0); j <= tess_min(i + 1, rows - 1); j++)
            row[count] = i, col[count] = j, value[count++] = i == j ? 4 : (double)(i - j);
    assert_int_equal(tess_matrix_from_coo(ctx, TESS_F64, rows, rows, count, row, col, value, &A),
                     TESS_OK);
    return A;
}

static void a_mistake_in_a_product_keeps_no_part_waiting(void **state)
{
    static const char *const forms[] = {NULL, "whole", "shuffle"};
    tess_matrix *A = chain(test_ctx(state), PARTS * ROWS);
    double *x = test_vector(2 * A->rows, A->type, 1);
    for (int i = 0; i < 3 * CALLS; i++) {
        dealt d = dealt_open(A, PARTS, 1);
        for (int r = 0; r <= PARTS; r++)
            d.firsts[r] = ROWS * r;
        d.form = forms[i / CALLS];
        d.k = i % CALLS;
        d.body = multiply_with_mistakes;
        d.x = x;
        dealt_run(&d);
        dealt_ok(&d, (uint64_t)i);
        test_team_destroy(d.team);
    }
    free(x);
    tess_matrix_destroy(A);
}

/* ---- More parts than whose reports fit one message ---- */

enum { MANY = 72 };

typedef struct crowd {
    test_team *team;
    const tess_matrix *A;
    int64_t fails_in; /* the allocation of the last part */
    tess_status status[MANY];
    bool named[MANY]; /* the last part is */
} crowd;

static void make_one_of_many(int rank, void *user)
{
    crowd *c = user;
    counted memory;
    const tess_comm comm = test_team_comm(c->team, rank);
    tess_ctx *ctx = counted_ctx(&memory);
    const int64_t *offsets = c->A->row_offsets + rank;
    int64_t mine[2] = {0, offsets[1] - offsets[0]}, columns[3];
    for (int64_t k = 0; k < mine[1]; k++)
        columns[k] = c->A->columns[offsets[0] + k];
    const tess_part_view view = {.type = TESS_F64,
                                 .rows = 1,
                                 .block = 1,
                                 .row_offsets = mine,
                                 .columns = columns,
                                 .values = (const double *)c->A->values + offsets[0]};
    tess_part *part;
    memory.fails_in = rank == MANY - 1 ? c->fails_in : -1;
    c->status[rank] = tess_part_create(ctx, &comm, &view, &part);
    if (c->status[rank] == TESS_OK)
        tess_part_destroy(part);
    c->named[rank] = strstr(tess_ctx_error(ctx), "part 71 of 72: out of memory") != NULL;
    counted_end(ctx, &memory, rank);
}

static void memory_missing_on_one_of_many_parts_fails_all(void **state)
{
    crowd c = {.A = chain(test_ctx(state), MANY), .team = test_team_create(MANY)};
    tess_status status = TESS_ERR_MEMORY;
    for (; status == TESS_ERR_MEMORY; c.fails_in = test_next_failure(c.fails_in)) {
        test_team_run(c.team, make_one_of_many, &c);
        status = c.status[0];
        for (int r = 0; r < MANY; r++)
            if (c.status[r] != status || c.named[r] != (status != TESS_OK))
                fail_msg("allocation %lld: part %d has status %d", (long long)c.fails_in, r,
                         (int)c.status[r]);
    }
    assert_int_equal(status, TESS_OK);
    assert_true(c.fails_in > 5);
    test_team_destroy(c.team);
    tess_matrix_destroy((tess_matrix *)(uintptr_t)c.A);
}

/* ---- Parts without rows ---- */

/* A part without rows has no numbers to pass. */
static tess_status pass_no_numbers(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    const int64_t first = dealt_row(d, rank), rows = plan->matrix->rows;
    const double *modes = rows > 0 ? (const double *)d->x + first : NULL;
    tess_solver *solver;
    (void)part;
    tess_status status = tess_solver_create(plan, "cg:pc=amg", &solver);
    if (status != TESS_OK)
        return status;
    status = tess_solver_set_modes(solver, 1, modes, rows);
    if (status == TESS_OK)
        status = tess_solver_set_coordinates(solver, 2, modes);
    tess_solver_destroy(solver);
    return status;
}

static void a_part_without_rows_passes_null(void **state)
{
    tess_matrix *A = dealt_dominant(test_ctx(state), 12, 2, true, 3);
    double *numbers = test_vector(A->rows, A->type, 1);
    dealt d = dealt_open(A, PARTS, 1);
    for (int r = 0; r <= PARTS; r++)
        d.firsts[r] = r < 2 ? 0 : 4 * r - 4;
    d.body = pass_no_numbers;
    d.x = numbers;
    dealt_run(&d);
    dealt_ok(&d, 1);
    test_team_destroy(d.team);
    free(numbers);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_missing_in_a_product_fails_all),
        cmocka_unit_test(memory_missing_in_a_solve_fails_all),
        cmocka_unit_test(a_mistake_of_one_part_fails_all),
        cmocka_unit_test(a_mistake_in_a_product_keeps_no_part_waiting),
        cmocka_unit_test(memory_missing_on_one_of_many_parts_fails_all),
        cmocka_unit_test(a_part_without_rows_passes_null),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
