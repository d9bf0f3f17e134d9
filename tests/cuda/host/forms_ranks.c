/* The product forms of the papers on GPUs of parts that know each other by messages alone, on the
 * fake driver. Teams of an odd number exchange buffers in device memory, those of an even number
 * pinned memory. */
#include "failing_ranks.h"
#include "matrices.h"

static const char *const forms[] = {"whole", "shuffle", "shuffle:lambda=1", "shuffle:lambda=3"};
enum { FORMS = sizeof forms / sizeof *forms };

static dealt open_form(const tess_matrix *A, const char *form, int size, uint64_t seed)
{
    dealt d = open_ranks(A, size, seed);
    d.form = form;
    return d;
}

/* Vector v of k, whose order is d's. */
static void pick(const dealt *d, int v, const void *all, void *one)
{
    const int64_t n = d->A->rows;
    for (int64_t i = 0; i < n; i++)
        tess_copy_scalar(d->A->type, one, i, all,
                         d->k < 2                              ? i
                         : d->order == TESS_ORDER_COLUMN_MAJOR ? v * n + i
                                                               : i * d->k + v);
}

/* Between a part's columns of shared vectors lie those of others, which a copy from the device
 * would overwrite: it has vectors of its own. */
static tess_status multiply_apart(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    const int64_t n = d->A->rows, first = dealt_row(d, rank), rows = dealt_row(d, rank + 1) - first;
    const size_t scalar = tess_type_size(d->A->type), bytes = (size_t)(rows + 1) * scalar;
    if (d->k < 2 || d->order == TESS_ORDER_ROW_MAJOR)
        return dealt_products(d, rank, part, plan);
    char *x = malloc(bytes * (size_t)d->k), *y = malloc(bytes * (size_t)d->k);
    for (int v = 0; v < d->k; v++) {
        const size_t from = (size_t)(v * n + first) * scalar, to = (size_t)v * bytes;
        memcpy(x + to, (const char *)d->x + from, (size_t)rows * scalar);
        memcpy(y + to, (char *)d->y + from, (size_t)rows * scalar);
    }
    const tess_status status =
        tess_spmm(plan, d->k, d->order, d->alpha, x, rows + 1, d->beta, y, rows + 1);
    for (int v = 0; v < d->k; v++)
        memcpy((char *)d->y + (size_t)(v * n + first) * scalar, y + (size_t)v * bytes,
               (size_t)rows * scalar);
    free(x), free(y);
    return status;
}

/* One kind of product twice: right, and the same bits. */
static void check_ranks(dealt *d, const tess_matrix *T, uint64_t seed)
{
    const int vectors = d->k > 1 ? d->k : 1;
    const int64_t n = d->A->rows;
    const tess_type type = d->A->type;
    const size_t one = (size_t)n * tess_type_size(type), all = one * (size_t)vectors;
    void *x = test_vector(n * vectors, type, seed + 1), *y0 = test_vector(n * vectors, type, 7);
    void *y[2] = {malloc(all + 1), malloc(all + 1)};
    void *xv = malloc(one + 1), *yv = malloc(one + 1), *y0v = malloc(one + 1);
    d->x = x;
    for (int run = 0; run < 2; run++) {
        memcpy(y[run], y0, all);
        d->y = y[run];
        dealt_run(d);
        dealt_ok(d, seed);
    }
    assert_memory_equal(y[0], y[1], all);
    for (int v = 0; v < vectors; v++) {
        pick(d, v, x, xv), pick(d, v, y[0], yv), pick(d, v, y0, y0v);
        test_check_spmv(d->form, d->k == -1 ? T : d->A, d->alpha, xv, d->beta, y0v, yv);
    }
    for (int r = 1; r < d->size && d->k == 0; r++)
        assert_true(d->dot[r] == d->dot[0]);
    free(x), free(y0), free(y[0]), free(y[1]), free(xv), free(yv), free(y0v);
}

static void products_are_those_of_the_whole(void **state)
{
    static const int counts[] = {0, 1, 3, 2, -1};
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 0; seed < test_draws(48); seed++) {
        tess_matrix *A = dealt_draw(ctx, seed), *T;
        ok(state, tess_matrix_transpose(ctx, A, &T));
        fake->devices = 1 + (int)(seed % 3);
        dealt d = open_form(A, forms[seed % FORMS], 1 + (int)(seed / 4 % 4), seed);
        d.body = multiply_apart;
        d.alpha = 1.5;
        d.beta = seed % 3 == 0 ? 0 : -0.5;
        d.k = counts[seed % 5];
        d.order = seed / 5 % 2 ? TESS_ORDER_COLUMN_MAJOR : TESS_ORDER_ROW_MAJOR;
        check_ranks(&d, T, seed);
        test_team_destroy(d.team);
        tess_matrix_destroy(A);
        tess_matrix_destroy(T);
    }
}

/* Twice the values, then products with other numbers of vectors, each with messages of its own. */
static tess_status update_and_multiply(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    static const int counts[] = {3, 1, 2, 1};
    tess_status status = dealt_double_values(d, rank, plan);
    for (size_t i = 0; i < sizeof counts / sizeof *counts && status == TESS_OK; i++) {
        dealt mine = *d;
        mine.k = counts[i];
        mine.order = TESS_ORDER_ROW_MAJOR;
        status = dealt_products(&mine, rank, part, plan);
    }
    return status;
}

static void new_values_reach_the_devices(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    fake->devices = 2;
    for (uint64_t seed = 40; seed < 48; seed++) {
        tess_matrix *A = dealt_draw(ctx, seed);
        void *x = test_vector(3 * A->rows, A->type, seed),
             *y = test_vector(3 * A->rows, A->type, 1);
        dealt d = open_form(A, forms[seed % FORMS], 2 + (int)(seed / 4 % 3), seed);
        d.body = update_and_multiply;
        d.x = x;
        d.y = y;
        dealt_run(&d);
        dealt_ok(&d, seed);
        test_check_spmv("twice the values", A, 2, x, 0, NULL, y);
        test_team_destroy(d.team);
        free(x), free(y);
        tess_matrix_destroy(A);
    }
}

static void methods_solve(void **state)
{
    static const char *const specs[] = {"cg:pc=bjacobi", "gmres:pc=ilu0", "bicg:pc=jacobi",
                                        "cg_pipelined"};
    tess_ctx *ctx = test_ctx(state);
    fake->devices = 2;
    for (uint64_t i = 0; i < 4; i++) {
        tess_matrix *A = dealt_dominant(ctx, i == 3 ? 2 : 10, 2, true, i);
        dealt d = open_form(A, forms[i], 2 + (int)(i % 3), i);
        dealt_check_solve(&d, specs[i], i, TESS_OK);
        test_team_destroy(d.team);
        tess_matrix_destroy(A);
    }
}

/* ---- Ranks on other kinds of devices ---- */

static void a_rank_on_processors_brings_all_vectors_to_the_host(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = dealt_dominant(ctx, 30, 2, true, 5);
    dealt d = dealt_open(A, 3, 3);
    d.device = "cuda:0";
    d.last_device = "cpu:1";
    for (int i = 0; i < FORMS; i++) {
        const int64_t shuffles = launches_of("shuffle_rows");
        d.form = forms[i];
        dealt_check_solve(&d, "cg:pc=ilu0", 3, TESS_OK);
        assert_int_equal(launches_of("shuffle_rows"), shuffles);
    }
    test_team_destroy(d.team);
    tess_matrix_destroy(A);
}

static tess_status with_device_vectors(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    void *x = NULL;
    (void)d, (void)part;
    if (rank != 0) { /* host memory: the refusal is part 0's */
        double one[64] = {0}, other[64];
        return tess_spmv(plan, 1, one, 0, other);
    }
    tess_device *device = plan->block->device;
    if (tess_device_alloc(device, 64 * sizeof(double), &x) != TESS_OK)
        abort();
    const tess_status status = tess_spmv(plan, 1, x, 0, (char *)x + 32 * sizeof(double));
    tess_device_free(device, x);
    return status;
}

static void vectors_on_a_device_are_then_refused(void **state)
{
    tess_matrix *A = dealt_dominant(test_ctx(state), 12, 2, true, 5);
    dealt d = dealt_open(A, 2, 3);
    d.firsts[1] = 6;
    d.device = "cuda:0";
    d.last_device = "cpu:1";
    d.form = "shuffle";
    d.body = with_device_vectors;
    dealt_run(&d);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(d.status[r], TESS_ERR_UNSUPPORTED);
        assert_non_null(strstr(d.error[r], "product form 'shuffle' takes vectors in host memory"));
    }
    test_team_destroy(d.team);
    tess_matrix_destroy(A);
}

/* ---- Failures ---- */

/* Whether the form's products, or a solve, had an n-th call, which failed. */
static bool call_fails(const tess_matrix *A, const char *form, bool solve, int64_t n, int *failures)
{
    double *b = test_vector(3 * A->rows, TESS_F64, 1), *x = calloc(3 * (size_t)A->rows, sizeof *x);
    dealt d = open_form(A, form, 2 + (int)(n % 2), 5);
    d.body = solve ? dealt_solve : update_and_multiply;
    d.spec = "cg:pc=jacobi,max=2";
    d.x = b;
    d.y = x;
    const bool reached = run_with_failing_call(&d, form, n, failures);
    free(b), free(x);
    return reached;
}

/* The first calls measure the device and make the plans, whatever the form. */
static void every_call_may_fail(void **state)
{
    tess_matrix *A = dealt_dominant(test_ctx(state), 10, 2, true, 1);
    for (int solve = 0; solve < 2; solve++) {
        int failures = 0, form = 0;
        for (int64_t n = 100; call_fails(A, forms[form], solve, n, &failures);
             form = (form + 1) % FORMS)
            n = test_next_failure(n);
        if (failures < 4)
            fail_msg("%d calls of %s failed", failures, solve ? "a solver" : "products");
    }
    tess_matrix_destroy(A);
}

/* Whether there was an n-th allocation of one part, which fails. */
static bool allocation_fails(const tess_matrix *A, const char *form, int64_t n)
{
    double *b = test_vector(3 * A->rows, TESS_F64, 1), *x = calloc(3 * (size_t)A->rows, sizeof *x);
    const int64_t alive = fake->alive;
    dealt d = open_form(A, form, 3, 5);
    d.body = update_and_multiply;
    d.x = b;
    d.y = x;
    d.allocation_fails[n % 3] = n;
    dealt_run(&d);
    test_team_destroy(d.team);
    for (int r = 0; r < d.size; r++)
        if (d.status[r] != d.status[0] || (d.status[r] && d.status[r] != TESS_ERR_MEMORY))
            fail_msg("%s, allocation %lld: part %d says '%s', part 0 '%s'", form, (long long)n, r,
                     d.error[r], d.error[0]);
    assert_int_equal(fake->alive, alive);
    free(b), free(x);
    return d.status[0] != TESS_OK;
}

static void memory_missing_on_one_rank_fails_all(void **state)
{
    tess_matrix *A = dealt_dominant(test_ctx(state), 10, 2, true, 1);
    for (int i = 0; i < FORMS; i += 3) {
        int64_t n = 40;
        while (allocation_fails(A, forms[i], n))
            n = test_next_failure(n);
        assert_true(n > 150);
    }
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(products_are_those_of_the_whole, before),
        cmocka_unit_test_setup(new_values_reach_the_devices, before),
        cmocka_unit_test_setup(methods_solve, before),
        cmocka_unit_test_setup(a_rank_on_processors_brings_all_vectors_to_the_host, before),
        cmocka_unit_test_setup(vectors_on_a_device_are_then_refused, before),
        cmocka_unit_test_setup(every_call_may_fail, before),
        cmocka_unit_test_setup(memory_missing_on_one_rank_fails_all, before),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
