#include "in_process.h"

#include <math.h>
#include <string.h>

const char *parts_name(const char *kind, const char *const *numbers, int count, char name[128])
{
    int length = snprintf(name, 128, "%s", kind);
    for (int i = 0; i < count; i++)
        length += snprintf(name + length, (size_t)(128 - length), "%s%s", i ? "," : "", numbers[i]);
    return name;
}

/* ---- Products ---- */

typedef struct subject {
    const tess_matrix *A, *T;
    tess_plan *plan;
    size_t bytes; /* of a vector, which has A's rows or columns, whichever are more */
    void *x, *y0, *y, *again;
    const char *what;
} subject;

static void multiply(const subject *s, int kind, void *y, double *dot)
{
    memcpy(y, s->y0, s->bytes);
    if (kind == 0)
        assert_int_equal(tess_spmv(s->plan, 1.5, s->x, -0.5, y), TESS_OK);
    else if (kind == 1)
        assert_int_equal(tess_spmv_transpose(s->plan, 1.5, s->x, -0.5, y), TESS_OK);
    else
        assert_int_equal(tess_spmv_dot(s->plan, 1.5, s->x, -0.5, y, s->x, dot), TESS_OK);
}

static void check_vectors(const subject *s)
{
    double dot = 0, same = 0, want = 0, large = 0;
    for (int kind = 0; kind < 3; kind++) {
        multiply(s, kind, s->y, &dot);
        test_check_spmv(s->what, kind == 1 ? s->T : s->A, 1.5, s->x, -0.5, s->y0, s->y);
        multiply(s, kind, s->again, &same);
        assert_memory_equal(s->y, s->again, s->bytes);
    }
    assert_true(dot == same);
    for (int64_t i = 0; i < s->A->rows; i++) {
        const double term = tess_get(s->x, s->A->type, i) * tess_get(s->y, s->A->type, i);
        want += term;
        large += fabs(term);
    }
    assert_true(fabs(dot - want) <= (s->A->type == TESS_F64 ? 1e-13 : 1e-5) * large);
}

static void check_several(const subject *s, int k, tess_block_order order)
{
    const bool by_row = order == TESS_ORDER_ROW_MAJOR;
    const int64_t rows = s->A->rows, cols = s->A->cols;
    const int64_t ldx = by_row ? k + 1 : cols + 3, ldy = by_row ? k + 2 : rows + 2;
    const tess_type type = s->A->type;
    void *X = test_vector(ldx * (by_row ? cols : k) + 1, type, 5);
    void *Y = test_vector(ldy * (by_row ? rows : k) + 1, type, 6);
    assert_int_equal(tess_spmm(s->plan, k, order, 1, X, ldx, 0, Y, ldy), TESS_OK);
    for (int v = 0; v < k; v++) {
        for (int64_t i = 0; i < cols; i++)
            tess_copy_scalar(type, s->again, i, X, by_row ? i * ldx + v : v * ldx + i);
        for (int64_t i = 0; i < rows; i++)
            tess_copy_scalar(type, s->y, i, Y, by_row ? i * ldy + v : v * ldy + i);
        test_check_spmv(s->what, s->A, 1, s->again, 0, NULL, s->y);
    }
    free(X), free(Y);
}

/* New values in the same pattern, and the old ones again. */
static void check_update(tess_ctx *ctx, const subject *s, uint64_t seed)
{
    const tess_matrix *A = s->A;
    const int64_t scalars = A->blocks * A->block_height * A->block_width;
    void *values = test_vector(scalars + 1, A->type, seed + 9);
    tess_matrix *B, *U;
    assert_int_equal(tess_matrix_transpose(ctx, s->T, &B), TESS_OK);
    assert_int_equal(B->blocks, A->blocks);
    memcpy(B->values, values, (size_t)scalars * tess_type_size(A->type));
    assert_int_equal(tess_matrix_transpose(ctx, B, &U), TESS_OK);
    assert_int_equal(tess_plan_update_values(s->plan, B->values), TESS_OK);
    subject changed = *s;
    changed.A = B;
    changed.T = U;
    check_vectors(&changed);
    assert_int_equal(tess_plan_update_values(s->plan, A->values), TESS_OK);
    tess_matrix_destroy(B);
    tess_matrix_destroy(U);
    free(values);
}

/* ---- Vectors by part ---- */

enum { MOST = 8, VECTORS = 3 };

typedef struct pieces {
    tess_plan *plan;
    tess_type type;
    int count;
    int64_t longest; /* rows of a part */
    tess_plan_part part[MOST];
    void *x[MOST], *y[MOST], *X[MOST], *Y[MOST];
} pieces;

static void open_pieces(pieces *p)
{
    p->count = tess_plan_parts(p->plan);
    assert_true(p->count <= MOST);
    for (int r = 0; r < p->count; r++) {
        tess_plan_part *part = &p->part[r];
        assert_int_equal(tess_plan_get_part(p->plan, r, sizeof *part, part), TESS_OK);
        assert_int_equal(part->first_row,
                         r == 0 ? 0 : p->part[r - 1].first_row + p->part[r - 1].rows);
        p->longest = tess_max(p->longest, part->rows);
    }
    for (int r = 0; r < p->count; r++) {
        const size_t one = (size_t)p->part[r].rows * tess_type_size(p->type);
        const size_t many = (size_t)(p->longest * VECTORS) * tess_type_size(p->type);
        tess_device *device = p->part[r].device;
        assert_int_equal(tess_device_alloc(device, one + 8, &p->x[r]), TESS_OK);
        assert_int_equal(tess_device_alloc(device, one + 8, &p->y[r]), TESS_OK);
        assert_int_equal(tess_device_alloc(device, many + 8, &p->X[r]), TESS_OK);
        assert_int_equal(tess_device_alloc(device, many + 8, &p->Y[r]), TESS_OK);
    }
}

static void close_pieces(pieces *p)
{
    for (int r = 0; r < p->count; r++) {
        tess_device_free(p->part[r].device, p->x[r]);
        tess_device_free(p->part[r].device, p->y[r]);
        tess_device_free(p->part[r].device, p->X[r]);
        tess_device_free(p->part[r].device, p->Y[r]);
    }
}

/* Copies a whole vector to vector v of the parts' k, or back. */
static void copy_pieces(const pieces *p, bool back, void *const *to, int v, int k,
                        tess_block_order order, void *whole)
{
    const size_t scalar = tess_type_size(p->type);
    for (int r = 0; r < p->count; r++) {
        const tess_plan_part *part = &p->part[r];
        for (int64_t i = 0; i < (k == 1 ? 1 : part->rows); i++) {
            const int64_t at = order == TESS_ORDER_ROW_MAJOR ? i * k + v : v * p->longest + i;
            char *there = (char *)to[r] + (size_t)at * scalar;
            char *here = (char *)whole + (size_t)(part->first_row + i) * scalar;
            const size_t bytes = k == 1 ? (size_t)part->rows * scalar : scalar;
            assert_int_equal(back ? tess_device_copy_from(part->device, here, there, bytes)
                                  : tess_device_copy_to(part->device, there, here, bytes),
                             TESS_OK);
        }
    }
}

static void multiply_pieces(const subject *s, const pieces *p, int kind, double *dot)
{
    const void *const *x = (const void *const *)p->x;
    const tess_block_order one = TESS_ORDER_COLUMN_MAJOR;
    copy_pieces(p, false, p->x, 0, 1, one, s->x);
    copy_pieces(p, false, p->y, 0, 1, one, s->y0);
    const tess_status status = kind == 0 ? tess_spmv_parts(p->plan, 1.5, x, -0.5, p->y)
                               : kind == 1
                                   ? tess_spmv_transpose_parts(p->plan, 1.5, x, -0.5, p->y)
                                   : tess_spmv_dot_parts(p->plan, 1.5, x, -0.5, p->y, x, dot);
    assert_int_equal(status, TESS_OK);
    copy_pieces(p, true, p->y, 0, 1, one, s->y);
    test_check_spmv(s->what, kind == 1 ? s->T : s->A, 1.5, s->x, -0.5, s->y0, s->y);
}

static void multiply_many(const subject *s, const pieces *p, tess_block_order order)
{
    const int64_t ld = order == TESS_ORDER_ROW_MAJOR ? VECTORS : p->longest;
    for (int v = 0; v < VECTORS; v++)
        copy_pieces(p, false, p->X, v, VECTORS, order, v % 2 ? s->x : s->y0);
    assert_int_equal(
        tess_spmm_parts(p->plan, VECTORS, order, 2, (const void *const *)p->X, ld, 0, p->Y, ld),
        TESS_OK);
    for (int v = 0; v < VECTORS; v++) {
        copy_pieces(p, true, p->Y, v, VECTORS, order, s->y);
        test_check_spmv(s->what, s->A, 2, v % 2 ? s->x : s->y0, 0, NULL, s->y);
    }
}

static void check_pieces(const subject *s)
{
    pieces p = {.plan = s->plan, .type = s->A->type};
    double dot = 0, again = 0, want = 0, large = 0;
    open_pieces(&p);
    for (int kind = 0; kind < 3; kind++)
        multiply_pieces(s, &p, kind, &dot);
    assert_int_equal(
        tess_dot_parts(p.plan, (const void *const *)p.x, (const void *const *)p.y, &again),
        TESS_OK);
    for (int64_t i = 0; i < s->A->rows; i++) {
        want += tess_get(s->x, p.type, i) * tess_get(s->y, p.type, i);
        large += fabs(tess_get(s->x, p.type, i) * tess_get(s->y, p.type, i));
    }
    assert_true(fabs(dot - want) <= (p.type == TESS_F64 ? 1e-13 : 1e-5) * large);
    assert_true(fabs(again - want) <= (p.type == TESS_F64 ? 1e-13 : 1e-5) * large);
    multiply_many(s, &p, TESS_ORDER_COLUMN_MAJOR);
    multiply_many(s, &p, TESS_ORDER_ROW_MAJOR);
    close_pieces(&p);
}

/* Destroys A. */
static void check_subject(tess_ctx *ctx, tess_matrix *A, const char *name, const char *form,
                          uint64_t seed, bool by_part)
{
    const tess_plan_options options = {.size = sizeof options, .form = form};
    const int64_t most = tess_max(A->rows, A->cols);
    char what[160];
    tess_matrix *T;
    tess_device *device;
    subject s = {.A = A, .what = what, .bytes = (size_t)most * tess_type_size(A->type)};
    snprintf(what, sizeof what, "seed %llu on %s, form %s", (unsigned long long)seed, name,
             options.form ? options.form : "of the device");
    assert_int_equal(tess_matrix_transpose(ctx, A, &T), TESS_OK);
    s.T = T;
    if (tess_device_open(ctx, name, &device) != TESS_OK ||
        tess_plan_create(ctx, A, device, &options, &s.plan) != TESS_OK)
        fail_msg("%s: %s", what, tess_ctx_error(ctx));
    s.x = test_vector(most + 1, A->type, seed + 1);
    s.y0 = test_vector(most + 1, A->type, 7);
    s.y = malloc(s.bytes + 8);
    s.again = malloc(s.bytes + 8);
    if (by_part) {
        check_pieces(&s);
    } else {
        check_vectors(&s);
        check_several(&s, 2 + (int)(seed % 3), TESS_ORDER_COLUMN_MAJOR);
        check_several(&s, 1 + (int)(seed % 3), TESS_ORDER_ROW_MAJOR);
        check_update(ctx, &s, seed);
        check_vectors(&s);
    }
    free(s.x), free(s.y0), free(s.y), free(s.again);
    tess_plan_destroy(s.plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    tess_matrix_destroy(T);
}

static const char *form_of(uint64_t seed)
{
    static const char *const forms[] = {NULL, "whole", "shuffle", "shuffle:lambda=2"};
    return forms[seed / 4 % 4];
}

void check_products(tess_ctx *ctx, const char *name, uint64_t seed)
{
    check_subject(ctx, dealt_draw(ctx, seed), name, form_of(seed), seed, false);
}

void check_any_shape(tess_ctx *ctx, const char *name, uint64_t seed)
{
    check_subject(ctx, dealt_any_shape(ctx, seed), name, NULL, seed, false);
}

void check_by_part(tess_ctx *ctx, const char *name, uint64_t seed)
{
    check_subject(ctx, dealt_draw(ctx, seed), name, form_of(seed), seed, true);
}

void check_form(tess_ctx *ctx, const char *name, const char *form, uint64_t seed)
{
    check_subject(ctx, dealt_draw(ctx, seed), name, form, seed, false);
    check_subject(ctx, dealt_draw(ctx, seed), name, form, seed, true);
}

/* ---- Solvers ---- */

static tess_status solve_once(tess_solver *solver, const tess_matrix *A, const double *b, double *x,
                              tess_result *result)
{
    memset(x, 0, (size_t)A->rows * sizeof *x);
    return tess_solver_solve(solver, b, x, result);
}

/* Solves with vectors by part, in memory of the parts' devices, if the solver takes them. */
static tess_status solve_by_part(tess_plan *plan, tess_solver *solver, const tess_matrix *A,
                                 double *b, double *x, tess_result *result)
{
    pieces p = {.plan = plan, .type = TESS_F64};
    const tess_block_order one = TESS_ORDER_COLUMN_MAJOR;
    memset(x, 0, (size_t)A->rows * sizeof *x);
    open_pieces(&p);
    copy_pieces(&p, false, p.x, 0, 1, one, b);
    copy_pieces(&p, false, p.y, 0, 1, one, x);
    const tess_status status =
        tess_solver_solve_parts(solver, (const void *const *)p.x, p.y, result);
    copy_pieces(&p, true, p.y, 0, 1, one, x);
    close_pieces(&p);
    return status == TESS_ERR_UNSUPPORTED ? solve_once(solver, A, b, x, result) : status;
}

static void check_solve(tess_ctx *ctx, const tess_matrix *A, tess_device *device, const char *name,
                        const char *form, const char *spec, tess_status expected)
{
    const tess_plan_options quick = {
        .size = sizeof quick, .effort = TESS_EFFORT_ESTIMATE, .form = form};
    const size_t bytes = (size_t)A->rows * sizeof(double);
    tess_plan *plan;
    tess_solver *solver;
    tess_result result, second;
    double *b = test_vector(A->rows, TESS_F64, 3), *x = malloc(bytes), *again = malloc(bytes);
    if (tess_plan_create(ctx, A, device, &quick, &plan) != TESS_OK)
        fail_msg("%s: %s", name, tess_ctx_error(ctx));
    const tess_status status = tess_solver_create(plan, spec, &solver);
    if (status != expected)
        fail_msg("%s on %s: %s", spec, name, tess_ctx_error(ctx));
    if (status == TESS_OK) {
        if (solve_once(solver, A, b, x, &result) != TESS_OK)
            fail_msg("%s on %s: %s", spec, name, tess_ctx_error(ctx));
        const double truth = dealt_residual(A, b, x);
        if (result.reason != TESS_REASON_CONVERGED || !(truth <= 1.1e-8) ||
            !(fabs(truth - result.true_residual) <= 1e-11))
            fail_msg("%s on %s: |b - Ax|/|b| = %g, said to be %g: %s", spec, name, truth,
                     result.true_residual, result.text);
        assert_int_equal(result.history_count, result.iterations + 1);
        if (solve_by_part(plan, solver, A, b, again, &second) != TESS_OK)
            fail_msg("%s on %s, by part: %s", spec, name, tess_ctx_error(ctx));
        if (memcmp(x, again, bytes) != 0 || second.iterations != result.iterations)
            fail_msg("%s on %s: not the same bits by part", spec, name);
        tess_solver_destroy(solver);
    }
    tess_plan_destroy(plan);
    free(b), free(x), free(again);
}

void check_solve_on(tess_ctx *ctx, const tess_matrix *A, const char *name, const char *spec)
{
    check_solve_in(ctx, A, name, NULL, spec);
}

void check_solve_in(tess_ctx *ctx, const tess_matrix *A, const char *name, const char *form,
                    const char *spec)
{
    tess_device *device;
    if (tess_device_open(ctx, name, &device) != TESS_OK)
        fail_msg("%s: %s", name, tess_ctx_error(ctx));
    check_solve(ctx, A, device, name, form, spec, TESS_OK);
    tess_device_close(device);
}

/* A spec that one part cannot solve is not tried on several. */
static bool one_part_does(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                          const char *spec)
{
    const tess_plan_options quick = {.size = sizeof quick, .effort = TESS_EFFORT_ESTIMATE};
    tess_plan *plan;
    tess_solver *solver = NULL;
    assert_int_equal(tess_plan_create(ctx, A, device, &quick, &plan), TESS_OK);
    const tess_status alone = tess_solver_create(plan, spec, &solver);
    tess_solver_destroy(alone == TESS_OK ? solver : NULL);
    tess_plan_destroy(plan);
    return alone == TESS_OK;
}

void check_all_solves(tess_ctx *ctx, const char *kind, const char *const *numbers, bool every)
{
    char name[5][128], spec[128];
    tess_device *device[5];
    const bool all = getenv("TEST_ALL") != NULL;
    int at = 0;
    for (int size = 1; size <= 4; size++)
        device[size] = test_device(ctx, parts_name(kind, numbers, size, name[size]));
    for (int m = 0; tess_solve_method_name(m); m++) {
        for (int p = 0; tess_solve_pc_name(p); p++, at++) {
            snprintf(spec, sizeof spec, "%s:pc=%s", tess_solve_method_name(m),
                     tess_solve_pc_name(p));
            tess_matrix *A = dealt_dominant(ctx, 30, 2, true, (uint64_t)at);
            /* Methods that need the whole matrix on one part are refused. */
            const bool whole = tess_solve_method_traits(m) & TESS_SOLVE_OWN_PC;
            const bool asked = (m + p) % (!every ? 6 : test_slowed() ? 4 : 1) == 0;
            const bool alone = asked && one_part_does(ctx, A, device[1], spec);
            for (int size = 2; size <= 4 && alone; size++)
                if (all || at % 3 == size - 2)
                    check_solve(ctx, A, device[size], name[size], NULL, spec,
                                whole ? TESS_ERR_UNSUPPORTED : TESS_OK);
            tess_matrix_destroy(A);
        }
    }
    for (int size = 1; size <= 4; size++)
        tess_device_close(device[size]);
}
