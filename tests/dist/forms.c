/* Products of parts in every form against the whole, on 1 to 5 parts with rows drawn at random,
 * empty parts included. */
#include "dealt.h"
#include "matrices.h"

#include <string.h>

/* Writes form number i into the caller's buffer: the forms of the library's list, then cut rows.
 * Returns NULL past the last one. */
static const char *form_of(int i, char name[40])
{
    int count = 0;
    while (tess_product_form_name(count))
        count++;
    if (i >= count + 3)
        return NULL;
    if (i < count)
        snprintf(name, 40, "%s", tess_product_form_name(i));
    else
        snprintf(name, 40, "shuffle:lambda=%d", 1 + 2 * (i - count));
    return name;
}

/* ---- Products ---- */

/* y = A x, its transpose and the fused dot product, and the same bits again. */
static void check_products(tess_ctx *ctx, const tess_matrix *A, const char *form, int size,
                           uint64_t seed)
{
    tess_matrix *T;
    assert_int_equal(tess_matrix_transpose(ctx, A, &T), TESS_OK);
    dealt d = dealt_open(A, size, seed);
    const size_t bytes = (size_t)A->rows * tess_type_size(A->type);
    void *x = test_vector(A->rows, A->type, seed + 1), *y0 = test_vector(A->rows, A->type, 7);
    void *y = malloc(bytes + 1), *again = malloc(bytes + 1);
    char what[96];
    snprintf(what, sizeof what, "seed %llu, %d parts, %s", (unsigned long long)seed, size, form);
    d.form = form;
    d.body = dealt_products;
    d.x = x;
    d.y = y;
    d.alpha = 1.5;
    d.beta = seed % 3 == 0 ? 0 : -0.5;
    for (d.k = -1; d.k <= 1; d.k++) {
        memcpy(y, y0, bytes);
        dealt_run(&d);
        dealt_ok(&d, seed);
        test_check_spmv(what, d.k == -1 ? T : A, d.alpha, x, d.beta, y0, y);
    }
    for (int r = 1; r < d.size; r++)
        assert_true(d.dot[r] == d.dot[0]);
    d.k = 1;
    d.y = again;
    memcpy(again, y0, bytes);
    dealt_run(&d);
    dealt_ok(&d, seed);
    assert_memory_equal(y, again, bytes);
    test_team_destroy(d.team);
    free(x), free(y0), free(y), free(again);
    tess_matrix_destroy(T);
}

static void parts_multiply_as_the_whole_does(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    char form[40];
    for (uint64_t seed = 0; seed < test_draws(60); seed++) {
        tess_matrix *A = dealt_draw(ctx, seed);
        const int size = 1 + (int)(seed % 5);
        check_products(ctx, A, NULL, size, seed);
        /* The forms alternate, so that each is tested with every number of parts. */
        for (int i = 1; form_of(i, form); i++)
            if ((seed / 5 + (uint64_t)i) % 3 == 0)
                check_products(ctx, A, form, size, seed);
        tess_matrix_destroy(A);
    }
}

static void several_vectors_are_as_one_after_the_other(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 200; seed < 200 + test_draws(48); seed++) {
        tess_matrix *A = dealt_draw(ctx, seed);
        dealt d = dealt_open(A, 1 + (int)(seed % 4), seed);
        char form[40];
        d.form = form_of((int)(seed / 4 % 6), form);
        const int k = 2 + (int)(seed % 4);
        const int64_t n = A->rows;
        const size_t scalar = tess_type_size(A->type);
        void *x = test_vector(n * k, A->type, seed), *y = test_vector(n * k, A->type, 3);
        void *xv = malloc((size_t)n * scalar + 1), *yv = malloc((size_t)n * scalar + 1);
        d.body = dealt_products;
        d.k = k;
        d.order = seed % 2 ? TESS_ORDER_COLUMN_MAJOR : TESS_ORDER_ROW_MAJOR;
        d.x = x;
        d.y = y;
        dealt_run(&d);
        dealt_ok(&d, seed);
        for (int v = 0; v < k; v++) {
            for (int64_t i = 0; i < n; i++) {
                const int64_t at = d.order == TESS_ORDER_COLUMN_MAJOR ? v * n + i : i * k + v;
                tess_copy_scalar(A->type, xv, i, x, at);
                tess_copy_scalar(A->type, yv, i, y, at);
            }
            test_check_spmv("vector of several", A, 1, xv, 0, NULL, yv);
        }
        test_team_destroy(d.team);
        free(x), free(y), free(xv), free(yv);
        tess_matrix_destroy(A);
    }
}

/* ---- New values ---- */

static tess_status update_and_multiply(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    const tess_status status = dealt_double_values(d, rank, plan);
    return status == TESS_OK ? dealt_products(d, rank, part, plan) : status;
}

static void new_values_are_multiplied(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 400; seed < 400 + test_draws(48); seed++) {
        tess_matrix *A = dealt_draw(ctx, seed);
        dealt d = dealt_open(A, 1 + (int)(seed % 4), seed);
        void *x = test_vector(A->rows, A->type, seed), *y = test_vector(A->rows, A->type, 1);
        char form[40];
        d.form = form_of((int)(seed / 4 % 6), form);
        d.body = update_and_multiply;
        d.k = 1;
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

/* ---- Faults ---- */

/* All parts return the same status, and name the part that failed. */
static void check_agreed(const dealt *d, tess_status expected, int culprit)
{
    char name[32];
    snprintf(name, sizeof name, "part %d of %d", culprit, d->size);
    for (int r = 0; r < d->size; r++) {
        assert_int_equal(d->status[r], expected);
        assert_non_null(strstr(d->error[r], name));
    }
}

/* Makes each allocation of one part fail in turn, from number `n` on, until none is left. Returns
 * the first number without an allocation. */
static int64_t fail_each_allocation(const tess_matrix *A, const char *form, int64_t n)
{
    void *x = test_vector(A->rows, A->type, 1), *y = test_vector(A->rows, A->type, 2);
    for (;; n = test_next_failure(n)) {
        dealt d = dealt_open(A, 3, 5);
        const int culprit = (int)(n % 3);
        d.form = form;
        d.body = update_and_multiply;
        d.k = 1;
        d.x = x;
        d.y = y;
        d.allocation_fails[culprit] = n;
        dealt_run(&d);
        test_team_destroy(d.team);
        if (d.status[0] == TESS_OK) {
            dealt_ok(&d, (uint64_t)n);
            break;
        }
        check_agreed(&d, TESS_ERR_MEMORY, culprit);
    }
    free(x), free(y);
    return n;
}

static void memory_missing_on_one_part_fails_all(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 30, 2, 2, TESS_F64, 1);
    char form[40];
    const int64_t alone = fail_each_allocation(A, NULL, 0);
    assert_true(alone > 10);
    /* Until the plans of the default form are made, all forms have the same allocations. */
    for (int i = 1; form_of(i, form); i++)
        assert_true(fail_each_allocation(A, form, alone / 2) > alone + 5);
    tess_matrix_destroy(A);
}

static void forms_that_do_not_exist_are_named(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 9, 2, 2, TESS_F64, 3);
    static const char *const wrong[][2] = {{"shufle", "'shuffle'"},
                                           {"halo:lambda=2", "has no keys"},
                                           {"whole:", "has no keys"},
                                           {"shuffle:lamda=2", "'lambda'"},
                                           {"shuffle:lambda=-1", "-1"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        dealt d = dealt_open(A, 3, 5);
        d.form = wrong[i][0];
        d.body = dealt_products;
        dealt_run(&d);
        test_team_destroy(d.team);
        for (int r = 0; r < d.size; r++) {
            assert_int_equal(d.status[r], TESS_ERR_OPTION);
            assert_non_null(strstr(d.error[r], wrong[i][1]));
        }
    }
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_multiply_as_the_whole_does),
        cmocka_unit_test(several_vectors_are_as_one_after_the_other),
        cmocka_unit_test(new_values_are_multiplied),
        cmocka_unit_test(memory_missing_on_one_part_fails_all),
        cmocka_unit_test(forms_that_do_not_exist_are_named),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
